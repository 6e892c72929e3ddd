package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/report/figure"
)

// Study holds the analysis of one workload: which runs share a curve, the curve, what bounds it, and which core
// counts follow from it.
type Study struct {
	Workload *job.Workload
	Muted    *job.Mute // nil: not muted, or no longer
	Settings curve.Settings

	Runs   []job.Run // of the studied group, by cores, then start
	Mine   *job.Run  // the studied run: the job's, or without a job the newest; nil: the job's run is no point
	Counts []Count   // by cores
	Left   []LeftOut // runs that are no points
	Splits []Split   // runs that cannot share a curve with these
	Mixes  []MixesOn // core counts that ran as several mixes of ranks and threads

	Scaling Scaling
	Why     string // of Scaling, in words

	Curve      *curve.Result // never nil; refused if the group scales weakly
	Fastest    int           // cores of Counts with the shortest median time; 0: no runs
	Reference  int           // cores that CompS and the bounds compare with
	Sections   []SectionBounds
	Inflexions []SectionPoint // in the order of the sections' labels
	Warnings   []doubt.Doubt

	notMine string    // why Mine is nil although a job was asked about
	jobs    []job.Ran // of the workload, or like the job
	room    *job.Room // what Slurm allows them
	held    int64     // bytes that the job needed on all nodes, at most; 0: not known
	groups  []curve.Group
	inJob   map[jobID]int // how many runs of the workload each job has
	like    likeness
}

// Count is what was measured on one core count. Times are seconds, efficiencies
// fractions; those of several runs are medians.
type Count struct {
	N         int
	Nodes     []int // the numbers of nodes on which it ran, rising
	Runs      int
	T         float64 // t_n
	Shortest  float64
	Longest   float64
	Tau       float64 // tau_n
	PE        float64
	Busiest   float64            // useful time of the busiest rank, s; 0: not known
	IO        float64            // part of the ranks' time in MPI_File_*
	OpenMP    float64            // part of the threads' time that OpenMP lost
	Scaling   ComputationScaling // against Study.Reference
	GE        float64            // PE CompS
	Weak      *curve.Estimate    // t on the fewest cores / t here; nil unless it scales weakly
	CoreHours float64            // n t_n / 3600
	Alloc     float64            // CPUs that its jobs were charged for, median; 0: not known
}

// SectionPoint is the core count from which a section's time stops falling.
type SectionPoint struct {
	Label string
	At    curve.CoreCount
	Share float64 // the section's largest share, on any core count
}

const (
	// weakDrift is the factor by which the useful time per rank may differ in weak scaling.
	weakDrift = 1.25
	// mostStudied bounds the time of a study: only so many of the newest runs are used.
	mostStudied = 2000
)

// Codes of warnings about a study.
const (
	WarnOldRuns    = "old_runs"       // not all runs are used
	WarnNodeCounts = "node_counts"    // the same cores on other numbers of nodes
	WarnPartitions = "partitions"     // not all core counts ran in the same partitions
	WarnSpread     = "spread_assumed" // nothing was run twice
)

// NewStudy studies the group of the job's main program, or of the newest run if j is nil. now decides whether
// the workload is still muted. It returns nil without a workload, and for one that has jobs but no runs.
func NewStudy(w *job.Workload, j *job.Job, now time.Time, settings curve.Settings) *Study {
	if w == nil || len(w.Runs) == 0 && len(w.Jobs) > 0 {
		return nil
	}
	s := gathered(w, j, settings.WithDefaults())
	s.of(j)
	if w.Mute != nil && w.Mute.Until.After(now) {
		s.Muted = w.Mute
	}
	s.fit()
	s.sections()
	return s
}

// of takes over what comes from a job besides its run. If j is nil, that comes from the workload.
func (s *Study) of(j *job.Job) {
	s.jobs, s.room, s.held = s.Workload.Jobs, s.Workload.Room, heldBy(j)
	if j != nil && len(j.Alike) > 0 {
		s.jobs = j.Alike
	}
	if j != nil && j.Room != nil {
		s.room = j.Room
	}
}

