package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

var monday = time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC)

// runsOf makes runs of one executable: elapsed and useful are those on 64 cores times a
// factor and noise.
func runsOf(build string, from time.Time, n int, cores []int, factor, useful, noise float64, rng *rand.Rand) (all []job.Run) {
	for i := range n {
		c := cores[i%len(cores)]
		t := 6400 / float64(c) * math.Exp(noise*rng.NormFloat64())
		all = append(all, job.Run{Cluster: "c", JobID: uint32(from.Unix()%1e6) + uint32(i), Attempt: 1, DisplayID: fmt.Sprint(i), UID: 1, User: "alice", Start: from.Add(time.Duration(i) * time.Hour),
			Ranks: c, Threads: 1, Nodes: 1, Ended: true, Coverage: 1, Elapsed: t * factor, Useful: 0.9 * t * useful * float64(c), Collectives: 1000, Executable: "/bin/lmp", BuildID: build})
	}
	return all
}

func TestCompareExecutables(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	same := []int{64, 128}
	for _, c := range []struct {
		name        string
		old, new    []job.Run
		low, high   float64 // of the factor; 0: nothing is told
		byCurve     bool
		workSlowed  bool
		otherInputs bool
	}{
		{name: "a fifth slower", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday, 8, same, 1.2, 1.2, 0.03, rng), low: 1.15, high: 1.25, workSlowed: true},
		{name: "in communication", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday, 8, same, 1.2, 1, 0.03, rng), low: 1.15, high: 1.25},
		{name: "faster", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday, 8, same, 0.8, 0.8, 0.03, rng), low: 0.75, high: 0.85},
		{name: "as before", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday, 8, same, 1, 1, 0.03, rng)},
		{name: "lost in the noise", old: runsOf("a", monday.AddDate(0, 0, -20), 6, same, 1, 1, 0.4, rng), new: runsOf("b", monday, 4, same, 1.1, 1.1, 0.4, rng)},
		{name: "too few", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday, 2, same, 1.5, 1.5, 0.03, rng)},
		{name: "long ago", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday.AddDate(0, 0, -10), 20, same, 1.5, 1.5, 0.03, rng)},
		{name: "too few before, enough now", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday.Add(-2*time.Hour), 8, same, 1.2, 1.2, 0.03, rng), low: 1.15, high: 1.25, workSlowed: true},
		{name: "no other", new: runsOf("b", monday, 20, same, 1, 1, 0.03, rng)},
		{name: "by the curve", old: runsOf("a", monday.AddDate(0, 0, -30), 30, []int{16, 32, 128, 256}, 1, 1, 0.01, rng), new: runsOf("b", monday, 9, []int{64}, 1.4, 1.4, 0.01, rng), low: 1.2, high: 1.6, byCurve: true, workSlowed: true},
		{name: "another input", old: runsOf("a", monday.AddDate(0, 0, -20), 20, same, 1, 1, 0.03, rng), new: runsOf("b", monday, 8, same, 1.5, 1.5, 0.03, rng), otherInputs: true},
	} {
		if c.otherInputs {
			for i := range c.new {
				c.new[i].Collectives = 1500
			}
		}
		got := CompareExecutables(append(c.old, c.new...), monday)
		switch {
		case c.low == 0 && got != nil:
			t.Errorf("%s: %+v", c.name, got)
		case c.low == 0:
		case got == nil || got.Factor.Value < c.low || got.Factor.Value > c.high || !(got.Factor.Low < got.Factor.Value && got.Factor.Value < got.Factor.High):
			t.Errorf("%s: %+v", c.name, got)
		case got.ByCurve != c.byCurve || got.Old != "a" || got.New != "b" || got.Name != "lmp" || got.Hours > 0 != (c.low > 1):
			t.Errorf("%s: %+v", c.name, got)
		case !c.byCurve && got.Factor.Value > 1 && got.Useful > 1.1 != c.workSlowed:
			t.Errorf("%s: useful %v", c.name, got.Useful)
		}
	}
}

// TestFewestChanged: three runs of each executable are compared, on core counts that both have.
func TestFewestChanged(t *testing.T) {
	for _, c := range []struct {
		old, new, elsewhere int // runs; those elsewhere are new ones on cores that nothing is known of
		told                bool
	}{{3, 3, 0, true}, {2, 9, 0, false}, {9, 2, 0, false}, {9, 2, 1, false}, {3, 3, 1, true}} {
		var runs []job.Run
		for i := range c.old + c.new + c.elsewhere {
			r := changed(run(uint32(i), 4, 100, 90), func(r *job.Run) { r.BuildID = "old" })
			if i >= c.old {
				r.BuildID, r.Elapsed = "new", 150
			}
			if i >= c.old+c.new {
				r.Ranks, r.Useful = 64, 64*90
			}
			runs = append(runs, r)
		}
		got := compare(runs)
		if (got != nil) != c.told || c.told && (got.Runs != c.new || got.Worse() != 1) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if faster := (&Change{Factor: curve.Estimate{Value: 0.8}}); faster.Worse() != 0 {
		t.Error("faster is worse")
	}
}

// TestCompareLibraries: the same executable with another MPI library.
func TestCompareLibraries(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		old, new string
		told     bool
	}{
		{"MPICH 4.0.2", "MPICH 4.1.1", true},
		{"Open MPI v4.1.4", "MPICH 4.1.1", true},
		{"MPICH", "MPICH 4.1.1", false}, // the version was not recorded: it may have been this one
		{"", "MPICH 4.1.1", false},
		{"MPICH 4.1.1", "MPICH 4.1.1", false},
	} {
		runs := runsOf("a", monday.AddDate(0, 0, -20), 20, []int{64}, 1, 1, 0.03, rng)
		for i := range runs {
			runs[i].MPI = c.old
		}
		for _, r := range runsOf("a", monday, 8, []int{64}, 1.2, 1, 0.03, rng) {
			r.MPI = c.new
			runs = append(runs, r)
		}
		got := CompareExecutables(runs, monday)
		if (got != nil) != c.told || c.told && (got.OldMPI != c.old || got.NewMPI != c.new || got.Old != got.New) {
			t.Errorf("%s to %s: %+v", c.old, c.new, got)
		}
	}
}

// TestChanceIsNotAChange asks about pairs of executables that do not differ.
func TestChanceIsNotAChange(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	told := 0
	for range 400 {
		runs := append(runsOf("a", monday.AddDate(0, 0, -20), 12, []int{64}, 1, 1, 0.05, rng), runsOf("b", monday, 6, []int{64}, 1, 1, 0.05, rng)...)
		if CompareExecutables(runs, monday) != nil {
			told++
		}
	}
	if told > 20 {
		t.Errorf("%d of 400 are told as changes", told)
	}
}
