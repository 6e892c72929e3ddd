package report

import (
	"fmt"
	"math"
	"strings"

	"jobeff/policy/curve"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// countsFacts are the core counts that a curve tells.
func countsFacts(r *curve.Result) []block.Fact {
	return []block.Fact{
		{Label: "n_eff", Text: coreCount(r.Eff, "the most cores that keep an efficiency of "+figure.Limit(r.Line), r.Smallest)},
		{Label: "n_fast", Text: coreCount(r.Fast, "more cores were slower, beyond the spread of run times", r.Smallest)},
	}
}

// coreCount says what is known of a core count; smallest is the fewest cores that ran.
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

// modelText is the model's parameters, or what stands in for it.
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
		b.Tables, b.Notes = []block.Table{t}, []string{"speedup: against " + figure.Counted(r.Smallest, "core")}
	}
	if vague {
		b.Notes = append(b.Notes, "-: not determined: the interval spans more than a factor of 10")
	}
	b.Notes = append(b.Notes, unsaid...)
	return b
}

// rivalsText says how far simpler models lie from the same points.
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
