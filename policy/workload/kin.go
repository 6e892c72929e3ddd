package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// What strong scaling leaves unchanged, and how far runs of one group may differ in it. A workload's key
// separates most runs. These bounds separate those whose difference the key does not see, such as another file
// on standard input.
const (
	// collectivesFactor bounds the factor between the collective calls per rank of two runs of a group, after
	// usualCollectives are added to both. Setting up takes some more calls on more ranks, and a solver may need a
	// few more steps.
	collectivesFactor = 1.25
	usualCollectives  = 20
	// shortestRun and longestRun bound the times that a run can have, s.
	shortestRun, longestRun = 1e-6, 1e10
)

// likeness bounds the differences in the total useful time of runs of one group.
type likeness struct {
	same   float64 // factor on the same cores
	strong float64 // factor between core counts, on top of their ratio to the power of mostStrong: caches and repeated work
}

// If the key does not contain the input, the work must be alike. If it does, only differences that no slow or
// shared node explains split runs: ranks that wait for a CPU seem to compute.
var (
	inputUnknown = likeness{same: 1.5, strong: 1.25}
	inputKnown   = likeness{same: 4, strong: 6}
)

// likenessOf is stricter with a workload that its user named: a name does not identify the input.
func likenessOf(w *job.Workload) likeness {
	if w.InputNote != "" || w.Named() {
		return inputUnknown
	}
	return inputKnown
}

// LeftOut is a run that is no point of a curve.
type LeftOut struct {
	Run job.Run
	Why string
}

// Split holds runs with the key of the studied ones that cannot share a curve with these.
type Split struct {
	Runs []job.Run
	Why  string // what differs, although strong scaling leaves it unchanged
}

// suspendedShare bounds a suspension, as a part of the run's time.
const suspendedShare = 0.01

// whyUnfinished is complete as it is; other reasons get words in front (whyNotMine).
const whyUnfinished = "the job did not finish"

// notPoint returns why a run is no point of a curve; "": it is one. A run of one rank beside others of the same
// job does not show that: pointsAmong finds those.
func notPoint(r *job.Run) string {
	if why := NotWhole(r); why != "" || r.Conditions == nil || !r.Conditions.Contended {
		return why
	}
	return LackedCPUs
}

// LackedCPUs says why a run whose busy threads lacked CPUs is no point.
const LackedCPUs = "its ranks lacked CPUs, because other programs used them or busy threads shared some"

// NotWhole returns why the time of a run is not that of its whole work, or why its work was not all measured;
// "": it is whole.
func NotWhole(r *job.Run) string {
	var known job.Conditions
	if r.Conditions != nil {
		known = *r.Conditions
	}
	switch {
	case !(r.Elapsed > 0) || !(r.Useful > 0):
		return "its times are not known"
	case r.Ranks < 1 || r.Ranks > curve.MostCores || r.Elapsed < shortestRun || r.Elapsed > longestRun || r.Useful < shortestRun || r.Useful > 1.1*r.Elapsed*float64(r.Ranks)*float64(max(r.Threads, 1)):
		return "its times cannot be"
	case !r.Ended:
		return whyUnfinished
	case r.Suspended > suspendedShare*r.Elapsed:
		return "its job was suspended for a while, which its time may contain"
	case !(r.Coverage >= 1):
		return fmt.Sprintf("not all of its ranks were recorded (%s)", figure.Percent(r.Coverage))
	case r.GPUs > 0:
		return "the job had GPUs, and its useful time is the host's alone"
	case r.Threads > 1 && !known.Counted:
		return "its ranks had threads or several CPUs each, and what threads do is not measured"
	case known.Threaded && known.Counted:
		return "its ranks had threads that computed, and what threads do is not measured"
	case known.GPU:
		return "a rank opened a GPU, and its useful time is the host's alone"
	}
	return ""
}

const whySingletons = "it is one of several programs of one rank that ran at the same time in one job, ranks that never met"

