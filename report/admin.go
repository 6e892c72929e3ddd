package report

import (
	"fmt"
	"io"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"jobeff/report/block"
	"jobeff/report/view"
	"jobeff/report/words"
)

// TextOfPart writes a part that is all there is to say.
func TextOfPart(w io.Writer, b block.Part, opts Options) error {
	p := newTerminal(opts)
	p.part(b)
	return p.writeTo(w)
}

// TextOfLine writes a line that is not wrapped.
func TextOfLine(w io.Writer, line string, opts Options) error {
	p := newTerminal(opts)
	p.line(line)
	return p.writeTo(w)
}

// TextOfChecks writes what the doctor found.
func TextOfChecks(w io.Writer, checks words.Checks, opts Options) error {
	p := newTerminal(opts)
	for _, c := range checks.All {
		first := fmt.Sprintf("%-6s%-11s", c.Status, c.What)
		col := p.Good
		if c.Status != words.OK {
			col = p.Bad
		}
		rest := strings.Repeat(" ", len(first))
		p.paragraph(col.Sprint(first[:6])+first[6:], rest, c.Found, nil)
		if c.Mend != "" {
			p.paragraph(rest+"-> ", rest+"   ", c.Mend, nil)
		}
	}
	p.line("")
	p.line(checks.Sum)
	return p.writeTo(w)
}

// TextOfExamples writes where the rules differ from a site's examples.
func TextOfExamples(w io.Writer, e words.Examples, opts Options) error {
	p := newTerminal(opts)
	for _, one := range e.Wrong {
		p.paragraph("", "  ", one.Name, p.Title)
		for _, m := range one.Got {
			p.line(fmt.Sprintf("  %s: expected %s, got %s", m.Rule, m.Want, p.Bad.Sprint(m.Got)))
			p.paragraph("  because  ", "           ", m.Because, nil)
			p.paragraph("  asks     ", "           ", m.Asks, nil)
		}
		p.line("")
	}
	p.line(e.Sum)
	return p.writeTo(w)
}

// TextOfRules writes the rules themselves.
func TextOfRules(w io.Writer, rules []words.Rule, opts Options) error {
	p := newTerminal(opts)
	for i, r := range rules {
		if i > 0 {
			p.line("")
		}
		p.line(p.Title.Sprint(r.Name) + r.State)
		for _, f := range r.Facts {
			p.paragraph(fmt.Sprintf("  %-9s", f.Label), strings.Repeat(" ", labelWidth), f.Text, nil)
		}
	}
	return p.writeTo(w)
}

// TextOfFields writes what a rule may read and call.
func TextOfFields(w io.Writer, f words.Fields, opts Options) error {
	p := newTerminal(opts)
	for _, one := range f.All {
		p.line(p.Title.Sprintf("%-33s", one.Name) + one.Type)
		p.paragraph("    ", "    ", one.Doc, nil)
	}
	p.line("")
	for _, note := range f.Notes {
		p.paragraph("", "    ", note, nil)
	}
	return p.writeTo(w)
}

// NamesOfColumns writes the names of all fields of jobs, as a list takes them.
func NamesOfColumns(w io.Writer, columns []words.Column) error {
	var names []string
	for _, c := range columns {
		names = append(names, strings.ToLower(c.Name))
	}
	p := newTerminal(Options{})
	p.paragraph("  ", "  ", strings.Join(names, " "), nil)
	return p.writeTo(w)
}

// TextOfColumns explains all fields of jobs.
func TextOfColumns(w io.Writer, columns []words.Column) error {
	p := newTerminal(Options{Width: MaxWidth})
	for _, c := range columns {
		p.paragraph(pretty.AlignLeft.Apply(c.Name, 12), strings.Repeat(" ", 12), c.Doc, nil)
	}
	return p.writeTo(w)
}

// PageOfWrong writes the page on which somebody who got a notice can say that it was wrong, or what they said.
func PageOfWrong(w io.Writer, of words.Wrong, links Links) error {
	p := wrongPage{frame: newFrame("Was this wrong? – jobeff", links), Job: links.Job(of.Job), Told: of.Told, Said: of.Said}
	p.Referrer = "same-origin" // without it the browser would hide where the form comes from
	return writePage(w, "wrong", p)
}

// TextOfAnswer writes what an admin asked about the whole site.
func TextOfAnswer(w io.Writer, a words.Answer, opts Options) error {
	p := newTerminal(opts)
	p.paragraph("", "", a.Headline, p.Title)
	if len(a.Parts) > 0 {
		if a.Parts[0].Heading == "" { // a heading has a blank line of its own
			p.line("")
		}
		p.parts(a.Parts...)
		p.line("")
	}
	p.part(block.Part{Notes: a.Notes})
	return p.writeTo(w)
}

// PageOfStatus writes how jobeff itself does as a page.
func PageOfStatus(w io.Writer, v *view.Status, links Links) error {
	return writePage(w, "status", &statusPage{frame: newFrame("Status – jobeff", links), Verdict: block.Headline{Text: v.Words.Headline, Bad: len(v.Hands) > 0, Good: len(v.Hands) == 0},
		Parts: partsOf(v.Words.Parts...), Notes: v.Words.Notes})
}
