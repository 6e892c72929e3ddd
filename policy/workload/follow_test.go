package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/curve"
)

// TestFollowAdvice: a notice advised 64 cores instead of 128. What the runs since saved is what they
// would have cost more at the rate of the runs before it, or of those since on 128, whichever is less. What ran out of
// memory or time cost core-hours, and did no whole work.
func TestFollowAdvice(t *testing.T) {
	t.Parallel()
	const unit = 6400. // core-seconds of useful time in a run
	id := uint32(0)
	runs := func(day, n, cores int, rate, work float64) (all []job.Run) {
		for range n {
			id++
			r := run(id, cores, rate*work*unit/float64(cores), work*unit/float64(cores))
			r.Start = monday.AddDate(0, 0, day).Add(time.Duration(id) * time.Minute)
			all = append(all, r)
		}
		return all
	}
	ended := func(state string, whole bool, all []job.Run) []job.Run {
		for i := range all {
			all[i].State, all[i].Ended = state, whole
		}
		return all
	}
	hours := func(v float64) float64 { return v * unit / 3600 }
	before := runs(-3, 4, 128, 4, 1)
	for name, c := range map[string]struct {
		runs      []job.Run
		mix, old  float64 // of all since, in core-seconds per unit; old -1: there is none
		week      float64 // the smaller one of the second week
		on, cores int
	}{
		"all follow":               {runs(1, 3, 64, 2, 1), 3 * 2, -1, 0, 3, 64},
		"some follow":              {slices.Concat(runs(1, 6, 64, 2, 1), runs(8, 2, 128, 4, 1)), 6 * 2, 6 * 2, 0, 6, 64},
		"more cores":               {runs(8, 3, 256, 5, 1), -3, -1, -3, 3, 256},
		"twice the work":           {runs(8, 3, 64, 2, 2), 3 * 2 * 2, -1, 12, 3, 64},
		"a library, and no advice": {runs(8, 3, 128, 2, 1), 3 * 2, 0, 0, 3, 128},
		"a library, and advice":    {slices.Concat(runs(8, 2, 128, 2, 1), runs(9, 4, 64, 1, 1)), 2*2 + 4*3, 4, 4, 4, 64},
		"a worse library":          {slices.Concat(runs(8, 2, 128, 8, 1), runs(9, 4, 64, 4, 1)), -8, 16, -8, 4, 64},
		"out of memory":            {slices.Concat(runs(8, 3, 64, 2, 1), ended("OUT_OF_MEMORY", false, runs(9, 2, 64, 2, .5))), 3*2 - 2*1, -1, 4, 5, 64},
		"out of time":              {slices.Concat(runs(8, 3, 64, 2, 1), ended("TIMEOUT", false, runs(9, 1, 64, 8, 1))), 3*2 - 8, -1, -2, 4, 64},
		"out of time, on 128":      {slices.Concat(runs(8, 3, 64, 2, 1), runs(9, 1, 128, 4, 1), ended("TIMEOUT", false, runs(9, 1, 128, 4, 1))), 3*2 - 4, 3*6 - 0, 2, 3, 64},
		"so it was before":         {slices.Concat(ended("OUT_OF_MEMORY", false, runs(-2, 4, 128, 4, 1)), runs(8, 3, 64, 2, 1)), 3 * (8 - 2), -1, 18, 3, 64},
		"cancelled ones":           {slices.Concat(runs(8, 3, 64, 2, 1), ended("CANCELLED", false, runs(9, 2, 64, 2, 1))), 3 * 2, -1, 6, 3, 64},
		"done when time ran out":   {ended("TIMEOUT", true, runs(8, 3, 64, 2, 1)), 3 * 2, -1, 6, 3, 64},
		"after half a year":        {slices.Concat(runs(1, 1, 64, 2, 1), runs(183, 3, 64, 2, 1)), 2, -1, 0, 1, 64},
	} {
		told := listing.Told{At: monday, Cores: 128, Advised: 64, Runs: slices.Concat(before, c.runs)}
		f := FollowAdvice(&told, monday.AddDate(0, 0, 7), monday.AddDate(0, 0, 200))
		if f == nil || f.On != c.on || f.Cores != c.cores || math.Abs(f.Ever.Mix.Value-hours(c.mix)) > 1e-6 || (f.Ever.Old != nil) != (c.old >= 0) ||
			f.Ever.Old != nil && math.Abs(f.Ever.Old.Value-hours(c.old)) > 1e-6 || math.Abs(f.Week.Least().Value-hours(c.week)) > 1e-6 || f.Runs != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for name, told := range map[string]listing.Told{"none since": {At: monday, Cores: 128, Runs: before}, "none before": {At: monday, Cores: 128, Runs: runs(1, 3, 64, 2, 1)},
		"none to its end":        {At: monday, Cores: 128, Runs: slices.Concat(before, ended("TIMEOUT", false, runs(1, 3, 64, 2, 1)))},
		"none before to its end": {At: monday, Cores: 128, Runs: slices.Concat(ended("OUT_OF_MEMORY", false, runs(-1, 3, 128, 2, 1)), runs(1, 3, 64, 2, 1))}} {
		if f := FollowAdvice(&told, monday, monday.AddDate(0, 0, 7)); f != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestSavedInterval: the ratio of means has the spread of what its runs cost, at least that of machines,
// and what weeks differ by. A run alone is doubtful.
func TestSavedInterval(t *testing.T) {
	since := cost{[][2]float64{{5, 10}}, 5, 10}
	const t1, t2 = 6.313751514675043, 2.919985580355516 // Student's t at 0.95
	for _, c := range []struct {
		hours []float64 // of 1 s of work each
		half  float64
	}{{[]float64{1}, t1 * 10 * math.Hypot(.02, .02)}, {[]float64{1, 1, 1}, t2 * 10 * math.Hypot(.02/math.Sqrt(3), .02)}, {[]float64{.5, 1.5, 1}, t2 * 10 * math.Hypot(math.Sqrt(.5/2/3), .02)}} {
		var o cost
		for _, h := range c.hours {
			o.add([2]float64{h, 1})
		}
		if got := since.at(&o); math.Abs(got.Value-5) > 1e-9 || math.Abs(got.High-got.Value-c.half) > 1e-9 || math.Abs(got.Value-got.Low-c.half) > 1e-9 {
			t.Errorf("%v: %+v, want 5 give or take %v", c.hours, got, c.half)
		}
	}
	if got := (&cost{}).at(&since); got != (curve.Estimate{}) {
		t.Errorf("no runs: %+v", got)
	}
}

// TestAllocationOfAdvice: what a run cost is what its job was charged for.
func TestAllocationOfAdvice(t *testing.T) {
	whole := func(id uint32, day, cores int) job.Run {
		return changed(run(id, cores, 3600, 1800), func(r *job.Run) { r.AllocCPUs, r.Start = 64, monday.AddDate(0, 0, day) })
	}
	told := listing.Told{At: monday, Cores: 64, Runs: []job.Run{whole(1, -1, 64), whole(2, 1, 32)}}
	if f := FollowAdvice(&told, monday, monday.AddDate(0, 0, 7)); f == nil || math.Abs(f.Ever.Mix.Value - -32) > 1e-9 {
		t.Errorf("%+v", f)
	}
}
