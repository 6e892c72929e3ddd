package report

import (
	"html/template"
	"io"
	"slices"

	"jobeff/ingest/job"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// WorkloadPage is what the template of a workload's page reads: texts for people,
// inert already.
type WorkloadPage struct {
	Frame
	Name     string
	Verdict  string
	Bad      bool // fewer cores would have been better; the words say so too
	Good     bool // its newest run is known to have had a good core count
	Facts    []Fact
	Curves   []template.HTML // run time and parallel efficiency over cores
	Advice   []Fact
	Expected []Part // of runs on other core counts
	Parts    []Part // measured by cores, bounds of sections, what was left out
	Plan     string // the command of the run that would teach most; ""
	Runs     *HTMLTable
	Warnings []job.Warning
}

// mostRunsListed is how many runs a page lists.
const mostRunsListed = 50

// WorkloadHTML writes a workload as a page of its own. Links says where its jobs and
// the list of jobs are.
func WorkloadHTML(w io.Writer, study *workload.Study, links Links) error {
	return writePage(w, "workload", workloadPage(study, links))
}

func workloadPage(study *workload.Study, links Links) *WorkloadPage {
	s := Inert(study, true)
	advice := recorded(func(p *page) {
		p.advice(s)
		p.expected(s)
	})
	out := &WorkloadPage{
		Frame: frame("Workload "+s.Workload.Name+" – jobeff", links), Name: s.Workload.Name,
		Facts: recorded(func(p *page) { p.workloadFacts(s) })[0].Facts, Curves: curveHTML(study),
		Parts: recorded(func(p *page) {
			p.counts(s)
			p.bounds(s)
			p.apart(s)
		})[1:],
		Advice: advice[0].Facts, Expected: advice[1:],
		Runs: runsTable(s, links), Warnings: append(slices.Clone(s.Warnings), s.Curve.Warnings...),
	}
	if r := leading(study, nil); r != nil {
		out.Verdict, out.Bad = upperFirst(InertText(betterText(r), true))+".", true
	} else {
		out.Good = s.Curve.Refused == "" && s.NotMine() == ""
		out.Verdict = upperFirst(InertText(noAdvice(s), true)) + "."
		if !out.Good {
			out.Verdict = "No advice: " + InertText(noAdvice(s), true) + "."
		}
	}
	if s.Curve.Next != nil {
		out.Plan = planLine(s)
	}
	return out
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
