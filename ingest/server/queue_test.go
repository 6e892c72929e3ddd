package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/store"
)

// fakeQueue makes a squeue that tells of these lines: raw id, id, uid and name of each.
func fakeQueue(t *testing.T, lines ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script := "for a; do case $a in --format=*|--Format=*) d=${a##*:};; esac; done\necho call >>" + dir + "/calls\n"
	for _, l := range lines {
		f := strings.SplitN(l, " ", 4)
		script += fmt.Sprintf("echo \"%s${d}%s${d}N/A${d}0${d}%s${d}u${d}chem${d}main${d}q${d}1${d}4${d}mem=1G${d}10:00${d}2026-11-20T08:00:00${d}N/A${d}N/A${d}Priority${d}%s${d}\"\n", f[0], f[1], f[2], f[3])
	}
	fakeCommand(t, "squeue", script)
	fakeCommand(t, "scontrol", "echo ClusterName = test")
	fakeCommand(t, "sacct", "exit 0")
	return dir
}

// TestReadQueueNowAndThen: the queue is read no more often than the interval says, and less often where reading it
// takes long. While it cannot be read, that is said once, and after a while nobody is told of its lines.
func TestReadQueueNowAndThen(t *testing.T) {
	db := openStore(t)
	dir := fakeQueue(t, "7 7 61001 md")
	log := &lockedBuffer{}
	p := NewPoller(db, zerolog.New(log), 30*time.Second)
	began := time.Now()
	now, took := began, time.Duration(0)
	p.now = func() time.Time { now = now.Add(took); return now }
	calls := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return strings.Count(string(text), "\n")
	}
	after := func(d time.Duration, want int) {
		t.Helper()
		now = began.Add(d)
		p.readQueue(ctx)
		if n := calls(); n != want {
			t.Errorf("after %v squeue was asked %d times, want %d: %s", d, n, want, log)
		}
	}
	waits := func() bool {
		t.Helper()
		list, err := db.Pending(ctx, store.Viewer{All: true}, listing.JobQuery{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return list != nil && len(list.Jobs) == 1
	}
	after(0, 1)
	if !waits() {
		t.Fatalf("the line is not kept: %s", log)
	}
	after(29*time.Second, 1)
	after(31*time.Second, 2)
	took = 3 * time.Second // between two looks at the clock
	after(2*time.Minute, 3)
	took = 0
	after(3*time.Minute, 3)
	after(6*time.Minute, 4)
	fakeCommand(t, "squeue", "echo down >&2; exit 1")
	for i := range 3 {
		after(time.Duration(7+i)*time.Minute, 4)
	}
	if n := strings.Count(log.String(), "queue cannot be read"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
	now = began.Add(-time.Hour) // the clock was set back
	before := p.queue.next
	if p.readQueue(ctx); !p.queue.next.Before(before) {
		t.Error("a clock that was set back stops all looks")
	}
	if err := db.SetPending(ctx, store.QueueLook{Cluster: "test", At: began, Until: began}, nil); err != nil {
		t.Fatal(err)
	}
	if waits() {
		t.Error("a line is told that is too old")
	}
}

// TestWhoSeesWhatWaits: a job that waits is answered to its owner, and to nobody else in other words than one that is not
// there. It has neither an attempt nor a step.
func TestWhoSeesWhatWaits(t *testing.T) {
	s := start(t)
	fakeQueue(t, fmt.Sprintf("7 7 %d <b>md</b>", alice), fmt.Sprintf("9 9 %d md", daemon))
	NewPoller(s.store, zerolog.Nop(), time.Minute).readQueue(ctx)
	ask := func(path string, uid int) response {
		return request{Addr: s.unix, Method: http.MethodGet, Path: path}.as(t, uid)
	}
	got := ask("/v1/jobs/7?stored=1", alice)
	found := listing.JobAndWorkload{Job: new(job.Job)}
	if err := json.Unmarshal([]byte(got.Text), &found); err != nil || got.Status != 200 || !found.OnlyWaits() || found.State != "PENDING" || found.Name != "<b>md</b>" || found.Pending.Jobs[0].Memory != 1<<30 {
		t.Errorf("%v, %+v", err, got)
	}
	for _, path := range []string{"/v1/jobs/%d", "/v1/jobs/%d?stored=1", "/jobs/%d"} {
		there, gone := ask(fmt.Sprintf(path, 7), daemon), ask(fmt.Sprintf(path, 77), daemon)
		if there.Status != 404 || strings.ReplaceAll(gone.Text, "77", "7") != there.Text {
			t.Errorf("%s: another user's is answered by %d %s, one that is not there by %s", path, there.Status, there.Text, gone.Text)
		}
	}
	for _, path := range []string{"/v1/jobs/7.0", "/v1/jobs/7?attempt=1"} {
		if got := ask(path, alice); got.Status != 404 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, c := range []struct {
		uid        int
		path, want string
	}{
		{alice, "/v1/pending", "7"}, {daemon, "/v1/pending", "9"}, {0, "/v1/pending", "7 9"}, {alice, "/v1/pending?job=9", ""}, {0, "/v1/pending?user=61001", "7"}, {daemon, "/v1/pending?user=61001", ""},
		{0, "/v1/pending?name=B%3EM", "7"},
	} {
		got := ask(c.path, c.uid)
		list := new(slurmid.PendingList)
		err := json.Unmarshal([]byte(got.Text), list)
		var all []string
		for i := range list.Jobs {
			all = append(all, list.Jobs[i].ID)
		}
		if err != nil || got.Status != 200 || list.Jobs == nil || strings.Join(all, " ") != c.want {
			t.Errorf("%s as %d: %+v, want %q", c.path, c.uid, got, c.want)
		}
	}
	for _, path := range []string{"/v1/pending?job=x", "/v1/pending?state=R", "/v1/pending?least_cores=-1"} {
		if got := ask(path, alice); got.Status != 400 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if err := s.store.SetPending(ctx, store.QueueLook{Cluster: "test"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := ask("/v1/pending", 0); got.Text != `{"jobs":null}` {
		t.Errorf("what is not known: %+v", got)
	}
	if got := ask("/v1/jobs/7", alice); got.Status != 404 || !strings.Contains(got.Text, "squeue") {
		t.Errorf("what is not known: %+v", got)
	}
}
