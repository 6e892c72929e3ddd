package replay

import (
	"cmp"
	"slices"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

const (
	linksTold = 5    // those that took the most time
	linksMost = 1000 // different ones that are counted separately
)

// link is a wait by its two ends: the call that waits, and the call that it waits for.
type link struct{ waits, late callSite }

// callSite is a row of mpi_calls.def, and where in the code it is called: a number of choice.sites, or none.
type callSite struct {
	call uint16
	site int32
}

func (s *sim) callSite(act int32) callSite { return callSite{s.acts[act].call, s.acts[act].site} }

// links add up the waits on critical paths, ns in each block of windows.
type links struct {
	all  []float64
	each map[link][]float64
}

func newLinks(blocks int) *links { return &links{make([]float64, blocks), map[link][]float64{}} }

func (l *links) add(of link, block int, waited float64) {
	l.all[block] += waited
	if of.waits.site == none && of.late.site == none {
		return
	}
	if l.each[of] == nil && len(l.each) < linksMost {
		l.each[of] = make([]float64, len(l.all))
	}
	if blocks := l.each[of]; blocks != nil {
		blocks[block] += waited
	}
}

// share is a link's part of all waits, with the interval that blocks with windows leave.
func (l *links) share(waited []float64, blocks []sums) job.Estimate {
	part, all := sum(waited), sum(l.all)
	var left []float64
	for i := range blocks {
		if blocks[i].windows > 0 {
			left = append(left, fraction(part-waited[i], all-l.all[i]))
		}
	}
	return spread(fraction(part, all), left)
}

func sum(of []float64) (all float64) {
	for _, v := range of {
		all += v
	}
	return all
}

// fraction is part / all, from 0 to 1: differences may leave both a little wrong.
func fraction(part, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return max(min(part/all, 1), 0)
}

// tell adds to the path the links that took the most time.
func (l *links) tell(path *job.WaitPath, sites []Site, blocks []sums) {
	type told struct {
		link
		share job.Estimate
	}
	var all []told
	for of, waited := range l.each {
		all = append(all, told{of, l.share(waited, blocks)})
	}
	slices.SortFunc(all, func(a, b told) int {
		return cmp.Or(cmp.Compare(b.share.Value, a.share.Value), cmp.Compare(a.waits.site, b.waits.site), cmp.Compare(a.late.site, b.late.site),
			cmp.Compare(a.waits.call, b.waits.call), cmp.Compare(a.late.call, b.late.call))
	})
	for _, t := range all[:min(len(all), linksTold)] {
		path.Links = append(path.Links, job.WaitLink{Waits: callAt(path, sites, t.waits), For: callAt(path, sites, t.late), Share: t.share})
	}
}

func callAt(path *job.WaitPath, sites []Site, at callSite) job.CallAt {
	out := job.CallAt{Function: record.FuncName(int(at.call))}
	if at.site == none {
		return out
	}
	s := sites[at.site]
	out.Frames = []job.Frame{{Module: job.ModuleIn(&path.Modules, s.Module), Offset: s.Offset}}
	return out
}
