package slow

import (
	"fmt"
	"math"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// onNodes is a job that may speak of its nodes: two ranks on each, which computed for so many seconds in the mean.
func onNodes(useful ...float64) *job.Job {
	var ranks []jobtest.Rank
	for _, u := range useful {
		ranks = append(ranks, jobtest.Work(u-5, 10), jobtest.Work(u+5, 10))
	}
	e := jobtest.World(1, 2, 0, ranks...)
	e.BuildID, e.ArgsHash, e.Endings = "abcd", "ef", map[string]int{job.EndingFinalized: len(ranks)}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		n.RankIDs, n.CPUs, n.ElapsedSum = fmt.Sprintf("%d-%d", 2*i, 2*i+1), 1, 2*n.ElapsedMax
		n.Hardware = &job.Hardware{Model: "Xeon", Sockets: 2, Cores: 32, ThreadsPerCore: 1, MaxMHz: 3000, MemoryMiB: 257_500}
		n.Load = &job.Load{Ranks: 2, Whole: 2, Busy: 2, Span: n.ElapsedSum, ThreadSpan: n.ElapsedSum, CPU: n.ElapsedSum}
	}
	j := jobtest.Job(e)
	j.Cluster, j.UID = "test", 1000
	return j
}

func TestOf(t *testing.T) {
	one := Of(onNodes(1000))
	if len(one) != 1 || !near(one[0].Value, math.Log(1000), 1e-9) || one[0].Machine != (Machine{"test", "n1"}) || one[0].UID != 1000 || !one[0].At.Equal(jobtest.Began.Add(time.Hour)) {
		t.Fatalf("%+v", one)
	}
	all := Of(onNodes(1100, 1000, 1050, 1000))
	if len(all) != 4 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []float64{math.Log(1.1), math.Log(1000. / 1050), math.Log(1.05), math.Log(1000. / 1050)} {
		if !near(all[i].Value, want, 1e-9) || all[i].Machine.Node != fmt.Sprintf("n%d", i+1) {
			t.Errorf("%+v, want %v", all[i], want)
		}
		if i > 0 && all[i].Stratum == all[i-1].Stratum {
			t.Error("two places in one stratum")
		}
	}
	if again := Of(onNodes(900, 950, 930, 940)); again[2].Stratum != all[2].Stratum {
		t.Error("a second run is in another stratum")
	}
	turned := onNodes(1000, 1100)
	nodes := turned.Executions[0].Nodes
	nodes[0], nodes[1] = nodes[1], nodes[0]
	if got, want := Of(turned), Of(onNodes(1000, 1100)); got[0].Stratum != want[1].Stratum || got[0].Machine.Node != "n2" {
		t.Error("places are not by rank")
	}
}

// TestOfThreads: where threads are measured, the useful time is theirs.
func TestOfThreads(t *testing.T) {
	j := onNodes(1000)
	j.Executions[0].Nodes[0].Threads = &job.ThreadShare{Ranks: 2, Threads: 8, ThreadsMax: 4, Useful: 6000 * time.Second, UsefulMax: 900 * time.Second}
	if got := Of(j); len(got) != 1 || !near(got[0].Value, math.Log(750), 1e-9) {
		t.Errorf("%+v", got)
	}
}

