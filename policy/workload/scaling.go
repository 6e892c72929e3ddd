package workload

import (
	"fmt"
	"math"

	"jobeff/policy/curve"
	"jobeff/report/figure"
)

// Work is what a run did in sum over its ranks and threads.
type Work struct {
	N            int     // cores
	Useful       float64 // seconds outside MPI and the OpenMP runtime
	Instructions float64 // in useful time; 0: not counted
	Cycles       float64 // in useful time; 0: not counted
}

// ComputationScaling says why the useful time changed since a reference, METRICS 1. The
// three factors are nil without counters; their product is CompS.
type ComputationScaling struct {
	CompS             float64
	InsS, IPCS, FreqS *float64
}

// CompareWork returns the computation scaling of a strong-scaling run against the run of the same workload on
// the fewest cores.
func CompareWork(reference, here Work) ComputationScaling {
	s := ComputationScaling{CompS: reference.Useful / here.Useful}
	if reference.Instructions > 0 && here.Instructions > 0 && reference.Cycles > 0 && here.Cycles > 0 {
		ins := reference.Instructions / here.Instructions
		ipc := here.Instructions / here.Cycles / (reference.Instructions / reference.Cycles)
		freq := here.Cycles / here.Useful / (reference.Cycles / reference.Useful)
		s.InsS, s.IPCS, s.FreqS = &ins, &ipc, &freq
	}
	return s
}

// GlobalEfficiency is GE = PE CompS, METRICS 1.
func GlobalEfficiency(pe, compS float64) float64 { return pe * compS }

// Scaling is what stays the same when a workload runs on more cores.
type Scaling string

// Kinds of scaling.
const (
	ScalingStrong  Scaling = "strong"  // the total useful time stays
	ScalingWeak    Scaling = "weak"    // the useful time per core stays
	ScalingUnclear Scaling = "unclear" // neither, or too little to tell
)

// The total useful time grows as n^exponent: 0 in strong scaling, 1 in weak. Strong
// scaling may lose or gain by caches and repeated work.
const (
	mostStrong  = 0.4
	leastStrong = -1 // the total useful time falls: each rank's part fits into its caches
	leastWeak   = 0.75
)

// RecogniseScaling tells strong from weak scaling by how the total useful time grows with the cores. It returns
// the exponent, and the reason in words. It needs two core counts a factor of 2 apart.
func RecogniseScaling(runs []Work) (Scaling, float64, string) {
	var points []curve.Point
	for _, w := range runs {
		if w.N > 0 && w.Useful > 0 {
			points = append(points, curve.Point{N: w.N, T: w.Useful})
		}
	}
	groups := curve.Grouped(points)
	if len(groups) < 2 || groups[len(groups)-1].N < 2*groups[0].N {
		return ScalingUnclear, math.NaN(), "fewer than two core counts a factor of 2 apart"
	}
	var x, y, xx, xy float64
	for _, g := range groups {
		x, y = x+g.X, y+g.Y
		xx, xy = xx+g.X*g.X, xy+g.X*g.Y
	}
	k := float64(len(groups))
	exponent := (k*xy - x*y) / (k*xx - x*x)
	why := fmt.Sprintf("the work in all grows as cores to the power of %s", figure.Ratio(exponent))
	switch {
	case exponent <= mostStrong && exponent >= leastStrong && math.Abs(exponent) < 0.05:
		return ScalingStrong, exponent, "the work in all stays the same on more cores"
	case exponent <= mostStrong && exponent >= leastStrong:
		return ScalingStrong, exponent, fmt.Sprintf("the work in all changes little on more cores (as cores to the power of %s)", figure.Ratio(exponent))
	case exponent >= leastWeak && exponent <= 2-leastWeak:
		return ScalingWeak, exponent, why
	}
	return ScalingUnclear, exponent, why
}

// Speedups returns t on the fewest cores over t here, for each core count in growing order, with the interval of
// two such runs: the speedup or, of a workload that scales weakly, its efficiency.
func Speedups(points []curve.Point) []curve.Estimate {
	groups := curve.Grouped(points)
	all := make([]curve.Estimate, len(groups))
	for i, g := range groups {
		v, half := groups[0].Y-g.Y, curve.Surely*math.Hypot(g.Noise, groups[0].Noise)
		if i == 0 {
			half = 0
		}
		all[i] = curve.Estimate{Value: math.Exp(v), Low: math.Exp(v - half), High: math.Exp(v + half)}
	}
	return all
}
