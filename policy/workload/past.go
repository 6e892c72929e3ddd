package workload

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// When more cores are said to be slower because of the parallelisation (METRICS 4).
const (
	// mostDrift is how much longer the same work may take in another week: machines, their
	// load and their software change. A rise must surely exceed it.
	mostDrift = 0.2
	// pastChance is how often no rise may look like one by chance: against the fastest of
	// several core counts, each has its part of it.
	pastChance = 0.005
	// pastEfficiency is the parallel efficiency above which no rise was ever seen that
	// communication made.
	pastEfficiency = 0.6
	// fewestEach is how many jobs must have run on each of two core counts.
	fewestEach = 2
	// moreWork and lessWork are how far the total useful time may differ from that on fewer
	// cores: more of it may be another input, less may be caches.
	moreWork, lessWork = 1.25, 0.5
	// lostCPU is the part of the CPU time per second on fewer cores under which ranks had
	// their CPUs taken away by somebody else.
	lostCPU = 0.8
)

// Comparison is a core count against fewer cores.
type Comparison struct {
	N, Than int     // Than: the fastest of the fewer; 0: there are none
	Slower  float64 // t_n / t_than - 1
	Past    bool    // N were slower because of the parallelisation
	Rose    bool    // N took longer than what weeks differ by, whatever the reason
	Why     string  // one sentence: what Past was found from, or why that is not said
}

// Past says whether n cores were slower than fewer because of the parallelisation, and why
// that is said or not.
func (s *Study) Past(n int) (past bool, why string) {
	c := s.Against(n)
	return c.Past, c.Why
}

// Against compares n cores with the fastest of the fewer: among those on which several jobs
// ran, where these tell a rise.
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

// side is a core count with its runs.
type side struct {
	*Count
	runs []job.Run
}

func (s *Study) on(n int) *side {
	c := s.At(n)
	if c == nil {
		return nil
	}
	from := slices.IndexFunc(s.Runs, func(r job.Run) bool { return r.Cores() == n })
	return &side{c, s.Runs[from : from+c.Runs]}
}

// jobs is how many jobs ran on it: runs of one job share its nodes and its hour.
func (o *side) jobs() int {
	type id struct {
		cluster string
		job     uint32
	}
	all := map[id]bool{}
	for i := range o.runs {
		all[id{o.runs[i].Cluster, o.runs[i].JobID}] = true
	}
	return len(all)
}

// fastestBelow is the fastest of fewer cores than n on which that many jobs ran.
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

// notPast is what else than the parallelisation may have made n cores slower, or nothing.
func (s *Study) notPast(here, than *side) string {
	for _, why := range []func(here, than *side) string{s.fewJobs, s.notStrong, s.withinSpread, otherMachine, otherBuild,
		efficient, otherWork, busierRank, unevenRanks, moreIO, lessCPU} {
		if text := why(here, than); text != "" {
			return text
		}
	}
	return ""
}

