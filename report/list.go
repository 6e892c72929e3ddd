package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// ListOptions say how a list of jobs is written.
type ListOptions struct {
	Options
	Columns   []Column // nil: the usual ones
	NoHeader  bool
	Parsable2 bool // values whole, with | between, as sacct -P
	More      bool // the server left jobs out: say so under the list
}

// roomy is the page width from which the columns stand two blanks apart.
const roomy = 100

// List writes a line per job, in the order given.
func List(w io.Writer, jobs []job.Job, opts ListOptions) error {
	p := newPage(opts.Options)
	chosen := opts.Columns
	if chosen == nil {
		chosen = shown(listColumns)
	}
	t := jobsTable(p, jobs, chosen)
	switch {
	case opts.Parsable2:
		parsable(p, t, opts.NoHeader)
	case opts.Columns != nil:
		asked(p, chosen, t, opts.NoHeader)
	default:
		peopleList(p, t, markPartial(t, jobs), opts)
	}
	return p.to(w)
}

// Worst writes jobs that were sorted by what they lost, days of them.
func Worst(w io.Writer, jobs []job.Job, days int, more bool, opts Options) error {
	p := newPage(opts)
	if len(jobs) == 0 {
		p.line(noJobs)
	} else {
		p.line(p.title.Sprintf("Your jobs of the last %d days, most core-hours lost first", days))
		t := jobsTable(p, jobs, shown(worstColumns))
		legend := markPartial(t, jobs)
		p.table(t, "")
		p.line("")
		if more {
			p.line(fmt.Sprintf("jobeff -S -%ddays lists all of them.", days))
		}
		p.paragraph("", "", "Lost: core-hours that were not useful time of its ranks; -: not known. "+
			"jobeff JOBID shows where a job's time went, jobeff explain JOBID why that is said."+legend, nil)
	}
	return p.to(w)
}

// jobs is a table of jobs.
func jobsTable(p *page, jobs []job.Job, chosen []Column) table {
	t := table{rows: make([][]string, len(jobs))}
	if p.width < roomy {
		t.gap = " "
	}
	for _, c := range chosen {
		t.heads = append(t.heads, c.head)
	}
	for i := range jobs {
		j := Inert(&jobs[i], p.unicode)
		for _, c := range chosen {
			t.rows[i] = append(t.rows[i], c.value(j))
		}
	}
	return t
}

// markPartial puts a star at the efficiencies of jobs whose threads or GPUs were not
// measured and returns what says so, "" where there are none.
func markPartial(t table, jobs []job.Job) (legend string) {
	for i := range jobs {
		if jobs[i].Metrics == nil || !jobs[i].Threaded && jobs[i].GPUs == 0 {
			continue
		}
		for k, head := range t.heads {
			if slices.Contains([]string{"PE", "LB", "CommE"}, name(head)) {
				t.rows[i][k] += "*"
				legend = " *: of MPI on the host alone, what threads and GPUs did is not measured."
			}
		}
	}
	return legend
}

// noJobs stands in place of an empty list.
const noJobs = "no such jobs in this time; -S takes an earlier one, as -S -30days"

// columns writes the list for people.
func peopleList(p *page, t table, legend string, opts ListOptions) {
	if len(t.rows) == 0 {
		if opts.NoHeader {
			return
		}
		p.line(noJobs)
		return
	}
	if opts.NoHeader {
		p.rows(t, "", t.rows)
	} else {
		p.table(t, "")
	}
	if opts.More {
		p.line("there are older jobs that are not listed: narrow -S and -E, or raise --limit")
	}
	if !opts.NoHeader {
		p.line("")
		p.paragraph("", "", "PE parallel efficiency = LB load balance x CommE communication efficiency; "+
			"Cover: ranks recorded / ranks that ran; -: no data, jobeff JOBID says why."+legend, nil)
	}
}

// parsable writes the list for programs. A | inside a value would be a column.
func parsable(p *page, t table, noHeader bool) {
	if !noHeader {
		heads := make([]string, len(t.heads))
		for i, h := range t.heads {
			heads[i] = name(h)
		}
		p.line(strings.Join(heads, "|"))
	}
	for _, row := range t.rows {
		for i := range row {
			if t.heads[i][0] != '<' {
				row[i] = figure.Bare(row[i])
			}
			row[i] = strings.ReplaceAll(row[i], "|", `\x7c`)
		}
		p.line(strings.Join(row, "|"))
	}
}
