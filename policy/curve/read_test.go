package curve

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReadCurve(t *testing.T) {
	points, err := Read(strings.NewReader("\ufeff# source\n\n# columns\nreps, tau_n ,n, t_n\r\n3,0.5,1,10\n# between\n1,,2, 5.5e0\n1, ,4.0,3\n2,0,4,3.5,more\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 4 || points[0].N != 1 || points[0].T != 10 || *points[0].Tau != 0.5 ||
		points[1].T != 5.5 || points[1].Tau != nil || points[2].N != 4 || points[2].Tau != nil || *points[3].Tau != 0 {
		t.Errorf("%+v", points)
	}
}

func TestReadCurveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"empty":             {"", 0, "empty"},
		"only comments":     {"# n,t_n\n", 0, "empty"},
		"no runs":           {"n,t_n\n", 0, "no runs"},
		"no n":              {"# x\ncores,t_n\n1,2\n", 2, "no column n"},
		"no t_n":            {"n,time\n1,2\n", 1, "no column t_n"},
		"no header":         {"1,2\n2,1\n", 1, "no column"},
		"column twice":      {"n,t_n,n\n1,2,1\n", 1, "twice"},
		"header twice":      {"n,t_n\n1,2\nn,t_n\n2,1\n", 3, "again"},
		"short line":        {"n,t_n\n1,2\n2\n", 3, "1 column where"},
		"text":              {"n,t_n\n1,fast\n", 2, `t_n is "fast", not a number`},
		"empty time":        {"n,t_n\n1,\n", 2, "t_n is empty"},
		"negative time":     {"n,t_n\n# x\n1,5\n2,-3\n", 4, "positive number of seconds"},
		"zero time":         {"n,t_n\n1,0\n", 2, "positive number of seconds"},
		"NaN":               {"n,t_n\nNaN,1\n", 2, "not a number"},
		"infinite":          {"n,t_n\n1,inf\n", 2, "not a number"},
		"huge":              {"n,t_n\n1,1e300\n", 2, "out of any range"},
		"no cores":          {"n,t_n\n0,1\n", 2, "whole numbers from 1"},
		"half a core":       {"n,t_n\n1.5,1\n", 2, "whole numbers from 1"},
		"negative cores":    {"n,t_n\n-4,1\n", 2, "whole numbers from 1"},
		"negative overhead": {"n,t_n,tau_n\n1,1,-0.1\n", 2, "not negative"},
		"more overhead":     {"n,t_n,tau_n\n1,1,1.1\n", 2, "longer than the run"},
		"text for overhead": {"n,t_n,tau_n\n1,1,?\n", 2, "tau_n is"},
		"quotes":            {"n,t_n\n1,\"2\n", 2, "quote"},
		"hostile":           {"n,t_n\n1,\x1b[2J\n", 2, `"\x1b[2J"`},
	} {
		_, err := Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
			continue
		}
		var at *LineError
		if errors.As(err, &at) != (c.line > 0) || at != nil && at.Line != c.line {
			t.Errorf("%s: %v, want line %d", name, err, c.line)
		}
	}
}

func TestReadCurveIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("#", longestFile+1): "more than 16 MiB", strings.Repeat("#", longestFile): "empty",
		"n,t_n\n" + strings.Repeat("1,1\n", mostRuns+1): "more than 100000 runs", "n,t_n\n" + strings.Repeat("1,1\n", mostRuns): "",
		"n,t_n,tau_n\n1073741824,1e100,1e100\n1,1e-100,1e-100\n": "", "n,t_n\n1073741825,1\n": "whole numbers from 1",
		"n,t_n\n1,1.1e100\n": "out of any range", "n,t_n\n1,0.9e-100\n": "out of any range",
		"n,t_n\n1," + strings.Repeat("x", 40) + "\n": strings.Repeat("x", 40) + `", not`, "n,t_n\n1," + strings.Repeat("x", 41) + "\n": strings.Repeat("x", 40) + `...", not`,
	} {
		if _, err := Read(strings.NewReader(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// FuzzReadCurve: no file makes the reader or the fit panic, and what is read is sound.
func FuzzReadCurve(f *testing.F) {
	for _, seed := range []string{
		"n,t_n\n1,100\n2,52\n4,28\n8,16\n", "n,t_n,tau_n\n1,100,0\n2,52,1\n4,28,28\n8,1e-99,0\n",
		"# x\nn,t_n\n1,1\n1,1\n", "t_n,n\n5,1073741824\n5,1\n5,2\n5,77\n", "n,t_n,tau_n\n4,1,1\n16,1,0\n", "\"n\",t_n\n",
		"n,t_n\n1,1e-100\n2,1e100\n4,1e100\n9,1e100\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		points, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, p := range points {
			if p.N < 1 || !(p.T > 0) || p.Tau != nil && !(*p.Tau >= 0 && *p.Tau <= p.T) {
				t.Fatalf("read %+v", p)
			}
		}
		for _, method := range []Method{MethodCombined, MethodHoefinger} {
			if method == MethodHoefinger && len(points) > 12 {
				continue
			}
			checkSound(t, Fit(points, Settings{Level: 0.8, Method: method, Predict: []int{1, 3, 2 * points[0].N}}))
		}
	})
}

// checkSound fails on figures that are none.
func checkSound(t *testing.T, r *Result) {
	t.Helper()
	if r.Refused != "" {
		return
	}
	estimates := []*Estimate{&r.Serial, &r.B, &r.C, &r.T1, r.Fast.Estimate, r.Eff.Estimate}
	for _, p := range r.Predicted {
		estimates = append(estimates, p.T, p.Tau, p.PE, p.Speedup, p.CoreHours)
	}
	for i, e := range estimates {
		if e == nil {
			continue
		}
		if math.IsNaN(e.Value) || math.IsNaN(e.Low) || math.IsNaN(e.High) || r.Method == MethodCombined && !e.Within(e.Value) {
			t.Fatalf("figure %d: %+v in %+v", i, *e, r)
		}
	}
}

// Whatever was measured, figures are figures and lie in their intervals.
func TestWildCurvesAreSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	refused := 0
	for range 600 {
		var points []Point
		scatter, falls := 2*rng.Float64(), 1.2*rng.Float64()
		for range 1 + rng.IntN(14) {
			p := Point{N: 1 + int(math.Exp(12*rng.Float64())), T: math.Exp(scatter * rng.NormFloat64())}
			p.T *= math.Pow(float64(p.N), -falls)
			if tau := p.T * rng.Float64(); rng.IntN(2) == 0 {
				p.Tau = &tau
			}
			points = append(points, p)
		}
		settings := Settings{Level: 0.5 + 0.49*rng.Float64(), Predict: []int{1, points[0].N, 2 * points[0].N}}
		r := Fit(points, settings)
		checkSound(t, r)
		if r.Refused != "" {
			refused++
		}
		if rng.IntN(60) == 0 {
			settings.Method = MethodHoefinger
			checkSound(t, Fit(points, settings))
		}
	}
	if refused > 550 {
		t.Errorf("%d of 600 curves were refused: they are too wild to test anything", refused)
	}
}
