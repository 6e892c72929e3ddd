package report

import (
	"html/template"
	"io"
	"slices"

	"jobeff/report/block"
	"jobeff/report/page"
	"jobeff/report/plot"
	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfWorkload writes what the runs of one workload say.
func TextOfWorkload(w io.Writer, v *view.Workload, opts text.Options) error {
	p, s := text.NewPage(opts), &v.Words
	p.Paragraph("", "", "Workload "+s.Name, p.Title)
	p.Facts(s.Facts)
	p.Parts(s.Counts...)
	p.CurvePlot(s.Study)
	p.Line("")
	p.Facts(s.Advice)
	p.Parts(s.Options, s.Expected, s.Bounds, s.Apart)
	if len(s.Warnings) > 0 {
		p.Line("")
	}
	for _, warning := range s.Warnings {
		p.Field("Warning", warning.String())
	}
	lineTo(p, s.Line)
	return p.To(w)
}

// lineTo ends a text with the line for sbatch, unbroken, and what it stands on; where there is none, with nothing.
func lineTo(p *text.Page, line block.Action) {
	if line.Line != "" {
		p.Line("")
		p.Field("Line", line.Text)
		p.Line(line.Line)
	}
}

// PageOfWorkload writes the same as a page of its own. Links says where its jobs and the list of jobs are.
func PageOfWorkload(w io.Writer, v *view.Workload, links page.Links) error {
	s := &v.Words
	return page.Write(w, "workload", &page.Workload{Frame: page.NewFrame("Workload "+s.Name+" – jobeff", links), Name: s.Name, Verdict: s.Headline,
		Facts: s.Facts, Curves: pictures(s.Curves), Advice: s.Advice, Expected: page.Parts(s.Options, s.Expected), Parts: slices.Concat(page.Parts(s.Counts...), page.Parts(s.Bounds, s.Apart)),
		Plan: s.Plan, Runs: linked(page.NewTable(s.Runs.Caption, s.Runs, s.Older), links), Warnings: s.Warnings})
}

func pictures(curves []plot.Curve) (all []template.HTML) {
	for _, c := range curves {
		all = append(all, c.Picture().HTML())
	}
	return all
}

// linked makes the jobs in the first column of a table links.
func linked(t *page.Table, links page.Links) *page.Table {
	for i := 0; t != nil && i < len(t.Rows); i++ {
		t.Rows[i][0].Link = links.Job(t.Rows[i][0].Text)
	}
	return t
}

// TextOfPlan writes the line that starts the run that would teach most.
func TextOfPlan(w io.Writer, v *view.Plan, opts text.Options) error {
	p := text.NewPage(opts)
	p.Paragraph("# ", "# ", v.Words.Said, nil)
	if v.Words.Line != "" {
		p.Line(v.Words.Line)
	}
	return p.To(w)
}

// TextOfNamedJobs writes what is known of a workload of jobs that left no record of a program.
func TextOfNamedJobs(w io.Writer, v *view.NamedJobs, opts text.Options) error {
	p := text.NewPage(opts)
	p.Paragraph("", "", v.Words.Title, p.Title)
	p.Facts(v.Words.Facts)
	lineTo(p, v.Words.Line)
	return p.To(w)
}

// ListForm is how a list is written.
type ListForm struct {
	text.Options
	NoHeader  bool
	Parsable2 bool // values whole, with | between, as sacct -P
}

// TextOfWorkloads writes a line for each workload.
func TextOfWorkloads(w io.Writer, v *view.Workloads, form ListForm) error {
	p, s := text.NewPage(form.Options), &v.Words
	t := s.Table
	if p.Width < roomyList && !form.Parsable2 { // the name has the program in it, unless its user gave it
		t = t.Without("<Program")
		t.Gap = " "
	}
	switch {
	case form.Parsable2:
		p.Parsable(t, form.NoHeader)
	case form.NoHeader:
		p.Rows(t)
	case s.Empty != "":
		p.Line(s.Empty)
	default:
		p.Table(t, "")
		if s.More != "" {
			p.Line(s.More)
		}
		p.Line("")
		p.Part(block.Part{Notes: s.Under})
	}
	return p.To(w)
}
