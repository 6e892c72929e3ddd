package report

import (
	"io"

	"jobeff/report/block"
	"jobeff/report/words"
)

// TextOfOverheads lists curves of jobeff-overhead.
func TextOfOverheads(w io.Writer, o words.Overheads, opts Options) error {
	p := newTerminal(opts)
	p.part(o.List)
	for _, fell := range o.Fell {
		p.line("")
		p.paragraph("", "", fell, p.Bad)
	}
	return p.writeTo(w)
}

// TextOfOverheadCurves draws curves for a terminal: a bar for each size.
func TextOfOverheadCurves(w io.Writer, curves []words.OverheadCurve, opts Options) error {
	p := newTerminal(opts)
	for i, c := range curves {
		if i > 0 {
			p.line("")
		}
		p.paragraph("", "", c.Title, p.Title)
		p.table(p.withBars(c.Sizes, len(c.Sizes.Heads)-1), "")
		p.part(block.Part{Notes: c.Refused})
	}
	return p.writeTo(w)
}
