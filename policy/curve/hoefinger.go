package curve

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"jobeff/report/figure"
)

// The paper's rules: standard errors of 10 to 30 %, and c > b. The paper steps f_s down by hand until the fit
// is best; here it goes from serialStart by serialStep to serialEnd.
const (
	acceptedError = 0.30
	serialStart   = 0.3
	serialStep    = 0.8
	serialEnd     = 1e-7
	// mostDropped bounds how many of the first points may be left out: "a couple".
	mostDropped = 2
	// standardLevel is the confidence of an interval of one standard error.
	standardLevel = 0.683
)

// handFit is a fit of ln b and ln c at a given f_s, and of ln t_1 if one core was not run.
type handFit struct {
	serial, t1 float64
	p          []float64
	squares    float64       // of the differences in t, seconds
	cov        *mat.SymDense // of p
}

func (h handFit) model(p []float64) Amdahl {
	m := Amdahl{Serial: h.serial, B: math.Exp(p[0]), C: math.Exp(p[1]), T1: h.t1}
	if len(p) > 2 {
		m.T1 = math.Exp(p[2])
	}
	return m
}

// err is the relative standard error of b (0), c (1) or t_1 (2).
func (h handFit) err(i int) float64 { return math.Sqrt(h.cov.At(i, i)) }

// accepted reports whether the paper would take the fit.
func (h handFit) accepted() bool {
	return h.p[1] > h.p[0] && h.err(0) <= acceptedError && h.err(1) <= acceptedError
}

// hoefinger is MethodHoefinger: run times only, unweighted, the best of the accepted fits. If there is none, it
// drops the first points one by one, as the paper sometimes does. Intervals are one standard error to either
// side.
func (c *curve) hoefinger() {
	c.result.Level = standardLevel
	best, dropped, found := handFit{}, 0, false
	for first := 0; first <= mostDropped && len(c.groups)-first >= fewestCounts && !(found && best.accepted()); first++ {
		if h, ok := stepDown(c.groups[first:]); ok && (!found || h.accepted()) {
			best, dropped, found = h, first, true
		}
	}
	if !found {
		c.result.Refused = "no f_s gives a fit with finite standard errors"
		c.result.Fast.Note, c.result.Eff.Note = NoteNotDetermined, NoteNotDetermined
		return
	}
	if dropped > 0 {
		c.warn(WarnDropped, fmt.Sprintf("without the %s with the fewest cores", figure.Counted(dropped, "core count")))
	}
	if !best.accepted() {
		c.warn(WarnStandardError, fmt.Sprintf("the paper would not accept this fit: db/b = %s, dc/c = %s, c - b = %s",
			figure.Percent(best.err(0)), figure.Percent(best.err(1)), figure.Number(math.Exp(best.p[1])-math.Exp(best.p[0]))))
	}
	c.stated(best)
}

// stepDown tries one f_s after the other and keeps the nearest of the accepted fits,
// else the nearest of all.
func stepDown(groups []Group) (best handFit, found bool) {
	size := groups[len(groups)-1].X
	start := []float64{size - 1.4, size - 0.7}
	for serial := serialStart; serial > serialEnd; serial *= serialStep {
		h, ok := fitByHand(groups, serial, start)
		if !ok {
			continue
		}
		start = h.p[:2]
		nearer := h.squares < best.squares && h.accepted() == best.accepted()
		if !found || nearer || h.accepted() && !best.accepted() {
			best, found = h, true
		}
	}
	return best, found
}