// gathered makes a study without its curve: which runs belong together, and their figures.
func gathered(w *job.Workload, j *job.Job, settings curve.Settings) *Study {
	s := &Study{Workload: w, Settings: settings, Scaling: ScalingUnclear, like: likenessOf(w)}
	points, left := pointsAmong(s.newest(w.Runs))
	s.Left = left
	s.choose(kinGroups(points, s.like), j)
	s.mixes()
	s.groups = curve.GroupedBy(s.points(), s.Settings.Spread)
	s.count()
	s.allocs()
	s.partitions()
	s.recognise()
	return s
}

// newest leaves out the oldest runs if there are many.
func (s *Study) newest(runs []job.Run) []job.Run {
	if len(runs) <= mostStudied {
		return runs
	}
	sorted := slices.SortedStableFunc(slices.Values(runs), func(a, b job.Run) int { return b.Start.Compare(a.Start) })
	s.warn(WarnOldRuns, fmt.Sprintf("the newest %s of %s are looked at", figure.Count(mostStudied), figure.Counted(len(runs), "run")))
	return sorted[:mostStudied]
}

func (s *Study) warn(code, text string) {
	s.Warnings = append(s.Warnings, doubt.Doubt{Code: code, Text: text})
}

// choose takes the job's group, or the newest run's, and notes the others as splits.
func (s *Study) choose(groups [][]job.Run, j *job.Job) {
	chosen, newest := 0, time.Time{}
	for i, g := range groups {
		for k := range g {
			if j == nil && (s.Mine == nil || g[k].Start.After(newest)) {
				chosen, newest, s.Mine = i, g[k].Start, &g[k]
			}
			if j != nil && s.Mine == nil && isMainRun(&g[k], j) {
				chosen, s.Mine = i, &g[k]
			}
		}
	}
	if j != nil && s.Mine == nil {
		s.notMine = s.whyNotMine(j)
	}
	for i, g := range groups {
		if i == chosen {
			s.Runs = g
		} else {
			s.Splits = append(s.Splits, Split{g, different(groups[chosen], g)})
		}
	}
}

// whyNotMine returns why no run of the study is the job's.
func (s *Study) whyNotMine(j *job.Job) string {
	why := "its main program is not among the runs of the workload yet"
	if s.Workload.All != nil && len(s.Runs) > 0 && j.Start.Before(s.Workload.Runs[len(s.Workload.Runs)-1].Start) {
		why = "newer runs are compared: those of each core count are many"
	}
	for i := range s.Left {
		if isMainRun(&s.Left[i].Run, j) {
			if why = s.Left[i].Why; why != whyUnfinished {
				why = "its run cannot be compared with others: " + why
			}
		}
	}
	return why
}

// NotMine returns why the job that was asked about is no point; "": it is one.
func (s *Study) NotMine() string { return s.notMine }

// tau returns tau_n of a run, METRICS 4.
func tau(r *job.Run) float64 { return math.Max(r.Elapsed-r.Useful/float64(r.Cores()), 0) }

// points returns the group's runs as points of a curve.
func (s *Study) points() []curve.Point {
	points := make([]curve.Point, len(s.Runs))
	for i := range s.Runs {
		overhead := tau(&s.Runs[i])
		points[i] = curve.Point{N: s.Runs[i].Cores(), T: s.Runs[i].Elapsed, Tau: &overhead}
	}
	return points
}

// Points returns the studied runs as points of a curve.
func (s *Study) Points() []curve.Point { return s.points() }

// eachCount calls a function with the runs of each core count, the fewest cores first.
func (s *Study) eachCount(do func(runs []job.Run)) {
	for from := 0; from < len(s.Runs); {
		to := from
		for to < len(s.Runs) && s.Runs[to].Cores() == s.Runs[from].Cores() {
			to++
		}
		do(s.Runs[from:to])
		from = to
	}
}

