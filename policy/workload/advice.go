package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// Purposes of a core count.
const (
	ForSpeed      = "the shortest run"
	ForPatience   = "the fewest core-hours of a run at most twice as long as the shortest"
	ForFewer      = "fewer core-hours than now, and no longer a run"
	ForEfficiency = "the most cores with a parallel efficiency of 0.80 or more"
)

// Recommendation is a core count that the job should have had: a lower one, and better. Shares are fractions of
// the job's own.
type Recommendation struct {
	Cores   curve.Estimate  // Value is a whole number that a user can ask for
	For     string          // what it is the best for
	Time    *curve.Estimate // of one run there: t_n' / the workload's t_n - 1; nil: not determined
	Typical *curve.Estimate // the same for the mean of many runs there, with the interval that more of them do not narrow
	Saved   *curve.Estimate // core-hours of the allocation while the MPI program ran, METRICS 6; nil: not determined
	Share   *curve.Estimate // Saved as a part of the core-hours that the job used
	Runs    int             // on which it is based
	Level   float64         // of the intervals of Time, Typical, Saved and Share
	Reason  string          // one sentence

	cost float64 // CPUs allocated there / those allocated on the job's cores
}

// AdviceFor is how long advice holds. Until then no other advice is sent on the advised cores, and savings are
// counted.
const AdviceFor = 26 * 7 * 24 * time.Hour

// vagueTime is the ratio of the ends of a mean's interval above which a time is too vague for advice.
const vagueTime = 4

// mostPatience bounds the time of a run that is advised for its core-hours, as a multiple of the shortest.
// leastWorth is the part of the core-hours that it must save for each part by which it takes longer. A user who
// waits a day for 100 core-hours does not wait three for 60, nor two for 90. If no fewer cores are better and
// worth it, nothing is advised: jobeff workload shows n_eff to those who can wait.
const (
	mostPatience = 2
	leastWorth   = 0.25
)

// Among counts whose costs differ by at most aboutAsCheap, the fastest is advised. If they differ by less than
// mostDearer, the faster one is advised if the cheapest is not worth its longer time.
const (
	aboutAsCheap = 0.03
	mostDearer   = 0.1
)

// drift is the standard error of ln t between two core counts that more runs do not reduce. Machines, their
// load and inputs differ from week to week, and the runs on two core counts are seldom of the same weeks.
const drift = 0.02

// Recommend returns the lower core count that would have served the job better, or, without a job, the newest
// run. It is nil if no better one is known. It looks at runs only: policy.RequestFor also looks at the cause of
// the lost time.
func (s *Study) Recommend(j *job.Job) *Recommendation {
	r, _ := s.advice(j)
	return r
}

// WhyNone returns what keeps Recommend from naming a count that seems better; "": there is none.
func (s *Study) WhyNone(j *job.Job) string {
	_, why := s.advice(j)
	return why
}

func (s *Study) advice(j *job.Job) (r *Recommendation, why string) {
	if s == nil || s.Mine == nil || s.Undecided() || j != nil && j.GPUs > 0 {
		return nil, ""
	}
	if r, why = s.adviceOn(s.Mine.Cores(), map[int]bool{}); r != nil {
		r.saves(s, j)
	}
	return r, why
}

// AdvisedOn reports whether runs on n cores are advised to take fewer.
func (s *Study) AdvisedOn(n int) bool {
	if s.At(n) == nil || s.Undecided() {
		return false
	}
	r, _ := s.adviceOn(n, map[int]bool{})
	return r != nil
}

// adviceOn returns the count that a run on n cores should have had, without its savings. It skips counts for
// which there is advice too: advice does not lead to further advice. known holds the answers for counts that
// were asked about already.
func (s *Study) adviceOn(n int, known map[int]bool) (best *Recommendation, why string) {
	than := s.Against(n)
	best, why = s.cheapest(n, known)
	if best == nil && than.Past {
		best = s.recommendation(than.Than, n)
		best.For, best.Reason = ForSpeed, "it was the fastest"
		if no := s.unfit(best, n); no != "" {
			best, why = nil, no
		}
	}
	if best == nil {
		return nil, why
	}
	if than.Past {
		best.Reason = than.Why
	}
	return best, ""
}

