package curve

import (
	"math"
	"testing"
)

// The paper's procedure on run times that follow its model, at a serial part that its
// steps come to.
func TestHoefinger(t *testing.T) {
	m := Amdahl{Serial: serialStart * math.Pow(serialStep, 20), B: 50, C: 60, T1: 1000}
	r := Fit(made(m, false, 1, 2, 4, 8, 16, 32, 64, 128), Settings{Method: MethodHoefinger, Predict: []int{256, 512}})
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
		r := Fit(n.seen, Settings{Method: MethodHoefinger})
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
