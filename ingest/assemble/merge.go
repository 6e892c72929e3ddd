package assemble

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/when"
	"jobeff/policy/doubt"
)

// Merge joins the parts of executions: the parts of one world become one. Parts may be merged
// already; the order makes no difference. Parts of one Key belong together if their ranks
// differ and their starts lie within the key's window, the nearest start first: a launcher
// reuses its names. Folded executions were whole and stay as they are.
func Merge(parts []job.Execution) []job.Execution {
	var sorted, folded []*job.Execution // they are large
	for i := range parts {
		if parts[i].Folded != nil {
			folded = append(folded, &parts[i])
		} else {
			sorted = append(sorted, &parts[i])
		}
	}
	slices.SortStableFunc(sorted, comparePart)
	byKey := map[string][]*whole{}
	var all []*whole
	for _, p := range sorted {
		id := p.Key + "\x00" + p.KeyFrom + strconv.Itoa(p.Size) + strconv.FormatBool(p.Spawned)
		ranks := ranksOf(p)
		w := pickWhole(byKey[id], p, ranks)
		if w == nil {
			w = &whole{start: p.Start}
			byKey[id] = append(byKey[id], w)
			all = append(all, w)
		}
		w.ranks.add(ranks)
		w.parts = append(w.parts, p)
	}
	out := make([]job.Execution, 0, len(all)+len(folded))
	for _, w := range all {
		out = append(out, w.join())
	}
	for _, f := range folded {
		out = append(out, *f)
	}
	slices.SortStableFunc(out, func(a, b job.Execution) int { return comparePart(&a, &b) })
	return out
}

// comparePart orders executions by start, so that the result does not depend on the order of
// arrival.
func comparePart(a, b *job.Execution) int {
	return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Size, b.Size),
		cmp.Compare(firstRank(a), firstRank(b)), cmp.Compare(firstNode(a), firstNode(b)), a.End.Compare(b.End))
}

// firstRank is the lowest rank of a part, or the highest number if it has none.
func firstRank(e *job.Execution) int {
	lowest := int(^uint(0) >> 1)
	for i := range e.Nodes {
		text, _, _ := strings.Cut(e.Nodes[i].RankIDs, ",")
		text, _, _ = strings.Cut(text, "-")
		if n, err := strconv.Atoi(text); err == nil {
			lowest = min(lowest, n)
		}
	}
	return lowest
}

func firstNode(e *job.Execution) string {
	if len(e.Nodes) == 0 {
		return ""
	}
	return e.Nodes[0].Node
}

// whole is an execution that is being joined.
type whole struct {
	start time.Time
	ranks rankSet
	parts []*job.Execution
}

// mostBeside bounds how many worlds of its key a part is compared with, those with the nearest
// starts. A launcher that reuses its names starts fewer within the key's window.
const mostBeside = 64

// pickWhole is the execution that a part with these ranks belongs to; nil for a new one.
func pickWhole(wholes []*whole, part *job.Execution, ranks []slurmid.Range) *whole {
	window := WindowOf(part.KeyFrom)
	for _, w := range slices.Backward(wholes[max(len(wholes)-mostBeside, 0):]) { // starts ascend: the nearest is last
		if part.Start.Sub(w.start) > window {
			return nil
		}
		if !w.ranks.overlaps(ranks) {
			return w
		}
	}
	return nil
}

// rankSet is a set of ranks, as lists of ranges, each more than twice as long as the next one. It takes
// no more memory than the text that names the ranks: nine letters may name a million.
type rankSet [][]slurmid.Range

func (s *rankSet) add(ranks []slurmid.Range) {
	for last := len(*s) - 1; last >= 0 && len((*s)[last]) <= 2*len(ranks); last-- {
		ranks = slurmid.JoinRanges(slices.Concat((*s)[last], ranks))
		*s = (*s)[:last]
	}
	*s = append(*s, ranks)
}

