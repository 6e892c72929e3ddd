package curve

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"jobeff/policy/doubt"
)

// usualTail is tail(0.8): Student's t with two degrees of freedom.
var usualTail = distuv.StudentsT{Sigma: 1, Nu: 2}.Quantile(0.9)

// TestDefaults: what is not said, or cannot be, is what jobeff shows.
func TestDefaults(t *testing.T) {
	usual := Settings{Level: 0.9, Line: 0.8, Spread: 0.05}
	for _, s := range []Settings{{}, {Level: 1, Line: 1}, {Level: -1, Line: -1, Spread: -1}} {
		if got := s.WithDefaults(); !reflect.DeepEqual(got, usual) {
			t.Errorf("%+v became %+v", s, got)
		}
	}
	own := Settings{Level: 0.5, Line: 0.7, Spread: 0.1}
	if got := own.WithDefaults(); !reflect.DeepEqual(got, own) {
		t.Errorf("%+v became %+v", own, got)
	}
}

// TestNoiseOfGroups: the spread of two runs 0.2 apart, and of one, each drawn towards that of all and 0.05.
func TestNoiseOfGroups(t *testing.T) {
	g := GroupedBy([]Point{{N: 2, T: 1}, {N: 2, T: math.Exp(0.2)}, {N: 4, T: 1}}, 0.05)
	pooled := (2*0.05*0.05 + 2*0.1*0.1) / (2 + 1)
	wantClose(t, "twice", g[0].Noise, math.Sqrt((2*pooled+2*0.1*0.1)/3/2), 1e-12)
	wantClose(t, "once", g[1].Noise, math.Sqrt(2*pooled/2), 1e-12)
	s, _ := newSlopes(g)
	wantClose(t, "of a next run", s.lastNoise, (2*g[0].Noise*g[0].Noise+g[1].Noise*g[1].Noise)/2, 1e-12)
}

func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		v                []float64
		level, low, high float64
	}{
		{[]float64{50, 20, 30, 10, 40}, 0.5, 20, 40}, {[]float64{10, 20, 30, 40, 50}, 0.8, 14, 46}, {[]float64{10, 20, 30, 40, 50}, 1, 10, 50},
		{[]float64{1, 2, math.Inf(1), math.Inf(1)}, 0.9, 1.15, math.Inf(1)}, {[]float64{3, 4}, 0, 3.5, 3.5},
		{[]float64{1, math.Inf(1), math.Inf(1)}, 1, 1, math.Inf(1)}, {[]float64{1, math.Inf(1)}, 1, 1, math.Inf(1)},
	} {
		slices.Sort(c.v)
		low, high := quantile(c.v, (1-c.level)/2), quantile(c.v, (1+c.level)/2)
		wantClose(t, "low", low, c.low, 1e-12)
		if high != c.high && math.Abs(high-c.high) > 1e-12 {
			t.Errorf("%v of %v: %v", c.level, c.v, high)
		}
	}
	var sum, squares float64
	for _, z := range deviates {
		sum, squares = sum+z, squares+z*z
	}
	if math.Abs(sum/draws) > 0.02 || math.Abs(squares/draws-1) > 0.03 {
		t.Errorf("deviates of mean %v and variance %v", sum/draws, squares/draws)
	}
}

