package curve

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/optimize"
)

// made are the points of a model, with the overhead where with is set.
func made(m Amdahl, with bool, cores ...int) []Point {
	var points []Point
	for _, n := range cores {
		p := Point{N: n, T: m.Time(float64(n))}
		if with {
			tau := m.Overhead(float64(n))
			p.Tau = &tau
		}
		points = append(points, p)
	}
	return points
}

func checkParameters(t *testing.T, r *Result, m Amdahl) {
	t.Helper()
	if r.Refused != "" {
		t.Fatalf("refused: %s", r.Refused)
	}
	for _, p := range []struct {
		name string
		got  Estimate
		want float64
	}{{"f_s", r.Serial, m.Serial}, {"b", r.B, m.B}, {"c", r.C, m.C}, {"t_1", r.T1, m.T1}} {
		wantClose(t, p.name, p.got.Value, p.want, 1e-6)
		if p.got.Low > p.want*(1+1e-6) || p.got.High < p.want*(1-1e-6) {
			t.Errorf("%s = %g is not in its interval %+v", p.name, p.want, p.got)
		}
	}
}

func TestExactCurvesGiveTheirParametersBack(t *testing.T) {
	for _, m := range known {
		checkParameters(t, Fit(made(m, true, 1, 2, 4, 8, 16, 32), Settings{Level: 0.8}), m)
		checkParameters(t, Fit(made(m, true, 24, 48, 96, 192), Settings{Level: 0.8}), m)
		checkParameters(t, Fit(made(m, true, 1, 3, 10, 40, 200, 1000, 5000), Settings{Level: 0.8}), m)
	}
}

// Run times alone determine the model only where no mirrored one exists.
func TestExactRunTimesGiveParametersBackWhereTheyCan(t *testing.T) {
	tried := 0
	for _, m := range known {
		if _, ambiguous := m.mirrored(); ambiguous {
			continue
		}
		tried++
		checkParameters(t, Fit(made(m, false, 1, 2, 4, 8, 16, 32, 64), Settings{Level: 0.8}), m)
		checkParameters(t, Fit(made(m, false, 1, 4, 16, 64), Settings{Level: 0.8}), m)
	}
	if tried < 2 {
		t.Errorf("only %d models can be told from run times: choose others", tried)
	}
}

func TestExactCurvesGiveTheClosedForms(t *testing.T) {
	cores := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}
	for _, m := range known {
		r := Fit(made(m, true, cores...), Settings{Level: 0.8, Predict: []int{100, 4096}})
		if n := m.Fastest(); n < 2048 {
			if r.Fast.Estimate == nil {
				t.Fatalf("%+v: n_fast %s, want %g", m, r.Fast.Note, n)
			}
			wantClose(t, "n_fast", r.Fast.Estimate.Value, n, 1e-6)
		} else if r.Fast.Note != NoteNotReached {
			t.Errorf("%+v: n_fast = %v, %q; it is %g", m, r.Fast.Estimate, r.Fast.Note, n)
		}
		if n := m.Efficient(0.8); n < 2048 {
			if r.Eff.Estimate == nil {
				t.Fatalf("%+v: n_eff %s, want %g", m, r.Eff.Note, n)
			}
			wantClose(t, "n_eff", r.Eff.Estimate.Value, n, 1e-6)
		} else if r.Eff.Note != NoteNotReached {
			t.Errorf("%+v: n_eff = %v, %q; it is %g", m, r.Eff.Estimate, r.Eff.Note, n)
		}
		for _, p := range r.Predicted {
			wantClose(t, "t", p.T.Value, m.Time(float64(p.N)), 1e-6)
			wantClose(t, "tau", p.Tau.Value, m.Overhead(float64(p.N)), 1e-6)
			wantClose(t, "PE", p.PE.Value, 1-m.Share(float64(p.N)), 1e-6)
			wantClose(t, "speedup", p.Speedup.Value, m.Time(1)/m.Time(float64(p.N)), 1e-6)
			wantClose(t, "core-hours", p.CoreHours.Value, m.Time(float64(p.N))*float64(p.N)/3600, 1e-6)
		}
	}
}

// noisy are points whose run times and overheads vary from run to run.
func noisy(m Amdahl, rng *rand.Rand, noise float64, cores ...int) []Point {
	points := made(m, true, cores...)
	for i := range points {
		points[i].T *= math.Exp(noise * rng.NormFloat64())
		tau := math.Min(*points[i].Tau*math.Exp(noise*rng.NormFloat64()), points[i].T)
		points[i].Tau = &tau
	}
	return points
}

