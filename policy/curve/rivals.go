package curve

import (
	"math"

	"gonum.org/v1/gonum/optimize"
)

// Rival is a simpler model of the run time, shown beside the curve.
type Rival struct {
	Name       string
	Parameters map[string]float64
	Error      float64                 // root mean square of the differences in ln t
	Time       func(n float64) float64 // seconds on n cores
}

// Rivals fits Amdahl's law and Gunther's Universal Scalability Law,
// t_n = t_1 (1 + sigma (n-1) + kappa n (n-1))/n, to the logarithms of the run times.
func Rivals(points []Point) []Rival {
	groups := Grouped(points)
	if len(groups) < 2 {
		return nil
	}
	size := groups[len(groups)-1].X
	amdahl := func(p []float64, n float64) float64 {
		f := logistic(p[0])
		return math.Log(f + (1-f)/n)
	}
	usl := func(p []float64, n float64) float64 {
		return math.Log((1 + math.Exp(p[0])*(n-1) + math.Exp(p[1])*n*(n-1)) / n)
	}
	a := leastSquares(groups, amdahl, []float64{-size})
	u := leastSquares(groups, usl, []float64{-size, -2 * size})
	return []Rival{
		a.rival("Amdahl", map[string]float64{"f_s": logistic(a.p[0])}),
		u.rival("USL", map[string]float64{"sigma": math.Exp(u.p[0]), "kappa": math.Exp(u.p[1])}),
	}
}

// plain is a model of ln t; the level is the one that fits best.
type plain struct {
	shape      func(p []float64, n float64) float64
	p          []float64
	level, rms float64
}

func (m plain) rival(name string, parameters map[string]float64) Rival {
	parameters["t_1"] = math.Exp(m.level)
	return Rival{name, parameters, m.rms, func(n float64) float64 { return math.Exp(m.level + m.shape(m.p, n)) }}
}

// leastSquares descends from one start. Others found nothing better on measured curves or on made-up ones.
func leastSquares(groups []Group, shape func([]float64, float64) float64, p []float64) plain {
	k := float64(len(groups))
	squares := func(p []float64) (level, sum float64) {
		for _, g := range groups {
			level += (g.Y - shape(p, g.N)) / k
		}
		for _, g := range groups {
			d := g.Y - shape(p, g.N) - level
			sum += d * d
		}
		return level, sum
	}
	problem := optimize.Problem{Func: func(p []float64) float64 { _, sum := squares(p); return sum }}
	if r, _ := optimize.Minimize(problem, p, &optimize.Settings{FuncEvaluations: 1000}, &optimize.NelderMead{}); r != nil {
		p = r.X
	}
	level, sum := squares(p)
	return plain{shape, p, level, math.Sqrt(sum / k)}
}
