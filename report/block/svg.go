package block

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"io"
	"strconv"
	"strings"
)

// CSS is the style of every picture, and the palette of the pages around it. A page has it in its style
// element, an SVG file in the file itself.
const CSS = `:root{--paper:#fff;--text:#1c2024;--faint:#57606a;--grid:#dde2e7;--soft:#f4f6f8;--main:#1f5fae;--eff:#1a7f4b;--fast:#a8481a;--bad:#b42318;--focus:#0b57d0}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--text:#e6e9ec;--faint:#a3adb8;--grid:#323b45;--soft:#1d232a;--main:#75b4ff;--eff:#56c990;--fast:#f2a06b;--bad:#ff8a7a;--focus:#a8c7fa}}
.plot{display:block;max-width:100%;height:auto;font:12px "Liberation Sans",Arial,Helvetica,sans-serif}
.f-text{fill:var(--text)}.f-faint{fill:var(--faint)}.f-grid{fill:var(--grid)}.f-main{fill:var(--main)}.f-band{fill:var(--main);fill-opacity:.2}.f-eff{fill:var(--eff)}.f-fast{fill:var(--fast)}.f-bad{fill:var(--bad)}
.cover{fill:transparent}
.s-text{stroke:var(--text)}.s-faint{stroke:var(--faint)}.s-grid{stroke:var(--grid)}.s-main{stroke:var(--main)}.s-band{stroke:var(--main)}.s-eff{stroke:var(--eff)}.s-fast{stroke:var(--fast)}.s-bad{stroke:var(--bad)}
@media print{:root{--paper:#fff;--text:#000;--faint:#444;--grid:#ccc;--soft:#f4f4f4;--main:#1f5fae;--eff:#1a7f4b;--fast:#a8481a;--bad:#b42318}}
`

// HTML returns the picture for a page whose style contains CSS.
func (p *Picture) HTML() template.HTML {
	var b bytes.Buffer
	p.svg(&b, "", "")
	return template.HTML(b.String()) // #nosec G203 -- every text in it was escaped
}

// SVG writes the picture as a file of its own.
func (p *Picture) SVG(w io.Writer) error {
	var b bytes.Buffer
	p.svg(&b, `xmlns="http://www.w3.org/2000/svg" `, "<style>"+CSS+"</style>")
	_, err := b.WriteTo(w)
	return err
}

func (p *Picture) svg(b *bytes.Buffer, space, style string) {
	fmt.Fprintf(b, `<svg %sclass="plot" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		space, escape(p.Alt), num(p.Width), num(p.Height), num(p.Width), num(p.Height))
	b.WriteString(style)
	for _, s := range p.shapes {
		writeShape(b, s)
	}
	b.WriteString("</svg>")
}

func writeShape(b *bytes.Buffer, s shape) {
	switch s := s.(type) {
	case line:
		fmt.Fprintf(b, `<path class="s-%s" fill="none" stroke-width="%s"`, inkNames[s.ink], num(s.width))
		if s.dash > 0 {
			fmt.Fprintf(b, ` stroke-dasharray="%s"`, num(s.dash))
		}
		fmt.Fprintf(b, ` d="%s"/>`, path(s.points))
	case area:
		fmt.Fprintf(b, `<path class="f-%s" d="%sz"/>`, inkNames[s.ink], path(s.points))
	case rect:
		fmt.Fprintf(b, `<rect class="f-%s" x="%s" y="%s" width="%s" height="%s">%s</rect>`,
			inkNames[s.ink], num(s.x), num(s.y), num(s.w), num(s.h), title(s.title))
	case dot:
		look := "f-" + inkNames[s.ink]
		fill := ""
		if s.open {
			look, fill = "s-"+inkNames[s.ink], ` fill="none"`
		}
		fmt.Fprintf(b, `<circle class="%s"%s cx="%s" cy="%s" r="%s">%s</circle>`, look, fill, num(s.at.x), num(s.at.y), num(s.r), title(s.title))
	case tiles: // a stroke is drawn along the middle of a cell's height
		fmt.Fprintf(b, `<path class="s-main" fill="none" stroke-width=".88" stroke-opacity="%.2f" transform="translate(%s %s) scale(%s)" d="M0 .5%s"/>`,
			heatOpacity(s.level), num(s.at.x), num(s.at.y), s.size(), s.svgPath())
	case cover:
		fmt.Fprintf(b, `<rect class="cover" x="%s" y="%s" width="%s" height="%s">%s</rect>`, num(s.x), num(s.y), num(s.w), num(s.h), title(s.title))
	case label:
		fmt.Fprintf(b, `<text class="f-%s" x="%s" y="%s"`, inkNames[s.ink], num(s.at.x), num(s.at.y))
		if s.anchor != start {
			fmt.Fprintf(b, ` text-anchor="%s"`, [...]string{"start", "middle", "end"}[s.anchor])
		}
		if s.bold {
			b.WriteString(` font-weight="bold"`)
		}
		fmt.Fprintf(b, ">%s</text>", escape(s.text))
	}
}

func title(s string) string {
	if s == "" {
		return ""
	}
	return "<title>" + escape(s) + "</title>"
}

func path(points []point) string {
	var b strings.Builder
	for i, q := range points {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(num(q.x))
		b.WriteByte(' ')
		b.WriteString(num(q.y))
	}
	return b.String()
}

// num writes a coordinate with at most one digit behind the point.
func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// escape makes text of XML. Characters that XML forbids become question marks.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}
