package policy

import (
	"fmt"
	"math"
	"slices"

	"jobeff/ingest"
)

// Purposes of a recommended core count.
const (
	ForSpeed      = "the shortest time"     // fewer cores that were measured to be faster
	ForEfficiency = "an efficiency of %.2g" // the most cores that keep Settings.Line
	ForFewest     = "the fewest core-hours" // the fewest that were run, where even those lie under the line
)

// Recommendation is a core count that the job should have had: fewer than it had, and
// better. Shares are fractions of the job's own.
type Recommendation struct {
	Cores  Estimate  // Value is a whole number, to be asked for
	For    string    // what it is the best for
	Time   *Estimate // t_n' / the workload's t_n - 1; nil: not determined
	Saved  *Estimate // core-hours, METRICS 6; nil: not determined
	Share  *Estimate // Saved as a part of the core-hours used
	Runs   int       // that it is known from
	Level  float64   // of the intervals of Time, Saved and Share
	Reason string    // one sentence
}

// vagueTime is the ratio of the ends of an interval from which a time is no advice.
const vagueTime = 4

// Recommend says which fewer cores would have served the job better, or, without a job,
// the newest run; the best for efficiency first. It is empty where nothing better is
// known.
func (s *Study) Recommend(job *ingest.Job) []Recommendation {
	if s == nil || s.Mine == nil || s.undecided() || job != nil && job.GPUs > 0 {
		return nil
	}
	n := s.Mine.Cores()
	var all []Recommendation
	if e := s.Curve.Eff; e.Estimate != nil {
		if at := s.askable(e.Estimate.Value); at < n && !(s.past(n) && at > s.Fastest) {
			r := s.recommendation(at, fmt.Sprintf(ForEfficiency, s.Curve.Line), job)
			r.Cores.Low, r.Cores.High = math.Min(e.Estimate.Low, r.Cores.Value), math.Max(e.Estimate.High, r.Cores.Value)
			r.Reason = fmt.Sprintf("the most that keep a parallel efficiency of %.2g; %d had %s", s.Curve.Line, n, twoDecimals(s.At(n).PE))
			all = append(all, r)
		}
	} else if first := s.Counts[0]; e.Note == NoteBelowSmallest && first.N < n {
		r := s.recommendation(first.N, ForFewest, job)
		r.Reason = fmt.Sprintf("even these have a parallel efficiency of %s only, below %.2g", twoDecimals(first.PE), s.Curve.Line)
		all = append(all, r)
	}
	if s.past(n) {
		r := s.recommendation(s.Fastest, ForSpeed, job)
		if e := s.Curve.Fast.Estimate; e != nil {
			r.Cores.Low, r.Cores.High = math.Min(e.Low, r.Cores.Value), math.Max(e.High, r.Cores.Value)
		}
		r.Reason = s.slowerText(n)
		all = append(all, r)
	}
	all = slices.DeleteFunc(all, func(r Recommendation) bool { return !r.better(n) })
	if len(all) == 2 && all[0].Cores.Value == all[1].Cores.Value {
		return all[1:] // what was measured to be faster needs no other reason
	}
	return all
}

// better says whether the count is surely better than n cores: faster, or fewer core-hours.
func (r Recommendation) better(n int) bool {
	return r.Time != nil && (r.For == ForSpeed || r.Cores.Value*(1+r.Time.High) < float64(n))
}

// recommendation says what the job would have taken on other cores.
func (s *Study) recommendation(at int, purpose string, job *ingest.Job) Recommendation {
	r := Recommendation{Cores: Estimate{float64(at), float64(at), float64(at)}, For: purpose, Runs: len(s.Runs), Level: s.Settings.Level}
	here := s.At(s.Mine.Cores()).T
	t := s.timeOn(at)
	if t == nil || t.ratio() > vagueTime {
		return r
	}
	r.Time = &Estimate{t.Value/here - 1, t.Low/here - 1, t.High/here - 1}
	r.saves(t, s.Mine, job)
	return r
}

// timeOn is the run time on n cores with the interval of a next run: as it was measured
// there, else the curve's.
func (s *Study) timeOn(n int) *Estimate {
	there, measured := s.groupOn(n)
	if !measured {
		return s.Curve.At(n).T
	}
	here, _ := s.groupOn(s.Mine.Cores())
	half := math.Sqrt2 * math.Erfinv(s.Settings.Level) * math.Hypot(here.noise, there.noise)
	return &Estimate{math.Exp(there.y), math.Exp(there.y - half), math.Exp(there.y + half)}
}

