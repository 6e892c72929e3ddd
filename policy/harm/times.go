package harm

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
)

// Times compares the run times of jobs that the coin has measured with those of other jobs of the same work.
// NewTimes makes one.
//
// METRICS 7 has the formulas. The coin knows nothing of a job, so under the hypothesis that measuring multiplies each
// time by one factor, the times divided by that factor are shuffled by chance alone. A test of ranks within each work
// (van Elteren 1960) needs nothing else; the factors that it does not refuse are the interval (Hodges and Lehmann
// 1963). No single time is worth more than its rank, however long it is.
type Times struct {
	share float64
	works map[Work]*times
	seen  map[attempted]bool
	full  bool
}

// times are those of one work's jobs, first the others, then the measured ones.
type times struct {
	uid     uint32
	logs    [2][]float64 // of s
	figures [2]int       // how many of them have figures
}

// Slowdown says how much longer measured jobs took than others of the same work.
type Slowdown struct {
	Measured int `json:"measured"` // measured jobs that were compared
	Others   int `json:"others"`   // others that were
	Figures  int `json:"figures"`  // of the measured ones, those with figures: the rest used no MPI or OpenMP, or could not be measured
	Works    int `json:"works"`    // of one user, name, partition, CPUs and nodes each
	Users    int `json:"users"`    // of these works
	// Time is how much longer measured jobs took, as a fraction; null: Cannot says why.
	Time     *float64 `json:"time"`
	TimeLow  *float64 `json:"time_low"`  // its lower end
	TimeHigh *float64 `json:"time_high"` // its upper end
	Level    float64  `json:"level"`     // of the interval
	Needed   int      `json:"needed"`    // jobs that an interval of 0.25 % either way needs, in the same mix; 0: not known
	Full     bool     `json:"full"`      // there are more jobs than were read, all later than these
	Cannot   string   `json:"cannot"`    // why it cannot tell: none_measured, all_measured, few_alike or other_share; "": it can
}

// Further reasons of Slowdown.Cannot.
const (
	FewAlike   = "few_alike"
	OtherShare = "other_share"
)

const (
	// Level is that of the interval, and Aim what an interval should be at most, either way.
	Level = .9
	Aim   = .0025
	// LeastAlike is the least number of measured jobs, and of others.
	LeastAlike = 20
	// MostTimes bounds the jobs that are compared.
	MostTimes = 500_000
	leastWork = 4 // jobs of a work: fewer say nothing of how much its times differ
	// Nodes measure another share than this jobeffd knows of if more than this part of the others has figures.
	mostFigures = .1
)

// normal90 is how many standard deviations either way hold Level of a normal distribution.
var normal90 = distuv.UnitNormal.Quantile((1 + Level) / 2)

// NewTimes compares jobs a share of which was measured.
func NewTimes(share float64) *Times {
	return &Times{share: share, works: map[Work]*times{}, seen: map[attempted]bool{}}
}

// Add takes in a job that ended, once. measured is what its id decided. A job that did not complete, or in less than
// a minute, does not count, nor does one after the first MostTimes.
func (t *Times) Add(j *job.Job, measured bool) {
	key := attempted{j.Cluster, j.JobID}
	if !timed(j) || t.seen[key] {
		return
	}
	if len(t.seen) == MostTimes {
		t.full = true
		return
	}
	t.seen[key] = true
	of := t.works[WorkOf(j)]
	if of == nil {
		of = &times{uid: j.UID}
		t.works[WorkOf(j)] = of
	}
	i := index(measured)
	of.logs[i] = append(of.logs[i], math.Log(j.Elapsed.Seconds()+within(j.JobID)))
	if j.Metrics != nil {
		of.figures[i]++
	}
}

// within spreads times, which Slurm gives in whole seconds, over half a second either way: equal ones have no rank.
func within(jobID uint32) float64 {
	_, part := math.Modf(float64(jobID) * (math.Phi - 1))
	return part - .5
}

// counts says that a work shows what measuring does: it has jobs of both kinds, and figures of half of the measured
// ones. Its other programs use no MPI, and nothing happens to them.
func (of *times) counts() bool {
	others, measured := len(of.logs[0]), len(of.logs[1])
	return min(others, measured) > 0 && others+measured >= leastWork && 2*of.figures[1] >= measured
}

