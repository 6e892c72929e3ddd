package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/ingest/admit"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
	"jobeff/policy/notice"
)

// Users that every Debian has.
const daemon, bin, sys = 1, 2, 3

// TestViewer: viewers see their own jobs, coordinators those of their accounts, operators all.
// PrivateData opens the jobs to everybody only if the site allows that.
func TestViewer(t *testing.T) {
	access := func(private bool) *slurm.Access {
		return &slurm.Access{Admins: []string{"bin", "nosuchuser"}, Private: private,
			Coordinators: map[string][]string{"daemon": {"chem", "chem2"}, "nosuchuser": {"bio"}}}
	}
	for _, c := range []struct {
		name   string
		open   bool
		access *slurm.Access
		want   map[uint32]store.Viewer
	}{
		{"Slurm was not asked yet", true, &slurm.Access{Private: true}, map[uint32]store.Viewer{daemon: {UID: daemon}, bin: {UID: bin}, 0: {All: true}, 61002: {UID: 61002, All: true}}},
		{"own jobs only, whatever PrivateData says", false, access(false), map[uint32]store.Viewer{
			sys: {UID: sys}, daemon: {UID: daemon, Accounts: []string{"chem", "chem2"}}, bin: {UID: bin, All: true}}},
		{"as Slurm, which hides jobs", true, access(true), map[uint32]store.Viewer{
			sys: {UID: sys}, daemon: {UID: daemon, Accounts: []string{"chem", "chem2"}}, bin: {UID: bin, All: true}}},
		{"as Slurm, which hides nothing", true, access(false), map[uint32]store.Viewer{
			sys: {UID: sys, All: true, Guest: true}, daemon: {UID: daemon, All: true, Guest: true, Accounts: []string{"chem", "chem2"}}, bin: {UID: bin, All: true}, 61002: {UID: 61002, All: true}}},
	} {
		db := openStore(t)
		if err := db.SetGrants(ctx, "", grantsOf(c.access, uidHere)); err != nil {
			t.Fatal(err)
		}
		s := New(Options{Store: db, Log: zerolog.Nop(), Operators: []uint32{61002}, Open: c.open})
		for uid, want := range c.want {
			got, e := s.sees(ctx, viewer{Viewer: store.Viewer{UID: uid}, Caller: &admit.Caller{}})
			if d := cmp.Diff(want, got.Viewer); d != "" || e != nil {
				t.Errorf("%s, uid %d: %s, %v", c.name, uid, d, e)
			}
		}
	}
}

// TestProxiedRoot: a proxy's word makes nobody root, whatever Slurm grants to root.
func TestProxiedRoot(t *testing.T) {
	db := openStore(t)
	if err := db.SetGrants(ctx, "", []store.Grant{{UID: 0}}); err != nil {
		t.Fatal(err)
	}
	got, e := New(Options{Store: db, Log: zerolog.Nop()}).sees(ctx, viewer{Caller: &admit.Caller{Proxied: true}})
	if got.All || e != nil {
		t.Errorf("%+v, %v", got, e)
	}
}

