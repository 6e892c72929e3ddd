// Package slow finds nodes on which jobs persistently compute slower than alike jobs do on other nodes. It
// reads the useful time of each node of a job, and knows no clock and no database. Before it comes ingest/job. After it come
// ingest/store, which keeps the observations of each job that is judged, gives them to a Watch and keeps what that finds, and
// jobeffd, which has it do so once a day.
//
// METRICS 10 has the formulas:
//
//  1. Of makes an Observation of each node of a job that may speak of its nodes
//  2. Alike observations on different nodes form a block. If no node is slower than the others, every order of
//     the block is as likely, whatever the distribution. So a bet on a node's rank is fair (Vovk, Nouretdinov and Gammerman,
//     "Testing exchangeability on-line", 2003)
//  3. A node's bets multiply. They start anew each week, since a node may become slow at any time (e-detectors: Shin,
//     Ramdas and Rinaldo, 2023)
//  4. Over all nodes, e-BH (Wang and Ramdas, "False discovery rate control with e-values", 2022) says how much
//     a node must have won to be named
package slow

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// level bounds the false discovery rate of the nodes that are named within a year.
	level = 0.05
	day   = 24 * time.Hour
	// A block is closed once it has mostCells: more tell little more of one of them. Or once it has been open for longest:
	// over a longer time, the work may change. It says nothing until it has leastCells.
	mostCells, leastCells = 128, 4
	longest               = 28 * day
	// Year is how far back a watch looks at most: the bound on wrong names is of a year.
	Year = 365 * day
	// mostOpen bounds the open blocks of a stratum. A node is in each once, so a stratum on few nodes fills several.
	mostOpen = 8
	// mostStrata bounds memory. Further strata are not looked at until old ones are closed.
	mostStrata = 1 << 19
)

// Watch compares nodes as jobs end. New makes one.
type Watch struct {
	now    time.Time // the newest end, or look
	day    uint32    // of now; what a day brings is done up to it
	nodes  map[Machine]*node
	strata map[Stratum]*stratum
}

// stratum holds the open blocks of alike observations, the oldest first.
type stratum struct{ open []*block }

// block holds alike observations of different nodes. Its first cell came first.
type block struct {
	since time.Time
	cells []cell
}

// cell is one observation in a block.
type cell struct {
	node  *node
	uid   uint32
	day   uint32 // since 1970, UTC
	value float64
}

// New begins a watch without any observation.
func New() *Watch {
	return &Watch{nodes: map[Machine]*node{}, strata: map[Stratum]*stratum{}}
}

// Begin is the earliest end of the observations that a new watch takes for a look now. It moves once in four weeks. Until then,
// each new watch makes the blocks of the one before again, and goes on with them. If it moved each day, each day's blocks would
// have other cells, and the bound would be of each look alone.
func Begin(now time.Time) time.Time { return now.Add(-Year).Truncate(longest).Add(longest) }

// Nodes is how many nodes were observed.
func (w *Watch) Nodes() int { return len(w.nodes) }

// Add takes an observation, once, in the order of the jobs' ends as far as that is known. The same observations in the
// same order make the same watch.
func (w *Watch) Add(o Observation) {
	w.pass(o.At)
	n := w.nodes[o.Machine]
	if n == nil {
		n = newNode(o.Machine, weekOf(w.now))
		w.nodes[o.Machine] = n
	}
	s := w.strata[o.Stratum]
	if s == nil {
		if len(w.strata) >= mostStrata {
			return
		}
		s = &stratum{}
		w.strata[o.Stratum] = s
	}
	w.judge(s.add(cell{n, o.UID, dayOf(o.At), o.Value}, o.At))
}

// add puts a cell into the first open block that lacks its node. It returns a block that is full; nil: none is.
// That depends on nodes and times alone, so the order of a block's values stays as likely as any other.
func (s *stratum) add(c cell, at time.Time) (full *block) {
	i := slices.IndexFunc(s.open, func(b *block) bool { return !b.has(c.node) })
	if i < 0 {
		if len(s.open) == mostOpen {
			full = s.open[0]
			s.open = slices.Delete(s.open, 0, 1)
		}
		s.open = append(s.open, &block{at, []cell{c}})
		return full
	}
	b := s.open[i]
	b.cells = append(b.cells, c)
	if len(b.cells) < mostCells {
		return nil
	}
	s.open = slices.Delete(s.open, i, i+1)
	return b
}

