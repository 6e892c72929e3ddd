package report

import (
	"io"

	"jobeff/report/view"
)

// TextOfCurve writes a workload's curve, and what follows from it.
func TextOfCurve(w io.Writer, v *view.Curve, opts Options) error {
	p := newTerminal(opts)
	p.paragraph("", "", v.Words.Title, p.Title)
	p.facts(v.Words.Facts)
	if v.Refused == nil {
		p.line("")
		p.part(v.Words.Expected)
		p.line("")
	}
	p.facts(v.Words.Further)
	return p.writeTo(w)
}
