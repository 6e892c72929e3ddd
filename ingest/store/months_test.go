package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/policy"
)

// wrongSums finds sums of months that differ from what the rows count.
const wrongSums = `SELECT count(*) FROM (SELECT ` + keyOfMonth + ` FROM (
	SELECT ` + keyOfMonth + `, jobs, measured, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us FROM month_sums WHERE part >= 0
	UNION ALL SELECT ` + keyOfMonth + `, -jobs, -measured, -COALESCE(used_us, 0), -COALESCE(judged_us, 0), -COALESCE(lost_us, 0), -gpu_us, -gpu_known_us, -gpu_idle_us FROM counted) d
	GROUP BY ` + keyOfMonth + ` HAVING sum(jobs) <> 0 OR sum(measured) <> 0 OR sum(used_us) <> 0 OR sum(judged_us) <> 0 OR sum(lost_us) <> 0
		OR sum(gpu_us) <> 0 OR sum(gpu_known_us) <> 0 OR sum(gpu_idle_us) <> 0) w`

// wrongPrograms finds sums of programs that differ from what the executions count.
const wrongPrograms = `SELECT count(*) FROM (SELECT cluster, day, account, executable, part FROM (
	SELECT cluster, day, account, executable, part, runs, used_us, judged_us, lost_us FROM program_sums
	UNION ALL SELECT cluster, day, account, executable, part, -runs, -used_us, -judged_us, -lost_us FROM ran) d
	GROUP BY cluster, day, account, executable, part HAVING sum(runs) <> 0 OR sum(used_us) <> 0 OR sum(judged_us) <> 0 OR sum(lost_us) <> 0) w`

func wantSums(t testing.TB, s *Store, after string) {
	t.Helper()
	for _, query := range []string{wrongSums, wrongPrograms, strings.NewReplacer("month_sums", "day_sums", keyOfMonth, "cluster, day, partition_name, account, uid, array_job_id, part").Replace(wrongSums)} {
		var wrong int64
		if err := s.number(ctx, &wrong, query); err != nil || wrong != 0 {
			t.Fatalf("after %s: %d sums are not those of the rows, %v", after, wrong, err)
		}
	}
}

// everyGroup groups by all there is.
var everyGroup = []string{"month", "cluster", "partition", "account", "user"}

