package curve

import (
	"cmp"
	"math"
	"slices"
)

const (
	// noiseBefore is the spread of ln t that is assumed before the data speak, with
	// the weight of noiseWeight data.
	noiseBefore = 0.04
	noiseWeight = 2
	// exactly is a spread of ln t so small that the data must be computed, not measured: no machine's clock is
	// that even.
	exactly = 1e-5
	// draws is the number of equally likely fits that stand for all of them.
	draws = 256
	// faint bounds how much less likely than the best a counting fit is, as a difference of logarithms.
	faint = 7
)

// box is a part of the space of shapes.
type box struct{ low, high shape }

// widest holds every shape that data on these core counts can distinguish from another.
func widest(groups []Group) box {
	x1, xk := groups[0].X, groups[len(groups)-1].X
	return box{shape{-xk - 7, -5, math.Min(x1, 1) - 2}, shape{5, 5, xk + 4}}
}

// scan computes the sums of squares on a grid over a box. As ln t_n is a sum of a part
// that only f_s moves and one that only b and c move, a cell costs an addition for
// each datum and no logarithm. The next scan overwrites the cells.
func (f *fitter) scan(b box, steps [3]int) []cell {
	axis := func(j, i int) float64 {
		return b.low[j] + (b.high[j]-b.low[j])*float64(i)/float64(steps[j]-1)
	}
	cells := slices.Grow(f.cells[:0], steps[0]*steps[1]*steps[2])
	k := len(f.groups)
	left, level := make([]float64, steps[0]*k), make([]float64, steps[0])
	for i := range steps[0] {
		serial := logistic(axis(0, i))
		level[i] = f.centred(left[i*k:(i+1)*k], func(g Group) float64 { return g.Y - math.Log(serial+(1-serial)/g.N) })
	}
	right := make([]float64, k)
	for i := range steps[1] {
		beta := logistic(axis(1, i))
		for j := range steps[2] {
			c := math.Exp(axis(2, j))
			mean := f.centred(right, func(g Group) float64 { return -math.Log1p(-beta * (g.N - 1) / (c + g.N)) })
			shares := f.sharesAt(beta, c)
			for l := range steps[0] {
				var times float64
				for m, v := range left[l*k : (l+1)*k] {
					times += f.weight[m] * (v - right[m]) * (v - right[m])
				}
				cells = append(cells, cell{shape{axis(0, l), axis(1, i), axis(2, j)}, level[l] - mean, times, shares, 0})
			}
		}
	}
	f.cells = cells
	return cells
}

// centred fills into with a value for each group, less their weighted mean. It returns the mean.
func (f *fitter) centred(into []float64, value func(Group) float64) (mean float64) {
	for i, g := range f.groups {
		into[i] = value(g)
		mean += f.weight[i] * into[i] / f.sum
	}
	for i := range into {
		into[i] -= mean
	}
	return mean
}

// optima returns the local optima that the data cannot tell apart, the likeliest first. Among equally likely
// ones the first has the smallest serial part, since the paper steps f_s down.
func (f *fitter) optima(cells []cell) []fitted {
	var found []fitted
	for _, start := range append(f.bestCells(cells), linearStarts(f.groups, f.useShares)...) {
		if o := f.descend(start); !math.IsNaN(o.chi) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b fitted) int { return cmp.Compare(a.chi, b.chi) })
	least := found[0].chi
	for i, o := range found {
		if tied := o.chi <= least*(1+1e-7)+1e-20; tied && o.shape[0] < found[0].shape[0] {
			found[0], found[i] = o, found[0]
		}
	}
	var kept []fitted
	for _, o := range found {
		same := func(k fitted) bool { return distance(k.shape, o.shape) < 0.01 }
		if f.logWeight(o.chi, least) > -faint && !slices.ContainsFunc(kept, same) {
			kept = append(kept, o)
		}
	}
	kept[0] = f.polished(kept[0])
	return kept
}

// bestCells returns the likeliest shapes of a grid with c below 1/f_s and above it: t_n has an optimum on
// either side.
func (f *fitter) bestCells(cells []cell) []shape {
	var best [2]*cell
	for i := range cells {
		c, side := &cells[i], 0
		if c.shape[2] > -c.shape[0] {
			side = 1
		}
		if best[side] == nil || c.chi() < best[side].chi() {
			best[side] = c
		}
	}
	var starts []shape
	for _, c := range best {
		if c != nil {
			starts = append(starts, c.shape)
		}
	}
	return starts
}

// noise returns the spread of ln t that a fit with this sum of squares suggests.
func (f *fitter) noise(chi, least float64) float64 {
	before := f.noiseBefore(least)
	return math.Sqrt((noiseWeight*before*before + chi) / (noiseWeight + f.data - 1))
}

// noiseBefore returns the spread assumed before the data speak. It is tiny for data that follow the model
// exactly.
func (f *fitter) noiseBefore(least float64) float64 {
	if f.exact(least) {
		return exactly
	}
	return noiseBefore
}

// exact reports whether the data follow the model more closely than measured runs can. That takes more data
// than parameters.
func (f *fitter) exact(least float64) bool {
	return f.data >= 5 && least < exactly*exactly*f.data
}

// logWeight is the logarithm of the likelihood of a fit over that of the best, with unknown noise: Student's t.
func (f *fitter) logWeight(chi, least float64) float64 {
	before := f.noiseBefore(least)
	prior := noiseWeight * before * before
	return -(noiseWeight + f.data - 1) / 2 * math.Log((prior+chi)/(prior+least))
}

// withoutSerial reports whether a model without a serial part is likely too, at the level of an interval. The
// interval of f_s then begins at 0.
func (f *fitter) withoutSerial(best fitted, level float64) bool {
	f.pinned = true
	defer func() { f.pinned = false }()
	best.shape[0] = -f.groups[len(f.groups)-1].X - 12
	return f.within(f.descend(best.shape), best, level)
}

// within reports whether a fit lies in the interval of that level around the best.
func (f *fitter) within(o, best fitted, level float64) bool {
	z := math.Sqrt2 * math.Erfinv(level)
	return f.logWeight(o.chi, best.chi) > -z*z/2
}
