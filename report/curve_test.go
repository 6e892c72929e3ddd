package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"jobeff/policy/curve"
	"jobeff/policy/doubt"
	"jobeff/report/view"
)

// curveFixture is what a policy might have found, with everything that can be shown.
func curveFixture() (*curve.Result, []curve.Rival) {
	e := func(value, low, high float64) *curve.Estimate {
		return &curve.Estimate{Value: value, Low: low, High: high}
	}
	return &curve.Result{
		Level: 0.8, Line: 0.8, Smallest: 24, Largest: 3072, Counts: 8,
		Serial: *e(1.04e-4, 0, 3.8e-4), B: *e(968, 382, 1184), C: *e(1026, 505, 1226), T1: *e(39890, 36899, 41184),
		Fast: curve.CoreCount{Note: curve.NoteNotDetermined},
		Eff:  curve.CoreCount{Estimate: e(271.6, 221.9, 332.4)},
		Predicted: []curve.Prediction{
			{N: 6144, SpeedupOf: 24, T: e(59.9, 40.8, 88), Tau: e(47.7, 31, 71), PE: e(0.205, 0.112, 0.346), Speedup: e(28.3, 19.3, 41.5), CoreHours: e(102, 69.7, 150)},
			{N: 100000, SpeedupOf: 24, Note: curve.NoteTooFar},
		},
		Next:     &curve.NextRun{N: 272, About: "n_eff", Width: 0.404, After: 0.341},
		Warnings: []doubt.Doubt{{Code: curve.WarnErratic, Text: "run times jump between neighbouring core counts: intervals are wider; run some again"}},
	}, []curve.Rival{{Name: "Amdahl", Parameters: map[string]float64{"f_s": 0.0011}, Error: 0.082}}
}

func TestCurveViews(t *testing.T) {
	points := make([]curve.Point, 10)
	eachView(t, "curve", func(w io.Writer, opts Options) error {
		r, rivals := curveFixture()
		return TextOfCurve(w, view.NewCurve("a/\x1b[2Jlong/"+strings.Repeat("name", 20), points, r, rivals, opts.Unicode), opts)
	})
	var out bytes.Buffer
	refused := &curve.Result{Smallest: 1, Largest: 4, Counts: 3, Refused: "3 core counts: a curve needs 4", Next: &curve.NextRun{N: 8, About: "a curve needs more core counts"}}
	if err := TextOfCurve(&out, view.NewCurve("runs.csv", points[:3], refused, nil, false), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "curve-refused.txt", out.Bytes())
}

func TestCurveJSON(t *testing.T) {
	r, rivals := curveFixture()
	r.C.High = math.Inf(1)
	var out bytes.Buffer
	if err := view.Write(&out, view.NewCurve("", nil, r, rivals, true)); err != nil {
		t.Fatal(err)
	}
	golden(t, "curve.json", out.Bytes())
	out.Reset()
	if err := view.Write(&out, view.NewCurve("", nil, &curve.Result{Refused: "no runs", Fast: curve.CoreCount{Note: curve.NoteNotDetermined}}, nil, true)); err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"model", "f_s", "f_s_low", "f_s_high", "b", "c", "t_1", "n_fast", "n_eff", "n_eff_note"} {
		if v, there := d[field]; !there || v != nil {
			t.Errorf("refused, but %s is %v", field, v)
		}
	}
	if d["refused"] != "no runs" || d["n_fast_note"] != curve.NoteNotDetermined || len(d["predict"].([]any)) != 0 {
		t.Errorf("%v", d)
	}
}
