package job

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/preload/record"
)

// times is useful and MPI time of a rank, s.
type times struct{ useful, mpi float64 }

// executionOf has one node for each list of ranks.
func executionOf(nodes ...[]times) Execution {
	e := Execution{Key: "k"}
	for i, ranks := range nodes {
		n := NodeShare{Node: string(rune('a' + i)), Ranks: len(ranks)}
		for _, r := range ranks {
			useful, mpi := time.Duration(r.useful*1e9), time.Duration(r.mpi*1e9)
			n.Useful += useful
			n.MPI += mpi
			n.ElapsedSum += useful + mpi
			n.UsefulMax = max(n.UsefulMax, useful)
			n.ElapsedMax = max(n.ElapsedMax, useful+mpi)
		}
		e.Size += len(ranks)
		e.Nodes = append(e.Nodes, n)
	}
	return e
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// TestMetricsVectors checks METRICS 1's vectors, and some that one can compute by hand.
func TestMetricsVectors(t *testing.T) {
	tests := []struct {
		name                      string
		executions                []Execution
		pe, lb, lbIn, lbOut, comm float64
	}{
		{"POP, two ranks", []Execution{executionOf([]times{{8, 4}, {6, 6}})}, 7. / 12, 7. / 8, 7. / 8, 1, 8. / 12},
		{"POP, three ranks", []Execution{executionOf([]times{{10, 2}, {8, 4}, {6, 6}})}, 2. / 3, .8, .8, 1, 10. / 12},
		{"POP, three ranks on two nodes", []Execution{executionOf([]times{{10, 2}, {8, 4}}, []times{{6, 6}})},
			2. / 3, .8, .9, 8. / 9, 10. / 12},
		{"one rank without MPI", []Execution{executionOf([]times{{5, 0}})}, 1, 1, 1, 1, 1},
		{"nothing but MPI", []Execution{executionOf([]times{{0, 5}, {0, 5}})}, 0, 1, 1, 1, 0},
		{"two executions", []Execution{executionOf([]times{{8, 4}, {6, 6}}), executionOf([]times{{3, 1}})},
			17. / 28, 17. / 19, 17. / 19, 1, 19. / 28},
	}
	for _, tt := range tests {
		m := JobMetrics(tt.executions)
		if m == nil {
			t.Errorf("%s: no metrics", tt.name)
			continue
		}
		if !near(m.MPI.Parallel, tt.pe, 1e-12) || !near(m.MPI.LoadBalance, tt.lb, 1e-12) || !near(m.LoadBalanceIn, tt.lbIn, 1e-12) ||
			!near(m.LoadBalanceOut, tt.lbOut, 1e-12) || !near(m.MPI.Communication, tt.comm, 1e-12) {
			t.Errorf("%s: got %+v", tt.name, m)
		}
	}
}

func TestMetricsSums(t *testing.T) {
	lost := executionOf([]times{{8, 4}, {6, 6}})
	lost.Size = 4
	m := JobMetrics([]Execution{lost, executionOf([]times{{3, 1}}, []times{{1, 3}})})
	if !near(m.Elapsed, 16, 1e-12) || !near(m.Useful, 18, 1e-12) || !near(m.MPITime, 14, 1e-12) {
		t.Errorf("got %+v", m)
	}
	if m.Ranks != 2 || m.Nodes != 2 || !near(m.Coverage, 4./6, 1e-12) {
		t.Errorf("got %+v", m)
	}
}

func TestMetricsWithoutARegion(t *testing.T) {
	for _, e := range [][]Execution{nil, {{Key: "k"}}, {executionOf([]times{{0, 0}})}} {
		if m := JobMetrics(e); m != nil {
			t.Errorf("got %+v", m)
		}
	}
}

func TestMetricsIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var executions []Execution
		for range 1 + rng.IntN(4) {
			var nodes [][]times
			for range 1 + rng.IntN(5) {
				var ranks []times
				for range 1 + rng.IntN(7) {
					ranks = append(ranks, times{1e3 * rng.Float64(), 1e3 * rng.Float64()})
				}
				nodes = append(nodes, ranks)
			}
			executions = append(executions, executionOf(nodes...))
		}
		m := JobMetrics(executions)
		if !near(m.MPI.Parallel, m.MPI.LoadBalance*m.MPI.Communication, 1e-12) ||
			!near(m.MPI.LoadBalance, m.LoadBalanceIn*m.LoadBalanceOut, 1e-12) {
			t.Fatalf("an identity does not hold: %+v", m)
		}
	}
}

