package replay

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Hop is a function of MPI that ends a wait on the critical path.
type Hop struct {
	Call  int     // row of mpi_calls.def
	Share float64 // of the hops
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
	Calls []Hop       // most first, at most pathCalls

	// Inside is how much of what ranks lose by waiting for each other's work (I less the useful
	// time of the busiest rank) is lost inside windows. The rest is lost because other ranks have
	// the most work each time.
	Inside float64
	// Chain are the ranks through which most of the time inside windows was lost: the ranks of a
	// window's path in their order, each once. ChainShare is its windows' part of that time.
	Chain      []int
	ChainShare float64
}

const (
	pathRanks  = 8
	pathCalls  = 5
	chainRanks = 8    // of a chain; longer ones are cut
	chainsMost = 1000 // different ones that are told apart
)

// paths adds up the critical paths of windows.
type paths struct {
	ranks  []float64 // ns on the path
	calls  map[uint16]int
	hops   int
	chains map[string]float64 // ranks → ns lost
	lost   float64
	seen   []int // of ranks: the window in which the chain had it last
}

func newPaths(n int) *paths {
	return &paths{ranks: make([]float64, n), calls: map[uint16]int{}, chains: map[string]float64{}, seen: make([]int, n)}
}

// add goes back along the path of a replayed window, which ends with act and at time at. lost
// is how much longer the window took on the ideal network than its busiest rank worked.
func (p *paths) add(s *sim, act int32, at, lost float64) {
	var chain []int32 // backwards
	for {
		rank := s.acts[act].rank
		if p.seen[rank] != s.number {
			p.seen[rank] = s.number
			chain = append(chain, rank)
		}
		h, ok := s.hopBefore(rank, act)
		p.ranks[rank] += at - h.at
		if !ok {
			break
		}
		p.calls[s.acts[h.act].call]++
		p.hops++
		act, at = h.from, h.at
	}
	p.lost += lost
	p.addChain(chain, lost)
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

func (p *paths) addChain(backwards []int32, lost float64) {
	if len(backwards) < 2 || lost <= 0 {
		return
	}
	var b strings.Builder
	for i, rank := range slices.Backward(backwards) {
		if len(backwards)-i > chainRanks {
			break
		}
		b.WriteString(strconv.Itoa(int(rank)))
		b.WriteByte(' ')
	}
	key := b.String()
	if _, ok := p.chains[key]; ok || len(p.chains) < chainsMost {
		p.chains[key] += lost
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
		out.Calls = append(out.Calls, Hop{int(call), float64(p.calls[call]) / float64(p.hops)})
	}
	slices.SortStableFunc(out.Calls, func(a, b Hop) int { return cmp.Compare(b.Share, a.Share) })
	out.Calls = out.Calls[:min(len(out.Calls), pathCalls)]
	out.Chain, out.ChainShare = p.worstChain()
	return out
}

func (p *paths) worstChain() (ranks []int, share float64) {
	worst := ""
	for _, key := range slices.Sorted(maps.Keys(p.chains)) {
		if worst == "" || p.chains[key] > p.chains[worst] {
			worst = key
		}
	}
	for _, text := range strings.Fields(worst) {
		rank, _ := strconv.Atoi(text) // addChain wrote it
		ranks = append(ranks, rank)
	}
	if worst != "" {
		share = p.chains[worst] / p.lost
	}
	return ranks, share
}
