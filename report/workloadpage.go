package report

import (
	"fmt"
	"io"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/measure"
	"jobeff/report/page"
	"jobeff/report/shell"
)

// mostRunsListed is how many runs a page lists.
const mostRunsListed = 50

// WorkloadHTML writes a workload as a page of its own. Links says where its jobs and
// the list of jobs are.
func WorkloadHTML(w io.Writer, study *workload.Study, links page.Links) error {
	return page.Write(w, "workload", workloadPage(study, links))
}

func workloadPage(study *workload.Study, links page.Links) *page.Workload {
	s := inert.Copy(study, true)
	out := &page.Workload{
		Frame: page.NewFrame("Workload "+s.Workload.Name+" – jobeff", links), Name: s.Workload.Name, Verdict: workloadHeadline(study),
		Facts: workloadFacts(s), Curves: curveHTML(study), Advice: adviceFacts(s), Expected: page.Parts(expectedPart(s)),
		Parts: page.Parts(append(countsParts(s), boundsPart(s), apartPart(s))...),
		Runs:  runsTable(s, links), Warnings: append(slices.Clone(s.Warnings), s.Curve.Warnings...),
	}
	if s.Curve.Next != nil {
		out.Plan = shell.Plan(s)
	}
	return out
}

// workloadHeadline is the core count that its newest run should have had.
func workloadHeadline(study *workload.Study) block.Headline {
	if r := policy.Recommend(study, nil); r != nil {
		return block.Headline{Text: upperFirst(inert.Text(betterText(r), true)) + ".", Bad: true}
	}
	why := inert.Text(noAdvice(study, nil), true) + "."
	if study.Curve.Refused == "" && study.Mine != nil {
		n, pe := study.Mine.Cores(), study.At(study.Mine.Cores()).PE
		where := fmt.Sprintf(" Runs on %s have a parallel efficiency of %s.", figure.Counted(n, "core"), figure.Efficiency(pe))
		return block.Headline{Text: upperFirst(why) + where, Good: pe >= figure.Line, Bad: pe < figure.Line}
	}
	return block.Headline{Text: "No advice: " + why}
}

// runsTable lists the studied runs, the newest first.
func runsTable(s *workload.Study, links page.Links) *page.Table {
	t := block.Table{Heads: []string{"<job", "began", "cores", "nodes", "time", "in MPI"}}
	runs := slices.SortedStableFunc(slices.Values(s.Runs), func(a, b job.Run) int { return b.Start.Compare(a.Start) })
	runs = runs[:min(mostRunsListed, len(runs))]
	for i := range runs {
		r := &runs[i]
		t.Rows = append(t.Rows, []string{r.DisplayID, figure.Minute(r.Start), figure.Count(r.Cores()),
			figure.Count(max(r.Nodes, 0)), figure.Seconds(r.Elapsed), figure.Percent(measure.Clamp(r.MPITime / max(r.Elapsed*float64(r.Ranks), 1e-9)))})
	}
	out := page.NewTable("Runs", t, more(len(s.Runs)-len(runs), "run", "before"))
	for i := range runs {
		out.Rows[i][0].Link = links.Job(runs[i].DisplayID)
	}
	return out
}
