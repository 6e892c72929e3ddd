package words

import (
	"fmt"
	"path/filepath"
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

// OfWorkloads has a line for each workload, in the given order, those of jobs without a record of a program first.
func OfWorkloads(studies []*workload.Study, named []listing.WorkloadSummary, more, wide bool) Workloads {
	w := Workloads{Table: block.Table{Heads: []string{"<!Workload", "<User", "<Program", "Runs", "<Cores", "<!Advice", "Core-h", "Lost"}}}
	var hours listing.Hours
	for _, n := range inert.Copy(named, wide) {
		hours.Used += n.CoreHours
		w.Table.Rows = append(w.Table.Rows, []string{n.Name, n.Newest.User, "-", figure.Count(n.Runs), coreRange(n.FewestCores, n.MostCores), "no record of a program", figure.Hours(n.CoreHours), "-"})
	}
	for _, study := range studies {
		sum := study.Workload.Sum()
		hours.Add(listing.Hours{Used: sum.Used, Judged: sum.Known, Lost: sum.Lost})
		w.Table.Rows = append(w.Table.Rows, workloadRow(inert.Copy(study, wide)))
	}
	if len(w.Table.Rows) == 0 {
		w.Empty = "no workload ran in this time: look further back with -S, as -S -180days"
	}
	if more {
		w.More = "there are more workloads: raise --limit"
	}
	w.Under = block.Notes(totalText(figure.Counted(len(studies)+len(named), "workload"), hours), "Advice: fewer cores that would have been better for the newest run; "+
		"Core-h: core-hours of all runs; Lost: the part of them that was not useful. jobeff workload NAME shows one with its curve.")
	if len(named) > 0 {
		w.Under = append(w.Under, "Jobs that left no record of a program are told apart by their names: Runs are jobs, Cores their CPUs.")
	}
	return w
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
