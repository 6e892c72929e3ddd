package report

import (
	"bytes"
	"strings"

	"github.com/fatih/color"
	"github.com/jedib0t/go-pretty/v6/text"

	"jobeff/report/figure"
)

// page is a text in the making: what the reader can see, and the lines so far.
type page struct {
	out     bytes.Buffer
	width   int
	unicode bool // texts may hold characters outside ASCII
	ornate  bool // so may bars
	title   *color.Color
	good    *color.Color
	bad     *color.Color
	record  *recorder // nil: the text is written; else its parts are kept
}

// labelWidth is the width of the left column that says what a line is about.
const labelWidth = 11

func newPage(opts Options) *page {
	p := &page{
		width: min(max(opts.Width, minWidth), maxWidth), unicode: opts.Unicode, ornate: opts.Unicode && !opts.Plain,
		title: color.New(color.Bold), good: color.New(color.FgGreen), bad: color.New(color.FgRed),
	}
	for _, c := range []*color.Color{p.title, p.good, p.bad} {
		if opts.Color {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

// line writes one line as it is.
func (p *page) line(s string) {
	if p.record != nil {
		p.record.note(s)
		return
	}
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// heading starts a new block.
func (p *page) heading(s string) {
	if p.record != nil {
		p.record.heading(s)
		return
	}
	p.line("")
	p.line(p.title.Sprint(s))
}

// paragraph writes a text wrapped to the page, its first line after first, the
// others after rest.
func (p *page) paragraph(first, rest, s string, c *color.Color) {
	if p.record != nil {
		p.record.note(first + s)
		return
	}
	prefix := first
	for _, l := range Wrap(s, p.width-max(width(first), width(rest)), true) {
		if c != nil {
			l = c.Sprint(l)
		}
		p.line(prefix + l)
		prefix = rest
	}
}

// field writes a text after its label; nothing for an empty text.
func (p *page) field(label, s string) {
	if s != "" && p.record != nil {
		p.record.fact(label, s)
	} else if s != "" {
		p.paragraph(text.AlignLeft.Apply(label, labelWidth), strings.Repeat(" ", labelWidth), s, nil)
	}
}

// ellipsis stands where a text was cut.
func (p *page) ellipsis() string {
	if p.ornate {
		return "…"
	}
	return "~"
}

// bar draws a fraction of n columns.
func (p *page) bar(fraction float64, n int) string {
	full, empty := "#", "."
	if p.ornate {
		full, empty = "█", "░"
	}
	k := int(min(max(fraction, 0), 1)*float64(n) + 0.5)
	if k == n && figure.Efficiency(fraction) < "1" {
		k-- // a full bar is a perfect 1
	}
	return strings.Repeat(full, k) + strings.Repeat(empty, n-k)
}

// width is how many columns s takes on a terminal.
func width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// table is rows under heads, fitted to the page. Columns whose head starts with
// "<" are texts on the left; where the page is too narrow the longest of them
// gives way, those with "<!" only when the others are at their shortest.
type table struct {
	heads []string
	rows  [][]string
	gap   string // between columns; "" means two blanks
}

// name is a head without its marks.
func name(head string) string { return strings.TrimLeft(head, "<!") }

// shortestCut is the fewest columns that a text is cut to.
const shortestCut = 6

// table writes t with an indent.
func (p *page) table(t table, indent string) {
	if p.record != nil {
		p.record.table(t)
		return
	}
	heads := make([]string, len(t.heads))
	for i, h := range t.heads {
		heads[i] = name(h)
	}
	p.rows(t, indent, append([][]string{heads}, t.rows...))
}

// rows writes rows in t's columns.
func (p *page) rows(t table, indent string, rows [][]string) {
	gap := t.gap
	if gap == "" {
		gap = "  "
	}
	widths := fit(t.heads, rows, p.width-width(indent)-len(gap)*(len(t.heads)-1))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			align := text.AlignRight
			if t.heads[i][0] == '<' {
				align = text.AlignLeft
			}
			cells[i] = align.Apply(text.Snip(c, widths[i], p.ellipsis()), widths[i])
		}
		p.line(indent + strings.Join(cells, gap))
	}
}

// fit finds the width of each column so that together they take at most n columns.
func fit(heads []string, rows [][]string, n int) []int {
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], width(c))
		}
	}
	total := 0
	for _, w := range widths {
		total += w
	}
	for _, firm := range []bool{false, true} {
		for total > n {
			i := longest(heads, widths, firm)
			if i < 0 {
				break
			}
			widths[i]--
			total--
		}
	}
	return widths
}

// longest is the longest text column that can give way, -1 where there is none.
func longest(heads []string, widths []int, firm bool) int {
	at := -1
	for i, h := range heads {
		if h[0] != '<' || strings.HasPrefix(h, "<!") != firm || widths[i] <= shortestCut {
			continue
		}
		if at < 0 || widths[i] > widths[at] {
			at = i
		}
	}
	return at
}
