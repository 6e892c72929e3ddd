package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// Curve writes what a workload's curve says. The name may be anything.
func Curve(w io.Writer, name string, points []curve.Point, r *curve.Result, rivals []curve.Rival, opts Options) error {
	p := newPage(opts)
	p.paragraph("", "", "Curve of "+InertText(name, p.unicode), p.title)
	p.field("measured", fmt.Sprintf("%s on %s, %s to %s cores", figure.Counted(len(points), "run"), figure.Counted(r.Counts, "core count"),
		figure.Count(r.Smallest), figure.Count(r.Largest)))
	if r.Refused != "" {
		p.field("no curve", r.Refused)
	} else {
		p.facts(countsFacts(r))
		p.field("model", fmt.Sprintf("f_s %s, b %s, c %s, t_1 %s s",
			estimate(r.Serial), estimate(r.B), estimate(r.C), estimate(r.T1)))
		p.line("")
		p.part(predictionsPart("", r))
		p.line("")
		p.field("beside", rivalsText(rivals))
	}
	if r.Next != nil {
		p.field("next run", nextRun(r.Next))
	}
	for _, warning := range r.Warnings {
		p.field("warning", warning.String())
	}
	_, err := p.out.WriteTo(w)
	return err
}

// coreCount says what is known of a core count; smallest is the fewest cores that ran.
func coreCount(c curve.CoreCount, what string, smallest int) string {
	switch {
	case c.Estimate == nil && c.Note == curve.NoteBelowSmallest && smallest > 1:
		return fmt.Sprintf("below %s, the fewest that were run", figure.Counted(smallest, "core"))
	case c.Estimate == nil && c.Note == curve.NoteBelowSmallest:
		return joined("; ", "1 core", what)
	case c.Estimate == nil:
		return c.Note
	}
	s := fmt.Sprintf("%s cores (%s)", figure.Cores(c.Estimate.Value), figure.Interval(c.Estimate.Low, c.Estimate.High, figure.Cores))
	return joined("; ", s, what, c.Note)
}

// countsFacts are the core counts that a curve tells.
func countsFacts(r *curve.Result) []Fact {
	return []Fact{
		{Label: "n_eff", Text: coreCount(r.Eff, "the most that keep an efficiency of "+figure.Limit(r.Line), r.Smallest)},
		{Label: "n_fast", Text: coreCount(r.Fast, "more were measured to be slower", r.Smallest)},
	}
}

// estimate writes a parameter with its interval.
func estimate(e curve.Estimate) string {
	return figure.Estimate(e.Value, e.Low, e.High, figure.Number)
}

// predictionsPart has a line for each core count that was asked about.
func predictionsPart(heading string, r *curve.Result) Part {
	level := figure.Percent(r.Level)
	t := table{heads: []string{"cores", "expected s", level, "PE", level, "speedup", "core-hours"}}
	var unsaid []string
	vague := false
	for _, q := range r.Predicted {
		n := figure.Count(max(q.N, 0))
		if q.T == nil {
			unsaid = append(unsaid, fmt.Sprintf("nothing is said of %s cores: %s", n, q.Note))
			continue
		}
		time, speedup, hours := figure.Number(q.T.Value), figure.Number(q.Speedup.Value), figure.Hours(q.CoreHours.Value)
		if !q.Determined() {
			time, speedup, hours, vague = "-", "-", "-", true
		}
		t.rows = append(t.rows, []string{n, time, figure.Interval(q.T.Low, q.T.High, figure.Number), figure.Efficiency(q.PE.Value),
			figure.Interval(q.PE.Low, q.PE.High, figure.Efficiency), speedup, hours})
	}
	b := Part{Heading: heading}
	if len(t.rows) > 0 {
		b.Tables, b.Notes = []table{t}, []string{"speedup against " + figure.Counted(r.Smallest, "core")}
	}
	if vague {
		b.Notes = append(b.Notes, "-: not determined, the interval spans more than a factor of 10")
	}
	b.Notes = append(b.Notes, unsaid...)
	return b
}