// The library's quasi-Newton method from the same starts finds nothing nearer.
func TestDescentFindsTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, m := range known {
		for _, shares := range []bool{false, true} {
			groups := Grouped(noisy(m, rng, 0.05, 1, 2, 4, 8, 16, 32, 64))
			f := newFitter(groups, shares)
			best := f.optima(f.scan(widest(groups), [3]int{15, 9, 13}))[0]
			problem := optimize.Problem{
				Func: func(x []float64) float64 { return f.at(shape(x)).chi },
				Grad: func(g, x []float64) {
					f.at(shape(x))
					_, d := f.normal()
					for i := range g {
						g[i] = 2 * d[i]
					}
				},
			}
			for _, start := range []shape{shapeOf(m), {-6, 0, 3}, {-3, 2, 1}, {-8, -1, 5}} {
				r, err := optimize.Minimize(problem, start[:], nil, &optimize.BFGS{})
				if r == nil {
					t.Fatal(err)
				}
				if r.F < best.chi*(1-1e-4)-1e-12 {
					t.Errorf("%+v, shares %v: from %v to %v with %g, nearer than %v with %g", m, shares, start, r.X, r.F, best.shape, best.chi)
				}
			}
		}
	}
}

func TestJacobianIsTheDerivative(t *testing.T) {
	const step = 1e-6
	f := newFitter(Grouped(made(known[0], true, 1, 2, 8, 64)), true)
	at := shape{-3, 0.3, 2}
	f.at(at)
	jacobian := slices.Clone(f.jacobian)
	for j := range 3 {
		up, down := at, at
		up[j] += step
		down[j] -= step
		f.at(up)
		high := slices.Clone(f.residual)
		f.at(down)
		for i := range high {
			if got, want := jacobian[i][j], (high[i]-f.residual[i])/(2*step); math.Abs(got-want) > 1e-7 {
				t.Errorf("difference %d, parameter %d: %g, want %g", i, j, got, want)
			}
		}
	}
}

// Runs in other seconds, and in another order, are the same curve.
func TestUnitsAndOrderDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, m := range known {
		points := noisy(m, rng, 0.05, 1, 2, 4, 4, 8, 16, 32, 32)
		want := Fit(points, Settings{Level: 0.8, Predict: []int{3, 48}})
		longer := slices.Clone(points)
		for i := range longer {
			tau := *longer[i].Tau * 60
			longer[i].T, longer[i].Tau = longer[i].T*60, &tau
		}
		got := Fit(longer, Settings{Level: 0.8, Predict: []int{3, 48}})
		same(t, "f_s", got.Serial, want.Serial, 1)
		same(t, "b", got.B, want.B, 1)
		same(t, "c", got.C, want.C, 1)
		same(t, "t_1", got.T1, want.T1, 60)
		same(t, "t", *got.Predicted[1].T, *want.Predicted[1].T, 60)
		same(t, "PE", *got.Predicted[0].PE, *want.Predicted[0].PE, 1)
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		got = Fit(points, Settings{Level: 0.8, Predict: []int{3, 48}})
		same(t, "f_s", got.Serial, want.Serial, 1)
		same(t, "t_1", got.T1, want.T1, 1)
		same(t, "tau", *got.Predicted[1].Tau, *want.Predicted[1].Tau, 1)
	}
}

func same(t *testing.T, name string, got, want Estimate, factor float64) {
	t.Helper()
	wantClose(t, name, got.Value, factor*want.Value, 1e-8)
	wantClose(t, name+" low", got.Low, factor*want.Low, 1e-5)
	wantClose(t, name+" high", got.High, factor*want.High, 1e-5)
}

// Intervals hold the true value as often as they say, on curves that follow the model.
func TestIntervalsHoldWhatTheySay(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const curves = 200
	held := map[string]int{}
	count := func(name string, e Estimate, truth float64) {
		if e.Within(truth) {
			held[name]++
		}
	}
	for range curves {
		m := Amdahl{Serial: math.Exp(-10 + 6*rng.Float64()), C: math.Exp(1 + 5*rng.Float64()), T1: 100}
		m.B = (0.1 + 0.85*rng.Float64()) * (m.C + 1)
		points := noisy(m, rng, 0.03, 1, 2, 4, 8, 16, 32)
		r := Fit(points, Settings{Level: 0.8})
		count("f_s", r.Serial, m.Serial)
		count("b", r.B, m.B)
		count("c", r.C, m.C)
		count("t_1", r.T1, m.T1)
		count("t", *r.Predicted[0].T, m.Time(64)*math.Exp(0.03*rng.NormFloat64()))
		count("PE", *r.Predicted[0].PE, 1-m.Share(64))
		for i := range points {
			points[i].Tau = nil
		}
		count("PE without tau", *Fit(points, Settings{Level: 0.8}).Predicted[0].PE, 1-m.Share(64))
	}
	for name, n := range held {
		if share := float64(n) / curves; share < 0.70 {
			t.Errorf("the 80 %% intervals of %s hold %.0f %%", name, 100*share)
		}
	}
	t.Logf("of %d: %v", curves, held)
}
