package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/fatih/color"
	"github.com/jedib0t/go-pretty/v6/text"

	"jobeff/ingest/job"
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
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// heading starts a new block.
func (p *page) heading(s string) {
	p.line("")
	p.line(p.title.Sprint(s))
}

// paragraph writes a text wrapped to the page, its first line after first, the
// others after rest.
func (p *page) paragraph(first, rest, s string, c *color.Color) {
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
	if s != "" {
		p.paragraph(text.AlignLeft.Apply(label, labelWidth), strings.Repeat(" ", labelWidth), s, nil)
	}
}

// headline writes what is the first to be read.
func (p *page) headline(h Headline) {
	c := p.title
	if h.Bad {
		c = p.bad
	}
	p.paragraph("", "", h.Text, c)
	p.line("")
}

// facts writes labelled texts.
func (p *page) facts(all []Fact) {
	for _, f := range all {
		if f.Strong != "" {
			f.Text = joined("  ", p.title.Sprint(f.Strong), f.Text)
		}
		p.field(f.Label, f.Text)
		for _, s := range f.More {
			p.field("", s)
		}
	}
}

// block writes labelled texts with a line under them, nothing for none.
func (p *page) block(all []Fact) {
	if len(all) > 0 {
		p.facts(all)
		p.line("")
	}
}

// parts writes blocks one after the other.
func (p *page) parts(all ...Part) {
	for _, b := range all {
		p.part(b)
	}
}

// part writes a block; under a heading it is indented.
func (p *page) part(b Part) {
	indent := ""
	if b.Heading != "" {
		p.heading(b.Heading)
		indent = "  "
	}
	p.facts(b.Facts)
	for _, t := range b.Tables {
		p.table(t, indent)
	}
	for _, s := range b.Items {
		p.paragraph(indent, indent+"  ", s, nil)
	}
	for _, s := range b.Notes {
		p.paragraph(indent, indent, s, nil)
	}
}

// tree writes POP's tree of efficiencies, with a bar for each, and shares under it.
func (p *page) tree(branches []Branch, shares []Fact) {
	p.line("")
	for _, b := range branches {
		c, note := p.good, ""
		if b.Value < figure.Line {
			c, note = p.bad, "  below 0.80"
		}
		bar := p.bar(b.Value, min(p.width-treeLabel-20, 60))
		p.leaf(strings.Repeat("  ", b.Depth)+b.Name, figure.Efficiency(b.Value)+"  "+c.Sprint(bar)+note)
	}
	p.line("")
	for _, f := range shares {
		p.leaf(f.Label, fmt.Sprintf("%4s", f.Text))
	}
}

// treeLabel is the width of the words before a figure of the tree.
const treeLabel = 32

func (p *page) leaf(label, s string) { p.line(fmt.Sprintf("%-*s", treeLabel, label) + s) }

// warnings writes every doubt that travels with the figures.
func (p *page) warnings(all []job.Warning) {
	if len(all) == 0 {
		return
	}
	p.heading("Warnings")
	for _, w := range all {
		p.paragraph("  ! ", "    ", fmt.Sprintf("%s [%s]", w.String(), w.Code), nil)
	}
}

// to writes the page.
func (p *page) to(w io.Writer) error {
	_, err := p.out.WriteTo(w)
	return err
}

// inert makes a text harmless for this reader.
func (p *page) inert(s string) string { return InertText(s, p.unicode) }

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

// shortestCut is the fewest columns that a text is cut to.
const shortestCut = 6

// table writes t with an indent.
func (p *page) table(t table, indent string) {
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
