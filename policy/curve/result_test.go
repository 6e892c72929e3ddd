package curve

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// table makes points from n, t_n and, where there is a third, tau_n.
func table(rows ...[]float64) []Point {
	var points []Point
	for _, r := range rows {
		p := Point{N: int(r[0]), T: r[1]}
		if len(r) > 2 {
			p.Tau = &r[2]
		}
		points = append(points, p)
	}
	return points
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		points []Point
		want   string
	}{
		"nothing":                  {nil, "no runs"},
		"one core count":           {table([]float64{4, 10, 1}, []float64{4, 11, 1}), "1 core count: a curve needs 4"},
		"three without overhead":   {table([]float64{1, 9}, []float64{2, 5}, []float64{4, 3}), "3 core counts: a curve needs 4"},
		"three, one without":       {table([]float64{1, 9, 0}, []float64{2, 5}, []float64{4, 3, 1}), "3 core counts"},
		"narrow":                   {table([]float64{10, 9}, []float64{12, 8}, []float64{14, 7}, []float64{19, 6}), "10 to 19 lie within a factor of 2"},
		"superlinear, three":       {table([]float64{1, 100, 1}, []float64{2, 50, 1}, []float64{4, 19, 1}), "superlinear: 4 cores are 1.32 times"},
		"nothing that can be runs": {[]Point{{N: 0, T: 1}, {N: 2, T: 0}, {N: 3, T: math.NaN()}}, "no runs"},
	} {
		r := Fit(c.points, Settings{Level: 0.8})
		if !strings.Contains(r.Refused, c.want) {
			t.Errorf("%s: refused %q, want %q", name, r.Refused, c.want)
		}
		if len(r.Predicted) > 0 || r.Eff.Estimate != nil || r.Fast.Estimate != nil || r.Serial != (Estimate{}) {
			t.Errorf("%s: refused, but says something: %+v", name, r)
		}
	}
}

