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
	t := table{heads: append([]string{"<!JobID", "<Began"}, listHeads[1:]...)}
	note := "PE parallel efficiency = LB load balance × CommE communication efficiency; Cover: ranks recorded / ranks that ran; -: no data, the job's page says why"
	if more {
		note += "; there are older jobs that are not listed"
	}
	for i := range jobs {
		j := Inert(&jobs[i], true)
		row := listRow(j)
		began := "-"
		if !j.Start.IsZero() {
			began = j.Start.Local().Format("2006-01-02 15:04")
		}
		t.rows = append(t.rows, append([]string{row[0], began}, row[1:]...))
	}
	page.Jobs = htmlTable("Jobs", t, note)
	for i := range jobs {
		cells := page.Jobs.Rows[i]
		if links.Jobs != "" {
			cells[0].Link = links.Jobs + cells[0].Text
		}
		if m := jobs[i].Metrics; m != nil {
			cells[peColumn].Bar = &Bar{To: m.ParallelEfficiency, Bad: m.ParallelEfficiency < popLine, Line: true}
		}
	}
	return writePage(w, "jobs", page)
}

// peColumn is where the table of JobsHTML has the parallel efficiency.
var peColumn = func() int {
	for i, h := range listHeads {
		if name(h) == "PE" {
			return i + 1
		}
	}
	panic("report: no column PE")
}()
