package report

import (
	"slices"
	"testing"

	"jobeff/policy/curve"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		cut  bool
		want []string
	}{
		{"took 5 % longer", 6, true, []string{"took", "5 %", "longer"}},
		{"(90 %: 5 to 14 %).", 9, true, []string{"(90 %: 5", "to 14 %)."}},
		{"a  b\nc", 80, true, []string{"a b c"}},
		{"% 5", 80, true, []string{"% 5"}},
		{"abcdefgh i", 3, true, []string{"abc", "def", "gh", "i"}},
		{"see https://pop-coe.eu/node/69 now", 8, false, []string{"see", "https://pop-coe.eu/node/69", "now"}},
		{"", 5, true, []string{""}},
	} {
		if got := Wrap(c.s, c.n, c.cut); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestChangesInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e          curve.Estimate
		text, span string
	}{
		{curve.Estimate{Value: 0.09, Low: 0.05, High: 0.14}, "taken 9 % longer", "5 to 14 %"},
		{curve.Estimate{Value: -0.05, Low: -0.12, High: 0.03}, "taken 5 % less time", "12 % less to 3 % more"},
		{curve.Estimate{Value: -0.31, Low: -0.41, High: -0.19}, "taken 31 % less time", "19 to 41 %"},
		{curve.Estimate{Value: 0.58, Low: -0.09, High: 1.75}, "taken 58 % longer", "9 % less to 2.8 times as long"},
		{curve.Estimate{Value: 0.77, Low: 0.02, High: 2.08}, "taken 77 % longer", "2 % longer to 3.1 times as long"},
		{curve.Estimate{Value: 32.29, Low: 20.4, High: 40}, "taken 33 times as long", "21 to 41 times as long"},
		{curve.Estimate{Value: 0.996, Low: 0.99, High: 1.2}, "taken 2.0 times as long", "99 % longer to 2.2 times as long"},
	} {
		if got := changeText(c.e.Value); got != c.text {
			t.Errorf("%v: %q, want %q", c.e.Value, got, c.text)
		}
		if got := rangeText(c.e); got != c.span {
			t.Errorf("%v: %q, want %q", c.e, got, c.span)
		}
	}
}