// rivalsText says how far simpler models lie off the same points.
func rivalsText(rivals []curve.Rival) string {
	var s []string
	for _, r := range rivals {
		s = append(s, fmt.Sprintf("%s lies %s off the run times", r.Name, figure.Percent(r.Error)))
	}
	return strings.Join(s, ", ")
}

func nextRun(n *curve.NextRun) string {
	s := fmt.Sprintf("%s: %s", figure.Counted(n.N, "core"), n.About)
	if n.Width > 0 && !math.IsInf(n.Width, 0) {
		s += fmt.Sprintf(", whose interval shrinks by about %s", figure.Percent(1-n.After/n.Width))
	}
	return s
}

// CurveDocument is the JSON form of a curve. Times are seconds, shares and
// efficiencies fractions; null is not known, its note says why. Fields are only added.
type CurveDocument struct {
	Model      *string  `json:"model"`  // null where refused
	Level      float64  `json:"level"`  // of all intervals: how many of 1 truths they hold
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

	Predict  []CurvePrediction `json:"predict"`
	Next     *CurveNext        `json:"next_run"`
	Beside   []CurveRival      `json:"beside"`
	Warnings []CurveWarning    `json:"warnings"`
	Refused  *string           `json:"refused"`
}

// CurvePrediction is what is expected of a run on N cores.
type CurvePrediction struct {
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

// CurveNext is the run that would teach most.
type CurveNext struct {
	N     int      `json:"n"`
	About string   `json:"about"`
	Width *float64 `json:"width"`
	After *float64 `json:"width_after"`
}

// CurveRival is a simpler model.
type CurveRival struct {
	Name       string             `json:"name"`
	Parameters map[string]float64 `json:"parameters"`
	Error      *float64           `json:"rms"` // of ln t
}

// CurveWarning is a doubt.
type CurveWarning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// CurveJSON writes a curve as a CurveDocument.
func CurveJSON(w io.Writer, r *curve.Result, rivals []curve.Rival) error {
	return writeJSON(w, curveDocument(r, rivals))
}

func curveDocument(r *curve.Result, rivals []curve.Rival) CurveDocument {
	d := CurveDocument{
		Level: r.Level, Smallest: r.Smallest, Largest: r.Largest, Counts: r.Counts, Refused: said(r.Refused),
		Predict: []CurvePrediction{}, Beside: []CurveRival{}, Warnings: []CurveWarning{},
	}
	if r.Refused == "" {
		d.Model = said(r.Model())
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
		d.Beside = append(d.Beside, CurveRival{rival.Name, rival.Parameters, finite(rival.Error)})
	}
	for _, warning := range r.Warnings {
		d.Warnings = append(d.Warnings, CurveWarning{warning.Code, warning.Text})
	}
	return d
}

func curveNext(n *curve.NextRun) *CurveNext {
	if n == nil {
		return nil
	}
	return &CurveNext{n.N, n.About, finite(n.Width), finite(n.After)}
}

func curvePrediction(q curve.Prediction) CurvePrediction {
	p := CurvePrediction{N: q.N, SpeedupOf: q.SpeedupOf, Note: said(q.Note)}
	p.T, p.TLow, p.THigh = ends(q.T)
	p.Tau, p.TauLow, p.TauHigh = ends(q.Tau)
	p.PE, p.PELow, p.PEHigh = ends(q.PE)
	p.Speedup, p.SpeedupLow, p.SpeedupHigh = ends(q.Speedup)
	p.CoreHours, p.CoreHoursLow, p.CoreHoursHigh = ends(q.CoreHours)
	return p
}

// ends takes an estimate apart; nil is not known.
func ends(e *curve.Estimate) (value, low, high *float64) {
	if e == nil {
		return nil, nil, nil
	}
	return finite(e.Value), finite(e.Low), finite(e.High)
}

// finite is v, or nil where JSON has no number for it.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

func said(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