// singletonsAmong returns which runs of one rank ran at the same time as another of the same job.
func singletonsAmong(runs []*job.Run) []bool {
	type jobRun struct {
		cluster   string
		id        uint32
		runNumber int
	}
	byJob, alone := map[jobRun][]int{}, make([]bool, len(runs))
	for i := range runs {
		if r := runs[i]; r.Ranks == 1 && r.Threads <= 1 {
			k := jobRun{r.Cluster, r.JobID, r.Attempt}
			byJob[k] = append(byJob[k], i)
		}
	}
	end := func(r *job.Run) float64 { return float64(r.Start.UnixNano())/1e9 + r.Elapsed }
	for _, all := range byJob {
		slices.SortFunc(all, func(a, b int) int { return runs[a].Start.Compare(runs[b].Start) })
		last := 0 // the one of those before i that ended last
		for i := 1; i < len(all); i++ {
			before, here := runs[all[last]], runs[all[i]]
			if float64(here.Start.UnixNano())/1e9 < end(before) {
				alone[all[last]], alone[all[i]] = true, true
			}
			if end(here) > end(before) {
				last = i
			}
		}
	}
	return alone
}

// pointsAmong separates the runs into points, sorted by cores and start, and others.
func pointsAmong(runs []job.Run) (points []job.Run, left []LeftOut) {
	sorted := pointers(runs)
	slices.SortStableFunc(sorted, compareRuns)
	alone := singletonsAmong(sorted)
	points = make([]job.Run, 0, len(runs))
	for i, r := range sorted {
		why := notPoint(r)
		if why == "" && alone[i] {
			why = whySingletons
		}
		if why != "" {
			left = append(left, LeftOut{*r, why})
			continue
		}
		points = append(points, *r)
	}
	return points, left
}

// pointers returns pointers to runs: runs are large, and sorting moves them often.
func pointers(runs []job.Run) []*job.Run {
	to := make([]*job.Run, len(runs))
	for i := range runs {
		to[i] = &runs[i]
	}
	return to
}

// compareRuns orders runs by cores, then start.
func compareRuns(a, b *job.Run) int {
	return cmp.Or(cmp.Compare(a.Cores(), b.Cores()), a.Start.Compare(b.Start), cmp.Compare(a.Cluster, b.Cluster),
		cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Execution, b.Execution))
}

// kinGroups divides points into groups that may share a curve. The result does not depend on the order of the
// points.
func kinGroups(points []job.Run, like likeness) [][]job.Run {
	machines := machinesOf(points)
	byKind := map[string][]*job.Run{}
	for _, r := range pointers(points) {
		key := strings.Join(append(sectionLabels(r), machines(r)), "\x00")
		byKind[key] = append(byKind[key], r)
	}
	var all [][]*job.Run
	for _, alike := range byKind {
		for _, same := range gapped(alike, steps, math.Log(collectivesFactor)) {
			all = append(all, like.byUseful(same.runs)...)
		}
	}
	for _, g := range all {
		slices.SortStableFunc(g, compareRuns)
	}
	slices.SortFunc(all, func(a, b []*job.Run) int { return slices.CompareFunc(a, b, compareRuns) })
	groups := make([][]job.Run, len(all))
	for i, g := range all {
		for _, r := range g {
			groups[i] = append(groups[i], *r)
		}
	}
	return groups
}

// steps returns ln of the sum of a run's collective calls per rank and usualCollectives.
func steps(r *job.Run) float64 { return math.Log(max(r.Collectives, 0) + usualCollectives) }

// stepsApart returns by how much the steps of two lists of runs differ.
func stepsApart(a, b []job.Run) float64 { return math.Abs(MedianOf(a, steps) - MedianOf(b, steps)) }

// otherStepsText says how often the ranks of two lists of runs called collectives.
func otherStepsText(these, than []job.Run) string {
	calls := func(runs []job.Run) string {
		return figure.Count(int(math.Round(MedianOf(runs, func(r *job.Run) float64 { return r.Collectives }))))
	}
	return fmt.Sprintf("their ranks made %s collective calls each, not %s: another number of steps", calls(these), calls(than))
}

