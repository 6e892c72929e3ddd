package curve

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"jobeff/policy/doubt"
	"jobeff/report/figure"
)

// Estimate is a figure with its interval, whose confidence is Settings.Level.
type Estimate struct {
	Value, Low, High float64
}

// Within reports whether v lies in the interval.
func (e Estimate) Within(v float64) bool { return e.Low <= v && v <= e.High }

// Ratio is the upper end of the interval over the lower.
func (e Estimate) Ratio() float64 { return e.High / e.Low }

// The reasons why n_fast or n_eff is not stated.
const (
	NoteNotReached    = "not reached"      // it lies above what was measured
	NoteBelowSmallest = "below smallest n" // it lies below what was measured
	NoteNotDetermined = "not determined"   // the data leave it open
	NoteBeyond        = "beyond largest n" // stated from the rule beyond the data
	NoteOnce          = "no core count was run twice"
	NoteTooFar        = "beyond twice the largest n"
	NoteTooNear       = "below half the smallest n"
)

// Codes of warnings about a curve.
const (
	WarnErratic       = "erratic"
	WarnSuperlinear   = "superlinear"
	WarnNoOverhead    = "overhead_unknown"
	WarnRough         = "rough"
	WarnUndetermined  = "parameters_not_determined"
	WarnStandardError = "standard_errors"
	WarnDropped       = "points_dropped"
)

// CoreCount is n_fast or n_eff, or the reason why there is none.
type CoreCount struct {
	Estimate *Estimate // cores
	Note     string    // one of the Note constants; an estimate may have one, too
}

// Result is a fitted curve and what follows from it. Times are seconds, shares fractions.
type Result struct {
	Method    Method
	Level     float64   // of every interval
	Line      float64   // parallel efficiency that n_eff keeps
	Smallest  int       // n_1
	Largest   int       // n_k
	Counts    int       // different core counts
	Refused   string    // why there is no curve; everything below but Warnings and Next is then empty
	NoModel   string    // why f_s, b, c and t_1 are not stated although there is a curve
	Serial    Estimate  // f_s
	B, C      Estimate  // eq. (1)
	T1        Estimate  // t_1
	Fast      CoreCount // n_fast = argmin t_n
	Eff       CoreCount // n_eff, the largest n that keeps Settings.Line
	Predicted []Prediction
	Next      *NextRun // what the next run would teach most
	Warnings  []doubt.Doubt

	curve *curve // the fit, for At; nil if refused
}

// Prediction is what is expected of a next run on N cores.
type Prediction struct {
	N         int
	T         *Estimate // t_n, seconds; nil: none, and Note says why
	Tau       *Estimate // tau_n, seconds
	PE        *Estimate // parallel efficiency, 1 - tau_n/t_n
	Speedup   *Estimate // t on SpeedupOf cores / t_n
	SpeedupOf int       // the smallest n that was measured
	CoreHours *Estimate // n t_n / 3600, METRICS 6
	Note      string
}

// saysNothing is the ratio of an interval's ends above which its figure is not determined.
const saysNothing = 10

// Determined reports whether the interval of the time is narrow enough to use.
func (p *Prediction) Determined() bool { return p.T != nil && p.T.Ratio() <= saysNothing }

// Model names what was fitted.
func (r *Result) Model() string {
	switch {
	case r.Method == MethodHoefinger:
		return "extended Amdahl, the paper's procedure"
	case r.NoModel != "":
		return "local slope"
	}
	return "extended Amdahl"
}

// curve is a curve in the making.
type curve struct {
	settings Settings
	groups   []Group
	careful  []Group // groups with the noise of Settings.Spread
	shares   []Group // those of groups whose overhead is known
	erratic  bool
	model    Amdahl   // nearest to the run times and the measured overhead
	twins    []Amdahl // other optima as near: t_n has two
	timeFit  fitted   // nearest model to the run times alone
	exact    bool     // the data follow the model more closely than measured runs can
	noSerial bool     // f_s may be 0
	likely   []Amdahl // equally likely models
	ending   *Amdahl  // nearest to the run times and the last measured overhead; nil: none
	slopes   *slopes
	result   *Result
}

