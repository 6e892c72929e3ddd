package plot

import "math"

// Bar is a name and its value; the part Part of it is drawn stronger.
type Bar struct {
	Name  string
	Value float64 // 0 or more
	Part  float64 // of Value, as core-hours lost of those used
	Text  string  // what stands beside the bar, as "1,234 of 5,678 core-hours"
}

// Bars are horizontal bars, one per line.
type Bars struct {
	Alt  string
	Bars []Bar
	// Whole is the value of a full bar; 0: the largest.
	Whole float64
	// Bad says that Part is a loss.
	Bad bool
}

const (
	barsWidth = 560.0
	barHeight = 22.0
)

// Picture draws the bars.
func (b Bars) Picture() *Picture {
	p := &Picture{Width: barsWidth, Height: barHeight*float64(len(b.Bars)) + 4, Alt: b.Alt}
	names, texts, whole := 0.0, 0.0, b.Whole
	for _, bar := range b.Bars {
		names, texts = math.Max(names, textWidth(bar.Name)), math.Max(texts, textWidth(bar.Text))
		if b.Whole == 0 {
			whole = math.Max(whole, bar.Value)
		}
	}
	names, texts = math.Min(names, barsWidth/3), math.Min(texts, barsWidth/3)
	room := barsWidth - names - texts - 20
	for i, bar := range b.Bars {
		b.bar(p, bar, barHeight*float64(i), names, room, whole)
	}
	return p
}

func (b Bars) bar(p *Picture, bar Bar, top, names, room, whole float64) {
	length := func(v float64) float64 {
		if !(whole > 0) || !(v > 0) {
			return 0
		}
		return room * math.Min(v/whole, 1)
	}
	strong := inkMain
	if b.Bad {
		strong = inkBad
	}
	p.text(names, top+16, cut(bar.Name, names), end, inkText)
	p.add(rect{x: names + 8, y: top + 4, w: room, h: barHeight - 6, ink: inkGrid})
	p.add(rect{x: names + 8, y: top + 4, w: length(bar.Value), h: barHeight - 6, ink: inkBand, title: bar.Name + ": " + bar.Text})
	p.add(rect{x: names + 8, y: top + 4, w: length(math.Min(bar.Part, bar.Value)), h: barHeight - 6, ink: strong})
	p.text(names+room+16, top+16, bar.Text, start, inkText)
}

// cut shortens a text that is wider than it may be.
func cut(s string, width float64) string {
	runes := []rune(s)
	for n := len(runes); n > 1 && textWidth(s) > width+0.5; n-- {
		s = string(runes[:n-1]) + "…"
	}
	return s
}
