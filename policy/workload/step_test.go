package workload

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/curve"
)

// noises are how the logarithm of run times may spread about its mean, with a standard deviation of 1:
// none of them is a step.
var noises = map[string]func(*rand.Rand) func() float64{
	"normal": func(rng *rand.Rand) func() float64 { return rng.NormFloat64 },
	"heavy tails": func(rng *rand.Rand) func() float64 { // Student's t with 3 degrees of freedom
		return func() float64 {
			a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			return rng.NormFloat64() / math.Sqrt(a*a+b*b+c*c)
		}
	},
	"some are slow": func(rng *rand.Rand) func() float64 { return func() float64 { return rng.ExpFloat64() - 1 } },
	"one in ten is slow": func(rng *rand.Rand) func() float64 {
		return func() float64 {
			if rng.IntN(10) == 0 {
				return 2.5 + 0.3*rng.NormFloat64()
			}
			return 0.3 * rng.NormFloat64()
		}
	},
}

// seriesOf makes runs of one core count and input, one every hour. From run `at` on they take `factor` times as
// long.
func seriesOf(n, at int, factor, spread float64, noise func() float64) (all []job.Run) {
	for i := range n {
		t := 100 * math.Exp(spread*noise())
		if i >= at {
			t *= factor
		}
		all = append(all, changed(run(uint32(i+1), 16, t, 0.9*t), func(r *job.Run) { r.Conditions.Input = "a" }))
	}
	return all
}

// TestNullSeries: of 1,000 series of 60 runs in which nothing changes, at most 5 % show a step, however
// the times spread; they are looked at after each run.
func TestNullSeries(t *testing.T) {
	t.Parallel()
	for name, noise := range noises {
		for _, spread := range []float64{0.02, 0.1, 0.3} {
			rng, told := rand.New(rand.NewPCG(34, 5)), 0
			draw := noise(rng)
			for range 1000 {
				if len(stepsIn(seriesOf(60, 60, 1, spread, draw), false)) > 0 {
					told++
				}
			}
			t.Logf("%s, spread %.2f: %d of 1,000", name, spread, told)
			if told > 1000*stepChance {
				t.Errorf("%s, spread %.2f: %d of 1,000 series without a step show one", name, spread, told)
			}
		}
	}
}

// TestLongNullSeries: of series of 1,000 runs in which nothing changes, of which the newest 50 are looked at
// after each run, at most 5 % ever show a step.
func TestLongNullSeries(t *testing.T) {
	t.Parallel()
	const kept, series = 50, 300
	for name, noise := range noises {
		rng, told := rand.New(rand.NewPCG(34, 7)), 0
		draw := noise(rng)
		for range series {
			all := seriesOf(1000, 1000, 1, 0.1, draw)
			steps := stepsIn(all[:kept], false)
			// each run is looked at with 30 runs before it, and again with fewer
			for n := kept + 1; n <= len(all) && len(steps) == 0; n += kept - mostBefore - runsSince + 1 {
				steps = stepsIn(all[n-kept:n], true)
			}
			if len(steps) > 0 {
				told++
			}
		}
		t.Logf("%s: %d of %d", name, told, series)
		if told > series*stepChance {
			t.Errorf("%s: %d of %d series without a step show one", name, told, series)
		}
	}
}

// TestStepIsFound: a change of 5 % is found within five runs where these spread by 1 %, and told as what
// it is.
func TestStepIsFound(t *testing.T) {
	t.Parallel()
	for _, before := range []int{6, 10, 20, 40, 45, 55} { // of the last two, earlier runs are not kept
		rng, found := rand.New(rand.NewPCG(34, 6)), 0
		for range 500 {
			all := Steps(seriesOf(before+runsSince, before, 1.05, 0.01, rng.NormFloat64), before > 40)
			if len(all) == 1 && all[0].Factor.Low > 1.01 && all[0].Factor.High < 1.09 && all[0].Last.JobID <= uint32(before+runsSince) {
				found++
			}
		}
		t.Logf("%d runs before: %d of 500", before, found)
		if found < 475 {
			t.Errorf("after %d runs, only %d of 500 steps of 5 %% are found within five runs", before, found)
		}
	}
}

// TestRankChance: the chance of U, counted over all orders.
func TestRankChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, since []float64
		want          float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5}, 1. / 10}, {[]float64{1, 2, 4}, []float64{3, 5}, 2. / 10}, {[]float64{1, 4, 5}, []float64{2, 3}, 8. / 10},
		{[]float64{4, 5, 6}, []float64{1, 2}, 1}, {[]float64{1, 2, 3}, []float64{3, 5}, 2. / 10}, {[]float64{1, 2, 3, 4, 5, 6}, []float64{7, 8, 9, 10, 11}, 1. / 462},
	} {
		if got := rankChance(c.before, c.since); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, %v: %v, want %v", c.before, c.since, got, c.want)
		}
	}
}

