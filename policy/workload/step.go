package workload

import (
	"math"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy/curve"
)

// Step says that the runs of a workload on one core count became slower from some run on, and stayed
// so (METRICS 9).
type Step struct {
	Before  job.Run        // the run with the median time of those before
	First   job.Run        // the first slower one
	Last    job.Run        // the slower run that made it sure
	Runs    int            // slower runs, First to Last
	Earlier int            // runs that these were compared with
	Factor  curve.Estimate // time since / before
	Level   float64        // of the interval
	Beside  string         // why the nodes since are of another kind, or may be; "": they are alike, as far as is known

	half float64 // ln t half-way
	over bool
}

// Name is the program's name.
func (s *Step) Name() string { return filepath.Base(s.Last.Executable) }

const (
	// stepChance is the chance of seeing a step in a series that does not change, over all looks at it.
	// laterChance is the chance at each run of a series whose first runs are not kept.
	stepChance  = 0.05
	laterChance = 1e-5
	// fewestBefore and mostBefore bound the runs before a step that are compared; runsSince is the number of runs
	// since.
	fewestBefore, mostBefore = 6, 30
	runsSince                = 5
	// leastNoise is the least standard deviation of ln t that a series is taken to have.
	leastNoise = 0.005
)

// Steps finds where runs of one workload on one core count, in any order, became slower and still are. With
// cut, earlier runs may be missing. The runs that are left then change with each new one, so a step is looked
// at again and again, each time with fewer runs before it. laterChance is so small that a step then needs at
// least 24 runs before it. Changes of programs and libraries are left to CompareExecutables.
func Steps(runs []job.Run, cut bool) (all []Step) {
	cut = cut && len(runs) >= mostBefore+runsSince
	for _, one := range series(runs) {
		all = append(all, stepsIn(one, cut)...)
	}
	return slices.DeleteFunc(all, func(s Step) bool { return s.over })
}

// stepsIn returns the steps of one series. Those that are over are among them: most of the newest runs became
// as fast as before.
func stepsIn(runs []job.Run, cut bool) (all []Step) {
	from := 0 // index of the first run since the last step
	for n := fewestBefore + runsSince; n <= len(runs); n++ {
		split := n - runsSince
		for i := range all {
			if s := &all[i]; !s.over && curve.Median(logTimes(runs[split:n])) <= s.half {
				for from, s.over = split, true; math.Log(runs[from].Elapsed) > s.half; from++ { // the last slow ones
				}
			}
		}
		if split-from < fewestBefore {
			continue
		}
		before, since := runs[max(from, split-mostBefore):split], runs[split:n]
		chance := stepChance * (fewestBefore + runsSince - 1) / float64(n) / float64(n-1) // of all n they add up
		if cut {
			chance = laterChance
		}
		if s := stepBetween(before, since, chance); s != nil {
			from = split
			if !slices.ContainsFunc(since, func(r job.Run) bool { return !sameSoftware(&s.Before, &r) }) {
				all = append(all, *s)
			}
		}
	}
	return all
}

// series divides the runs that can show a step by their work and machine, in the order of their starts. Each
// series has a newest run, and those of the others that did the same work in the same mix on such a machine.
// Runs of one job share its nodes and its hour: only the first of each job counts.
func series(runs []job.Run) (all [][]job.Run) {
	runs, _ = pointsAmong(runs)
	slices.SortStableFunc(runs, func(a, b job.Run) int { return a.Start.Compare(b.Start) })
	machine := machinesOf(runs)
	for len(runs) > 0 {
		last := len(runs) - 1
		newest := &runs[last]
		var one, others []job.Run
		for i := range runs {
			r := &runs[i]
			if i == last || r.Ranks == newest.Ranks && machine(r) == machine(newest) && OtherWork(r, newest, true) == "" {
				one = append(one, *r)
			} else {
				others = append(others, *r)
			}
		}
		one = slices.CompactFunc(one, func(a, b job.Run) bool { return a.Cluster == b.Cluster && a.JobID == b.JobID })
		all, runs = append(all, one), others
	}
	return all
}

