package notify

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"jobeff/etc"
	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/store"
	"jobeff/policy/demo"
	"jobeff/report/mail"
	"jobeff/report/view"
)

var ctx = context.Background()

// tuesday is a Tuesday at noon: the digest of Monday and the notices of the morning are due.
var tuesday = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// monday is the time of the digest a week before.
var monday = time.Date(2026, 11, 9, 7, 0, 0, 0, time.UTC)

// config is a site that mails to a server.
func config(port int) *etc.Config {
	cfg := etc.Default()
	cfg.Mail.Host, cfg.Mail.Port, cfg.Mail.From, cfg.Mail.Address = "127.0.0.1", port, "jobeff <jobeff@example.org>", "{user}@example.org"
	cfg.Mail.Templates = ""
	cfg.Digest.To, cfg.Digest.Zone = []string{"hpc@example.org"}, "UTC"
	cfg.Notice.Shadow = false
	// How mails come is tested here, not what is worth one.
	cfg.Notice.WithoutLine, cfg.Notice.LeastCoreHours, cfg.Notice.LeastShare = true, 0, 0
	return cfg
}

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// site opens a database in which the last digest was that of last Monday, and nothing of
// notices was decided since.
func site(t *testing.T, path string) *store.Store {
	t.Helper()
	db, err := store.Open(path)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	must(t, db.SetMark(ctx, "digest", monday))
	must(t, db.SetMark(ctx, "notice", tuesday.AddDate(0, 0, -7)))
	return db
}

func notifier(t *testing.T, cfg *etc.Config, db *store.Store, c *clock) *Notifier {
	t.Helper()
	n, err := New(cfg, db, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel), c.now)
	must(t, err)
	return n
}

// demoSite is a made-up site.
func demoSite(t *testing.T, jobs int) *store.Store {
	t.Helper()
	db := site(t, filepath.Join(t.TempDir(), "db"))
	y := demo.New(demo.Options{Seed: 3, Jobs: jobs, Until: tuesday})
	var all []*job.Job
	for j := y.Next(); j != nil; j = y.Next() {
		all = append(all, j)
	}
	must(t, db.AddJobs(ctx, all))
	return db
}

// badJobs are jobs of one user and workload that wait for half of the time.
func badJobs(user string, uid uint32, first uint32, n int, program string) (all []*job.Job) {
	for i := range n {
		start := tuesday.Add(-time.Duration(30+i%100) * time.Hour)
		end := start.Add(time.Hour)
		r := &job.NodeReport{Version: 1, Sequence: 1, Cluster: "c", JobID: first + uint32(i), UID: uid, User: user, Account: "proj", Node: "n1", NNodes: 1, OnlineCPUs: 64,
			Start: start, End: end, Decision: "on", Prolog: true, Steps: []job.Step{{ID: "0", Tasks: 64, Start: start, End: end}},
			Executions: []job.Execution{{Key: "k", KeyFrom: "pmix", Steps: []string{"0"}, Size: 64, Start: start, End: end, MPI: "MPICH", Executable: "/bin/" + program,
				BuildID: "b" + program, ArgsHash: "a", Endings: map[string]int{"finalized": 64},
				Nodes: []job.NodeShare{{Node: "n1", Ranks: 64, Useful: 64 * 30 * time.Minute, UsefulMax: 31 * time.Minute, MPI: 64 * 30 * time.Minute,
					ElapsedMax: time.Hour, ElapsedSum: 64 * time.Hour, RankIDs: "0-63"}}}}}
		var m assemble.Merger
		m.Add(r)
		j := m.Job()
		j.Attempt, j.State, j.CPUs, j.Nodes, j.Elapsed, j.Submit, j.Partition = 1, "COMPLETED", 64, 1, time.Hour, start, "main"
		all = append(all, j)
	}
	return all
}

