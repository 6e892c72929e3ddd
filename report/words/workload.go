package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Workload words the runs of one workload: the measurements on each core count, the curve, the core counts that
// follow from it, and the runs that are left out.
type Workload struct {
	Name     string
	Headline block.Headline // bad: fewer cores would have been better; good: its newest run is known to have had a good core count
	Facts    []block.Fact
	Counts   []block.Part    // measurements, by cores
	Study    *workload.Study // drawn by a terminal
	Curves   []block.Curve   // run time and parallel efficiency over cores
	Advice   []block.Fact
	Options  block.Part // core counts to choose from
	Expected block.Part // predictions for other core counts
	Bounds   block.Part
	Apart    block.Part // runs that are left out
	Warnings []doubt.Doubt
	Line     block.Action // for sbatch
	Runs     block.Table  // the newest first
	Older    string       // says how many runs are not listed; "": none
}

// OfWorkload words the runs of a workload, and its request.
func OfWorkload(study *workload.Study, r *policy.Request, wide bool) Workload {
	s := inert.Copy(study, wide)
	as, last := policy.AsLast(study)
	w := Workload{Name: s.Workload.Name, Headline: workloadHeadline(study, r, wide), Facts: workloadFacts(s), Counts: countsParts(s), Study: s, Advice: adviceFacts(s, r),
		Options: optionsPart(policy.Options(as, last), r), Expected: expectedPart(s), Bounds: boundsPart(s), Apart: apartPart(s),
		Warnings: slices.Concat(s.Warnings, s.Curve.Warnings), Line: requestAction(r, wide)}
	if s.Workload.ByHand() {
		w.Line = block.Action{}
	}
	w.Runs, w.Older = runsTable(s)
	w.Curves = curvesOf(study)
	return w
}

// workloadFacts say who owns the workload, and how many runs it has.
func workloadFacts(s *workload.Study) []block.Fact {
	var f block.Facts
	w := s.Workload
	program := w.Executable
	if r := newestRun(s); r != nil { // runs outside the curve may be of another program
		program = r.Executable
	}
	f.Add("Program", block.Joined(", ", program, of("user", w.User), of("key", w.Key)))
	if w.InputNote != "" {
		f.Add("Input", "not known: "+w.InputNote+"; only their work tells runs on other inputs apart")
	}
	f.Add("Runs", runsText(s)+newestText(s))
	if sum := w.Sum(); sum.Used > 0 {
		said := fmt.Sprintf("%s used by all its runs, %s of them not useful", figure.Hours(sum.Used), figure.Hours(sum.Lost))
		if sum.Known == 0 {
			said = figure.Hours(sum.Used) + " used by all its runs; how many of them were lost is not known"
		} else if unknown := sum.Used - sum.Known; unknown >= 0.005*sum.Used {
			said += fmt.Sprintf("; of %s it is not known", figure.Hours(unknown))
		}
		f.Add("Core-hours", said)
	}
	if s.Muted != nil {
		f.Add("Muted", block.Joined(": ", mutedText(&s.Muted.Until), s.Muted.Reason))
	}
	f.Add("Scaling", string(s.Scaling)+": "+s.Why)
	return f
}

// newestRun returns the newest studied run; nil: there is none.
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

// countsParts have a line per core count, and the factors of CompS if they were counted.
func countsParts(s *workload.Study) []block.Part {
	if len(s.Counts) == 0 {
		return nil
	}
	reference := figure.Counted(s.Reference, "core")
	b := block.Part{Heading: "Measured, by cores"}
	if s.Counts[0].Weak != nil {
		b.Tables = []block.Table{weakTable(s)}
		b.Notes = []string{"time: median, MPI_Init to MPI_Finalize; weak efficiency: time on " + reference + " / time here"}
		return []block.Part{b}
	}
	b.Tables = []block.Table{strongTable(s)}
	b.Notes = []string{"time: median, MPI_Init to MPI_Finalize; overhead: time (1 - PE); CompS: computation scaling, total useful time on " + reference + " / here; GE: global efficiency, PE x CompS"}
	if t := scalingsTable(s); len(t.Rows) > 0 {
		return []block.Part{b, {Heading: "Computation scaling = instructions x IPC x frequency", Tables: []block.Table{t}}}
	}
	return []block.Part{b}
}

