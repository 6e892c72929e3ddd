package curve

import (
	"math"
	"testing"
)

func TestRivals(t *testing.T) {
	var amdahl, usl []Point
	for n := 1; n <= 64; n *= 2 {
		x := float64(n)
		amdahl = append(amdahl, Point{N: n, T: 100 * (0.02 + 0.98/x)})
		usl = append(usl, Point{N: n, T: 100 * (1 + 0.03*(x-1) + 0.0004*x*(x-1)) / x})
	}
	a, u := Rivals(amdahl)[0], Rivals(usl)[1]
	wantClose(t, "f_s", a.Parameters["f_s"], 0.02, 1e-3)
	wantClose(t, "t_1", a.Parameters["t_1"], 100, 1e-3)
	wantClose(t, "sigma", u.Parameters["sigma"], 0.03, 1e-3)
	wantClose(t, "kappa", u.Parameters["kappa"], 0.0004, 1e-3)
	amdahl[2].T, amdahl[4].T = 1.1*amdahl[2].T, amdahl[4].T/1.2
	var squares float64
	off := Rivals(amdahl)[0]
	for _, p := range amdahl {
		squares += math.Pow(math.Log(off.Time(float64(p.N))/p.T), 2)
	}
	wantClose(t, "error", off.Error, math.Sqrt(squares/7), 1e-9)
	if one, two := Rivals(amdahl[:1]), Rivals(amdahl[:2]); one != nil || len(two) != 2 {
		t.Errorf("of one core count %v, of two %v", one, two)
	}
	wantClose(t, "USL's t", u.Time(128), 100*(1+0.03*127+0.0004*128*127)/128, 1e-3)
}
