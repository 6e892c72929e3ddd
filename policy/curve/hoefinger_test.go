package curve

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"jobeff/report/figure"
)

// The paper's procedure on run times that follow its model, at a serial part that its
// steps come to.
func TestHoefinger(t *testing.T) {
	m := Amdahl{Serial: serialStart * math.Pow(serialStep, 20), B: 50, C: 60, T1: 1000}
	r := Fit(made(m, false, 1, 2, 4, 8, 16, 32, 64, 128), Settings{Level: 0.8, Method: MethodHoefinger, Predict: []int{256, 512}})
	if r.Refused != "" || warned(r, WarnStandardError) || warned(r, WarnDropped) {
		t.Fatalf("refused %q, warnings %v", r.Refused, r.Warnings)
	}
	wantClose(t, "f_s", r.Serial.Value, m.Serial, 1e-9)
	wantClose(t, "b", r.B.Value, m.B, 0.01)
	wantClose(t, "c", r.C.Value, m.C, 0.01)
	wantClose(t, "t", r.Predicted[0].T.Value, m.Time(256), 0.01)
	wantClose(t, "n_eff", r.Eff.Estimate.Value, m.Efficient(0.8), 0.01)
	if r.Predicted[1].T != nil {
		t.Error("says something beyond twice the largest n")
	}
	if r.B.High < r.B.Value || r.Level != standardLevel {
		t.Errorf("b %+v at level %g", r.B, r.Level)
	}
}

func TestHoefingerOnMeasuredCurves(t *testing.T) {
	fitted := 0
	for _, n := range nexts(t) {
		if len(n.seen) != 6 {
			continue
		}
		r := Fit(n.seen, Settings{Level: 0.8, Method: MethodHoefinger})
		if r.Refused != "" {
			continue
		}
		fitted++
		accepted := r.C.Value > r.B.Value && r.B.High <= 1.3*r.B.Value && r.C.High <= 1.3*r.C.Value
		if accepted == warned(r, WarnStandardError) {
			t.Errorf("%s: b %+v, c %+v, warnings %v", n.curve, r.B, r.C, r.Warnings)
		}
	}
	if fitted == 0 {
		t.Error("no curve was fitted")
	}
}

// TestHoefingerErrors: standard errors are the residual variance times the inverse of J'J, and figures follow from them.
func TestHoefingerErrors(t *testing.T) {
	for _, cores := range [][]int{{1, 2, 4, 8, 16, 32}, {4, 8, 16, 32, 64, 128}, {4, 8, 16, 32}} {
		groups := Grouped(noisyTimes(Amdahl{Serial: 0.01, B: 12, C: 20, T1: 3600}, cores...))
		h, ok := fitByHand(groups, 0.01, []float64{math.Log(12), math.Log(20)})
		free := map[int]int{1: 2, 4: 3}[cores[0]] // b, c and, where one core was not run, t_1
		if !ok || len(h.p) != free {
			t.Fatalf("%v: %v, %v", cores, ok, h.p)
		}
		var squares float64
		into := make([]float64, len(groups))
		differences := func(into, p []float64) {
			for i, g := range groups {
				into[i] = math.Exp(g.Y) - h.model(p).Time(g.N)
			}
		}
		differences(into, h.p)
		for _, d := range into {
			squares += d * d
		}
		wantClose(t, "squares", h.squares, squares, 1e-9)
		j := mat.NewDense(len(groups), free, nil)
		fd.Jacobian(j, differences, h.p, &fd.JacobianSettings{Formula: fd.Central})
		var normal, product mat.Dense
		normal.Mul(j.T(), j)
		product.Mul(&normal, h.cov)
		for i := range free {
			wantClose(t, "J'J cov", product.At(i, i), squares/float64(len(cores)-free), 1e-6)
		}
	}
	if _, ok := fitByHand(Grouped(noisyTimes(known[0], 1, 2)), 0.01, []float64{1, 2}); ok {
		t.Error("two runs give two parameters with errors")
	}
	m := Amdahl{Serial: serialStart * math.Pow(serialStep, 20), B: 50, C: 60, T1: 1000}
	r := Fit(made(m, false, 1, 2, 4, 8, 16, 32, 64, 128), Settings{Level: 0.8, Method: MethodHoefinger, Predict: []int{256}})
	p := r.Predicted[0]
	for what, v := range map[string]struct {
		got  *Estimate
		want float64
	}{"PE": {p.PE, 1 - m.Share(256)}, "tau": {p.Tau, m.Overhead(256)}, "speedup": {p.Speedup, m.Time(1) / m.Time(256)}, "core-hours": {p.CoreHours, m.Time(256) * 256 / 3600}} {
		wantClose(t, what, v.got.Value, v.want, 0.01)
		if math.Abs(v.got.Value-v.got.Low-(v.got.High-v.got.Value)) > 1e-9*v.got.Value || v.got.Low > v.got.Value {
			t.Errorf("%s: %+v", what, v.got)
		}
	}
	// A first run of another kind spoils the fit: without it the paper would take it. Four are left at least.
	for _, cores := range [][]int{{1, 2, 4, 8, 16, 32, 64, 128}, {1, 8, 16, 32, 64}, {1, 8, 16, 64}} {
		points := made(m, false, cores...)
		points[0].T *= 0.7
		r, want := Fit(points, Settings{Level: 0.8, Method: MethodHoefinger}), "without the 1 core count with the fewest cores"
		if len(cores) == 4 {
			want = "c - b = " + figure.Number(r.C.Value-r.B.Value)
		}
		if n := len(r.Warnings); n != 1 || !strings.HasSuffix(r.Warnings[0].Text, want) {
			t.Errorf("%v: %v, want %q", cores, r.Warnings, want)
		}
	}
	// The bounds of the paper: errors of 30 %, and c over b.
	for _, c := range []struct {
		b, c, errB, errC float64
		want             bool
	}{{1, 2, 0.3, 0.3, true}, {1, 2, 0.31, 0.1, false}, {1, 2, 0.1, 0.31, false}, {2, 2, 0.1, 0.1, false}} {
		h := handFit{p: []float64{c.b, c.c}, cov: mat.NewSymDense(2, []float64{c.errB * c.errB, 0, 0, c.errC * c.errC})}
		if h.accepted() != c.want {
			t.Errorf("%+v: accepted %v", c, !c.want)
		}
	}
	k := &curve{result: &Result{Smallest: 4, Largest: 16}}
	for _, c := range []struct {
		e    Estimate
		note string
	}{{Estimate{32, 20, 40}, ""}, {Estimate{4, 3, 5}, ""}, {Estimate{32.1, 20, 40}, NoteNotReached}, {Estimate{3.9, 3, 5}, NoteBelowSmallest}, {Estimate{8, math.NaN(), 9}, NoteNotDetermined}, {Estimate{8, 7, math.NaN()}, NoteNotDetermined}} {
		if got := k.reached(c.e); got.Note != c.note || (got.Estimate != nil) != (c.note == "") {
			t.Errorf("%+v: %+v", c.e, got)
		}
	}
}