// countRow returns the first columns of both tables of core counts.
func countRow(c workload.Count, seconds func(float64) string) []string {
	return []string{figure.Count(c.N), nodesText(c.Nodes), figure.Count(c.Runs), seconds(c.T), spreadText(c), figure.Efficiency(c.PE)}
}

func medianTime(c workload.Count) float64 { return c.T }

func strongTable(s *workload.Study) block.Table {
	t := block.Table{Heads: []string{"cores", "nodes", "runs", "time", "spread", "PE", "overhead", "CompS", "GE", "core-hours"}}
	seconds := alike(s.Counts, medianTime, func(c workload.Count) float64 { return c.Tau })
	for _, c := range s.Counts {
		t.Rows = append(t.Rows, append(countRow(c, seconds), seconds(c.Tau), figure.Ratio(c.Scaling.CompS), figure.Efficiency(c.GE), figure.Hours(c.CoreHours)))
	}
	return t
}

func weakTable(s *workload.Study) block.Table {
	t := block.Table{Heads: []string{"cores", "nodes", "runs", "time", "spread", "PE", "weak efficiency", figure.Percent(s.Curve.Level)}}
	seconds := alike(s.Counts, medianTime)
	for _, c := range s.Counts {
		t.Rows = append(t.Rows, append(countRow(c, seconds), figure.Efficiency(c.Weak.Value), figure.Interval(c.Weak.Low, c.Weak.High, figure.Efficiency)))
	}
	return t
}

// scalingsTable has the factors of CompS, for the core counts that have them.
func scalingsTable(s *workload.Study) block.Table {
	t := block.Table{Heads: []string{"cores", "CompS", "instructions", "IPC", "frequency"}}
	for _, c := range s.Counts {
		if f := c.Scaling; f.InsS != nil {
			t.Rows = append(t.Rows, []string{figure.Count(c.N), figure.Ratio(f.CompS), figure.Ratio(*f.InsS), figure.Ratio(*f.IPCS), figure.Ratio(*f.FreqS)})
		}
	}
	return t
}

// spreadText says by how much the longest run exceeds the shortest.
func spreadText(c workload.Count) string {
	if c.Runs < 2 {
		return "-"
	}
	return figure.Percent(c.Longest/c.Shortest - 1)
}

// adviceFacts are the core counts that follow from the runs.
func adviceFacts(s *workload.Study, r *policy.Request) []block.Fact {
	var f block.Facts
	if s.Curve.Refused != "" {
		f.Add("No curve", whyRefused(s))
	} else {
		f = countsFacts(s.Curve)
	}
	best := r.Best
	f.Add("Advice", recommendationText(best, ""))
	if as, last := policy.AsLast(s); best == nil && s.Mine != nil && s.Curve.Refused == "" {
		f.Add("Advice", "none: "+noAdviceFor(as, last))
	}
	if s.Mine != nil && best != nil {
		f.Add("", fmt.Sprintf("(compared with runs on %s, as many as job %s had)", figure.Counted(s.Mine.Cores(), "core"), s.Mine.DisplayID))
	}
	if s.Curve.Refused == "" || best != nil {
		f.Add("Intervals", figure.Percent(s.Curve.Level)+" confidence")
	}
	if s.Curve.Next != nil {
		f.Add("Next run", nextRun(s.Curve.Next))
	}
	return f
}

// whyRefused says why there is no curve. If no run can be a point, it says why the last one cannot.
func whyRefused(s *workload.Study) string {
	if len(s.Runs) == 0 && len(s.Left) > 0 {
		return s.Left[len(s.Left)-1].Why
	}
	return s.Curve.Refused
}

// expectedPart has the run times that the curve predicts.
func expectedPart(s *workload.Study) block.Part {
	if len(s.Curve.Predicted) == 0 {
		return block.Part{}
	}
	return predictionsPart("Expected run times", s.Curve)
}

