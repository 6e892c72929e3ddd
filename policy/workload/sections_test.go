package workload

import (
	"math"
	"reflect"
	"testing"

	"jobeff/policy/curve"
)

// The vectors of METRICS 3.
func TestPartialBoundsVectors(t *testing.T) {
	const sequential = 5589.84
	for processes, v := range map[float64]struct{ total, want float64 }{
		64: {3025.44, 118.25}, 112: {1822.38, 343.54}, 128: {14135.56, 50.62},
	} {
		if got := SpeedupBound(sequential, v.total/processes); math.Abs(got-v.want) > 0.006 {
			t.Errorf("bound at %g processes %g, want %g", processes, got, v.want)
		}
	}
	if got := SpeedupBound(882.48, 43.84+64.29); math.Abs(got-8.16) > 0.005 {
		t.Errorf("LULESH: %g, want 8.16", got)
	}
	if got := SpeedupBound(882.48, 64.29); math.Abs(got-13.73) > 0.005 {
		t.Errorf("LagrangeElements: %g, want 13.73", got)
	}
}

func TestPartialBounds(t *testing.T) {
	runs := []SectionRun{
		{8, map[string]float64{"solve": 12, "halo": 10, "setup": 0}},
		{1, map[string]float64{"solve": 90, "halo": 5, "setup": 5}},
		{4, map[string]float64{"solve": 23, "halo": 4, "setup": 5}},
	}
	all := PartialBounds(runs)
	if len(all) != 3 || all[0].N != 1 || all[2].N != 8 || all[2].RelativeTo != 1 {
		t.Fatalf("%+v", all)
	}
	if b := all[2].Bounds; len(b) != 2 || b[0].Label != "solve" || b[1] != (Bound{"halo", 10, 10.0 / 22}) {
		t.Errorf("on 8: %+v", b)
	}
	wantClose(t, "bound of solve on 8", all[2].Bounds[0].Speedup, 100.0/12, 1e-12)
	if b := PartialBounds(runs[:1]); b[0].RelativeTo != 8 {
		t.Errorf("without a run on one process: %+v", b)
	}
	if at := SectionInflexion(runs, "halo"); at.Estimate == nil || at.Estimate.Low != 1 || at.Estimate.High != 8 {
		t.Errorf("halo slows down after 4: %+v %s", at.Estimate, at.Note)
	}
	if at := SectionInflexion(runs, "solve"); at.Note != curve.NoteNotReached {
		t.Errorf("solve still falls: %+v", at)
	}
	if at, without := SectionInflexion(append(runs, SectionRun{0, map[string]float64{"setup": 1}}), "setup"), SectionInflexion(runs[1:], "setup"); !reflect.DeepEqual(at, without) {
		t.Errorf("a run without the section, or without processes, counts: %+v, not %+v", at, without)
	}
	if at := SectionInflexion(runs, "no such"); at.Note != curve.NoteNotDetermined {
		t.Errorf("there is no such section: %+v", at)
	}
}

func TestComputationScaling(t *testing.T) {
	ref := Work{N: 4, Useful: 100, Instructions: 3e12, Cycles: 2.5e11}
	here := Work{N: 64, Useful: 130, Instructions: 3.3e12, Cycles: 3.1e11}
	s := CompareWork(ref, here)
	wantClose(t, "CompS", s.CompS, 100.0/130, 1e-15)
	wantClose(t, "InsS", *s.InsS, 3/3.3, 1e-12)
	wantClose(t, "IPCS", *s.IPCS, (3.3e12/3.1e11)/12, 1e-12)
	wantClose(t, "FreqS", *s.FreqS, (3.1e11/130)/2.5e9, 1e-12)
	wantClose(t, "InsS x IPCS x FreqS", *s.InsS**s.IPCS**s.FreqS, s.CompS, 1e-12)
	wantClose(t, "GE", GlobalEfficiency(0.7, s.CompS), 0.7*100/130, 1e-15)
	for i := range 4 {
		a, b := ref, here
		*[]*float64{&a.Instructions, &a.Cycles, &b.Instructions, &b.Cycles}[i] = 0
		if s := CompareWork(a, b); s.InsS != nil || s.IPCS != nil || s.FreqS != nil {
			t.Error("factors without counters")
		}
	}
}

func TestRecogniseScaling(t *testing.T) {
	for name, c := range map[string]struct {
		runs []Work
		want Scaling
	}{
		"strong":             {[]Work{{N: 1, Useful: 100}, {N: 4, Useful: 101}, {N: 16, Useful: 99}}, ScalingStrong},
		"strong, more work":  {[]Work{{N: 1, Useful: 100}, {N: 4, Useful: 130}, {N: 16, Useful: 170}}, ScalingStrong},
		"strong, caches":     {[]Work{{N: 1, Useful: 100}, {N: 4, Useful: 70}, {N: 16, Useful: 60}}, ScalingStrong},
		"weak":               {[]Work{{N: 1, Useful: 100}, {N: 4, Useful: 410}, {N: 16, Useful: 1590}}, ScalingWeak},
		"weak, a bit slower": {[]Work{{N: 8, Useful: 100}, {N: 16, Useful: 220}, {N: 32, Useful: 450}}, ScalingWeak},
		"between":            {[]Work{{N: 1, Useful: 100}, {N: 4, Useful: 230}, {N: 16, Useful: 500}}, ScalingUnclear},
		"what is not known":  {[]Work{{N: 0, Useful: 9}, {N: 1, Useful: 100}, {N: 2, Useful: 0}, {N: 4, Useful: 101}}, ScalingStrong},
		"not far apart":      {[]Work{{N: 4, Useful: 100}, {N: 7, Useful: 100}}, ScalingUnclear},
		"twice as many":      {[]Work{{N: 4, Useful: 100}, {N: 8, Useful: 100}}, ScalingStrong},
		"one core count":     {[]Work{{N: 4, Useful: 100}, {N: 4, Useful: 400}}, ScalingUnclear},
		"nothing":            {nil, ScalingUnclear},
	} {
		if got, exponent, why := RecogniseScaling(c.runs); got != c.want {
			t.Errorf("%s: %s (%g, %s), want %s", name, got, exponent, why, c.want)
		}
	}
	weak := Speedups([]curve.Point{{N: 1, T: 10}, {N: 2, T: 10.5}, {N: 4, T: 12.5}})
	wantClose(t, "weak efficiency on 4", weak[2].Value, 0.8, 1e-12)
	g := curve.Grouped([]curve.Point{{N: 1, T: 10}, {N: 2, T: 10.5}, {N: 4, T: 12.5}})
	wantClose(t, "its lower bound", weak[2].Low, 0.8*math.Exp(-curve.Surely*math.Hypot(g[2].Noise, g[0].Noise)), 1e-12)
	if weak[0].Value != 1 || !weak[2].Within(0.8) {
		t.Errorf("%+v", weak)
	}
}

func wantClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}
