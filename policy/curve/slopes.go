package curve

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// slopes continues ln t by its local slope over ln n: the Gaussian process LLT of METRICS 4. Its numbers
// describe real curves and are not fitted to the data. It predicts a run time, never an inflexion point.
type slopes struct {
	x         []float64 // ln(n/n_k)
	inverse   mat.SymDense
	residual  *mat.VecDense // A (z - mu)
	ones      *mat.VecDense // A 1
	level, q  float64       // mu and Q
	spread    float64       // (1.6 + E)/(1.6 + k - 1)
	last      float64       // ln n_k
	lastNoise float64       // variance of a next run
}

const (
	slopeMean, slopeBend = -1.1, 0.065
	slopeSpread          = 0.10
	slopeDrift           = 0.09
	slopePrior           = 1.6
)

func newSlopes(groups []Group) (*slopes, bool) {
	k := len(groups)
	s := &slopes{x: make([]float64, k), last: groups[k-1].X}
	for i, g := range groups {
		s.x[i] = g.X - s.last
		s.lastNoise += g.Noise * g.Noise * g.Runs / float64(k)
	}
	covariance := mat.NewSymDense(k, nil)
	z, one := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	for i, g := range groups {
		for j := i; j < k; j++ {
			covariance.SetSym(i, j, s.kernel(s.x[i], s.x[j]))
		}
		covariance.SetSym(i, i, covariance.At(i, i)+g.Noise*g.Noise)
		z.SetVec(i, g.Y-s.mean(s.x[i]))
		one.SetVec(i, 1)
	}
	var factor mat.Cholesky
	if !factor.Factorize(covariance) || factor.InverseTo(&s.inverse) != nil {
		return nil, false
	}
	s.ones, s.residual = mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	s.ones.MulVec(&s.inverse, one)
	s.q = mat.Sum(s.ones)
	s.level = mat.Dot(s.ones, z) / s.q
	z.AddScaledVec(z, -s.level, one)
	s.residual.MulVec(&s.inverse, z)
	s.spread = (slopePrior + mat.Dot(z, s.residual)) / (slopePrior + float64(k) - 1)
	return s, true
}

func (s *slopes) mean(x float64) float64 { return slopeMean*x + slopeBend*x*x }

// kernel is the covariance of ln t at two places: a slope that is the same everywhere,
// and one that wanders.
func (s *slopes) kernel(a, b float64) float64 {
	low, high := math.Min(a, b)-s.x[0], math.Max(a, b)-s.x[0]
	low = math.Max(low, 0) // below the smallest n the slope stays as it is there
	return slopeSpread*slopeSpread*a*b + slopeDrift*slopeDrift*low*low*(3*high-low)/6
}

// at returns ln t on n cores, and the standard error of a next run.
func (s *slopes) at(n float64) (y, err float64) {
	x := math.Log(n) - s.last
	k := mat.NewVecDense(len(s.x), nil)
	for i, xi := range s.x {
		k.SetVec(i, s.kernel(x, xi))
	}
	y = s.mean(x) + s.level + mat.Dot(k, s.residual)
	short := 1 - mat.Dot(k, s.ones)
	variance := s.kernel(x, x) + s.lastNoise - mat.Inner(k, &s.inverse, k) + short*short/s.q
	return y, math.Sqrt(math.Max(variance, s.lastNoise) * s.spread)
}
