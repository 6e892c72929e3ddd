package workload

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// What runs of the same work on the same machine have in common. If it differs, the times on two core counts
// say nothing about the core counts.
const (
	// mostDrift bounds how much longer the same work may take in another week: machines, their load and their
	// software change. A rise must surely exceed it.
	mostDrift = 0.2
	// fewestEach is the least number of jobs on each of two core counts.
	fewestEach = 2
	// moreWork and lessWork bound the total useful time over that on fewer cores. More may be another input, less
	// may be caches.
	moreWork, lessWork = 1.25, 0.5
	// sameWork bounds differences in calls, or in the total useful time, if the key does not guarantee the same
	// work.
	sameWork = 0.10
	// sameClock bounds differences in the highest frequencies.
	sameClock = 0.05
	// lostCPU is the part of the expected CPU time below which ranks lost their CPUs to others, or were stopped.
	lostCPU = 0.8
	// leastWaiting is the least part of the time in MPI that shows whether waiting takes CPU time.
	leastWaiting = 0.05
	// otherWeeks is the time between runs from which the machine may have become slower.
	otherWeeks = 14 * 24 * time.Hour
)

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

// jobs counts the jobs that ran on it: runs of one job share its nodes and its hour.
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

// notSame returns what differs between runs on two core counts; "": nothing.
func (s *Study) notSame(here, than *side) string {
	for _, why := range []func(here, than *side) string{otherBuild, otherMachine, otherSteps, otherNodes, unlikeRuns, lessCPU, slowerWeeks, s.otherInput} {
		if text := why(here, than); text != "" {
			return text
		}
	}
	return ""
}

// otherMachine compares partitions only if nothing says what nodes they have.
func otherMachine(here, than *side) string {
	if a, b := here.names(MachineText), than.names(MachineText); apart(a, b) {
		return fmt.Sprintf("they ran on %s, not %s", listOf(a), listOf(b))
	} else if len(a) > 0 && len(b) > 0 {
		if a, b := here.clock(), than.clock(); a > 0 && b > 0 && math.Abs(math.Log(a/b)) > sameClock {
			return fmt.Sprintf("the highest frequency of their nodes is %s MHz, not %s", figure.Count(int(a)), figure.Count(int(b)))
		}
		return ""
	}
	if why := otherPartition(here, than); why != "" {
		return why + ", and whether its nodes are as fast is not known"
	}
	return ""
}

func otherPartition(here, than *side) string {
	a, b := here.names(func(r *job.Run) string { return r.Partition }), than.names(func(r *job.Run) string { return r.Partition })
	if apart(a, b) {
		return fmt.Sprintf("they ran in partition %s, not %s", listOf(a), listOf(b))
	}
	return ""
}

func otherBuild(here, than *side) string {
	if apart(here.names(func(r *job.Run) string { return r.BuildID }), than.names(func(r *job.Run) string { return r.BuildID })) {
		return "the program was built anew between"
	}
	return ""
}