func TestDigestArrives(t *testing.T) {
	s := newSMTP(t).start(t)
	db := demoSite(t, 20_000)
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Notice.Enabled = false
	cfg.Digest.To = []string{"hpc@example.org", "boss@example.org"}
	cfg.Digest.Accounts = map[string][]string{"pi@example.org": {"chem"}}
	cfg.Mail.Link = "https://jobeff.example.org"
	for range 3 { // and by a second daemon
		notifier(t, cfg, db, c).Tick(ctx)
	}
	all := s.arrived(t, 3)
	if got := fmt.Sprint(recipients(all)); got != "[boss@example.org hpc@example.org pi@example.org]" {
		t.Error(got)
	}
	for _, l := range all {
		if l.size > 200<<10 {
			t.Errorf("%d bytes", l.size)
		}
		if d, _ := l.header.Date(); !d.Equal(tuesday) {
			t.Errorf("date %v", d)
		}
		if l.header.Get("Auto-Submitted") != "auto-generated" || !strings.HasPrefix(l.header.Get("List-Unsubscribe"), "<mailto:jobeff@example.org?") {
			t.Errorf("%v", l.header)
		}
		for _, want := range []string{"9 to 15 November 2026", "core-hours", "comes late", "https://jobeff.example.org"} {
			if !strings.Contains(l.text, want) || !strings.Contains(l.html, want) {
				t.Errorf("no %q in\n%s", want, l.text)
			}
		}
		if isPI := strings.Contains(l.header.Get("To"), "pi@"); isPI != strings.Contains(l.text, ", chem") || isPI == strings.Contains(l.text, "physics") {
			t.Errorf("the digest to %s:\n%s", l.header.Get("To"), l.text)
		}
		if strings.Contains(l.header.Get("To"), "hpc@") {
			screenshot(t, l, "mail-digest", 2700)
			if !strings.Contains(l.text, "Instead of ") {
				t.Errorf("no saving:\n%s", l.text)
			}
			if n := strings.Count(l.html, `bgcolor="#b42318"`); n < 6 {
				t.Errorf("%d bars", n)
			}
		}
	}
	c.at = c.at.AddDate(0, 0, 5) // the same week still
	notifier(t, cfg, db, c).Tick(ctx)
	s.arrived(t, 3)
	c.at = c.at.AddDate(0, 0, 3)
	notifier(t, cfg, db, c).Tick(ctx)
	s.arrived(t, 6)
}

