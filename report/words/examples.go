package words

import (
	"fmt"

	"jobeff/policy"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Tried is an example, and the rules whose verdict it does not expect.
type Tried struct {
	policy.Example
	Wrong []policy.Mismatch
}

// Examples holds the examples that the rules decide otherwise than a site expects, and how many verdicts were
// right.
type Examples struct {
	Wrong []WrongExample
	Sum   string
}

// WrongExample is an example, and the unexpected verdicts.
type WrongExample struct {
	Name string
	Got  []Mismatch
}

// Mismatch is a rule's verdict on an example, the expected one, the reason, and the condition.
type Mismatch struct{ Rule, Want, Got, Because, Asks string }

// OfExamples words some examples.
func OfExamples(tried []Tried, wide bool) (e Examples) {
	right, wrong := 0, 0
	for _, t := range tried {
		wrong += len(t.Wrong)
		right += len(t.Expect) - len(t.Wrong)
		one := WrongExample{Name: inert.Text(t.At+": "+t.Name, wide)}
		for _, m := range t.Wrong {
			one.Got = append(one.Got, Mismatch{m.Got.Rule, m.Want.String(), m.Got.Outcome.String(), inert.Text(m.Got.Reason, wide), m.Got.Condition})
		}
		if len(t.Wrong) > 0 {
			e.Wrong = append(e.Wrong, one)
		}
	}
	e.Sum = fmt.Sprintf("%s: %s as expected, %s not", figure.Counted(len(tried), "example"), figure.Counted(right, "verdict"), figure.Count(wrong))
	return e
}
