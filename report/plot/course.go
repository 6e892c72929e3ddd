package plot

import (
	"jobeff/report/block"
	"jobeff/report/figure"
)

// Course draws an efficiency over time: a bar for each bucket, red below figure.Line.
type Course struct {
	Alt string
	block.Course
}

const (
	courseWidth, courseHeight = 640.0, 150.0
	courseLeft                = 40.0
	courseTop, courseBottom   = 8.0, 136.0
)

// Picture draws the bars.
func (c Course) Picture() *Picture {
	p := &Picture{Width: courseWidth, Height: courseHeight, Alt: c.Alt}
	y := axis{low: 0, high: 1, from: courseBottom, to: courseTop}
	for _, v := range []float64{0, 0.5, figure.Line, 1} {
		p.stroke(inkGrid, 1, point{courseLeft, y.at(v)}, point{courseWidth, y.at(v)})
		p.text(courseLeft-6, y.at(v)+4, figure.Efficiency(v), end, inkFaint)
	}
	wide := (courseWidth - courseLeft) / float64(len(c.Buckets))
	for i, b := range c.Buckets {
		ink, top := inkEff, y.clip(b.Efficiency)
		if b.Efficiency < figure.Line {
			ink = inkBad
		}
		p.add(rect{courseLeft + float64(i)*wide, top, wide * 0.9, courseBottom - top, ink, b.Name})
	}
	p.stroke(inkFaint, 1, point{courseLeft, courseBottom}, point{courseWidth, courseBottom})
	return p
}
