package report

import (
	"fmt"
	"io"

	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// Curve writes what a workload's curve says. The name may be anything.
func Curve(w io.Writer, name string, points []curve.Point, r *curve.Result, rivals []curve.Rival, opts Options) error {
	p := newPage(opts)
	p.paragraph("", "", "Curve of "+InertText(name, p.unicode), p.title)
	p.field("measured", fmt.Sprintf("%s on %s, %s to %s cores", figure.Counted(len(points), "run"), figure.Counted(r.Counts, "core count"),
		figure.Count(r.Smallest), figure.Count(r.Largest)))
	if r.Refused != "" {
		p.field("no curve", r.Refused)
	} else {
		p.facts(countsFacts(r))
		p.field("model", fmt.Sprintf("f_s %s, b %s, c %s, t_1 %s s",
			estimate(r.Serial), estimate(r.B), estimate(r.C), estimate(r.T1)))
		p.line("")
		p.part(predictionsPart("", r))
		p.line("")
		p.field("beside", rivalsText(rivals))
	}
	if r.Next != nil {
		p.field("next run", nextRun(r.Next))
	}
	for _, warning := range r.Warnings {
		p.field("warning", warning.String())
	}
	return p.to(w)
}
