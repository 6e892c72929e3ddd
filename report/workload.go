package report

import (
	"html/template"
	"io"
	"slices"

	"jobeff/report/block"
	"jobeff/report/view"
	"jobeff/report/words"
)

// TextOfWorkload writes what the runs of one workload show.
func TextOfWorkload(w io.Writer, v *view.Workload, opts Options) error {
	p, s := newTerminal(opts), &v.Words
	p.paragraph("", "", "Workload "+s.Name, p.Title)
	p.facts(s.Facts)
	p.parts(s.Counts...)
	p.curvePlot(s.Study)
	p.line("")
	p.facts(s.Advice)
	p.parts(s.Options, s.Expected, s.Bounds, s.Apart)
	if len(s.Warnings) > 0 {
		p.line("")
	}
	for _, warning := range s.Warnings {
		p.field("Warning", warning.String())
	}
	lineTo(p, s.Line)
	return p.writeTo(w)
}

// lineTo ends a text with a request and its reasons; without a request, with nothing.
func lineTo(p *terminal, line block.Action) {
	if line.Line != "" {
		p.line("")
		p.field("Request", line.Text)
		p.command(line.Line)
	}
}

// PageOfWorkload writes the same as a page. links has the addresses of its jobs and of the list of jobs.
func PageOfWorkload(w io.Writer, v *view.Workload, links Links) error {
	s := &v.Words
	return writePage(w, "workload", &workloadPage{frame: newFrame("Workload "+s.Name+" – jobeff", links), Name: s.Name, Verdict: s.Headline,
		Facts: s.Facts, Curves: pictures(s.Curves), Advice: s.Advice, Expected: partsOf(s.Options, s.Expected), Parts: slices.Concat(partsOf(s.Counts...), partsOf(s.Bounds, s.Apart)),
		Ask: s.Line, Runs: linked(newTable(s.Runs.Caption, s.Runs, s.Older), links), Warnings: s.Warnings})
}

// PageOfProposal writes how a workload scales, on two pages of paper.
func PageOfProposal(w io.Writer, s words.Proposal) error {
	return writePage(w, "proposal", &proposalPage{frame: newFrame("Scaling of "+s.Name+" – jobeff", Links{}), Proposal: s, Pictures: pictures(s.Curves),
		Measured: partsOf(s.Measured), Expected: partsOf(s.Expected)})
}

func pictures(curves []block.Curve) (all []template.HTML) {
	for _, c := range curves {
		all = append(all, c.Picture().HTML())
	}
	return all
}

// linked makes the jobs in the first column of a table links.
func linked(t *table, links Links) *table {
	for i := 0; t != nil && i < len(t.Rows); i++ {
		t.Rows[i][0].Link = links.Job(t.Rows[i][0].Text)
	}
	return t
}

// TextOfNamedJobs writes what is known about a workload of jobs that left no record of a program.
func TextOfNamedJobs(w io.Writer, v *view.NamedJobs, opts Options) error {
	p := newTerminal(opts)
	p.paragraph("", "", v.Words.Title, p.Title)
	p.facts(v.Words.Facts)
	lineTo(p, v.Words.Line)
	return p.writeTo(w)
}

// TextOfWorkloads writes a line for each workload. list says whether programs read it.
func TextOfWorkloads(w io.Writer, v *view.Workloads, list words.ListOptions, opts Options) error {
	p, s := newTerminal(opts), &v.Words
	t := s.Table
	if p.Width < roomyList && !list.Parsable2 { // the name contains the program, unless its user gave it
		t = t.Without("<Program")
		t.Gap = " "
	}
	switch {
	case list.Parsable2:
		p.parsable(t, list.NoHeader)
	case list.NoHeader:
		p.rows(t, "", nil)
	case s.Empty != "":
		p.line(s.Empty)
	default:
		p.table(t, "")
		if s.More != "" {
			p.line(s.More)
		}
		p.line("")
		p.part(block.Part{Notes: s.Under})
	}
	return p.writeTo(w)
}