// fitByHand fits the other parameters at a given f_s.
func fitByHand(groups []Group, serial float64, start []float64) (handFit, bool) {
	h := handFit{serial: serial, t1: math.Exp(groups[0].Y)}
	p := append([]float64{}, start...)
	if groups[0].N > 1 {
		p = append(p, groups[0].X+groups[0].Y)
	}
	differences := func(into, p []float64) {
		m := h.model(p)
		for i, g := range groups {
			into[i] = math.Exp(g.Y) - m.Time(g.N)
		}
	}
	d := mat.NewVecDense(len(groups), nil)
	problem := optimize.Problem{Func: func(p []float64) float64 {
		if h.model(p).Beta() >= 1 {
			return math.Inf(1)
		}
		differences(d.RawVector().Data, p)
		return mat.Dot(d, d)
	}}
	r, err := optimize.Minimize(problem, p, &optimize.Settings{FuncEvaluations: 2000}, &optimize.NelderMead{})
	if r == nil || err != nil || math.IsInf(r.F, 0) || math.IsNaN(r.F) {
		return h, false
	}
	h.p, h.squares = r.X, r.F
	return h, h.standardErrors(groups, differences)
}

// standardErrors are asymptotic, as gnuplot's: the residual variance times the inverse
// of J'J.
func (h *handFit) standardErrors(groups []Group, differences func(into, p []float64)) bool {
	free := len(groups) - len(h.p)
	if free < 1 {
		return false
	}
	jacobian := mat.NewDense(len(groups), len(h.p), nil)
	fd.Jacobian(jacobian, differences, h.p, &fd.JacobianSettings{Formula: fd.Central})
	normal := mat.NewSymDense(len(h.p), nil)
	normal.SymOuterK(1, jacobian.T())
	var factor mat.Cholesky
	h.cov = mat.NewSymDense(len(h.p), nil)
	if !factor.Factorize(normal) || factor.InverseTo(h.cov) != nil {
		return false
	}
	h.cov.ScaleSym(h.squares/float64(free), h.cov)
	return !math.IsNaN(h.err(0)+h.err(1)) && !math.IsInf(h.err(0)+h.err(1), 0)
}

// stated fills the result from a fit.
func (c *curve) stated(h handFit) {
	r, line := c.result, c.settings.Line
	r.Serial = Estimate{h.serial, h.serial, h.serial}
	r.B = h.within(func(m Amdahl) float64 { return m.B })
	r.C = h.within(func(m Amdahl) float64 { return m.C })
	r.T1 = h.within(func(m Amdahl) float64 { return m.T1 })
	r.Fast = c.reached(h.within(Amdahl.Fastest))
	r.Eff = c.reached(h.within(func(m Amdahl) float64 { return m.Efficient(line) }))
	for _, n := range c.wanted() {
		p := Prediction{N: n, SpeedupOf: r.Smallest, Note: c.tooFar(n)}
		if x, first := float64(n), float64(r.Smallest); p.Note == "" {
			t := h.within(func(m Amdahl) float64 { return m.Time(x) })
			tau := h.within(func(m Amdahl) float64 { return m.Overhead(x) })
			pe := h.within(func(m Amdahl) float64 { return 1 - m.Share(x) })
			speedup := h.within(func(m Amdahl) float64 { return m.Time(first) / m.Time(x) })
			p.T, p.Tau, p.PE, p.Speedup, p.CoreHours = &t, &tau, &pe, &speedup, t.Times(x/3600)
		}
		r.Predicted = append(r.Predicted, p)
	}
}

// within returns a figure of the model with one standard error to either side.
func (h handFit) within(of func(Amdahl) float64) Estimate {
	value := of(h.model(h.p))
	if math.IsInf(value, 0) {
		return Estimate{value, value, value}
	}
	slope := fd.Gradient(nil, func(p []float64) float64 { return of(h.model(p)) }, h.p, &fd.Settings{Formula: fd.Central})
	v := mat.NewVecDense(len(slope), slope)
	err := math.Sqrt(math.Max(mat.Inner(v, h.cov, v), 0))
	return Estimate{value, value - err, value + err}
}

// reached states a core count as far as the data reach.
func (c *curve) reached(e Estimate) CoreCount {
	switch {
	case e.Value > furthest*float64(c.result.Largest):
		return CoreCount{Note: NoteNotReached}
	case e.Value < float64(c.result.Smallest):
		return CoreCount{Note: NoteBelowSmallest}
	case math.IsNaN(e.Low + e.High):
		return CoreCount{Note: NoteNotDetermined}
	}
	return CoreCount{Estimate: &e}
}
