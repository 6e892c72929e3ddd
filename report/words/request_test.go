package words

import "testing"

// TestReserveText: a reserve is a part of what was needed, unless a minute is asked for what took five seconds.
func TestReserveText(t *testing.T) {
	for fraction, want := range map[float64]string{.2: "20 %", 1.99: "199 %", 2: "much", 11: "much"} {
		if got := reserveText(fraction, "much"); got != want {
			t.Errorf("%g is told as %q, want %q", fraction, got, want)
		}
	}
}