// cheapest returns the best of cheaper(n) that is a mend and has no advice of its own.
func (s *Study) cheapest(n int, known map[int]bool) (best *Recommendation, why string) {
	advisedOn := func(at int) bool {
		if _, asked := known[at]; !asked && s.At(at) != nil {
			known[at] = false // it cannot lead to itself
			r, _ := s.adviceOn(at, known)
			known[at] = r != nil
		}
		return known[at]
	}
	for _, r := range s.cheaper(n) {
		if no := s.noMend(n, r); no != "" {
			why = cmp.Or(why, no)
		} else if !advisedOn(int(r.Cores.Value)) {
			return r, ""
		}
	}
	return nil, why
}

// cheaper returns the counts that are surely cheaper than n and worth the time, the best first. That is the one
// that surely saves most, or a faster one that costs about as much.
func (s *Study) cheaper(n int) (all []*Recommendation) {
	longest := math.Max(mostPatience*s.At(s.Fastest).T, s.At(n).T)
	for _, at := range s.candidates() {
		if at >= n {
			break
		}
		if r := s.recommendation(at, n); r.better() && r.worth() && (1+r.Time.Value)*s.At(n).T <= longest {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Recommendation) int { return cmp.Compare(a.surely(), b.surely()) })
	first := 0
	for i, r := range all {
		if r.Time.Value < all[first].Time.Value && s.At(int(r.Cores.Value)) != nil && r.asGood(all[0]) {
			first = i
		}
	}
	for ; first > 0; first-- { // it becomes the first
		all[first-1], all[first] = all[first], all[first-1]
	}
	return all
}

// asGood reports whether the count is worth its higher cost than the cheapest, which takes longer.
func (r *Recommendation) asGood(cheapest *Recommendation) bool {
	saves := 1 - cheapest.spends()/r.spends()
	return r.spends() <= (1+aboutAsCheap)*cheapest.spends() ||
		saves < mostDearer && saves < leastWorth*((1+cheapest.Time.Value)/(1+r.Time.Value)-1)
}

