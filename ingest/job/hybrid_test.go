package job_test

import (
	"math"
	"testing"
	"time"

	"jobeff/ingest/job"
)

// near tells whether a figure is what a paper prints of it.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func s(seconds float64) time.Duration { return time.Duration(seconds * 1e9) }

// hybridExecution is an execution whose ranks lie on a node each.
func hybridExecution(nodes ...job.NodeShare) *job.Execution {
	e := &job.Execution{Size: len(nodes), Nodes: nodes}
	for i := range e.Nodes {
		e.Nodes[i].Node, e.Nodes[i].Ranks = string(rune('a'+i)), 1
	}
	return e
}

// POP's multiplicative model (METRICS 2): E = 12, threads 10,9 | 8,7 | 6,5 and MPI 2,4,6.
func TestHybridMultiplicative(t *testing.T) {
	var nodes []job.NodeShare
	for i, useful := range [][2]float64{{10, 9}, {8, 7}, {6, 5}} {
		mpi := 2 * float64(i+1)
		sum := useful[0] + useful[1]
		nodes = append(nodes, job.NodeShare{Useful: s(12 - mpi), UsefulMax: s(12 - mpi), MPI: s(mpi), ElapsedMax: s(12), ElapsedSum: s(12),
			Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s(sum), UsefulMax: s(useful[0]), MPI: s(2 * mpi), Imbalance: s(24 - sum - 2*mpi)}})
	}
	e := hybridExecution(nodes...)
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	m := job.ExecutionMetrics(e)
	parallel, balance, communication := m.OpenMPQuotients()
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"MPI PE", m.MPI.Parallel, 0.667}, {"MPI LB", m.MPI.LoadBalance, 0.80}, {"MPI CommE", m.MPI.Communication, 0.833},
		{"PE", m.Parallel, 0.625}, {"LB", m.LoadBalance, 0.75}, {"CommE", m.Communication, 0.833},
		{"OpenMP PE", parallel, 0.938}, {"OpenMP LB", balance, 0.938}, {"OpenMP CommE", communication, 1.0},
	} {
		near(t, c.what, c.got, c.want, 0.0006)
	}
	a := m.Additive()
	near(t, "process + thread - 1", a.Process+a.Thread-1, m.Parallel, 1e-12)
	near(t, "region + serial - 1", a.Region+a.Serial-1, a.Thread, 1e-12)
	near(t, "LB x CommE", m.LoadBalance*m.Communication, m.Parallel, 1e-12)
}

// DLB's efficiencies (METRICS 2): u 60, m 10, i 10, s 5, r 15.
func TestOpenMPOfDLB(t *testing.T) {
	o := (&job.Hybrid{Useful: 60, MPITime: 10, Imbalance: 10, Scheduling: 5, Serial: 15}).OpenMP()
	near(t, "PE", o.Parallel, 0.700, 0.0005)
	near(t, "LB", o.LoadBalance, 0.895, 0.0005)
	near(t, "scheduling", o.Scheduling, 0.950, 0.0005)
	near(t, "serialisation", o.Serialisation, 0.824, 0.0005)
	near(t, "the product", o.LoadBalance*o.Scheduling*o.Serialisation, o.Parallel, 1e-12)
}

// POP's additive model (METRICS 2), the processes: P0 8/4, P1 6/6.
func TestAdditiveProcess(t *testing.T) {
	thread := func(useful, mpi float64) job.NodeShare {
		return job.NodeShare{Useful: s(useful), UsefulMax: s(useful), MPI: s(mpi), ElapsedMax: s(12), ElapsedSum: s(12),
			Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s(2 * useful), UsefulMax: s(useful), MPI: s(2 * mpi)}}
	}
	a := job.ExecutionMetrics(hybridExecution(thread(8, 4), thread(6, 6))).Additive()
	near(t, "process efficiency", a.Process, 0.583, 0.0005)
	near(t, "process CommE", a.ProcessCommunication, 0.667, 0.0005)
	near(t, "process LB", a.ProcessLoadBalance, 0.917, 0.0005)
	near(t, "CommE + LB - 1", a.ProcessCommunication+a.ProcessLoadBalance-1, a.Process, 1e-12)
	near(t, "thread efficiency", a.Thread, 1, 1e-12)
}

