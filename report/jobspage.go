package report

import (
	"io"

	"jobeff/ingest"
)

// JobsPage is what the template of a list of jobs reads.
type JobsPage struct {
	Frame
	Heading, Empty string
	Jobs           *HTMLTable
}

// JobsHTML writes jobs as a page, in the order given; more says that a limit left some
// out.
func JobsHTML(w io.Writer, jobs []ingest.Job, more bool, links Links) error {
	page := &JobsPage{Frame: frame("Jobs – jobeff", links), Heading: "Your jobs",
		Empty: "There are no jobs of yours here yet. Each is listed a few seconds after its end."}
	note := "PE parallel efficiency = LB load balance × CommE communication efficiency; Cover: ranks recorded / ranks that ran; -: no data, the job's page says why"
	if more {
		note += "; there are older jobs that are not listed"
	}
	var t table
	for _, c := range shown(jobsColumns) {
		t.heads = append(t.heads, c.head)
	}
	t.heads[peColumn] = "<PE" // its cells are bars
	for i := range jobs {
		j := Inert(&jobs[i], true)
		var row []string
		for _, c := range shown(jobsColumns) {
			row = append(row, c.value(j))
		}
		t.rows = append(t.rows, row)
	}
	page.Jobs = htmlTable("Jobs", t, note)
	for i := range jobs {
		cells := page.Jobs.Rows[i]
		cells[0].Link = links.job(jobs[i].DisplayID)
		if m := jobs[i].Metrics; m != nil {
			cells[peColumn].Bar = &Bar{To: m.ParallelEfficiency, Bad: m.ParallelEfficiency < popLine, Line: true}
		}
	}
	return writePage(w, "jobs", page)
}

// What JobsHTML shows: a list's columns in another order, so that what matters is seen
// on a telephone.
const (
	jobsColumns = "jobid,jobname,pe,ranks,nnodes,state,elapsed,lb,comme,cover,start"
	peColumn    = 2
)
