package words

import (
	"fmt"
	"math"
	"strings"

	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// Curve words a curve through run times on several core counts.
type Curve struct {
	Title    string
	Facts    block.Facts
	Expected block.Part  // the times that it predicts
	Further  block.Facts // simpler models, what to run next, and doubts
}

// OfCurve words a curve through points. The name may be anything.
func OfCurve(name string, points []curve.Point, r *curve.Result, rivals []curve.Rival, wide bool) Curve {
	c := Curve{Title: "Curve of " + inert.Text(name, wide)}
	c.Facts.Add("measured", fmt.Sprintf("%s on %s, %s to %s cores", figure.Counted(len(points), "run"), figure.Counted(r.Counts, "core count"),
		figure.Count(r.Smallest), figure.Count(r.Largest)))
	if r.Refused != "" {
		c.Facts.Add("no curve", r.Refused)
	} else {
		c.Facts = append(c.Facts, countsFacts(r)...)
		c.Facts.Add("model", modelText(r))
		c.Expected = predictionsPart("", r)
		c.Further.Add("other fits", rivalsText(rivals))
	}
	if r.Next != nil {
		c.Further.Add("next run", nextRun(r.Next))
	}
	for _, warning := range r.Warnings {
		c.Further.Add("warning", warning.String())
	}
	return c
}

// countsFacts are the core counts that follow from a curve.
func countsFacts(r *curve.Result) []block.Fact {
	return []block.Fact{
		{Label: "n_eff", Text: coreCount(r.Eff, "the most cores that keep an efficiency of "+figure.Limit(r.Line), r.Smallest)},
		{Label: "n_fast", Text: coreCount(r.Fast, "more cores were slower, beyond the spread of run times", r.Smallest)},
	}
}

// coreCount words a core count. smallest is the fewest cores that were run.
func coreCount(c curve.CoreCount, what string, smallest int) string {
	switch {
	case c.Estimate == nil && c.Note == curve.NoteBelowSmallest && smallest > 1:
		return fmt.Sprintf("below %s, the fewest that were run", figure.Counted(smallest, "core"))
	case c.Estimate == nil && c.Note == curve.NoteBelowSmallest:
		return block.Joined("; ", "1 core", what)
	case c.Estimate == nil:
		return c.Note
	}
	s := fmt.Sprintf("%s cores (%s)", figure.Cores(c.Estimate.Value), figure.Interval(c.Estimate.Low, c.Estimate.High, figure.Cores))
	return block.Joined("; ", s, what, c.Note)
}

// modelText writes the model's parameters, or what replaces them.
func modelText(r *curve.Result) string {
	if r.NoModel != "" {
		return "none fits: times follow the local slope"
	}
	return fmt.Sprintf("f_s %s, b %s, c %s, t_1 %s s", estimate(r.Serial), estimate(r.B), estimate(r.C), estimate(r.T1))
}

// estimate writes a parameter with its interval.
func estimate(e curve.Estimate) string {
	return figure.Estimate(e.Value, e.Low, e.High, figure.Number)
}

// predictionsPart has a line for each core count that was asked about.
func predictionsPart(heading string, r *curve.Result) block.Part {
	level := figure.Percent(r.Level)
	t := block.Table{Heads: []string{"cores", "expected s", level, "PE", level, "speedup", "core-hours"}}
	var unsaid []string
	vague := false
	for _, q := range r.Predicted {
		n := figure.Count(max(q.N, 0))
		if q.T == nil {
			unsaid = append(unsaid, fmt.Sprintf("no prediction for %s cores: %s", n, q.Note))
			continue
		}
		time, speedup, hours := figure.Number(q.T.Value), figure.Number(q.Speedup.Value), figure.Hours(q.CoreHours.Value)
		if !q.Determined() {
			time, speedup, hours, vague = "-", "-", "-", true
		}
		pe, within := "-", "-"
		if q.PE != nil {
			pe, within = figure.Efficiency(q.PE.Value), figure.Interval(q.PE.Low, q.PE.High, figure.Efficiency)
		}
		t.Rows = append(t.Rows, []string{n, time, figure.Interval(q.T.Low, q.T.High, figure.Number), pe, within, speedup, hours})
	}
	b := block.Part{Heading: heading}
	if len(t.Rows) > 0 {
		b.Tables, b.Notes = []block.Table{t}, []string{"speedup: against the curve's time on " + figure.Counted(r.Smallest, "core")}
	}
	if vague {
		b.Notes = append(b.Notes, "-: not determined: the interval spans more than a factor of 10")
	}
	b.Notes = append(b.Notes, unsaid...)
	return b
}

// rivalsText says how far simpler models are from the same points.
func rivalsText(rivals []curve.Rival) string {
	var s []string
	for _, r := range rivals {
		s = append(s, fmt.Sprintf("%s lies %s from the run times", r.Name, figure.Percent(r.Error)))
	}
	return strings.Join(s, ", ")
}

func nextRun(n *curve.NextRun) string {
	if n.Width > 0 && !math.IsInf(n.Width, 0) {
		return fmt.Sprintf("%s: the interval of %s would shrink by about %s", figure.Counted(n.N, "core"), n.About, figure.Percent(1-n.After/n.Width))
	}
	return figure.Counted(n.N, "core") + ": " + n.About
}

// curvePoints is the number of points that a curve is drawn through.
const curvePoints = 48

// StudyCurves returns the two pictures of a workload: run time and parallel efficiency over cores. They show
// the runs, the curve, its interval, n_eff and n_fast. ok is false if no run can be drawn. The names in them
// are inert.
func StudyCurves(study *workload.Study) (time, share block.Curve, ok bool) {
	if len(study.Counts) == 0 {
		return time, share, false
	}
	s := inert.Copy(study, true)
	marks := curveMarks(s.Curve)
	time = block.Curve{Alt: curveAlt("Run time", s), Level: s.Curve.Level, Marks: marks}
	share = block.Curve{Alt: curveAlt("Parallel efficiency", s), Level: s.Curve.Level, Marks: marks, Share: true, Line: s.Curve.Line}
	seconds := alike(s.Points(), func(p curve.Point) float64 { return p.T })
	for i, p := range s.Points() {
		name := fmt.Sprintf("job %s: %s, %s", s.Runs[i].DisplayID, figure.Counted(p.N, "core"), seconds(p.T))
		time.Runs = append(time.Runs, block.Run{N: p.N, Y: p.T, Name: name})
		if p.Tau != nil && p.T > 0 {
			pe := clamp(1 - *p.Tau/p.T)
			share.Runs = append(share.Runs, block.Run{N: p.N, Y: pe, Name: name + ", parallel efficiency " + figure.Efficiency(pe)})
		}
	}
	if s.Curve.Refused == "" {
		time.Fitted, share.Fitted = fittedCurves(s.Curve)
	}
	return time, share, true
}

// fittedCurves returns points of the curve as far as it predicts.
func fittedCurves(r *curve.Result) (time, share []block.Fitted) {
	first, last := math.Log(float64(r.Smallest)), math.Log(2*float64(r.Largest))
	before := 0
	for i := range curvePoints {
		n := int(math.Round(math.Exp(first + (last-first)*float64(i)/(curvePoints-1))))
		if n == before {
			continue
		}
		before = n
		at := r.At(n)
		if at.T != nil {
			time = append(time, block.Fitted{N: float64(n), Y: at.T.Value, Low: at.T.Low, High: at.T.High})
		}
		if at.PE != nil {
			share = append(share, block.Fitted{N: float64(n), Y: at.PE.Value, Low: at.PE.Low, High: at.PE.High})
		}
	}
	return time, share
}

func curveMarks(r *curve.Result) (marks []block.Mark) {
	for _, m := range []struct {
		name string
		at   curve.CoreCount
	}{{"n_eff", r.Eff}, {"n_fast", r.Fast}} {
		if e := m.at.Estimate; e != nil {
			marks = append(marks, block.Mark{N: e.Value, Low: e.Low, High: e.High, Label: m.name + " " + figure.Cores(e.Value), Fast: m.name == "n_fast"})
		}
	}
	return marks
}

// curveAlt says in words what a picture shows.
func curveAlt(what string, s *workload.Study) string {
	said := fmt.Sprintf("%s of %s over cores: %s", what, s.Workload.Name, runsText(s))
	if s.Curve.Refused != "" {
		return said + "; no curve: " + s.Curve.Refused
	}
	return said + fmt.Sprintf("; n_eff %s; n_fast %s", coreCount(s.Curve.Eff, "", s.Curve.Smallest), coreCount(s.Curve.Fast, "", s.Curve.Smallest))
}

// curvesOf returns both pictures; none if no run can be drawn.
func curvesOf(study *workload.Study) []block.Curve {
	if time, share, ok := StudyCurves(study); ok {
		return []block.Curve{time, share}
	}
	return nil
}
