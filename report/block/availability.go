package block

import (
	"math"

	"jobeff/report/figure"
)

// Availability is a drawing over the size of messages of the part of a transfer that the processor has for
// other work.
type Availability struct {
	Alt   string
	Lines []AvailabilityLine // at most three have colours of their own
}

// AvailabilityLine is one curve.
type AvailabilityLine struct {
	Name   string
	Points []AvailabilityPoint // the smallest message first
}

// AvailabilityPoint is one size. Value, Low and High are fractions; they are drawn from 0 to 1.
type AvailabilityPoint struct {
	Bytes            uint64
	Value, Low, High float64
	Name             string // shown where a pointer rests on it
}

const (
	availabilityWidth = 640.0
	availabilityRight = 628.0
)

// Picture draws the lines with their intervals.
func (a Availability) Picture() *Picture {
	p := &Picture{Width: availabilityWidth, Height: curveHeight, Alt: a.Alt}
	low, high := math.Inf(1), 0.0
	for _, l := range a.Lines {
		for _, q := range l.Points {
			low, high = math.Min(low, float64(q.Bytes)), math.Max(high, float64(q.Bytes))
		}
	}
	if high == 0 {
		p.text(availabilityWidth/2, curveHeight/2, "no size to draw", middle, inkFaint)
		return p
	}
	if low == high {
		low, high = low/2, high*2
	}
	x := axis{low: low, high: high, from: curveLeft + 8, to: availabilityRight - 16, log: true}
	y := axis{low: 0, high: 1, from: curveBottom, to: curveTop}
	a.grid(p, x, y)
	for i, l := range a.Lines {
		l.draw(p, x, y, availabilityInks[i%len(availabilityInks)])
	}
	a.legend(p)
	return p
}

var availabilityInks = []ink{inkMain, inkFast, inkEff}

func (a Availability) grid(p *Picture, x, y axis) {
	for _, share := range []float64{0, 0.2, 0.4, 0.6, 0.8, 1} {
		at := y.at(share)
		p.stroke(inkGrid, 1, point{curveLeft, at}, point{availabilityRight, at})
		p.text(curveLeft-6, at+4, figure.Percent(share), end, inkFaint)
	}
	for e := math.Ceil(math.Log2(x.low)); e <= math.Log2(x.high); e++ {
		if math.Mod(e, 4) == 0 {
			at := x.at(math.Exp2(e))
			p.stroke(inkFaint, 1, point{at, curveBottom}, point{at, curveBottom + 4})
			p.text(at, curveBottom+17, figure.Bytes(uint64(math.Exp2(e))), middle, inkFaint)
		}
	}
	p.stroke(inkFaint, 1, point{curveLeft, curveBottom}, point{availabilityRight, curveBottom})
	p.text(availabilityRight, curveBottom+34, "size of a message", end, inkFaint)
	p.text(0, 12, "availability", start, inkFaint)
}

// draw joins the points. Their intervals are upright lines: between two sizes nothing is known.
func (l AvailabilityLine) draw(p *Picture, x, y axis, ink ink) {
	var all []point
	for _, q := range l.Points {
		at := point{x.at(float64(q.Bytes)), y.clip(q.Value)}
		p.stroke(ink, 1, point{at.x, y.clip(q.Low)}, point{at.x, y.clip(q.High)})
		all = append(all, at)
	}
	p.stroke(ink, 2, all...)
	for i, at := range all {
		p.add(dot{at: at, r: 3, ink: ink, title: l.Points[i].Name})
	}
}

func (a Availability) legend(p *Picture) {
	x := curveLeft
	for i, l := range a.Lines {
		ink := availabilityInks[i%len(availabilityInks)]
		p.stroke(ink, 2, point{x, 27}, point{x + 16, 27})
		p.text(x+20, 31, l.Name, start, inkText)
		x += 40 + textWidth(l.Name)
	}
}
