package report

import (
	"fmt"
	"io"

	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/page"
	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfArray writes what the tasks of an array say together.
func TextOfArray(w io.Writer, v *view.Array, opts text.Options) error {
	p, s := text.NewPage(opts), &v.Words
	p.Headline(s.Headline)
	p.Facts(s.Facts)
	p.Parts(s.Programs...)
	p.Parts(s.Worst)
	p.Line("")
	p.Block(s.Again)
	p.Paragraph("", "", s.Further, nil)
	lineTo(p, s.Line)
	return p.To(w)
}

// ScreenOfArray writes the first of it, in one screen: as many of its programs as have room.
func ScreenOfArray(w io.Writer, v *view.Array, opts text.Options) error {
	programs := len(v.Words.Programs)
	for fewer := 0; ; fewer++ {
		p, keep := text.NewPage(opts), max(programs-fewer, 0)
		firstOfArray(p, v, keep, rooms[min(fewer, len(rooms)-1)])
		if keep < programs {
			p.Line(fmt.Sprintf("jobeff --full %s: %s", v.ID, figure.Counted(len(v.Programs)-keep, "further program")))
		}
		if p.Height() <= mostLines || fewer > programs+len(rooms) {
			return p.To(w)
		}
	}
}

// firstOfArray writes some of its programs.
func firstOfArray(p *text.Page, v *view.Array, programs int, r room) {
	s := &v.Words
	p.HeadlineIn(s.Headline, r.headline)
	if s.Line.Line != "" {
		p.ParagraphIn("For memory and time, this line "+s.Line.Text, r.ask)
		p.Command(s.Line.Line)
		p.Line("")
	}
	p.FactsIn(s.Facts, r.fact)
	p.Parts(s.Programs[:programs]...)
	p.Parts(s.Worst)
	p.Line("")
	p.FactsIn(s.Again, r.fact)
	if len(s.Again) > 0 {
		p.Line("")
	}
	p.ParagraphIn(s.Further, r.rest)
}

// PageOfArray writes an array as a page of its own.
func PageOfArray(w io.Writer, v *view.Array, links page.Links) error {
	s := &v.Words
	p := &page.Array{Frame: page.NewFrame(block.Joined(" ", "Array", v.ID, s.Name)+" – jobeff", links), ID: v.ID, Name: s.Name, Verdict: s.Headline,
		Advice: s.Again, Facts: s.Facts[1:], Parts: append(page.Parts(s.Programs...), page.Parts(s.Worst)...)}
	if s.Line.Line != "" {
		p.Todo = []block.Action{s.Line}
	}
	for _, part := range p.Parts {
		for _, t := range part.Tables {
			linked(t, links)
		}
	}
	return page.Write(w, "array", p)
}
