package curve

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// linearStarts are shapes to start a fit from that need no guess: the model's
// identities are linear in other parameters, so noise-free data give it at once.
func linearStarts(groups []Group, useShares bool) []shape {
	var starts []shape
	if useShares {
		if m, ok := fromShares(groups); ok {
			starts = append(starts, shapeOf(m))
		}
	}
	if m, ok := fromTimes(groups); ok {
		starts = append(starts, shapeOf(m))
		if other, ok := m.mirrored(); ok {
			starts = append(starts, shapeOf(other))
		}
	}
	return starts
}

// fromTimes solves n^2 t + d n t = K n^2 + K(a+c) n + K a c, METRICS 4, for d, K, a and c by least squares of
// relative differences. It takes the larger solution for a: the smaller serial part.
func fromTimes(groups []Group) (Amdahl, bool) {
	if len(groups) < 4 {
		return Amdahl{}, false
	}
	scale, size := math.Exp(groups[0].Y), groups[len(groups)-1].N
	rows, right := mat.NewDense(len(groups), 4, nil), mat.NewVecDense(len(groups), nil)
	for i, g := range groups {
		t, n := math.Exp(g.Y)/scale, g.N/size
		rows.SetRow(i, []float64{-1 / n, 1 / t, 1 / (n * t), 1 / (n * n * t)})
		right.SetVec(i, 1)
	}
	var x mat.VecDense
	if err := x.SolveVec(rows, right); err != nil {
		return Amdahl{}, false
	}
	d, k := x.AtVec(0)*size, x.AtVec(1)
	half, product := x.AtVec(2)/k*size/2, x.AtVec(3)/k*size*size
	root := math.Sqrt(math.Max(half*half-product, 0))
	a := half + root
	c := product / a
	beta := (d - c) / (1 + d)
	m := Amdahl{Serial: 1 / (1 + a), B: beta * (c + 1), C: c}
	m.T1 = scale * k * (1 - beta) / m.Serial
	return m, m.valid()
}

// fromShares solves r c - beta (n-1) = -r n, eq. (1), and then eq. (4) for what is left
// of t_n without its overhead.
func fromShares(groups []Group) (Amdahl, bool) {
	known := withShare(groups)
	if len(known) < 2 {
		return Amdahl{}, false
	}
	rows, right := mat.NewDense(len(known), 2, nil), mat.NewVecDense(len(known), nil)
	for i, g := range known {
		rows.SetRow(i, []float64{g.r / g.N, -(g.N - 1) / g.N})
		right.SetVec(i, -g.r)
	}
	var x, y mat.VecDense
	if err := x.SolveVec(rows, right); err != nil {
		return Amdahl{}, false
	}
	m := Amdahl{B: x.AtVec(1) * (x.AtVec(0) + 1), C: x.AtVec(0)}
	for i, g := range known { // f_s t_1 + (1-f_s) t_1/n = t (1-r), as relative differences
		t := math.Exp(g.Y) * (1 - g.r)
		rows.SetRow(i, []float64{1 / t, 1 / (g.N * t)})
		right.SetVec(i, 1)
	}
	if err := y.SolveVec(rows, right); err != nil {
		return Amdahl{}, false
	}
	m.T1 = y.AtVec(0) + y.AtVec(1)
	m.Serial = math.Max(y.AtVec(0)/m.T1, 1e-12)
	return m, m.valid()
}

// valid reports whether the parameters are in their ranges.
func (m Amdahl) valid() bool {
	finite := !math.IsNaN(m.Serial+m.B+m.C+m.T1) && !math.IsInf(m.T1, 0)
	return finite && m.Serial > 0 && m.Serial < 1 && m.B > 0 && m.C > 0 && m.Beta() < 1 && m.T1 > 0
}
