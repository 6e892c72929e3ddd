package report

import (
	"io"

	"jobeff/ingest/job"
	"jobeff/report/figure"
	"jobeff/report/page"
	"jobeff/report/text"
)

// pageColumns are those of JobsHTML. The first ones fit on a telephone.
const (
	pageColumns = "jobid,jobname,pe,corehours,lost,ranks,nnodes,state,elapsed,lb,comme,cover,start"
	peColumn    = 2
)

const jobsNote = "PE parallel efficiency = LB load balance × CommE communication efficiency; Cover: ranks recorded / ranks that ran; " +
	"Lost: core-hours that were not useful time of its ranks; -: not known; the job's page says why"

// JobsHTML writes jobs as a page, in the given order. more says that a limit left some out.
func JobsHTML(w io.Writer, jobs []job.Job, more bool, links page.Links) error {
	p := &page.Jobs{Frame: page.NewFrame("Jobs – jobeff", links), Heading: "Your jobs",
		Empty: "You have no jobs here yet. A job appears a few seconds after its end."}
	note := jobsNote
	if more {
		note += "; there are older jobs that are not listed"
	}
	p.Jobs = page.NewTable("Jobs", jobsTable(text.NewPage(text.Options{Unicode: true}), jobs, shown(pageColumns)), note)
	p.Jobs.WithBars(peColumn, func(i int) *page.Bar {
		m := jobs[i].Metrics
		if m == nil {
			return nil
		}
		return &page.Bar{To: m.ParallelEfficiency, Bad: m.ParallelEfficiency < figure.Line, Line: true}
	})
	for i := range jobs {
		p.Jobs.Rows[i][0].Link = links.Job(jobs[i].DisplayID)
	}
	return page.Write(w, "jobs", p)
}
