package workload

import (
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
)

// Option is a core count to choose, and what a run like the job's takes on it.
type Option struct {
	Cores     int
	For       []string       // what it is the best for; empty: the job's own
	Time      curve.Estimate // s
	CoreHours curve.Estimate // of the allocation, while the program runs
	PE        curve.Estimate // parallel efficiency; measured: the median
	Runs      int            // on it; 0: from the curve
	Level     float64        // of the intervals
	Flagged   bool           // its parallel efficiency is below Settings.Line
}

// Options returns the core counts to choose from for the job, or, without one, for the newest run. They are its
// own, and those with the shortest run, with the fewest core-hours (which Recommend names), and the most cores
// that are used well. It leaves out counts that are not surely better than its own. Without others it returns
// none.
func (s *Study) Options(j *job.Job) []Option {
	if s == nil || s.Mine == nil || s.Undecided() || j != nil && (j.GPUs > 0 || len(j.Executions) != 1) {
		return nil
	}
	n := s.Mine.Cores()
	all := []Option{s.option(n, 1, 1, 1)}
	add := func(at int, what string) {
		if i := slices.IndexFunc(all, func(o Option) bool { return o.Cores == at }); i > 0 {
			all[i].For = append(all[i].For, what)
		} else if r := s.recommendation(at, n); i < 0 && s.choice(r, n) {
			o := s.option(at, 1+r.Time.Value, 1+r.Time.Low, 1+r.Time.High)
			o.For = []string{what}
			all = append(all, o)
		}
	}
	add(s.Fastest, ForSpeed)
	if r, _ := s.cheapest(n, map[int]bool{}); r != nil && r.For == ForFewer {
		add(int(r.Cores.Value), ForFewer)
	} else if r != nil {
		add(int(r.Cores.Value), ForPatience)
	}
	add(s.mostEfficient(n), ForEfficiency)
	if len(all) == 1 {
		return nil
	}
	return all
}

// option makes a count on which a run takes so many times as long as the job's.
func (s *Study) option(at int, times, low, high float64) Option {
	o := Option{Cores: at, PE: s.peOn(at), Level: s.Settings.Level}
	o.Time = *(&curve.Estimate{Value: times, Low: low, High: high}).Times(s.Mine.Elapsed)
	o.CoreHours = *o.Time.Times(s.allocOf(s.Mine) * s.Alloc(at) / s.Alloc(s.Mine.Cores()) / 3600)
	o.Flagged = o.PE.Value < s.Settings.Line
	if c := s.At(at); c != nil {
		o.Runs = c.Runs
	}
	return o
}

// peOn returns the parallel efficiency on a count: as measured, else from the curve.
func (s *Study) peOn(at int) curve.Estimate {
	if c := s.At(at); c != nil {
		return curve.Estimate{Value: c.PE, Low: c.PE, High: c.PE}
	}
	if pe := s.Curve.At(at).PE; pe != nil {
		return *pe
	}
	return curve.Estimate{}
}

// mostEfficient returns the most cores that are used well; above n, only counts that were run. If there is
// none, it returns n.
func (s *Study) mostEfficient(n int) int {
	for _, at := range slices.Backward(s.candidates()) {
		if s.peOn(at).Value >= s.Settings.Line && (at < n || s.At(at) != nil) {
			return at
		}
	}
	return n
}

// choice reports whether a count is surely better than n, and whether the two can be compared.
func (s *Study) choice(r *Recommendation, n int) bool {
	switch at := int(r.Cores.Value); {
	case r.Time == nil:
		return false
	case at > n:
		return r.Typical.High < 0 && s.notSame(s.on(at), s.on(n)) == ""
	default:
		return (r.better() || r.Typical.High < 0) && s.noMend(n, r) == ""
	}
}