// TestLikelihood: Student's t of the sum of squares, with 0.04 before the data speak, of the weight of two.
func TestLikelihood(t *testing.T) {
	four := newFitter(Grouped(made(known[0], true, 1, 2, 4, 8)), false)
	eight := newFitter(four.groups, true)
	wantClose(t, "noise", four.noise(0.01, 1), math.Sqrt((2*0.04*0.04+0.01)/5), 1e-12)
	wantClose(t, "with shares", eight.noise(0.01, 1), math.Sqrt((2*0.04*0.04+0.01)/9), 1e-12)
	wantClose(t, "of exact data", eight.noise(0, 0), math.Sqrt(2./9)*1e-5, 1e-12)
	wantClose(t, "of the level", four.levelNoise(0.01, 1), math.Sqrt((2*0.04*0.04+0.01)/5/4), 1e-12)
	wantClose(t, "weight", four.logWeight(3*0.0032, 0), -2.5*math.Log(4), 1e-12)
	wantClose(t, "beside the best", four.logWeight(0.0096, 0.0032), -2.5*math.Log(2), 1e-12)
	wantClose(t, "of exact data", eight.logWeight(6e-10, 0), -4.5*math.Log(4), 1e-12)
	for _, c := range []struct {
		f     *fitter
		least float64
		want  bool
	}{{four, 0, false}, {eight, 7.9e-10, true}, {eight, 8.1e-10, false}, {newFitter(Grouped(made(known[0], false, 1, 2, 4, 8, 16)), false), 4e-10, true}} {
		if c.f.exact(c.least) != c.want {
			t.Errorf("%v data, %v: exact %v", c.f.data, c.least, !c.want)
		}
	}
	for _, c := range []struct {
		sigmas, off float64 // off from the best, as a difference of logarithms
		want        bool
	}{{1, 0.49, true}, {1, 0.51, false}, {2, 1.99, true}, {2, 2.01, false}} {
		level := 2*distuv.UnitNormal.CDF(c.sigmas) - 1
		if got := four.within(fitted{chi: 0.0032 * math.Expm1(c.off/2.5)}, fitted{}, level); got != c.want {
			t.Errorf("%v off at %v standard deviations: within %v", c.off, c.sigmas, got)
		}
	}
}

// TestScanIsTheFit: the cells of a grid have the sums of squares that a fit has there, and its corners are the box's.
func TestScanIsTheFit(t *testing.T) {
	groups := Grouped(noisy(known[0], rand.New(rand.NewPCG(4, 4)), 0.05, 1, 2, 8, 64))
	b := box{shape{-6, -2, 1}, shape{-2, 2, 5}}
	for _, shares := range []bool{false, true} {
		f := newFitter(groups, shares)
		cells := slices.Clone(f.scan(b, [3]int{3, 3, 3}))
		if len(cells) != 27 || cells[0].shape != b.low || cells[26].shape != b.high {
			t.Errorf("%d cells from %v to %v", len(cells), cells[0].shape, cells[26].shape)
		}
		for _, c := range cells {
			at := f.at(c.shape)
			wantClose(t, "squares", c.chi(), at.chi, 1e-9)
			wantClose(t, "level", c.level, at.level, 1e-9)
		}
		// Before the data speak beta is even between 0 and 1, ln c is even, and f_s half way between both.
		for _, c := range f.weighed(b, 0) {
			beta, sides := logistic(c.shape[1]), math.Log(4*4*4)
			wantClose(t, "weight", c.weight, f.logWeight(c.chi(), 0)+math.Log(beta*(1-beta))+c.shape[0]/2+sides, 1e-9)
		}
	}
	modest := newFitter(groups[1:], false) // 2 cores' overhead is taken to be 0, give or take six times a run time's error
	plain := modest.at(shape{-3, 0, 3}).chi
	modest.modest = true
	wantClose(t, "modest", modest.at(shape{-3, 0, 3}).chi-plain, math.Pow(0.5*1/(math.Exp(3)+2)/6, 2), 1e-9)
	cells := []cell{{shape: shape{-3, 0, 2}, times: 5}, {shape: shape{-3, 0, 2.5}, times: 2, shares: 1}, {shape: shape{-3, 0, 4}, times: 9}, {shape: shape{-3, 0, 5}, times: 4}}
	if got := newFitter(groups, false).bestCells(cells); len(got) != 2 || got[0] != cells[1].shape || got[1] != cells[3].shape {
		t.Errorf("the best with c under 1/f_s and over it: %v", got)
	}
	if got := newFitter(groups, false).bestCells(cells[:2]); len(got) != 1 || got[0] != cells[1].shape {
		t.Errorf("the best on one side: %v", got)
	}
	if d := distance(shape{1, 2, 3}, shape{4, 1, 5}); d != 6 {
		t.Errorf("the shapes lie %v apart", d)
	}
}