func (b *block) has(n *node) bool {
	return slices.ContainsFunc(b.cells, func(c cell) bool { return c.node == n })
}

// judge ranks the cells of a closed block, and pays each node's bet.
func (w *Watch) judge(b *block) {
	if b != nil {
		w.pay(b.cells, func(n *node) *node { return n })
	}
}

// pay ranks cells, and pays their nodes' bets to what to says.
func (w *Watch) pay(cells []cell, to func(*node) *node) {
	if len(cells) < leastCells {
		return
	}
	cells = slices.SortedStableFunc(slices.Values(cells), func(a, b cell) int { return cmp.Compare(a.value, b.value) })
	values := make([]float64, len(cells))
	for i, c := range cells {
		values[i] = c.value
	}
	by := shared(pays()[len(cells)], values)
	for i := range cells {
		c, rank := &cells[i], (float64(i)+0.5)/float64(len(cells))
		to(c.node).take(by[i], seen{values[i] - medianWithout(values, i), rank, c.uid, c.day}, weekOf(w.now))
	}
}

// pass lets the time pass. Once a day, old blocks are closed, and too high bets are cut.
func (w *Watch) pass(to time.Time) {
	if to.After(w.now) {
		w.now = to
	}
	if at := dayOf(w.now); at > w.day {
		w.day = at
		w.close()
		for _, n := range w.nodes {
			n.cut(w.limit())
		}
	}
}

// limit is what one node must have won to be named alone.
func (w *Watch) limit() float64 { return float64(len(w.nodes)) / level }

// close judges the blocks that have been open for too long.
func (w *Watch) close() {
	old := func(b *block) bool { return w.now.Sub(b.since) > longest }
	for _, b := range w.oldestFirst(old) {
		w.judge(b)
	}
	for of, s := range w.strata {
		if s.open = slices.DeleteFunc(s.open, old); len(s.open) == 0 {
			delete(w.strata, of)
		}
	}
}

// oldestFirst returns some of the open blocks. A map has no order, but the same observations must make the same watch.
func (w *Watch) oldestFirst(which func(*block) bool) (all []*block) {
	type open struct {
		*block
		of Stratum
	}
	var some []open
	for of, s := range w.strata {
		for _, b := range s.open {
			if which(b) {
				some = append(some, open{b, of})
			}
		}
	}
	slices.SortStableFunc(some, func(a, b open) int { return cmp.Or(a.since.Compare(b.since), bytes.Compare(a.of[:], b.of[:])) })
	for _, b := range some {
		all = append(all, b.block)
	}
	return all
}

// Look returns the slow nodes, the surest first. Open blocks count as they stand: what they have won by now is fair, too.
func (w *Watch) Look(now time.Time) (found []Slow) {
	w.pass(now)
	for _, n := range w.standing() {
		n.relax(weekOf(w.now))
		if f, ok := n.found(); ok {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Slow) int {
		return cmp.Or(cmp.Compare(b.Evidence, a.Evidence), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node))
	})
	return found[:named(found, w.limit())]
}

// standing returns copies of the nodes, as if all blocks were closed now.
func (w *Watch) standing() map[*node]*node {
	now := make(map[*node]*node, len(w.nodes))
	for _, n := range w.nodes {
		now[n] = n.clone()
	}
	for _, b := range w.oldestFirst(func(*block) bool { return true }) {
		w.pay(b.cells, func(n *node) *node { return now[n] })
	}
	return now
}

// named is e-BH: the most nodes of which each has won limit divided by their number.
func named(sorted []Slow, limit float64) (k int) {
	for i := range sorted {
		if sorted[i].Evidence >= math.Log(limit/float64(i+1)) {
			k = i + 1
		}
	}
	return k
}

// dayOf numbers the days since 1970, UTC.
func dayOf(t time.Time) uint32 { return uint32(max(0, t.Unix()) / int64(day/time.Second)) }

func weekOf(t time.Time) int { return int(dayOf(t)) / 7 }
