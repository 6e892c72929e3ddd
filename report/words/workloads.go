package words

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/text"
)

// programColumn is left out on a narrow terminal.
const programColumn = 2

// Workloads writes a line for each workload, in the given order, those of jobs without a record of a program first.
func Workloads(w io.Writer, studies []*workload.Study, named []listing.WorkloadSummary, opts ListOptions) error {
	p := text.NewPage(opts.Options)
	t := block.Table{Heads: []string{"<!Workload", "<User", "<Program", "Runs", "<Cores", "<!Advice", "Core-h", "Lost"}}
	if p.Width < roomy {
		t.Gap = " "
	}
	var hours listing.Hours
	for _, n := range named {
		n = inert.Copy(n, p.Unicode)
		hours.Used += n.CoreHours
		t.Rows = append(t.Rows, []string{n.Name, n.Newest.User, "-", figure.Count(n.Runs), coreRange(n.FewestCores, n.MostCores), "no record of a program", figure.Hours(n.CoreHours), "-"})
	}
	for _, study := range studies {
		sum := study.Workload.Sum()
		hours.Add(listing.Hours{Used: sum.Used, Judged: sum.Known, Lost: sum.Lost})
		t.Rows = append(t.Rows, workloadRow(inert.Copy(study, p.Unicode)))
	}
	if p.Width < roomy && !opts.Parsable2 { // the name has the program in it, unless its user gave it
		t.Heads = slices.Delete(t.Heads, programColumn, programColumn+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], programColumn, programColumn+1)
		}
	}
	switch {
	case opts.Parsable2:
		parsable(p, t, opts.NoHeader)
	case len(t.Rows) == 0 && !opts.NoHeader:
		p.Line("no workload ran in this time: look further back with -S, as -S -180days")
	case opts.NoHeader:
		p.Rows(t)
	default:
		p.Table(t, "")
		if opts.More {
			p.Line("there are more workloads: raise --limit")
		}
		p.Line("")
		if total := totalText(figure.Counted(len(studies)+len(named), "workload"), hours); total != "" {
			p.Paragraph("", "", total, nil)
		}
		p.Paragraph("", "", "Advice: fewer cores that would have been better for the newest run; "+
			"Core-h: core-hours of all runs; Lost: the part of them that was not useful. jobeff workload NAME shows one with its curve.", nil)
		if len(named) > 0 {
			p.Paragraph("", "", "Jobs that left no record of a program are told apart by their names: Runs are jobs, Cores their CPUs.", nil)
		}
	}
	return p.To(w)
}

func workloadRow(s *workload.Study) []string {
	w := s.Workload
	sum := w.Sum()
	return []string{w.Name, w.User, filepath.Base(w.Executable), figure.Count(sum.Runs), coresText(s), briefAdvice(s), figure.Hours(sum.Used), figure.Hours(sum.Lost)}
}

// coresText is the range of core counts on a workload's curve.
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

// briefAdvice is the best recommendation in a few words.
func briefAdvice(s *workload.Study) string {
	muted := ""
	if s.Muted != nil {
		muted = " (muted)"
	}
	if r := policy.Recommend(s, nil); r != nil {
		said := figure.Counted(int(r.Cores.Value), "core")
		if r.Share != nil {
			said += fmt.Sprintf(": %s saved", figure.Percent(r.Share.Value))
		}
		return said + muted
	}
	switch {
	case len(s.Counts) == 0:
		return "no data" + muted
	case s.Scaling == workload.ScalingWeak:
		return "scales weakly" + muted
	case s.Curve.Refused != "":
		return "more runs" + muted
	}
	return noneKnown(s) + muted
}

// noneKnown is how well the newest run did, where no fewer cores are known to be better.
func noneKnown(s *workload.Study) string {
	if s.Mine == nil {
		return "none known"
	}
	return "none known, PE " + figure.Efficiency(s.At(s.Mine.Cores()).PE)
}
