package report

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
)

// terminal is a text that is being written: what the reader can see, and the lines so far.
type terminal struct {
	out     bytes.Buffer
	Width   int
	Unicode bool // texts may hold characters outside ASCII
	ornate  bool // so may bars
	Title   *color.Color
	Good    *color.Color
	Bad     *color.Color
}

// labelWidth is the width of the left column that says what a line is about.
const labelWidth = 11

// newTerminal returns an empty page for a reader.
func newTerminal(opts Options) *terminal {
	p := &terminal{
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

// line writes one line as it is.
func (p *terminal) line(s string) {
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// heading starts a new block.
func (p *terminal) heading(s string) {
	p.line("")
	p.line(p.Title.Sprint(s))
}

// paragraph writes a text wrapped to the page. Its first line begins with `first`, the others with `rest`.
func (p *terminal) paragraph(first, rest, s string, c *color.Color) { p.cut(first, rest, s, 0, c) }

// cut is paragraph for at most the first `most` lines; 0: for all.
func (p *terminal) cut(first, rest, s string, most int, c *color.Color) {
	prefix, room := first, p.Width-max(displayWidth(first), displayWidth(rest))
	lines := Wrap(s, room, true)
	if most > 0 && len(lines) > most {
		lines = lines[:most]
		lines[most-1] = text.Trim(lines[most-1], room-1) + p.ellipsis()
	}
	for _, l := range lines {
		if c != nil {
			l = c.Sprint(l)
		}
		p.line(prefix + l)
		prefix = rest
	}
}

// field writes a text after its label; nothing for an empty text.
func (p *terminal) field(label, s string) {
	if s != "" {
		p.paragraph(text.AlignLeft.Apply(label, labelWidth), strings.Repeat(" ", labelWidth), s, nil)
	}
}

// headline writes the headline.
func (p *terminal) headline(h block.Headline) { p.headlineIn(h, 0) }

// headlineIn is headline in at most `most` lines; 0: as many as it takes.
func (p *terminal) headlineIn(h block.Headline, most int) {
	c := p.Title
	if h.Bad {
		c = p.Bad
	}
	p.cut("", "", h.Text, most, c)
	p.line("")
}

// facts writes labelled texts.
func (p *terminal) facts(all []block.Fact) { p.factsIn(all, 0) }

// factsIn is facts with at most `most` lines of each text; 0: as many as it takes.
func (p *terminal) factsIn(all []block.Fact, most int) {
	for _, f := range all {
		if f.Strong != "" {
			f.Text = block.Joined("  ", p.Title.Sprint(f.Strong), f.Text)
		}
		label := text.AlignLeft.Apply(f.Label, labelWidth)
		for _, s := range append([]string{f.Text}, f.More...) {
			if s != "" {
				p.cut(label, strings.Repeat(" ", labelWidth), s, most, nil)
			}
			label = strings.Repeat(" ", labelWidth)
		}
	}
}

// paragraphIn writes a text in at most `most` lines; 0: as many as it takes.
func (p *terminal) paragraphIn(s string, most int) { p.cut("", "", s, most, nil) }

// command writes a command to copy. If it is wider than the page, it continues after a backslash, as a shell
// allows.
func (p *terminal) command(s string) {
	line := ""
	for _, option := range options(s) {
		switch {
		case line == "":
			line = option
		case displayWidth(line)+1+displayWidth(option)+len(` \`) <= p.Width:
			line += " " + option
		default:
			p.line(line + ` \`)
			line = "    " + option
		}
	}
	p.line(line)
}

// action writes what to do in at most `most` lines, and the whole line to type. It writes nothing if there is
// nothing to do.
func (p *terminal) action(a block.Action, most int) {
	if a.Text == "" {
		return
	}
	p.paragraphIn(a.Text, most)
	if a.Line != "" {
		p.command(a.Line)
	}
	p.line("")
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

// height returns how many lines the page has so far.
func (p *terminal) height() int { return bytes.Count(p.out.Bytes(), []byte{'\n'}) }

// block writes labelled texts with an empty line below them; nothing if there are none.
func (p *terminal) block(all []block.Fact) {
	if len(all) > 0 {
		p.facts(all)
		p.line("")
	}
}

// parts writes parts one after the other.
func (p *terminal) parts(all ...block.Part) {
	for _, b := range all {
		p.part(b)
	}
}

// part writes a part, indented if it has a heading.
func (p *terminal) part(b block.Part) {
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

// tree writes POP's tree of efficiencies, with a bar for each, and the shares below it.
func (p *terminal) tree(branches []block.Branch, shares []block.Fact) {
	p.line("")
	for _, b := range branches {
		c, note := p.Good, ""
		if b.Low() {
			c, note = p.Bad, "  below 0.80"
		}
		bar := p.bar(b.Value, min(p.Width-treeLabel-20-len(b.Beside), 60))
		p.leaf(strings.Repeat("  ", b.Depth)+b.Name, b.Beside+figure.Efficiency(b.Value)+"  "+c.Sprint(bar)+note)
	}
	if len(shares) > 0 {
		p.line("")
	}
	for _, f := range shares {
		p.leaf(f.Label, fmt.Sprintf("%4s", f.Text))
	}
}

// treeLabel is the width of the words before a figure of the tree.
const treeLabel = 32

func (p *terminal) leaf(label, s string) { p.line(fmt.Sprintf("%-*s", treeLabel, label) + s) }

// warnings writes every warning about the figures.
func (p *terminal) warnings(all []doubt.Doubt) {
	if len(all) == 0 {
		return
	}
	p.heading("Warnings")
	for _, w := range all {
		p.paragraph("  ! ", "    ", fmt.Sprintf("%s [%s]", w.String(), w.Code), nil)
	}
}

// writeTo writes the page.
func (p *terminal) writeTo(w io.Writer) error {
	_, err := p.out.WriteTo(w)
	return err
}

// ellipsis marks where a text was cut.
func (p *terminal) ellipsis() string {
	if p.ornate {
		return "…"
	}
	return "~"
}

// bar draws a fraction in n columns.
func (p *terminal) bar(fraction float64, n int) string {
	full, empty := "#", "."
	if p.ornate {
		full, empty = "█", "░"
	}
	k := block.BarCells(fraction, n)
	return strings.Repeat(full, k) + strings.Repeat(empty, n-k)
}

// shortestCut is the least width that texts are cut to, columns.
const shortestCut = 6

// table writes t with an indent.
func (p *terminal) table(t block.Table, indent string) {
	p.rows(t, indent, t.Names())
}

// parsable writes t for programs: values in full, separated by |. A | inside a value is escaped, as it would
// start a column.
func (p *terminal) parsable(t block.Table, noHeader bool) {
	if !noHeader {
		p.line(strings.Join(t.Names(), "|"))
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			if t.Heads[i][0] != '<' {
				c = figure.Bare(c)
			}
			cells[i] = strings.ReplaceAll(c, "|", `\x7c`)
		}
		p.line(strings.Join(cells, "|"))
	}
}

// rows writes a table, below its heads unless these are nil.
func (p *terminal) rows(t block.Table, indent string, heads []string) {
	gap, rows, first := t.Gap, t.Rows, 0 // the row that is t's first, after the heads
	if gap == "" {
		gap = "  "
	}
	if heads != nil {
		rows, first = append([][]string{heads}, rows...), 1
	}
	widths := fit(t.Heads, rows, p.Width-displayWidth(indent)-len(gap)*(len(t.Heads)-1))
	for k, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			align := text.AlignRight
			if t.Heads[i][0] == '<' {
				align = text.AlignLeft
			}
			cells[i] = align.Apply(text.Snip(c, widths[i], p.ellipsis()), widths[i])
			if t.IsRed(k-first, i) {
				cells[i] = p.Bad.Sprint(cells[i])
			}
		}
		p.line(indent + strings.Join(cells, gap))
	}
}

// fit finds the widths of the columns. Together they are at most n, as far as columns may be cut.
func fit(heads []string, rows [][]string, n int) []int {
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], displayWidth(c))
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

// longest returns the longest column of texts that may still be cut; -1: none.
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

// barColumns is the length of the bars of a table.
const barColumns = 30

// withBars returns a table with a last column that shows the Bars of column c.
func (p *terminal) withBars(t block.Table, c int) block.Table {
	t.Heads = append(slices.Clone(t.Heads), "<")
	rows := t.Rows
	t.Rows = nil
	for i, row := range rows {
		t.Rows = append(t.Rows, append(slices.Clone(row), p.bar(t.Bars[c][i], barColumns)))
	}
	return t
}

// curvePlot draws run time over cores.
func (p *terminal) curvePlot(s *workload.Study) {
	for _, line := range block.Lines(s, p.Width, p.ornate) {
		p.line(line)
	}
}
