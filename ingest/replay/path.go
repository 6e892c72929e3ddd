package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// CallShare is how much of the waiting on the critical path is in a function of MPI.
type CallShare struct {
	Call  int // row of mpi_calls.def
	Share float64
}

// RankShare is how much of the critical path runs on a rank.
type RankShare struct {
	Rank  int
	Share float64
}

// Path is the critical path of the windows on the ideal network: the chain of work and waits
// that ends last. Shares are of the windows' ideal time.
type Path struct {
	Ranks []RankShare // most first, at most pathRanks
	Calls []CallShare // most first, at most pathCalls

	// Inside is how much of what ranks lose by waiting for each other's work (I less the useful
	// time of the busiest rank) is lost inside windows. The rest is lost because other ranks have
	// the most work each time.
	Inside float64
	// Chain is the one in which most of the time inside windows was lost.
	Chain
}

// Chain are the ranks of a window's critical path.
type Chain struct {
	Ranks   []int   // the first chainRanks, in the order of the path; by number if it returns
	Length  int     // how many ranks they are
	Returns bool    // the path comes back to a rank that it left: they wait for each other by turns
	Share   float64 // of the time lost inside windows, how much is lost in those with this chain
}

const (
	pathRanks  = 8
	pathCalls  = 5
	chainRanks = 8    // of a chain; longer ones are cut
	chainsMost = 1000 // different ones that are told apart
)

// paths adds up the critical paths of windows.
type paths struct {
	ranks  []float64          // ns on the path
	calls  map[uint16]float64 // ns waited
	waited float64            // ns, in all of them
	chains map[string]*Chain  // Share is ns lost
	lost   float64
	seen   []int // of ranks: the window in which the chain had it last
}

func newPaths(n int) *paths {
	return &paths{ranks: make([]float64, n), calls: map[uint16]float64{}, chains: map[string]*Chain{}, seen: make([]int, n)}
}

// add goes back along the path of a replayed window, which ends with act and at time at. lost
// is how much longer the window took on the ideal network than its busiest rank worked.
func (p *paths) add(s *sim, act int32, at, lost float64) {
	var chain []int // backwards
	returns := false
	for {
		rank := s.acts[act].rank
		if p.seen[rank] != s.number {
			p.seen[rank] = s.number
			chain = append(chain, int(rank))
		} else {
			returns = true
		}
		h, ok := s.hopBefore(rank, act)
		p.ranks[rank] += at - h.at
		if !ok {
			break
		}
		p.calls[s.acts[h.act].call] += h.waited
		p.waited += h.waited
		act, at = h.from, h.at
	}
	p.lost += lost
	slices.Reverse(chain)
	p.addChain(chain, returns, lost)
}

// hopBefore takes the last wait of a rank before act off its list.
func (s *sim) hopBefore(rank, act int32) (hop, bool) {
	hops := s.hops[rank]
	for n := len(hops); n > 0; n-- {
		if h := hops[n-1]; h.act < act {
			s.hops[rank] = hops[:n-1]
			return h, true
		}
	}
	s.hops[rank] = hops[:0]
	return hop{}, false
}

func (p *paths) addChain(ranks []int, returns bool, lost float64) {
	if len(ranks) < 2 || lost <= 0 {
		return
	}
	if returns {
		slices.Sort(ranks)
	}
	chain := &Chain{Ranks: ranks[:min(len(ranks), chainRanks)], Length: len(ranks), Returns: returns}
	key := fmt.Sprint(*chain)
	if p.chains[key] == nil && len(p.chains) < chainsMost {
		p.chains[key] = chain
	}
	if c := p.chains[key]; c != nil {
		c.Share += lost
	}
}

// result is the path of all windows, whose ideal time is whole, and in which ranks lost so much
// by waiting for each other's work.
func (p *paths) result(whole, lost float64) Path {
	var out Path
	if lost > 0 {
		out.Inside = min(p.lost/lost, 1)
	}
	for rank, ns := range p.ranks {
		if ns > 0 {
			out.Ranks = append(out.Ranks, RankShare{rank, ns / whole})
		}
	}
	slices.SortStableFunc(out.Ranks, func(a, b RankShare) int { return cmp.Compare(b.Share, a.Share) })
	out.Ranks = out.Ranks[:min(len(out.Ranks), pathRanks)]
	for _, call := range slices.Sorted(maps.Keys(p.calls)) {
		out.Calls = append(out.Calls, CallShare{int(call), p.calls[call] / p.waited})
	}
	slices.SortStableFunc(out.Calls, func(a, b CallShare) int { return cmp.Compare(b.Share, a.Share) })
	out.Calls = out.Calls[:min(len(out.Calls), pathCalls)]
	out.Chain = p.worstChain()
	return out
}

func (p *paths) worstChain() Chain {
	var worst Chain
	for _, key := range slices.Sorted(maps.Keys(p.chains)) {
		if c := p.chains[key]; c.Share > worst.Share {
			worst = *c
		}
	}
	worst.Share /= max(p.lost, 1)
	return worst
}
