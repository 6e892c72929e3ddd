package block

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"jobeff/report/figure"
)

// Run is one measured run.
type Run struct {
	N int     // cores
	Y float64 // seconds, or a fraction
	// Name is shown where a pointer rests on it, as "job 4711: 64 cores, 20 s".
	Name string
}

// Fitted is the curve's value for N cores, with its interval.
type Fitted struct {
	N            float64
	Y, Low, High float64
}

// Mark is a core count that the curve found.
type Mark struct {
	N, Low, High float64
	Label        string // "n_eff 12"
	Fast         bool   // n_fast, else n_eff
}

// Curve is a drawing over the core count.
type Curve struct {
	Alt    string
	Runs   []Run
	Fitted []Fitted // in growing order; empty if no curve was fitted
	Marks  []Mark
	Level  float64 // confidence of the interval, 0.8
	// Share means that Y is an efficiency, drawn from 0 to 1 with a line at Line. Otherwise Y is seconds, on a
	// logarithmic axis.
	Share bool
	Line  float64
	// Speedup means that Y is a speedup, with a line where it would be ideal.
	Speedup bool
}

// Size of a curve in CSS pixels: two fit side by side on a page, one fills a telephone.
const (
	curveWidth, curveHeight = 440.0, 290.0
	curveLeft, curveRight   = 52.0, 428.0
	curveTop, curveBottom   = 46.0, 250.0
	// mostRuns bounds how many runs are drawn one by one.
	mostRuns = 400
)

// Picture draws the curve.
func (c Curve) Picture() *Picture {
	c.Runs = slices.DeleteFunc(slices.Clone(c.Runs), func(r Run) bool { return r.N < 1 || !(r.Y > 0) || math.IsInf(r.Y, 0) })
	p := &Picture{Width: curveWidth, Height: curveHeight, Alt: c.Alt}
	x, y, ok := c.axes()
	if !ok {
		p.text(curveWidth/2, curveHeight/2, "no runs to draw", middle, inkFaint)
		return p
	}
	c.grid(p, x, y)
	c.marks(p, x)
	c.fit(p, x, y)
	c.runs(p, x, y)
	c.legend(p)
	return p
}

// axes returns axes that hold all runs and the whole curve. They hold the interval only as far as it does not
// flatten the rest.
func (c Curve) axes() (x, y axis, ok bool) {
	x = axis{low: math.Inf(1), high: 0, from: curveLeft + 8, to: curveRight - 8, log: true}
	y = axis{low: math.Inf(1), high: 0, from: curveBottom, to: curveTop, log: !c.Share}
	hold := func(a *axis, v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			a.low, a.high = math.Min(a.low, v), math.Max(a.high, v)
		}
	}
	for _, r := range c.Runs {
		hold(&x, float64(r.N))
		hold(&y, r.Y)
	}
	for _, f := range c.Fitted {
		hold(&x, f.N)
		hold(&y, f.Y)
	}
	if c.Speedup {
		hold(&y, 1)
	}
	low, high := y.low, y.high
	for _, f := range c.Fitted {
		hold(&y, math.Max(f.Low, low/2))
		hold(&y, math.Min(f.High, high*2))
	}
	if x.high == 0 || !c.Share && y.high == 0 {
		return x, y, false
	}
	if x.low == x.high {
		x.low, x.high = x.low/2, x.high*2
	}
	if c.Share {
		y.low, y.high = 0, 1
	} else {
		y.low, y.high = y.low/1.1, y.high*1.1
	}
	return x, y, true
}

func (c Curve) grid(p *Picture, x, y axis) {
	ticks := []tick{{0, "0"}, {0.2, "0.2"}, {0.4, "0.4"}, {0.6, "0.6"}, {0.8, "0.8"}, {1, "1"}}
	switch {
	case c.Speedup:
		ticks = powers(y.low, y.high, 8, figure.Limit)
	case !c.Share:
		ticks = timeTicks(y.low, y.high, 8)
	}
	for _, t := range ticks {
		at := y.at(t.v)
		p.stroke(inkGrid, 1, point{curveLeft, at}, point{curveRight, at})
		p.text(curveLeft-6, at+4, t.text, end, inkFaint)
	}
	for _, t := range coreTicks(x.low, x.high, 12) {
		at := x.at(t.v)
		p.stroke(inkFaint, 1, point{at, curveBottom}, point{at, curveBottom + 4})
		p.text(at, curveBottom+17, t.text, middle, inkFaint)
	}
	p.stroke(inkFaint, 1, point{curveLeft, curveBottom}, point{curveRight, curveBottom})
	p.text(curveRight, curveBottom+34, "cores", end, inkFaint)
	what := "time"
	switch {
	case c.Speedup:
		what = "speedup"
		first := float64(slices.MinFunc(c.Runs, func(a, b Run) int { return cmp.Compare(a.N, b.N) }).N)
		last := min(x.high, y.high*first)
		p.add(line{points: []point{{x.at(first), y.at(1)}, {x.at(last), y.at(last / first)}}, ink: inkFaint, width: 1, dash: 3})
	case c.Share:
		what = "parallel efficiency"
		p.add(line{points: []point{{curveLeft, y.at(c.Line)}, {curveRight, y.at(c.Line)}}, ink: inkBad, width: 1, dash: 3})
	}
	p.text(0, 12, what, start, inkFaint)
}

