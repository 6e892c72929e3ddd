package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// Workload writes what the runs of one workload say: what was measured on each core
// count, the curve, the core counts that follow, and what is left out.
func Workload(w io.Writer, study *workload.Study, opts Options) error {
	p := newPage(opts)
	s := Inert(study, p.unicode)
	p.paragraph("", "", "Workload "+s.Workload.Name, p.title)
	p.workloadFacts(s)
	p.counts(s)
	p.curvePlot(s)
	p.advice(s)
	p.expected(s)
	p.bounds(s)
	p.apart(s)
	warnings := append(texts(s.Warnings), texts(s.Curve.Warnings)...)
	if len(warnings) > 0 {
		p.line("")
	}
	for _, text := range warnings {
		p.field("Warning", text)
	}
	_, err := p.out.WriteTo(w)
	return err
}

func texts[T fmt.Stringer](all []T) (out []string) {
	for _, one := range all {
		out = append(out, one.String())
	}
	return out
}

// workloadFacts writes whose it is and what it stands on.
func (p *page) workloadFacts(s *workload.Study) {
	w := s.Workload
	program := w.Executable
	if r := newestRun(s); r != nil { // runs that cannot share their curve may be another's
		program = r.Executable
	}
	p.field("Program", joined(", ", program, of("of", w.User), of("key", w.Key)))
	if w.InputNote != "" {
		p.field("Input", "not known: "+w.InputNote+"; other inputs are told apart by their work only")
	}
	p.field("Runs", runsText(s)+newestText(s))
	if used, lost := s.Hours(); used > 0 {
		p.field("Core-hours", fmt.Sprintf("%s used by all its runs, %s of them not useful", figure.Hours(used), figure.Hours(lost)))
	}
	if s.Muted != nil {
		p.field("Muted", joined(": ", mutedText(&s.Muted.Until), s.Muted.Reason))
	}
	p.field("Scaling", string(s.Scaling)+": "+s.Why)
}

// newestRun is the last of the runs that were studied, nil where there is none.
func newestRun(s *workload.Study) (newest *job.Run) {
	for i := range s.Runs {
		if newest == nil || s.Runs[i].Start.After(newest.Start) {
			newest = &s.Runs[i]
		}
	}
	return newest
}

func newestText(s *workload.Study) string {
	newest := newestRun(s)
	if newest == nil {
		return ""
	}
	return fmt.Sprintf("; the newest is job %s of %s", newest.DisplayID, figure.Minute(newest.Start))
}

// counts writes a line per core count.
func (p *page) counts(s *workload.Study) {
	if len(s.Counts) == 0 {
		return
	}
	weak := s.Counts[0].Weak != nil
	t := table{heads: []string{"cores", "nodes", "runs", "time", "spread", "PE", "overhead", "CompS", "GE", "core-hours"}}
	if weak {
		t.heads = []string{"cores", "nodes", "runs", "time", "spread", "PE", "weak efficiency", figure.Percent(s.Curve.Level)}
	}
	counters := false
	for _, c := range s.Counts {
		row := []string{figure.Count(c.N), nodesText(c.Nodes), figure.Count(c.Runs), figure.Seconds(c.T), spreadText(c), figure.Efficiency(c.PE)}
		if weak {
			row = append(row, figure.Efficiency(c.Weak.Value), figure.Interval(c.Weak.Low, c.Weak.High, figure.Efficiency))
		} else {
			row = append(row, figure.Seconds(c.Tau), figure.Ratio(c.Scaling.CompS), figure.Efficiency(c.GE), figure.Hours(c.CoreHours))
		}
		t.rows = append(t.rows, row)
		counters = counters || c.Scaling.InsS != nil
	}
	p.heading("Measured, by cores")
	p.table(t, "  ")
	text := "time: median, MPI_Init to MPI_Finalize"
	if weak {
		text += fmt.Sprintf("; weak efficiency: time on %s / time here", figure.Counted(s.Reference, "core"))
	} else {
		text += fmt.Sprintf("; overhead: time (1 - PE); CompS: useful time on %s / here, both in sum; GE: PE x CompS", figure.Counted(s.Reference, "core"))
	}
	p.paragraph("  ", "  ", text, nil)
	if counters && !weak {
		p.scalings(s)
	}
}

// scalings writes the factors of CompS where they were counted.
func (p *page) scalings(s *workload.Study) {
	t := table{heads: []string{"cores", "CompS", "instructions", "IPC", "frequency"}}
	for _, c := range s.Counts {
		if f := c.Scaling; f.InsS != nil {
			t.rows = append(t.rows, []string{figure.Count(c.N), figure.Ratio(f.CompS), figure.Ratio(*f.InsS), figure.Ratio(*f.IPCS), figure.Ratio(*f.FreqS)})
		}
	}
	p.heading("Computation scaling = instructions x IPC x frequency")
	p.table(t, "  ")
}

// nodesText lists on how many nodes a core count ran.
func nodesText(nodes []int) string {
	var all []string
	for _, n := range nodes {
		all = append(all, strconv.Itoa(n))
	}
	if len(all) > 3 {
		return all[0] + "-" + all[len(all)-1]
	}
	return strings.Join(all, ",")
}

// spreadText is how far the longest run is over the shortest.
func spreadText(c workload.Count) string {
	if c.Runs < 2 {
		return "-"
	}
	return figure.Percent(c.Longest/c.Shortest - 1)
}

