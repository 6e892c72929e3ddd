package words

import (
	"fmt"
	"strings"

	"jobeff/policy/compare"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
)

// OfGate says how two builds compare, and whether a gate between them stays open.
func OfGate(g *compare.Gate, wide bool) block.Part {
	b := block.Part{Heading: gateHeading(g)}
	if g.Cannot != "" {
		b.Notes = []string{"cannot tell: " + inert.Text(g.Cannot, wide)}
		return b
	}
	seconds := figure.SecondsAlike(g.Time.Before, g.Time.After)
	t := block.Table{Heads: []string{"<", "before", "after", "change", figure.Percent(compare.GateLevel)},
		Rows: [][]string{gateRow("Elapsed time, median", g.Time, seconds), gateRow("Parallel efficiency, median", g.Efficiency, figure.Efficiency)}}
	b.Tables = []block.Table{t}
	if g.Apart {
		b.Notes = append(b.Notes, "all runs of one build came first, so a machine that changed meanwhile looks like a build that did: let the builds take turns")
	}
	return b
}

func gateHeading(g *compare.Gate) string {
	var why []string
	if g.Slower() {
		why = append(why, "slower")
	}
	if g.Worse() {
		why = append(why, "less efficient")
	}
	limit := figure.Percent(g.Limit)
	said := "not surely worse by " + limit
	if len(why) > 0 {
		said = "surely " + strings.Join(why, " and ") + ", by " + limit + " or more"
	}
	if g.Cannot != "" {
		said = "not to be compared"
	}
	return fmt.Sprintf("The second build is %s (%d and %s)", said, len(g.Before), figure.Counted(len(g.After), "run"))
}

// gateRow writes a figure of both builds, and its change with the interval.
func gateRow(name string, c compare.GateChange, write func(float64) string) []string {
	return []string{name, write(c.Before), write(c.After), figure.Signed(c.Value - 1), figure.Interval(c.Low-1, c.High-1, figure.Signed)}
}