// TestBoxes: a box around an optimum reaches as far as 4.5 standard errors, by the inverse of J'J, and not
// beyond what data could tell. It shrinks to the cells that count, with a cell's width around them.
func TestBoxes(t *testing.T) {
	f := newFitter(Grouped(noisy(known[0], rand.New(rand.NewPCG(4, 4)), 0.02, 1, 2, 4, 8, 16, 64, 256)), true)
	best := f.optima(f.scan(widest(f.groups), [3]int{15, 9, 13}))[0]
	b, all := f.around(best, best.chi), widest(f.groups)
	f.at(best.shape)
	m, _ := f.normal()
	normal, inverse := mat.NewDense(3, 3, nil), new(mat.Dense)
	for i := range 3 {
		normal.SetRow(i, m[i][:])
	}
	if err := inverse.Inverse(normal); err != nil {
		t.Fatal(err)
	}
	for j := range 3 {
		far := 4.5 * f.noise(best.chi, best.chi) * math.Sqrt(inverse.At(j, j))
		wantClose(t, "low", b.low[j], math.Max(best.shape[j]-far, all.low[j]), 1e-6)
		wantClose(t, "high", b.high[j], math.Min(best.shape[j]+far, all.high[j]), 1e-6)
	}
	unit := box{shape{0, 0, 0}, shape{1, 1, 1}}
	for _, c := range []struct {
		low, high float64
		want      bool
	}{{0.5, 2, true}, {-1, 0.5, true}, {0.2, 0.8, true}, {-1, 2, true}, {1.1, 2, false}, {-2, -0.1, false}, {1, 2, true}, {-1, 0, true}} {
		for j := range 3 {
			o := unit
			if o.low[j], o.high[j] = c.low, c.high; unit.overlaps(o) != c.want {
				t.Errorf("%+v overlaps in %d: %v", c, j, !c.want)
			}
		}
	}
	wide := box{shape{-6, -6, -6}, shape{6, 6, 6}}
	for _, c := range []struct {
		low, high, faintly float64 // of the cells that count, and of one that does not
		shrunk             bool
		from, to           float64
	}{{3, 5, 9, true, 2, 6}, {2, 8, 11, true, 1, 9}, {2, 8.5, 11, false, 1, 9.5}, {0, 6, 11, true, 0, 7}, {6, 12, 1, true, 5, 12}} {
		at := func(x, weight float64) cell { return cell{shape: shape{x - 6, x - 6, x - 6}, weight: weight} }
		got, shrunk := tightened(wide, []cell{at(c.faintly, 2.9), at(c.low, 10), at(c.high, 3.1)})
		from, to := c.from-6, c.to-6
		if want := (box{shape{from, from, from}, shape{to, to, to}}); shrunk != c.shrunk || got != want {
			t.Errorf("%+v: %v, %+v", c, shrunk, got)
		}
	}
}

