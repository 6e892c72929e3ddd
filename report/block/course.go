package block

import (
	"math"
	"slices"

	"jobeff/report/figure"
)

// CoursePlot draws an efficiency over time: a bar for each bucket, red below figure.Line.
type CoursePlot struct {
	Alt string
	Course
}

const (
	courseWidth, courseHeight = 640.0, 150.0
	courseLeft                = 40.0
	courseTop, courseBottom   = 8.0, 136.0
)

// Picture draws the bars.
func (c CoursePlot) Picture() *Picture {
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

// CourseMap draws how useful ranks or nodes were over time: a row for each, with a cell for each bucket.
type CourseMap struct {
	Alt   string
	Rows  []CourseRow
	Spans []CourseSpan // of sections, those of one together
	// Ended is when the last rank ended, in buckets. Badly means that it did not end by itself.
	Ended    float64
	Badly    bool
	From, To string // when the first bucket begins, and the last one ends
}

// CourseRow is a row. A share below 0 leaves its cell empty.
type CourseRow struct {
	Name   string
	Shares []float64
	Title  string // shown where a pointer rests on it
}

// CourseSpan is the time in which a section ran, in buckets.
type CourseSpan struct {
	Name     string
	From, To float64
	Title    string
}

const (
	courseNames = 110.0 // most width of the column of names
	courseRow   = 14.0  // height of a row; less if there are many
	courseHigh  = 320.0 // most height of all rows
)

// Picture draws the map.
func (m CourseMap) Picture() *Picture {
	p := &Picture{Width: courseWidth, Alt: m.Alt}
	var shares []float64
	left := courseLeft
	for _, r := range m.Rows {
		shares, left = append(shares, slices.DeleteFunc(slices.Clone(r.Shares), func(s float64) bool { return s < 0 })...), max(left, textWidth(r.Name)+12)
	}
	for _, s := range m.Spans {
		left = max(left, textWidth(s.Name)+12)
	}
	left = min(left, courseNames+12)
	scale, high, y := ScaleOf(shares), min(courseRow, courseHigh/float64(len(m.Rows))), 0.0
	wide := (courseWidth - left) / float64(len(m.Rows[0].Shares))
	for i, s := range m.Spans {
		if i == 0 || s.Name != m.Spans[i-1].Name {
			y += courseRow
			p.text(left-8, y-3, cut(s.Name, left-8), end, inkFaint)
		}
		p.add(rect{left + s.From*wide, y - 10, max((s.To-s.From)*wide, 1), 7, inkFast, s.Title})
	}
	top := y + 4
	every := int(math.Ceil(textSize / high))
	for i, r := range m.Rows {
		y = top + float64(i)*high
		if i%every == 0 {
			p.text(left-8, y+min(high, courseRow)-3+float64(every-1)*high/2, cut(r.Name, left-8), end, inkText)
		}
		p.cells(tiles{at: point{left, y}, scale: wide, high: high}, scale, len(r.Shares), r.Shares)
		p.add(cover{left, y, courseWidth - left, high, r.Title})
	}
	y += high
	ink := inkFaint
	if m.Badly {
		ink = inkBad
	}
	p.stroke(ink, 2, point{left + m.Ended*wide, top - 2}, point{left + m.Ended*wide, y + 2})
	p.text(left, y+14, m.From, start, inkFaint)
	p.text(courseWidth, y+14, m.To, end, inkFaint)
	legend(p, scale, y+20)
	p.Height = y + 38
	return p
}
