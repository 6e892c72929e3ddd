package workload

import (
	"math"
	"strings"
	"testing"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Which runs are points of a curve: at each bound, and beyond it.
func TestNotPoint(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *job.Run)
		why    string // "": it is one
	}{
		"plain":             {func(*job.Run) {}, ""},
		"shortest":          {func(r *job.Run) { r.Elapsed, r.Useful = shortestRun, shortestRun }, ""},
		"too short":         {func(r *job.Run) { r.Elapsed, r.Useful = shortestRun/2, shortestRun/2 }, "cannot be"},
		"longest":           {func(r *job.Run) { r.Elapsed = longestRun }, ""},
		"too long":          {func(r *job.Run) { r.Elapsed = 2 * longestRun }, "cannot be"},
		"hardly useful":     {func(r *job.Run) { r.Useful = shortestRun }, ""},
		"not useful":        {func(r *job.Run) { r.Useful = shortestRun / 2 }, "cannot be"},
		"all useful":        {func(r *job.Run) { r.Useful = 1.09 * 100 * 4 }, ""},
		"too useful":        {func(r *job.Run) { r.Useful = 1.11 * 100 * 4 }, "cannot be"},
		"no time":           {func(r *job.Run) { r.Elapsed = 0 }, "not known"},
		"no number":         {func(r *job.Run) { r.Useful = math.NaN() }, "not known"},
		"no useful time":    {func(r *job.Run) { r.Useful = 0 }, "not known"},
		"most ranks":        {func(r *job.Run) { r.Ranks = curve.MostCores }, ""},
		"too many":          {func(r *job.Run) { r.Ranks = curve.MostCores + 1 }, "cannot be"},
		"no rank":           {func(r *job.Run) { r.Ranks = 0 }, "cannot be"},
		"killed":            {func(r *job.Run) { r.Ended = false }, "not finish"},
		"hardly suspended":  {func(r *job.Run) { r.Suspended = 1 }, ""},
		"suspended":         {func(r *job.Run) { r.Suspended = 2 }, "suspended"},
		"a rank is missing": {func(r *job.Run) { r.Coverage = 0.99 }, "99 %"},
		"GPU":               {func(r *job.Run) { r.GPUs = 1 }, "GPUs"},
	} {
		r := changed(run(1, 4, 100, 50), c.change)
		if got := notPoint(&r); (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("%s: %q, want %q", name, got, c.why)
		}
	}
}

// What counts as fewer core-hours, and as worth the longer time: at each bound, and beyond it.
func TestWorth(t *testing.T) {
	of := func(cores, time float64) *Recommendation {
		return &Recommendation{cost: cores / 100, Time: &curve.Estimate{Value: time}, Typical: &curve.Estimate{Value: time, High: time}}
	}
	for _, c := range []struct {
		cores, time   float64
		better, worth bool
	}{
		{50, 0.5, true, true}, {50, 0.99, true, false}, {50, 1, false, false}, {50, 1.1, false, false}, {10, 1, true, true}, {10, 1.1, true, true},
		{25, 1, true, true}, {40, 1, true, false}, {100, 0, false, true}, {90, 0.05, true, true}, {96, 0.04, true, false}, {37.5, 1, true, true},
	} {
		if r := of(c.cores, c.time); r.better() != c.better || r.worth() != c.worth {
			t.Errorf("%g cores of 100, %g of the time longer: better %v, worth it %v", c.cores, c.time, !c.better, !c.worth)
		}
	}
	if new(Recommendation).better() || new(Recommendation).worth() {
		t.Error("a time that nobody knows is better")
	}
}

// How many nodes a core count asks for.
func TestNodesFor(t *testing.T) {
	on := func(nodes ...int) *Study { // 16 cores of each
		s := new(Study)
		for _, n := range nodes {
			s.Counts = append(s.Counts, Count{N: 16 * n, Nodes: []int{n, n + 1}})
			s.Runs = append(s.Runs, job.Run{Ranks: 16 * n, Nodes: n})
		}
		return s
	}
	odd := on(1, 2)
	odd.Runs = append(odd.Runs, job.Run{Ranks: 60, Nodes: 3})
	for i, c := range []struct {
		s       *Study
		n, want int
	}{
		{on(1, 2, 4), 32, 2}, {on(1, 2, 4), 8, 1}, {on(1, 2, 4), 16, 1}, {on(1, 2, 4), 17, 2}, {on(1, 2, 4), 48, 3}, {on(1, 2, 4), 49, 4}, {on(1), 17, 0}, {odd, 48, 0}, {on(2), 8, 1},
	} {
		if got := c.s.NodesFor(c.n); got != c.want {
			t.Errorf("%d: %d nodes for %d cores, want %d", i, got, c.n, c.want)
		}
	}
}

// The spread of ln t, of all residuals and within core counts.
func TestSpreadOfRuns(t *testing.T) {
	runs := func(times map[int][]float64) (all []job.Run) {
		for n, ts := range times {
			for _, x := range ts {
				all = append(all, job.Run{Ranks: n, Elapsed: math.Exp(x)})
			}
		}
		return all
	}
	for i, c := range []struct{ got, want float64 }{
		{spreadOf([]float64{1, 2, 3}), 1}, {spreadOf([]float64{1, 3}), math.Sqrt2}, {spreadOf([]float64{5}), 0}, {spreadOf(nil), 0}, {meanOf(nil), 0}, {meanOf([]float64{1, 4}), 2.5},
		{withinSpread(runs(map[int][]float64{1: {1, 3}, 2: {7, 7}})), 1}, {withinSpread(runs(map[int][]float64{1: {1}, 2: {7}})), 0}, {withinSpread(runs(map[int][]float64{1: {1, 3}})), math.Sqrt2},
	} {
		wantClose(t, string(rune('a'+i)), c.got, c.want, 1e-12)
	}
}

// The interval of a change of the executable: 12 runs that take 100 s, then 6 that take 120 s, and what those lost.
func TestIntervalOfAChange(t *testing.T) {
	var runs []job.Run
	for i := range uint32(18) {
		r := changed(run(i, 4, 100, 90), func(r *job.Run) { r.BuildID = "old" })
		if i >= 12 {
			r.BuildID, r.Elapsed = "new", 120
		}
		runs = append(runs, r)
	}
	c := compare(runs)
	if c == nil {
		t.Fatal("a change of 20 % in 6 runs is not told")
	}
	half := math.Sqrt2 * math.Erfinv(changeLevel) * leastSpread * math.Sqrt(1./6+1./12)
	wantClose(t, "factor", c.Factor.Value, 1.2, 1e-12)
	wantClose(t, "low", c.Factor.Low, 1.2*math.Exp(-half), 1e-12)
	wantClose(t, "high", c.Factor.High, 1.2*math.Exp(half), 1e-12)
	wantClose(t, "core-hours", c.Hours, 6*4*20./3600, 1e-12)
	for i := range runs[12:] {
		runs[12+i].Collectives = 1000 * collectivesFactor * 1.1
	}
	if c := compare(runs); c != nil {
		t.Errorf("another number of steps is a change: %+v", c)
	}
}
