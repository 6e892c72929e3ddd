package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

const (
	pathRanks  = 8    // that are reported, most first
	pathCalls  = 5    // likewise
	chainRanks = 8    // of a chain; longer ones are cut
	chainsMost = 1000 // different ones that are counted separately
)

// paths adds up the critical paths of windows.
type paths struct {
	ranks  []float64                // ns on the path
	calls  map[uint16]float64       // ns waited, by row of mpi_calls.def
	waited float64                  // ns, in all of them
	chains map[string]*job.WaitPath // only the chain; its share is ns lost
	lost   float64
	links  *links
	seen   []int // of ranks: the window in which the chain had it last
}

func newPaths(n, blocks int) *paths {
	return &paths{ranks: make([]float64, n), calls: map[uint16]float64{}, chains: map[string]*job.WaitPath{}, links: newLinks(blocks), seen: make([]int, n)}
}

// add goes back along the path of a replayed window of a block, which ends with act and at time at.
// lost is how much longer the window took on the ideal network than its busiest rank worked.
func (p *paths) add(s *sim, block int, act int32, at, lost float64) {
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
		p.links.add(link{s.callSite(h.act), s.callSite(h.from)}, block, h.waited)
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
	chain := &job.WaitPath{Chain: ranks[:min(len(ranks), chainRanks)], ChainLength: len(ranks), ChainReturns: returns}
	key := fmt.Sprint(chain.Chain, len(ranks), returns)
	if p.chains[key] == nil && len(p.chains) < chainsMost {
		p.chains[key] = chain
	}
	if c := p.chains[key]; c != nil {
		c.ChainShare += lost
	}
}

// result is the path of all windows. whole is their ideal time, and lost what ranks lost in it by
// waiting for each other's work (I less the useful time of the busiest rank).
func (p *paths) result(whole, lost float64) *job.WaitPath {
	out := p.worstChain()
	if lost > 0 {
		out.Inside = min(p.lost/lost, 1)
	}
	for rank, ns := range p.ranks {
		if ns > 0 {
			out.Ranks = append(out.Ranks, job.PathShare{Rank: rank, Share: ns / whole})
		}
	}
	for _, call := range slices.Sorted(maps.Keys(p.calls)) {
		out.Calls = append(out.Calls, job.PathShare{Call: record.FuncName(int(call)), Share: p.calls[call] / p.waited})
	}
	out.Ranks, out.Calls = largest(out.Ranks, pathRanks), largest(out.Calls, pathCalls)
	return &out
}

// largest are the n largest shares, the largest first.
func largest(shares []job.PathShare, n int) []job.PathShare {
	slices.SortStableFunc(shares, func(a, b job.PathShare) int { return cmp.Compare(b.Share, a.Share) })
	return shares[:min(len(shares), n)]
}

// worstChain is the chain in which most of the time inside windows was lost.
func (p *paths) worstChain() job.WaitPath {
	var worst job.WaitPath
	for _, key := range slices.Sorted(maps.Keys(p.chains)) {
		if c := p.chains[key]; c.ChainShare > worst.ChainShare {
			worst = *c
		}
	}
	worst.ChainShare /= max(p.lost, 1)
	return worst
}