// marks draws the marks as upright lines, with their intervals as bars on the axis.
func (c Curve) marks(p *Picture, x axis) {
	for i, m := range c.Marks {
		i, ink := float64(i), inkEff
		if m.Fast {
			ink = inkFast
		}
		at := x.clip(m.N)
		low, high := x.clip(m.Low), x.clip(m.High)
		p.add(rect{x: low, y: curveBottom - 5 - 6*i, w: math.Max(high-low, 1), h: 4, ink: ink,
			title: fmt.Sprintf("%s, %s cores", m.Label, figure.Interval(m.Low, m.High, figure.Cores))})
		p.add(line{points: []point{{at, curveTop - 2}, {at, curveBottom}}, ink: ink, width: 1.5, dash: 5})
		side, anchor := 4.0, start
		if wide := 4 + textWidth(m.Label); at+wide > curveRight || !m.Fast && at-wide > curveLeft {
			side, anchor = -4, end
		}
		p.add(label{at: point{at + side, curveTop + 10 + 15*i}, text: m.Label, anchor: anchor, ink: ink, bold: true})
	}
}

// fit draws the curve over its interval.
func (c Curve) fit(p *Picture, x, y axis) {
	if len(c.Fitted) < 2 {
		return
	}
	var upper, lower, mid []point
	for _, f := range c.Fitted {
		at := x.at(f.N)
		upper = append(upper, point{at, y.clip(f.High)})
		lower = append(lower, point{at, y.clip(f.Low)})
		mid = append(mid, point{at, y.clip(f.Y)})
	}
	slices.Reverse(lower)
	p.add(area{points: append(upper, lower...), ink: inkBand})
	p.stroke(inkMain, 2, mid...)
}

// runs draws each run, and for each core count the median with the whole spread.
func (c Curve) runs(p *Picture, x, y axis) {
	runs := slices.SortedStableFunc(slices.Values(c.Runs), func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Y, b.Y))
	})
	for i := 0; i < len(runs); {
		k := i
		for k < len(runs) && runs[k].N == runs[i].N {
			k++
		}
		same := runs[i:k]
		i = k
		at, mid := x.at(float64(same[0].N)), same[len(same)/2]
		if len(same) > 1 {
			p.stroke(inkText, 1.5, point{at, y.clip(same[0].Y)}, point{at, y.clip(same[len(same)-1].Y)})
			for k := range same {
				if len(runs) <= mostRuns && k != len(same)/2 {
					p.add(dot{at: point{at, y.clip(same[k].Y)}, r: 2.5, ink: inkText, open: true, title: same[k].Name})
				}
			}
		}
		p.add(dot{at: point{at, y.clip(mid.Y)}, r: 3.5, ink: inkText, title: mid.Name})
	}
}

func (c Curve) legend(p *Picture) {
	x, at := curveLeft, 31.0
	item := func(text string, draw func(x float64)) {
		draw(x)
		p.text(x+20, at, text, start, inkText)
		x += 32 + textWidth(text)
	}
	item("runs", func(x float64) { p.add(dot{at: point{x + 8, at - 4}, r: 3.5, ink: inkText}) })
	if len(c.Fitted) > 1 {
		item("curve", func(x float64) { p.stroke(inkMain, 2, point{x, at - 4}, point{x + 16, at - 4}) })
		item(figure.Percent(c.Level)+" interval", func(x float64) { p.add(rect{x: x, y: at - 9, w: 16, h: 10, ink: inkBand}) })
	}
	dashed := func(text string, ink ink) {
		item(text, func(x float64) {
			p.add(line{points: []point{{x, at - 4}, {x + 16, at - 4}}, ink: ink, width: 1, dash: 3})
		})
	}
	if c.Speedup {
		dashed("ideal", inkFaint)
	}
	if c.Share {
		dashed("efficiency "+figure.Limit(c.Line), inkBad)
	}
}
