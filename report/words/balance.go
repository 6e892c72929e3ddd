package words

import (
	"jobeff/ingest/job"
	"jobeff/report/block"
	"jobeff/report/figure"
)

// heats returns how useful ranks and nodes were in the biggest execution, which `which` names. It returns none
// if they cannot be compared.
func heats(j *job.Job) (which string, all []block.Heat) {
	e, which := Biggest(j)
	if e == nil || j.Metrics.Ranks < 2 {
		return "", nil
	}
	m := job.ExecutionMetrics(e)
	if m == nil || m.Elapsed <= 0 {
		return "", nil
	}
	ranks, nodes := block.Heat{Label: "ranks", Noun: "rank"}, block.Heat{Label: "nodes", Noun: "node"}
	for _, r := range sharesByRank(e, m.Elapsed) {
		ranks.Shares = append(ranks.Shares, r.Share)
	}
	for _, n := range e.Nodes {
		nodes.Shares = append(nodes.Shares, clamp(usefulPerRank(n)/m.Elapsed))
	}
	for _, h := range []block.Heat{ranks, nodes} {
		if len(h.Shares) > 1 || len(h.Shares) == 1 && h.Noun == "rank" && len(nodes.Shares) > 1 {
			all = append(all, h)
		}
	}
	return which, all
}

// sizeBins is the number of the record's bins in one row: a factor of 4, in every job and everywhere.
const sizeBins = 2

// sizesTable counts the messages by size, point to point and collective. It has no rows for sizes without
// messages.
func sizesTable(executions []job.Execution) (t block.Table) {
	t.Heads = []string{"<size", "point to point", "collective"}
	var p2p, col []uint64
	for i := range executions {
		p2p, col = job.AddHist(p2p, executions[i].HistP2P), job.AddHist(col, executions[i].HistCol)
	}
	bins := max(len(p2p), len(col))
	p2p, col = job.AddHist(make([]uint64, bins), p2p), job.AddHist(make([]uint64, bins), col)
	var counts [][2]uint64
	var highest uint64
	for b := 0; b < bins; b += sizeBins {
		var c [2]uint64
		for k := b; k < min(b+sizeBins, bins); k++ {
			c[0], c[1] = job.AddCount(c[0], p2p[k]), job.AddCount(c[1], col[k])
		}
		if max(c[0], c[1]) > 0 {
			counts, highest = append(counts, c), max(highest, c[0], c[1])
			t.Rows = append(t.Rows, []string{sizeRange(b, b+sizeBins-1), figure.Count(c[0]), figure.Count(c[1])})
		}
	}
	for _, c := range counts {
		t.Bar(1, float64(c[0])/float64(highest))
		t.Bar(2, float64(c[1])/float64(highest))
	}
	return t
}

// sizesPart says how large the messages were.
func sizesPart(j *job.Job) block.Part {
	part := block.Part{Heading: "Sizes of messages", Notes: block.Notes(SizesNote(j.Executions))}
	if t := sizesTable(j.Executions); len(t.Rows) > 0 {
		part.Tables = []block.Table{t}
		part.Notes = append([]string{"point to point: messages by the bytes sent; collective: calls of each rank, by its own bytes"}, part.Notes...)
	}
	if len(part.Notes) == 0 {
		return block.Part{}
	}
	return part
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
