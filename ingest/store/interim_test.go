package store

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/hang"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/slurm"
	"jobeff/ingest/slurmid"
	"jobeff/policy"
	"jobeff/policy/doubt"
)

// interimOf is a node's report of the same job while it runs: so much of its 12 s are over.
func interimOf(final *job.NodeReport, sequence int, over time.Duration) *job.NodeReport {
	r := *final
	begin := final.Executions[0].Start
	r.Sequence, r.AsOf, r.End = sequence, begin.Add(over), begin.Add(over+time.Second)
	r.Executions = slices.Clone(final.Executions)
	e := &r.Executions[0]
	e.End, e.Endings, e.Calls, e.Sections = r.AsOf, map[string]int{job.EndingRunning: 2}, nil, nil
	e.Nodes = slices.Clone(e.Nodes)
	n := &e.Nodes[0]
	n.Useful, n.UsefulMax, n.MPI, n.ElapsedMax, n.ElapsedSum = over, over/2, over, over, 2*over
	return &r
}

// mergedJob reads job 7 when its figures are up to date.
func mergedJob(t *testing.T, s *Store) *job.Job {
	t.Helper()
	if _, err := s.mergeAt(ctx, time.Now().Add(2*quiet)); err != nil {
		t.Fatal(err)
	}
	j, err := s.Job(ctx, alice, slurmid.Ref{ID: 7}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestInterim: a job that runs has figures, which nobody judges and no curve takes; the final reports take their
// place.
func TestInterim(t *testing.T) {
	s := open(t)
	finals := ofNodes(7, 2, "a", 0)
	for _, r := range finals {
		r.End, r.Sequence = day.Add(12*time.Second), job.FinalSequence
		x := &r.Executions[0]
		x.BuildID, x.ArgsHash, x.InputHash = "b1d0", strings.Repeat("a1", 16), strings.Repeat("c1", 16)
	}
	line := sacct(7, "7", "RUNNING", 0, 0, 0)
	line.Nodes, line.NodeList = 2, "n[1-2]"
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	for i, over := range []time.Duration{4 * time.Second, 3 * time.Second} {
		add(t, s, interimOf(finals[i], 1000, over))
	}
	if count(t, s, "attempts WHERE end_us IS NOT NULL") != 0 {
		t.Error("it has ended before it is merged")
	}
	judged := func() int {
		t.Helper()
		by := Judging{Rules: 5, Grace: time.Hour, Ask: func(*listing.JobAndWorkload) []string { return []string{"low"} }}
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		n, err := s.Judge(ctx, by, day.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	j := mergedJob(t, s)
	if !j.AsOf.Equal(day.Add(3*time.Second)) || !j.End.IsZero() || j.State != "RUNNING" || j.Metrics == nil || j.Metrics.Ranks != 4 || j.Metrics.Elapsed != 4 || len(j.Warnings) > 0 {
		t.Errorf("%+v, %+v", j, j.Metrics)
	}
	if j.LostCoreHours() != nil || j.Covered != nil || j.IsComplete(time.Now(), time.Nanosecond) || judged() != 1 || count(t, s, "workload_runs") != 0 {
		t.Errorf("lost %v, covered %v, complete %v, %d runs", j.LostCoreHours(), j.Covered, j.IsComplete(time.Now(), time.Nanosecond), count(t, s, "workload_runs"))
	}
	if ids, _, err := s.ToAsk(ctx, "", 0, 10); err != nil || len(ids) != 0 {
		t.Errorf("sacct is asked for %v, %v", ids, err)
	}
	add(t, s, finals[0])
	ended := sacct(7, "7", "COMPLETED", 0, 0, 12*1e9)
	ended.Nodes, ended.NodeList, ended.WithSteps = 2, "n[1-2]", true
	if _, err := s.AddSlurm(ctx, []slurm.Job{ended}); err != nil {
		t.Fatal(err)
	}
	j = mergedJob(t, s) // the other node is lost, or late
	want := doubt.Warning{Code: doubt.WarnInterim, Args: doubt.Arguments{N: 1, Names: "n2", Time: 9 * time.Second}}
	if !j.AsOf.Equal(day.Add(3*time.Second)) || j.End.IsZero() || !slices.Contains(j.Warnings, want) || j.Metrics.Elapsed != 12 || j.IsComplete(time.Now(), 0) || j.LostCoreHours() != nil || judged() != 0 || count(t, s, "workload_runs") != 0 {
		t.Errorf("%+v, %+v", j, j.Metrics)
	}
	add(t, s, finals[1])
	if j = mergedJob(t, s); !j.AsOf.IsZero() || len(j.Warnings) > 0 || j.Metrics.Useful != 28 || !j.IsComplete(time.Now(), 0) || policy.CoreHoursOf(j).Lost == nil || judged() != 1 || mergedJob(t, s).Lost == nil || count(t, s, "workload_runs") != 1 {
		t.Errorf("%+v, %+v", j, j.Metrics)
	}
}

// TestInterimInAnyOrder: reports come in any order, twice and late: one row, and the figures of the last of each
// node.
func TestInterimInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	for round := range 20 {
		s := open(t)
		finals := ofNodes(7, 2, "a", 0)
		var all []*job.NodeReport
		for _, final := range finals {
			final.Sequence = job.FinalSequence
			for i, over := range []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second} {
				all = append(all, interimOf(final, 1000*(i+1), over))
			}
		}
		lost := round%2 == 1
		all = append(all, finals[0])
		if !lost {
			all = append(all, finals[1])
		}
		all = append(all, all...)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i, r := range all {
			if _, err := addReport(s, r); err != nil {
				t.Fatal(err)
			}
			if i == len(all)/2 {
				mergedJob(t, s)
			}
		}
		j := mergedJob(t, s)
		useful := 28.0
		if lost {
			useful = 14 + 6
		}
		if n := count(t, s, "attempts"); n != 1 || j.Reports != 2 || j.Metrics.Useful != useful || j.AsOf.IsZero() == lost {
			t.Errorf("round %d: %d attempts, %d reports, as of %v, %+v", round, n, j.Reports, j.AsOf, j.Metrics)
		}
		s.Close()
	}
}

// TestHungIsKept: what nodes' interim reports say of a job that does not move, in any order, is shown while it runs.
func TestHungIsKept(t *testing.T) {
	s := open(t)
	s.FindHung(30 * time.Minute)
	line := sacct(7, "7", "RUNNING", 0, 0, 0)
	line.Nodes, line.NodeList = 2, "n[1-2]"
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	finals := ofNodes(7, 2, "a", 0)
	report := func(node, minute int, mark string) *job.NodeReport {
		r := interimOf(finals[node], 1000+60_000*minute, 4*time.Second)
		at := day.Add(time.Duration(minute) * time.Minute)
		r.Progress = &hang.Progress{Moment: at, At: at, AtMS: int64(r.Sequence), Read: at, ReadMS: int64(r.Sequence), Mark: mark,
			Calls: []hang.OpenCalls{{Execution: "k", Size: 4, Function: "MPI_Recv", Ranks: []string{"0-1", "2-3"}[node], Count: 2}}}
		return r
	}
	for minute := 0; minute <= 30; minute += 10 {
		for _, node := range []int{1, 0} {
			add(t, s, report(node, minute, "m"))
		}
		j := mergedJob(t, s)
		if (j.Hung != nil) != (minute == 30) || !j.Together {
			t.Fatalf("minute %d: %+v", minute, j.Hung)
		}
		if j.Hung != nil && (!j.Hung.Since.Equal(day) || len(j.Hung.Calls) != 1 || j.Hung.Calls[0].Ranks != "0-3" || len(j.Warnings) > 0) {
			t.Errorf("%+v, %v", j.Hung, j.Warnings)
		}
	}
	flagged := func() (ids []uint32) {
		by := Judging{Rules: 5, Grace: time.Hour, Ask: func(found *listing.JobAndWorkload) []string {
			if found.Job.Hung != nil {
				return []string{"hung"}
			}
			return nil
		}}
		if err := s.JudgeBy(ctx, by.Rules); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Judge(ctx, by, time.Now()); err != nil {
			t.Fatal(err)
		}
		err := s.EachFlaggedRunning(ctx, time.Now(), func(j *job.Job) { ids = append(ids, j.JobID) })
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if ids := flagged(); len(ids) != 1 || ids[0] != 7 {
		t.Errorf("flagged: %v", ids)
	}
	late := report(0, 20, "other")
	if added, err := addReport(s, late); err != nil || added {
		t.Errorf("a late report: %v, %v", added, err)
	}
	if _, err := s.AddSlurm(ctx, []slurm.Job{func() slurm.Job { l := line; l.State = "SUSPENDED"; return l }()}); err != nil {
		t.Fatal(err)
	}
	if j := mergedJob(t, s); j.Hung != nil {
		t.Errorf("Slurm suspended it: %+v", j)
	}
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	add(t, s, report(0, 40, "m"))
	if j := mergedJob(t, s); j.Hung == nil || !j.Hung.AsOf.Equal(day.Add(30*time.Minute)) || j.Together {
		t.Errorf("one node is ahead: %+v", j.Hung)
	}
	add(t, s, report(0, 50, "m"))
	if j := mergedJob(t, s); j.Hung != nil {
		t.Errorf("the other node is missing: %+v", j.Hung)
	}
	add(t, s, report(1, 50, "moved"))
	if j := mergedJob(t, s); j.Hung != nil || !j.Together || len(flagged()) > 0 {
		t.Errorf("it moved: %+v", j.Hung)
	}
	for minute := 60; minute <= 90; minute += 10 { // it stands still again
		add(t, s, report(0, minute, "m"))
		add(t, s, report(1, minute, "m"))
	}
	for i, final := range finals {
		final.Sequence, final.End = job.FinalSequence, day.Add(95*time.Minute)
		add(t, s, final)
		if j := mergedJob(t, s); j.Hung != nil || j.Stood != nil != (i == 1) {
			t.Fatalf("its end by %d nodes: %+v, %+v", i+1, j.Hung, j.Stood)
		}
	}
	if h := mergedJob(t, s).Stood; !h.Since.Equal(day.Add(60*time.Minute)) || !h.AsOf.Equal(day.Add(90*time.Minute)) || len(h.Calls) != 1 || h.Calls[0].Ranks != "0-3" {
		t.Errorf("it stood still: %+v", h)
	}
	if ids := flagged(); len(ids) > 0 {
		t.Errorf("it has ended: %v", ids)
	}
}

// TestInterimOfATrimmedJob: root of a node tells of a job that ended long ago that it runs there. What is known of it
// stays.
func TestInterimOfATrimmedJob(t *testing.T) {
	s := open(t)
	reports := ofNodes(7, 2, "a", 0)
	add(t, s, reports[0])
	line := sacct(7, "7", "COMPLETED", 0, 0, 12*1e9)
	line.Nodes, line.NodeList, line.WithSteps = 2, "n[1-2]", true
	if _, err := s.AddSlurm(ctx, []slurm.Job{line}); err != nil {
		t.Fatal(err)
	}
	mergedJob(t, s)
	if done, err := s.Retain(ctx, Retention{Ranks: time.Hour}, day.Add(2*time.Hour), nil); err != nil || done.Trimmed != 1 {
		t.Fatal(done, err)
	}
	add(t, s, interimOf(reports[1], 1000, 4*time.Second))
	if count(t, s, "attempts WHERE trimmed = 1 AND reports = 2 AND as_of_us IS NULL") != 1 {
		t.Error("it has an interim report's time")
	}
}
