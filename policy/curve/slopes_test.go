package curve

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// asWritten is the process LLT word for word as METRICS 4 has it.
func asWritten(points []Point, n float64) (y, s float64) {
	k := len(points)
	x := func(i int) float64 { return math.Log(float64(points[i].N) / float64(points[k-1].N)) }
	m := func(x float64) float64 { return -1.1*x + 0.065*x*x }
	integral := func(a, b float64) float64 {
		low, high := math.Min(a, b), math.Max(a, b)
		return low * low * (3*high - low) / 6
	}
	kernel := func(a, b float64) float64 { return 0.10*0.10*a*b + 0.09*0.09*integral(a-x(0), b-x(0)) }
	covariance := mat.NewDense(k, k, nil)
	z, at := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	here := math.Log(n / float64(points[k-1].N))
	for i := range k {
		for j := range k {
			covariance.Set(i, j, kernel(x(i), x(j)))
		}
		covariance.Set(i, i, covariance.At(i, i)+0.015*0.015)
		z.SetVec(i, math.Log(points[i].T)-m(x(i)))
		at.SetVec(i, kernel(here, x(i)))
	}
	one := mat.NewVecDense(k, nil)
	for i := range k {
		one.SetVec(i, 1)
	}
	var a mat.Dense
	if err := a.Inverse(covariance); err != nil {
		panic(err)
	}
	q := mat.Inner(one, &a, one)
	mu := mat.Inner(one, &a, z) / q
	var rest mat.VecDense
	rest.AddScaledVec(z, -mu, one)
	short := 1 - mat.Inner(one, &a, at)
	v := kernel(here, here) + 0.015*0.015 - mat.Inner(at, &a, at) + short*short/q
	e := mat.Inner(&rest, &a, &rest)
	return m(here) + mu + mat.Inner(at, &a, &rest), math.Sqrt(v * (1.6 + e) / (1.6 + float64(k) - 1))
}

func TestSlopesAreTheProcessOfMETRICS(t *testing.T) {
	for _, n := range nexts(t) {
		s, ok := newSlopes(Grouped(n.seen))
		if !ok {
			t.Fatalf("%s: no process", n.curve)
		}
		for _, at := range []int{n.truth.N, n.seen[2].N, n.seen[2].N + 5} {
			y, err := s.at(float64(at))
			wantY, wantErr := asWritten(n.seen, float64(at))
			wantClose(t, n.curve+" ln t", y, wantY, 1e-9)
			wantClose(t, n.curve+" standard error", err, wantErr, 1e-6)
		}
	}
}
