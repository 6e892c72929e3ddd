package block

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"jobeff/report/figure"
)

// HeatNode is one node of a heat map: a name and a share for each of its ranks.
type HeatNode struct {
	Name   string
	Shares []float64 // 0 to 1
	Ranks  []string  // their names; there may be fewer than shares, or nil
}

// HeatMap is a map of all ranks, node by node. A darker cell was useful for more of the time. Ten
// thousand ranks stay readable.
type HeatMap struct {
	Alt   string
	Nodes []HeatNode
	// Unit is what a cell represents; "" means "rank".
	Unit string
}

const (
	heatWidth, heatHeight = 360.0, 480.0 // the size that it must fit in: a telephone's width
	heatLevels            = 8
	largestCell           = 20
	smallestCell          = 3
	// widestNode bounds how many ranks of a node are on one line.
	widestNode = 32
	// namedNodes bounds the nodes that have their names beside them. If there are more, only a pointer shows their
	// names.
	namedNodes = 24
	// namedRanks bounds the ranks that have titles of their own. If there are more, each node has one title.
	namedRanks = 512
)

// tile is the position of a rank, in cells.
type tile struct{ x, y, level int }

// tiles holds ranks of one level; scale is the size of a cell.
type tiles struct {
	at    point
	scale float64
	high  float64 // of a cell; 0: scale
	level int
	cells []tile // by line, then column
}

// heatLayout holds the positions of nodes, in cells.
type heatLayout struct {
	cell          float64 // CSS pixels
	wide, high    int     // cells of one node
	columns, step int     // nodes on a line; cells from one to the next
	names         float64 // width of the column of names; 0: none
	line          float64 // height of a line of nodes in CSS pixels
	scale         Scale
}

// Picture draws the map.
func (h HeatMap) Picture() *Picture {
	l := h.layout()
	lines := (len(h.Nodes) + l.columns - 1) / l.columns
	wide := l.names + float64(min(l.columns, len(h.Nodes))*l.step)*l.cell
	p := &Picture{Width: math.Max(wide, heatWidth), Height: l.line*float64(lines) + 26, Alt: h.Alt}
	var shares []float64
	for _, n := range h.Nodes {
		shares = append(shares, n.Shares...)
	}
	l.scale = ScaleOf(shares)
	for i, n := range h.Nodes {
		at := point{l.names + float64(i%l.columns*l.step)*l.cell, float64(i/l.columns) * l.line}
		if l.names > 0 {
			p.text(l.names-8, at.y+12, cut(n.Name, l.names-8), end, inkText)
		}
		l.node(p, n, at, cmp.Or(h.Unit, "rank"), len(shares) <= namedRanks)
	}
	legend(p, l.scale, l.line*float64(lines)+8)
	return p
}

// layout finds the largest cells that fit.
func (h HeatMap) layout() heatLayout {
	most, longest := 1, 0.0
	for _, n := range h.Nodes {
		most, longest = max(most, len(n.Shares)), math.Max(longest, textWidth(n.Name))
	}
	l := heatLayout{wide: min(most, widestNode), columns: 1}
	l.high = (most + l.wide - 1) / l.wide
	l.step = l.wide + 1
	if len(h.Nodes) <= namedNodes {
		l.names = math.Min(longest, 140) + 12
	}
	for l.cell = largestCell; ; l.cell-- {
		if l.names == 0 {
			l.columns = max(1, int((heatWidth+l.cell)/(float64(l.step)*l.cell)))
		}
		l.line = float64(l.high)*l.cell + math.Max(1, l.cell/5)
		if l.names > 0 {
			l.line = math.Max(l.line, 16)
		}
		lines := float64((len(h.Nodes) + l.columns - 1) / l.columns)
		fits := float64(l.wide)*l.cell <= heatWidth-l.names && lines*l.line <= heatHeight
		if fits || l.cell == smallestCell {
			return l
		}
	}
}

// node draws the ranks of a node, and the titles that a pointer shows.
func (l heatLayout) node(p *Picture, n HeatNode, at point, unit string, named bool) {
	low, high, sum := math.Inf(1), 0.0, 0.0
	for _, share := range n.Shares {
		low, high, sum = math.Min(low, share), math.Max(high, share), sum+share
	}
	p.cells(tiles{at: at, scale: l.cell}, l.scale, l.wide, n.Shares)
	if named {
		for i, share := range n.Shares[:min(len(n.Ranks), len(n.Shares))] {
			p.add(cover{at.x + float64(i%l.wide)*l.cell, at.y + float64(i/l.wide)*l.cell, l.cell, l.cell,
				fmt.Sprintf("%s %s, %s: %s useful", unit, n.Ranks[i], n.Name, figure.Percent(share))})
		}
		return
	}
	if k := float64(len(n.Shares)); k > 0 {
		p.add(cover{at.x, at.y, float64(l.wide) * l.cell, float64(l.high) * l.cell,
			fmt.Sprintf("%s: %s, %s useful, mean %s", n.Name, figure.Counted(len(n.Shares), "rank"), figure.Interval(low, high, figure.Percent), figure.Percent(sum/k))})
	}
}

// cells draws shares, `wide` of them on a line. A share below 0 leaves its cell empty.
func (p *Picture) cells(like tiles, scale Scale, wide int, shares []float64) {
	levels := make([][]tile, heatLevels)
	for i, share := range shares {
		if share >= 0 {
			level := scale.Level(share, heatLevels)
			levels[level] = append(levels[level], tile{i % wide, i / wide, level})
		}
	}
	for level, cells := range levels {
		if len(cells) > 0 {
			like.level, like.cells = level, cells
			p.add(like)
		}
	}
}

// heatOpacity returns the opacity of a level.
func heatOpacity(level int) float64 { return (float64(level) + 1.6) / (heatLevels + 0.6) }

// legend names the levels.
func legend(p *Picture, s Scale, y float64) {
	p.text(0, y+12, figure.Percent(s.Low), start, inkFaint)
	for level := range heatLevels {
		p.add(tiles{at: point{30 + 22*float64(level), y + 1}, scale: 14, level: level, cells: []tile{{level: level}}})
	}
	p.text(30+22*heatLevels, y+12, figure.Percent(s.High)+" of the time useful", start, inkFaint)
}

// cover is an invisible area with a title.
type cover struct {
	x, y, w, h float64
	title      string
}

// size returns the width of a cell, and its height if that differs.
func (t tiles) size() string {
	if t.high == 0 {
		return num(t.scale)
	}
	return num(t.scale) + " " + num(t.high)
}

// svgPath draws neighbours on a line as one stroke, and writes only the distance from the last one. So ten
// thousand ranks take about fourteen bytes each at most.
func (t tiles) svgPath() string {
	var b strings.Builder
	x, y := 0, 0
	for i := 0; i < len(t.cells); {
		k := i + 1
		for k < len(t.cells) && t.cells[k].y == t.cells[i].y && t.cells[k].x == t.cells[k-1].x+1 {
			k++
		}
		c := t.cells[i]
		b.WriteString("m" + strconv.Itoa(c.x-x) + " " + strconv.Itoa(c.y-y) + "h" + strconv.Itoa(k-i))
		x, y, i = c.x+k-i, c.y, k
	}
	return b.String()
}
