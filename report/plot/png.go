package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// paints are the light palette of CSS, on white: mails are read on it.
var paints = [...]color.NRGBA{
	inkText: {0x1c, 0x20, 0x24, 255}, inkFaint: {0x57, 0x60, 0x6a, 255}, inkGrid: {0xdd, 0xe2, 0xe7, 255},
	inkMain: {0x1f, 0x5f, 0xae, 255}, inkBand: {0x1f, 0x5f, 0xae, 51}, inkEff: {0x1a, 0x7f, 0x4b, 255},
	inkFast: {0xa8, 0x48, 0x1a, 255}, inkBad: {0xb4, 0x23, 0x18, 255},
}

// fonts are Go's own, regular and bold; they are parsed when first drawn with.
var fonts = sync.OnceValues(func() (f [2]*opentype.Font, err error) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		if f[i], err = opentype.Parse(ttf); err != nil {
			return f, fmt.Errorf("plot: a built-in font: %w", err)
		}
	}
	return f, nil
})

// canvas is a Picture in the making as pixels.
type canvas struct {
	img   *image.RGBA
	scale float64
	faces [2]font.Face
}

// PNG writes the picture on white, scale device pixels per CSS pixel (2 looks sharp
// everywhere).
func (p *Picture) PNG(w io.Writer, scale float64) error {
	f, err := fonts()
	if err != nil {
		return err
	}
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(p.Width*scale)), int(math.Ceil(p.Height*scale)))), scale: scale}
	for i := range f {
		if c.faces[i], err = opentype.NewFace(f[i], &opentype.FaceOptions{Size: textSize * scale, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		defer c.faces[i].Close()
	}
	draw.Draw(c.img, c.img.Bounds(), image.White, image.Point{}, draw.Src)
	for _, s := range p.shapes {
		c.draw(s)
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	return encoder.Encode(w, reduced(c.img))
}

func (c *canvas) draw(s shape) {
	switch s := s.(type) {
	case line:
		c.stroke(s)
	case area:
		c.fill(s.ink, s.points)
	case rect:
		c.fill(s.ink, []point{{s.x, s.y}, {s.x + s.w, s.y}, {s.x + s.w, s.y + s.h}, {s.x, s.y + s.h}})
	case dot:
		if s.open {
			c.stroke(line{points: circle(s.at, s.r), ink: s.ink, width: 1})
		} else {
			c.fill(s.ink, circle(s.at, s.r))
		}
	case tiles:
		c.tiles(s)
	case label:
		c.write(s)
	}
}

// tiles paints the ranks of one level.
func (c *canvas) tiles(t tiles) {
	paint := paints[inkMain]
	paint.A = uint8(255 * heatOpacity(t.level))
	var polygons [][]point
	for _, cell := range t.cells {
		a := point{t.at.x + float64(cell.x)*t.scale, t.at.y + (float64(cell.y)+.06)*t.scale}
		b := point{a.x + t.scale, a.y + .88*t.scale}
		polygons = append(polygons, []point{a, {b.x, a.y}, b, {a.x, b.y}})
	}
	c.paint(paint, polygons)
}

// fill paints a polygon.
func (c *canvas) fill(i ink, points []point) { c.paint(paints[i], [][]point{points}) }

// paint paints polygons as one shape: where they overlap, nothing is painted twice.
func (c *canvas) paint(with color.NRGBA, polygons [][]point) {
	box := c.box(polygons)
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	at := func(q point) (x, y float32) {
		return float32(q.x*c.scale) - float32(box.Min.X), float32(q.y*c.scale) - float32(box.Min.Y)
	}
	for _, points := range polygons {
		if len(points) < 3 {
			continue
		}
		r.MoveTo(at(points[0]))
		for _, q := range points[1:] {
			r.LineTo(at(q))
		}
		r.ClosePath()
	}
	r.Draw(c.img, box, image.NewUniform(with), image.Point{})
}

// box is the pixels that polygons touch; a rasterizer of the whole picture for each
// shape would take seconds.
func (c *canvas) box(polygons [][]point) image.Rectangle {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, points := range polygons {
		for _, q := range points {
			low = point{math.Min(low.x, q.x), math.Min(low.y, q.y)}
			high = point{math.Max(high.x, q.x), math.Max(high.y, q.y)}
		}
	}
	if !(low.x <= high.x) {
		return image.Rectangle{}
	}
	pixel := func(f func(float64) float64, v float64) int { return int(f(v * c.scale)) }
	return image.Rect(pixel(math.Floor, low.x), pixel(math.Floor, low.y), pixel(math.Ceil, high.x), pixel(math.Ceil, high.y)).Intersect(c.img.Bounds())
}

// stroke paints a line with round joints.
func (c *canvas) stroke(l line) {
	var polygons [][]point
	for _, s := range dashes(l) {
		polygons = append(polygons, segment(s[0], s[1], l.width))
		if l.dash == 0 && len(l.points) > 2 && l.width > 1 {
			polygons = append(polygons, circle(s[1], l.width/2))
		}
	}
	c.paint(paints[l.ink], polygons)
}

// segment is the rectangle along a straight line, wound as circle is.
func segment(a, b point, width float64) []point {
	d := math.Hypot(b.x-a.x, b.y-a.y)
	if d == 0 {
		return nil
	}
	x, y := (b.y-a.y)/d*width/2, -(b.x-a.x)/d*width/2
	return []point{{a.x + x, a.y + y}, {b.x + x, b.y + y}, {b.x - x, b.y - y}, {a.x - x, a.y - y}}
}

// dashes cuts a line into the straight pieces that are drawn.
func dashes(l line) (pieces [][2]point) {
	for i := 1; i < len(l.points); i++ {
		a, b := l.points[i-1], l.points[i]
		if l.dash == 0 {
			pieces = append(pieces, [2]point{a, b})
			continue
		}
		d := math.Hypot(b.x-a.x, b.y-a.y)
		at := func(s float64) point { return point{a.x + (b.x-a.x)*s/d, a.y + (b.y-a.y)*s/d} }
		for s := 0.0; s < d; s += 2 * l.dash {
			pieces = append(pieces, [2]point{at(s), at(math.Min(s+l.dash, d))})
		}
	}
	return pieces
}

func circle(at point, r float64) []point {
	points := make([]point, 24)
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(len(points)))
		points[i] = point{at.x + r*cos, at.y + r*sin}
	}
	return points
}