// TestWhatSaysNothing: a node's time says nothing of it if something else may have made it longer.
func TestWhatSaysNothing(t *testing.T) {
	second := time.Second
	for what, change := range map[string]func(*job.Job, *job.Execution, *job.NodeShare){
		"running":      func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.End, j.AsOf = time.Time{}, j.End },
		"as of":        func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.AsOf = j.End },
		"killed":       func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.State = "TIMEOUT" },
		"not known":    func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.State = "" },
		"suspended":    func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.Submit, j.Elapsed = j.Start, 50*time.Minute },
		"throttled":    func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.Cgroup = &job.Cgroup{Throttled: &second} },
		"swapped":      func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.Cgroup = &job.Cgroup{Swapped: 1} },
		"rank died":    func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.Endings[job.EndingFinalized]-- },
		"rank missing": func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.Size++; e.Endings[job.EndingFinalized]++ },
		"folded": func(_ *job.Job, e *job.Execution, _ *job.NodeShare) {
			e.Folded = &job.Folded{Count: 2, Sizes: 4, Ranks: 2, Elapsed: time.Hour, Span: 7200}
		},
		"spawned":        func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.Spawned = true },
		"no workload":    func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.ArgsHash = "" },
		"threads":        func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load.Threaded = 1 },
		"impossible":     func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Useful *= 3 },
		"no machine":     func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Hardware = nil },
		"not counted":    func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load = nil },
		"half counted":   func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load.Whole = 1 },
		"lacked CPUs":    func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load.Queue = n.Load.ThreadSpan / 10 },
		"oversubscribed": func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load.CrowdBusy = 3 },
		"slept":          func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load.Slept = n.Load.Span / 5 },
		"off": func(_ *job.Job, e *job.Execution, n *job.NodeShare) {
			n.Load.OffLeast, n.Load.OffMost = n.Load.Span/5, n.Load.Span/5
		},
		"GPU":   func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Load.GPURanks = 1 },
		"short": func(_ *job.Job, e *job.Execution, n *job.NodeShare) { n.Useful = 119 * time.Second },
	} {
		j := onNodes(1000)
		change(j, &j.Executions[0], &j.Executions[0].Nodes[0])
		if got := Of(j); len(got) > 0 {
			t.Errorf("%s: %+v", what, got)
		}
	}
	j := onNodes(1100, 1000, 1050, 1000)
	j.Executions[0].Nodes[2].Load.CrowdBusy = 3
	if got := Of(j); len(got) != 3 || got[2].Machine.Node != "n4" || !near(got[0].Value, math.Log(1.1), 1e-9) {
		t.Errorf("one of four lacked CPUs: %+v", got)
	}
	j.Executions[0].Nodes[0].Hardware.Model = "EPYC"
	if got := Of(j); got != nil {
		t.Errorf("two kinds of nodes: %+v", got)
	}
	j = onNodes(1000, 1100)
	j.Executions[0].Nodes[1].Load = nil
	if got := Of(j); got != nil {
		t.Errorf("one of two is known: %+v", got)
	}
	if got := Of(&job.Job{State: "COMPLETED"}); got != nil {
		t.Errorf("no program: %+v", got)
	}
}

// TestWhatIsAlike: strata differ where the work, the counts, the machine or the place do, and only there.
func TestWhatIsAlike(t *testing.T) {
	stratum := func(change func(*job.Job, *job.Execution, *job.NodeShare)) Stratum {
		j := onNodes(1000)
		change(j, &j.Executions[0], &j.Executions[0].Nodes[0])
		all := Of(j)
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		return all[0].Stratum
	}
	same := stratum(func(*job.Job, *job.Execution, *job.NodeShare) {})
	for what, c := range map[string]struct {
		differs bool
		change  func(*job.Job, *job.Execution, *job.NodeShare)
	}{
		"user":      {true, func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.UID++ }},
		"partition": {true, func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.Partition = "old" }},
		"CPUs":      {true, func(j *job.Job, _ *job.Execution, _ *job.NodeShare) { j.CPUs = 64 }},
		"arguments": {true, func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.ArgsHash = "f0" }},
		"input":     {true, func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.InputHash = "f0" }},
		"MPI":       {true, func(_ *job.Job, e *job.Execution, _ *job.NodeShare) { e.MPI = "MPICH" }},
		"binding":   {true, func(_ *job.Job, _ *job.Execution, n *job.NodeShare) { n.CPUs = 32 }},
		"model":     {true, func(_ *job.Job, _ *job.Execution, n *job.NodeShare) { n.Hardware.Model = "EPYC" }},
		"clock":     {true, func(_ *job.Job, _ *job.Execution, n *job.NodeShare) { n.Hardware.MaxMHz = 2500 }},
		"memory":    {true, func(_ *job.Job, _ *job.Execution, n *job.NodeShare) { n.Hardware.MemoryMiB *= 2 }},
		"node":      {false, func(_ *job.Job, _ *job.Execution, n *job.NodeShare) { n.Node, n.Hardware.MemoryMiB = "n9", 257_400 }},
		"job":       {false, func(j *job.Job, _ *job.Execution, n *job.NodeShare) { j.JobID, j.End = 77, j.End.Add(time.Hour) }},
	} {
		if got := stratum(c.change); (got != same) != c.differs {
			t.Errorf("%s: same stratum %v", what, got == same)
		}
	}
}