// names returns what the runs say, sorted, each once.
func (o *side) names(of func(*job.Run) string) (all []string) {
	for i := range o.runs {
		if name := of(&o.runs[i]); name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// apart reports whether two lists are known and share nothing.
func apart(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// clock returns the median of the runs' highest frequencies, MHz; one that is not known counts as 0.
func (o *side) clock() float64 {
	return MedianOf(o.runs, func(r *job.Run) float64 {
		if r.Conditions == nil || r.Conditions.Machine == nil {
			return 0
		}
		return float64(r.Conditions.Machine.MaxMHz)
	})
}

// otherSteps compares the collective calls of a rank: a solver that needs more steps makes more of them.
func otherSteps(here, than *side) string {
	if stepsApart(here.runs, than.runs) <= math.Log1p(sameWork) {
		return ""
	}
	return otherStepsText(here.runs, than.runs)
}

// otherNodes returns a reason if the times on one of the core counts depend on the number of nodes.
func otherNodes(here, than *side) string {
	for _, o := range []*side{here, than} {
		byNodes := map[int][]float64{}
		for i := range o.runs {
			byNodes[o.runs[i].Nodes] = append(byNodes[o.runs[i].Nodes], o.runs[i].Elapsed)
		}
		fast, slow := o.Nodes[0], o.Nodes[0]
		for _, n := range o.Nodes {
			if curve.Median(byNodes[n]) < curve.Median(byNodes[fast]) {
				fast = n
			}
			if curve.Median(byNodes[n]) > curve.Median(byNodes[slow]) {
				slow = n
			}
		}
		if longer := curve.Median(byNodes[slow])/curve.Median(byNodes[fast]) - 1; longer > mostDrift {
			text, than := longerThan(longer)
			return fmt.Sprintf("%s took %s on %s %s on %s: the number of nodes makes the difference", figure.Counted(o.N, "core"), text, figure.Counted(slow, "node"), than, figure.Count(fast))
		}
	}
	return ""
}

// unlikeRuns returns a reason if runs on the same cores did different work: the same work takes about as long
// in every week.
func unlikeRuns(here, than *side) string {
	for _, o := range []*side{here, than} {
		if spread := o.usefulSpread(); spread > mostDrift {
			return fmt.Sprintf("what its ranks computed on %s differs by %s from run to run: other work, or something else that changes", figure.Counted(o.N, "core"), figure.Percent(spread))
		}
	}
	return ""
}

// usefulSpread returns the standard deviation of ln of the total useful time, from the median deviation, so
// that a single run on a slow node does not count. It is 0 for two runs: they do not show it.
func (o *side) usefulSpread() float64 {
	if len(o.runs) < 3 {
		return 0
	}
	all := make([]float64, len(o.runs))
	for i := range o.runs {
		all[i] = math.Log(o.runs[i].Useful)
	}
	middle := curve.Median(all)
	for i := range all {
		all[i] = math.Abs(all[i] - middle)
	}
	return 1.4826 * curve.Median(all)
}

// workAgainst returns how many times as much useful work was done, in sum, as on other cores. It counts
// instructions if both have them.
func workAgainst(here, than *side) float64 {
	a, b := workOf(here.runs), workOf(than.runs)
	if a.Instructions > 0 && b.Instructions > 0 {
		return a.Instructions / b.Instructions
	}
	return a.Useful / b.Useful
}

// slowerWeeks returns a reason if the same work took more useful time in other weeks: the machine may have been
// slower.
func slowerWeeks(here, than *side) string {
	first, last := here.weeks()
	thanFirst, thanLast := than.weeks()
	gap := max(first.Sub(thanLast), thanFirst.Sub(last))
	more := workAgainst(here, than)
	if gap < otherWeeks || math.Abs(math.Log(more)) <= math.Log1p(sameWork) {
		return ""
	}
	return fmt.Sprintf("they ran %s apart, and their ranks computed %s in sum: the machine may have been slower", figure.Counted(int(gap.Hours()/24), "day"), figure.Change(more-1))
}

// weeks returns when the first and the last run started.
func (o *side) weeks() (first, last time.Time) {
	first, last = o.runs[0].Start, o.runs[0].Start
	for i := range o.runs {
		if at := o.runs[i].Start; at.Before(first) {
			first = at
		} else if at.After(last) {
			last = at
		}
	}
	return first, last
}

// otherInput compares the work if the input is not known. A single job may have done as much by chance.
// Different inputs under one name may still be the same work, such as the parts of a long run.
func (s *Study) otherInput(here, than *side) string {
	if s.like == inputKnown {
		return ""
	}
	if why := otherAmount(here, than); why != "" {
		return why
	}
	for _, o := range []*side{here, than} {
		if o.jobs() < fewestEach && !s.Workload.Named() {
			return fmt.Sprintf("the input is not known, and only one job on %s did as much work", figure.Counted(o.N, "core"))
		}
	}
	return ""
}

// otherAmount compares the work if the input may differ.
func otherAmount(here, than *side) string {
	least, most, doubt := lessWork, moreWork, "whether the input is the same is not known"
	if apart(here.names(inputOf), than.names(inputOf)) {
		least, most, doubt = 1/(1+sameWork), 1+sameWork, "the input is another"
	}
	if more := workAgainst(here, than); more < least || more > most {
		return fmt.Sprintf("their ranks computed %s in sum, and %s", figure.Change(more-1), doubt)
	}
	return ""
}

// inputOf returns the hash of a run's input; "": not known.
func inputOf(r *job.Run) string {
	if r.Conditions == nil {
		return ""
	}
	return r.Conditions.Input
}

// unlike returns why runs cannot be compared with earlier ones on as many cores. work says why they did other
// work, nodes why their nodes are of another kind, or may be. Each is "" if no difference is known. Another
// build or library may do the same work.
func unlike(before, since []job.Run, sameArguments bool) (work, nodes string) {
	than, here := &side{runs: before}, &side{runs: since}
	work, nodes = cmp.Or(otherProgram(here, than), otherSteps(here, than)), cmp.Or(otherMachine(here, than), otherPartition(here, than))
	a, b := than.names(inputOf), here.names(inputOf)
	if sameInput := sameArguments && len(a) == 1 && slices.Equal(a, b); work == "" && !sameInput {
		work = otherAmount(here, than)
	}
	return work, nodes
}

func otherProgram(here, than *side) string {
	name := func(r *job.Run) string {
		if r.Executable == "" {
			return "an unknown program"
		}
		return filepath.Base(r.Executable)
	}
	if a, b := here.names(name), than.names(name); apart(a, b) {
		return fmt.Sprintf("their ranks ran %s, not %s", listOf(a), listOf(b))
	}
	return ""
}

// OtherWork returns why a run did not do the same work as an earlier one: "its ranks …"; "": it did, as far as
// is known.
func OtherWork(before, after *job.Run, sameArguments bool) string {
	work, _ := unlike([]job.Run{*before}, []job.Run{*after}, sameArguments)
	return strings.Replace(work, "their ranks", "its ranks", 1)
}

// Peers returns the workload's runs that can be compared with one of them, oldest first: points with the same
// work, on as many cores, in the same mix, without the run itself. left are the other runs on as many cores in
// that mix.
func Peers(runs []job.Run, of *job.Run) (peers []job.Run, left []LeftOut) {
	points, others := pointsAmong(runs)
	for i := range points {
		why := ""
		if work := OtherWork(&points[i], of, true); work != "" {
			why = fmt.Sprintf("job %s did other work: %s", of.DisplayID, work)
		}
		others = append(others, LeftOut{points[i], why})
	}
	for _, o := range others {
		switch r := &o.Run; {
		case sameRun(r, of) || r.Ranks != of.Ranks || r.Cores() != of.Cores():
		case o.Why == "":
			peers = append(peers, *r)
		default:
			left = append(left, o)
		}
	}
	return peers, left
}

// lessCPU compares CPU time with what computing and waiting took on fewer cores. Ranks that sleep have little
// on all cores, and some MPIs wait without a CPU. If no rank waited on fewer cores, it is not known how this
// MPI waits.
func lessCPU(here, than *side) string {
	a, b := cpuShare(here.runs), cpuShare(than.runs)
	computing, waiting := math.Min(b/than.PE, 1), 0.0
	if wait := 1 - than.PE; wait > leastWaiting {
		waiting = curve.Clamp((b-than.PE)/wait, 0, 1)
	}
	want := computing*here.PE + waiting*(1-here.PE)
	if !(a < lostCPU*want) {
		return ""
	}
	return fmt.Sprintf("their ranks had a CPU for %s of the time only, where %s was to be expected: somebody else used it, or they were stopped", figure.Percent(a), figure.Percent(want))
}

// cpuShare returns the ranks' CPU time per second; NaN: a run does not know it.
func cpuShare(runs []job.Run) float64 {
	if slices.ContainsFunc(runs, func(r job.Run) bool { return r.Conditions == nil || !r.Conditions.Counted || r.Conditions.Span <= 0 }) {
		return math.NaN()
	}
	return MedianOf(runs, func(r *job.Run) float64 { return r.Conditions.CPUTime / r.Conditions.Span })
}

// longerThan says how much longer something took, and the word that follows: "than" or "as".
func longerThan(change float64) (text, word string) {
	if figure.Twice(change) {
		return figure.Longer(change), "as"
	}
	return figure.Longer(change), "than"
}