func monthsOf(t testing.TB, s *Store) []listing.MonthSum {
	t.Helper()
	all, err := s.Months(ctx, root, listing.MonthQuery{By: everyGroup})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMonths: jobs are summed up by the month in which they ended, and by what is asked for. A viewer sees
// no others' hours.
func TestMonths(t *testing.T) {
	s := open(t)
	line := func(id uint32, end time.Time, account, partition string, uid uint32, user string, hours int) slurm.Job {
		l := sacct(id, fmt.Sprint(id), "COMPLETED", 0, 0, 0)
		l.End, l.Elapsed, l.CPUs = end, time.Duration(hours)*time.Hour, 2
		l.Start = end.Add(-l.Elapsed)
		l.Submit, l.Account, l.Partition, l.UID, l.User = l.Start, account, partition, uid, user
		return l
	}
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	s.began = time.Time{}
	running := sacct(6, "6", "RUNNING", 0, 0, 0)
	lines := []slurm.Job{running, line(1, december.Add(-time.Microsecond), "chem", "main", 1001, "alice", 10), line(2, december, "chem", "main", 1001, "alice", 1),
		line(3, december.AddDate(0, 1, 0), "bio", "big", 1002, "bob", 5), line(4, december, "chem", "big", 1002, "bob", 3)}
	if _, err := s.AddSlurm(ctx, lines); err != nil {
		t.Fatal(err)
	}
	add(t, s, nodeReport(5, 1, "a", 0)) // of which Slurm says nothing
	measured := nodeReport(1, 1, "a", 0)
	measured.Start, measured.End = december.Add(-2*time.Hour), december.Add(-time.Hour)
	measured.Executions[0].Start, measured.Executions[0].End = measured.Start, measured.Start.Add(12*time.Second)
	add(t, s, measured)
	settled(t, merged(t, s))
	november := december.AddDate(0, -1, 0)
	lost := 20 - 14.0/3600
	chem := Viewer{UID: 1003, Accounts: []string{"chem"}}
	for name, c := range map[string]struct {
		v    Viewer
		q    listing.MonthQuery
		want []listing.MonthSum
	}{
		"all":   {root, listing.MonthQuery{}, []listing.MonthSum{{Hours: listing.Hours{Jobs: 4, Measured: 1, Used: 38, Judged: 20, Lost: lost}}}},
		"month": {root, listing.MonthQuery{By: []string{"month"}}, []listing.MonthSum{{Month: november, Hours: listing.Hours{Jobs: 1, Measured: 1, Used: 20, Judged: 20, Lost: lost}}, {Month: december, Hours: listing.Hours{Jobs: 2, Used: 8}}, {Month: december.AddDate(0, 1, 0), Hours: listing.Hours{Jobs: 1, Used: 10}}}},
		"user": {root, listing.MonthQuery{By: []string{"user"}, From: december}, []listing.MonthSum{{User: "bob", UID: 1002, Hours: listing.Hours{Jobs: 2, Used: 16}},
			{User: "alice", UID: 1001, Hours: listing.Hours{Jobs: 1, Used: 2}}}},
		"of November":           {root, listing.MonthQuery{By: []string{"account"}, To: december}, []listing.MonthSum{{Account: "chem", Hours: listing.Hours{Jobs: 1, Measured: 1, Used: 20, Judged: 20, Lost: lost}}}},
		"of a partition":        {root, listing.MonthQuery{By: []string{"partition", "account"}, Partition: "big,none", Account: "bio"}, []listing.MonthSum{{Partition: "big", Account: "bio", Hours: listing.Hours{Jobs: 1, Used: 10}}}},
		"of a user":             {root, listing.MonthQuery{By: []string{"cluster"}, UIDs: []uint32{1002}}, []listing.MonthSum{{Cluster: "test", Hours: listing.Hours{Jobs: 2, Used: 16}}}},
		"a user's own":          {bob, listing.MonthQuery{}, []listing.MonthSum{{Hours: listing.Hours{Jobs: 2, Used: 16}}}},
		"a coordinator's":       {chem, listing.MonthQuery{By: []string{"account"}}, []listing.MonthSum{{Account: "chem", Hours: listing.Hours{Jobs: 3, Measured: 1, Used: 28, Judged: 20, Lost: lost}}}},
		"not a coordinator's":   {chem, listing.MonthQuery{Account: "bio"}, nil},
		"nobody's":              {Viewer{UID: 1003}, listing.MonthQuery{}, nil},
		"an account as a query": {root, listing.MonthQuery{Account: "' OR 1=1 --"}, nil},
	} {
		got, err := s.Months(ctx, c.v, c.q)
		if d := cmp.Diff(c.want, got, cmpopts.EquateApprox(1e-9, 0)); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	wantSums(t, s, "all")
}

// onThreads puts a node's ranks on a machine with so many hardware threads of a core.
func onThreads(r *job.NodeReport, perCore int) *job.NodeReport {
	r.Executions[0].Nodes[0].Hardware = &job.Hardware{Model: "x", Sockets: 1, Cores: 8, ThreadsPerCore: perCore}
	return r
}

// TestFurtherThreadsAreNotLost: two ranks run for 12 s of 20 s, and compute for 14 s together. Wherever it is told
// what was lost, it is the same.
func TestFurtherThreadsAreNotLost(t *testing.T) {
	for _, c := range []struct {
		cpus, perCore       int
		used, further, lost float64 // s
		resized             bool    // it had fewer CPUs than these for a while
	}{
		{4, 1, 80, 0, 66, false}, {2, 2, 40, 0, 26, false}, {3, 2, 60, 12, 34, false}, {4, 2, 80, 24, 42, false}, {8, 2, 160, 24, 122, false}, {8, 4, 160, 72, 74, false}, {1, 2, 20, 0, 6, false},
		{4, 1, 53, 0, 39, true},
	} {
		s := open(t)
		line := sacct(7, "7", "COMPLETED", 0, 0, 20*time.Second)
		if line.CPUs = c.cpus; c.resized {
			used := policy.CoreTime(c.used)
			line.Used = &used
		}
		add(t, s, onThreads(nodeReport(7, 1, "a", 0), c.perCore))
		if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
			t.Fatal(err)
		}
		settled(t, merged(t, s))
		j := policy.CoreHoursOf(aJob(t, s, root, "7", 0))
		list, err := s.Jobs(ctx, root, listing.JobQuery{Sort: "lost"}, nil)
		if err != nil || len(list.Jobs) != 1 {
			t.Fatal(err, list)
		}
		listed := &list.Jobs[0]
		_, all, err := s.EachLine(ctx, root, listing.JobQuery{}, nil, func(*listing.Line) error { return nil })
		sum := *all.Sum
		facts, err2 := s.facts(ctx, span{from: day.Add(-oneDay), to: day.Add(oneDay)})
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		month := monthsOf(t, s)[0]
		near := func(hours, seconds float64) bool { return math.Abs(3600*hours-seconds) < 1e-6 }
		hours := func(h listing.Hours) bool {
			return near(h.Used, c.used) && near(h.Judged, c.used-c.further) && near(h.Lost, c.lost)
		}
		of := listing.Hours{Used: j.Used.Hours(), Judged: j.Judged().Hours(), Lost: j.Lost.Hours()}
		if j.Idle != nil == c.resized || *listed.UsedCoreHours() != j.Used.Hours() || !near(*listed.LostCoreHours(), c.lost) || !near(j.SMT.Hours(), c.further) || !hours(of) || !hours(policy.HoursOf(list.Jobs)) ||
			!hours(sum) || !hours(facts.Total) || !hours(facts.Accounts[0].Hours) || !hours(listing.Hours{Used: month.Used, Judged: month.Judged, Lost: month.Lost}) {
			t.Errorf("%+v: the job %+v, a list %v, its sum %+v, a week %+v, a month %+v", c, of, 3600**listed.LostCoreHours(), sum, facts.Total, month)
		}
		wantSums(t, s, fmt.Sprint(c))
	}
}

// TestMonthsFollowEveryColumn: whichever column of a row changes, the sums are those of the rows.
func TestMonthsFollowEveryColumn(t *testing.T) {
	changed := map[string]bool{}
	s := open(t)
	addConfirmed(t, s, nodeReport(7, 1, "a", 0), nodeReport(8, 1, "a", 0))
	const ofSeven = " WHERE job_id = 7"
	for _, c := range attemptColumns {
		if computed["attempts."+c.name] || slices.Contains([]string{"cluster", "job_id", "attempt", "uid"}, c.name) { // these never do
			continue
		}
		before, was := monthsOf(t, s), any(nil)
		err := s.doJob(ctx, jobKey{"test", 7}, func(w *writer) error {
			change := c.name + " = " + c.name + " + 1"
			switch sqlValue(c.field(new(attemptRow))).(type) {
			case string:
				change = c.name + " = 'x'"
			case nil:
				change = c.name + " = COALESCE(" + c.name + ", 1) + 1"
			}
			return errors.Join(w.one("SELECT "+c.name+" FROM attempts"+ofSeven, nil, []any{&was}), w.exec("UPDATE attempts SET "+change+ofSeven))
		})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		wantSums(t, s, "a change of "+c.name)
		changed[c.name] = changed[c.name] || !cmp.Equal(before, monthsOf(t, s))
		if err := s.doJob(ctx, jobKey{"test", 7}, func(w *writer) error { return w.exec("UPDATE attempts SET "+c.name+" = ?"+ofSeven, was) }); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		wantSums(t, s, c.name+" as it was")
	}
	for _, name := range []string{"account", "partition_name", "used_us", "judged_us", "lost_us", "gpu_us", "gpu_known_us", "gpu_idle_us"} {
		if !changed[name] {
			t.Errorf("%s changed no sum", name)
		}
	}
}

// history does things at random to a few jobs, as sites do: reports come, twice, late, as interim ones; Slurm
// tells, changes its word, and starts jobs again; all is merged, judged, dropped, and imported once more. check
// is called after each. Jobs end on both sides of a month's end.
func history(s *Store, rng *rand.Rand, steps int, check func(did string) error) error {
	base := time.Date(2026, 10, 31, 23, 59, 0, 0, time.UTC)
	s.began = time.Time{}
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	for range steps {
		id := uint32(1 + rng.IntN(6))
		start := base.Add(time.Duration(rng.IntN(4)) * 20 * time.Minute)
		did := fmt.Sprintf("job %d: ", id)
		var err error
		switch what := rng.IntN(10); what {
		case 0, 1, 2:
			did += "report"
			r := ofNodes(id, 1+rng.IntN(2), pick("a", "b", "c"), start.Sub(day))[0]
			r.Account, r.Sequence = pick("proj", "chem"), 1+rng.IntN(3)
			onThreads(r, 1+rng.IntN(3)).Executions[0].Nodes[0].Useful = time.Duration(rng.IntN(14)) * time.Second
			if r.End = start.Add(time.Duration(rng.IntN(90)) * time.Second); rng.IntN(4) == 0 {
				did, r.AsOf = did+" while it runs", r.End
			} else if rng.IntN(2) == 0 {
				life := min(r.End.Sub(r.Start), 20*time.Second)
				r.GPUs = []job.GPU{{Life: life, Busy: life / time.Duration(1+rng.IntN(3)), Processes: 1}, {Why: pick("", job.GPUMIG, job.GPUHangs)}}
			}
			_, _ = addReport(s, r) // also of jobs that were dropped
		case 3, 4, 5:
			did += "Slurm"
			l := sacct(id, fmt.Sprint(id), pick("COMPLETED", "FAILED", "TIMEOUT"), 0, 0, 0)
			l.Submit, l.Start = start, start
			if l.NodeList, l.Nodes = "n[1-2]", 2; rng.IntN(5) > 0 {
				l.End = start.Add(time.Duration(rng.IntN(90)) * time.Second)
			}
			l.Elapsed, l.CPUs, l.Account, l.Partition = time.Duration(rng.IntN(90))*time.Second, 1+rng.IntN(8), pick("proj", "chem", "bio"), pick("main", "big")
			l.GPUs = rng.IntN(5)
			lines := []slurm.Job{l}
			if rng.IntN(4) == 0 {
				l.Start, l.Submit = l.Start.Add(time.Hour), l.Start.Add(time.Hour)
				lines = append(lines, l)
			}
			_, err = s.AddSlurm(ctx, lines)
		case 6, 7:
			did = "merge"
			_, err = s.mergeAt(ctx, time.Now().Add(2*quiet))
		case 8:
			did = "judge"
			mark := int64(1 + rng.IntN(3))
			if err = s.JudgeBy(ctx, mark); err == nil {
				_, err = s.Judge(ctx, Judging{Rules: mark, Ask: func(*listing.JobAndWorkload) []string { return []string{"x"} }}, time.Now())
			}
		case 9:
			did = "import"
			var out bytes.Buffer
			if err = s.Export(ctx, &out, nil); err == nil {
				_, err = s.Import(ctx, &out, nil)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", did, err)
		}
		if err := check(did); err != nil {
			return err
		}
	}
	return nil
}

// TestMonthsOfAnyHistory: the sums are those of the rows at every moment. When jobs are dropped, and when
// what was dropped comes again, they stay.
func TestMonthsOfAnyHistory(t *testing.T) {
	counted, dropped := 0, 0
	for seed := range uint64(8) {
		s := open(t)
		rng := rand.New(rand.NewPCG(seed, 1))
		var did []string
		step := func(what string) error {
			did = append(did, what)
			wantSums(t, s, fmt.Sprintf("seed %d: %s", seed, strings.Join(did, ", ")))
			return nil
		}
		if err := history(s, rng, 40, step); err != nil {
			t.Fatal(seed, err)
		}
		merged(t, s)
		wantSums(t, s, "merge")
		before := monthsOf(t, s)
		counted += len(before)
		var out bytes.Buffer
		if err := s.Export(ctx, &out, nil); err != nil {
			t.Fatal(err)
		}
		old := time.Date(2026, 11, 1, 0, 0, 40, 0, time.UTC).Add(time.Duration(rng.IntN(90)) * time.Minute)
		done, err := s.Retain(ctx, Retention{Jobs: oneDay}, old.Add(oneDay), nil)
		if err != nil {
			t.Fatal(err)
		}
		dropped += done.Pruned
		stay := func(after string) {
			t.Helper()
			wantSums(t, s, after)
			if d := cmp.Diff(before, monthsOf(t, s)); d != "" {
				t.Fatalf("seed %d, after %s the sums changed: %s", seed, after, d)
			}
		}
		stay(fmt.Sprintf("retention, %d dropped", done.Pruned))
		if _, err := s.Import(ctx, &out, nil); err != nil {
			t.Fatal(err)
		}
		stay("an import of what was dropped")
	}
	if counted < 20 || dropped < 20 {
		t.Errorf("only %d sums and %d dropped jobs: the histories are too short", counted, dropped)
	}
}

// testHistory makes the test's program do a history, for as long as it lives, and write a letter after each step.
const testHistory = "JOBEFF_STORE_TEST_HISTORY"

// TestMonthsKilled kills a process at any moment of its history. (Fault 14.)
func TestMonthsKilled(t *testing.T) {
	database := newDatabase(t)
	for round := range 6 {
		cmd := migrateInChild(database)
		cmd.Env = append(cmd.Env, fmt.Sprint(testHistory, "=", round))
		cmd.Stderr = os.Stderr
		steps, err := cmd.StdoutPipe()
		if err = errors.Join(err, cmd.Start()); err == nil {
			_, err = io.ReadFull(steps, make([]byte, 20))
		}
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code > 0 || err != nil {
			t.Fatalf("round %d: exit %d, %v", round, code, err)
		}
		s, err := Open(database)
		if err != nil {
			t.Fatal(err)
		}
		wantSums(t, s, "a kill")
		s.Close()
	}
	s := openAt(t, database)
	if len(monthsOf(t, s)) == 0 {
		t.Error("nothing was counted: the test is empty")
	}
}
