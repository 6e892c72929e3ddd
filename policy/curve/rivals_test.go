package curve

import "testing"

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
	wantClose(t, "USL's t", u.Time(128), 100*(1+0.03*127+0.0004*128*127)/128, 1e-3)
}
