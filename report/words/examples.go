package words

import (
	"fmt"

	"jobeff/policy"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Tried is an example, and the rules that did not say what it expects.
type Tried struct {
	policy.Example
	Wrong []policy.Mismatch
}

// Examples are those in which the rules differ from what a site expects, and how many verdicts were right.
type Examples struct {
	Wrong []WrongExample
	Sum   string
}

// WrongExample is an example, and what its rules said in place of what it expects.
type WrongExample struct {
	Name string
	Got  []Mismatch
}

// Mismatch is what a rule said of an example, why, and its condition.
type Mismatch struct{ Rule, Want, Got, Because, Asks string }

// OfExamples are the words of some examples.
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