// mixes keeps one mix of ranks and threads on each core count, and notes the others as splits.
func (s *Study) mixes() {
	var all []job.Run
	s.eachCount(func(runs []job.Run) {
		kept, others, mixes := oneMix(runs, s.Mine)
		all = append(all, kept...)
		if len(others) == 0 {
			return
		}
		s.warn(WarnMixes, mixText(runs[0].Cores(), mixes))
		s.Splits = append(s.Splits, Split{others, fmt.Sprintf("they ran another mix of ranks and threads on %s", figure.Counted(runs[0].Cores(), "core"))})
		s.Mixes = append(s.Mixes, MixesOn{runs[0].Cores(), mixes})
	})
	if s.Mine != nil {
		s.Mine = &all[slices.IndexFunc(all, func(r job.Run) bool { return sameRun(&r, s.Mine) })]
	}
	s.Runs = all
}

// count fills in Counts.
func (s *Study) count() {
	var reference *Work
	s.eachCount(func(runs []job.Run) {
		work := workOf(runs)
		if reference == nil {
			reference, s.Reference = &work, work.N
		}
		c := countOf(runs)
		c.Scaling = CompareWork(*reference, work)
		c.GE = GlobalEfficiency(c.PE, c.Scaling.CompS)
		s.Counts = append(s.Counts, c)
	})
	single := len(s.Counts) > 1
	for _, c := range s.Counts {
		if s.Fastest == 0 || c.T < s.At(s.Fastest).T {
			s.Fastest = c.N
		}
		single = single && c.Runs == 1
		if len(c.Nodes) > 1 {
			s.warn(WarnNodeCounts, fmt.Sprintf("%s ran on %s to %s: these runs are taken together", figure.Counted(c.N, "core"), figure.Count(c.Nodes[0]), figure.Counted(c.Nodes[len(c.Nodes)-1], "node")))
		}
	}
	if single {
		s.warn(WarnSpread, fmt.Sprintf("no core count was run twice: the spread of run times is taken to be %s", figure.Percent(s.Settings.Spread)))
	}
}

// partitions names the partitions, with their highest clock, if not all core counts ran in the same ones.
func (s *Study) partitions() {
	cores := map[string][]string{}
	var order []string
	for _, c := range s.Counts {
		o := s.on(c.N)
		where := strings.Join(o.names(func(r *job.Run) string { return r.Partition }), " and ")
		if mhz := o.clock(); mhz > 0 && where != "" {
			where += fmt.Sprintf(" (up to %s MHz)", figure.Count(int(mhz)))
		}
		if cores[where] == nil {
			order = append(order, where)
		}
		cores[where] = append(cores[where], figure.Count(c.N))
	}
	if len(order) < 2 {
		return
	}
	var parts []string
	for _, where := range order {
		parts = append(parts, fmt.Sprintf("%s cores in %s", strings.Join(cores[where], ", "), cmp.Or(where, "a partition that is not known")))
	}
	s.warn(WarnPartitions, "not all core counts ran in the same partition: "+strings.Join(parts, "; "))
}

// At returns what was measured on n cores; nil: nothing was.
func (s *Study) At(n int) *Count {
	for i := range s.Counts {
		if s.Counts[i].N == n {
			return &s.Counts[i]
		}
	}
	return nil
}

func countOf(runs []job.Run) Count {
	c := Count{N: runs[0].Cores(), Runs: len(runs), Shortest: math.Inf(1)}
	var t, share, io, openmp []float64
	for i := range runs {
		r := &runs[i]
		t, share = append(t, r.Elapsed), append(share, math.Min(tau(r)/r.Elapsed, 1))
		io, openmp = append(io, inFiles(r)), append(openmp, inOpenMP(r))
		c.Shortest, c.Longest = math.Min(c.Shortest, r.Elapsed), math.Max(c.Longest, r.Elapsed)
		if !slices.Contains(c.Nodes, r.Nodes) {
			c.Nodes = append(c.Nodes, r.Nodes)
		}
	}
	slices.Sort(c.Nodes)
	c.T = math.Exp(logMedian(t))
	c.PE, c.IO, c.Busiest = 1-curve.Median(share), curve.Median(io), busiestOf(runs)
	c.OpenMP = curve.Median(openmp)
	c.Tau = c.T * (1 - c.PE)
	c.CoreHours = float64(c.N) * c.T / 3600
	return c
}