// write paints a text.
func (c *canvas) write(l label) {
	face := c.faces[0]
	if l.bold {
		face = c.faces[1]
	}
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(paints[l.ink]), Face: face}
	x := l.at.x * c.scale
	switch width := float64(d.MeasureString(l.text)) / 64; l.anchor {
	case middle:
		x -= width / 2
	case end:
		x -= width
	}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(l.at.y * c.scale * 64)}
	d.DrawString(l.text)
}

// reduced is the picture with a palette of at most 256 colours, which is a third of
// the size: edges lose the shades between that no eye tells apart.
func reduced(img *image.RGBA) image.Image {
	for _, low := range []uint8{0, 7, 15, 31} {
		if out := paletted(img, low); out != nil {
			return out
		}
	}
	return img
}

// paletted sets the low bits of each colour; nil where more than 256 colours are left.
func paletted(img *image.RGBA, low uint8) image.Image {
	at := map[color.RGBA]uint8{}
	var palette color.Palette
	out := image.NewPaletted(img.Bounds(), nil)
	for i := 0; i < len(img.Pix); i += 4 {
		c := color.RGBA{img.Pix[i] | low, img.Pix[i+1] | low, img.Pix[i+2] | low, 255}
		k, known := at[c]
		if !known {
			if len(palette) == 256 {
				return nil
			}
			k = uint8(len(palette))
			at[c], palette = k, append(palette, c)
		}
		out.Pix[i/4] = k
	}
	out.Palette = palette
	return out
}
