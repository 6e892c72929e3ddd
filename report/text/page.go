// Package text writes blocks for a terminal: wrapped to its width, with bars, a plot of
// characters and colours as far as its reader can see them. Before it in the flow stands
// report/block; after it package report, which says what is written.
package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/jedib0t/go-pretty/v6/text"

	"jobeff/policy/doubt"
	"jobeff/policy/workload"
	"jobeff/report/block"
	"jobeff/report/figure"
	"jobeff/report/inert"
	"jobeff/report/plot"
)

// Page is a text that is being written: what the reader can see, and the lines so far.
type Page struct {
	out     bytes.Buffer
	Width   int
	Unicode bool // texts may hold characters outside ASCII
	ornate  bool // so may bars
	Title   *color.Color
	Good    *color.Color
	Bad     *color.Color
}

// LabelWidth is the width of the left column that says what a line is about.
const LabelWidth = 11

// NewPage is an empty page for a reader.
func NewPage(opts Options) *Page {
	p := &Page{
		Width: min(max(opts.Width, minWidth), MaxWidth), Unicode: opts.Unicode, ornate: opts.Unicode && !opts.Plain,
		Title: color.New(color.Bold), Good: color.New(color.FgGreen), Bad: color.New(color.FgRed),
	}
	for _, c := range []*color.Color{p.Title, p.Good, p.Bad} {
		if opts.Color {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

// Line writes one line as it is.
func (p *Page) Line(s string) {
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// heading starts a new block.
func (p *Page) heading(s string) {
	p.Line("")
	p.Line(p.Title.Sprint(s))
}

// Paragraph writes a text wrapped to the page, its first line after first, the
// others after rest.
func (p *Page) Paragraph(first, rest, s string, c *color.Color) { p.cut(first, rest, s, 0, c) }

// cut is Paragraph of the first so many lines, of all for 0.
func (p *Page) cut(first, rest, s string, most int, c *color.Color) {
	prefix, room := first, p.Width-max(Width(first), Width(rest))
	lines := Wrap(s, room, true)
	if most > 0 && len(lines) > most {
		lines = lines[:most]
		lines[most-1] = text.Trim(lines[most-1], room-1) + p.Ellipsis()
	}
	for _, l := range lines {
		if c != nil {
			l = c.Sprint(l)
		}
		p.Line(prefix + l)
		prefix = rest
	}
}

// Field writes a text after its label; nothing for an empty text.
func (p *Page) Field(label, s string) {
	if s != "" {
		p.Paragraph(text.AlignLeft.Apply(label, LabelWidth), strings.Repeat(" ", LabelWidth), s, nil)
	}
}

// Headline writes what is the first to be read.
func (p *Page) Headline(h block.Headline) { p.HeadlineIn(h, 0) }

// HeadlineIn is Headline in at most so many lines; 0: as many as it takes.
func (p *Page) HeadlineIn(h block.Headline, most int) {
	c := p.Title
	if h.Bad {
		c = p.Bad
	}
	p.cut("", "", h.Text, most, c)
	p.Line("")
}

// Facts writes labelled texts.
func (p *Page) Facts(all []block.Fact) { p.FactsIn(all, 0) }

// FactsIn is Facts with at most so many lines of each text; 0: as many as it takes.
func (p *Page) FactsIn(all []block.Fact, most int) {
	for _, f := range all {
		if f.Strong != "" {
			f.Text = block.Joined("  ", p.Title.Sprint(f.Strong), f.Text)
		}
		label := text.AlignLeft.Apply(f.Label, LabelWidth)
		for _, s := range append([]string{f.Text}, f.More...) {
			if s != "" {
				p.cut(label, strings.Repeat(" ", LabelWidth), s, most, nil)
			}
			label = strings.Repeat(" ", LabelWidth)
		}
	}
}

// ParagraphIn writes a text in at most so many lines; 0: as many as it takes.
func (p *Page) ParagraphIn(s string, most int) { p.cut("", "", s, most, nil) }

// Command writes a command to copy. One that is wider than the page goes on after a backslash, as a shell takes it.
func (p *Page) Command(s string) {
	line := ""
	for _, option := range options(s) {
		switch {
		case line == "":
			line = option
		case Width(line)+1+Width(option)+len(` \`) <= p.Width:
			line += " " + option
		default:
			p.Line(line + ` \`)
			line = "    " + option
		}
	}
	p.Line(line)
}

// options splits a command before its options and before the script, outside of quotes.
func options(s string) (all []string) {
	for word := range strings.SplitSeq(s, " ") {
		n := len(all) - 1
		if n < 0 || strings.Count(all[n], "'")%2 == 0 && (strings.HasPrefix(word, "-") || strings.HasPrefix(word, "YOUR-")) {
			all = append(all, word)
		} else {
			all[n] += " " + word
		}
	}
	return all
}

// Height is how many lines the page has so far.
func (p *Page) Height() int { return bytes.Count(p.out.Bytes(), []byte{'\n'}) }

// Block writes labelled texts with a line under them, nothing for none.
func (p *Page) Block(all []block.Fact) {
	if len(all) > 0 {
		p.Facts(all)
		p.Line("")
	}
}

// Parts writes parts one after the other.
func (p *Page) Parts(all ...block.Part) {
	for _, b := range all {
		p.Part(b)
	}
}

// Part writes a part, indented if it has a heading.
func (p *Page) Part(b block.Part) {
	indent := ""
	if b.Heading != "" {
		p.heading(b.Heading)
		indent = "  "
	}
	p.Facts(b.Facts)
	for _, t := range b.Tables {
		p.Table(t, indent)
	}
	for _, s := range b.Items {
		p.Paragraph(indent, indent+"  ", s, nil)
	}
	for _, s := range b.Notes {
		p.Paragraph(indent, indent, s, nil)
	}
}

// Tree writes POP's tree of efficiencies, with a bar for each, and shares under it.
func (p *Page) Tree(branches []block.Branch, shares []block.Fact) {
	p.Line("")
	for _, b := range branches {
		c, note := p.Good, ""
		if b.Low() {
			c, note = p.Bad, "  below 0.80"
		}
		bar := p.bar(b.Value, min(p.Width-treeLabel-20-len(b.Beside), 60))
		p.leaf(strings.Repeat("  ", b.Depth)+b.Name, b.Beside+figure.Efficiency(b.Value)+"  "+c.Sprint(bar)+note)
	}
	if len(shares) > 0 {
		p.Line("")
	}
	for _, f := range shares {
		p.leaf(f.Label, fmt.Sprintf("%4s", f.Text))
	}
}

// treeLabel is the width of the words before a figure of the tree.
const treeLabel = 32

func (p *Page) leaf(label, s string) { p.Line(fmt.Sprintf("%-*s", treeLabel, label) + s) }

// Warnings writes every warning about the figures.
func (p *Page) Warnings(all []doubt.Doubt) {
	if len(all) == 0 {
		return
	}
	p.heading("Warnings")
	for _, w := range all {
		p.Paragraph("  ! ", "    ", fmt.Sprintf("%s [%s]", w.String(), w.Code), nil)
	}
}

// To writes the page.
func (p *Page) To(w io.Writer) error {
	_, err := p.out.WriteTo(w)
	return err
}

// Inert makes a text harmless for this reader.
func (p *Page) Inert(s string) string { return inert.Text(s, p.Unicode) }

// Ellipsis stands where a text was cut.
func (p *Page) Ellipsis() string {
	if p.ornate {
		return "…"
	}
	return "~"
}

// bar draws a fraction of n columns.
func (p *Page) bar(fraction float64, n int) string {
	full, empty := "#", "."
	if p.ornate {
		full, empty = "█", "░"
	}
	k := plot.BarCells(fraction, n)
	return strings.Repeat(full, k) + strings.Repeat(empty, n-k)
}

// shortestCut is the fewest columns that a text is cut to.
const shortestCut = 6

// Table writes t with an indent.
func (p *Page) Table(t block.Table, indent string) {
	p.rows(t, indent, t.Names())
}

// Rows writes t without its heads.
func (p *Page) Rows(t block.Table) { p.rows(t, "", nil) }

// Parsable writes t for programs: values whole, with | between. A | inside of a value would be a column.
func (p *Page) Parsable(t block.Table, noHeader bool) {
	if !noHeader {
		p.Line(strings.Join(t.Names(), "|"))
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			if t.Heads[i][0] != '<' {
				c = figure.Bare(c)
			}
			cells[i] = strings.ReplaceAll(c, "|", `\x7c`)
		}
		p.Line(strings.Join(cells, "|"))
	}
}

// rows writes a table, below its heads unless these are nil.
func (p *Page) rows(t block.Table, indent string, heads []string) {
	gap, rows, first := t.Gap, t.Rows, 0 // of the rows that are t's
	if gap == "" {
		gap = "  "
	}
	if heads != nil {
		rows, first = append([][]string{heads}, rows...), 1
	}
	widths := fit(t.Heads, rows, p.Width-Width(indent)-len(gap)*(len(t.Heads)-1))
	for k, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			align := text.AlignRight
			if t.Heads[i][0] == '<' {
				align = text.AlignLeft
			}
			cells[i] = align.Apply(text.Snip(c, widths[i], p.Ellipsis()), widths[i])
			if t.IsRed(k-first, i) {
				cells[i] = p.Bad.Sprint(cells[i])
			}
		}
		p.Line(indent + strings.Join(cells, gap))
	}
}

// fit finds the widths of the columns, at most n characters together.
func fit(heads []string, rows [][]string, n int) []int {
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], Width(c))
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

// longest is the longest column of texts that can still be cut, -1 without one.
func longest(heads []string, widths []int, firm bool) int {
	at := -1
	for i, h := range heads {
		if h[0] != '<' || strings.HasPrefix(h, "<=") || strings.HasPrefix(h, "<!") != firm || widths[i] <= shortestCut {
			continue
		}
		if at < 0 || widths[i] > widths[at] {
			at = i
		}
	}
	return at
}

// barColumns is how long the bars of a table are.
const barColumns = 30

// WithBars is a table with what its Bars say of column c as a last column.
func (p *Page) WithBars(t block.Table, c int) block.Table {
	t.Heads = append(slices.Clone(t.Heads), "<")
	rows := t.Rows
	t.Rows = nil
	for i, row := range rows {
		t.Rows = append(t.Rows, append(slices.Clone(row), p.bar(t.Bars[c][i], barColumns)))
	}
	return t
}

// CurvePlot draws run time over cores.
func (p *Page) CurvePlot(s *workload.Study) {
	for _, line := range plot.Lines(s, p.Width, p.ornate) {
		p.Line(line)
	}
}
