package report

import (
	"io"
	"math"

	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/view"
	"jobeff/report/words"
)

// TextOfArray writes the summary of an array's tasks.
func TextOfArray(w io.Writer, v *view.Array, opts Options) error {
	p, s := newTerminal(opts), &v.Words
	p.headline(s.Headline)
	p.facts(s.Facts)
	p.parts(s.Programs...)
	p.parts(s.Worst)
	p.line("")
	p.action(s.Again, math.MaxInt)
	p.paragraph("", "", s.Further, nil)
	lineTo(p, s.Line)
	return p.writeTo(w)
}

// ScreenOfArray writes its beginning, in one screen: as many of the array's programs as have room.
func ScreenOfArray(w io.Writer, v *view.Array, opts Options) error {
	programs := len(v.Words.Programs)
	for fewer := 0; ; fewer++ {
		p, keep := newTerminal(opts), max(programs-fewer, 0)
		firstOfArray(p, v, keep, rooms[min(fewer, len(rooms)-1)])
		if keep < programs {
			p.line(words.FullForm(v.ID) + ": " + figure.Counted(len(v.Programs)-keep, "further program"))
		}
		if p.height() <= mostLines || fewer > programs+len(rooms) {
			return p.writeTo(w)
		}
	}
}

// firstOfArray writes that with some of its programs.
func firstOfArray(p *terminal, v *view.Array, programs int, r room) {
	s := &v.Words
	p.headlineIn(s.Headline, r.headline)
	p.action(s.Line, r.ask)
	p.factsIn(s.Facts, r.fact)
	p.parts(s.Programs[:programs]...)
	p.parts(s.Worst)
	p.line("")
	p.action(s.Again, r.fact)
	p.paragraphIn(s.Further, r.rest)
}

// PageOfArray writes an array as a page of its own.
func PageOfArray(w io.Writer, v *view.Array, links Links) error {
	s := &v.Words
	p := &arrayPage{frame: newFrame(block.Joined(" ", "Array", v.ID, s.Name)+" – jobeff", links), ID: v.ID, Name: s.Name, Verdict: s.Headline,
		Facts: s.Facts[1:], Parts: append(partsOf(s.Programs...), partsOf(s.Worst)...)}
	for _, one := range []block.Action{s.Line, s.Again} {
		if one.Text != "" {
			p.Todo = append(p.Todo, one)
		}
	}
	for _, part := range p.Parts {
		for _, t := range part.Tables {
			linked(t, links)
		}
	}
	return writePage(w, "array", p)
}