// TestDigestDayChanged: whatever digest.day and digest.hour are changed to, each day is in one
// digest, and a digest that does not cover a week says so.
func TestDigestDayChanged(t *testing.T) {
	s := newSMTP(t).start(t)
	db := demoSite(t, 2000)
	cfg, c := config(s.port), &clock{}
	cfg.Notice.Enabled = false
	want := map[string]string{} // what is said of its length, by span
	for _, change := range []struct {
		day   string
		hour  int
		date  string
		spans map[string]string
	}{
		{"monday", 7, "2026-11-17", map[string]string{"9 to 15 November 2026": ""}},
		{"monday", 7, "2026-11-18", nil},
		{"thursday", 7, "2026-11-19", map[string]string{"16 to 18 November 2026": "3 days"}},
		{"friday", 7, "2026-11-20", map[string]string{"19 November 2026": "1 day"}},
		{"friday", 9, "2026-11-20", nil},
		{"friday", 9, "2026-11-28", map[string]string{"20 to 26 November 2026": ""}},
		{"monday", 7, "2026-12-15", map[string]string{"27 to 29 November 2026": "3 days", "30 November to 6 December 2026": "", "7 to 13 December 2026": ""}},
	} {
		cfg.Digest.Day, cfg.Digest.Hour = change.day, change.hour
		date, err := time.Parse(time.DateOnly, change.date)
		must(t, err)
		c.at = date.Add(12 * time.Hour)
		notifier(t, cfg, db, c).Tick(ctx)
		maps.Copy(want, change.spans)
	}
	got := map[string]string{}
	for _, l := range s.arrived(t, len(want)) {
		span, _, _ := strings.Cut(strings.TrimPrefix(l.subject(t), "jobeff: "), ", ")
		_, part, _ := strings.Cut(l.text, "This digest is of ")
		part, _, _ = strings.Cut(part, ", ")
		got[span] = part
		if strings.Contains(l.text, "THE WEEK OF") != (part == "") || part != "" && !strings.Contains(l.html, part) {
			t.Errorf("%s", l.text)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNoticesOfASite sends what a made-up site's users are told, and looks at one.
func TestNoticesOfASite(t *testing.T) {
	s := newSMTP(t).start(t)
	db := demoSite(t, 30_000)
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Digest.To = []string{"hpc@example.org"}
	cfg.Notice.Shadow = true
	must(t, db.SetMark(ctx, "digest", tuesday)) // only notices
	notifier(t, cfg, db, c).Tick(ctx)
	told, err := db.Told(ctx, time.Time{})
	must(t, err)
	users := map[uint32]bool{}
	for _, x := range told {
		users[x.UID] = true
	}
	all := s.arrived(t, len(users))
	if len(all) < 10 {
		t.Fatalf("only %d users are told", len(all))
	}
	advised := 0
	for _, l := range all {
		if l.header.Get("To") != "<hpc@example.org>" || !strings.HasPrefix(l.subject(t), "[shadow, for ") || !strings.Contains(l.text, "Shadow mode") {
			t.Errorf("in shadow to %s: %s", l.header.Get("To"), l.subject(t))
		}
		if strings.Contains(l.text, "sbatch --nodes=") {
			if advised++; advised == 1 {
				screenshot(t, l, "mail-notice", 1300)
				t.Logf("%s\n%s", l.subject(t), l.text)
			}
		}
	}
	if advised == 0 {
		t.Error("nobody is told what to do")
	}
	cfg.Notice.Shadow = false // from now on the users are told: what was in shadow does not count
	c.at = c.at.AddDate(0, 0, 7)
	must(t, db.SetMark(ctx, "notice", tuesday.AddDate(0, 0, -7)))
	must(t, db.SetMark(ctx, "digest", c.at))
	c.at = tuesday
	// the key of the week is taken: nothing is sent twice, not even to another
	notifier(t, cfg, db, c).Tick(ctx)
	s.arrived(t, len(users))
}

// TestManyBadJobs is fault 39: a thousand bad jobs cause one mail, and none the week after.
func TestManyBadJobs(t *testing.T) {
	s := newSMTP(t).start(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 1000, "melt")))
	must(t, db.AddJobs(ctx, badJobs("bob", 1002, 5000, 3, "flow")))
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Digest.To = nil
	for range 60 {
		notifier(t, cfg, db, c).Tick(ctx)
		c.at = c.at.Add(time.Minute)
	}
	all := s.arrived(t, 2)
	if got := fmt.Sprint(recipients(all)); got != "[alice@example.org bob@example.org]" {
		t.Error(got)
	}
	for _, l := range all {
		want, n := "jobeff mute melt-", "1,000 jobs"
		if strings.Contains(l.header.Get("To"), "bob") {
			want, n = "jobeff mute flow-", "3 jobs"
		}
		if !strings.Contains(l.text, want) || !strings.Contains(l.text, n) || !strings.Contains(l.text, "Ask your site's support") {
			t.Errorf("%s", l.text)
		}
	}
	c.at = tuesday.AddDate(0, 0, 7)
	must(t, db.AddJobs(ctx, shifted(badJobs("alice", 1001, 10_000, 50, "melt"), 7)))
	must(t, db.AddJobs(ctx, shifted(badJobs("bob", 1002, 11_000, 3, "other"), 7)))
	notifier(t, cfg, db, c).Tick(ctx)
	all = s.arrived(t, 3) // bob's other program; alice's workload cools down
	if n := strings.Count(fmt.Sprint(recipients(all)), "bob"); n != 2 {
		t.Errorf("%v", recipients(all))
	}
}

// shifted moves jobs by days.
func shifted(jobs []*job.Job, days int) []*job.Job {
	for _, j := range jobs {
		j.Submit, j.Start, j.End = j.Submit.AddDate(0, 0, days), j.Start.AddDate(0, 0, days), j.End.AddDate(0, 0, days)
		for i := range j.Executions {
			j.Executions[i].Start = j.Executions[i].Start.AddDate(0, 0, days)
		}
	}
	return jobs
}

// TestServerAway: an hour without the server costs some attempts, and then each mail
// comes once.
func TestServerAway(t *testing.T) {
	s := newSMTP(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	for i := range uint32(20) {
		must(t, db.AddJobs(ctx, badJobs(fmt.Sprintf("user%d", i), 1000+i, 1000*i+1, 2, "melt")))
	}
	cfg, c := config(s.port), &clock{tuesday}
	n := notifier(t, cfg, db, c)
	for range 60 {
		n.Tick(ctx)
		c.at = c.at.Add(time.Minute)
	}
	keys, err := db.DueMails(ctx, c.at.Add(longRetry), false, 1000)
	must(t, err)
	if len(keys) != 21 { // and the digest
		t.Fatalf("%d mails wait", len(keys))
	}
	m, err := db.ClaimMail(ctx, keys[0], c.at.Add(longRetry), 0)
	must(t, err)
	if m.Attempts < 1 || m.Attempts > 8 {
		t.Errorf("%d attempts in an hour", m.Attempts)
	}
	s.start(t)
	for range 8 {
		c.at = c.at.Add(time.Hour)
		n.Tick(ctx)
	}
	for id, times := range counted(s.arrived(t, 21)) {
		if times != 1 {
			t.Errorf("%s came %d times", id, times)
		}
	}
}

// TestRefused: an address that the server refuses is given up, and holds up no other one.
func TestRefused(t *testing.T) {
	s := newSMTP(t).start(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Digest.To = []string{"gone@elsewhere.net", "hpc@example.org"}
	n := notifier(t, cfg, db, c)
	for range 10 {
		n.Tick(ctx)
		c.at = c.at.Add(time.Hour)
	}
	s.arrived(t, 1)
	if keys, err := db.DueMails(ctx, c.at.AddDate(1, 0, 0), false, 10); err != nil || len(keys) != 0 {
		t.Errorf("still waiting: %v, %v", keys, err)
	}
	f, err := db.TwoWeeks(ctx, store.Viewer{All: true}, tuesday, c.at, nil)
	must(t, err)
	if f.This.Health.Unsent != 1 {
		t.Errorf("health: %+v", f.This.Health)
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	if n := strings.Count(string(log), "elsewhere.net"); n > 2 {
		t.Errorf("the server was asked %d times:\n%s", n, log)
	}
}

// TestQuietHours: what is decided late in the evening waits for the morning.
func TestQuietHours(t *testing.T) {
	s := newSMTP(t).start(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 3, "melt")))
	cfg, c := config(s.port), &clock{time.Date(2026, 11, 17, 22, 30, 0, 0, time.UTC)} // jobeffd was away at 9
	cfg.Digest.To = nil
	n := notifier(t, cfg, db, c)
	for ; c.at.Hour() != 7; c.at = c.at.Add(10 * time.Minute) {
		n.Tick(ctx)
	}
	s.arrived(t, 0)
	n.Tick(ctx)
	s.arrived(t, 1)
}

// TestQuietAfterRetries: a mail that no server took in the day waits for the morning. Only one to
// the admins does not.
func TestQuietAfterRetries(t *testing.T) {
	s := newSMTP(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 3, "melt")))
	c := &clock{tuesday}
	n := notifier(t, config(s.port), db, c)
	for ; c.at.Hour() < 21; c.at = c.at.Add(10 * time.Minute) {
		n.Tick(ctx)
	}
	s.start(t)
	for ; c.at.Hour() != 7; c.at = c.at.Add(10 * time.Minute) {
		n.Tick(ctx)
	}
	if got := recipients(s.arrived(t, 1)); fmt.Sprint(got) != "[hpc@example.org]" {
		t.Errorf("at night: %v", got)
	}
	n.Tick(ctx)
	s.arrived(t, 2)
}