// The threads: E 16, three threads useful 9, 9 and 6 in regions that take 12, serial 4.
func TestAdditiveThreads(t *testing.T) {
	m := job.ExecutionMetrics(hybridExecution(job.NodeShare{Useful: s(16), UsefulMax: s(16), ElapsedMax: s(16), ElapsedSum: s(16),
		Threads: &job.ThreadShare{Ranks: 1, Threads: 3, ThreadsMax: 3, Useful: s(4 + 24), UsefulMax: s(13), Imbalance: s(36 - 24), Serial: s(4 * 2)}}))
	a := m.Additive()
	near(t, "region efficiency", a.Region, 0.75, 0.0005)
	near(t, "serial region efficiency", a.Serial, 0.833, 0.0005)
	near(t, "thread efficiency", a.Thread, 1-(4+8./3)/16, 1e-12)
}

// Where what threads did is not known, there are no hybrid figures, and the rest stays.
func TestNoHybridWithoutTheThreads(t *testing.T) {
	known := job.NodeShare{Useful: s(10), UsefulMax: s(10), ElapsedMax: s(10), ElapsedSum: s(10),
		Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s(20), UsefulMax: s(10)}}
	plain := job.NodeShare{Useful: s(10), UsefulMax: s(10), ElapsedMax: s(10), ElapsedSum: s(10)}
	why, others, older := known, known, plain
	why.Threads = &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s(10), UsefulMax: s(10), Why: "old code"}
	others.Load = &job.Load{Ranks: 1, Threaded: 1}
	older.Load = &job.Load{Ranks: 1, Threaded: 1}
	for _, c := range []struct {
		name            string
		nodes           []job.NodeShare
		unknown, hybrid bool
	}{
		{"known", []job.NodeShare{known, known}, false, true},
		{"a rank without OpenMP", []job.NodeShare{known, plain}, false, true},
		{"no OpenMP", []job.NodeShare{plain, plain}, false, false},
		{"times are missing", []job.NodeShare{known, why}, true, false},
		{"other threads", []job.NodeShare{known, others}, true, false},
		{"an older library", []job.NodeShare{known, older}, true, false},
	} {
		e := hybridExecution(c.nodes...)
		if m := job.ExecutionMetrics(e); m == nil || (m.Hybrid != nil) != c.hybrid {
			t.Errorf("%s: %+v", c.name, m)
		}
		if got := job.ThreadsUnknown([]job.Execution{*e}); got != c.unknown {
			t.Errorf("%s: unknown is %v", c.name, got)
		}
	}
}

// A section's load balance of all threads needs the busiest thread of each rank, also over
// several executions. Two ranks: threads useful 10 and 6, 8 and 8 of 10 s.
func TestBusiestThreadOfSections(t *testing.T) {
	for _, c := range []struct {
		busiest [2]int
		known   bool
	}{{[2]int{1, 1}, true}, {[2]int{1, 0}, false}, {[2]int{0, 0}, false}} {
		sums := job.SectionSums{}
		for i, most := range []float64{10, 8} {
			sums.At("solve").Add(&job.Section{Label: "solve", Ranks: 1, Elapsed: s(10), ElapsedMax: s(10), Useful: s(10), UsefulMax: s(10),
				Threads: &job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s(16), UsefulMax: s(most), Busiest: c.busiest[i], Imbalance: s(4)}})
		}
		one := job.Execution{Size: 2, Sections: sums.List()}
		for n, all := range [][]job.Execution{{one}, {one, one}} {
			got := job.JobSections(all)[0]
			if got.BusiestThread != c.known || math.Abs(got.Metrics.Parallel-0.8) > 1e-12 {
				t.Errorf("%v, %d executions: %+v", c.busiest, n+1, got)
			}
			if c.known {
				near(t, "LB", got.Metrics.LoadBalance, 0.8, 1e-12)
				near(t, "CommE", got.Metrics.Communication, 1, 1e-12)
			}
		}
	}
}

func TestThreadsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*job.ThreadShare){
		"negative":            func(h *job.ThreadShare) { h.Serial = -1 },
		"more than ran":       func(h *job.ThreadShare) { h.Ranks = 2 },
		"fewer than ranks":    func(h *job.ThreadShare) { h.Threads = 0 },
		"too many of a rank":  func(h *job.ThreadShare) { h.Threads = 3 },
		"more time than was":  func(h *job.ThreadShare) { h.Imbalance = s(11) },
		"longer than it ran":  func(h *job.ThreadShare) { h.UsefulMax = s(11) },
		"more than the most":  func(h *job.ThreadShare) { h.UsefulMax = s(1) },
		"more than can exist": func(h *job.ThreadShare) { h.Threads, h.ThreadsMax = 1<<21, 1<<21 },
	} {
		share := job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: s(10), UsefulMax: s(8)}
		e := hybridExecution(job.NodeShare{Useful: s(10), UsefulMax: s(10), ElapsedMax: s(10), ElapsedSum: s(10), Threads: &share})
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		if change(&share); e.Check() == nil {
			t.Errorf("%s: nothing was said", name)
		}
	}
}
