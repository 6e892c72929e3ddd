package workload

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/listing"
	"jobeff/policy/curve"
)

// Followed says what the runs since a notice saved.
type Followed struct {
	listing.Told
	Count int     // runs since the notice, also those that ran out of memory or time
	Cores int     // the core count that they took most often
	On    int     // in how many of them
	Week  Saved   // by those that started in the span asked about
	Ever  Saved   // by all of them, for AdviceFor at most
	Level float64 // of the intervals
}

// Saved holds core-hours that runs did not use; negative: they used more. If a program or library became faster
// meanwhile, Mix is too large, as the advice did not cause that. Old is not.
type Saved struct {
	Mix curve.Estimate  // compared with the cost of the runs before the notice, on whatever cores
	Old *curve.Estimate // compared with the cost of later runs on as many cores as before; nil: none of these came to its end
}

// Least returns the smaller of the two, which is shown.
func (s Saved) Least() curve.Estimate {
	if s.Old != nil && s.Old.Value < s.Mix.Value {
		return *s.Old
	}
	return s.Mix
}

// FollowAdvice says what the runs of t since its notice saved, and what those that started in the span did. It
// compares core-hours per second of total useful time, on whatever cores. Runs that ran out of memory or time
// cost core-hours and count as no work, before the notice as after it. The result is nil if no whole run came
// after the notice, or none before it.
func FollowAdvice(t *listing.Told, from, to time.Time) *Followed {
	if until := t.At.Add(AdviceFor); until.Before(to) {
		to = until
	}
	points, left := pointsAmong(t.Runs)
	s := byCount(points)
	s.Workload.Runs = t.Runs
	s.allocs()
	var before, since, week, old cost
	f, taken := &Followed{Told: *t, Level: changeLevel}, map[int]int{}
	f.Runs = nil
	for _, l := range left {
		if l.Why == whyUnfinished && slices.Contains(ranOut, l.Run.State) {
			l.Run.Useful = 0
			points = append(points, l.Run)
		}
	}
	for i := range points {
		r := &points[i]
		c := [2]float64{s.allocOf(r) * r.Elapsed / 3600, r.Useful}
		switch {
		case r.Start.Before(t.At):
			before.add(c)
			continue
		case !r.Start.Before(to):
			continue
		}
		since.add(c)
		if !r.Start.Before(from) {
			week.add(c)
		}
		if r.Cores() == t.Cores {
			old.add(c)
		}
		f.Count++
		if taken[r.Cores()]++; taken[r.Cores()] > f.On {
			f.Cores, f.On = r.Cores(), taken[r.Cores()]
		}
	}
	if since.useful == 0 || before.useful == 0 {
		return nil
	}
	f.Week, f.Ever = week.saved(&before, &old), since.saved(&before, &old)
	return f
}

// ranOut are the states of jobs whose runs were cut for lack of memory or time.
var ranOut = []string{"OUT_OF_MEMORY", "TIMEOUT", "DEADLINE"}

// cost sums up what runs cost.
type cost struct {
	runs          [][2]float64 // core-hours and total useful time, s
	hours, useful float64
}

func (c *cost) add(r [2]float64) {
	c.runs, c.hours, c.useful = append(c.runs, r), c.hours+r[0], c.useful+r[1]
}

// saved returns how much more the runs would have cost at other rates.
func (c *cost) saved(before, old *cost) Saved {
	s := Saved{Mix: c.at(before)}
	if old.useful > 0 {
		e := c.at(old)
		s.Old = &e
	}
	return s
}

// at returns how much more the runs would have cost at the others' rate. Its interval is that of a ratio of
// means, widened by how much weeks differ.
func (c *cost) at(o *cost) curve.Estimate {
	var squares float64
	rate, n := o.hours/o.useful, float64(len(o.runs))
	for _, r := range o.runs {
		off := r[0] - rate*r[1]
		squares += off * off
	}
	free := math.Max(n-1, 1)
	spread := math.Max(math.Sqrt(n/free*squares)/o.useful, leastSpread*rate/math.Sqrt(n))
	half := distuv.StudentsT{Sigma: 1, Nu: free}.Quantile((1+changeLevel)/2) * math.Hypot(spread, drift*rate) * c.useful
	v := rate*c.useful - c.hours
	return curve.Estimate{Value: v, Low: v - half, High: v + half}
}
