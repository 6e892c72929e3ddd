package report

import (
	"fmt"
	"io"

	"jobeff/policy"
	"jobeff/report/figure"
)

// Tried is an example and the rules that say something else of it than expected.
type Tried struct {
	policy.Example
	Wrong []policy.Mismatch
}

// Examples writes what rules said otherwise than a site's examples expect, and how
// many verdicts were right.
func Examples(w io.Writer, tried []Tried, opts Options) error {
	p := newPage(opts)
	right, wrong := 0, 0
	for _, t := range tried {
		wrong += len(t.Wrong)
		right += len(t.Expect) - len(t.Wrong)
		if len(t.Wrong) > 0 {
			p.paragraph("", "  ", p.inert(t.At+": "+t.Name), p.title)
		}
		for _, m := range t.Wrong {
			p.line(fmt.Sprintf("  %s: expected %s, got %s", m.Got.Rule, m.Want, p.bad.Sprint(m.Got.Outcome)))
			p.paragraph("  because  ", "           ", p.inert(m.Got.Reason), nil)
			p.paragraph("  asks     ", "           ", m.Got.Condition, nil)
		}
		if len(t.Wrong) > 0 {
			p.line("")
		}
	}
	p.line(fmt.Sprintf("%s: %s as expected, %d not", figure.Counted(len(tried), "example"), figure.Counted(right, "verdict"), wrong))
	return p.to(w)
}
