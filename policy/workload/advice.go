package workload

import (
	"fmt"
	"math"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// Purposes of a recommended core count.
const (
	ForSpeed      = "the shortest time"     // fewer cores that were measured to be faster
	ForEfficiency = "an efficiency of %s"   // the most cores that keep Settings.Line
	ForFewest     = "the fewest core-hours" // the fewest that were run, where even those lie under the line
	ForPatience   = "a run at most twice as long"
)

// Recommendation is a core count that the job should have had: fewer than it had, and
// better. Shares are fractions of the job's own.
type Recommendation struct {
	Cores   curve.Estimate  // Value is a whole number, to be asked for
	For     string          // what it is the best for
	Time    *curve.Estimate // of one run there: t_n' / the workload's t_n - 1; nil: not determined
	Typical *curve.Estimate // the same of the mean of many runs there: the interval that more of them do not narrow
	Saved   *curve.Estimate // core-hours of the MPI program, METRICS 6; nil: not determined
	Share   *curve.Estimate // Saved as a part of those that it used
	Runs    int             // that it is known from
	Level   float64         // of the intervals of Time, Typical, Saved and Share
	Reason  string          // one sentence
}

// vagueTime is the ratio of the ends of a mean's interval from which a time is no advice.
const vagueTime = 4

// mostPatience is how many times as long a run may take that is advised for its
// core-hours alone, and leastWorth what part of them it must save for each part of the time
// that it takes longer: who waits a day for 100 core-hours does not wait three for 60, nor
// two for 90. Where no fewer cores are better and worth it, nothing is advised: n_eff stands
// in jobeff workload for those who can wait.
const (
	mostPatience = 2
	leastWorth   = 0.25
)

// drift is the standard error of ln t on some cores against others that stays however many
// runs there were: machines, their load and inputs differ from week to week, and the runs
// on two core counts are seldom of the same weeks.
const drift = 0.02

// Recommend says which fewer cores would have served the job better, or, without a job, the
// newest run: one count, for one cause. It is nil where nothing better is known. It knows the
// runs only: policy.Recommend asks for the cause of the lost time, too.
func (s *Study) Recommend(j *job.Job) *Recommendation {
	r, _ := s.advice(j)
	return r
}

// WhyNone is what keeps Recommend from naming a count that seems better; "" where none does.
func (s *Study) WhyNone(j *job.Job) string {
	_, why := s.advice(j)
	return why
}

func (s *Study) advice(j *job.Job) (r *Recommendation, why string) {
	if s == nil || s.Mine == nil || s.Undecided() || j != nil && j.GPUs > 0 {
		return nil, ""
	}
	n := s.Mine.Cores()
	if n == s.Counts[0].N {
		return nil, "" // of fewer nothing is known
	}
	if c := s.Against(n); c.Past {
		r := s.recommendation(c.Than, ForSpeed, j)
		if e := s.Curve.Fast.Estimate; e != nil {
			r.Cores.Low, r.Cores.High = math.Min(e.Low, r.Cores.Value), math.Max(e.High, r.Cores.Value)
		}
		r.Reason = c.Why
		return &r, ""
	}
	if r = s.thrifty(n, j); r == nil || !r.better(n) {
		return nil, ""
	}
	if why := s.noMend(n, r); why != "" {
		return nil, why
	}
	return r, ""
}

// asFast is how much longer a run may take on fewer cores to be called as fast.
const asFast = 0.1

// noMend says why fewer cores are no mend for what n cores lost, "" where they are one. They
// are none for uneven work, nor for files: only where several jobs on them took as long.
func (s *Study) noMend(n int, r *Recommendation) string {
	at := int(r.Cores.Value)
	if at < s.Counts[0].N {
		return fmt.Sprintf("%s were the fewest that were run", figure.Counted(s.Counts[0].N, "core"))
	}
	here, near := s.on(n), s.nearest(at, n)
	if why := s.notSame(here, near); why != "" {
		return fmt.Sprintf("%s cannot be compared with %s: %s", figure.Counted(n, "core"), figure.Count(near.N), why)
	}
	if lost := 1 - here.PE; here.uneven() <= lost/2 && here.IO <= lost/2 {
		return ""
	}
	if there := s.on(at); there != nil && there.jobs() >= fewestEach && here.jobs() >= fewestEach && r.Typical.High <= asFast {
		return ""
	}
	return "most of the lost time is uneven work, or files"
}

// nearest is the core count under n that was run and lies nearest to at.
func (s *Study) nearest(at, n int) *side {
	best := s.Counts[0].N
	for _, c := range s.Counts {
		if far := float64(at) / float64(c.N); c.N < n && math.Abs(math.Log(far)) <= math.Abs(math.Log(float64(at)/float64(best))) {
			best = c.N
		}
	}
	return s.on(best)
}

// uneven is the part of the time that the ranks lost by computing less than the busiest; 0
// where that is not known.
func (c *Count) uneven() float64 { return math.Max(c.Busiest/c.T-c.PE, 0) }

// thrifty is the count that saves core-hours: n_eff, or the fewest that were run, or more
// where those would take too long. Nil where there is none.
func (s *Study) thrifty(n int, j *job.Job) *Recommendation {
	var r Recommendation
	if e := s.Curve.Eff; e.Estimate != nil {
		at, most := s.askable(e.Estimate.Value), "the most"
		if run := s.mostRun(e.Estimate.Value); run > 0 {
			at, most = run, "the most that were run and"
		}
		if at >= n {
			return nil
		}
		r = s.recommendation(at, fmt.Sprintf(ForEfficiency, figure.Limit(s.Curve.Line)), j)
		r.Cores.Low, r.Cores.High = math.Min(e.Estimate.Low, r.Cores.Value), math.Max(e.Estimate.High, r.Cores.Value)
		r.Reason = fmt.Sprintf("%s that keep a parallel efficiency of %s; %s had %s", most, figure.Limit(s.Curve.Line), figure.Count(n), figure.Compared(s.At(n).PE, s.Curve.Line))
	} else if first := s.Counts[0]; e.Note == curve.NoteBelowSmallest && first.N < n {
		r = s.recommendation(first.N, ForFewest, j)
		r.Reason = fmt.Sprintf("even these have a parallel efficiency of %s only, below %s", figure.Compared(first.PE, s.Curve.Line), figure.Limit(s.Curve.Line))
	} else {
		return s.measured(n, j)
	}
	if !r.worth(n) {
		return s.patient(n, &r, j)
	}
	if r.better(n) {
		return &r
	}
	return s.measured(n, j)
}

// measured is the count that saves most among those that were run, where n_eff is not
// determined or may be no better. Nil where none is surely better and worth its time.
func (s *Study) measured(n int, j *job.Job) (best *Recommendation) {
	for _, c := range s.Counts {
		if c.N >= n {
			break
		}
		r := s.recommendation(c.N, ForPatience, j)
		if r.worth(n) && r.better(n) && (best == nil || r.Cores.Value*(1+r.Time.Value) < best.Cores.Value*(1+best.Time.Value)) {
			r.Reason = "as it was measured"
			best = &r
		}
	}
	return best
}

// patient is the fewest cores that are better than n and worth the time, where fewer are
// not, or nobody knows: such as were run, or half of n and so on.
func (s *Study) patient(n int, slow *Recommendation, j *job.Job) *Recommendation {
	var between []int
	for _, c := range s.Counts {
		between = append(between, c.N)
	}
	for at := n / 2; at > 0; at /= 2 {
		between = append(between, s.askable(float64(at)))
	}
	slices.Sort(between)
	for _, at := range between {
		if at <= int(slow.Cores.Value) || at >= n {
			continue
		}
		r := s.recommendation(at, ForPatience, j)
		if r.worth(n) && r.better(n) {
			r.Reason = fmt.Sprintf("how long %s, for %s, would have taken is not determined", figure.Cores(slow.Cores.Value), slow.For)
			if slow.Time != nil {
				r.Reason = fmt.Sprintf("%s, for %s, would have taken %s times as long", figure.Cores(slow.Cores.Value), slow.For, figure.Times(slow.Time.Value))
			}
			return &r
		}
	}
	return nil
}

// better says whether the count surely takes fewer core-hours than n cores in the long run.
func (r Recommendation) better(n int) bool {
	return r.Time != nil && r.Cores.Value*(1+r.Typical.High) < float64(n)
}

// worth says whether what the count saves is worth the time that it takes longer.
func (r Recommendation) worth(n int) bool {
	if r.Time == nil || r.Time.Value > mostPatience-1 {
		return false
	}
	return 1-r.Cores.Value*(1+r.Time.Value)/float64(n) >= leastWorth*r.Time.Value
}

// recommendation says what the job would have taken on other cores.
func (s *Study) recommendation(at int, purpose string, j *job.Job) Recommendation {
	r := Recommendation{Cores: curve.Estimate{Value: float64(at), Low: float64(at), High: float64(at)}, For: purpose, Runs: len(s.Runs), Level: s.Settings.Level}
	y, shared, own := s.against(at)
	tail := math.Sqrt2 * math.Erfinv(s.Settings.Level)
	if math.IsNaN(shared) || 2*tail*shared > math.Log(vagueTime) {
		return r
	}
	r.Time, r.Typical = changeWithin(y, tail*math.Hypot(shared, own)), changeWithin(y, tail*shared)
	r.saves(s.Mine, j)
	return r
}

// changeWithin is exp(y) - 1, give or take half in y.
func changeWithin(y, half float64) *curve.Estimate {
	return &curve.Estimate{Value: math.Expm1(y), Low: math.Expm1(y - half), High: math.Expm1(y + half)}
}

// against is ln t of a run on at cores against that on the job's, as it was measured there,
// else as the curve has it, with two standard errors: what all runs there share, and what
// each has for itself. They are NaN where it is not determined.
func (s *Study) against(at int) (y, shared, own float64) {
	here, _ := s.groupOn(s.Mine.Cores())
	if there, measured := s.groupOn(at); measured {
		return there.Y - here.Y, math.Hypot(drift, math.Hypot(here.Noise, there.Noise)), there.Noise * math.Sqrt(there.Runs)
	}
	t := s.Curve.At(at).T
	if t == nil {
		return math.NaN(), math.NaN(), math.NaN()
	}
	// What of a curve's error is one run's own is not told apart: it is taken to be shared.
	half := math.Log(t.Ratio()) / 2
	return math.Log(t.Value) - here.Y, math.Hypot(here.Noise, half/(math.Sqrt2*math.Erfinv(s.Settings.Level))), 0
}

func (s *Study) groupOn(n int) (curve.Group, bool) {
	for _, g := range s.groups {
		if int(g.N) == n {
			return g, true
		}
	}
	return curve.Group{}, false
}

// saves fills in the core-hours that the run would have saved (METRICS 6), whoever asks: one
// run has one figure. That it took longer or shorter than others on its cores is taken to hold
// on the recommended ones, too: it had more to do. Of a job with several programs nothing is
// said.
func (r *Recommendation) saves(mine *job.Run, j *job.Job) {
	if j != nil && len(j.Executions) != 1 {
		return
	}
	n := float64(mine.Cores())
	share := func(change float64) float64 { return 1 - r.Cores.Value*(1+change)/n }
	r.Share = &curve.Estimate{Value: share(r.Time.Value), Low: share(r.Time.High), High: share(r.Time.Low)}
	r.Saved = r.Share.Times(n * mine.Elapsed / 3600)
}

// ShareOver is Share of so many runs together: what each has for itself evens out, what
// they share does not.
func (r *Recommendation) ShareOver(runs int) *curve.Estimate {
	if r.Share == nil {
		return nil
	}
	part := func(one, shared float64) float64 { // half widths in ln t
		one, shared = math.Log1p(one)-math.Log1p(r.Time.Value), math.Log1p(shared)-math.Log1p(r.Time.Value)
		if one == 0 {
			return 0
		}
		own := math.Sqrt(math.Max(one*one-shared*shared, 0) / float64(max(runs, 1)))
		return (math.Exp(math.Copysign(math.Hypot(shared, own), one)) - 1) / math.Expm1(one)
	}
	v := r.Share.Value // Share is linear in the time
	return &curve.Estimate{Value: v, Low: v - (v-r.Share.Low)*part(r.Time.High, r.Typical.High), High: v + (r.Share.High-v)*part(r.Time.Low, r.Typical.Low)}
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
			step = curve.Divisor(c.N, step)
		}
	}
	for step > 1 && float64(int(n)/step*step) < nearEnough*n {
		step /= 2
	}
	return max(int(n)/max(step, 1)*max(step, 1), 1)
}

