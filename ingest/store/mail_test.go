package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/policy/notice"
)

func mailOf(key string) *notice.Mail {
	return &notice.Mail{Key: key, MessageID: "id@" + key, Kind: notice.MailNotice, Cluster: "test", UID: 1001, Decided: day, NotBefore: day.Add(time.Hour),
		Letter: notice.Letter{To: []string{"a@example.org"}, Subject: "s", Text: "t", HTML: "h"},
		Told:   []listing.Told{{Cluster: "test", UID: 1001, User: "alice", At: day, Subject: "w", Workload: "w", Rule: "r", Job: "7", Cores: 8, Advised: 4, Jobs: 2, Lost: 3.5}}}
}

// TestMailLife follows a mail from the decision until it is sent.
func TestMailLife(t *testing.T) {
	t.Parallel()
	s := open(t)
	m := mailOf("notice:1")
	if decided, err := s.DecideMail(ctx, m); !decided || err != nil {
		t.Fatal(decided, err)
	}
	again := mailOf("notice:1")
	again.MessageID, again.Told[0].At = "other", day.Add(time.Second)
	if decided, err := s.DecideMail(ctx, again); decided || err != nil {
		t.Error("decided twice:", decided, err)
	}
	if told, err := s.Told(ctx, day); err != nil || cmp.Diff(m.Told, told) != "" {
		t.Error(err, cmp.Diff(m.Told, told))
	}
	due := func(at time.Time, want int) {
		t.Helper()
		if keys, err := s.DueMails(ctx, at, false, 10); err != nil || len(keys) != want {
			t.Errorf("due at %v: %v, %v", at, keys, err)
		}
	}
	due(day, 0) // quiet hours
	at := day.Add(2 * time.Hour)
	due(at, 1)
	if keys, err := s.DueMails(ctx, at, true, 10); err != nil || len(keys) > 0 {
		t.Errorf("due at night: %v, %v", keys, err)
	}
	got, err := s.ClaimMail(ctx, m.Key, at, time.Minute)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if d := cmp.Diff(m, got, cmpopts.IgnoreFields(notice.Mail{}, "NotBefore", "Told")); d != "" {
		t.Error(d)
	}
	due(at, 0)
	if other, err := s.ClaimMail(ctx, m.Key, at.Add(30*time.Second), time.Minute); other != nil || err != nil {
		t.Error("claimed twice:", other, err)
	}
	due(at.Add(2*time.Minute), 1) // the daemon that sent it was killed
	if err := s.MailFailed(ctx, m.Key, at, at.Add(time.Hour), "no answer"); err != nil {
		t.Error(err)
	}
	due(at.Add(time.Minute), 0)
	if got, err = s.ClaimMail(ctx, m.Key, at.Add(2*time.Hour), time.Minute); err != nil || got == nil || got.Attempts != 1 {
		t.Fatal(got, err)
	}
	if err := s.MailSent(ctx, m.Key, at); err != nil {
		t.Error(err)
	}
	due(at.AddDate(1, 0, 0), 0)
}

// TestMailGivenUp: no server accepts a mail; later its workload gets better.
func TestMailGivenUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.DecideMail(ctx, mailOf("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.MailFailed(ctx, "a", day, time.Time{}, "550 nobody"); err != nil {
		t.Fatal(err)
	}
	if keys, err := s.DueMails(ctx, day.AddDate(1, 0, 0), false, 10); err != nil || len(keys) > 0 {
		t.Error(keys, err)
	}
	better := mailOf("b")
	better.Told[0].Cleared = day.Add(time.Hour)
	if _, err := s.DecideMail(ctx, better); err != nil {
		t.Fatal(err)
	}
	muted := mailOf("").Told
	muted[0].Subject = "muted"
	if err := s.KeepMuted(ctx, muted); err != nil {
		t.Fatal(err)
	}
	told, err := s.Told(ctx, day)
	if err != nil || len(told) != 2 || !told[1].Cleared.Equal(day.Add(time.Hour)) || told[1].Muted || !told[0].Muted {
		t.Errorf("%+v, %v", told, err)
	}
}