// TestSteps: a damped step solves (J'J + damping diag) x = J'r. A parameter at its limit stays there, and the
// others step as if it were known. A free step wins r'J (J'J)^-1 J'r of the squares; polishing leaves none of it.
func TestSteps(t *testing.T) {
	f := newFitter(Grouped(noisy(known[0], rand.New(rand.NewPCG(4, 4)), 0.02, 1, 2, 4, 8, 16, 64, 256)), true)
	m := [3][3]float64{{4, 1, 0.5}, {1, 3, 0.2}, {0.5, 0.2, 2}}
	solve := func(damping float64, g [3]float64, free ...int) (x [3]float64) {
		a, b, v := mat.NewDense(len(free), len(free), nil), mat.NewVecDense(len(free), nil), new(mat.VecDense)
		for i, k := range free {
			for j, l := range free {
				a.Set(i, j, m[k][l])
			}
			a.Set(i, i, (1+damping)*m[k][k])
			b.SetVec(i, g[k])
		}
		if err := v.SolveVec(a, b); err != nil {
			t.Fatal(err)
		}
		for i, k := range free {
			x[k] = v.AtVec(i)
		}
		return x
	}
	for _, c := range []struct {
		at, damping float64 // of the second parameter, which may be -20 to 20
		g           [3]float64
		free        []int
	}{
		{0, 0, [3]float64{1, 2, -1}, []int{0, 1, 2}}, {0, 0.5, [3]float64{1, 2, -1}, []int{0, 1, 2}},
		{20, 0, [3]float64{1, 2, -1}, []int{0, 1, 2}}, {20, 0, [3]float64{1, -2, -1}, []int{0, 2}},
		{-20, 0, [3]float64{1, 2, -1}, []int{0, 2}}, {-20, 0, [3]float64{1, -2, -1}, []int{0, 1, 2}},
	} {
		from := shape{-3, c.at, 2}
		to, x := f.stepped(from, m, c.g, c.damping), solve(c.damping, c.g, c.free...)
		for j := range 3 {
			wantClose(t, "step", to[j], from[j]-x[j], 1e-9)
		}
	}
	far := f.stepped(shape{-3, 0, 2}, [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, [3]float64{5, -5, 1}, 0)
	wantClose(t, "a long step down", far[0], -5, 1e-9)
	wantClose(t, "a long step up", far[1], 2, 1e-9)
	best := f.descend(shapeOf(known[0]))
	near := best.shape
	for j := range near {
		near[j] += 0.01 * float64(j+1)
	}
	f.at(near)
	var g [3]float64
	m, g = f.normal()
	x := solve(0, g, 0, 1, 2)
	wantClose(t, "decrement", f.decrement(near), x[0]*g[0]+x[1]*g[1]+x[2]*g[2], 1e-6)
	if left := f.decrement(f.polished(fitted{shape: near}).shape); left > 1e-30 {
		t.Errorf("%v of the squares is left to win", left)
	}
}

// TestDraws: models are drawn as often as they are likely, and their level varies by what it may be off.
func TestDraws(t *testing.T) {
	f := newFitter(Grouped(made(known[0], false, 1, 2, 4, 8)), false)
	often, seldom := shape{-3, 0, 2}, shape{-5, 1, 3}
	models := f.resampled([]cell{{shape: often, level: 2, times: 0.01, weight: math.Log(3) - 800}, {shape: seldom, level: 3, weight: -800}}, fitted{chi: 1})
	if len(models) != draws {
		t.Fatalf("%d models", len(models))
	}
	for i, m := range models {
		from, level, times := often, 2., 0.01
		if i >= 192 {
			from, level, times = seldom, 3, 0
		}
		wantClose(t, "f_s", m.Serial, from.serial(), 1e-12)
		wantClose(t, "t_1", m.T1, math.Exp(level+math.Sqrt((0.0032+times)/5/4)*deviates[i]), 1e-9)
	}
}

// TestLinearStarts: data without noise give the model at once: with overheads itself, without the one of the two
// that have the same times whose serial part is smaller.
func TestLinearStarts(t *testing.T) {
	close := func(what string, got, want Amdahl) {
		t.Helper()
		wantClose(t, what+" f_s", got.Serial, want.Serial, 1e-5)
		wantClose(t, what+" b", got.B, want.B, 1e-5)
		wantClose(t, what+" c", got.C, want.C, 1e-5)
		wantClose(t, what+" t_1", got.T1, want.T1, 1e-5)
	}
	for _, m := range known {
		for _, cores := range [][]int{{1, 2, 4, 8, 16, 32, 64}, {3, 7, 20, 90}} {
			if got, ok := fromShares(Grouped(made(m, true, cores...))); !ok {
				t.Errorf("%+v has no start", m)
			} else {
				close("from shares", got, m)
			}
			want := m
			if other, ok := m.mirrored(); ok && other.Serial < m.Serial {
				want = other
			}
			got, ok := fromTimes(Grouped(made(m, false, cores...)))
			if !ok {
				continue
			}
			close("from times", got, want)
		}
	}
	good := Amdahl{Serial: 0.1, B: 1, C: 2, T1: 10}
	if !good.valid() {
		t.Error("a model is not valid")
	}
	for i, change := range []func(m *Amdahl){
		func(m *Amdahl) { m.Serial = 0 }, func(m *Amdahl) { m.Serial = 1 }, func(m *Amdahl) { m.B = 0 }, func(m *Amdahl) { m.C = 0 }, func(m *Amdahl) { m.B = 3 }, func(m *Amdahl) { m.T1 = 0 },
		func(m *Amdahl) { m.T1 = math.Inf(1) }, func(m *Amdahl) { m.Serial = math.NaN() }, func(m *Amdahl) { m.T1 = math.NaN() },
	} {
		m := good
		if change(&m); m.valid() {
			t.Errorf("%d: %+v is valid", i, m)
		}
	}
	if m, ok := (Amdahl{B: 1, C: 2, T1: 10}).mirrored(); ok {
		t.Errorf("without a serial part, %+v has the same times", m)
	}
}

// TestSerialPart: of two models with the same times the smaller serial part is stated, and both are in the
// intervals. Where none is likely, too, the interval begins at 0.
func TestSerialPart(t *testing.T) {
	twins := 0
	for _, m := range known {
		other, ok := m.mirrored()
		if !ok {
			continue
		}
		twins++
		r := Fit(made(m, false, 1, 2, 4, 8, 16, 32, 64, 128), Settings{Level: 0.8})
		wantClose(t, "f_s", r.Serial.Value, math.Min(m.Serial, other.Serial), 1e-4)
		if !r.B.Within(m.B*(1-1e-4)) && !r.B.Within(m.B*(1+1e-4)) || !r.B.Within(other.B*(1-1e-4)) && !r.B.Within(other.B*(1+1e-4)) {
			t.Errorf("b %+v does not hold %v and %v", r.B, m.B, other.B)
		}
	}
	if twins == 0 {
		t.Error("no model has a twin: choose others")
	}
	for _, m := range known { // the measured overhead tells which of the two it is
		if other, ok := m.mirrored(); ok {
			checkParameters(t, Fit(made(other, true, 1, 2, 4, 8, 16, 32), Settings{Level: 0.8}), other)
		}
	}
	for serial, without := range map[float64]bool{1e-7: true, 0.3: false} {
		m := Amdahl{Serial: serial, B: 5, C: 20, T1: 100}
		if r := Fit(noisy(m, rand.New(rand.NewPCG(2, 2)), 0.01, 1, 2, 4, 8, 16, 32), Settings{Level: 0.8}); (r.Serial.Low == 0) != without {
			t.Errorf("f_s %v: %+v", serial, r.Serial)
		}
	}
}

// TestModest: people begin where a program runs well. Where run times alone say that more than half of the
// smallest run was overhead, the model has less; what they say exactly, or say of less, stays.
func TestModest(t *testing.T) {
	m := Amdahl{Serial: 1e-3, B: 28, C: 30, T1: 1e4}
	for _, c := range []struct {
		points []Point
		less   bool
	}{{noisyTimes(m, 64, 128, 256, 512, 1024), true}, {noisyTimes(m, 32, 64, 128, 256, 512), false}, {made(m, false, 64, 128, 256, 512, 1024), false}} {
		k := Fit(c.points, Settings{Level: 0.8}).curve
		n := float64(c.points[0].N)
		times, share := k.timeFit.model(0).Share(n), k.model.Share(n)
		if c.less && (times <= 0.5 || share >= 0.5) || !c.less && math.Abs(share/times-1) > 1e-9 {
			t.Errorf("from %v cores: %v, by the run times alone %v", n, share, times)
		}
	}
}

// TestWhatAResultSays: its model's name, times between and beyond the data, and whether they tell anything.
func TestWhatAResultSays(t *testing.T) {
	smooth := made(known[0], true, 4, 8, 16, 32)
	superlinear := table([]float64{1, 100}, []float64{2, 50}, []float64{4, 25}, []float64{8, 9.9})
	for model, r := range map[string]*Result{"extended Amdahl": Fit(smooth, Settings{Level: 0.8}), "local slope": Fit(superlinear, Settings{Level: 0.8}),
		"extended Amdahl, the paper's procedure": Fit(made(known[0], false, 4, 8, 16, 32, 64), Settings{Level: 0.8, Method: MethodHoefinger})} {
		if r.Model() != model {
			t.Errorf("%s, want %s", r.Model(), model)
		}
	}
	r, refused := Fit(smooth, Settings{Level: 0.8}), Fit(smooth[:1], Settings{Level: 0.8})
	for n, said := range map[float64]bool{1.9: false, 2: true, 10: true, 10.5: true, 64: true, 64.1: false, 65: false} {
		if got := r.Time(n); (got != nil) != said || said && *got != *r.curve.logTime(n).exp() || refused.Time(n) != nil {
			t.Errorf("on %v cores: %+v", n, got)
		}
	}
	if p := refused.At(8); p.T != nil || p.Note != NoteNotDetermined || refused.curve != nil {
		t.Errorf("refused, but %+v", p)
	}
	if p := r.At(8); p.T == nil || *p.T != *r.Time(8) || p.Note != "" {
		t.Errorf("%+v", p)
	}
	for _, c := range []struct {
		t    *Estimate
		want bool
	}{{nil, false}, {&Estimate{5, 1, 10}, true}, {&Estimate{5, 1, 10.1}, false}} {
		if p := (Prediction{T: c.t}); p.Determined() != c.want {
			t.Errorf("%+v is determined: %v", c.t, !c.want)
		}
	}
	for missing, want := range map[int]string{1: "the overhead was not measured on 1 core count", 4: "no overhead was measured: run times alone hardly tell it"} {
		points := slices.Clone(smooth)
		for i := range missing {
			points[i].Tau = nil
		}
		if r := Fit(points, Settings{Level: 0.8}); !slices.ContainsFunc(r.Warnings, func(w doubt.Doubt) bool { return w.Code == WarnNoOverhead && w.Text == want }) {
			t.Errorf("%v, want %q", r.Warnings, want)
		}
	}
	spread := func(low, high float64) (all []Amdahl) { // serial parts
		for i := range 11 {
			all = append(all, Amdahl{Serial: low * math.Pow(high/low, float64(i)/10), B: 5, C: 20, T1: 100})
		}
		return all
	}
	for high, open := range map[float64]string{0.0099: "", 0.0101: "not determined (the interval spans more than a factor of 10): f_s"} {
		c := &curve{settings: Settings{Level: 0.999999}, model: spread(0.001, high)[5], likely: spread(0.001, high), result: &Result{}}
		c.parameters()
		if n := len(c.result.Warnings); (n == 0) != (open == "") || n > 0 && c.result.Warnings[0].Text != open || c.result.B != (Estimate{5, 5, 5}) {
			t.Errorf("up to %v: %v, b %+v", high, c.result.Warnings, c.result.B)
		}
	}
}

// TestNextRuns: what a next run adds, and which is needed first.
func TestNextRuns(t *testing.T) {
	groups := []Group{{N: 2, Runs: 1, Noise: 0.2}, {N: 4, Runs: 3, Noise: 0.1}}
	if got := insert(groups, Group{N: 4}); len(got) != 2 || got[1].Runs != 4 || math.Abs(got[1].Noise-0.1*math.Sqrt(0.75)) > 1e-12 || groups[1].Runs != 3 {
		t.Errorf("once more: %+v", got)
	}
	for n, at := range map[float64]int{1: 0, 3: 1, 8: 2} {
		if got := insert(groups, Group{N: n}); len(got) != 3 || got[at].N != n {
			t.Errorf("%v: %+v", n, got)
		}
	}
	c := Fit(made(known[0], true, 1, 2, 4, 8), Settings{Level: 0.8}).curve
	_, low, high := c.share(16)
	wantClose(t, "width of PE", c.widthOf(aboutPE), high-low, 1e-12)
	wantClose(t, "width of t", c.widthOf(aboutTime), math.Log(c.predict(16).T.Ratio()), 1e-9)
	blind := Fit(noisyTimes(known[0], 1, 2, 4, 8, 16), Settings{Level: 0.8})
	if n := blind.Next; n == nil || n.About != aboutTime || !(n.After < n.Width) {
		t.Errorf("run times alone: %+v", n)
	}
	superlinear := table([]float64{1, 100, 1}, []float64{2, 50, 1}, []float64{4, 19, 1})
	for _, c := range []struct {
		points []Point
		method Method
		want   int // 0: none
	}{{nil, "", 0}, {superlinear, "", 8}, {append(superlinear, table([]float64{8, 9, 1})...), MethodHoefinger, 0}, {made(known[0], false, 1, 2, 4), "", 8}, {made(known[0], false, 10, 12, 14, 16), "", 32}} {
		got := 0
		if n := Fit(c.points, Settings{Level: 0.8, Method: c.method}).Next; n != nil {
			got = n.N
		}
		if got != c.want {
			t.Errorf("%d points, %q: %d cores, want %d", len(c.points), c.method, got, c.want)
		}
	}
}

func noisyTimes(m Amdahl, cores ...int) []Point {
	points := noisy(m, rand.New(rand.NewPCG(6, 6)), 0.05, cores...)
	for i := range points {
		points[i].Tau = nil
	}
	return points
}

// TestMeasured: n_fast is a core count that was run, the fastest one, and so is the next run where nothing but run
// times is known. The points are those of a plasma code, on a machine with other work.
func TestMeasured(t *testing.T) {
	once := table([]float64{1, 25}, []float64{2, 12}, []float64{3, 113}, []float64{4, 118})
	r := Fit(once, Settings{Level: 0.8})
	if e := r.Fast.Estimate; e == nil || e.Value != 2 || e.Low != 1 || e.High != 3 || r.Fast.Note != NoteOnce {
		t.Errorf("n_fast %+v, %q", e, r.Fast.Note)
	}
	if n := r.Next; n == nil || n.N != 2 || n.About != AboutSpread || n.Width != 0 {
		t.Errorf("next run: %+v", n)
	}
	if n := Fit(append(once, once...), Settings{Level: 0.8}).Next; n != nil {
		t.Errorf("next run, after two on each: %+v", n)
	}
	for _, vertex := range []float64{9, 11, 16, 20} {
		var points []Point
		for _, n := range []int{1, 4, 11, 40, 90} {
			x := math.Log(float64(n) / vertex)
			points = append(points, Point{N: n, T: math.Exp(x * x)})
		}
		if e := Fastest(points).Estimate; e == nil || e.Value != 11 {
			t.Errorf("%v: n_fast %+v", vertex, e)
		}
	}
}

// TestErratic: slopes may differ by 0.5.
func TestErratic(t *testing.T) {
	if isErratic(Grouped(table([]float64{16, 10}, []float64{32, 10}, []float64{64, 7.2}))) || !isErratic(Grouped(table([]float64{16, 10}, []float64{32, 10}, []float64{64, 7}))) {
		t.Error("slopes may differ by 0.5")
	}
}