func (s *Study) fewJobs(here, than *side) string {
	for _, o := range []*side{here, than} {
		if o.jobs() < fewestEach {
			return fmt.Sprintf("only one job ran on %s: nothing tells how much such jobs differ", figure.Counted(o.N, "core"))
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

// withinSpread asks Student's t whether the rise surely exceeds what weeks differ by.
func (s *Study) withinSpread(here, than *side) string {
	var squares, free float64
	s.eachCount(func(runs []job.Run) {
		sum, of := squaresOf(runs)
		squares, free = squares+sum, free+of
	})
	a, aFree := squaresOf(here.runs)
	b, bFree := squaresOf(than.runs)
	spread := math.Sqrt(math.Max(squares/free, (a+b)/(aFree+bFree)))
	spread = math.Max(spread, leastSpread) * math.Sqrt(1/float64(here.Runs)+1/float64(than.Runs))
	fewer := slices.IndexFunc(s.Counts, func(c Count) bool { return c.N == here.N })
	sure := distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(1-pastChance/float64(fewer)) * spread
	if meanOf(logTimes(here.runs))-meanOf(logTimes(than.runs))-math.Log1p(mostDrift) > sure {
		return ""
	}
	return "runs on the same cores differ too much to be sure of it"
}

// squaresOf is the sum of squares of ln t about the mean, and its degrees of freedom.
func squaresOf(runs []job.Run) (squares, free float64) {
	v := logTimes(runs)
	m := meanOf(v)
	for _, x := range v {
		squares += (x - m) * (x - m)
	}
	return squares, float64(len(v) - 1)
}

func logTimes(runs []job.Run) []float64 {
	v := make([]float64, len(runs))
	for i := range runs {
		v[i] = math.Log(runs[i].Elapsed)
	}
	return v
}

// otherMachine compares partitions only where nothing says what nodes they have.
func otherMachine(here, than *side) string {
	if machineOf(here.runs) != "" && machineOf(than.runs) != "" {
		return "" // others would be another group
	}
	a, b := here.names(func(r *job.Run) string { return r.Partition }), than.names(func(r *job.Run) string { return r.Partition })
	if apart(a, b) {
		return fmt.Sprintf("they ran in partition %s, not %s, and whether its nodes are as fast is not known", listOf(a), listOf(b))
	}
	return ""
}

func otherBuild(here, than *side) string {
	if apart(here.names(func(r *job.Run) string { return r.BuildID }), than.names(func(r *job.Run) string { return r.BuildID })) {
		return "the program was built anew between"
	}
	return ""
}

// names are what the runs say, sorted, each once.
func (o *side) names(of func(*job.Run) string) (all []string) {
	for i := range o.runs {
		if name := of(&o.runs[i]); name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// apart says whether two lists are known and share nothing.
func apart(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

func efficient(here, _ *side) string {
	if here.PE < pastEfficiency {
		return ""
	}
	return fmt.Sprintf("their parallel efficiency is %s: too good for communication to be the reason", figure.Compared(here.PE, pastEfficiency))
}

func otherWork(here, than *side) string {
	a, b := workOf(here.runs), workOf(than.runs)
	more := a.Useful / b.Useful
	if a.Instructions > 0 && b.Instructions > 0 {
		more = a.Instructions / b.Instructions
	}
	switch {
	case more > moreWork:
		return fmt.Sprintf("their ranks did %s more work in sum: another input, or CPUs that others used, too", figure.Percent(more-1))
	case more < lessWork:
		return fmt.Sprintf("their ranks did %s less work in sum: another input", figure.Percent(1-more))
	}
	return ""
}

// busierRank: had communication been the reason, the busiest rank would not have computed
// longer, for its part of the work is smaller.
func busierRank(here, than *side) string {
	switch {
	case here.Busiest == 0 || than.Busiest == 0:
		return "how long the busiest rank computed is not known"
	case here.Busiest > than.Busiest:
		return "the busiest rank computed longer there: a slow rank or node, a shared core, or work that every rank repeats"
	}
	return ""
}

// unevenRanks: without what the busiest rank computes more than the others, they would not
// have been slower.
func unevenRanks(here, than *side) string {
	if here.T-(here.Busiest-here.mean()) > than.T {
		return ""
	}
	return "uneven work of the ranks explains it: a slow rank or node, or a bad distribution"
}

// mean is the useful time per rank, s.
func (c *Count) mean() float64 { return c.T * c.PE }

func moreIO(here, than *side) string {
	if rise := here.T - than.T; here.IO*here.T-than.IO*than.T < rise/2 {
		return ""
	}
	return "more time in MPI_File_* explains it"
}

// lessCPU compares CPU time only between runs: ranks that sleep have little on all cores.
func lessCPU(here, than *side) string {
	a, b := cpuShare(here.runs), cpuShare(than.runs)
	if !(a < lostCPU*b) {
		return ""
	}
	return fmt.Sprintf("their ranks had a CPU for %s of the time only, not %s: somebody else used it", figure.Percent(a), figure.Percent(b))
}

// cpuShare is the ranks' CPU time per second; NaN: not known of all runs.
func cpuShare(runs []job.Run) float64 {
	if slices.ContainsFunc(runs, func(r job.Run) bool { return r.Conditions == nil || !r.Conditions.Counted || r.Conditions.Span <= 0 }) {
		return math.NaN()
	}
	return MedianOf(runs, func(r *job.Run) float64 { return r.Conditions.CPUTime / r.Conditions.Span })
}

// slowerText says how much longer more cores took.
func slowerText(here, than *side) string {
	slower := here.T/than.T - 1
	runs := figure.Counted(here.Runs, "run") + " and " + figure.Counted(than.Runs, "run")
	if here.Runs == than.Runs {
		runs = figure.Counted(here.Runs, "run") + " each"
	}
	word := "than"
	if figure.Twice(slower) {
		word = "as"
	}
	return fmt.Sprintf("%s took %s %s %s (%s)", figure.Counted(here.N, "core"), figure.Longer(slower), word, figure.Count(than.N), runs)
}