func TestCovered(t *testing.T) {
	e := []Execution{executionOf([]times{{8, 4}, {6, 6}})}
	if c := Covered(RankSeconds(e), 4, 24*time.Second); c == nil || !near(*c, .25, 1e-12) {
		t.Errorf("got %v", c)
	}
	if c := Covered(RankSeconds(e), 0, time.Second); c != nil {
		t.Errorf("without CPUs: %v", *c)
	}
	if c := Covered(24.4, 4, 6*time.Second); c == nil || *c != 1 {
		t.Errorf("more than Slurm's whole seconds: %v", c)
	}
}

// Whether ranks had threads that compute: the count decides, and the environment only for ranks
// that nobody counted.
func TestThreadsOfRanks(t *testing.T) {
	count := func(ranks, threaded, openmp int) *Load {
		return &Load{Ranks: ranks, Threaded: threaded, OpenMP: openmp}
	}
	share := func(threads int, why string) *ThreadShare {
		return &ThreadShare{Threads: threads, ThreadsMax: threads / 2, Why: why}
	}
	for name, c := range map[string]struct {
		node              NodeShare
		cpus              int
		threaded, unknown bool
	}{
		"nobody counted":           {NodeShare{}, 1, false, false},
		"nobody counted, asked":    {NodeShare{}, 2, true, true},
		"counted":                  {NodeShare{Load: count(2, 0, 0)}, 2, false, false},
		"half counted":             {NodeShare{Load: count(1, 0, 0)}, 1, false, false},
		"half counted, asked":      {NodeShare{Load: count(1, 0, 0)}, 2, true, true},
		"threads":                  {NodeShare{Load: count(2, 1, 0)}, 1, true, true},
		"threads of OpenMP":        {NodeShare{Load: count(2, 1, 1)}, 1, true, false},
		"OpenMP":                   {NodeShare{Threads: share(4, "")}, 2, true, false},
		"OpenMP, not whole":        {NodeShare{Threads: share(4, "old")}, 1, true, true},
		"OpenMP with one thread":   {NodeShare{Threads: share(2, ""), Load: count(2, 0, 0)}, 1, false, false},
		"OpenMP and other threads": {NodeShare{Threads: share(4, ""), Load: count(2, 2, 1)}, 1, true, true},
	} {
		c.node.Ranks = 2
		e := []Execution{{Size: 2, CPUsPerTask: c.cpus, Nodes: []NodeShare{c.node}}}
		if Threaded(e) != c.threaded || ThreadsUnknown(e) != c.unknown || OnlyUnknownThreads(e) {
			t.Errorf("%s: threaded %v, unknown %v", name, Threaded(e), ThreadsUnknown(e))
		}
	}
	if WithMPI([]Execution{{Size: 1}}) || !WithMPI([]Execution{{Size: 1, MPI: "m"}}) || !WithMPI([]Execution{{Size: 2}}) {
		t.Error("a program of one rank used MPI, or one of two did not")
	}
}

// What some ranks counted cannot be compared with another run.
func TestUsefulCounters(t *testing.T) {
	with := func(nodes ...*Counters) []Execution {
		var e Execution
		for _, c := range nodes {
			e.Nodes = append(e.Nodes, NodeShare{Ranks: 2, Counters: c})
		}
		return []Execution{e, {}}
	}
	whole := &Counters{Ranks: 2, Instructions: 30, Cycles: 20, Useful: 10}
	if c := UsefulCounters(with(whole, whole)); c == nil || *c != (Counters{4, 60, 40, 20}) || *c.IPC() != 1.5 || !near(*c.Frequency(), 2e9, 1) {
		t.Errorf("%+v", c)
	}
	if (&Counters{Instructions: 1}).IPC() != nil {
		t.Error("instructions per cycle without a cycle")
	}
	for _, e := range [][]Execution{nil, with(nil), with(whole, nil), with(&Counters{Ranks: 1})} {
		if c := UsefulCounters(e); c != nil {
			t.Errorf("%+v", c)
		}
	}
}

