package curve

import "math"

const (
	// settled ends a descent: a hardly damped step reduced the sum of squares by less than this part.
	settled = 1e-10
	// misfit is the distance of ln t of real programs from the model even without noise.
	misfit = 0.03
	// shareScale divides differences in tau/t before they are compared with those in ln t: their standard
	// deviations are 0.1 and 0.05 on real curves.
	shareScale = 2
	// modestScale is the same for an unmeasured overhead of the smallest run. It is taken to be 0 give or take
	// 0.3, as people begin where a program runs well. That is done only if a fit makes it a larger share than
	// immodest.
	modestScale = 6
	immodest    = 0.5
)

// shape are the model's parameters without t_1, each on the whole real line:
// logit f_s, logit beta with beta = b/(c+1), ln c.
type shape [3]float64

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func logit(p float64) float64    { return math.Log(p / (1 - p)) }

func (s shape) serial() float64 { return logistic(s[0]) }
func (s shape) beta() float64   { return logistic(s[1]) }
func (s shape) c() float64      { return math.Exp(s[2]) }

func (s shape) model(level float64) Amdahl {
	return Amdahl{Serial: s.serial(), B: s.beta() * (s.c() + 1), C: s.c(), T1: math.Exp(level)}
}

func shapeOf(m Amdahl) shape {
	return shape{logit(m.Serial), logit(m.Beta()), math.Log(m.C)}
}

// fitter holds what a fit minimises: the squares of the differences in ln t, with the
// level ln t_1 profiled out, and with useShares those in tau/t, in units of ln t.
type fitter struct {
	groups    []Group
	weight    []float64 // of ln t; 1 for a single run with the usual spread
	sum       float64   // of weight
	useShares bool
	data      float64      // number of differences that count
	pinned    bool         // f_s stays where it is
	modest    bool         // the smallest run is taken to have no large overhead
	residual  []float64    // scratch: first ln t, then tau/t
	jacobian  [][3]float64 // scratch, the derivatives of residual
	cells     []cell       // scratch: of the last scan
}

func newFitter(groups []Group, useShares bool) *fitter {
	f := &fitter{groups: groups, useShares: useShares, weight: make([]float64, len(groups))}
	for i, g := range groups {
		f.weight[i] = (misfit*misfit + runSpread*runSpread) / (misfit*misfit + g.Noise*g.Noise)
		f.sum += f.weight[i]
	}
	f.data = float64(len(groups))
	if useShares {
		f.data += float64(len(withShare(groups)))
	}
	f.residual = make([]float64, 2*len(groups))
	f.jacobian = make([][3]float64, 2*len(groups))
	return f
}

// fitted is a local optimum.
type fitted struct {
	shape
	level float64 // ln t_1
	chi   float64 // sum of squares at it
}

// at computes residual and jacobian of a shape.
func (f *fitter) at(s shape) fitted {
	serial, beta, c := s.serial(), s.beta(), s.c()
	var level float64
	var mean [3]float64
	for i, g := range f.groups {
		amdahl, q := serial+(1-serial)/g.N, (g.N-1)/(c+g.N)
		useful := 1 - beta*q
		f.residual[i] = g.Y - math.Log(amdahl) + math.Log(useful)
		f.jacobian[i] = [3]float64{
			-(1 - 1/g.N) * serial * (1 - serial) / amdahl,
			-q * beta * (1 - beta) / useful,
			beta * q / (c + g.N) * c / useful,
		}
		if f.pinned {
			f.jacobian[i][0] = 0
		}
		w := f.weight[i] / f.sum
		level += w * f.residual[i]
		for j := range mean {
			mean[j] += w * f.jacobian[i][j]
		}
	}
	result := fitted{shape: s, level: level}
	for i := range f.groups {
		w := math.Sqrt(f.weight[i])
		f.residual[i] = w * (f.residual[i] - level)
		for j := range mean {
			f.jacobian[i][j] = w * (f.jacobian[i][j] - mean[j])
		}
		result.chi += f.residual[i] * f.residual[i]
	}
	result.chi += f.sharesAt(beta, c)
	return result
}

// sharesAt computes residual and jacobian of tau/t, and returns its part of the sum of squares.
func (f *fitter) sharesAt(beta, c float64) (chi float64) {
	k := len(f.groups)
	for i, g := range f.groups {
		r, scale := g.r, float64(shareScale)
		switch {
		case f.useShares && g.hasShare():
		case f.modest && i == 0:
			r, scale = 0, modestScale
		default:
			f.residual[k+i], f.jacobian[k+i] = 0, [3]float64{}
			continue
		}
		q := (g.N - 1) / (c + g.N)
		f.residual[k+i] = (r - beta*q) / scale
		f.jacobian[k+i] = [3]float64{0, -q * beta * (1 - beta) / scale, beta * q / (c + g.N) * c / scale}
		chi += f.residual[k+i] * f.residual[k+i]
	}
	return chi
}

