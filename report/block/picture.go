package block

// Picture is a drawing in CSS pixels, y downwards. All pictures have one look. A picture is written as SVG, which takes
// its colours from the page around it (light or dark) and needs no script and no style attribute.
type Picture struct {
	Width, Height float64
	// Alt says in words what the picture shows, for readers who cannot see it.
	Alt    string
	shapes []shape
}

// ink is the purpose of a drawn thing. Its colour depends on the reader's scheme.
type ink int

const (
	inkText ink = iota
	inkFaint
	inkGrid
	inkMain
	inkBand
	inkEff
	inkFast
	inkBad
)

// inkNames are the classes in CSS.
var inkNames = [...]string{"text", "faint", "grid", "main", "band", "eff", "fast", "bad"}

type point struct{ x, y float64 }

// shape is a line, area, rect, dot, label, tiles or cover.
type shape any

type line struct {
	points []point
	ink    ink
	width  float64
	dash   float64 // length of dashes and gaps; 0: none
}

// area is a filled polygon.
type area struct {
	points []point
	ink    ink
}

type rect struct {
	x, y, w, h float64
	ink        ink
	title      string // shown where a pointer rests on it
}

type dot struct {
	at    point
	r     float64
	ink   ink
	open  bool // only its edge
	title string
}

// anchor is the part of a label that is at its place.
type anchor int

const (
	start anchor = iota
	middle
	end
)

type label struct {
	at     point // on the base line
	text   string
	anchor anchor
	ink    ink
	bold   bool
}

// textSize is the height of all text, CSS pixels.
const textSize = 12

// textWidth estimates the width of a text; fonts differ.
func textWidth(s string) float64 { return 0.56 * textSize * float64(len([]rune(s))) }

func (p *Picture) add(s shape) { p.shapes = append(p.shapes, s) }

func (p *Picture) text(x, y float64, s string, a anchor, i ink) {
	p.add(label{at: point{x, y}, text: s, anchor: a, ink: i})
}

func (p *Picture) stroke(i ink, width float64, points ...point) {
	p.add(line{points: points, ink: i, width: width})
}

// cut shortens a text to a width.
func cut(s string, width float64) string {
	runes := []rune(s)
	for n := len(runes); n > 1 && textWidth(s) > width+0.5; n-- {
		s = string(runes[:n-1]) + "…"
	}
	return s
}