// nearEnough is the part of n_eff that a core count has at least that is asked for instead.
const nearEnough = 0.75

// mostRun is the largest core count near n and up to it that was run, 0 where there is none:
// what was measured is asked for before what only the curve knows.
func (s *Study) mostRun(n float64) (most int) {
	for _, c := range s.Counts {
		if at := float64(c.N); at <= n*(1+1e-9) && at >= nearEnough*n {
			most = c.N
		}
	}
	return most
}

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

// NodesFor is how many nodes a run on n cores asks for: as few as it ran on, else filled as
// those that were. 0 where the runs do not tell.
func (s *Study) NodesFor(n int) int {
	if c := s.At(n); c != nil {
		return c.Nodes[0]
	}
	for _, c := range s.Counts {
		if c.Nodes[0] == 1 && n <= c.N {
			return 1
		}
	}
	if cores := s.coresPerNode(); cores > 0 {
		return (n + cores - 1) / cores
	}
	return 0
}

// nearShare is the part of the run time from which overhead says that the inflexion
// point is near, METRICS 4.
const nearShare = 0.6

// Near says whether the inflexion point is near on n cores and not passed, from the
// measured communication: imbalance and files foretell nothing.
func (s *Study) Near(n int) bool {
	c := s.At(n)
	if c == nil || s.Undecided() || s.Against(n).Rose {
		return false
	}
	return 1-math.Max(c.PE, c.Busiest/c.T)-c.IO > nearShare
}