// normal returns J'J and J'r at the last point of at.
func (f *fitter) normal() (m [3][3]float64, g [3]float64) {
	for i, r := range f.residual {
		j := f.jacobian[i]
		for a := range 3 {
			g[a] += j[a] * r
			for b := range 3 {
				m[a][b] += j[a] * j[b]
			}
		}
	}
	return m, g
}

// descend goes from a start to the local optimum, by Levenberg and Marquardt. The library's minimisers do not
// use the sum of squares, and take fifty times as long.
func (f *fitter) descend(start shape) fitted {
	best := f.at(start)
	damping := 1e-3
	for round := 0; round < 300 && damping < 1e9; {
		m, g := f.normal()
		before := best.chi
		for ; damping < 1e9; damping *= 5 {
			round++
			next := f.at(f.stepped(best.shape, m, g, damping))
			if next.chi < best.chi {
				best = next
				damping = math.Max(damping/20, 1e-15)
				break
			}
		}
		if before-best.chi <= settled*best.chi && damping < 1e-3 || best.chi < 1e-30 {
			break
		}
	}
	return best
}

// polished goes on until the gradient vanishes. That is sharper than the sum of squares, whose last digits are
// rounding.
func (f *fitter) polished(o fitted) fitted {
	left := f.decrement(o.shape)
	// Made-up data may gain a last digit for ever.
	for round, damping := 0, 1e-12; round < 500 && damping < 1e3 && left > 1e-32; round++ {
		f.at(o.shape)
		m, g := f.normal()
		next := f.at(f.stepped(o.shape, m, g, damping))
		if now := f.decrement(next.shape); now < left {
			o, left = next, now
			damping = math.Max(damping/4, 1e-12)
		} else {
			damping = math.Max(4*damping, 0.05)
		}
	}
	return o
}

// decrement returns by how much an undamped step would reduce the sum of squares if that were quadratic.
func (f *fitter) decrement(s shape) float64 {
	f.at(s)
	m, g := f.normal()
	to := f.stepped(s, m, g, 0)
	return (s[0]-to[0])*g[0] + (s[1]-to[1])*g[1] + (s[2]-to[2])*g[2]
}

func distance(a, b shape) float64 {
	return math.Abs(a[0]-b[0]) + math.Abs(a[1]-b[1]) + math.Abs(a[2]-b[2])
}

// stepped returns the end of one damped step. No parameter moves by more than 2, a factor of 7, or beyond its
// limit, where no difference is visible any more. One that would do so stays at the limit, and the others step
// as if it were known.
func (f *fitter) stepped(s shape, m [3][3]float64, g [3]float64, damping float64) shape {
	far := f.groups[len(f.groups)-1].X + 12
	limit := [3][2]float64{{-far - 12, 14}, {-20, 20}, {-14, far}}
	for j := range 3 {
		m[j][j] += damping*m[j][j] + 1e-18
	}
	step := solve3(m, g)
	for j := range 3 {
		if to := s[j] - step[j]; s[j] <= limit[j][0] && to < s[j] || s[j] >= limit[j][1] && to > s[j] {
			for k := range 3 {
				m[j][k], m[k][j] = 0, 0
			}
			m[j][j], g[j] = 1, 0
			step = solve3(m, g)
		}
	}
	for j := range s {
		s[j] = Clamp(s[j]-Clamp(step[j], -2, 2), limit[j][0], limit[j][1])
	}
	return s
}

func Clamp(v, low, high float64) float64 { return math.Min(math.Max(v, low), high) }

// solve3 solves m x = g for a positive definite m by Cholesky's factors. A pivot that rounding made zero leaves
// its parameter where it is.
func solve3(m [3][3]float64, g [3]float64) (x [3]float64) {
	var l [3][3]float64
	for i := range 3 {
		for j := 0; j <= i; j++ {
			v := m[i][j]
			for k := range j {
				v -= l[i][k] * l[j][k]
			}
			switch {
			case i != j:
				l[i][j] = v / l[j][j]
			case v <= 1e-15*m[i][i]:
				l[i][i] = math.Inf(1)
			default:
				l[i][i] = math.Sqrt(v)
			}
		}
	}
	for i := range 3 {
		x[i] = g[i]
		for k := range i {
			x[i] -= l[i][k] * x[k]
		}
		x[i] /= l[i][i]
	}
	for i := 2; i >= 0; i-- {
		for k := i + 1; k < 3; k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x
}

// cell is a shape on a grid with its sums of squares.
type cell struct {
	shape
	level         float64 // ln t_1 that fits best
	times, shares float64 // the parts of chi
	weight        float64 // logarithm, with the cell's volume
}

func (c *cell) chi() float64 { return c.times + c.shares }