// Slowdown compares the jobs that were added.
func (t *Times) Slowdown() Slowdown {
	is := Slowdown{Level: Level, Full: t.full}
	switch t.share {
	case 0:
		is.Cannot = NoneMeasured
		return is
	case 1:
		is.Cannot = AllMeasured
		return is
	}
	var all strata
	users, wrong := map[uint32]bool{}, 0
	for _, of := range t.works {
		if of.counts() {
			all, users[of.uid] = append(all, newStratum(of.logs)), true
			is.Others, is.Measured = is.Others+len(of.logs[0]), is.Measured+len(of.logs[1])
			is.Figures, wrong = is.Figures+of.figures[1], wrong+of.figures[0]
		}
	}
	is.Works, is.Users = len(all), len(users)
	switch {
	case float64(wrong) > mostFigures*float64(is.Others):
		is.Cannot = OtherShare
	case min(is.Measured, is.Others) < LeastAlike:
		is.Cannot = FewAlike
	default:
		slices.SortFunc(all, stratum.compare) // a map has no order, and sums of floats have one
		all.into(&is)
	}
	return is
}

// strata are the works that are compared.
type strata []stratum

// stratum has the logarithms of the times of one work's jobs, the least first.
type stratum struct {
	others, measured []float64
	weight           float64 // of its ranks
}

// newStratum weighs a work by its size, as van Elteren does, and by how little its times differ: such works say more. Which
// jobs are measured does not change the weight, so chance shuffles them under it.
func newStratum(logs [2][]float64) stratum {
	s := stratum{others: slices.Sorted(slices.Values(logs[0])), measured: slices.Sorted(slices.Values(logs[1]))}
	s.weight = 1 / (s.spread() * (s.jobs() + 1))
	return s
}

func (s stratum) compare(b stratum) int {
	return cmp.Or(slices.Compare(s.others, b.others), slices.Compare(s.measured, b.measured))
}

func (s *stratum) jobs() float64 { return float64(len(s.others) + len(s.measured)) }

// into fills in the factor that fits best, and its interval.
func (all strata) into(is *Slowdown) {
	low, high := all.factor(normal90), all.factor(-normal90)
	is.Time, is.TimeLow, is.TimeHigh = longer(all.factor(0)), longer(low), longer(high)
	half := (high - low) / 2 / math.Log1p(Aim)
	is.Needed = int(math.Ceil(half * half * float64(is.Measured+is.Others)))
}

// longer turns the logarithm of a factor into a change.
func longer(log float64) *float64 {
	change := math.Expm1(log)
	return &change
}

// spread is the median distance of a work's times from their median, measured or not. It is never less than what whole
// seconds make of equal times.
func (s *stratum) spread() float64 {
	all := slices.Concat(s.others, s.measured)
	slices.Sort(all)
	middle := all[len(all)/2]
	for i, x := range all {
		all[i] = math.Abs(x - middle)
	}
	slices.Sort(all)
	return max(all[len(all)/2], .25*math.Exp(-middle))
}

// factor is the logarithm of the factor by which the test's result is z deviations. The result falls as the factor
// grows, so a bisection finds it.
func (all strata) factor(z float64) float64 {
	low, high := -widest, widest
	for range 50 {
		if middle := (low + high) / 2; all.test(middle) > z {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// widest is the logarithm of a factor that no times of jobs are apart.
const widest = 25.

// test is by how many deviations the ranks of measured times are above what chance gives, after shift is taken from
// them (Wilcoxon's sums, each work's with its weight).
func (all strata) test(shift float64) float64 {
	var above, variance float64
	for i := range all {
		s := &all[i]
		n, m := s.jobs(), float64(len(s.measured))
		above += s.weight * (s.ranks(shift) - m*(n+1)/2)
		variance += s.weight * s.weight * m * (n - m) * (n + 1) / 12
	}
	return above / math.Sqrt(variance)
}

// ranks is the sum of the ranks of the measured times among all of the work's.
func (s *stratum) ranks(shift float64) (sum float64) {
	below := 0
	for i, x := range s.measured {
		for below < len(s.others) && s.others[below] < x-shift {
			below++
		}
		sum += float64(i + 1 + below)
	}
	return sum
}