// TestHostileNames is fault 32 in mails, of our templates and of a site's that trust every name.
func TestHostileNames(t *testing.T) {
	t.Run("ours", func(t *testing.T) { hostileNames(t, "") })
	dir := t.TempDir()
	for name, text := range map[string]string{
		"notice.txt":  "{{range .Items}}\n{{.Name}}\n{{.Show}}\n{{.Mute}}\n{{.Sbatch}}\n{{end}}",
		"notice.html": `{{range .Items}}<p title="{{.Name}}" onclick="f({{.Name}})"><a href="?{{.Name}}">{{.Name}}</a> {{.Show}} {{.Sbatch}}</p>{{end}}`,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Run("a site's", func(t *testing.T) { hostileNames(t, dir) })
}

func hostileNames(t *testing.T, templates string) {
	s := newSMTP(t).start(t)
	db := site(t, filepath.Join(t.TempDir(), "db"))
	names := []string{"=cmd|'/C calc'!A0", "<script>alert(1)</script>", "\x1b[31mred", "a\r\nBcc: all@example.org\r\n\r\nhello", `"'` + "`", "\u202etxt.exe", "bad\xffutf8",
		"{{.Help}}", "x --jobeff-workload=y; rm -rf /"}
	var jobs []*job.Job
	for i, name := range names {
		of := badJobs("alice", 1001, uint32(1+100*i), 2, "p")
		for _, j := range of {
			j.Name, j.Account, j.Executions[0].Executable, j.Executions[0].Workload = name, name, "/bin/"+name, name
		}
		jobs = append(jobs, of...)
	}
	must(t, db.AddJobs(ctx, jobs))
	must(t, db.AddJobs(ctx, badJobs("a\r\nBcc: all@example.org", 1007, 5000, 2, "p"))) // no user's name: no mail
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Mail.Templates = templates
	n := notifier(t, cfg, db, c)
	n.Tick(ctx)
	for _, l := range s.arrived(t, 2) {
		if len(l.header["Bcc"]) > 0 || strings.Contains(l.header.Get("Subject"), "script") {
			t.Errorf("%v", l.header)
		}
		for _, part := range []string{l.text, l.html} {
			if strings.ContainsAny(part, "\x1b\u202e\x00") || strings.Contains(part, "\nBcc:") {
				t.Errorf("%q", part)
			}
		}
		if strings.Contains(l.html, "<script") {
			t.Errorf("%s", l.html)
		}
		for line := range strings.Lines(l.text) {
			if (strings.Contains(line, "sbatch") || strings.Contains(line, "jobeff mute") || strings.Contains(line, "jobeff workload")) && strings.ContainsAny(line, ";'`\"") {
				t.Errorf("a line to copy: %s", line)
			}
		}
	}
}

// TestBetter: after a user was told, their jobs pass: they hear so once.
func TestBetter(t *testing.T) {
	s := newSMTP(t).start(t)
	tellBetter(t, s, "melt")
	for _, l := range s.arrived(t, 2) {
		if d, _ := l.header.Date(); d.After(tuesday) && !strings.Contains(l.text, "is better now") {
			t.Errorf("%s", l.text)
		}
	}
}

// tellBetter sends a user two mails: that the jobs of a program are bad, and that they are better.
func tellBetter(t *testing.T, s *smtpServer, program string) {
	t.Helper()
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 5, program)))
	cfg, c := config(s.port), &clock{tuesday}
	cfg.Digest.To = nil
	notifier(t, cfg, db, c).Tick(ctx)
	good := shifted(badJobs("alice", 1001, 1000, 5, program), 7)
	for _, j := range good { // the same program with next to no time in MPI
		n := &j.Executions[0].Nodes[0]
		n.Useful, n.UsefulMax, n.MPI = 64*58*time.Minute, 58*time.Minute, 64*2*time.Minute
		j.Executions[0].Metrics = job.ExecutionMetrics(&j.Executions[0])
		j.Metrics = job.JobMetrics(j.Executions)
	}
	must(t, db.AddJobs(ctx, good))
	for range 3 {
		c.at = c.at.AddDate(0, 0, 7)
		notifier(t, cfg, db, c).Tick(ctx)
	}
}

