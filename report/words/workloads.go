package words

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Workloads is a list of workloads.
type Workloads struct {
	Table block.Table
	Empty string   // what to do if there are none
	More  string   // says that there are more
	Under []string // totals, and what the columns mean
}

// WorkloadSorts are the orders of a list of workloads by their names, and what a reader is told of each. LastRun is the usual one.
var WorkloadSorts = map[string]string{LastRun: "the newest last", "lost": OrderWords("lost"), "corehours": OrderWords("corehours"), "runs": OrderWords("runs"), "name": OrderWords("-name")}

const LastRun = "last"

// workloadLine is a line of a list of workloads: a study, or jobs that left no record of a program.
type workloadLine struct {
	cells  []string
	named  bool
	runs   int
	hours  listing.Hours
	newest time.Time
}

// OfWorkloads has a line for each workload, in the order of opts.Sort. opts.Most bounds the lines.
func OfWorkloads(studies []*workload.Study, named []listing.WorkloadSummary, opts ListOptions, wide bool) Workloads {
	w := Workloads{Table: block.Table{Heads: []string{"<!Workload", "<User", "<Program", "Runs", "Cores", "<!Advice", "Core-h", "Lost"}}}
	var lines []workloadLine
	for _, n := range inert.Copy(named, wide) {
		lines = append(lines, workloadLine{named: true, runs: n.Runs, hours: listing.Hours{Used: n.CoreHours}, newest: n.Newest.Start,
			cells: []string{n.Name, n.Newest.User, "-", figure.Count(n.Runs), coreRange(n.FewestCores, n.MostCores), "no record of a program", figure.Hours(n.CoreHours), "-"}})
	}
	for _, study := range studies {
		sum, one := study.Workload.Sum(), workloadLine{cells: workloadRow(inert.Copy(study, wide))}
		one.runs, one.hours = sum.Runs, listing.Hours{Used: sum.Used, Judged: sum.Known, Lost: sum.Lost}
		if runs := study.Workload.Runs; len(runs) > 0 {
			one.newest = runs[len(runs)-1].Start
		}
		lines = append(lines, one)
	}
	sortWorkloads(lines, opts.Sort)
	left := max(len(lines)-cmp.Or(opts.Most, len(lines)), 0)
	switch {
	case opts.More && opts.Sort != LastRun: // jobeffd has them in another order
		w.More = "there are older workloads that are not listed: give a later -S"
	case opts.More || left > 0:
		w.More = "there are more workloads: raise --limit"
	}
	if opts.Sort == LastRun {
		lines = lines[left:]
	} else {
		lines = lines[:len(lines)-left]
	}
	var hours listing.Hours
	for _, one := range lines {
		hours.Add(one.hours)
		w.Table.Rows = append(w.Table.Rows, one.cells)
	}
	if len(lines) == 0 {
		w.Empty = "no workload ran in this time: look further back with -S, as -S -180days"
	}
	w.Under = block.Notes(totalText(figure.Counted(len(lines), "workload"), hours), "Order: "+WorkloadSorts[opts.Sort]+". Advice: fewer cores that would have been better for the newest run; "+
		"Core-h: core-hours of all runs; Lost: the part of them that was not useful. jobeff workload NAME shows one with its curve.")
	if slices.ContainsFunc(lines, func(l workloadLine) bool { return l.named }) {
		w.Under = append(w.Under, "Jobs that left no record of a program are told apart by their names: Runs are jobs, Cores their CPUs.")
	}
	return w
}

// sortWorkloads sorts by a name of WorkloadSorts. Where it is not known what was lost, that comes last.
func sortWorkloads(lines []workloadLine, by string) {
	slices.SortStableFunc(lines, func(a, b workloadLine) int {
		switch by {
		case "lost":
			return cmp.Or(cmp.Compare(b.hours.Lost, a.hours.Lost), cmp.Compare(b.hours.Judged, a.hours.Judged))
		case "corehours":
			return cmp.Compare(b.hours.Used, a.hours.Used)
		case "runs":
			return cmp.Compare(b.runs, a.runs)
		case "name":
			return strings.Compare(a.cells[0], b.cells[0])
		}
		return a.newest.Compare(b.newest)
	})
}

func workloadRow(s *workload.Study) []string {
	w := s.Workload
	sum := w.Sum()
	return []string{w.Name, w.User, filepath.Base(w.Executable), figure.Count(sum.Runs), coresText(s), briefAdvice(s), figure.Hours(sum.Used), lostText(sum.KnownLost())}
}

// lostText writes the lost core-hours of a workload.
func lostText(lost *float64) string {
	if lost == nil {
		return "-"
	}
	return figure.Hours(*lost)
}

// coresText writes the range of core counts on a workload's curve.
func coresText(s *workload.Study) string {
	if len(s.Counts) == 0 {
		return "-"
	}
	return coreRange(s.Counts[0].N, s.Counts[len(s.Counts)-1].N)
}

func coreRange(first, last int) string {
	if first == last {
		return figure.Count(first)
	}
	return figure.Count(first) + "-" + figure.Count(last)
}

// briefAdvice writes the best recommendation in a few words.
func briefAdvice(s *workload.Study) string {
	muted := ""
	if s.Muted != nil {
		muted = " (muted)"
	}
	if r := policy.RequestOf(s).Best; r != nil {
		said := figure.Counted(int(r.Cores.Value), "core")
		if r.Share != nil {
			said += fmt.Sprintf(": %s saved", figure.Percent(r.Share.Value))
		}
		return said + muted
	}
	switch {
	case len(s.Counts) == 0:
		return noPoint(s) + muted
	case s.Scaling == workload.ScalingWeak:
		return "scales weakly" + muted
	case s.Curve.Refused != "":
		return "more runs" + muted
	}
	return noneKnown(s) + muted
}

// noPoint says briefly why the newest run is no point of a curve, if no run is one.
func noPoint(s *workload.Study) string {
	why, newest := "no data", time.Time{}
	for i := range s.Left {
		if l := &s.Left[i]; !l.Run.Start.Before(newest) {
			newest = l.Run.Start
			why, _, _ = strings.Cut(l.Why, ", ")
		}
	}
	return why
}

// noneKnown says how well the newest run did, if no fewer cores are known to be better.
func noneKnown(s *workload.Study) string {
	if s.Mine == nil {
		return "none known"
	}
	return "none known, PE " + figure.Efficiency(s.At(s.Mine.Cores()).PE)
}
