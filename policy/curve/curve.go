package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Point is one run of a workload.
type Point struct {
	N   int      // cores: ranks x threads
	T   float64  // t_n, seconds, MPI_Init's end to MPI_Finalize's begin
	Tau *float64 // tau_n = t_n (1 - PE), seconds, METRICS 4; nil: not known
}

// Settings say what to make of a curve. The zero value is what jobeff shows: intervals
// of 90 % confidence, the 0.80 that POP recommends, the combined method, and the time at
// twice the largest core count.
type Settings struct {
	Level   float64 // of the intervals, 0 < level < 1; 0 means 0.9
	Line    float64 // parallel efficiency that n_eff keeps; 0 means 0.8
	Method  Method  // MethodCombined, or the paper's own
	Predict []int   // core counts to predict the time of; none means twice the largest
	// Spread is the standard deviation of ln t between single runs that the search for n_fast assumes,
	// as long as few core counts were run twice; 0 means 0.05. Nothing else depends on it.
	Spread float64
}

// mostPredicted bounds the core counts that one question names.
const mostPredicted = 100

// ReadCounts reads core counts that people typed.
func ReadCounts(texts []string) (counts []int, err error) {
	if len(texts) > mostPredicted {
		return nil, fmt.Errorf("names %d core counts: give %d at most", len(texts), mostPredicted)
	}
	for _, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%.40q: core counts are whole numbers from 1, as 64,128", text)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// Method names how a curve is made from the data.
type Method string

// The methods.
const (
	MethodCombined  Method = ""          // extended Amdahl with local slopes and the measured overhead
	MethodHoefinger Method = "hoefinger" // the paper's procedure: run times only, f_s stepped down
)

const (
	defaultLevel = 0.9
	defaultLine  = 0.8
	// runSpread is the spread of ln t from one run to the next if nothing was run twice: the nugget of METRICS 4.
	runSpread = 0.015
	// usualSpread is the same on production machines, which spread more than benchmarks. With one run on each,
	// more cores must take 23 % longer to be called slower.
	usualSpread = 0.05
	// fewestCounts is the number of core counts that a curve needs.
	fewestCounts = 4
	// superlinearLimit is the ratio above which no model is fitted, METRICS 4.
	superlinearLimit = 1.25
	// erraticBend is the difference of two consecutive log-log slopes above which data are erratic, METRICS 4.
	erraticBend = 0.5
	// mostCounts bounds what a curve takes to compute.
	mostCounts = 40
	// furthest bounds the core counts of predictions, in multiples of the largest measured n.
	furthest = 2
)

func (s Settings) WithDefaults() Settings {
	if s.Level <= 0 || s.Level >= 1 {
		s.Level = defaultLevel
	}
	if s.Line <= 0 || s.Line >= 1 {
		s.Line = defaultLine
	}
	if s.Spread <= 0 {
		s.Spread = usualSpread
	}
	return s
}

// Group holds what was measured on one core count.
type Group struct {
	N, X  float64 // cores, and their logarithm
	Y     float64 // ln t_n, median of the runs
	Runs  float64
	Noise float64 // standard deviation of y
	r     float64 // tau_n/t_n, median of the runs that know it; NaN without
}

func (g Group) hasShare() bool { return !math.IsNaN(g.r) }

// soundOf leaves out points and overheads that no run can have.
func soundOf(points []Point) []Point {
	sound := make([]Point, 0, len(points))
	for _, p := range points {
		if p.N < 1 || !(p.T > 0) || math.IsInf(p.T, 0) {
			continue
		}
		if p.Tau != nil && !(*p.Tau >= 0) {
			p.Tau = nil
		}
		sound = append(sound, p)
	}
	return sound
}

// thinned keeps mostCounts groups at even steps, the first and the last among them.
func thinned(groups []Group) []Group {
	kept := make([]Group, mostCounts)
	for i := range kept {
		kept[i] = groups[i*(len(groups)-1)/(mostCounts-1)]
	}
	return kept
}

// Grouped sorts points by core count and combines those of the same one. It draws the spread of a core count
// towards that of all of them, and that towards runSpread, each with the weight of two runs.
func Grouped(points []Point) []Group { return GroupedBy(points, runSpread) }

// GroupedBy is Grouped with this spread in place of runSpread.
func GroupedBy(points []Point, spread float64) []Group {
	byN := map[int][]Point{}
	for _, p := range points {
		byN[p.N] = append(byN[p.N], p)
	}
	groups := make([]Group, 0, len(byN))
	squares := make(map[float64]float64, len(byN))
	var total, degrees float64
	for n, runs := range byN {
		g, square := groupOf(n, runs)
		groups, squares[g.N] = append(groups, g), square
		degrees += g.Runs - 1
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.N, b.N) })
	for _, g := range groups { // in the order of n, so that sums do not depend on the map's
		total += squares[g.N]
	}
	pooled := (2*spread*spread + total) / (2 + degrees)
	for i, g := range groups {
		groups[i].Noise = math.Sqrt((2*pooled + squares[g.N]) / (1 + g.Runs) / g.Runs)
	}
	return groups
}

// groupOf makes a group and the sum of the squared differences from its median.
func groupOf(n int, runs []Point) (Group, float64) {
	var y, r []float64
	for _, p := range runs {
		y = append(y, math.Log(p.T))
		if p.Tau != nil {
			r = append(r, math.Min(*p.Tau/p.T, 1))
		}
	}
	g := Group{N: float64(n), X: math.Log(float64(n)), Y: Median(y), Runs: float64(len(runs)), r: Median(r)}
	var square float64
	for _, v := range y {
		square += (v - g.Y) * (v - g.Y)
	}
	return g, square
}

// Median returns NaN for no values. It sorts them.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return quantile(v, 0.5)
}

// quantile returns the p-quantile of sorted values, interpolated linearly between two of them (type 7 of
// Hyndman and Fan). gonum's stat.Quantile is of type 4: for two values, its median is the smaller one.
func quantile(sorted []float64, p float64) float64 {
	i, part := math.Modf(p * float64(len(sorted)-1))
	at := sorted[int(i):]
	if part == 0 || at[0] == at[1] { // also two infinities
		return at[0]
	}
	return (1-part)*at[0] + part*at[1]
}

// withShare returns the groups whose overhead is known.
func withShare(groups []Group) []Group {
	var known []Group
	for _, g := range groups {
		if g.hasShare() {
			known = append(known, g)
		}
	}
	return known
}

// superlinearity returns the largest n_1 t_1/(n t_n), METRICS 4, and its core count. Above 1, n cores did more
// than n times the work of one.
func superlinearity(groups []Group) (ratio, n float64) {
	for _, g := range groups {
		if v := math.Exp(groups[0].X + groups[0].Y - g.X - g.Y); v > ratio {
			ratio, n = v, g.N
		}
	}
	return ratio, n
}

// isErratic reports whether two consecutive slopes of ln t over ln n differ by more than erraticBend. The error
// of a prediction from such data is twice as large (METRICS 4).
func isErratic(groups []Group) bool {
	for i := 2; i < len(groups); i++ {
		if math.Abs(slope(groups[i-1], groups[i])-slope(groups[i-2], groups[i-1])) > erraticBend {
			return true
		}
	}
	return false
}

func slope(from, to Group) float64 { return (to.Y - from.Y) / (to.X - from.X) }

// tail returns how many standard errors make an interval of this confidence. Errors of predictions have heavy
// tails: Student's t with two degrees of freedom fits both 80 and 90 % of the next points of the real curves.
func tail(level float64) float64 { return level * math.Sqrt(2/(1-level*level)) }