// TestSteps: what is a step, and what is none.
func TestSteps(t *testing.T) {
	t.Parallel()
	quiet := func() func() float64 { return rand.New(rand.NewPCG(1, 2)).NormFloat64 }
	slow := func(change func([]job.Run) []job.Run) []job.Run { return change(seriesOf(20, 14, 1.2, 0.01, quiet())) }
	same := func(all []job.Run) []job.Run { return all }
	unknown := func(all []job.Run) []job.Run { // input
		for i := range all {
			all[i].Conditions.Input = ""
		}
		return all
	}
	for _, c := range []struct {
		name string
		runs []job.Run
		at   uint32 // the first slower run; 0: no step
	}{
		{"a fifth slower", slow(same), 15},
		{"too few before", slow(same)[10:], 0},
		{"too few since", slow(same)[:16], 0},
		{"less than is told", seriesOf(30, 20, 1.02, 0.002, quiet()), 0},
		{"faster", seriesOf(20, 14, 0.8, 0.01, quiet()), 0},
		{"one slow run", slow(func(all []job.Run) []job.Run { return append(all[:14:14], all[14]) }), 0},
		{"slow now and then", slow(func(all []job.Run) []job.Run {
			all[15].Elapsed, all[17].Elapsed, all[19].Elapsed = 100, 100, 100
			return all
		}), 0},
		{"all of one job", slow(func(all []job.Run) []job.Run {
			for i := range all[14:] {
				all[14+i].JobID = 15
			}
			return all
		}), 0},
		{"another build", slow(func(all []job.Run) []job.Run {
			for i := range all {
				all[i].BuildID = map[bool]string{true: "old", false: "new"}[i < 14]
			}
			return all
		}), 0}, // told as a change of the executable
		{"another build after the first slow run", slow(func(all []job.Run) []job.Run {
			for i := range all {
				all[i].BuildID = map[bool]string{true: "old", false: "new"}[i < 15]
			}
			return all
		}), 0},
		{"more steps", slow(func(all []job.Run) []job.Run {
			for i := range all[14:] {
				all[14+i].Collectives *= 1.3
			}
			return all
		}), 0},
		{"killed ones between", slow(func(all []job.Run) []job.Run {
			for i := 0; i < 14; i += 3 {
				all[i].Ended = false
			}
			return all
		}), 15},
		{"no runs", nil, 0},
	} {
		all := Steps(c.runs, false)
		if (c.at > 0) != (len(all) == 1) || c.at > 0 && (all[0].First.JobID != c.at || all[0].Before.JobID >= c.at || all[0].Factor.Value < 1.15) {
			t.Errorf("%s: %+v", c.name, all)
		}
	}
	for _, c := range []struct {
		name   string
		change func(before, since *job.Run)
		beside string // "-": no step
	}{
		{"another input, more work", func(before, since *job.Run) { before.Conditions.Input, since.Conditions.Input = "a", "b" }, "-"},
		{"another input, as much work", func(before, since *job.Run) {
			before.Conditions.Input, since.Conditions.Input, since.Useful = "a", "b", since.Useful/1.2
		}, ""},
		{"more work than an unknown input may make", func(_, since *job.Run) { since.Useful *= 1.1 }, "-"},
		{"as much, of one input", func(before, since *job.Run) {
			before.Conditions.Input, since.Conditions.Input = "a", "a"
			since.Useful *= 1.1
		}, ""},
		{"another program", func(_, since *job.Run) { since.Executable = "/usr/bin/gmx" }, "-"},
		{"the same elsewhere", func(_, since *job.Run) { since.Executable = "/opt/bin/lmp" }, ""},
		{"another machine", func(before, since *job.Run) {
			before.Conditions.Machine, since.Conditions.Machine = &job.Hardware{Model: "A"}, &job.Hardware{Model: "B"}
		}, "-"},
		{"a machine that was not known", func(_, since *job.Run) { since.Conditions.Machine = &job.Hardware{Model: "B"} }, ""},
		{"another clock", func(before, since *job.Run) {
			before.Conditions.Machine, since.Conditions.Machine = &job.Hardware{MaxMHz: 3000}, &job.Hardware{MaxMHz: 2500}
		}, "the highest frequency of their nodes is 2,500 MHz, not 3,000"},
		{"another partition", func(before, since *job.Run) { before.Partition, since.Partition = "main", "eco" }, "they ran in partition eco, not main, and whether its nodes are as fast is not known"},
		{"another partition of such nodes", func(before, since *job.Run) {
			before.Conditions.Machine, since.Conditions.Machine = &job.Hardware{Model: "A"}, &job.Hardware{Model: "A"}
			before.Partition, since.Partition = "main", "eco"
		}, "they ran in partition eco, not main"},
	} {
		runs, none := slow(unknown), run(1, 16, 100, 90)
		for i := range runs[:14] {
			since := &none
			if i < 6 {
				since = &runs[14+i]
			}
			c.change(&runs[i], since)
		}
		switch all := Steps(runs, false); {
		case c.beside == "-" && len(all) > 0:
			t.Errorf("%s: %+v", c.name, all)
		case c.beside != "-" && (len(all) != 1 || all[0].Beside != c.beside):
			t.Errorf("%s: %+v, want %q", c.name, all, c.beside)
		}
	}
	var between []job.Run // other work, after every second run
	for i, r := range slow(same) {
		r.Useful, r.Start = 1440, began.Add(time.Duration(2*i)*time.Hour)
		if between = append(between, r); i%2 == 0 {
			between = append(between, changed(run(uint32(100+i), 16, 125, 112), func(o *job.Run) { o.Conditions.Input, o.Start = "b", r.Start.Add(time.Hour) }))
		}
	}
	if all := Steps(between, false); len(all) != 1 || all[0].First.JobID != 15 || all[0].Earlier != 14 {
		t.Errorf("other work between: %+v", all)
	}
	apart := slow(unknown)
	apart[18].Useful *= 1.1 // more work than before, as far as is known; not more than that of the newest
	apart[19].Useful /= 1.1
	if all := Steps(apart, false); len(all) != 1 || all[0].First.JobID != 16 || all[0].Last.JobID != 20 {
		t.Errorf("a run that did more work than that before is named: %+v", all)
	}
	again := append(seriesOf(18, 8, 1.2, 0.01, quiet()), seriesOf(14, 9, 1.2, 0.01, quiet())...)
	for i := range again {
		again[i].JobID, again[i].Start = uint32(i+1), began.Add(time.Duration(i)*time.Hour)
	}
	for n, want := range map[int]uint32{13: 9, 18: 9, 20: 9, 21: 0, 27: 0, 31: 0, 32: 28} { // slow from 9 to 18, and from 28 on
		if all := Steps(again[:n], false); (want > 0) != (len(all) == 1) || want > 0 && all[0].First.JobID != want {
			t.Errorf("after %d runs: %+v, want one since %d", n, all, want)
		}
	}
	twice := seriesOf(40, 14, 1.2, 0.01, quiet())
	for i := range twice[26:] {
		twice[26+i].Elapsed *= 1.1
	}
	if all := Steps(twice, false); len(all) != 2 || all[1].First.JobID != 27 {
		t.Errorf("two steps: %+v", all)
	}
	told := slow(same)
	last := Steps(told, false)[0].Last.Start
	if n := len(StepsBetween(told, last, last.Add(time.Hour))); n != 1 {
		t.Errorf("%d steps in the hour in which it was sure", n)
	}
	if n := len(StepsBetween(told, last.Add(time.Second), last.AddDate(0, 0, 7))) + len(StepsBetween(told, last.AddDate(0, 0, -7), last)); n != 0 {
		t.Errorf("%d steps in other weeks", n)
	}
}

