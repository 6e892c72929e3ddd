package report

import (
	"io"

	"jobeff/report/text"
	"jobeff/report/view"
)

// TextOfCurve writes what a workload's curve says.
func TextOfCurve(w io.Writer, v *view.Curve, opts text.Options) error {
	p := text.NewPage(opts)
	p.Paragraph("", "", v.Words.Title, p.Title)
	p.Facts(v.Words.Facts)
	if v.Refused == nil {
		p.Line("")
		p.Part(v.Words.Expected)
		p.Line("")
	}
	p.Facts(v.Words.Further)
	return p.To(w)
}
