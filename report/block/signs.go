package block

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"jobeff/policy/curve"
	"jobeff/policy/workload"
	"jobeff/report/figure"
)

// signs draws run time over cores with characters, both in logarithms.
type signs struct {
	ornate              bool
	columns, rows       int
	left, right         float64 // ln n at the ends
	low, high           float64 // ln t at the ends
	cells               [][]rune
	point, curve, doubt rune
}

const (
	plotMargin = 10 // columns left of the plot for the seconds
	plotRows   = 14
	// roomFactor bounds how far beyond the measured times an interval is drawn. A very wide interval would flatten
	// the rest into a line.
	roomFactor = 3
)

// Lines draws the runs, the curve with its interval, n_eff and n_fast, for a terminal of `width` columns.
// ornate means that the terminal shows more than ASCII. It returns nothing for fewer than two core counts.
func Lines(s *workload.Study, width int, ornate bool) []string {
	if len(s.Counts) < 2 {
		return nil
	}
	g := newSigns(s, width, ornate)
	g.fitted(s)
	marks := g.marks(s)
	for i := range s.Runs {
		g.set(float64(s.Runs[i].Cores()), s.Runs[i].Elapsed, g.point)
	}
	return g.lines(s, marks)
}

func newSigns(s *workload.Study, width int, ornate bool) *signs {
	g := &signs{ornate: ornate, columns: width - plotMargin - 4, rows: plotRows, point: 'o', curve: '*', doubt: '.'}
	if ornate {
		g.point, g.curve, g.doubt = '●', '─', '·'
	}
	first, last := s.Counts[0].N, s.Counts[len(s.Counts)-1].N
	g.left, g.right = math.Log(float64(first)), math.Log(float64(last))
	if s.Curve.Time(float64(2*last)) != nil {
		g.right = math.Log(float64(2 * last))
	}
	g.low, g.high = math.Inf(1), math.Inf(-1)
	widen := func(t float64) { g.low, g.high = math.Min(g.low, math.Log(t)), math.Max(g.high, math.Log(t)) }
	for _, c := range s.Counts {
		widen(c.Shortest)
		widen(c.Longest)
	}
	least, most := math.Exp(g.low)/roomFactor, math.Exp(g.high)*roomFactor
	for x := range g.columns {
		if t := s.Curve.Time(g.coresAt(x)); t != nil {
			widen(math.Max(t.Low, least))
			widen(math.Min(t.High, most))
		}
	}
	if room := 0.05 - (g.high-g.low)/2; room > 0 { // a flat curve is drawn flat
		g.low, g.high = g.low-room, g.high+room
	}
	g.cells = make([][]rune, g.rows)
	for y := range g.cells {
		g.cells[y] = []rune(strings.Repeat(" ", g.columns))
	}
	return g
}

// coresAt converts a column to cores, columnOf cores to a column.
func (g *signs) coresAt(column int) float64 {
	return math.Exp(g.left + (g.right-g.left)*float64(column)/float64(g.columns-1))
}

func (g *signs) columnOf(n float64) int {
	return int(math.Round((math.Log(n) - g.left) / (g.right - g.left) * float64(g.columns-1)))
}

// secondsAt converts a row to a time, rowOf a time to a row. The first row is at the top.
func (g *signs) secondsAt(row int) float64 {
	return math.Exp(g.high - (g.high-g.low)*float64(row)/float64(g.rows-1))
}

func (g *signs) rowOf(t float64) int {
	return int(math.Round((g.high - math.Log(t)) / (g.high - g.low) * float64(g.rows-1)))
}

func (g *signs) set(n, t float64, mark rune) {
	x, y := g.columnOf(n), g.rowOf(t)
	if x >= 0 && x < g.columns && y >= 0 && y < g.rows {
		g.cells[y][x] = mark
	}
}

// fitted draws the curve and its interval.
func (g *signs) fitted(s *workload.Study) {
	for x := range g.columns {
		n := g.coresAt(x)
		t := s.Curve.Time(n)
		if t == nil {
			continue
		}
		g.set(n, t.Low, g.doubt)
		g.set(n, t.High, g.doubt)
		g.set(n, t.Value, g.curve)
	}
}

// marks puts n_eff (E) and n_fast (F) on the axis, with a line up. It returns them by column.
func (g *signs) marks(s *workload.Study) map[int]rune {
	marks := map[int]rune{}
	upright := '|'
	if g.ornate {
		upright = '┆'
	}
	for _, m := range []struct {
		at   curve.CoreCount
		mark rune
	}{{s.Curve.Eff, 'E'}, {s.Curve.Fast, 'F'}} {
		if m.at.Estimate == nil {
			continue
		}
		x := g.columnOf(m.at.Estimate.Value)
		if x < 0 || x >= g.columns {
			continue
		}
		for _, taken := marks[x]; taken && x+1 < g.columns; _, taken = marks[x] {
			x++
		}
		marks[x] = m.mark
		for y := range g.cells {
			if g.cells[y][x] == ' ' {
				g.cells[y][x] = upright
			}
		}
	}
	return marks
}

// lines puts axes and legend around the cells.
func (g *signs) lines(s *workload.Study, marks map[int]rune) []string {
	bar, corner, axis := "|", "+", "-"
	if g.ornate {
		bar, corner, axis = "│", "└", "─"
	}
	all := []string{""}
	for y := range g.cells {
		label := ""
		if y == 0 || y == g.rows-1 || y == g.rows/2 {
			label = figure.Number(g.secondsAt(y)) + " s"
		}
		all = append(all, fmt.Sprintf("%*s %s", plotMargin, label, bar+string(g.cells[y])))
	}
	bottom := []rune(strings.Repeat(axis, g.columns))
	for x, m := range marks {
		bottom[x] = m
	}
	all = append(all, strings.Repeat(" ", plotMargin+1)+corner+string(bottom))
	all = append(all, strings.Repeat(" ", plotMargin+2)+g.ticks(s))
	legend := []string{string(g.point) + " measured"}
	if s.Curve.Time(float64(s.Counts[0].N)) != nil {
		legend = append(legend, string(g.curve)+" curve", fmt.Sprintf("%c %s interval", g.doubt, figure.Percent(s.Curve.Level)))
	}
	for _, m := range []struct {
		mark rune
		text string
	}{{'E', "E n_eff"}, {'F', "F n_fast"}} {
		for _, shown := range marks {
			if shown == m.mark {
				legend = append(legend, m.text)
			}
		}
	}
	all = append(all, strings.Repeat(" ", plotMargin+2)+strings.Join(legend, "   "))
	return all
}

// ticks labels the measured core counts and the last column, as far as there is room.
func (g *signs) ticks(s *workload.Study) string {
	line := []rune(strings.Repeat(" ", g.columns+len(" cores")))
	put := func(n int) {
		text := []rune(figure.Count(n))
		from := min(max(g.columnOf(float64(n))-len(text)/2, 0), g.columns-len(text))
		for x := max(from-1, 0); x < min(from+len(text)+1, len(line)); x++ {
			if line[x] != ' ' {
				return
			}
		}
		copy(line[from:], text)
	}
	counts := slices.Clone(s.Counts)
	put(counts[0].N)
	put(int(math.Round(math.Exp(g.right))))
	slices.Reverse(counts)
	for _, c := range counts {
		put(c.N)
	}
	return strings.TrimRight(string(line), " ")
}