// TestHostileSubjects: the subject that says what is better names a user's program. It shows the name as
// it is, on one line, and no encoded words (RFC 2047) that the user made.
func TestHostileSubjects(t *testing.T) {
	for name, want := range map[string]string{
		"a\r\nBcc: all@example.org":         "a??Bcc: all@example.org",
		"=?utf-8?q?=E2=80=AE=0D=0ABcc:?=":   "=E2=80=AE=0D=0ABcc:",
		"a =?utf-8?b?4oCuDQpCY2M6?= ü":      "4oCuDQpCY2M6",
		"=?=?utf-8?q?=0A?= =?utf-8?q?=0A?=": "q?=0A",
		"\u202e\u2066\u200bx":               "???x",
		strings.Repeat("ü", 5000):           strings.Repeat("ü", 100),
		strings.Repeat("x ", 5000):          strings.Repeat("x ", 60),
		strings.Repeat("🧨", 5000):           strings.Repeat("🧨", 100),
		"a" + strings.Repeat("\u0301", 500): `a\u0301\u0301`,
	} {
		t.Run(strings.ToValidUTF8(name[:min(len(name), 20)], ""), func(t *testing.T) {
			s := newSMTP(t).start(t)
			tellBetter(t, s, name)
			seen := false
			for _, l := range s.arrived(t, 2) {
				subject := l.subject(t)
				seen = seen || strings.Contains(subject, want)
				if len(l.header["Bcc"]) > 0 || strings.ContainsFunc(subject, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%q, decoded from %q", subject, l.header.Get("Subject"))
				}
			}
			if !seen {
				t.Errorf("no subject has %q", want)
			}
		})
	}
}