// TestSaidToBeWrong: what a notice told is said to be wrong once, by who got it, and is in the facts of that time.
func TestSaidToBeWrong(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, shadow := range []bool{false, true} {
		m := mailOf(fmt.Sprint("notice:", i))
		m.Told[0].Job, m.Told[0].Shadow, m.Told[0].Subject = fmt.Sprint(7+i), shadow, fmt.Sprint(i)
		if _, err := s.DecideMail(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	muted := mailOf("").Told
	muted[0].Job, muted[0].Subject = "9", "muted"
	if err := s.KeepMuted(ctx, muted); err != nil {
		t.Fatal(err)
	}
	owner, other, all := Viewer{UID: 1001}, Viewer{UID: 1002, Accounts: []string{"proj"}}, Viewer{UID: 5, All: true}
	for _, c := range []struct {
		by   Viewer
		id   string
		rule string
		want bool
	}{{owner, "7", "r", true}, {all, "7", "r", true}, {other, "7", "r", false}, {owner, "7", "x", false}, {owner, "8", "r", false}, {all, "8", "r", true}, {all, "9", "r", false}} {
		if told, err := s.NoticeOf(ctx, c.by, c.id, c.rule); (err == nil) != c.want || !c.want && !errors.Is(err, ErrNotFound) || c.want && told.Job != c.id {
			t.Errorf("uid %d, job %s, rule %s: %+v, %v", c.by.UID, c.id, c.rule, told, err)
		}
	}
	told, err := s.NoticeOf(ctx, owner, "7", "r")
	if err != nil {
		t.Fatal(err)
	}
	told.WrongAt, told.WrongBy, told.Wrong = day.Add(time.Hour), 1001, "a\nmaster"
	if said, err := s.SayWrong(ctx, told); !said || err != nil {
		t.Fatal(said, err)
	}
	again := *told
	again.WrongAt, again.Wrong = day.Add(2*time.Hour), "other"
	if said, err := s.SayWrong(ctx, &again); said || err != nil {
		t.Error("said twice:", said, err)
	}
	told.Wrong = "a?master"
	if got, err := s.NoticeOf(ctx, owner, "7", "r"); err != nil || cmp.Diff(told, got) != "" {
		t.Error(err, cmp.Diff(told, got))
	}
	for hour, want := range map[int]int{0: 1, 1: 0} {
		both, err := s.TwoWeeks(ctx, root, day.Add(time.Duration(hour)*90*time.Minute), day.Add(time.Duration(hour+1)*90*time.Minute), nil)
		if err != nil || len(both.This.Wrong) != want {
			t.Errorf("%v, %+v", err, both.This.Wrong)
		}
	}
	if both, err := s.TwoWeeks(ctx, root, day, day.Add(oneDay), []string{"proj"}); err != nil || len(both.This.Wrong) != 0 {
		t.Errorf("of some accounts: %v, %+v", err, both.This.Wrong)
	}
}

// TestOneClaims: of many daemons that claim the same mails, one gets each.
func TestOneClaims(t *testing.T) {
	t.Parallel()
	s := open(t)
	var decided, claimed atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				m := mailOf(key)
				m.Told = nil
				if ok, err := s.DecideMail(ctx, m); err != nil {
					t.Error(err)
				} else if ok {
					decided.Add(1)
				}
				if got, err := s.ClaimMail(ctx, key, day.Add(time.Hour), time.Hour); err != nil {
					t.Error(err)
				} else if got != nil {
					claimed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if decided.Load() != 5 || claimed.Load() != 5 {
		t.Errorf("%d decided, %d claimed", decided.Load(), claimed.Load())
	}
}

// TestFactsAreConfirmed: a digest counts no report of which Slurm has not told.
func TestFactsAreConfirmed(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(7, 1, "a", 0), nodeReport(8, 1, "made up", 0))
	if _, err := s.AddSlurm(ctx, []slurm.Job{sacct(7, "7", "COMPLETED", -time.Minute, 0, 20*time.Second)}); err != nil {
		t.Fatal(err)
	}
	f, err := s.facts(ctx, span{from: day, to: day.Add(oneDay)})
	if err != nil || f.Health.Reports != 1 || f.Health.Late != 1 || f.Total.Jobs != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestFacts sums up jobs; two of them ended in the span.
func TestFacts(t *testing.T) {
	t.Parallel()
	s := open(t)
	var jobs []*job.Job
	for i, hour := range []int{-1, 1, 2, 3, 30} {
		r := runReport(uint32(20+i), 5, 2, nil)
		var m assemble.Merger
		m.Add(r)
		j := m.Job()
		j.Attempt, j.CPUs, j.Elapsed, j.Account, j.User, j.State = 1, 4, time.Hour, "proj", "alice", "COMPLETED"
		j.Start = day.Add(time.Duration(hour-1) * time.Hour)
		j.Submit, j.End = j.Start, j.Start.Add(time.Hour)
		switch i {
		case 0, 1: // the first ended before the span
			j.Warnings = append(j.Warnings, doubt.NewWarning(doubt.WarnPrologFailed, 1), doubt.NewWarning(doubt.WarnNoProlog, 1))
		case 2:
			j.Account = "chem"
		case 3: // what it lost is not known
			j.Metrics.Coverage = 0.5
		}
		jobs = append(jobs, j)
	}
	if err := s.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	f, err := s.facts(ctx, span{from: day, to: day.Add(24 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	lost := 8 - (jobs[1].Metrics.Useful+jobs[2].Metrics.Useful)/3600
	want := listing.Hours{Jobs: 3, Measured: 3, Used: 12, Judged: 8, Lost: lost}
	if d := cmp.Diff(want, f.Total, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Error(d)
	}
	if f.Health.PrologFailed != 1 {
		t.Errorf("%d jobs with a failed prolog", f.Health.PrologFailed)
	}
	if len(f.Accounts) != 2 || len(f.Users) != 1 || len(f.Programs) != 1 || f.Users[0].Name != "alice" || f.Users[0].Jobs != 3 || f.Users[0].Judged != 8 {
		t.Errorf("%+v", f)
	}
	if err := s.comparisons(ctx, span{from: f.From, to: f.To}, f); err != nil || len(f.Heavy) != 1 || f.Heavy[0].Job == nil || f.Heavy[0].Jobs != 3 {
		t.Errorf("%v, %+v", err, f.Heavy)
	}
	if f, err = s.facts(ctx, span{from: day, to: day.Add(24 * time.Hour), accounts: []string{"chem", "none"}}); err != nil || f.Total.Jobs != 1 || len(f.Accounts) != 1 {
		t.Errorf("of chem: %+v, %v", f, err)
	}
}

// TestFactsOfFoldedExecutions: a program counts as often as it ran, however many rows that is. What
// ran with threads is not judged, though no row of a folded execution is a run of a workload.
func TestFactsOfFoldedExecutions(t *testing.T) {
	t.Parallel()
	s := open(t)
	for id, threads := range map[uint32]int{7: 1, 8: 4} {
		r := ofManyRuns(id, 3000, 1, 0)
		for i := range r.Executions {
			r.Executions[i].Executable, r.Executions[i].OMPThreads = fmt.Sprint("/bin/of", threads), threads
		}
		addConfirmed(t, s, r)
	}
	f, err := s.facts(ctx, span{from: day.Add(-oneDay), to: day.Add(oneDay)})
	if err != nil {
		t.Fatal(err)
	}
	const hours = 3000 * 2 * 2.0 / 3600 // of two ranks and two seconds each
	var used, useful float64
	for i := range 3000 {
		useful += (1e9 + float64(i)*12345) / 1e9 / 3600
	}
	used = hours
	want := []listing.NamedHours{
		{Name: "of1", Hours: listing.Hours{Jobs: 3000, Measured: 3000, Used: used, Judged: used, Lost: used - useful}},
		{Name: "of4", Hours: listing.Hours{Jobs: 3000, Measured: 3000, Used: 4 * used}},
	}
	if d := cmp.Diff(want, f.Programs, cmpopts.EquateApprox(1e-6, 0)); d != "" {
		t.Error(d)
	}
}

// TestLineages: a program at another path, of another build or with another MPI library is
// compared with its past, however many runs it has by now.
func TestLineages(t *testing.T) {
	t.Parallel()
	s := open(t)
	var jobs []*job.Job
	ran := func(hour int, path, build, mpi string) {
		r := nodeReport(uint32(1000+len(jobs)), 1, "a", time.Duration(hour)*time.Hour)
		e := &r.Executions[0]
		e.Executable, e.BuildID, e.MPI, e.MPIVersion, e.ArgsHash, e.InputHash = path, build, "MPICH", mpi, "aa", "bb"
		var m assemble.Merger
		m.Add(r)
		j := m.Job()
		j.Attempt, j.CPUs, j.Elapsed, j.Submit = 1, 2, 20*time.Second, r.Start
		jobs = append(jobs, j)
	}
	for range 4 {
		ran(-100, "/apps/lmp/2024/lmp", "b1", "MPICH Version:      4.0.2")
	}
	for range lineageRuns {
		ran(-50, "/apps/lmp/2025/lmp", "b2", "MPICH Version:      4.0.2")
	}
	for range 3 {
		ran(1, "/apps/lmp/2025/lmp", "b2", "MPICH Version:      4.1.1")
	}
	if err := s.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	f := &listing.Facts{From: day, To: day.Add(24 * time.Hour)}
	if err := s.comparisons(ctx, span{from: f.From, to: f.To}, f); err != nil || len(f.Lineages) != 1 {
		t.Fatalf("%v, %d lineages", err, len(f.Lineages))
	}
	got := map[string]int{}
	for _, r := range f.Lineages[0] {
		got[r.BuildID+" "+r.MPI]++
	}
	if d := cmp.Diff(map[string]int{"b1 MPICH 4.0.2": 4, "b2 MPICH 4.0.2": lineageRuns / 2, "b2 MPICH 4.1.1": 3}, got); d != "" {
		t.Error(d)
	}
}

// TestSeries: the newest runs up to the week's end of what ran in it, on each core count, with their MPI
// library.
func TestSeries(t *testing.T) {
	t.Parallel()
	s := open(t)
	var jobs []*job.Job
	ran := func(hour int, args, account string) {
		r := nodeReport(uint32(1000+len(jobs)), 1, "a", time.Duration(hour)*time.Hour)
		e := &r.Executions[0]
		e.Executable, e.BuildID, e.MPI, e.MPIVersion, e.ArgsHash, e.InputHash = "/bin/lmp", "b1", "MPICH", "MPICH Version:      4.0.2", args, "bb"
		var m assemble.Merger
		m.Add(r)
		j := m.Job()
		j.Attempt, j.CPUs, j.Elapsed, j.Submit, j.Account = 1, 2, 20*time.Second, r.Start, account
		jobs = append(jobs, j)
	}
	for range listing.SeriesRuns {
		ran(-50, "aa", "chem")
	}
	ran(1, "aa", "chem")
	ran(2, "aa", "chem")
	ran(30, "aa", "chem") // after the span
	ran(-50, "cc", "chem")
	if err := s.AddJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	for accounts, want := range map[string]int{"": 1, "chem": 1, "bio": 0} {
		f := &listing.Facts{From: day, To: day.Add(24 * time.Hour)}
		if err := s.comparisons(ctx, span{from: f.From, to: f.To, accounts: strings.Fields(accounts)}, f); err != nil || len(f.Series) != want {
			t.Fatalf("%q: %v, %d series", accounts, err, len(f.Series))
		}
		if want == 0 {
			continue
		}
		runs := f.Series[0]
		if last := runs[len(runs)-1]; len(runs) != listing.SeriesRuns || last.MPI != "MPICH 4.0.2" || !last.Start.After(runs[0].Start) || !last.Start.Before(f.To) {
			t.Errorf("%d runs, the last %+v", len(runs), last)
		}
	}
}

// TestOutboxesOfAWeek: a week's digest knows what nodes said in that week or the next.
func TestOutboxesOfAWeek(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.HeardOutbox("test", "good", wire.OutboxState{Waiting: 2, Oldest: time.Second}, day)
	s.HeardOutbox("test", "stuck", wire.OutboxState{Waiting: 1, Oldest: time.Hour}, day)
	s.HeardOutbox("test", "refused", wire.OutboxState{Refused: 1}, day)
	if err := s.keepHeard(ctx, day); err != nil {
		t.Fatal(err)
	}
	s.HeardOutbox("test", "refused", wire.OutboxState{Refused: 3}, day.Add(time.Hour))
	s.heard.note(nodeKey{"test", "refused"}, heardNode{at: day.Add(2 * time.Hour)}) // says nothing of its outbox
	if err := s.keepHeard(ctx, day.Add(heardEvery)); err != nil {
		t.Fatal(err)
	}
	for days, want := range map[int]int{-7: 0, 0: 2, 1: 2, 7: 0} { // from the span's end on
		to := day.Add(2*time.Hour).AddDate(0, 0, -days)
		f, err := s.facts(ctx, span{from: to.AddDate(0, 0, -5), to: to})
		if err != nil {
			t.Fatal(err)
		}
		if o := f.Health.Outboxes; len(o) != want || want > 0 && (o[0].Node != "refused" || o[0].Refused != 3) {
			t.Errorf("%d days after: %+v", days, o)
		}
	}
}

// TestSlowNodesOfSpan: a digest has a look from its span's begin until as long after its end; the status has any.
func TestSlowNodesOfSpan(t *testing.T) {
	t.Parallel()
	s := open(t)
	to := day.AddDate(0, 0, 7)
	for _, c := range []struct {
		at   time.Time // zero: there was no look
		want bool
	}{{}, {day.Add(-1), false}, {day, true}, {to, true}, {to.AddDate(0, 0, 7).Add(-1), true}, {to.AddDate(0, 0, 7), false}} {
		at := c.at
		if !at.IsZero() {
			if err := s.KeepSlowNodes(ctx, &listing.SlowNodes{At: at, Observed: 1}); err != nil {
				t.Fatal(err)
			}
		}
		whole, err := s.facts(ctx, span{from: day, to: to})
		some, also := s.facts(ctx, span{from: day, to: to, accounts: []string{"chem"}})
		is, too := s.Status(ctx, day)
		if err := errors.Join(err, also, too); err != nil {
			t.Fatal(err)
		}
		if got := whole.Health.SlowNodes != nil; got != c.want || some.Health.SlowNodes != nil || (is.Health.SlowNodes == nil) != at.IsZero() {
			t.Errorf("%v: %+v, of some accounts %+v, status %+v", at, whole.Health.SlowNodes, some.Health.SlowNodes, is.Health.SlowNodes)
		}
	}
}

// TestSilentNodes: a node that reported in the weeks before but not in the span is named,
// whichever daemon heard it. After long enough it is forgotten.
func TestSilentNodes(t *testing.T) {
	t.Parallel()
	s := open(t)
	keep := func(node string, days int, now time.Time) {
		t.Helper()
		s.heard.note(nodeKey{"test", node}, heardNode{at: day.AddDate(0, 0, days)})
		if err := s.keepHeard(ctx, now); err != nil {
			t.Fatal(err)
		}
	}
	silent := func(want ...string) {
		t.Helper()
		f, err := s.facts(ctx, span{from: day, to: day.AddDate(0, 0, 7)})
		if d := cmp.Diff(want, f.Health.Silent, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%v, %s", err, d)
		}
	}
	s.heard.note(nodeKey{"test", "here"}, heardNode{at: day.AddDate(0, 0, 1)})
	s.heard.note(nodeKey{"test", "here"}, heardNode{at: day.AddDate(0, 0, -1)})
	s.heard.note(nodeKey{"test", "old"}, heardNode{at: day.AddDate(0, 0, -29)})
	keep("gone", -7, day)
	silent("gone")
	keep("here", -7, day.Add(heardEvery)) // as another daemon may have heard it
	silent("gone")
	keep("gone", 2, day.Add(heardEvery+time.Second))
	silent("gone") // not written yet
	keep("late", -2, day.Add(2*heardEvery))
	silent("late")
	if all, silent, err := s.NodesHeard(ctx, day.AddDate(0, 0, 2).Add(time.Hour), 48*time.Hour); all != 3 || silent != 1 || err != nil {
		t.Errorf("%d nodes, %d of them silent, %v", all, silent, err)
	}

	s.heard.kept = time.Time{}
	add(t, s, nodeReport(7, 1, "a", 0))
	if _, err := s.Merge(ctx); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "nodes"); n != 5 {
		t.Errorf("%d nodes", n)
	}
	if _, err := s.Retain(ctx, Retention{}, day.Add(nodesKept+25*time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "nodes"); n != 2 { // gone, n1
		t.Errorf("%d nodes are left", n)
	}
}