func warned(r *Result, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func TestDoubtsAreSaid(t *testing.T) {
	smooth := table([]float64{1, 100, 1}, []float64{2, 52, 2}, []float64{4, 28, 3}, []float64{8, 16, 4})
	for name, c := range map[string]struct {
		points []Point
		code   string
	}{
		"erratic":            {table([]float64{1, 100, 1}, []float64{2, 52, 2}, []float64{4, 50, 3}, []float64{8, 16, 4}), WarnErratic},
		"superlinear a bit":  {table([]float64{1, 100, 1}, []float64{2, 45, 2}, []float64{4, 24, 3}, []float64{8, 14, 4}), WarnSuperlinear},
		"rough":              {smooth[:3], WarnRough},
		"overhead not known": {table([]float64{1, 100}, []float64{2, 52}, []float64{4, 28}, []float64{8, 16}), WarnNoOverhead},
		"a bad run":          {append(slices.Clone(smooth), Point{N: 16, T: -3}), WarnDropped},
	} {
		r := Fit(c.points, Settings{Level: 0.8})
		if r.Refused != "" || !warned(r, c.code) {
			t.Errorf("%s: refused %q, warnings %v, want %s", name, r.Refused, r.Warnings, c.code)
		}
		if warned(Fit(smooth, Settings{Level: 0.8}), c.code) || warned(Fit(table([]float64{10, 9, 0}, []float64{12, 8, 0}, []float64{15, 7, 0}, []float64{20, 6, 0}), Settings{Level: 0.8}), c.code) {
			t.Errorf("%s: a smooth curve is warned about too", name)
		}
	}
}

func TestErraticDataHaveWiderIntervals(t *testing.T) {
	points := table([]float64{1, 100}, []float64{2, 52}, []float64{4, 28}, []float64{8, 16})
	c := &curve{settings: Settings{Level: 0.8}.WithDefaults(), groups: Grouped(points), result: &Result{Smallest: 1, Largest: 8}}
	c.search()
	c.slopes, _ = newSlopes(c.groups)
	calm := c.logTime(16)
	c.erratic = true
	if wild := c.logTime(16); wild.High-wild.Low < 1.1*(calm.High-calm.Low) {
		t.Errorf("the width is %g on erratic data, %g else", wild.High-wild.Low, calm.High-calm.Low)
	}
}

func TestNothingIsSaidBeyondTwiceTheLargest(t *testing.T) {
	points := made(known[0], true, 4, 8, 16, 32)
	r := Fit(points, Settings{Level: 0.8, Predict: []int{64, 65, 2, 1}})
	for i, said := range []bool{true, false, true, false} {
		if p := r.Predicted[i]; (p.T != nil) != said || (p.Note == "") != said {
			t.Errorf("%d cores: t %v, note %q", p.N, p.T, p.Note)
		}
	}
}

// TestSuperlinear: the model has no term for it, the local slope foretells the time all
// the same, and what was measured of the overhead goes on.
func TestSuperlinear(t *testing.T) {
	for name, points := range map[string][]Point{
		"in the middle": table([]float64{1, 100, 1}, []float64{2, 50, 1}, []float64{4, 19, 1}, []float64{8, 10, 1}),
		"in the last":   table([]float64{1, 100}, []float64{2, 50}, []float64{4, 25}, []float64{8, 9.9}),
	} {
		r := Fit(points, Settings{Level: 0.8})
		p := r.Predicted[0]
		if r.Refused != "" || !strings.Contains(r.NoModel, "superlinear: ") || r.Serial != (Estimate{}) || r.T1 != (Estimate{}) {
			t.Errorf("%s: refused %q, parameters: %q, %+v", name, r.Refused, r.NoModel, r)
		}
		if p.T == nil || !(p.T.Low < p.T.Value && p.T.Value < p.T.High && p.T.Value < 10) {
			t.Errorf("%s: 16 cores: %+v", name, p.T)
		}
		if measured := points[0].Tau != nil; (p.PE != nil) != measured || (p.Tau != nil) != measured {
			t.Errorf("%s: PE %v, tau %v", name, p.PE, p.Tau)
		}
	}
}

func TestSpreadOfRunsCounts(t *testing.T) {
	quiet := table([]float64{1, 100}, []float64{2, 52}, []float64{4, 28}, []float64{8, 16}, []float64{16, 17})
	if r := Fit(quiet, Settings{Level: 0.8}); r.Fast.Estimate != nil {
		t.Errorf("n_fast %v although one run on 16 cores was 6 %% slower than one on 8", r.Fast.Estimate)
	}
	quiet[4].T = 19
	if r := Fit(quiet, Settings{Level: 0.8}); r.Fast.Estimate != nil {
		t.Errorf("n_fast %v although one run on 16 cores was only 19 %% slower than one on 8", r.Fast.Estimate)
	}
	quiet[4].T = 17
	if r := Fit(append(slices.Clone(quiet), quiet...), Settings{Spread: 0.015}); r.Fast.Estimate == nil {
		t.Errorf("n_fast %q although two runs on 16 cores were 6 %% slower than two on 8", r.Fast.Note)
	}
	loud := append(quiet, table([]float64{8, 19}, []float64{8, 14}, []float64{16, 20}, []float64{16, 13})...)
	if r := Fit(loud, Settings{Level: 0.8}); r.Fast.Note != NoteNotDetermined {
		t.Errorf("n_fast %v, %q although the runs differ by 40 %%", r.Fast.Estimate, r.Fast.Note)
	}
}

func TestFastest(t *testing.T) {
	for name, c := range map[string]struct {
		times     []float64 // on 1, 2, 4, … cores
		note      string
		low, high float64
	}{
		"falls":             {[]float64{100, 55, 30, 18, 12}, NoteNotReached, 0, 0},
		"rises":             {[]float64{10, 12, 15, 18}, NoteBelowSmallest, 0, 0},
		"rises at the end":  {[]float64{100, 60, 40, 45, 60}, NoteOnce, 2, 8},
		"flat at the end":   {[]float64{100, 60, 40, 40.5}, NoteNotDetermined, 0, 0},
		"flat, then rises":  {[]float64{100, 60, 40, 40.5, 50}, NoteOnce, 2, 16},
		"lowest in the 2nd": {[]float64{100, 60, 70, 90}, NoteOnce, 1, 4},
	} {
		var points []Point
		for i, v := range c.times {
			points = append(points, Point{N: 1 << i, T: v})
		}
		got := (&curve{groups: Grouped(points)}).fastest()
		switch e := got.Estimate; {
		case got.Note != c.note:
			t.Errorf("%s: %+v %q, want %q", name, e, got.Note, c.note)
		case c.note == NoteOnce && (e.Low != c.low || e.High != c.high || !e.Within(e.Value)):
			t.Errorf("%s: %+v, want %g to %g", name, e, c.low, c.high)
		}
	}
}

// The fewer runs tell the spread, the further apart must two times be: Student's quantiles for
// 2 degrees of freedom and one for each run that was repeated.
func TestSurely(t *testing.T) {
	for repeated, want := range []float64{2.920, 2.353, 2.132, 2.015} {
		points := table([]float64{1, 10}, []float64{2, 6})
		for range repeated {
			points = append(points, Point{N: 2, T: 6.1})
		}
		if got := (&curve{groups: Grouped(points)}).surely(); math.Abs(got-want) > 5e-4 {
			t.Errorf("%d repeated runs: %.3f, want %.3f", repeated, got, want)
		}
	}
}

func TestEfficient(t *testing.T) {
	const times = 100.0
	for name, c := range map[string]struct {
		shares []float64 // on 1, 2, 4, … cores
		note   string
		want   float64
	}{
		"between":         {[]float64{0.01, 0.05, 0.1, 0.4, 0.6}, "", 5.43},
		"on a core count": {[]float64{0.01, 0.05, 0.2, 0.5}, "", 4},
		"not reached":     {[]float64{0.01, 0.02, 0.03, 0.04}, NoteNotReached, 0},
		"just beyond":     {[]float64{0.05, 0.08, 0.12, 0.17}, NoteBeyond, 8 * math.Exp(0.3)},
		"under the first": {[]float64{0.3, 0.4, 0.5, 0.6}, NoteBelowSmallest, 0},
		"dips":            {[]float64{0.1, 0.3, 0.1, 0.3}, "", 6.06},
	} {
		var points []Point
		for i, share := range c.shares {
			tau := share * times
			points = append(points, Point{N: 1 << i, T: times, Tau: &tau})
		}
		groups := Grouped(points)
		k := &curve{settings: Settings{Level: 0.8}.WithDefaults(), groups: groups, shares: groups, result: &Result{Largest: 8}}
		got := k.efficient()
		switch e := got.Estimate; {
		case got.Note != c.note || (e == nil) != (c.want == 0):
			t.Errorf("%s: %+v %q, want %g %q", name, e, got.Note, c.want, c.note)
		case e != nil && (math.Abs(e.Value/c.want-1) > 0.01 || !e.Within(e.Value)):
			t.Errorf("%s: %+v, want %g", name, *e, c.want)
		}
	}
}

func TestRoughEstimate(t *testing.T) {
	m := known[0]
	r := Fit(made(m, true, 4, 16), Settings{Level: 0.8, Predict: []int{8, 32}})
	if r.Refused != "" || !warned(r, WarnRough) {
		t.Fatalf("refused %q, warnings %v", r.Refused, r.Warnings)
	}
	for _, p := range r.Predicted {
		if !p.T.Within(m.Time(float64(p.N))) || !p.PE.Within(1-m.Share(float64(p.N))) {
			t.Errorf("%d cores: t %+v PE %+v do not hold %g and %g", p.N, p.T, p.PE, m.Time(float64(p.N)), 1-m.Share(float64(p.N)))
		}
	}
}

func TestNextRun(t *testing.T) {
	m := Amdahl{Serial: 0.001, B: 19, C: 20, T1: 1000}
	r := Fit(made(m, true, 1, 2, 64, 128), Settings{Level: 0.8})
	if n := r.Next; n == nil || n.N <= 2 || n.N >= 64 || n.After >= n.Width {
		t.Errorf("the line is crossed between 2 and 64 cores, but the next run is %+v", n)
	}
	r = Fit(made(Amdahl{Serial: 1e-5, B: 1, C: 500, T1: 1000}, true, 1, 2, 4, 8), Settings{Level: 0.8})
	if n := r.Next; n == nil || n.N != 16 {
		t.Errorf("nothing is reached by 8 cores, but the next run is %+v", n)
	}
	r = Fit(made(m, true, 64, 128, 256, 512), Settings{Level: 0.8})
	if n := r.Next; n == nil || n.N != 32 {
		t.Errorf("the line lies under 64 cores, but the next run is %+v", n)
	}
	if n := Fit(made(m, false, 8, 16, 32), Settings{Level: 0.8}).Next; n == nil || n.N != 64 {
		t.Errorf("a fourth core count is needed, but the next run is %+v", n)
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct{ low, high, unit, want int }{
		{192, 384, 24, 264}, {112, 224, 112, 168}, {1, 2, 1, 1}, {2, 3, 1, 2}, {8, 16, 1, 11}, {64, 1024, 64, 256},
	} {
		if got := between(c.low, c.high, c.unit); got != c.want {
			t.Errorf("between %d and %d in steps of %d: %d, want %d", c.low, c.high, c.unit, got, c.want)
		}
	}
	if d := Divisor(Divisor(48, 0), 36); d != 12 {
		t.Errorf("48 and 36 have %d in common", d)
	}
}

func TestManyCoreCountsAreThinned(t *testing.T) {
	var cores []int
	for n := 1; n <= 500; n++ {
		cores = append(cores, n)
	}
	r := Fit(made(known[0], true, cores...), Settings{Level: 0.8})
	if r.Refused != "" || !warned(r, WarnDropped) || r.Largest != 500 || r.Counts != 500 {
		t.Errorf("refused %q, %d counts up to %d, warnings %v", r.Refused, r.Counts, r.Largest, r.Warnings)
	}
	checkParameters(t, r, known[0])
	if r := Fit(made(known[0], true, cores[:40]...), Settings{Level: 0.8}); warned(r, WarnDropped) {
		t.Errorf("of 40 core counts, %v", r.Warnings)
	}
}
