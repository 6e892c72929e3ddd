package report

import (
	"io"

	"jobeff/report/block"
	"jobeff/report/text"
	"jobeff/report/words"
)

// TextOfOverheads lists curves of jobeff-overhead.
func TextOfOverheads(w io.Writer, o words.Overheads, opts text.Options) error {
	p := text.NewPage(opts)
	p.Part(o.List)
	for _, fell := range o.Fell {
		p.Line("")
		p.Paragraph("", "", fell, p.Bad)
	}
	return p.To(w)
}

// TextOfOverheadCurves draws curves for a terminal: a bar for each size.
func TextOfOverheadCurves(w io.Writer, curves []words.OverheadCurve, opts text.Options) error {
	p := text.NewPage(opts)
	for i, c := range curves {
		if i > 0 {
			p.Line("")
		}
		p.Paragraph("", "", c.Title, p.Title)
		p.Table(p.WithBars(c.Sizes, len(c.Sizes.Heads)-1), "")
		p.Part(block.Part{Notes: c.Refused})
	}
	return p.To(w)
}
