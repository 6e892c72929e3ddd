package curve

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// curvesFolder holds measured curves; they are read from there and never copied.
// JOBEFF_CURVES names another folder of such files.
func curvesFolder() string {
	if other := os.Getenv("JOBEFF_CURVES"); other != "" {
		return other
	}
	return "../../../shared/data/scaling"
}

// next is one thing to foretell: the point after the first few of a curve.
type next struct {
	curve string
	seen  []Point
	truth Point
}

// nexts are the points after every prefix of at least 4 points.
func nexts(tb testing.TB) (all []next) {
	eachCurve(tb, func(name string, points []Point) {
		for k := fewestCounts; k < len(points); k++ {
			all = append(all, next{name, points[:k], points[k]})
		}
	})
	return all
}

// inners are the points between the others of a curve, where these are at least 4.
func inners(tb testing.TB) (all []next) {
	eachCurve(tb, func(name string, points []Point) {
		for k := 1; k < len(points)-1 && len(points) > fewestCounts; k++ {
			all = append(all, next{name, slices.Delete(slices.Clone(points), k, k+1), points[k]})
		}
	})
	return all
}

// eachCurve reads the curves.
func eachCurve(tb testing.TB, do func(name string, points []Point)) {
	files, _ := filepath.Glob(filepath.Join(curvesFolder(), "*.csv"))
	if len(files) == 0 {
		tb.Skipf("no curves in %s", curvesFolder())
	}
	for _, file := range files {
		do(strings.TrimSuffix(filepath.Base(file), ".csv"), readFile(tb, file))
	}
}

func readFile(tb testing.TB, file string) []Point {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	points, err := Read(f)
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return points
}

// score is how a method foretold the next points.
type score struct {
	name                 string
	errors               []float64 // |t - truth| / truth
	covered80, covered90 int
	widths80, widths90   []float64 // ln(high/low)
	shareErrors          []float64
	shareOf              []string     // application of each of shareErrors
	shares               [2]intervals // of PE, at 80 and at 90 %
}

// intervals are how wide they were, and how far the truth lay from the foretold value, as a part of the
// way to their end, of the logit.
type intervals struct{ widths, far []float64 }

func (s *intervals) add(e *Estimate, truth float64) {
	end := e.High
	if truth < e.Value {
		end = e.Low
	}
	s.widths = append(s.widths, e.High-e.Low)
	s.far = append(s.far, (logitShare(truth)-logitShare(e.Value))/(logitShare(end)-logitShare(e.Value)))
}

// covered is the part of the truths that intervals hold which are so many times as wide.
func covered(far []float64, times float64) float64 {
	in := 0
	for _, f := range far {
		if f <= times {
			in++
		}
	}
	return float64(in) / float64(len(far))
}

// parted are the intervals of one application, and those of the others.
func (s *score) parted(level int, application string) (its, others []float64) {
	for i, far := range s.shares[level].far {
		if s.shareOf[i] == application {
			its = append(its, far)
		} else {
			others = append(others, far)
		}
	}
	return its, others
}

func (s *score) time(guess, truth float64) { s.errors = append(s.errors, math.Abs(guess/truth-1)) }

func (s *score) line() string {
	percent := func(p float64) float64 { return 100 * at(s.errors, p) }
	line := fmt.Sprintf("%-22s %5d %7.1f %7.1f %7.1f", s.name, len(s.errors), percent(.5), percent(.8), percent(.9))
	if len(s.errors) == 0 {
		line = fmt.Sprintf("%-22s %64s", s.name, "")
	}
	if n := float64(len(s.widths80)); n > 0 {
		line += fmt.Sprintf(" %8.0f %7.2f %8.0f %7.2f", 100*float64(s.covered80)/n, at(s.widths80, .5), 100*float64(s.covered90)/n, at(s.widths90, .5))
	}
	if n := len(s.shareErrors); n > 0 {
		line += fmt.Sprintf(" %5d %6.3f %6.3f %6.3f", n, at(s.shareErrors, .5), at(s.shareErrors, .8), at(s.shareErrors, .9))
		for _, of := range s.shares {
			if len(of.far) > 0 {
				line += fmt.Sprintf(" %8.0f %7.2f", 100*covered(of.far, 1), at(of.widths, .5))
			}
		}
	}
	return line
}

// at is a quantile between the order statistics.
func at(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	i := p * float64(len(v)-1)
	j := min(int(i), len(v)-2)
	if j < 0 {
		return v[0]
	}
	return v[j] + (i-float64(j))*(v[j+1]-v[j])
}

const scoreHeader = "                                 |error of t| in %      80 % interval    90 % interval              |error of PE|   80 % interval    90 % interval\n" +
	"method                 points     p50     p80     p90  covers %   width covers %   width     n    p50    p80    p90 covers %   width covers %   width"