// busiestOf returns the useful time of the busiest rank, s; 0: a run does not know it.
func busiestOf(runs []job.Run) float64 {
	if slices.ContainsFunc(runs, func(r job.Run) bool { return r.Conditions == nil || !(r.Conditions.UsefulMax > 0) }) {
		return 0
	}
	return MedianOf(runs, func(r *job.Run) float64 { return r.Conditions.UsefulMax })
}

// inFiles returns the part of the ranks' time in MPI_File_*; 0: none, or not known.
func inFiles(r *job.Run) float64 {
	if r.Conditions == nil {
		return 0
	}
	return curve.Clamp(r.Conditions.IOTime/(r.Elapsed*float64(r.Ranks)), 0, 1)
}

// inOpenMP returns the part of the threads' time that OpenMP lost; 0: none, or not known.
func inOpenMP(r *job.Run) float64 {
	if r.Conditions == nil {
		return 0
	}
	return curve.Clamp(r.Conditions.OpenMP/(r.Elapsed*float64(r.Cores())), 0, 1)
}

// logMedian returns the median of the logarithms, as curves use it.
func logMedian(v []float64) float64 {
	all := make([]float64, len(v))
	for i := range v {
		all[i] = math.Log(v[i])
	}
	return curve.Median(all)
}

// workOf returns what the runs on one core count did. Counters count only if every run has them.
func workOf(runs []job.Run) Work {
	w := Work{N: runs[0].Cores(), Useful: MedianOf(runs, func(r *job.Run) float64 { return r.Useful })}
	if slices.ContainsFunc(runs, func(r job.Run) bool { return r.Counters == nil }) {
		return w
	}
	w.Instructions = MedianOf(runs, func(r *job.Run) float64 { return float64(r.Counters.Instructions) })
	w.Cycles = MedianOf(runs, func(r *job.Run) float64 { return float64(r.Counters.Cycles) })
	return w
}

// recognise tells strong from weak scaling. If every run was counted, it uses instructions: they do not grow if
// ranks share a CPU.
func (s *Study) recognise() {
	var work []Work
	counted := len(s.Runs) > 0
	for i := range s.Runs {
		counted = counted && s.Runs[i].Counters != nil && s.Runs[i].Counters.Instructions > 0
	}
	least, most := math.Inf(1), 0.0
	for i := range s.Runs {
		r := &s.Runs[i]
		w := Work{N: r.Cores(), Useful: r.Useful}
		if counted {
			w.Useful = float64(r.Counters.Instructions)
		}
		work = append(work, w)
	}
	for _, c := range s.Counts {
		var on []float64
		for _, w := range work {
			if w.N == c.N {
				on = append(on, w.Useful/float64(w.N))
			}
		}
		v := curve.Median(on)
		least, most = math.Min(least, v), math.Max(most, v)
	}
	kind, _, why := RecogniseScaling(work)
	if counted {
		why = "counted by instructions, " + why
	}
	s.Scaling, s.Why = kind, why
	if kind != ScalingWeak {
		return
	}
	switch last := s.Counts[len(s.Counts)-1].N; {
	case most > weakDrift*least:
		s.Scaling, s.Why = ScalingUnclear, why+", but not evenly: ranks that share CPUs, or repeated work"
	case last < 4*s.Counts[0].N:
		s.Scaling = ScalingUnclear
		s.Why = why + ": a run on 4 times the fewest cores tells weak scaling from ranks that share CPUs"
	}
}

