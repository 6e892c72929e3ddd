package curve

import (
	"math"
	"slices"
)

// Kinds of figures that a next run may narrow.
const (
	aboutEff  = "n_eff"
	aboutPE   = "parallel efficiency at twice the largest n"
	aboutTime = "run time at twice the largest n"
	// AboutSpread is about a second run on the fastest cores.
	AboutSpread = "how much run times spread, nothing was run twice"
)

// nextRun tries each core count in thought: a run there is taken to come out as the curve expects. If only run
// times are known and they rise again, it asks for nothing more, or for a second run on the fastest cores if
// nothing was run twice.
func (c *curve) nextRun() *NextRun {
	if fast := c.result.Fast; len(c.shares) == 0 && fast.Estimate != nil {
		if fast.Note != NoteOnce {
			return nil
		}
		return &NextRun{N: int(fast.Estimate.Value), About: AboutSpread}
	}
	if c.result.Eff.Note == NoteBelowSmallest {
		if c.result.Smallest == 1 {
			return nil
		}
		return &NextRun{N: max(1, c.result.Smallest/2), About: "n_eff lies under the smallest n"}
	}
	best := NextRun{About: c.uncertain()}
	best.Width = c.widthOf(best.About)
	best.After = best.Width
	for _, n := range c.candidates() {
		if after := c.withRun(n, best.About == aboutTime).widthOf(best.About); after < best.After-1e-9 {
			best.N, best.After = n, after
		}
	}
	if best.N == 0 {
		return nil
	}
	return &best
}

// uncertain names the figure that advice depends on.
func (c *curve) uncertain() string {
	switch {
	case len(c.shares) == 0:
		return aboutTime
	case c.result.Eff.Estimate != nil:
		return aboutEff
	}
	return aboutPE
}

func (c *curve) widthOf(what string) float64 {
	far := furthest * float64(c.result.Largest)
	switch what {
	case aboutEff:
		if e := c.efficient().Estimate; e != nil {
			return math.Log(e.Ratio())
		}
		return math.Inf(1)
	case aboutPE:
		_, low, high := c.share(far)
		return high - low
	}
	t := c.logTime(far)
	return t.High - t.Low
}

// candidates returns the core counts that were run already, those half way between, and twice the largest.
func (c *curve) candidates() []int {
	unit := 0
	for _, g := range c.groups {
		unit = Divisor(int(g.N), unit)
	}
	var n []int
	for i, g := range c.groups {
		if i > 0 {
			n = append(n, between(int(c.groups[i-1].N), int(g.N), unit))
		}
		n = append(n, int(g.N))
	}
	n = append(n, furthest*c.result.Largest)
	return slices.Compact(n)
}

// Divisor returns the greatest common divisor.
func Divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// between returns a core count half way between two, in the logarithm. It is a multiple of unit, which divides
// all core counts (such as the cores of a node). If none fits, unit is halved until one does.
func between(low, high, unit int) int {
	middle := math.Sqrt(float64(low) * float64(high))
	for ; unit > 0; unit /= 2 {
		if n := unit * int(math.Round(middle/float64(unit))); low < n && n < high {
			return n
		}
	}
	return low
}

// withRun returns the curve after one more run on n cores.
func (c *curve) withRun(n int, times bool) *curve {
	next := *c
	y := c.logTime(float64(n)).Value
	added := Group{N: float64(n), X: math.Log(float64(n)), Y: y, Runs: 1, Noise: runSpread, r: math.NaN()}
	if len(c.shares) > 0 {
		added.r, _, _ = c.share(added.N)
	}
	next.groups = insert(c.groups, added)
	next.shares = withShare(next.groups)
	if times {
		next.slopes, _ = newSlopes(next.groups)
	}
	return &next
}

// insert puts a group in its place. A core count that was run before gets one more run.
func insert(groups []Group, added Group) []Group {
	groups = slices.Clone(groups)
	for i, g := range groups {
		if g.N == added.N {
			groups[i].Noise *= math.Sqrt(g.Runs / (g.Runs + 1))
			groups[i].Runs++
			return groups
		}
		if g.N > added.N {
			return slices.Insert(groups, i, added)
		}
	}
	return append(groups, added)
}

// firstRuns says what to run if there is no curve yet.
func (c *curve) firstRuns() *NextRun {
	k := len(c.groups)
	if k == 0 {
		return nil
	}
	if ratio, _ := superlinearity(c.groups); ratio > superlinearLimit && k >= fewestCounts {
		return nil
	}
	return &NextRun{N: furthest * c.result.Largest, About: "a curve needs more core counts"}
}