// TestSlower: a job is told of the step that its run is behind, as long as runs are slow.
func TestSlower(t *testing.T) {
	t.Parallel()
	runs := seriesOf(20, 14, 1.2, 0.01, rand.New(rand.NewPCG(1, 2)).NormFloat64)
	runs[19].Elapsed = 100
	w := workloadOf(runs...)
	for at, want := range map[int]bool{13: false, 14: true, 18: true, 19: false} {
		s := NewStudy(w, jobtest.JobOf(runs[at]), began, curve.Settings{})
		if step := s.Slower(); (step != nil) != want {
			t.Errorf("run %d: %+v", at, step)
		}
	}
	w.All = &job.RunSum{Runs: 99} // those of other core counts are cut
	if NewStudy(w, jobtest.JobOf(runs[18]), began, curve.Settings{}).Slower() == nil {
		t.Error("of few runs that are all looked at, no step is seen")
	}
	other := changed(run(21, 16, 150, 140), func(r *job.Run) { r.Conditions.Input = "another" })
	runs[19].Elapsed = 120
	if step := NewStudy(workloadOf(append(runs, other)...), jobtest.JobOf(other), began, curve.Settings{}).Slower(); step != nil {
		t.Errorf("a job with another input: %+v", step)
	}
	none := NewStudy(w, jobtest.JobOf(changed(runs[3], func(r *job.Run) { r.JobID = 99 })), began, curve.Settings{})
	if none.Slower() != nil {
		t.Error("a job without a run is slower")
	}
}
