package curve

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Surely is the distance in standard errors from which two run times are said to differ: 95 of 100 times,
// one-sided.
const Surely = 1.645

// Fastest returns n_fast of points, from their run times alone.
func Fastest(points []Point) CoreCount {
	return (&curve{groups: Grouped(points)}).fastest()
}

// fastest finds n_fast, the core count with the shortest run time. It states one only if more cores were
// measured to be slower beyond the spread of the runs: METRICS 4 explains why it cannot be predicted.
func (c *curve) fastest() CoreCount {
	least := 0
	for i, g := range c.groups {
		if g.Y < c.groups[least].Y {
			least = i
		}
	}
	after := c.slowerFrom(least, 1)
	switch {
	case after < 0 && least == len(c.groups)-1:
		return CoreCount{Note: NoteNotReached}
	case after < 0:
		return CoreCount{Note: NoteNotDetermined}
	}
	if least == 0 {
		return CoreCount{Note: NoteBelowSmallest}
	}
	before := c.slowerFrom(least, -1)
	from := c.groups[max(before, 0)].N
	to := c.groups[after].N
	at := c.groups[least].N // nothing between its neighbours was measured to be faster
	if c.exact {
		at = Clamp(c.model.Fastest(), from, to)
	}
	fast := CoreCount{Estimate: &Estimate{at, from, to}}
	if !c.exact && c.degrees() == 0 {
		fast.Note = NoteOnce
	}
	return fast
}

// slowerFrom returns the nearest group in a direction that is surely slower than group i, or -1.
func (c *curve) slowerFrom(i, direction int) int {
	for j := i + direction; j >= 0 && j < len(c.groups); j += direction {
		noise := math.Hypot(c.noiseOf(i), c.noiseOf(j))
		if c.exact {
			noise = exactly
		}
		if c.groups[j].Y-c.groups[i].Y > c.surely()*noise {
			return j
		}
	}
	return -1
}

// surely returns Surely for a spread that is known from the runs and from an assumption, which has the weight
// of two.
func (c *curve) surely() float64 {
	return distuv.StudentsT{Sigma: 1, Nu: 2 + c.degrees()}.Quantile(0.95)
}

// degrees returns how many runs determine the spread: all but the first on each core count.
func (c *curve) degrees() (free float64) {
	for _, g := range c.groups {
		free += g.Runs - 1
	}
	return free
}

// noiseOf returns the spread of a group's ln t under Settings.Spread.
func (c *curve) noiseOf(i int) float64 {
	if len(c.careful) == len(c.groups) {
		return c.careful[i].Noise
	}
	return c.groups[i].Noise
}