// machinesOf returns a function that names the machine of a run. Old runs do not know theirs: they join the
// others if these all ran on one machine.
func machinesOf(points []job.Run) func(*job.Run) string {
	known := map[string]bool{}
	for i := range points {
		if m := MachineText(&points[i]); m != "" {
			known[m] = true
		}
	}
	return func(r *job.Run) string {
		if len(known) < 2 {
			return ""
		}
		return MachineText(r)
	}
}

// sectionLabels returns a run's sections, sorted, without the run as a whole.
func sectionLabels(r *job.Run) []string {
	var labels []string
	for _, s := range r.Sections {
		if s.Label != job.MainSection {
			labels = append(labels, s.Label)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// level holds runs on the same cores with about the same total useful time.
type level struct {
	n, useful float64 // logarithms
	runs      []*job.Run
}

// band holds runs with about the same value.
type band struct {
	runs   []*job.Run
	median float64 // of the values
}

// gapped divides runs where their sorted values leave a gap.
func gapped(runs []*job.Run, value func(*job.Run) float64, gap float64) (all []band) {
	type valued struct {
		value float64
		run   *job.Run
	}
	sorted := make([]valued, len(runs))
	for i, r := range runs {
		sorted[i] = valued{value(r), r}
	}
	slices.SortStableFunc(sorted, func(a, b valued) int { return cmp.Or(cmp.Compare(a.value, b.value), compareRuns(a.run, b.run)) })
	for from, to := 0, 0; from < len(sorted); from = to {
		var one band
		var values []float64
		for ; to < len(sorted) && (to == from || !(sorted[to].value-sorted[to-1].value > gap)); to++ {
			one.runs, values = append(one.runs, sorted[to].run), append(values, sorted[to].value)
		}
		one.median = curve.Median(values)
		all = append(all, one)
	}
	return all
}

// chain is a group in the making: one level for each of its core counts, rising.
type chain []level

// byUseful divides runs by their total useful time. First it joins runs whose differences strong scaling
// explains. Then it joins runs on other core counts that repeated work or shared CPUs may explain.
func (like likeness) byUseful(runs []*job.Run) [][]*job.Run {
	byCores := map[int][]*job.Run{}
	for _, r := range runs {
		byCores[r.Cores()] = append(byCores[r.Cores()], r)
	}
	var chains []chain
	for _, n := range sortedKeys(byCores) {
		var levels []level
		for _, same := range gapped(byCores[n], func(r *job.Run) float64 { return math.Log(r.Useful) }, math.Log(like.same)) {
			levels = append(levels, level{math.Log(float64(n)), same.median, same.runs})
		}
		chains = like.extended(chains, levels)
	}
	var groups [][]*job.Run
	for _, c := range like.merged(chains) {
		var group []*job.Run
		for _, l := range c {
			group = append(group, l.runs...)
		}
		groups = append(groups, group)
	}
	return groups
}

func sortedKeys[V any](m map[int]V) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// MedianOf returns the median of a figure of the runs.
func MedianOf(runs []job.Run, value func(*job.Run) float64) float64 {
	all := make([]float64, len(runs))
	for i := range runs {
		all[i] = value(&runs[i])
	}
	return curve.Median(all)
}

// extended appends the levels of one more core count to the chains that they continue as strong scaling does,
// the nearest first. Other levels begin chains of their own.
func (like likeness) extended(chains []chain, levels []level) []chain {
	type pair struct {
		chain, level int
		off          float64
	}
	var pairs []pair
	for i, c := range chains {
		for j, l := range levels {
			if off := math.Abs(l.useful - c[len(c)-1].useful); off <= like.bound(c[len(c)-1], l) {
				pairs = append(pairs, pair{i, j, off})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.chain, b.chain), cmp.Compare(a.level, b.level))
	})
	longer, placed := make([]bool, len(chains)), make([]bool, len(levels))
	for _, p := range pairs {
		if !longer[p.chain] && !placed[p.level] {
			chains[p.chain] = append(chains[p.chain], levels[p.level])
			longer[p.chain], placed[p.level] = true, true
		}
	}
	for j, l := range levels {
		if !placed[j] {
			chains = append(chains, chain{l})
		}
	}
	return chains
}

// bound returns how far ln of the total useful times may differ.
func (like likeness) bound(from, to level) float64 {
	return math.Log(like.strong) + mostStrong*(to.n-from.n)
}

// merged joins chains, as long as no core count is in both and the useful time per rank does not grow from one
// level to the next.
func (like likeness) merged(chains []chain) []chain {
	for i := 0; i < len(chains); i++ {
		for j := i + 1; j < len(chains); j++ {
			if both, ok := like.joined(chains[i], chains[j]); ok {
				chains[i] = both
				chains = slices.Delete(chains, j, j+1)
				i = -1
				break
			}
		}
	}
	return chains
}

func (like likeness) joined(a, b chain) (chain, bool) {
	both := append(slices.Clone(a), b...)
	slices.SortFunc(both, func(a, b level) int { return cmp.Compare(a.n, b.n) })
	for i := 1; i < len(both); i++ {
		from, to := both[i-1], both[i]
		grown := to.useful - from.useful
		if from.n == to.n || grown < -like.bound(from, to) || grown > math.Log(like.same)+to.n-from.n {
			return nil, false
		}
	}
	return both, true
}

// different says what separates a group of runs from the studied one.
func different(studied, other []job.Run) string {
	if a, b := machineOf(studied), machineOf(other); a != b {
		return fmt.Sprintf("other machine: %s, not %s", cmp.Or(b, "not known"), cmp.Or(a, "not known"))
	}
	mine, theirs := sectionLabels(&studied[0]), sectionLabels(&other[0])
	if !slices.Equal(mine, theirs) {
		return "their sections are " + listOf(theirs) + ", not " + listOf(mine)
	}
	useful := func(r *job.Run) float64 { return r.Useful }
	if stepsApart(studied, other) > math.Log(collectivesFactor) {
		return otherStepsText(other, studied)
	}
	return fmt.Sprintf("their ranks computed for %s in sum, not %s: another amount of work", figure.Seconds(MedianOf(other, useful)), figure.Seconds(MedianOf(studied, useful)))
}

// machineOf returns the machine of a group, if one of its runs knows it, else "".
func machineOf(group []job.Run) string {
	for i := range group {
		if m := MachineText(&group[i]); m != "" {
			return m
		}
	}
	return ""
}

// MachineText words the machine that a run's curve belongs to; "": not known. Runs on other frequencies or
// memory are not separated.
func MachineText(r *job.Run) string {
	if r.Conditions == nil || r.Conditions.Machine == nil {
		return ""
	}
	m := r.Conditions.Machine
	return fmt.Sprintf("%s, %s, %s, %s each", cmp.Or(m.Model, "a CPU without a name"), figure.Counted(m.Sockets, "socket"), figure.Counted(m.Cores, "core"), figure.Counted(m.ThreadsPerCore, "thread"))
}

// mostListed bounds how many labels a sentence names.
const mostListed = 4

func listOf(labels []string) string {
	switch {
	case len(labels) == 0:
		return "none"
	case len(labels) > mostListed:
		return strings.Join(labels[:mostListed], ", ") + " and " + figure.Count(len(labels)-mostListed) + " more"
	}
	return strings.Join(labels, ", ")
}

// isMainRun reports whether a run is the job's main program.
func isMainRun(r *job.Run, j *job.Job) bool {
	return r.Cluster == j.Cluster && r.JobID == j.JobID && r.Attempt == j.Attempt && r.Execution == job.MainExecution(j.Executions)
}
