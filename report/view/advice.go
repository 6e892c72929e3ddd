package view

import (
	"math"

	"jobeff/policy/curve"
	"jobeff/policy/workload"
)

// Recommendation is a core count that would have served the job better. Level is the confidence
// of its intervals; null is not determined.
type Recommendation struct {
	Cores  float64 `json:"cores"`
	Low    float64 `json:"cores_low"`
	High   float64 `json:"cores_high"`
	For    string  `json:"for"`
	Reason string  `json:"reason"`
	Runs   int     `json:"runs"` // of the workload that it is known from
	Level  float64 `json:"level"`

	Time      *float64 `json:"time"` // run time on these cores / on the job's - 1
	TimeLow   *float64 `json:"time_low"`
	TimeHigh  *float64 `json:"time_high"`
	Saved     *float64 `json:"saved_core_hours"`
	SavedLow  *float64 `json:"saved_core_hours_low"`
	SavedHigh *float64 `json:"saved_core_hours_high"`
	Share     *float64 `json:"saved"` // as a part of the core-hours used
	ShareLow  *float64 `json:"saved_low"`
	ShareHigh *float64 `json:"saved_high"`
}

// recommended makes a list of one, or of none.
func recommended(r *workload.Recommendation) []Recommendation {
	if r == nil {
		return []Recommendation{}
	}
	d := Recommendation{Cores: r.Cores.Value, Low: r.Cores.Low, High: r.Cores.High, For: r.For, Reason: r.Reason, Runs: r.Runs, Level: r.Level}
	d.Time, d.TimeLow, d.TimeHigh = ends(r.Time)
	d.Saved, d.SavedLow, d.SavedHigh = ends(r.Saved)
	d.Share, d.ShareLow, d.ShareHigh = ends(r.Share)
	return []Recommendation{d}
}

// Option is a core count to choose. Level is the confidence of its intervals.
type Option struct {
	Cores         int      `json:"cores"`
	For           []string `json:"for"`  // what it is the best for; empty: the job's own
	Time          float64  `json:"time"` // s
	TimeLow       float64  `json:"time_low"`
	TimeHigh      float64  `json:"time_high"`
	CoreHours     float64  `json:"core_hours"`
	CoreHoursLow  float64  `json:"core_hours_low"`
	CoreHoursHigh float64  `json:"core_hours_high"`
	PE            float64  `json:"pe"`
	PELow         *float64 `json:"pe_low"` // null where it was run
	PEHigh        *float64 `json:"pe_high"`
	Runs          int      `json:"runs"` // on these cores; 0: the curve tells
	Level         float64  `json:"level"`
	Flagged       bool     `json:"flagged"` // pe is below 0.8
}

// optionsOf makes the core counts to choose from.
func optionsOf(all []workload.Option) []Option {
	d := []Option{}
	for _, o := range all {
		one := Option{Cores: o.Cores, For: append([]string{}, o.For...), Time: o.Time.Value, TimeLow: o.Time.Low, TimeHigh: o.Time.High,
			CoreHours: o.CoreHours.Value, CoreHoursLow: o.CoreHours.Low, CoreHoursHigh: o.CoreHours.High, PE: o.PE.Value, Runs: o.Runs, Level: o.Level, Flagged: o.Flagged}
		if o.Runs == 0 {
			_, one.PELow, one.PEHigh = ends(&o.PE)
		}
		d = append(d, one)
	}
	return d
}

// ends takes an estimate apart; nil: not known.
func ends(e *curve.Estimate) (value, low, high *float64) {
	if e == nil {
		return nil, nil, nil
	}
	return finite(e.Value), finite(e.Low), finite(e.High)
}

// finite returns v, or nil if JSON has no number for it.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

// said returns a text, or nil for none.
func said(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
