package report

import (
	"fmt"
	"io"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"jobeff/report/block"
	"jobeff/report/page"
	"jobeff/report/text"
	"jobeff/report/words"
)

// TextOfPart writes a part that is all there is to say.
func TextOfPart(w io.Writer, b block.Part, opts text.Options) error {
	p := text.NewPage(opts)
	p.Part(b)
	return p.To(w)
}

// TextOfLine writes a line that is not wrapped.
func TextOfLine(w io.Writer, line string, opts text.Options) error {
	p := text.NewPage(opts)
	p.Line(line)
	return p.To(w)
}

// TextOfChecks writes what the doctor found.
func TextOfChecks(w io.Writer, checks words.Checks, opts text.Options) error {
	p := text.NewPage(opts)
	for _, c := range checks.All {
		first := fmt.Sprintf("%-6s%-11s", c.Status, c.What)
		col := p.Good
		if c.Status != words.OK {
			col = p.Bad
		}
		rest := strings.Repeat(" ", len(first))
		p.Paragraph(col.Sprint(first[:6])+first[6:], rest, c.Found, nil)
		if c.Mend != "" {
			p.Paragraph(rest+"-> ", rest+"   ", c.Mend, nil)
		}
	}
	p.Line("")
	p.Line(checks.Sum)
	return p.To(w)
}

// TextOfExamples writes where the rules differ from a site's examples.
func TextOfExamples(w io.Writer, e words.Examples, opts text.Options) error {
	p := text.NewPage(opts)
	for _, one := range e.Wrong {
		p.Paragraph("", "  ", one.Name, p.Title)
		for _, m := range one.Got {
			p.Line(fmt.Sprintf("  %s: expected %s, got %s", m.Rule, m.Want, p.Bad.Sprint(m.Got)))
			p.Paragraph("  because  ", "           ", m.Because, nil)
			p.Paragraph("  asks     ", "           ", m.Asks, nil)
		}
		p.Line("")
	}
	p.Line(e.Sum)
	return p.To(w)
}

// TextOfRules writes the rules themselves.
func TextOfRules(w io.Writer, rules []words.Rule, opts text.Options) error {
	p := text.NewPage(opts)
	for i, r := range rules {
		if i > 0 {
			p.Line("")
		}
		p.Line(p.Title.Sprint(r.Name) + r.State)
		for _, f := range r.Facts {
			p.Paragraph(fmt.Sprintf("  %-9s", f.Label), strings.Repeat(" ", text.LabelWidth), f.Text, nil)
		}
	}
	return p.To(w)
}

// TextOfFields writes what a rule may read and call.
func TextOfFields(w io.Writer, f words.Fields, opts text.Options) error {
	p := text.NewPage(opts)
	for _, one := range f.All {
		p.Line(p.Title.Sprintf("%-33s", one.Name) + one.Type)
		p.Paragraph("    ", "    ", one.Doc, nil)
	}
	p.Line("")
	for _, note := range f.Notes {
		p.Paragraph("", "    ", note, nil)
	}
	return p.To(w)
}

// TextOfColumns lists all fields of jobs.
func TextOfColumns(w io.Writer, columns []words.Column) error {
	p := text.NewPage(text.Options{Width: text.MaxWidth})
	for _, c := range columns {
		p.Paragraph(pretty.AlignLeft.Apply(c.Name, 12), strings.Repeat(" ", 12), c.Doc, nil)
	}
	return p.To(w)
}

// PageOfWrong writes the page on which somebody who got a notice can say that it was wrong, or what they said.
func PageOfWrong(w io.Writer, of words.Wrong, links page.Links) error {
	p := page.Wrong{Frame: page.NewFrame("Was this wrong? – jobeff", links), Job: links.Job(of.Job), Told: of.Told, Said: of.Said}
	p.Policy, p.Referrer = page.FormPolicy, "same-origin" // without it the browser would hide where the form comes from
	return page.Write(w, "wrong", p)
}