// backtest foretells every next point, with the curve and beside it with its rivals.
func backtest(tb testing.TB) (scores []*score, refused map[string]string) {
	recipe, superlinear := &score{name: "METRICS 4's recipe"}, &score{name: "jobeff, superlinear"}
	ours, rough, amdahl, usl := &score{name: "jobeff"}, &score{name: "jobeff, no tau"}, &score{name: "Amdahl"}, &score{name: "USL"}
	model, between := &score{name: "extended Amdahl alone"}, &score{name: "jobeff, inner points"}
	refused = map[string]string{}
	for _, n := range inners(tb) {
		r80, r90 := Fit(n.seen, Settings{Level: 0.8, Predict: []int{n.truth.N}}), Fit(n.seen, Settings{Level: 0.9, Predict: []int{n.truth.N}})
		if r80.Refused == "" && r80.Predicted[0].T != nil {
			between.add(r80.Predicted[0], r90.Predicted[0], n)
		}
	}
	for _, n := range nexts(tb) {
		r80 := Fit(n.seen, Settings{Level: 0.8, Predict: []int{n.truth.N}})
		r90 := Fit(n.seen, Settings{Level: 0.9, Predict: []int{n.truth.N}})
		if r80.Refused != "" {
			refused[n.curve] = r80.Refused
			continue
		}
		if p := r80.Predicted[0]; p.T == nil {
			refused[fmt.Sprintf("%s, %d", n.curve, n.truth.N)] = p.Note
			continue
		}
		recipe.share(n, 1-recipeShare(n.seen, float64(n.truth.N)))
		if r80.NoModel != "" {
			superlinear.add(r80.Predicted[0], r90.Predicted[0], n)
			ours.addShare(r80.Predicted[0], r90.Predicted[0], n)
			continue
		}
		ours.add(r80.Predicted[0], r90.Predicted[0], n)
		blind := slices.Clone(n.seen)
		for i := range blind {
			blind[i].Tau = nil
		}
		b80 := Fit(blind, Settings{Level: 0.8, Predict: []int{n.truth.N}})
		b90 := Fit(blind, Settings{Level: 0.9, Predict: []int{n.truth.N}})
		rough.add(b80.Predicted[0], b90.Predicted[0], n)
		rivals := Rivals(n.seen)
		amdahl.time(rivals[0].Time(float64(n.truth.N)), n.truth.T)
		usl.time(rivals[1].Time(float64(n.truth.N)), n.truth.T)
		model.time(nearestModel(blind).Time(float64(n.truth.N)), n.truth.T)
	}
	return []*score{amdahl, usl, model, rough, between, superlinear, recipe, ours}, refused
}

// nearestModel is the extended Amdahl model without anything of ours.
func nearestModel(points []Point) Amdahl {
	c := curve{groups: Grouped(points)}
	c.search()
	return c.timeFit.model(c.timeFit.level)
}

// recipeShare is tau/t as METRICS 4 foretells it: the mean of the model through the run
// times and the last overhead, and of 0.13 more for each step of ln n.
func recipeShare(points []Point, n float64) float64 {
	c := curve{groups: Grouped(points)}
	c.shares = withShare(c.groups)
	if len(c.shares) == 0 {
		return math.NaN()
	}
	last := c.shares[len(c.shares)-1]
	for i := range c.groups {
		if c.groups[i].N != last.N {
			c.groups[i].r = math.NaN()
		}
	}
	f := newFitter(c.groups, true)
	best := f.optima(f.scan(widest(c.groups), [3]int{15, 9, 13}))[0]
	return (best.model(best.level).Share(n) + Clamp(last.r+0.13*(math.Log(n)-last.X), 0, 0.99)) / 2
}

// application is the program that a curve is of, by its file's name.
func (n *next) application() string {
	for _, name := range []string{"castep", "gromacs", "tealeaf"} {
		if strings.Contains(n.curve, name) {
			return name
		}
	}
	return n.curve
}

func (s *score) add(p80, p90 Prediction, n next) {
	truth := n.truth
	s.time(p80.T.Value, truth.T)
	s.widths80 = append(s.widths80, math.Log(p80.T.Ratio()))
	s.widths90 = append(s.widths90, math.Log(p90.T.Ratio()))
	if p80.T.Within(truth.T) {
		s.covered80++
	}
	if p90.T.Within(truth.T) {
		s.covered90++
	}
	s.addShare(p80, p90, n)
}

