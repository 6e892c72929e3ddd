package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
	"jobeff/policy/doubt"
	"jobeff/policy/notice"
)

const oneDay = 24 * time.Hour

func months(t *testing.T, s *Store) (all []Month) {
	t.Helper()
	months := newReader(monthTable.columns)
	err := s.eachRow(ctx, "SELECT "+names(monthTable.columns)+" FROM rollup_months ORDER BY "+names(monthKey), nil, func(rows *sql.Rows) error {
		m, err := months.read(rows)
		all = append(all, *m)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// withShares is a report with figures of each rank.
func withShares(r *job.NodeReport) *job.NodeReport {
	n := &r.Executions[0].Nodes[0]
	n.UsefulShare, n.MPIShare = make([]byte, 2), make([]byte, 2)
	return r
}

// TestRetain: ranks are dropped first, then jobs; the sums of their months stay. Doing it
// again, or by two daemons, changes nothing. Younger jobs are untouched.
func TestRetain(t *testing.T) {
	s := open(t)
	for i := range 6 { // days 0 to 5
		r := withShares(nodeReport(uint32(10+i), 1, "a", time.Duration(i)*oneDay))
		r.Executions[0].BuildID, r.Executions[0].Executable, r.Executions[0].ArgsHash = "ab", "/bin/lmp", strings.Repeat("a1", 16)
		add(t, s, r)
		line := sacct(uint32(10+i), fmt.Sprint(10+i), []string{"COMPLETED", "FAILED"}[i%2], 0, time.Duration(i)*oneDay, time.Duration(i)*oneDay+20*time.Second)
		line.WithSteps, line.Usage = true, &job.Usage{TotalCPU: 40 * time.Second}
		line.Elapsed, line.NodeList = 20*time.Second, "n[1-2]"
		if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
			t.Fatal(err)
		}
	}
	young := aJob(t, s, alice, "15", 0)
	before := aJob(t, s, alice, "12", 0)
	now := day.Add(6 * oneDay)
	want := Retained{Trimmed: 2, Pruned: 2}
	for range 2 {
		got, err := s.Retain(ctx, Retention{Ranks: 2 * oneDay, Jobs: 4 * oneDay}, now.Add(-oneDay/2), nil)
		if err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		want = Retained{}
	}
	wantMonths := []Month{{Cluster: "test", Month: 202611, UID: 1001, Account: "proj", User: "alice",
		WorkloadKey: job.WorkloadKey("test", 1001, &before.Executions[0]), WorkloadName: job.WorkloadName(job.WorkloadKey("test", 1001, &before.Executions[0]), &before.Executions[0]),
		Jobs: 2, Completed: 1, Measured: 2, CoreSeconds: 160, CPUSeconds: 80, RankSeconds: 48, Useful: 28, MPITime: 20}}
	if d := cmp.Diff(wantMonths, months(t, s)); d != "" {
		t.Error(d)
	}
	for table, n := range map[string]int{"attempts": 4, "reports": 4, "executions": 4, "workload_runs": 4} {
		if got := count(t, s, table); got != n {
			t.Errorf("%d %s", got, table)
		}
	}
	after := aJob(t, s, alice, "12", 0)
	before.Executions[0].Nodes[0].UsefulShare, before.Executions[0].Nodes[0].MPIShare = nil, nil
	before.Warnings = append(before.Warnings, doubt.NewWarning(doubt.WarnRanksDropped, 0)) // a warning says so
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(young, aJob(t, s, alice, "15", 0)); d != "" {
		t.Error(d)
	}
	late := nodeReport(12, 2, "a", 2*oneDay)
	add(t, s, late, late)
	if got := aJob(t, s, alice, "12", 0); got.Reports != 2 || !cmp.Equal(got.Metrics, after.Metrics) || len(got.Executions) != 1 {
		t.Errorf("with a late report: %+v", got)
	}
	if n, err := s.Merge(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestLateForMonth: a report or a line of sacct comes after its job was pruned. No month
// counts the job twice. A job that is new, and only ended at that time, counts.
func TestLateForMonth(t *testing.T) {
	s := open(t)
	line := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
	line.Nodes, line.NodeList = 2, "n[1-2]"
	foreign, first := nodeReport(7, 9, "a", 0), nodeReport(7, 1, "a", 0)
	foreign.NNodes, first.NNodes = 2, 2
	add(t, s, foreign, first)
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	merged(t, s)
	var before bytes.Buffer
	if err := s.Export(ctx, &before, nil); err != nil {
		t.Fatal(err)
	}
	keep, now := Retention{Jobs: oneDay}, time.Now().Add(40*oneDay)
	if got, err := s.Retain(ctx, keep, now, nil); err != nil || got.Pruned != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := s.Import(ctx, &before, nil); err != nil || got != (Imported{Known: 1}) {
		t.Errorf("imported again: %+v, %v", got, err)
	}
	if n := count(t, s, "reports"); n != 0 {
		t.Errorf("%d reports stay, also of a node that Slurm does not know of", n)
	}
	other := nodeReport(7, 1, "a", 0)
	other.Cluster = "other" // nothing was pruned there
	add(t, s, other)
	for _, r := range []*job.NodeReport{nodeReport(7, 1, "a", 0), nodeReport(7, 2, "a", 0), nodeReport(8, 1, "a", -oneDay)} {
		if added, err := addReport(s, r); added || !errors.Is(err, ErrPruned) {
			t.Errorf("job %d from %s: %v, %v", r.JobID, r.Node, added, err)
		}
	}
	s.began = time.Time{}
	if n, err := s.AddSlurm(ctx, []slurm.Job{line}); n != 0 || err != nil {
		t.Errorf("sacct: %d, %v", n, err)
	}
	if _, err := merged(t, s).Retain(ctx, keep, now, nil); err != nil {
		t.Fatal(err)
	}
	if all := months(t, s); len(all) != 2 || all[0].Cluster != "other" || all[0].Jobs != 1 || all[1].Jobs != 1 {
		t.Errorf("%+v", all)
	}
	young := nodeReport(9, 1, "a", 0)
	young.Start, young.End = time.Now().Add(-time.Hour), time.Now()
	add(t, s, young)
}

// TestRetainRests: where jobs take long to drop, few are dropped together, and after each part Retain rests
// as long, so reports go between them.
func TestRetainRests(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	onlySQLite(t, "there each job is a transaction of its own")
	s := open(t)
	const jobs = 40
	for i := range uint32(jobs) {
		add(t, s, nodeReport(10+i, 1, "a", 0))
	}
	merged(t, s)
	var held durations
	slow := &timed{committer: s.lanes[0].committer, longer: 2 * retainFor, took: &held}
	s.lanes[0].committer = slow
	begin := time.Now()
	done, err := s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(10*oneDay), nil)
	took := time.Since(begin)
	var worked time.Duration
	for _, d := range held.got[1 : len(held.got)-1] { // without the mark before, and mails after
		worked += d
	}
	if err != nil || done.Pruned != jobs || slow.most > retainLeast || took < 2*worked {
		t.Errorf("%+v, %v; up to %d together; %v of %v", done, err, slow.most, worked, took)
	}
}

// TestRetainStopsInTime: jobs that have not begun when a part has taken its time wait for the next one, and each is done once.
func TestRetainStopsInTime(t *testing.T) {
	s := open(t)
	const jobs, takes = 40, 2 * retainFor / 5
	for i := range uint32(jobs) {
		add(t, s, nodeReport(10+i, 1, "a", 0))
	}
	merged(t, s)
	var mu sync.Mutex
	var now time.Time
	times := map[attemptKey]int{}
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	var commits []*counted
	for _, l := range s.lanes {
		commits = append(commits, &counted{committer: l.committer, of: func() int { return int(clock().Sub(time.Time{}) / takes) }})
		l.committer = commits[len(commits)-1]
	}
	together := retainBatch
	n, err := s.retain(ctx, clock, &together, toPrune, day.Add(10*oneDay).UnixMicro(), func(_ *writer, k attemptKey, _ int64) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(takes)
		times[k]++
		return true, nil
	})
	if err != nil || n != jobs || len(times) != jobs {
		t.Errorf("%d jobs, %d of them different, %v", n, len(times), err)
	}
	for k, n := range times {
		if n != 1 {
			t.Errorf("job %d was done %d times", k.jobID, n)
		}
	}
	for _, c := range commits {
		if most := int(retainFor/takes) + 1 + len(s.lanes); c.most > most {
			t.Errorf("%d jobs in one transaction, want at most %d", c.most, most)
		}
	}
}

// counted is a committer that notes how much something grows in one commit.
type counted struct {
	committer
	of   func() int
	most int
}

func (c *counted) commit(batch []*op) {
	before := c.of()
	c.committer.commit(batch)
	c.most = max(c.most, c.of()-before)
}

// TestRetainUnknown: jobs of which little is known are pruned too; running jobs are not.
func TestRetainUnknown(t *testing.T) {
	s := open(t)
	bare := nodeReport(7, 1, "a", 0)
	bare.Start, bare.End, bare.Executions = time.Time{}, time.Time{}, nil
	add(t, s, bare)
	running := sacct(8, "8", "RUNNING", 0, 0, 0)
	if _, err := s.AddSlurm(ctx, []slurm.Job{running}); err != nil {
		t.Fatal(err)
	}
	merged(t, s)
	keep := Retention{Jobs: oneDay}
	if got, err := s.Retain(ctx, keep, time.Now(), nil); got.Pruned != 0 || err != nil {
		t.Errorf("heard of just now: %+v, %v", got, err)
	}
	if got, err := s.Retain(ctx, keep, time.Now().Add(2*oneDay), nil); got.Pruned != 2 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if all := months(t, s); len(all) != 1 || all[0].Jobs != 2 || all[0].Measured != 0 {
		t.Errorf("%+v", all)
	}
	if got, err := s.Retain(ctx, Retention{}, time.Now().Add(1000*oneDay), nil); got != (Retained{}) || err != nil {
		t.Errorf("for ever: %+v, %v", got, err)
	}
}

// TestRetainAhead: what nodes say of the future keeps no job for ever. What Slurm says does.
func TestRetainAhead(t *testing.T) {
	s := open(t)
	future := time.Now().AddDate(100, 0, 0)
	for id, start := range map[uint32]time.Time{7: time.Now(), 8: future} {
		r := withShares(nodeReport(id, 1, "a", 0))
		r.Start, r.End = start, future.Add(time.Hour)
		add(t, s, r)
	}
	line := sacct(9, "9", "COMPLETED", 0, 0, 0)
	line.Start, line.End = time.Now(), future
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	merged(t, s)
	keep := Retention{Ranks: oneDay, Jobs: 3 * oneDay}
	for _, c := range []struct {
		days int
		want Retained
	}{{0, Retained{}}, {2, Retained{Trimmed: 2}}, {4, Retained{Pruned: 2}}, {5, Retained{}}} {
		if got, err := s.Retain(ctx, keep, time.Now().AddDate(0, 0, c.days), nil); err != nil || got != c.want {
			t.Errorf("after %d days: %+v, %v, want %+v", c.days, got, err, c.want)
		}
	}
	if all := months(t, s); len(all) != 1 || all[0].Jobs != 2 || count(t, s, "attempts") != 1 {
		t.Errorf("%+v", all)
	}
}

// TestRetainMails: old letters are dropped. Notices stay as long as decisions need them, and
// mails that are still to be sent stay.
func TestRetainMails(t *testing.T) {
	t.Parallel()
	s := open(t)
	waiting := mailOf("notice:2")
	waiting.Told = nil
	for _, m := range []*notice.Mail{mailOf("notice:1"), waiting} {
		if _, err := s.DecideMail(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.MailSent(ctx, "notice:1", day); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ days, mails, notices int }{{89, 2, 1}, {91, 1, 1}, {399, 1, 1}, {401, 1, 0}} {
		if _, err := s.Retain(ctx, Retention{}, day.Add(time.Duration(c.days)*oneDay), nil); err != nil {
			t.Fatal(err)
		}
		if mails, notices := count(t, s, "mails"), count(t, s, "notices"); mails != c.mails || notices != c.notices {
			t.Errorf("after %d days %d mails and %d notices, want %+v", c.days, mails, notices, c)
		}
	}
}
