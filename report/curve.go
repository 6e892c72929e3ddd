package report

import (
	"fmt"
	"io"

	"jobeff/policy/curve"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/text"
)

// Curve writes what a workload's curve says. The name may be anything.
func Curve(w io.Writer, name string, points []curve.Point, r *curve.Result, rivals []curve.Rival, opts text.Options) error {
	p := text.NewPage(opts)
	p.Paragraph("", "", "Curve of "+inert.Text(name, p.Unicode), p.Title)
	p.Field("measured", fmt.Sprintf("%s on %s, %s to %s cores", figure.Counted(len(points), "run"), figure.Counted(r.Counts, "core count"),
		figure.Count(r.Smallest), figure.Count(r.Largest)))
	if r.Refused != "" {
		p.Field("no curve", r.Refused)
	} else {
		p.Facts(countsFacts(r))
		p.Field("model", modelText(r))
		p.Line("")
		p.Part(predictionsPart("", r))
		p.Line("")
		p.Field("other fits", rivalsText(rivals))
	}
	if r.Next != nil {
		p.Field("next run", nextRun(r.Next))
	}
	for _, warning := range r.Warnings {
		p.Field("warning", warning.String())
	}
	return p.To(w)
}