// openStore makes a database for the time of the test.
func openStore(t testing.TB) *store.Store {
	t.Helper()
	db, err := store.Open(filepath.Join(t.TempDir(), "jobeff.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestCoordinator reads jobs of their accounts, and no others.
func TestCoordinator(t *testing.T) {
	db := openStore(t)
	for id, account := range map[uint32]string{1: "chem", 2: "bio", 3: ""} {
		r := report(id, alice)
		r.Account = account
		if _, err := keep(db, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		accounts []string
		want     []uint32
	}{
		{"of none", nil, nil}, {"of chem", []string{"chem"}, []uint32{1}}, {"of both", []string{"chem", "bio"}, []uint32{1, 2}},
		{"of an account without a name", []string{""}, nil}, {"of an injected one", []string{"x') OR ('1' = '1"}, nil},
	} {
		v := store.Viewer{UID: daemon, Accounts: c.accounts}
		list, err := db.Jobs(ctx, v, listing.JobQuery{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for _, j := range list.Jobs {
			seen[j.JobID] = true
		}
		for id := uint32(1); id <= 3; id++ {
			_, err := db.Job(ctx, v, slurmid.Ref{ID: id}, 0)
			want := false
			for _, w := range c.want {
				want = want || w == id
			}
			if (err == nil) != want || seen[id] != want {
				t.Errorf("a coordinator %s, job %d: %v, listed %v", c.name, id, err, seen[id])
			}
		}
	}
}

// TestDigestOfCoordinator: they get that of their accounts, and of no others.
func TestDigestOfCoordinator(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("requests as several users need root")
	}
	db := openStore(t)
	if err := db.SetGrants(ctx, "", []store.Grant{{UID: daemon, Account: "chem"}, {UID: daemon, Account: "bio"}}); err != nil {
		t.Fatal(err)
	}
	l, err := ListenUnix(filepath.Join(shared(t), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	serve(t, Options{Store: db, Log: zerolog.Nop(), Operators: []uint32{games}}, l)
	for _, c := range []struct {
		uid    int
		query  string
		status int
		text   string
	}{
		{daemon, "", 200, `"accounts":["bio","chem"],`}, {daemon, "&account=chem", 200, `"accounts":["chem"],`}, {daemon, "&account=chem&account=phys", 403, "one of an account for its coordinators"},
		{daemon, "&account=", 403, "coordinators"}, {wwwData, "", 403, "coordinators"}, {wwwData, "&account=chem", 403, "coordinators"}, {games, "", 200, `"accounts":[],`}, {games, "&account=phys", 200, `"accounts":["phys"],`},
	} {
		got := request{Addr: "unix:" + l.Addr().String(), Method: "GET", Path: "/v1/digest?from=2026-11-09T00:00:00Z&to=2026-11-16T00:00:00Z" + c.query}.as(t, c.uid)
		if got.Status != c.status || !strings.Contains(got.Text, c.text) {
			t.Errorf("%d asks for %q: %d %s", c.uid, c.query, got.Status, got.Text)
		}
	}
	for uid, status := range map[int]int{daemon: 200, wwwData: 403} {
		if got := (request{Addr: "unix:" + l.Addr().String(), Method: "GET", Path: "/v1/programs"}).as(t, uid); got.Status != status {
			t.Errorf("%d asks for programs: %d %s", uid, got.Status, got.Text)
		}
	}
}

// TestDigestWeek: which days a week has is said by jobeffd's settings, and the answer names its clock.
func TestDigestWeek(t *testing.T) {
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) { o.Weeks = notice.Weekly{Day: time.Wednesday, Zone: zone} })
	for query, want := range map[string][2]string{"week=2026-W46": {"2026-11-09T00:00:00+13:00", "2026-11-16T00:00:00+13:00"}, "week=": {}, "": {},
		"from=2026-11-09T00:00:00Z&to=2026-11-10T00:00:00Z": {"2026-11-09T00:00:00Z", "2026-11-10T00:00:00Z"}} {
		got := request{Addr: s.unix, Method: "GET", Path: "/v1/digest?stored=1&" + query}.do()
		var both listing.TwoWeeks
		if err := json.Unmarshal([]byte(got.Text), &both); err != nil || got.Status != 200 || both.Zone != "Pacific/Auckland" {
			t.Fatalf("%q: %d %v %.300s", query, got.Status, err, got.Text)
		}
		from, to := both.This.From.Format(time.RFC3339), both.This.To.Format(time.RFC3339)
		if want[0] != "" && (from != want[0] || to != want[1]) {
			t.Errorf("%q: %s to %s", query, from, to)
		}
		if last := both.This.To.In(zone); want[0] == "" && (last.Weekday() != time.Wednesday || last.Hour() != 0) {
			t.Errorf("%q: it ends on %s", query, last)
		}
	}
}

// TestGuestsOfASite: where Slurm lets everybody see all jobs, /metrics, the ledger and the digest are for operators still.
func TestGuestsOfASite(t *testing.T) {
	s := start(t, func(o *Options) { o.Open = true })
	if err := s.store.SetGrants(ctx, "", []store.Grant{{UID: store.Everybody}, {UID: bob}}); err != nil {
		t.Fatal(err)
	}
	s.check(t, "a report", s.post(t, report(7, alice)), 200, "true")
	for path, statuses := range map[string][2]int{"/v1/jobs/7": {200, 200}, "/v1/months": {200, 200}, "/metrics": {403, 200}, "/v1/coverage": {403, 200}, "/v1/cost": {403, 200}, "/v1/status": {403, 200}, "/v1/digest?from=2026-11-09T00:00:00Z&to=2026-11-16T00:00:00Z": {403, 200}} {
		for i, uid := range []int{61003, bob} {
			if got := (request{Addr: s.unix, Method: "GET", Path: path}).as(t, uid); got.Status != statuses[i] {
				t.Errorf("%d asks for %s: %d %.300s", uid, path, got.Status, got.Text)
			}
		}
	}
}

// TestReadAccessNowAndThen: Slurm's grants reach the database. They are asked for again after
// ten intervals, also if that is too much to read. If sacctmgr fails, nobody loses a grant.
func TestReadAccessNowAndThen(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	fakeCommand(t, "sacctmgr", `case "$*" in *account*) echo x >>`+asked+`; printf '%-300s %-4000s \n' chem daemon;; *user*) printf '%-300s %-300s \n' bin Operator;; *) echo 'PrivateData = none';; esac`)
	now, db := time.Now(), openStore(t)
	p := &Poller{Store: db, Interval: time.Minute, now: func() time.Time { return now }}
	for i, step := range []time.Duration{0, time.Minute, 8 * time.Minute, time.Minute, -time.Hour} {
		now = now.Add(step)
		if err := p.readAccess(ctx); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(asked)
		if got, want := strings.Count(string(text), "x"), []int{1, 1, 1, 2, 3}[i]; got != want {
			t.Errorf("after %d looks it was asked %d times, want %d", i+1, got, want)
		}
	}
	fakeCommand(t, "sacctmgr", "exit 1")
	now = now.Add(time.Hour)
	if err := p.readAccess(ctx); err == nil {
		t.Error("a sacctmgr that fails is no error")
	}
	endless := filepath.Join(t.TempDir(), "endless")
	fakeCommand(t, "sacctmgr", "echo x >>"+endless+"; exec yes")
	for range 3 {
		err := p.readAccess(ctx)
		if text, _ := os.ReadFile(endless); string(text) != "x\n" {
			t.Errorf("a sacctmgr with too much to say is asked again at once: %q, %v", text, err)
		}
	}
	for uid, want := range map[uint32]store.Viewer{daemon: {UID: daemon, Accounts: []string{"chem"}}, bin: {UID: bin, All: true}, sys: {UID: sys}} {
		if got, err := db.Viewer(ctx, "", uid, false); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
	}
}

// fakeCommand puts a script first in PATH.
func fakeCommand(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// FuzzQuery: filters that are taken are asked for again in the same words. A page that leaves one
// out, or reads another, would show what nobody asked for.
func FuzzQuery(f *testing.F) {
	for _, text := range []string{
		"job=7_[1-3],8&user=0,1000&state=FAILED&limit=20&offset=40&sort=lost&detail=1",
		"start=2026-11-20T08:00:00Z&end=2026-11-20T08:00:00%2B14:00&account=a%26b",
		"user=0&since=2026-11-20T08:00:00.5-01:00&muted=1&limit=2",
		"program=a,b&rule=low&name=%25%27&least_cores=2&most_cores=9&least_elapsed=90m&most_elapsed=7200&sort=-pe&start=2026-11-20",
		"limit=1&limit=2", "detail=yes", "%zz", "a=1;b=2", "limit=9223372036854775808", "start=0001-01-01T00:00:00Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &http.Request{URL: &url.URL{RawQuery: text}}
		if onlyKnown(r, listParameters) == nil {
			again(t, r.URL.Query(), listing.JobQuery.Values, func(v url.Values) (listing.JobQuery, *refusal) {
				return parseQuery(v)
			})
		}
		if onlyKnown(r, workloadParameters) == nil {
			again(t, r.URL.Query(), listing.WorkloadQuery.Values, func(v url.Values) (listing.WorkloadQuery, *refusal) {
				return parseWorkloads(v)
			})
		}
	})
}

// again reads a query, writes it and reads that: what is written must stay.
func again[Q any](t *testing.T, v url.Values, values func(Q) url.Values, parse func(url.Values) (Q, *refusal)) {
	t.Helper()
	q, e := parse(v)
	if e != nil {
		if e.Status != http.StatusBadRequest || e.Message == "" {
			t.Errorf("%v: %+v", v, e)
		}
		return
	}
	written := values(q)
	q, e = parse(written)
	if e != nil {
		t.Fatalf("%v was taken, but written as %v it is refused: %s", v, written, e.Message)
	}
	if text := values(q).Encode(); text != written.Encode() {
		t.Errorf("%v was written as %s, then as %s", v, written.Encode(), text)
	}
}
