package block

import "testing"

// TestScale: a map shows how its shares differ, and makes no pattern of noise.
func TestScale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shares []float64
		want   Scale
		levels []int // of 10
	}{
		{[]float64{0, 0.13, 0.257}, Scale{0, 0.26}, []int{0, 5, 9}},
		{[]float64{0.98, 0.985}, Scale{0.89, 0.99}, []int{9, 9}},
		{[]float64{0.025, 0.03}, Scale{0, 0.1}, []int{2, 3}},
		{[]float64{0, 1}, Scale{0, 1}, []int{0, 9}},
		{[]float64{1}, Scale{0.9, 1}, []int{9}},
	} {
		s := ScaleOf(c.shares)
		if d := max(s.Low-c.want.Low, c.want.Low-s.Low, s.High-c.want.High, c.want.High-s.High); d > 1e-12 {
			t.Errorf("%v: %v, want %v", c.shares, s, c.want)
		}
		for i, share := range c.shares {
			if got := s.Level(share, 10); got != c.levels[i] {
				t.Errorf("%v of %v: level %d, want %d", share, c.shares, got, c.levels[i])
			}
		}
	}
}