// advice writes the core counts that follow from the runs.
func (p *page) advice(s *workload.Study) {
	p.line("")
	if s.Curve.Refused != "" {
		p.field("No curve", whyRefused(s))
	} else {
		p.countsOf(s.Curve)
	}
	all := s.Recommend(nil)
	for i := range all {
		p.field([]string{"Advice", ""}[min(i, 1)], recommendationText(&all[i]))
	}
	if s.Mine != nil && len(all) > 0 {
		p.field("", fmt.Sprintf("(against its newest run, job %s on %s)", s.Mine.DisplayID, figure.Counted(s.Mine.Cores(), "core")))
	}
	if s.Curve.Refused == "" || len(all) > 0 {
		p.field("Intervals", figure.Percent(s.Curve.Level)+" confidence")
	}
	if s.Curve.Next != nil {
		p.field("Next run", nextRun(s.Curve.Next))
	}
}

// whyRefused is why there is no curve; where no run is a point of one, why the last is not.
func whyRefused(s *workload.Study) string {
	if len(s.Runs) == 0 && len(s.Left) > 0 {
		return s.Left[len(s.Left)-1].Why
	}
	return s.Curve.Refused
}

// expected writes what runs on other core counts would take.
func (p *page) expected(s *workload.Study) {
	if len(s.Curve.Predicted) == 0 {
		return
	}
	p.heading("Expected of a next run")
	p.predictions(s.Curve, "  ")
}

// bounds writes what section binds the program on each core count.
func (p *page) bounds(s *workload.Study) {
	if len(s.Sections) == 0 {
		return
	}
	t := table{heads: []string{"cores", "speedup", "<bounding section", "bound", "<next", "bound"}}
	first := s.Counts[0]
	for i, b := range s.Sections {
		row := []string{figure.Count(b.N), figure.Number(first.T / s.Counts[i].T)}
		for k := range 2 {
			if k < len(b.Bounds) {
				row = append(row, b.Bounds[k].Label, figure.Number(b.Bounds[k].Speedup))
			} else {
				row = append(row, "-", "-")
			}
		}
		t.rows = append(t.rows, row)
	}
	p.heading("Partial speedup bounds")
	p.table(t, "  ")
	p.paragraph("  ", "  ", "bound: the program cannot get faster than this while that section takes as long", nil)
	if s.Reference > 1 {
		p.line(fmt.Sprintf("  relative to %s: no run on one core is known", figure.Counted(s.Reference, "core")))
	}
	var slower []string
	for _, i := range s.Inflexions {
		if i.At.Estimate != nil {
			slower = append(slower, fmt.Sprintf("%s from %s cores (%s)", i.Label, figure.Cores(i.At.Estimate.Value), figure.Interval(i.At.Estimate.Low, i.At.Estimate.High, figure.Cores)))
		}
	}
	if len(slower) > 0 {
		p.paragraph("  ", "  ", "sections that more cores only made slower: "+strings.Join(slower, ", "), nil)
	}
}

// apart writes the runs that are no points and those that cannot share the curve.
func (p *page) apart(s *workload.Study) {
	if len(s.Left)+len(s.Splits) == 0 {
		return
	}
	p.heading("Left out")
	lines := []string{}
	for _, split := range s.Splits {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", figure.Counted(len(split.Runs), "run"), idsText(split.Runs), split.Why))
	}
	byWhy := map[string][]string{}
	var whys []string
	for _, l := range s.Left {
		if byWhy[l.Why] == nil {
			whys = append(whys, l.Why)
		}
		byWhy[l.Why] = append(byWhy[l.Why], l.Run.DisplayID)
	}
	slices.Sort(whys)
	for _, why := range whys {
		ids := byWhy[why]
		lines = append(lines, fmt.Sprintf("%s (%s): %s", figure.Counted(len(ids), "run"), someOf(ids), why))
	}
	for i, l := range lines {
		if i == listed {
			p.line(fmt.Sprintf("  and %d more; --json has them", len(lines)-i))
			return
		}
		p.paragraph("  ", "    ", l, nil)
	}
}

// someOf names the first few jobs.
func someOf(ids []string) string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > costly {
		ids = append(ids[:costly:costly], "...")
	}
	return "job " + strings.Join(ids, ", ")
}

// WorkloadPlan writes the line that starts the run that would teach most.
func WorkloadPlan(w io.Writer, study *workload.Study, opts Options) error {
	p := newPage(opts)
	s := Inert(study, p.unicode)
	next := s.Curve.Next
	switch {
	case next == nil && s.Curve.Refused != "":
		p.paragraph("# ", "# ", "no run is planned for "+s.Workload.Name+": "+whyRefused(s), nil)
	case next == nil:
		p.paragraph("# ", "# ", "no run on other cores would teach more of "+s.Workload.Name, nil)
	default:
		p.paragraph("# ", "# ", s.Workload.Name+": "+nextRun(next), nil)
		p.line(planLine(s))
	}
	_, err := p.out.WriteTo(w)
	return err
}

// planLine is the sbatch line of the next run: of the script that started the others,
// whose name nobody recorded.
func planLine(s *workload.Study) string { return SbatchLine(s.Curve.Next.N, s) }

// namedOption makes a new run join a workload that its user named.
func namedOption(s *workload.Study) string {
	if name := s.Workload.Name; name != "" && !strings.HasPrefix(name, filepath.Base(s.Workload.Executable)+"-") && plainWord(name) {
		return " --jobeff-workload=" + name
	}
	return ""
}

// plainWord says whether a shell takes s as one word that means itself.
func plainWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-/:@", r))
	}) < 0
}
