package report

import (
	"cmp"
	"fmt"
	"slices"

	"jobeff/ingest/job"
	"jobeff/report/figure"
)

// rankShare is how much of the elapsed time one rank was useful.
type rankShare struct {
	rank  int
	share float64
}

// sharesByRank are those of an execution, by rank; nil where they are not kept.
func sharesByRank(e *job.Execution, elapsed float64) []rankShare {
	var all []rankShare
	for _, n := range e.Nodes {
		shares := rankShares(n, elapsed)
		ranks, err := job.RankList(n.RankIDs, len(shares))
		if shares == nil || err != nil || len(ranks) != len(shares) {
			return nil
		}
		for i, r := range ranks {
			all = append(all, rankShare{r, shares[i]})
		}
	}
	slices.SortFunc(all, func(a, b rankShare) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// balance writes how useful ranks and nodes were, a sign for each or for several.
func (p *page) balance(j *job.Job) {
	e, which := biggest(j)
	if e == nil || j.Metrics.Ranks < 2 {
		return
	}
	m := metricsOf(e)
	if m == nil || m.Elapsed <= 0 {
		return
	}
	var ranks, nodes []float64
	for _, r := range sharesByRank(e, m.Elapsed) {
		ranks = append(ranks, r.share)
	}
	for _, n := range e.Nodes {
		nodes = append(nodes, clamp(usefulPerRank(n)/m.Elapsed))
	}
	if len(nodes) < 2 {
		nodes = nil
	}
	if len(ranks) < 2 && nodes == nil {
		return
	}
	p.heading(fmt.Sprintf("Useful part of the elapsed time%s, %s", which, p.heatScale()))
	p.heatRow("ranks", "rank", ranks)
	p.heatRow("nodes", "node", nodes)
}

// heatSigns are the signs of a share from 0 to 1.
func (p *page) heatSigns() []rune {
	if p.ornate {
		return []rune("▁▂▃▄▅▆▇█")
	}
	return []rune("0123456789")
}

func (p *page) heatScale() string {
	signs := p.heatSigns()
	return fmt.Sprintf("%c little to %c all", signs[0], signs[len(signs)-1])
}

// heatRow writes a sign for each share, or for several that stand together.
func (p *page) heatRow(label, noun string, shares []float64) {
	if len(shares) == 0 {
		return
	}
	most := p.width - 10
	each := (len(shares) + most - 1) / most
	signs := p.heatSigns()
	var row []rune
	for i := 0; i < len(shares); i += each {
		sum, n := 0.0, min(each, len(shares)-i)
		for _, s := range shares[i : i+n] {
			sum += s
		}
		row = append(row, signs[min(int(sum/float64(n)*float64(len(signs))), len(signs)-1)])
	}
	sorted := slices.Sorted(slices.Values(shares))
	text := fmt.Sprintf("%s to %s, half above %s", figure.Percent(sorted[0]), figure.Percent(sorted[len(sorted)-1]), figure.Percent(sorted[len(sorted)/2]))
	if each > 1 {
		text = fmt.Sprintf("mean of each %s; %s", figure.Counted(each, noun), text)
	}
	line := fmt.Sprintf("  %-6s  %s", label, string(row))
	if width(line)+2+width(text) <= p.width {
		p.line(line + "  " + text)
		return
	}
	p.line(line)
	p.line("          " + text)
}

// Message sizes: how many rows a table of them has on a page and in a text.
const (
	mostSizes     = 16
	mostSizesText = 8
)

// sizesOf counts the messages by size, point to point and collective, in at most most
// rows.
func sizesOf(executions []job.Execution, most int) (t table, counts [][2]uint64) {
	t.heads = []string{"<size", "point to point", "collective"}
	var p2p, col []uint64
	for i := range executions {
		p2p, col = addBins(p2p, executions[i].HistP2P), addBins(col, executions[i].HistCol)
	}
	bins := max(len(p2p), len(col))
	p2p, col = addBins(make([]uint64, bins), p2p), addBins(make([]uint64, bins), col)
	first, last := bins, 0
	for b := range bins {
		if p2p[b]+col[b] > 0 {
			first, last = min(first, b), b+1
		}
	}
	step := max(1, (last-first+most-1)/most)
	for b := first; b < last; b += step {
		var c [2]uint64
		for k := b; k < min(b+step, last); k++ {
			c[0], c[1] = c[0]+p2p[k], c[1]+col[k]
		}
		counts = append(counts, c)
		t.rows = append(t.rows, []string{sizeRange(b, min(b+step, last)-1), figure.Count(c[0]), figure.Count(c[1])})
	}
	return t, counts
}

// sizesNote says what is counted.
const sizesNote = "messages by what was sent; of collective calls, each rank's by its own bytes"

// sizesPart says how large the messages were.
func sizesPart(j *job.Job) Part {
	t, _ := sizesOf(j.Executions, mostSizesText)
	if len(t.rows) == 0 {
		return Part{}
	}
	return Part{Heading: "Sizes of messages", Tables: []table{t}, Notes: []string{sizesNote}}
}

func addBins(sum, more []uint64) []uint64 {
	sum = slices.Grow(slices.Clone(sum), len(more))
	for len(sum) < len(more) {
		sum = append(sum, 0)
	}
	for i, n := range more {
		sum[i] += n
	}
	return sum
}

// sizeRange names the sizes of bins first to last: [2^(first-1), 2^last).
func sizeRange(first, last int) string {
	low := uint64(0)
	if first > 0 {
		low = 1 << min(first-1, 62)
	}
	high := uint64(1)<<min(last, 62) - 1
	switch {
	case last >= 63:
		return figure.Bytes(low) + " and more"
	case low == high:
		return figure.Bytes(low)
	case high >= 1023:
		return figure.Bytes(low) + " to " + figure.Bytes(high+1)
	}
	return figure.Count(low) + " to " + figure.Count(high) + " B"
}
