package notice

import (
	"fmt"
	"testing"

	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// TestSumOfSavings: those of one workload err together, others apart.
func TestSumOfSavings(t *testing.T) {
	t.Parallel()
	s := func(key string, v, low, high float64) Saving {
		return Saving{Key: key, Hours: curve.Estimate{Value: v, Low: low, High: high}}
	}
	for _, c := range []struct {
		savings []Saving
		want    *curve.Estimate
	}{
		{nil, nil},
		{[]Saving{s("a", 10, 7, 14)}, &curve.Estimate{Value: 10, Low: 7, High: 14}},
		{[]Saving{s("a", 10, 7, 14), s("b", 20, 16, 23)}, &curve.Estimate{Value: 30, Low: 25, High: 35}},
		{[]Saving{s("a", 10, 8, 13), s("a", 5, 4, 6), s("b", 20, 16, 23)}, &curve.Estimate{Value: 35, Low: 30, High: 40}},
	} {
		if got := sumOf(c.savings); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, want %v", c.savings, got, c.want)
		}
	}
}

// TestOneAdvice: several core counts of a workload are told one count, that which saves most.
func TestOneAdvice(t *testing.T) {
	of := func(key string, cores, advised int) Saving {
		return Saving{Key: key, Cores: cores, Advice: workload.Recommendation{Cores: curve.Estimate{Value: float64(advised)}}}
	}
	var got []int
	for _, s := range oneAdvice([]Saving{of("a", 1024, 128), of("b", 32, 8), of("a", 256, 64), of("a", 512, 128)}) {
		got = append(got, s.Cores)
	}
	if fmt.Sprint(got) != "[1024 32 512]" {
		t.Error(got)
	}
}