// Undecided reports whether the group may not scale strongly. Its core counts are then not compared. It is
// false for one core count, which cannot be compared anyway.
func (s *Study) Undecided() bool {
	return len(s.Counts) > 1 && s.Scaling != ScalingStrong
}

// grewWithCores reports whether every rank computed as long on the most as on the fewest cores.
func (s *Study) grewWithCores() bool {
	first, last := s.Counts[0], s.Counts[len(s.Counts)-1]
	if first.N == last.N {
		return false
	}
	perRank := float64(first.N) / float64(last.N) / last.Scaling.CompS
	return perRank >= 1/weakDrift && perRank <= weakDrift
}

// fit draws the curve, if there may be one.
func (s *Study) fit() {
	if !s.Undecided() {
		s.Curve = curve.Fit(s.points(), s.Settings)
		s.runAgain()
		return
	}
	first, last := s.Counts[0].N, s.Counts[len(s.Counts)-1].N
	s.Curve = &curve.Result{Level: s.Settings.Level, Line: s.Settings.Line, Smallest: first, Largest: last, Counts: len(s.Counts)}
	s.Curve.Fast.Note, s.Curve.Eff.Note = curve.NoteNotDetermined, curve.NoteNotDetermined
	if s.Scaling != ScalingWeak {
		s.Curve.Refused = "whether it scales strongly or weakly is not clear: " + s.Why
		if s.grewWithCores() && last < 4*first {
			s.Curve.Refused = "it may scale weakly: " + s.Why
		}
		if last < 4*first {
			s.Curve.Next = &curve.NextRun{N: 4 * first, About: "whether it scales strongly or weakly"}
		}
		return
	}
	s.Curve.Refused = "it scales weakly (" + s.Why + "): the work grows with the cores"
	for i, e := range Speedups(s.points()) {
		s.Counts[i].Weak = &e
	}
}

// runAgain plans another run on the fastest core count, if n_eff is known to the core and nothing was run
// twice. The spread of run times is then the larger doubt.
func (s *Study) runAgain() {
	e := s.Curve.Eff.Estimate
	if s.Curve.Next == nil || e == nil || math.Floor(e.Low) != math.Floor(e.High) ||
		!slices.ContainsFunc(s.Warnings, func(w doubt.Doubt) bool { return w.Code == WarnSpread }) {
		return
	}
	s.Curve.Next = &curve.NextRun{N: s.Fastest, About: curve.AboutSpread}
}

// sections fills in the partial bounds and each section's inflexion point.
func (s *Study) sections() {
	if len(s.Runs) == 0 || s.Scaling == ScalingWeak || len(sectionLabels(&s.Runs[0])) == 0 {
		return
	}
	labels := append([]string{job.MainSection}, sectionLabels(&s.Runs[0])...)
	var runs []SectionRun
	s.eachCount(func(on []job.Run) {
		run := SectionRun{N: on[0].Cores(), Sections: map[string]float64{}}
		for _, label := range labels {
			run.Sections[label] = MedianOf(on, func(r *job.Run) float64 { return ownTime(r, label) })
		}
		runs = append(runs, run)
	})
	s.Sections = PartialBounds(runs)
	for _, label := range labels {
		p := SectionPoint{Label: label, At: SectionInflexion(runs, label)}
		for _, b := range s.Sections {
			if i := slices.IndexFunc(b.Bounds, func(b Bound) bool { return b.Label == label }); i >= 0 {
				p.Share = max(p.Share, b.Bounds[i].Share)
			}
		}
		s.Inflexions = append(s.Inflexions, p)
	}
}

// ownTime returns a section's own time per rank. For the run as a whole, it is the time in no section.
func ownTime(r *job.Run, label string) float64 {
	rest := r.Elapsed
	for _, s := range r.Sections {
		own := curve.Clamp(s.Own, 0, r.Elapsed)
		if s.Label == label {
			return own
		}
		rest -= own
	}
	if label == job.MainSection {
		return math.Max(rest, 0)
	}
	return 0
}