// Fit makes a curve from runs. It always returns a Result. What it cannot state is refused there, with the
// reason.
func Fit(points []Point, settings Settings) *Result {
	settings = settings.WithDefaults()
	c := &curve{settings: settings, result: &Result{Method: settings.Method, Level: settings.Level, Line: settings.Line}}
	sound := soundOf(points)
	if left := len(points) - len(sound); left > 0 {
		c.warn(WarnDropped, fmt.Sprintf("%s left out: cores and run time must be positive", figure.Counted(left, "run")))
	}
	c.groups = Grouped(sound)
	c.result.Counts = len(c.groups)
	if len(c.groups) > mostCounts {
		c.groups = thinned(c.groups)
		c.warn(WarnDropped, fmt.Sprintf("of %d core counts %d are used", c.result.Counts, len(c.groups)))
	}
	c.careful = GroupedBy(sound, settings.Spread)
	c.shares = withShare(c.groups)
	if len(c.groups) > 0 {
		c.result.Smallest, c.result.Largest = int(c.groups[0].N), int(c.groups[len(c.groups)-1].N)
	}
	if c.result.Refused = c.refusal(); c.result.Refused != "" {
		c.result.Fast.Note, c.result.Eff.Note = NoteNotDetermined, NoteNotDetermined
		c.result.Next = c.firstRuns()
		return c.result
	}
	c.doubts()
	if settings.Method == MethodHoefinger {
		c.hoefinger()
		return c.result
	}
	c.combine()
	c.result.curve = c
	return c.result
}

// At predicts a run on n cores. If the curve was refused, or made by the paper's procedure, it gives only the
// reason.
func (r *Result) At(n int) Prediction {
	if r.curve == nil {
		return Prediction{N: n, SpeedupOf: r.Smallest, Note: NoteNotDetermined}
	}
	return r.curve.predict(n)
}

// Time returns the expected run time on n cores, seconds; nil if At predicts none.
func (r *Result) Time(n float64) *Estimate {
	if r.curve == nil || r.curve.tooFar(int(math.Ceil(n))) == NoteTooFar || furthest*n < float64(r.Smallest) {
		return nil
	}
	return r.curve.logTime(n).exp()
}

// refusal returns the reason why no curve is drawn, or "".
func (c *curve) refusal() string {
	k := len(c.groups)
	switch {
	case k == 0:
		return "no runs"
	case k < 2, k < fewestCounts && (len(c.shares) < k || c.settings.Method == MethodHoefinger):
		return fmt.Sprintf("%s: a curve needs %d (2 or 3 give a rough estimate where the overhead was measured on each)",
			figure.Counted(k, "core count"), fewestCounts)
	case c.groups[k-1].N < 2*c.groups[0].N:
		return fmt.Sprintf("the core counts %s lie within a factor of 2", figure.Interval(c.groups[0].N, c.groups[k-1].N, figure.Cores))
	}
	if ratio, _ := superlinearity(c.groups); ratio > superlinearLimit && (k < fewestCounts || c.settings.Method == MethodHoefinger) {
		return c.superlinearText()
	}
	return ""
}

// superlinearText says why superlinear data get no parameters.
func (c *curve) superlinearText() string {
	ratio, n := superlinearity(c.groups)
	return fmt.Sprintf("superlinear: %s cores are %s times faster than %s would be if each did as much"+
		" (limit %s); the model has no term for that", figure.Cores(n), figure.Ratio(ratio), figure.Cores(c.groups[0].N), figure.Limit(superlinearLimit))
}

// doubts notes the reasons to doubt the data.
func (c *curve) doubts() {
	if c.erratic = isErratic(c.groups); c.erratic {
		c.warn(WarnErratic, "run times jump between neighbouring core counts: intervals are wider; run some again")
	}
	if ratio, n := superlinearity(c.groups); ratio > superlinearLimit {
		c.result.NoModel = c.superlinearText()
		c.warn(WarnSuperlinear, c.result.NoModel)
	} else if ratio > 1.02 {
		c.warn(WarnSuperlinear, fmt.Sprintf("superlinear on %s cores (%s times): the model has no term for that", figure.Cores(n), figure.Ratio(ratio)))
	}
	if len(c.groups) < fewestCounts {
		c.warn(WarnRough, fmt.Sprintf("a rough estimate: only %s, intervals are wider", figure.Counted(len(c.groups), "core count")))
	}
	if missing := len(c.groups) - len(c.shares); missing > 0 && c.settings.Method != MethodHoefinger {
		text := "no overhead was measured: run times alone hardly tell it"
		if len(c.shares) > 0 {
			text = fmt.Sprintf("the overhead was not measured on %s", figure.Counted(missing, "core count"))
		}
		c.warn(WarnNoOverhead, text)
	}
}

