package report

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"jobeff/ingest"
)

// ListOptions say how a list of jobs is written.
type ListOptions struct {
	Options
	NoHeader  bool
	Parsable2 bool // values whole, with | between, as sacct -P
	More      bool // the server left jobs out: say so under the list
}

// listHeads are the columns in sacct's habit; < marks texts.
var listHeads = []string{"<!JobID", "<Name", "<User", "<!State", "Elapsed", "Ranks", "Nodes", "PE", "LB", "CommE", "Cover"}

// roomy is the page width from which the columns stand two blanks apart.
const roomy = 100

// List writes a line per job, in the order given.
func List(w io.Writer, jobs []ingest.Job, opts ListOptions) error {
	p := newPage(opts.Options)
	t := table{heads: listHeads, rows: make([][]string, len(jobs))}
	if p.width < roomy {
		t.gap = " "
	}
	for i := range jobs {
		t.rows[i] = listRow(Inert(&jobs[i], p.unicode))
	}
	if opts.Parsable2 {
		p.parsable(t, opts.NoHeader)
	} else {
		p.columns(t, opts)
	}
	_, err := p.out.WriteTo(w)
	return err
}

// columns writes the list for people.
func (p *page) columns(t table, opts ListOptions) {
	if len(t.rows) == 0 {
		if opts.NoHeader {
			return
		}
		p.line("no jobs in this time; -S takes an earlier one, as -S -30days")
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
			"Cover: ranks recorded / ranks that ran; -: no data, jobeff JOBID says why", nil)
	}
}

// parsable writes the list for programs. A | inside a value would be a column.
func (p *page) parsable(t table, noHeader bool) {
	if !noHeader {
		heads := make([]string, len(t.heads))
		for i, h := range t.heads {
			heads[i] = name(h)
		}
		p.line(strings.Join(heads, "|"))
	}
	for _, row := range t.rows {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", `\x7c`)
		}
		p.line(strings.Join(row, "|"))
	}
}

func listRow(j *ingest.Job) []string {
	row := []string{j.DisplayID, j.Name, j.User, cmp.Or(firstWord(j.State), "-"), clock(j.Elapsed)}
	m := j.Metrics
	if m == nil {
		return append(row, "-", nodes(j), "-", "-", "-", "-")
	}
	return append(row, strconv.Itoa(ranksRan(j)), nodes(j), efficiency(m.ParallelEfficiency),
		efficiency(m.LoadBalance), efficiency(m.CommunicationEfficiency), efficiency(m.Coverage))
}

func nodes(j *ingest.Job) string {
	switch {
	case j.Nodes > 0:
		return strconv.Itoa(j.Nodes)
	case j.Metrics != nil:
		return strconv.Itoa(j.Metrics.Nodes)
	}
	return "-"
}