// candidates returns the counts that may be advised, rising: those that were run, and doublings between them,
// which only the curve knows.
func (s *Study) candidates() (all []int) {
	for i, c := range s.Counts {
		all = append(all, c.N)
		for at := 2 * c.N; i+1 < len(s.Counts) && at < s.Counts[i+1].N; at *= 2 {
			all = append(all, s.askable(float64(at)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// asFast is how much longer a run on fewer cores may take and still count as equally fast.
const asFast = 0.1

// noMend returns why fewer cores are no mend for what n cores lost; "": they are one. They mend neither uneven
// work nor time in files, unless several jobs on them took as long.
func (s *Study) noMend(n int, r *Recommendation) string {
	at := int(r.Cores.Value)
	if at < s.Counts[0].N {
		return fmt.Sprintf("%s were the fewest that were run", figure.Counted(s.Counts[0].N, "core"))
	}
	if why := s.unfit(r, n); why != "" {
		return why
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

// nearest returns the core count below n that was run and is nearest to at.
func (s *Study) nearest(at, n int) *side {
	best := s.Counts[0].N
	for _, c := range s.Counts {
		if far := float64(at) / float64(c.N); c.N < n && math.Abs(math.Log(far)) <= math.Abs(math.Log(float64(at)/float64(best))) {
			best = c.N
		}
	}
	return s.on(best)
}

// uneven returns the part of the time that the ranks lost by computing less than the busiest; 0: not known.
// Losses of their threads in OpenMP are no part of it.
func (c *Count) uneven() float64 { return math.Max(c.Busiest/c.T-c.PE-c.OpenMP, 0) }

// better reports whether the count surely takes fewer core-hours in the long run.
func (r *Recommendation) better() bool { return r.Time != nil && r.surely() < 1 }

// worth reports whether the savings are worth the longer time.
func (r *Recommendation) worth() bool {
	return r.Time != nil && 1-r.spends() >= leastWorth*r.Time.Value
}

// spends returns the core-hours on the count, as a part of those on the job's cores.
func (r *Recommendation) spends() float64 { return r.cost * (1 + r.Time.Value) }

// surely returns the upper end of spends in the long run.
func (r *Recommendation) surely() float64 { return r.cost * (1 + r.Typical.High) }

// recommendation estimates what a run on n cores would have taken on `at` cores.
func (s *Study) recommendation(at, n int) *Recommendation {
	r := &Recommendation{Cores: curve.Estimate{Value: float64(at), Low: float64(at), High: float64(at)}, Runs: len(s.Runs), Level: s.Settings.Level, cost: s.Alloc(at) / s.Alloc(n)}
	r.For, r.Reason = s.purpose(at), "as it was measured"
	if s.At(at) == nil {
		r.Reason = "as the curve has it: it was not run"
	}
	y, shared, own := s.against(at, n)
	tail := math.Sqrt2 * math.Erfinv(s.Settings.Level)
	if math.IsNaN(shared) || 2*tail*shared > math.Log(vagueTime) {
		return r
	}
	r.Time, r.Typical = changeWithin(y, tail*math.Hypot(shared, own)), changeWithin(y, tail*shared)
	if at != s.Fastest && (1+r.Time.Value)*s.At(n).T > mostPatience*s.At(s.Fastest).T {
		r.For = ForFewer
	}
	return r
}

// purpose names what the count is best for.
func (s *Study) purpose(at int) string {
	if at == s.Fastest {
		return ForSpeed
	}
	return ForPatience
}

// changeWithin returns exp(y) - 1, give or take half in y.
func changeWithin(y, half float64) *curve.Estimate {
	return &curve.Estimate{Value: math.Expm1(y), Low: math.Expm1(y - half), High: math.Expm1(y + half)}
}

// against returns ln of the time on `at` cores over that on n: as measured there, else from the curve. shared
// is the standard error that all runs there share, own that of each run by itself. All three are NaN if the
// curve determines no time.
func (s *Study) against(at, n int) (y, shared, own float64) {
	here, _ := s.groupOn(n)
	if there, measured := s.groupOn(at); measured {
		return there.Y - here.Y, math.Hypot(drift, math.Hypot(here.Noise, there.Noise)), there.Noise * math.Sqrt(there.Runs)
	}
	t := s.Curve.At(at).T
	if t == nil {
		return math.NaN(), math.NaN(), math.NaN()
	}
	// Which part of a curve's error is one run's own is not known. It is all taken to be shared.
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

// saves fills in the core-hours that the run would have saved (METRICS 6): one figure for a run, for whoever
// asks. If it took longer or shorter than others on its cores, it had more or less to do, and would have on the
// recommended ones. It says nothing for a job with several programs.
func (r *Recommendation) saves(s *Study, j *job.Job) {
	if r.Time == nil || j != nil && len(j.Executions) != 1 {
		return
	}
	share := func(change float64) float64 { return 1 - r.cost*(1+change) }
	r.Share = &curve.Estimate{Value: share(r.Time.Value), Low: share(r.Time.High), High: share(r.Time.Low)}
	r.Saved = r.Share.Times(s.allocOf(s.Mine) * s.Mine.Elapsed / 3600)
}

// ShareOver returns Share for so many runs together. Their own errors even out, those that they share do not.
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

// askable returns the largest core count up to n that a user asks for. If the runs filled nodes, that is whole
// nodes. Else it is a multiple of the greatest common divisor of the core counts from n/2 on, which is halved
// until the result is near enough to n.
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

// nearEnough is the least part of n that askable returns.
const nearEnough = 0.75

// nearShare is the part of the run time that is overhead near the inflexion point, METRICS 4.
const nearShare = 0.6

// Near reports whether the inflexion point is near the core count of the studied run, and not passed. It uses
// the measured communication: imbalance and files predict nothing. The run itself must show it, and the median
// of several jobs on its cores, as each may be an outlier. One core count says nothing about others. If other
// cores were faster, the point is not near.
func (s *Study) Near() bool {
	if s.Mine == nil || s.Mine.Cores() != s.Fastest || len(s.Counts) < 2 || s.Undecided() {
		return false
	}
	here, mine := s.on(s.Fastest), countOf([]job.Run{*s.Mine})
	return here.jobs() >= fewestEach && here.communication() > nearShare && mine.communication() > nearShare
}

// communication returns the part of the run time that is neither the busiest rank's computing nor files.
func (c *Count) communication() float64 { return 1 - math.Max(c.PE, c.Busiest/c.T) - c.IO }
