package curve

import (
	"math"
	"testing"
)

// known are parameters with an overhead that differs from what the mirrored model has.
var known = []Amdahl{
	{Serial: 0.01, B: 12, C: 20, T1: 3600},
	{Serial: 1e-4, B: 200, C: 250, T1: 86400},
	{Serial: 0.05, B: 3, C: 15, T1: 12},
	{Serial: 0.002, B: 40, C: 41, T1: 1},
	{Serial: 0.01, B: 19.95, C: 20, T1: 3600},
	{Serial: 0.3, B: 0.5, C: 2, T1: 500},
}

func wantClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Max(math.Abs(want), 1e-300) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func TestModelEquations(t *testing.T) {
	for _, m := range known {
		for _, n := range []float64{1, 2, 7, 64, 4096} {
			amdahl := m.Serial*m.T1 + (1-m.Serial)*m.T1/n                           // (4)
			tau := amdahl * m.B * (n - 1) / ((1+m.C-m.B)*n + (m.B + m.C + m.C*m.C)) // (5)
			total := amdahl * (1 + m.B*(n-1)/((1+m.C-m.B)*n+(m.B+m.C+m.C*m.C)))     // (6)
			wantClose(t, "share", m.Share(n)+1, m.B/(m.C+1)-m.B/(m.C+n)+1, 1e-13)   // (1)
			wantClose(t, "overhead", m.Overhead(n)+m.T1, tau+m.T1, 1e-13)
			wantClose(t, "time", m.Time(n), total, 1e-13)
			wantClose(t, "time", m.Time(n), amdahl+m.Overhead(n), 1e-13) // (3)
		}
	}
}

func TestClosedForms(t *testing.T) {
	minima := 0
	for _, m := range known {
		if n := m.Fastest(); !math.IsInf(n, 1) {
			minima++
			for _, other := range []float64{n * 0.999, n * 1.001} {
				if m.Time(other) < m.Time(n) {
					t.Errorf("%+v: t(%g) < t(%g), which should be least", m, other, n)
				}
			}
		} else if m.Time(1e12) > m.Time(1e11) {
			t.Errorf("%+v: t rises for large n, but no minimum was found", m)
		}
		n := m.Efficient(0.8)
		if math.IsInf(n, 1) {
			if m.Beta() > 0.2 {
				t.Errorf("%+v: the efficiency falls to %g, but n_eff is infinite", m, 1-m.Beta())
			}
			continue
		}
		wantClose(t, "share at n_eff", m.Share(n), 0.2, 1e-12)
	}
	if minima < 2 {
		t.Errorf("only %d of the models have a minimum: choose others", minima)
	}
}

func TestMirroredModelHasTheSameTimes(t *testing.T) {
	mirrors := 0
	for _, m := range known {
		o, ok := m.mirrored()
		if !ok {
			continue
		}
		mirrors++
		for _, n := range []float64{1, 3, 50, 1000} {
			wantClose(t, "time of the mirrored model", o.Time(n), m.Time(n), 1e-11)
		}
		if math.Abs(o.Share(100)-m.Share(100)) < 1e-6 {
			t.Errorf("%+v: the mirrored model has the same overhead", m)
		}
	}
	if mirrors == 0 {
		t.Error("none of the models has a mirrored one: choose others")
	}
}
