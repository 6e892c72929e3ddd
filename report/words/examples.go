package words

import (
	"fmt"
	"io"

	"jobeff/policy"
	"jobeff/report/figure"
	"jobeff/report/text"
)

// Tried is an example, and the rules that did not say what it expects.
type Tried struct {
	policy.Example
	Wrong []policy.Mismatch
}

// Examples writes where the rules differ from what a site's examples expect, and how many
// verdicts were right.
func Examples(w io.Writer, tried []Tried, opts text.Options) error {
	p := text.NewPage(opts)
	right, wrong := 0, 0
	for _, t := range tried {
		wrong += len(t.Wrong)
		right += len(t.Expect) - len(t.Wrong)
		if len(t.Wrong) > 0 {
			p.Paragraph("", "  ", p.Inert(t.At+": "+t.Name), p.Title)
		}
		for _, m := range t.Wrong {
			p.Line(fmt.Sprintf("  %s: expected %s, got %s", m.Got.Rule, m.Want, p.Bad.Sprint(m.Got.Outcome)))
			p.Paragraph("  because  ", "           ", p.Inert(m.Got.Reason), nil)
			p.Paragraph("  asks     ", "           ", m.Got.Condition, nil)
		}
		if len(t.Wrong) > 0 {
			p.Line("")
		}
	}
	p.Line(fmt.Sprintf("%s: %s as expected, %s not", figure.Counted(len(tried), "example"), figure.Counted(right, "verdict"), figure.Count(wrong)))
	return p.To(w)
}