// boundsPart names the section that limits the speedup on each core count.
func boundsPart(s *workload.Study) block.Part {
	if len(s.Sections) == 0 {
		return block.Part{}
	}
	t := block.Table{Heads: []string{"cores", "speedup", "<bounding section", "bound", "<next", "bound"}}
	first := s.Counts[0]
	for i, b := range s.Sections {
		row := []string{figure.Count(b.N), figure.Number(first.T / s.Counts[i].T)}
		for k := range 2 {
			if k < len(b.Bounds) && b.Bounds[k].Share >= workload.LeastShare {
				row = append(row, b.Bounds[k].Label, figure.Number(b.Bounds[k].Speedup))
			} else {
				row = append(row, "-", "-")
			}
		}
		t.Rows = append(t.Rows, row)
	}
	b := block.Part{Heading: "Partial speedup bounds", Tables: []block.Table{t},
		Notes: []string{"speedup: the measured time on " + figure.Counted(first.N, "core") + " over that here; bound: the speedup that the program cannot exceed while that section takes as long; next: the section that bounds it once the first one is faster"}}
	if s.Reference > 1 {
		b.Notes = append(b.Notes, fmt.Sprintf("relative to %s: no run on one core is known", figure.Counted(s.Reference, "core")))
	}
	if slower := slowerSections(s); slower != "" {
		b.Notes = append(b.Notes, "inflexion points, from which on a section takes longer: "+slower)
	}
	return b
}

// slowerSections names the sections whose time stops falling, and from which core count.
func slowerSections(s *workload.Study) string {
	var slower []string
	for _, i := range s.Inflexions {
		if from := slowerFrom(s, i); from != "" && i.Share >= workload.LeastShare {
			slower = append(slower, i.Label+" "+from)
		}
	}
	return strings.Join(slower, "; ")
}

// apartPart has the runs that are no points, and the runs that cannot share the curve.
func apartPart(s *workload.Study) block.Part {
	if len(s.Left)+len(s.Splits) == 0 {
		return block.Part{}
	}
	b := block.Part{Heading: "Left out"}
	for _, split := range s.Splits {
		b.Items = append(b.Items, fmt.Sprintf("%s (%s): %s", figure.Counted(len(split.Runs), "run"), idsText(split.Runs), split.Why))
	}
	byWhy := map[string][]string{}
	for _, l := range s.Left {
		byWhy[l.Why] = append(byWhy[l.Why], l.Run.DisplayID)
	}
	for _, why := range slices.Sorted(maps.Keys(byWhy)) {
		ids := byWhy[why]
		b.Items = append(b.Items, fmt.Sprintf("%s (%s): %s", figure.Counted(len(ids), "run"), someOf(ids), why))
	}
	if more := len(b.Items) - listed; more > 0 {
		b.Items, b.Notes = b.Items[:listed], []string{"and " + figure.Count(more) + " more; --json has them all"}
	}
	return b
}

// mostRunsListed bounds how many runs a page lists.
const mostRunsListed = 50

// workloadHeadline says which core count its newest run should have had, or why none is known.
func workloadHeadline(study *workload.Study, r *policy.Request, wide bool) block.Headline {
	if r.Best != nil {
		return block.Headline{Text: upperFirst(inert.Text(betterText(r.Best), wide)) + ".", Bad: true}
	}
	why := inert.Text(noAdviceFor(policy.AsLast(study)), wide) + "."
	if study.Curve.Refused == "" && study.Mine != nil {
		n, pe := study.Mine.Cores(), study.At(study.Mine.Cores()).PE
		where := fmt.Sprintf(" Runs on %s have a parallel efficiency of %s.", figure.Counted(n, "core"), figure.Efficiency(pe))
		return block.Headline{Text: upperFirst(why) + where, Good: pe >= figure.Line, Bad: pe < figure.Line}
	}
	return block.Headline{Text: "No advice: " + why}
}

// runsTable lists the studied runs, the newest first, and says how many it leaves out.
func runsTable(s *workload.Study) (t block.Table, older string) {
	t = block.Table{Caption: "Runs", Heads: []string{"<job", "began", "cores", "nodes", "time", "in MPI"}}
	runs := slices.SortedStableFunc(slices.Values(s.Runs), func(a, b job.Run) int { return b.Start.Compare(a.Start) })
	runs = runs[:min(mostRunsListed, len(runs))]
	seconds := alike(runs, func(r job.Run) float64 { return r.Elapsed })
	for i := range runs {
		r := &runs[i]
		t.Rows = append(t.Rows, []string{r.DisplayID, figure.Minute(r.Start), figure.Count(r.Cores()),
			figure.Count(max(r.Nodes, 0)), seconds(r.Elapsed), figure.Percent(clamp(r.MPITime / max(r.Elapsed*float64(r.Ranks), 1e-9)))})
	}
	return t, more(len(s.Runs)-len(runs), "run", "before")
}