// A program's windows speak of a job only if it has nearly all of its time.
func TestWindowsOfAJob(t *testing.T) {
	of := func(useful float64, w *Windows) Execution {
		e := executionOf([]times{{useful, 0}, {useful, 0}})
		e.Windows = w
		return e
	}
	alone := executionOf([]times{{1, 0}})
	alone.Windows = &Windows{Logged: 1}
	w := &Windows{Logged: 1}
	for name, c := range map[string]struct {
		all  []Execution
		want string
	}{
		"one rank":   {[]Execution{alone}, "nil"},
		"none":       {[]Execution{of(1, nil), of(2, nil)}, "nil"},
		"the only":   {[]Execution{of(1, w)}, "w"},
		"most":       {[]Execution{of(2, nil), of(8, w)}, "w"},
		"not most":   {[]Execution{of(2.1, nil), of(8, w)}, "why"},
		"the others": {[]Execution{of(9, nil), of(1, w)}, "why"},
	} {
		got := JobWindows(c.all)
		if is := map[bool]string{true: "nil", false: "why"}[got == nil]; got != w && is != c.want || got == w && c.want != "w" || c.want == "why" && got.Determined() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Time in calls that only wait, and the cores' time of programs with and without threads.
func TestWaitTimeAndCoreSeconds(t *testing.T) {
	plain, threaded := executionOf([]times{{8, 4}, {6, 6}}), executionOf([]times{{8, 4}})
	plain.Classes = []Call{{Name: "wait", Time: 2 * time.Second}, {Name: "receive", Time: time.Second}, {Name: "collective", Time: 5 * time.Second}}
	for i, class := range []record.Class{record.ClassWait, record.ClassRecv, record.ClassColl} {
		plain.Classes[i].Name = class.String()
	}
	threaded.Nodes[0].Threads = &ThreadShare{Ranks: 1, Threads: 3, ThreadsMax: 3, Useful: 20 * time.Second, UsefulMax: 8 * time.Second}
	if m := JobMetrics([]Execution{plain, threaded}); !near(m.WaitTime, 3, 1e-12) || m.RealUseful() != m.Hybrid.Useful || m.RealUseful() != 34 {
		t.Errorf("%+v, %+v", m, m.Hybrid)
	}
	if got := CoreSeconds([]Execution{plain, threaded, {}}); !near(got, 24+36, 1e-12) {
		t.Errorf("%g s of cores", got)
	}
	if m := JobMetrics([]Execution{plain}); m.Efficiencies != m.MPI || !near(m.Parallel, 7./12, 1e-12) || !near(m.LoadBalance, 7./8, 1e-12) || !near(m.Communication, 8./12, 1e-12) {
		t.Errorf("%+v", m)
	}
}

// Sections of two executions alike, each of two ranks: 10 s each, of which 2 and 4 s are in a section.
func TestSectionFigures(t *testing.T) {
	const s = time.Second
	x := *twoRanks()
	x.Sections = []Section{{Label: "halo", Ranks: 2, Count: 4, Elapsed: 6 * s, ElapsedMax: 4 * s, Useful: 4 * s, UsefulMax: 3 * s, MPI: 2 * s,
		Own: 6 * s, OwnUseful: 4 * s, OwnMPI: 2 * s}}
	all := JobSections([]Execution{x, x})
	if len(all) != 2 || all[0].Label != MainSection || all[1].Label != "halo" {
		t.Fatalf("%+v", all)
	}
	for i, want := range [][]float64{{20, 20, 28, 16, 8, 0.6, 0.75, 0.8}, {8, 6, 12, 8, 4, 0.5, 8. / 12, 0.75}} {
		f := all[i]
		e := f.Metrics.MPI
		for k, got := range []float64{f.Elapsed, f.ElapsedMean, f.Own, f.OwnUseful, f.OwnMPI, e.Parallel, e.LoadBalance, e.Communication} {
			if !near(got, want[k], 1e-12) {
				t.Errorf("%s: figure %d is %g, want %g", f.Label, k, got, want[k])
			}
		}
	}
}
