package report

import (
	"slices"
	"testing"
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
		{"see jobeff workload melt now", 20, true, []string{"see", "jobeff workload melt", "now"}},
		{"see (jobeff 8_3 --tasks) or jobeff", 21, true, []string{"see", "(jobeff 8_3 --tasks)", "or jobeff"}},
		{"", 5, true, []string{""}},
	} {
		if got := Wrap(c.s, c.n, c.cut); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
