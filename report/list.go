package report

import (
	"io"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"jobeff/report/block"
	"jobeff/report/view"
	"jobeff/report/words"
)

// roomyList is the page width from which the columns of a list are two blanks apart; from wideList on there are
// more columns.
const (
	roomyList = 100
	wideList  = 112
)

// TextOfJobs writes a list of jobs: for people, in columns of given widths, or for programs.
func TextOfJobs(w io.Writer, v *view.Jobs, opts Options) error {
	p, l := newTerminal(opts), &v.Words
	t := l.Table
	if p.Width < wideList && l.Columns == nil && !l.Parsable2 {
		t = t.Without("LB", "CommE", "Cover")
	}
	if p.Width < roomyList {
		t.Gap = " "
	}
	switch {
	case l.Parsable2:
		p.parsable(t, l.NoHeader)
	case len(t.Rows) > 0:
		listed(p, l, t)
	case !l.NoHeader && l.Empty != "":
		p.paragraph("", "", l.Empty, nil)
	}
	if l.Waiting.Heading != "" {
		waiting(p, l)
	}
	return p.writeTo(w)
}

// listed writes the lines of a list, and the notes below them.
func listed(p *terminal, l *words.List, t block.Table) {
	if l.Title != "" && !l.NoHeader {
		p.paragraph("", "", l.Title, p.Title)
	}
	switch {
	case l.Columns != nil:
		asked(p, l.Columns, t, l.NoHeader)
	case l.NoHeader:
		p.rows(t, "", nil)
	default:
		p.table(t, "")
	}
	for _, left := range l.Left {
		p.line(left)
	}
	if l.NoHeader {
		return
	}
	var legend []string
	for _, one := range l.Legend {
		if one.Heads == nil || slices.ContainsFunc(one.Heads, func(head string) bool { return slices.Contains(t.Heads, head) }) {
			legend = append(legend, one.Text)
		}
	}
	if said := block.Notes(append(slices.Clone(l.Notes), strings.Join(legend, " "))...); len(said) > 0 {
		p.line("")
		p.part(block.Part{Notes: said})
	}
}

// asked writes rows in the widths that the user gave, which never cut a job's id. Other columns are as wide as
// their values, even beyond the page.
func asked(p *terminal, columns []words.Column, t block.Table, noHeader bool) {
	rows := t.Rows
	if !noHeader {
		rows = append([][]string{t.Names()}, rows...)
	}
	for k, row := range rows {
		cells := make([]string, len(row))
		for i, c := range columns {
			align, n := pretty.AlignRight, c.Width
			if c.Left || c.Width == 0 && t.Heads[i][0] == '<' {
				align = pretty.AlignLeft
			}
			if n == 0 || c.Name == "JobID" {
				for _, r := range rows {
					n = max(n, displayWidth(r[i]))
				}
			}
			cells[i] = align.Apply(pretty.Snip(row[i], n, p.ellipsis()), n)
			if t.IsRed(k-(len(rows)-len(t.Rows)), i) {
				cells[i] = p.Bad.Sprint(cells[i])
			}
		}
		p.line(strings.Join(cells, "  "))
	}
}

// waiting writes the waiting jobs, under a list for people.
func waiting(p *terminal, l *words.List) {
	if !l.OnlyPending {
		p.line("")
	}
	b := queuePart(l.Waiting, p.Width)
	p.paragraph("", "", b.Heading, p.Title)
	if b.Heading = ""; p.Width < roomyList {
		for i := range b.Tables {
			b.Tables[i].Gap = " "
		}
	}
	p.part(b)
}
