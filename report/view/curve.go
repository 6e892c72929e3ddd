package view

import (
	"jobeff/policy/curve"
	"jobeff/report/words"
)

// Curve is the view of a curve. Times are seconds, shares and
// efficiencies fractions; null is not known, and its note says why. Fields are only added.
type Curve struct {
	Model      *string  `json:"model"`  // null where refused
	Level      float64  `json:"level"`  // confidence of all intervals, 0.9: 9 of 10 hold the true value
	Smallest   int      `json:"n_1"`    // cores
	Largest    int      `json:"n_k"`    // cores
	Counts     int      `json:"counts"` // different core counts
	Serial     *float64 `json:"f_s"`
	SerialLow  *float64 `json:"f_s_low"`
	SerialHigh *float64 `json:"f_s_high"`
	B          *float64 `json:"b"`
	BLow       *float64 `json:"b_low"`
	BHigh      *float64 `json:"b_high"`
	C          *float64 `json:"c"`
	CLow       *float64 `json:"c_low"`
	CHigh      *float64 `json:"c_high"`
	T1         *float64 `json:"t_1"`
	T1Low      *float64 `json:"t_1_low"`
	T1High     *float64 `json:"t_1_high"`
	Fast       *float64 `json:"n_fast"`
	FastLow    *float64 `json:"n_fast_low"`
	FastHigh   *float64 `json:"n_fast_high"`
	FastNote   *string  `json:"n_fast_note"`
	Eff        *float64 `json:"n_eff"`
	EffLow     *float64 `json:"n_eff_low"`
	EffHigh    *float64 `json:"n_eff_high"`
	EffNote    *string  `json:"n_eff_note"`

	Predict  []Prediction `json:"predict"`
	Next     *Next        `json:"next_run"`
	Beside   []Rival      `json:"beside"`
	Warnings []Warning    `json:"warnings"`
	Refused  *string      `json:"refused"`

	Words words.Curve `json:"-"`
}

// Prediction is what is expected of a run on N cores.
type Prediction struct {
	N             int      `json:"n"`
	T             *float64 `json:"t"`
	TLow          *float64 `json:"t_low"`
	THigh         *float64 `json:"t_high"`
	Tau           *float64 `json:"tau"`
	TauLow        *float64 `json:"tau_low"`
	TauHigh       *float64 `json:"tau_high"`
	PE            *float64 `json:"pe"`
	PELow         *float64 `json:"pe_low"`
	PEHigh        *float64 `json:"pe_high"`
	Speedup       *float64 `json:"speedup"` // against SpeedupOf cores
	SpeedupLow    *float64 `json:"speedup_low"`
	SpeedupHigh   *float64 `json:"speedup_high"`
	SpeedupOf     int      `json:"speedup_of"`
	CoreHours     *float64 `json:"core_hours"`
	CoreHoursLow  *float64 `json:"core_hours_low"`
	CoreHoursHigh *float64 `json:"core_hours_high"`
	Note          *string  `json:"note"`
}

// Next is the run that would teach most.
type Next struct {
	N     int      `json:"n"`
	About string   `json:"about"`
	Width *float64 `json:"width"`
	After *float64 `json:"width_after"`

	Sbatch *string `json:"sbatch"` // the line that starts it; null: of no workload
}

// Rival is a simpler model.
type Rival struct {
	Name       string             `json:"name"`
	Parameters map[string]float64 `json:"parameters"`
	Error      *float64           `json:"rms"` // of ln t
}

// Warning is a doubt.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// NewCurve makes the view of a curve through points, and of simpler models. The name may be anything. wide
// means that its reader sees characters outside ASCII.
func NewCurve(name string, points []curve.Point, r *curve.Result, rivals []curve.Rival, wide bool) *Curve {
	c := curveFigures(r, rivals)
	c.Words = words.OfCurve(name, points, r, rivals, wide)
	return &c
}

func curveFigures(r *curve.Result, rivals []curve.Rival) Curve {
	d := Curve{
		Level: r.Level, Smallest: r.Smallest, Largest: r.Largest, Counts: r.Counts, Refused: said(r.Refused),
		Predict: []Prediction{}, Beside: []Rival{}, Warnings: []Warning{},
	}
	if r.Refused == "" {
		d.Model = said(r.Model())
	}
	if r.Refused == "" && r.NoModel == "" {
		d.Serial, d.SerialLow, d.SerialHigh = ends(&r.Serial)
		d.B, d.BLow, d.BHigh = ends(&r.B)
		d.C, d.CLow, d.CHigh = ends(&r.C)
		d.T1, d.T1Low, d.T1High = ends(&r.T1)
	}
	d.Fast, d.FastLow, d.FastHigh = ends(r.Fast.Estimate)
	d.Eff, d.EffLow, d.EffHigh = ends(r.Eff.Estimate)
	d.FastNote, d.EffNote = said(r.Fast.Note), said(r.Eff.Note)
	for _, q := range r.Predicted {
		d.Predict = append(d.Predict, curvePrediction(q))
	}
	d.Next = curveNext(r.Next)
	for _, rival := range rivals {
		d.Beside = append(d.Beside, Rival{rival.Name, rival.Parameters, finite(rival.Error)})
	}
	for _, warning := range r.Warnings {
		d.Warnings = append(d.Warnings, Warning{warning.Code, warning.Text})
	}
	return d
}

func curveNext(n *curve.NextRun) *Next {
	if n == nil {
		return nil
	}
	return &Next{N: n.N, About: n.About, Width: finite(n.Width), After: finite(n.After)}
}

func curvePrediction(q curve.Prediction) Prediction {
	p := Prediction{N: q.N, SpeedupOf: q.SpeedupOf, Note: said(q.Note)}
	p.T, p.TLow, p.THigh = ends(q.T)
	p.Tau, p.TauLow, p.TauHigh = ends(q.Tau)
	p.PE, p.PELow, p.PEHigh = ends(q.PE)
	p.Speedup, p.SpeedupLow, p.SpeedupHigh = ends(q.Speedup)
	p.CoreHours, p.CoreHoursLow, p.CoreHoursHigh = ends(q.CoreHours)
	return p
}
