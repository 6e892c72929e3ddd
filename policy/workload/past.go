package workload

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// When more cores count as slower because of the parallelisation (METRICS 4).
const (
	// pastChance is the chance that a rise is told although there is none. If n cores are compared with several
	// core counts, each comparison gets a part of it.
	pastChance = 0.003
	// pastEfficiency is the parallel efficiency above which communication was never seen to make runs slower.
	pastEfficiency = 0.6
)

// Comparison compares a core count with fewer cores.
type Comparison struct {
	N, Than int     // Than: the fastest of the fewer; 0: there are none
	Slower  float64 // t_n / t_than - 1
	Past    bool    // N were slower because of the parallelisation
	Rose    bool    // N took longer by more than weeks differ, whatever the reason
	Why     string  // one sentence: the evidence for Past, or why it is not claimed
}

// Past reports whether n cores were slower than fewer because of the parallelisation, and the reason for the
// answer.
func (s *Study) Past(n int) (past bool, why string) {
	c := s.Against(n)
	return c.Past, c.Why
}

// Against compares n cores with the fastest of the fewer. It prefers counts on which several jobs ran, if these
// show a rise.
func (s *Study) Against(n int) Comparison {
	c, here := Comparison{N: n}, s.on(n)
	if here == nil {
		c.Why = fmt.Sprintf("no run on %s can be a point of a curve", figure.Counted(n, "core"))
		return c
	}
	than := s.fastestBelow(n, 1)
	if than == nil {
		c.Why = fmt.Sprintf("%s are the fewest that were run", figure.Counted(n, "core"))
		return c
	}
	if sure := s.fastestBelow(n, fewestEach); sure != nil && here.T > (1+mostDrift)*sure.T {
		than = sure
	}
	c.Than, c.Slower = than.N, here.T/than.T-1
	c.Rose = c.Slower > mostDrift
	switch {
	case c.Slower <= 0:
		c.Why = fmt.Sprintf("%s took no longer than %s", figure.Counted(n, "core"), figure.Count(than.N))
	case !c.Rose:
		c.Why = fmt.Sprintf("%s; the same work differs by up to %s from week to week", slowerText(here, than), figure.Percent(mostDrift))
	default:
		why := s.notPast(here, than)
		c.Past, c.Why = why == "", slowerText(here, than)
		if why != "" {
			c.Why += ", but " + why
		}
	}
	return c
}

// fastestBelow returns the fastest of fewer cores than n on which at least `jobs` jobs ran.
func (s *Study) fastestBelow(n, jobs int) (best *side) {
	for i := range s.Counts {
		c := &s.Counts[i]
		if c.N >= n || best != nil && c.T >= best.T {
			continue
		}
		if o := s.on(c.N); o.jobs() >= jobs {
			best = o
		}
	}
	return best
}

// notPast returns what besides the parallelisation may have made more cores slower; "": nothing.
func (s *Study) notPast(here, than *side) string {
	for _, why := range []func(here, than *side) string{s.fewJobs, s.notStrong, s.notSame, s.withinSpread,
		efficient, otherWork, busierRank, unevenRanks, moreIO} {
		if text := why(here, than); text != "" {
			return text
		}
	}
	return ""
}

func (s *Study) fewJobs(here, than *side) string {
	for _, o := range []*side{here, than} {
		if o.jobs() < fewestEach {
			return fmt.Sprintf("only one job on %s was compared: nothing tells how much such jobs differ", figure.Counted(o.N, "core"))
		}
	}
	return ""
}

func (s *Study) notStrong(*side, *side) string {
	if s.Scaling == ScalingStrong {
		return ""
	}
	return fmt.Sprintf("its scaling is %s: %s", s.Scaling, s.Why)
}

// withinSpread returns "" if the rise surely exceeds what weeks differ by. The runs' own spread is measured, so
// its quantile is that of Student's t. The least spread is assumed, so it has a normal quantile.
func (s *Study) withinSpread(here, than *side) string {
	var squares, free float64
	s.eachCount(func(runs []job.Run) {
		sum, of := squaresOf(logTimes(runs))
		squares, free = squares+sum, free+of
	})
	a, aFree := squaresOf(logTimes(here.runs))
	b, bFree := squaresOf(logTimes(than.runs))
	spread := math.Sqrt(math.Max(squares/free, (a+b)/(aFree+bFree)))
	fewer := slices.IndexFunc(s.Counts, func(c Count) bool { return c.N == here.N })
	chance := 1 - pastChance/float64(fewer)
	normal, student := distuv.UnitNormal.Quantile(chance), distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(chance)
	rise := meanOf(logTimes(here.runs)) - meanOf(logTimes(than.runs)) - math.Log1p(mostDrift)
	rise /= math.Sqrt(1/float64(here.Runs) + 1/float64(than.Runs)) // in units of one run's spread
	switch {
	case rise > math.Max(normal*leastSpread, student*spread):
		return ""
	case rise > normal*math.Max(leastSpread, spread):
		return "too few runs tell how much such runs differ"
	}
	return "runs on the same cores differ too much to be sure of it"
}

func logTimes(runs []job.Run) []float64 {
	v := make([]float64, len(runs))
	for i := range runs {
		v[i] = math.Log(runs[i].Elapsed)
	}
	return v
}

func otherWork(here, than *side) string {
	switch more := workAgainst(here, than); {
	case more > moreWork:
		return fmt.Sprintf("their ranks did %s more work in sum: another input, or CPUs that others used, too", figure.Percent(more-1))
	case more > 1 && here.T/more <= (1+mostDrift)*than.T:
		return fmt.Sprintf("their ranks did %s more work in sum, which may explain it", figure.Percent(more-1))
	case more < lessWork:
		return fmt.Sprintf("their ranks did %s less work in sum: another input", figure.Percent(1-more))
	}
	return ""
}

func efficient(here, _ *side) string {
	if here.PE < pastEfficiency {
		return ""
	}
	return fmt.Sprintf("their parallel efficiency is %s: too good for communication to be the reason", figure.Compared(here.PE, pastEfficiency))
}

// busierRank returns a reason if the busiest rank computed longer: its part of the work is smaller, so
// communication did not cause that.
func busierRank(here, than *side) string {
	switch {
	case here.Busiest == 0 || than.Busiest == 0:
		return "how long the busiest rank computed is not known"
	case here.Busiest > than.Busiest:
		return "the busiest rank computed longer there: a slow rank or node, a shared core, or work that every rank repeats"
	}
	return ""
}

// unevenRanks returns a reason if the run would not have been slower with a busiest rank that computed no more
// than the others.
func unevenRanks(here, than *side) string {
	if here.T*(1-here.uneven()) > than.T {
		return ""
	}
	return "uneven work of the ranks explains it: a slow rank or node, or a bad distribution"
}

func moreIO(here, than *side) string {
	if rise := here.T - than.T; here.IO*here.T-than.IO*than.T < rise/2 {
		return ""
	}
	return "more time in MPI_File_* explains it"
}

// slowerText says how much longer more cores took.
func slowerText(here, than *side) string {
	slower := here.T/than.T - 1
	runs := figure.Counted(here.Runs, "run") + " and " + figure.Counted(than.Runs, "run")
	if here.Runs == than.Runs {
		runs = figure.Counted(here.Runs, "run") + " each"
	}
	text, word := longerThan(slower)
	return fmt.Sprintf("%s took %s %s %s (%s)", figure.Counted(here.N, "core"), text, word, figure.Count(than.N), runs)
}
