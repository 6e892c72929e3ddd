package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
)

// Usual is the usual difference between the times of runs of the same work: 9 of 10 pairs differ by less.
type Usual struct {
	Time float64 // longer time over the shorter, less 1; 0: not known
	Runs int     // how many runs it is known from
}

// Known reports whether there are enough other runs to know it.
func (u Usual) Known() bool { return u.Time > 0 }

const (
	// usually is the share of pairs of runs that differ by less than the usual difference.
	usually = 0.9
	// fewestFree is the least number of degrees of freedom for a spread: those of three runs on the same cores.
	fewestFree = 2
	// newest bounds how many runs are used: last year's program had another spread.
	newest = 20
	// leastSpread is the least standard deviation of ln t that runs are taken to have: a clock, a
	// scheduler and a network are never quieter.
	leastSpread = 0.005
)

// hold fills in the usual differences: of the whole time, and of each part.
func (c *Comparison) hold(before, after *job.Workload) {
	like := &c.After // on as many cores, the earlier run stands for the usual one
	sameCores := c.Before.Run.Cores() == c.After.Run.Cores() && c.Before.Run.Ranks == c.After.Run.Ranks
	if sameCores {
		like = &c.Before
	}
	groups := c.peers(after, like)
	if before != nil && (after == nil || before.Key != after.Key || !sameCores) {
		groups = append(groups, c.peers(before, &c.Before)...)
	}
	runs := 0
	for _, g := range groups {
		runs += len(g)
	}
	c.Usual.Runs = runs
	of := 1.0                       // the variance of Before, in variances of a single run
	if c.Median > 2 && !c.Rebuilt { // a median varies less, but builds differ by more than chance
		of = math.Pi / 2 / float64(c.Median)
	}
	if d, known := spread(groups, of, func(r *job.Run) float64 { return r.Elapsed }); known {
		c.Usual.Time = math.Expm1(d)
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if d, known := spread(groups, of, func(r *job.Run) float64 { return ofRun(r, p.Code) }); known {
			d *= c.mean
			p.Usual = &d
		}
	}
}

// peers returns the newest other runs of the same work as a side, on as many cores of such a machine. If Before
// is a median, the runs that it is the median of count, Before included, and later runs do not. If runs became
// slower, those from then on are a group of their own: runs before and after differ by more than usual.
func (c *Comparison) peers(w *job.Workload, s *Side) (groups [][]job.Run) {
	if w == nil {
		return nil
	}
	of := s.Run
	if c.Median > 0 {
		of.JobID = 0 // Before itself counts
	}
	all, _ := workload.Peers(w.Runs, &of)
	steps := workload.Steps(slices.DeleteFunc(slices.Clone(w.Runs), func(r job.Run) bool { return r.Cores() != of.Cores() }), w.All != nil)
	all = slices.DeleteFunc(all, func(r job.Run) bool {
		compared := r.JobID == c.Before.Run.JobID || r.JobID == c.After.Run.JobID
		if c.Median > 0 {
			compared = !r.Start.Before(c.After.Run.Start)
		}
		return compared || workload.MachineText(&r) != workload.MachineText(&s.Run)
	})
	all = all[max(0, len(all)-newest):]
	slices.SortFunc(steps, func(a, b workload.Step) int { return a.First.Start.Compare(b.First.Start) })
	for _, step := range steps {
		at := slices.IndexFunc(all, func(r job.Run) bool { return !r.Start.Before(step.First.Start) })
		if at > 0 {
			groups, all = append(groups, all[:at]), all[at:]
		}
	}
	return append(groups, all)
}

// spread returns the usual difference in the logarithm of a figure between a run and another one, whose
// variance is `of` times that of a run. It is not known from too few runs, or if a run lacks the figure.
func spread(groups [][]job.Run, of float64, figure func(*job.Run) float64) (d float64, known bool) {
	var squares, free float64
	for _, g := range groups {
		var sum, sum2 float64
		for i := range g {
			v := math.Log(figure(&g[i]))
			sum, sum2 = sum+v, sum2+v*v
		}
		if n := float64(len(g)); n > 0 {
			squares, free = squares+math.Max(sum2-sum*sum/n, 0), free+n-1
		}
	}
	if free < fewestFree || math.IsNaN(squares) || math.IsInf(squares, 0) {
		return 0, false
	}
	sd := math.Max(math.Sqrt(squares/free), leastSpread)
	return distuv.StudentsT{Sigma: 1, Nu: free}.Quantile((1+usually)/2) * sd * math.Sqrt(1+of), true
}

// ofRun returns the factor of a run; 0: runs do not keep it. For a run with threads they keep only the
// computing and its counters.
func ofRun(r *job.Run, code string) float64 {
	k := r.Conditions
	if k == nil {
		k = &job.Conditions{}
	}
	outside := 1 - k.IOTime/(r.Elapsed*float64(r.Ranks))
	if n := r.Counters; n != nil {
		switch code {
		case Instructions:
			return float64(n.Instructions)
		case IPC:
			return float64(n.Instructions) / float64(n.Cycles)
		case Clock:
			return float64(n.Cycles) / r.Useful
		}
	}
	switch {
	case code == Computing:
		return r.Useful
	case r.Threads > 1:
	case code == LoadBalance:
		return r.Useful / float64(r.Ranks) / k.UsefulMax
	case code == Files && r.Conditions != nil:
		return outside
	case code == Communication:
		return k.UsefulMax / (r.Elapsed * outside)
	}
	return 0
}