func (s rankSet) overlaps(ranks []slurmid.Range) bool {
	return slices.ContainsFunc(s, func(list []slurmid.Range) bool {
		return slices.ContainsFunc(ranks, func(r slurmid.Range) bool {
			i, _ := slices.BinarySearchFunc(list, r.First, func(in slurmid.Range, lo int) int { return cmp.Compare(in.Last, lo) })
			return i < len(list) && list[i].First <= r.Last
		})
	})
}

// ranksOf are the ranks of all of an execution's nodes.
func ranksOf(e *job.Execution) []slurmid.Range {
	var all []slurmid.Range
	for i := range e.Nodes {
		slurmid.EachRange(e.Nodes[i].RankIDs, func(lo, hi int) { all = append(all, slurmid.Range{First: lo, Last: hi}) })
	}
	return slurmid.JoinRanges(all)
}

// join makes one execution of the parts. What all ranks share comes from the part with the
// lowest rank. The rest are sums, extremes and sets.
func (w *whole) join() job.Execution {
	first := slices.MinFunc(w.parts, func(a, b *job.Execution) int {
		return cmp.Or(cmp.Compare(firstRank(a), firstRank(b)), cmp.Compare(firstNode(a), firstNode(b)))
	})
	e := *first
	e.RankIDs, e.Metrics = "", nil
	if len(w.parts) == 1 {
		return e
	}
	e.Nodes, e.Steps, e.Slowest, e.Endings = nil, nil, nil, map[string]int{}
	calls, classes := job.CallSums{}, job.CallSums{}
	sections := job.SectionSums{}
	e.HistP2P, e.HistCol = nil, nil
	e.Timeline, e.Places = job.JoinTimelines(w.parts), job.JoinPlaces(w.parts)
	var warn doubt.Warnings
	for _, p := range w.parts {
		e.Start, e.End = when.First(e.Start, p.Start), when.Last(e.End, p.End)
		e.Steps = append(e.Steps, p.Steps...)
		e.Nodes = append(e.Nodes, p.Nodes...)
		e.Slowest = append(e.Slowest, p.Slowest...)
		for ending, n := range p.Endings {
			e.Endings[ending] += n
		}
		calls.Add(p.Calls)
		classes.Add(p.Classes)
		for i := range p.Sections {
			sections.At(p.Sections[i].Label).Add(&p.Sections[i])
		}
		e.HistP2P, e.HistCol = job.AddHist(e.HistP2P, p.HistP2P), job.AddHist(e.HistCol, p.HistCol)
		for _, n := range p.Warnings {
			warn.Add(n)
		}
		if p.Executable != first.Executable || p.BuildID != first.BuildID {
			warn.Add(doubt.Warning{Code: doubt.WarnExecutables})
		}
	}
	slices.Sort(e.Steps)
	e.Steps = slices.Compact(e.Steps)
	slices.SortFunc(e.Nodes, func(a, b job.NodeShare) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.RankIDs, b.RankIDs))
	})
	e.Slowest = job.Slowest(e.Slowest)
	e.Calls, e.Classes = calls.List(), classes.List()
	e.Sections = sections.List()
	e.Warnings = warn.List()
	return e
}

// startWindow is how far apart ranks of one world may leave MPI_Init if no launcher names the
// world.
const startWindow = 5 * time.Second

// launcherWindow is the same if a launcher names the world. The name alone is not enough: it
// holds a port or a hash of a process id, which return after thousands of mpiruns. The window
// is as wide as munge lets the clocks of two nodes differ.
const launcherWindow = 300 * time.Second

// StartKey is Execution.KeyFrom of worlds that no launcher names.
const StartKey = "start"

// WindowOf is the window of a key, by its KeyFrom.
func WindowOf(from string) time.Duration {
	if from == StartKey {
		return startWindow
	}
	return launcherWindow
}

// mostTimelines bounds the executions of a job that keep a timeline. One takes up to 4 KiB in the database,
// with the courses of its nodes.
const mostTimelines = 1