// addShare scores the foretold parallel efficiency, where it was measured.
func (s *score) addShare(p80, p90 Prediction, n next) {
	if n.truth.Tau == nil || p80.PE == nil {
		return
	}
	s.share(n, p80.PE.Value)
	for i, e := range []*Estimate{p80.PE, p90.PE} {
		s.shares[i].add(e, 1-*n.truth.Tau/n.truth.T)
	}
}

func (s *score) share(n next, pe float64) {
	if n.truth.Tau == nil {
		return
	}
	s.shareErrors = append(s.shareErrors, math.Abs(pe-(1-*n.truth.Tau/n.truth.T)))
	s.shareOf = append(s.shareOf, n.application())
}

// without are the errors of PE on other applications than this.
func (s *score) without(application string) (errors []float64) {
	for i, e := range s.shareErrors {
		if s.shareOf[i] != application {
			errors = append(errors, e)
		}
	}
	return errors
}

// BenchmarkBacktest prints how well next points are foretold.
func BenchmarkBacktest(b *testing.B) {
	scores, refused := backtest(b)
	for b.Loop() {
	}
	fmt.Printf("\n%s\n", scoreHeader)
	for _, s := range scores {
		fmt.Println(s.line())
	}
	recipe, ours := scores[len(scores)-2], scores[len(scores)-1]
	for _, left := range []string{"", "castep", "gromacs", "tealeaf"} {
		a, b := ours.without(left), recipe.without(left)
		fmt.Printf("|error of PE| without %-8s jobeff p50 %.3f p90 %.3f, METRICS 4's recipe %.3f %.3f\n", cmp.Or(left, "none:"), at(a, .5), at(a, .9), at(b, .5), at(b, .9))
	}
	for _, s := range []*score{ours, scores[len(scores)-4]} {
		for _, left := range []string{"castep", "gromacs", "tealeaf"} {
			fmt.Printf("%-20s intervals of PE that hold of the others than %-7s", s.name, left)
			for i, level := range []float64{.8, .9} {
				its, others := s.parted(i, left)
				times := at(others, level)
				fmt.Printf("  %.0f %%: %.2f times as wide, hold %2.0f %% of its %d", 100*level, times, 100*covered(its, times), len(its))
			}
			fmt.Println()
		}
	}
	for name, why := range refused {
		fmt.Printf("refused: %s: %s\n", name, why)
	}
}

// What the issue asks of next points that the routine was not made from.
func TestBacktest(t *testing.T) {
	if os.Getenv("JOBEFF_CURVES") != "" {
		t.Skip("the limits are those of the project's own curves")
	}
	scores, refused := backtest(t)
	s, recipe, super := scores[len(scores)-1], scores[len(scores)-2], scores[len(scores)-3]
	between := scores[len(scores)-4]
	for _, c := range []struct {
		what      string
		got       float64
		low, high float64
	}{
		{"|error of t| p50", at(s.errors, .5), 0, 0.125},
		{"|error of t| p80", at(s.errors, .8), 0, 0.26},
		{"80 % intervals cover", float64(s.covered80) / float64(len(s.errors)), 0.69, 0.90},
		{"80 % intervals' width", at(s.widths80, .5), 0, 0.50},
		{"90 % intervals cover", float64(s.covered90) / float64(len(s.errors)), 0.85, 1},
		{"90 % intervals' width", at(s.widths90, .5), 0, 0.80},
		{"|error of PE| p50", at(s.shareErrors, .5), 0, 0.055},
		{"|error of PE| p80", at(s.shareErrors, .8), 0, 0.11},
		{"80 % intervals of PE cover", covered(s.shares[0].far, 1), 0.69, 0.90},
		{"80 % intervals' width of PE", at(s.shares[0].widths, .5), 0, 0.25},
		{"90 % intervals of PE cover", covered(s.shares[1].far, 1), 0.85, 0.95},
		{"90 % intervals' width of PE", at(s.shares[1].widths, .5), 0, 0.38},
		{"80 % intervals of an inner PE cover", covered(between.shares[0].far, 1), 0.69, 0.90},
		{"80 % intervals' width of an inner PE", at(between.shares[0].widths, .5), 0, 0.13},
		{"|error of PE| p50 against METRICS 4's recipe", at(s.shareErrors, .5) / at(recipe.shareErrors, .5), 0, 1},
		{"|error of PE| p90 against METRICS 4's recipe", at(s.shareErrors, .9) / at(recipe.shareErrors, .9), 0, 1},
		{"superlinear: next points", float64(len(super.errors)), 1, 9},
	} {
		if !(c.got >= c.low && c.got <= c.high) {
			t.Errorf("%s = %.3f, want %g to %g", c.what, c.got, c.low, c.high)
		}
	}
	if len(refused) != 0 {
		t.Errorf("refused: %v", refused)
	}
}
