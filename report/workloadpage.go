package report

import (
	"io"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// mostRunsListed is how many runs a page lists.
const mostRunsListed = 50

// WorkloadHTML writes a workload as a page of its own. Links says where its jobs and
// the list of jobs are.
func WorkloadHTML(w io.Writer, study *workload.Study, links Links) error {
	return writePage(w, "workload", workloadPage(study, links))
}

func workloadPage(study *workload.Study, links Links) *WorkloadPage {
	s := Inert(study, true)
	out := &WorkloadPage{
		Frame: frame("Workload "+s.Workload.Name+" – jobeff", links), Name: s.Workload.Name, Verdict: workloadHeadline(study),
		Facts: workloadFacts(s), Curves: curveHTML(study), Advice: adviceFacts(s), Expected: htmlParts(expectedPart(s)),
		Parts: htmlParts(append(countsParts(s), boundsPart(s), apartPart(s))...),
		Runs:  runsTable(s, links), Warnings: append(slices.Clone(s.Warnings), s.Curve.Warnings...),
	}
	if s.Curve.Next != nil {
		out.Plan = planLine(s)
	}
	return out
}

// workloadHeadline is the core count that its newest run should have had.
func workloadHeadline(study *workload.Study) Headline {
	if r := leading(study, nil); r != nil {
		return Headline{Text: upperFirst(InertText(betterText(r), true)) + ".", Bad: true}
	}
	why := InertText(noAdvice(study), true) + "."
	if study.Curve.Refused == "" && study.NotMine() == "" {
		return Headline{Text: upperFirst(why), Good: true}
	}
	return Headline{Text: "No advice: " + why}
}

// runsTable lists the studied runs, the newest first.
func runsTable(s *workload.Study, links Links) *HTMLTable {
	t := table{heads: []string{"<job", "began", "cores", "nodes", "time", "in MPI"}}
	runs := slices.SortedStableFunc(slices.Values(s.Runs), func(a, b job.Run) int { return b.Start.Compare(a.Start) })
	runs = runs[:min(mostRunsListed, len(runs))]
	for i := range runs {
		r := &runs[i]
		t.rows = append(t.rows, []string{r.DisplayID, figure.Minute(r.Start), figure.Count(r.Cores()),
			figure.Count(max(r.Nodes, 0)), figure.Seconds(r.Elapsed), figure.Percent(clamp(r.MPITime / max(r.Elapsed*float64(r.Ranks), 1e-9)))})
	}
	out := htmlTable("Runs", t, more(len(s.Runs)-len(runs), "run", "before"))
	for i := range runs {
		out.Rows[i][0].Link = links.job(runs[i].DisplayID)
	}
	return out
}