func (s *Study) groupOn(n int) (group, bool) {
	for _, g := range s.groups {
		if int(g.n) == n {
			return g, true
		}
	}
	return group{}, false
}

// saves fills in the core-hours that the job would have saved (METRICS 6). What it did
// outside its MPI program is taken to stay as long, and CPUs to be allocated to a rank
// as many as were. Of a job with several programs nothing is said.
func (r *Recommendation) saves(t *Estimate, mine *ingest.Run, job *ingest.Job) {
	elapsed, cpus := mine.Elapsed, mine.Cores() // without a job those of the run alone
	if job != nil {
		if job.CPUs <= 0 || job.Elapsed <= 0 || len(job.Executions) != 1 {
			return
		}
		elapsed, cpus = job.Elapsed.Seconds(), job.CPUs
	}
	outside := math.Max(elapsed-mine.Elapsed, 0)
	used := float64(cpus) * elapsed / 3600
	share := func(t float64) float64 { return 1 - r.Cores.Value*(t+outside)/(float64(mine.Cores())*elapsed) }
	r.Share = &Estimate{share(t.Value), share(t.High), share(t.Low)}
	r.Saved = r.Share.times(used)
}

// askable is the largest core count up to n that one asks for: whole nodes where the
// runs filled nodes, else a multiple of what the core counts around have in common, or
// of as large a part of it as comes near enough to n.
func (s *Study) askable(n float64) int {
	n *= 1 + 1e-9
	if node := s.coresPerNode(); node > 0 && n >= float64(node) {
		return int(n) / node * node
	}
	step := 0
	for _, c := range s.Counts {
		if float64(c.N) >= n/2 {
			step = divisor(c.N, step)
		}
	}
	for step > 1 && float64(int(n)/step*step) < nearEnough*n {
		step /= 2
	}
	return max(int(n)/max(step, 1)*max(step, 1), 1)
}

// nearEnough is the part of n_eff that a round core count has at least.
const nearEnough = 0.75

// coresPerNode is how many cores of each node the runs on several nodes had, 0 where
// that differs or there is none.
func (s *Study) coresPerNode() int {
	cores := 0
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.Nodes < 2 {
			continue
		}
		if r.Cores()%r.Nodes != 0 || cores != 0 && cores != r.Cores()/r.Nodes {
			return 0
		}
		cores = r.Cores() / r.Nodes
	}
	return cores
}

// NodesFor is how many nodes a run on n cores asks for, filled as those that were: 0
// where the runs do not tell.
func (s *Study) NodesFor(n int) int {
	cores := s.coresPerNode()
	if cores == 0 {
		for _, c := range s.Counts { // no run filled several nodes: one node holds what it held
			if c.Nodes[0] == 1 && n <= c.N {
				return 1
			}
		}
		return 0
	}
	return (n + cores - 1) / cores
}

// past says whether n cores lie past the inflexion point, as it was measured: the
// fastest core count has fewer, and n took surely longer than it.
func (s *Study) past(n int) bool {
	here, ok := s.groupOn(n)
	best, also := s.groupOn(s.Fastest)
	return ok && also && s.Fastest < n && here.y-best.y > surely*math.Hypot(here.noise, best.noise)
}

// nearShare is the part of the run time from which overhead says that the inflexion
// point is near, METRICS 4.
const nearShare = 0.6

// Near says whether the inflexion point is near on n cores and not passed, from the
// measured overhead.
func (s *Study) Near(n int) bool {
	c := s.At(n)
	return c != nil && 1-c.PE > nearShare && !s.past(n)
}

// slower is how much longer n cores took than the fastest, as a share.
func (s *Study) slower(n int) float64 { return s.At(n).T/s.At(s.Fastest).T - 1 }

// slowerText says what past found.
func (s *Study) slowerText(n int) string {
	here, best := s.At(n), s.At(s.Fastest)
	runs := counted(here.Runs, "run") + " and " + counted(best.Runs, "run")
	if here.Runs == best.Runs {
		runs = counted(here.Runs, "run") + " each"
	}
	return fmt.Sprintf("%d cores took %.0f %% longer than %d (%s)", n, 100*s.slower(n), s.Fastest, runs)
}