// stepBetween returns the step between runs; nil: there may be none. chance is that of seeing a step although
// there is none.
func stepBetween(before, since []job.Run, chance float64) *Step {
	a, b := logTimes(before), logTimes(since)
	half := (curve.Median(a) + curve.Median(b)) / 2
	if slices.Min(b) <= half || meanOf(b)-meanOf(a) < math.Log(leastChange) || // all since are slow: the step lies between these runs
		rankChance(a, b) > chance {
		return nil
	}
	s := &Step{Before: medianRun(before), First: since[0], Last: since[len(since)-1], Runs: len(since), Earlier: len(before), Factor: Ratio(a, b, changeLevel), Level: changeLevel, half: half}
	if OtherWork(&s.Before, &s.Last, true) != "" { // texts name these two
		return nil
	}
	_, s.Beside = unlike(before, since, true)
	return s
}

// rankChance returns the chance that the last of some runs in random order rank so high in time: the exact
// distribution of Mann and Whitney's U, however the times are distributed. Equal times count as falls.
func rankChance(before, since []float64) float64 {
	k, m, u := len(before), len(since), 0
	for _, a := range before {
		for _, b := range since {
			if a >= b {
				u++
			}
		}
	}
	// ways[i][v] counts the orders of i later runs and the earlier ones added so far that have U = v
	ways := make([][]float64, m+1)
	for i := range ways {
		ways[i] = make([]float64, u+1)
		ways[i][0] = 1
	}
	for range k {
		for i := range ways {
			for v := u; v >= 0; v-- { // the longest of them all is an earlier run, or a later one
				if v < i {
					ways[i][v] = 0
				} else {
					ways[i][v] = ways[i][v-i]
				}
			}
			for v := range ways[i] {
				if i > 0 {
					ways[i][v] += ways[i-1][v]
				}
			}
		}
	}
	sum := 0.0
	for _, w := range ways[m] {
		sum += w
	}
	return sum / combin.GeneralizedBinomial(float64(k+m), float64(m))
}

// Ratio compares the means of two series of logarithms: b over a, with an interval of this confidence. Both are taken to
// have the same spread (Student's t).
func Ratio(a, b []float64, level float64) curve.Estimate {
	sa, fa := squaresOf(a)
	sb, fb := squaresOf(b)
	rise, noise := meanOf(b)-meanOf(a), math.Max(math.Sqrt((sa+sb)/(fa+fb)), leastNoise)
	half := distuv.StudentsT{Sigma: 1, Nu: fa + fb}.Quantile((1+level)/2) * noise * math.Sqrt(1/float64(len(a))+1/float64(len(b)))
	return curve.Estimate{Value: math.Exp(rise), Low: math.Exp(rise - half), High: math.Exp(rise + half)}
}

// medianRun returns the run in the middle by time; of two, the shorter one.
func medianRun(runs []job.Run) job.Run {
	sorted := slices.SortedStableFunc(slices.Values(runs), func(a, b job.Run) int {
		if a.Elapsed < b.Elapsed {
			return -1
		}
		return 1
	})
	return sorted[(len(sorted)-1)/2]
}

// Slower returns the last step among the runs of the same work as the studied run, on as many cores, if the
// studied run began since then and is as slow; nil: there is none.
func (s *Study) Slower() (last *Step) {
	if s.Mine == nil {
		return nil
	}
	for _, step := range Steps(s.on(s.Mine.Cores()).runs, s.Workload.All != nil) {
		if !s.Mine.Start.Before(step.First.Start) && s.Mine.Elapsed >= math.Sqrt(step.Factor.Value)*step.Before.Elapsed && OtherWork(&step.Before, s.Mine, true) == "" {
			last = &step
		}
	}
	return last
}

// StepsBetween returns the steps of a series of listing.Facts whose Last run began in a span.
func StepsBetween(runs []job.Run, from, to time.Time) []Step {
	return slices.DeleteFunc(Steps(runs, len(runs) >= listing.SeriesRuns), func(s Step) bool { return s.Last.Start.Before(from) || !s.Last.Start.Before(to) })
}