func (c *curve) warn(code, text string) {
	c.result.Warnings = append(c.result.Warnings, doubt.Doubt{Code: code, Text: text})
}

// combine is MethodCombined.
func (c *curve) combine() {
	c.slopes, _ = newSlopes(c.groups)
	if c.result.NoModel == "" {
		c.search()
		c.parameters()
	}
	c.result.Fast = c.fastest()
	c.result.Eff = c.efficient()
	for _, n := range c.wanted() {
		c.result.Predicted = append(c.result.Predicted, c.predict(n))
	}
	c.result.Next = c.nextRun()
}

// wanted returns the core counts to predict.
func (c *curve) wanted() []int {
	if len(c.settings.Predict) > 0 {
		return c.settings.Predict
	}
	return []int{furthest * c.result.Largest}
}

// search finds the nearest models and all that are as likely.
func (c *curve) search() {
	grid := [3]int{15, 9, 13}
	nearest := func(f *fitter) []fitted { return f.optima(f.scan(widest(c.groups), grid)) }
	f := newFitter(c.groups, false)
	optima := nearest(f)
	c.timeFit = optima[0]
	switch times := c.timeFit.model(0); {
	case len(c.shares) > 0:
		f = newFitter(c.groups, true)
		optima = nearest(f)
	case times.Share(c.groups[0].N) > immodest && !f.exact(c.timeFit.chi):
		f.modest = true
		optima = nearest(f)
	}
	best := optima[0]
	c.model = best.model(best.level)
	c.exact = f.exact(best.chi)
	c.likely = f.draw(optima)
	c.noSerial = f.withoutSerial(best, c.settings.Level)
	if len(c.shares) > 0 {
		c.ending = c.endingFrom(c.timeFit, best)
	}
	for _, o := range optima[1:] {
		if f.within(o, best, c.settings.Level) {
			c.twins = append(c.twins, o.model(o.level))
		}
	}
}

// endingFrom returns the model nearest to the run times and to the last overhead alone, from these starts. The
// overhead on few cores says little about that on many.
func (c *curve) endingFrom(starts ...fitted) *Amdahl {
	groups := slices.Clone(c.groups)
	last := c.shares[len(c.shares)-1].N
	for i := range groups {
		if groups[i].N != last {
			groups[i].r = math.NaN()
		}
	}
	f := newFitter(groups, true)
	best := fitted{chi: math.Inf(1)}
	for _, start := range starts {
		if o := f.descend(start.shape); o.chi < best.chi {
			best = o
		}
	}
	m := best.model(best.level)
	return &m
}

// parameters states f_s, b, c and t_1, and warns about those that the data leave open.
func (c *curve) parameters() {
	var open []string
	state := func(name string, value float64, of func(Amdahl) float64) Estimate {
		e := c.over(value, of)
		if e.Low <= 0 && e.High > saysNothing*value || e.Low > 0 && e.Ratio() > saysNothing {
			open = append(open, name)
		}
		return e
	}
	r := c.result
	r.Serial = state("f_s", c.model.Serial, func(m Amdahl) float64 { return m.Serial })
	r.B = state("b", c.model.B, func(m Amdahl) float64 { return m.B })
	r.C = state("c", c.model.C, func(m Amdahl) float64 { return m.C })
	r.T1 = state("t_1", c.model.T1, func(m Amdahl) float64 { return m.T1 })
	if c.noSerial {
		r.Serial.Low = 0
	}
	if len(open) > 0 {
		c.warn(WarnUndetermined, "not determined (the interval spans more than a factor of 10): "+strings.Join(open, ", "))
	}
}

// over returns the interval of a figure over the likely models. It also holds the value itself, and that of
// each twin.
func (c *curve) over(value float64, of func(Amdahl) float64) Estimate {
	v := make([]float64, len(c.likely))
	for i, m := range c.likely {
		v[i] = of(m)
	}
	slices.Sort(v)
	low, high := quantile(v, (1-c.settings.Level)/2), quantile(v, (1+c.settings.Level)/2)
	for _, m := range c.twins {
		low, high = math.Min(low, of(m)), math.Max(high, of(m))
	}
	return Estimate{value, math.Min(low, value), math.Max(high, value)}
}

// NextRun is the run that would teach most about a curve.
type NextRun struct {
	N     int    // cores
	About string // what it would narrow, or why it is needed
	// Width is the interval of that figure now, After the expected one after the run: the logarithm of the ratio
	// of its ends, or for an efficiency their difference.
	Width, After float64
}