// TestPreview: what would be sent and what is held back is shown without a mail server, and
// nothing of it is stored.
func TestPreview(t *testing.T) {
	db := site(t, filepath.Join(t.TempDir(), "db"))
	must(t, db.AddJobs(ctx, badJobs("alice", 1001, 1, 5, "melt")))
	late := badJobs("bob", 1002, 5000, 3, "flow")
	for _, j := range late {
		j.State = "TIMEOUT"
	}
	must(t, db.AddJobs(ctx, late))
	cfg := etc.Default()
	cfg.Digest.Zone = "UTC"
	preview := func() string {
		t.Helper()
		mails, held, err := Preview(ctx, cfg, db, tuesday)
		must(t, err)
		var b strings.Builder
		templates, err := mail.Load("")
		must(t, err)
		must(t, mail.Preview(&b, templates, mails, held, view.Site{Zone: time.UTC, Help: "help@example.org"}))
		return b.String()
	}
	for _, want := range []string{"alice on c: no mail now\n  held: melt-", "5 jobs by low-efficiency: no line to try is known\n",
		"bob on c: no mail now\n  held: flow-", "3 jobs by low-efficiency: the job ended as TIMEOUT\n"} {
		if got := preview(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	cfg.Notice.WithoutLine, cfg.Notice.LeastCoreHours, cfg.Notice.LeastShare = true, 0, 0
	if got := preview(); !strings.Contains(got, "alice on c: one mail now\n") || !strings.Contains(got, "told: melt-") || !strings.Contains(got, "\n  | Subject: ") || !strings.Contains(got, "\n  | Hello alice,\n") ||
		strings.Contains(got, "it would go to digest.to") != cfg.Notice.Shadow {
		t.Errorf("%s", got)
	}
	if got := preview(); strings.Contains(got, "c:1") {
		t.Errorf("of one cluster: %s", got)
	}
	cfg.Clusters = []etc.Cluster{{Name: "c"}, {Name: "d"}}
	if got := preview(); !strings.Contains(got, "c:1") {
		t.Errorf("of two clusters: %s", got)
	}
	cfg.Notice.Shadow = !cfg.Notice.Shadow
	if got := preview(); strings.Contains(got, "in shadow (notice.shadow): it would go to digest.to, not to the user\n  would") != cfg.Notice.Shadow {
		t.Errorf("%s", got)
	}
	if told, err := db.Told(ctx, time.Time{}); err != nil || len(told) != 0 {
		t.Errorf("kept: %v, %v", told, err)
	}
}
