package job

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"jobeff/ingest/slurmid"
	"jobeff/preload/record"
)

// This file decides which figures are possible. Its checks run at the end of a fold, when a report
// arrives, and when stored rows are read. Impossible figures are left out with WarnImpossible.

// Limits of an execution's numbers and lists. A node's fold stays far below them: only another
// program, or a record that was tampered with, goes beyond.
const (
	maxRank        = 1 << 26
	maxRankIDs     = 1 << 20 // bytes of NodeShare.RankIDs
	MostListed     = 1 << 20 // of ranks of a node, and of any list without its own limit
	MostExecutions = 20_000  // of one node and job
	MostName       = 255     // bytes of a name. An index of PostgreSQL holds keys of 2,704 bytes
	MostNumber     = 1 << 42 // of anything that is counted: sums over all that a job can have fit 64 bits
)

// Tolerance is by how much a share may exceed 1. The fold cuts each rank's times to its region,
// in whole nanoseconds. So its sums are exact, whatever the clocks did. Only what is computed
// from them is rounded: a fraction, seconds in JSON and SQL. A microsecond for each rank allows
// for sums of times that were rounded one by one.
const (
	Tolerance  = 1e-6
	roundedOff = 1e-6 // s
)

// Why figures are impossible. The texts hold no numbers, so that equal warnings are counted as one.
var (
	errNegative = errors.New("a time is negative")
	errTooLong  = errors.New("a rank computed longer than it ran")
	errTooMuch  = errors.New("ranks spent more time than passed")
	errShare    = errors.New("a share is above 100 %")
	errRanks    = errors.New("its ranks cannot be")
	ErrLists    = errors.New("a list in it is too long, or empty")
	ErrMany     = errors.New("the job has too many MPI programs")
	ErrBytes    = errors.New("the report is too large")
)

// spent is how ranks spent their time, s: what every figure is made of.
type spent struct {
	ranks                    float64
	elapsedMax, usefulMax    float64 // of one rank
	elapsed, useful, mpi, io float64 // sums over the ranks
}

// check says why the times are impossible; nil: they are possible.
func (t spent) check() error {
	switch {
	case !(min(t.ranks, t.elapsedMax, t.usefulMax, t.elapsed, t.useful, t.mpi, t.io) >= 0): // NaN, too
		return errNegative
	case !fits(t.usefulMax, t.elapsedMax, 1):
		return errTooLong
	case !fits(t.elapsed, t.ranks*t.elapsedMax, t.ranks), !fits(t.useful, t.ranks*t.usefulMax, t.ranks), !fits(t.useful+t.mpi+t.io, t.elapsed, t.ranks):
		return errTooMuch
	}
	return nil
}

// fits reports whether a part of the time of some ranks is at most the whole.
func fits(part, whole, ranks float64) bool {
	return part <= whole*(1+Tolerance)+max(ranks, 1)*roundedOff
}

// Check says why metrics are impossible; nil: they are possible.
func (m *Metrics) Check() error {
	ranks := float64(m.Ranks)
	err := spent{ranks: ranks, elapsedMax: m.Elapsed, usefulMax: m.MPI.Communication * m.Elapsed,
		elapsed: ranks * m.Elapsed, useful: m.Useful, mpi: m.MPITime, io: m.IOTime}.check()
	for _, share := range []float64{m.Parallel, m.LoadBalance, m.Communication, m.MPI.Parallel, m.MPI.LoadBalance, m.MPI.Communication,
		m.LoadBalanceIn, m.LoadBalanceOut, m.Coverage} {
		if err == nil && !(share >= 0 && share <= 1+Tolerance) {
			err = errShare
		}
	}
	if err == nil && m.Hybrid != nil {
		err = m.Hybrid.check()
	}
	return err
}

// Check says why a run is impossible; nil: it is possible.
func (r *Run) Check() error {
	cores := float64(r.Cores())
	t := spent{ranks: cores, elapsedMax: r.Elapsed, usefulMax: r.Elapsed, elapsed: cores * r.Elapsed, useful: r.Useful, mpi: r.MPITime}
	if c := r.Conditions; c != nil {
		t.usefulMax, t.io = cmp.Or(c.UsefulMax, r.Elapsed), c.IOTime
	}
	return t.check()
}

// Check says why an execution, or the part of it that a node saw, is impossible; nil: it is possible.
func (x *Execution) Check() error {
	if x.Size < 1 || x.Size > maxRank+1 {
		return errRanks
	}
	for i := range x.Nodes {
		if err := x.Nodes[i].check(x.Size); err != nil {
			return err
		}
	}
	for i := range x.Sections {
		if err := x.Sections[i].check(); err != nil {
			return err
		}
	}
	for i := range x.Slowest {
		if err := x.Slowest[i].check(x.Size); err != nil {
			return err
		}
	}
	if x.Folded != nil {
		if m := JobMetrics([]Execution{*x}); m != nil { // not what the report calls its figures
			if err := m.Check(); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(slices.Concat(x.Calls, x.Classes), func(c Call) bool { return c.Time < 0 }) {
		return errNegative
	}
	return nil
}

// check looks at one node's ranks, out of a world of size.
func (n *NodeShare) check(size int) error {
	if err := n.checkRanks(size); err != nil {
		return err
	}
	ranks, longest := float64(n.Ranks), n.ElapsedMax.Seconds()
	err := spent{ranks: ranks, elapsedMax: longest, usefulMax: n.UsefulMax.Seconds(), elapsed: cmp.Or(n.ElapsedSum.Seconds(), ranks*longest),
		useful: n.Useful.Seconds(), mpi: n.MPI.Seconds(), io: n.IO.Seconds()}.check()
	return cmp.Or(err, n.checkThreads(), n.mainInstances().check(n.Ranks))
}

// checkRanks looks at the numbers of a node's ranks.
func (n *NodeShare) checkRanks(size int) error {
	if max(len(n.UsefulShare), len(n.MPIShare)) > MostListed || n.Ranks > MostListed && n.RankIDs != "" || len(n.RankIDs) > maxRankIDs {
		return ErrLists
	}
	count := 0
	err := slurmid.EachRange(n.RankIDs, func(lo, hi int) {
		count += min(hi, size) - min(lo, size) + 1
		if hi >= size {
			count += MostListed
		}
	})
	if err != nil || n.Ranks < 0 || n.Ranks > MostNumber || n.RankIDs != "" && count != n.Ranks {
		return errRanks
	}
	return nil
}

// check looks at a section, with the sections inside it and without.
func (s *Section) check() error {
	ranks, elapsed := float64(s.Ranks), s.Elapsed.Seconds()
	whole := spent{ranks: ranks, elapsedMax: s.ElapsedMax.Seconds(), usefulMax: s.UsefulMax.Seconds(), elapsed: elapsed,
		useful: s.Useful.Seconds(), mpi: s.MPI.Seconds(), io: s.IO.Seconds()}
	own := spent{ranks: ranks, elapsedMax: s.ElapsedMax.Seconds(), usefulMax: s.ElapsedMax.Seconds(), elapsed: s.Own.Seconds(),
		useful: s.OwnUseful.Seconds(), mpi: s.OwnMPI.Seconds()}
	switch {
	case !fits(own.elapsed, elapsed, ranks):
		return errTooMuch
	case s.Ranks > MostNumber:
		return errRanks
	}
	return cmp.Or(whole.check(), own.check(), s.Instances.check(s.Ranks), s.Threads.check(s.Ranks, s.ElapsedMax))
}

// check looks at one rank, out of a world of size.
func (r *Rank) check(size int) error {
	if r.Rank < 0 || r.Rank >= size {
		return errRanks
	}
	if r.OpenMP != nil && r.OpenMP.negative() {
		return errNegative
	}
	elapsed, useful := r.Elapsed.Seconds(), r.Useful.Seconds()
	return spent{ranks: 1, elapsedMax: elapsed, usefulMax: useful, elapsed: elapsed, useful: useful, mpi: r.MPI.Seconds()}.check()
}

// negative reports whether one of the times is negative.
func (o *OpenMP) negative() bool {
	return min(o.InRegions, o.Team, o.Useful, o.UsefulMain, o.UsefulMost, o.MPI, o.MPIMain, o.IO, o.IOMain, o.Imbalance, o.Scheduling, o.Locked) < 0
}

// checkThreads says why a node's threads are impossible; nil: they are possible.
func (n *NodeShare) checkThreads() error {
	t := n.Threads
	if t == nil {
		return nil
	}
	return cmp.Or(t.check(n.Ranks, n.ElapsedMax), t.checkBusiest(n.ElapsedMax))
}

// check says why ranks cannot have had such threads; nil: they can. longest is the elapsed time of
// the rank that ran longest.
func (t *ThreadShare) check(ranks int, longest time.Duration) error {
	if t == nil {
		return nil
	}
	if t.Ranks < 0 || t.Ranks > ranks || t.Busiest < 0 || t.Busiest > ranks || t.Threads < ranks || t.ThreadsMax > mostThreads || t.Threads > ranks*t.ThreadsMax {
		return errRanks
	}
	var all time.Duration
	for _, d := range t.times() {
		if *d < 0 {
			return errNegative
		}
		all = AddTime(all, *d)
	}
	if threads := float64(t.Threads); !fits(all.Seconds(), threads*longest.Seconds(), threads) {
		return errTooMuch
	}
	if t.Busiest == ranks {
		return t.checkBusiest(longest)
	}
	return nil
}

// checkBusiest says why the busiest thread's useful time is impossible; nil: it is possible.
func (t *ThreadShare) checkBusiest(longest time.Duration) error {
	threads, elapsed := float64(t.Threads), longest.Seconds()
	return spent{ranks: threads, elapsedMax: elapsed, usefulMax: t.UsefulMax.Seconds(), elapsed: threads * elapsed, useful: t.Useful.Seconds()}.check()
}

// mostThreads bounds a rank's threads.
const mostThreads = 1 << 20

// check says why the figures are impossible; nil: they are possible.
func (h *Hybrid) check() error {
	var sum float64
	for _, part := range []float64{h.Useful, h.MPITime, h.IOTime, h.Imbalance, h.Scheduling, h.Serial} {
		if !(part >= 0) { // NaN, too
			return errNegative
		}
		sum += part
	}
	if !fits(sum, h.Span, float64(h.Threads)) {
		return errTooMuch
	}
	return nil
}

// check says why instances of so many ranks are impossible; nil: they are possible.
func (i *Instances) check(ranks int) error {
	if i == nil {
		return nil
	}
	if len(i.Kept) > record.MostInstances || i.Least > i.Most {
		return ErrLists
	}
	last := uint64(0)
	for _, one := range i.Kept {
		if one.Number <= last || one.In < 0 || one.Out < one.In || min(one.Late, one.Early) < 0 {
			return errNegative
		}
		long := timesRanks(one.Out-one.In, ranks)
		if max(one.Late, one.Early) > long || one.Late2.seconds() > one.Late.Seconds()*time.Duration(one.Out-one.In).Seconds()*(1+Tolerance) {
			return errTooMuch
		}
		last = one.Number
	}
	return nil
}

// mostInWindows bounds each list of Windows.
const mostInWindows = 64

// Possible reports whether the figures are possible for a world of size.
func (w *Windows) Possible(size int) bool {
	ok := isShare(w.Share) && min(w.Logged, w.Matched, w.Talking, w.Dropped) >= 0 && w.Talking <= w.Matched && w.Matched+w.Dropped == w.Logged &&
		len(w.Drops) <= mostInWindows && min(w.Elapsed, w.Ideal) >= 0 && isShare(w.LoadBalance) && isShare(w.Communication) && w.Serialisation.possible() && w.Transfer.possible()
	if w.WhatIf != nil {
		ok = ok && isShare(w.WhatIf.FasterNetwork) && isShare(w.WhatIf.FreeNetwork) && isShare(w.WhatIf.Balanced)
	}
	return ok && (w.Path == nil || w.Path.possible(size))
}

func (e Estimate) possible() bool {
	return isShare(e.Value) && isShare(e.Low) && isShare(e.High) && e.Low <= e.Value+Tolerance && e.Value <= e.High+Tolerance
}

func (p *WaitPath) possible(size int) bool {
	if max(len(p.Ranks), len(p.Calls), len(p.Chain)) > mostInWindows || !isShare(p.ChainShare) || !isShare(p.Inside) ||
		p.ChainLength < len(p.Chain) || p.ChainLength > size || len(p.Chain) == 1 {
		return false
	}
	for _, rank := range p.Chain {
		if rank < 0 || rank >= size {
			return false
		}
	}
	for _, list := range [][]PathShare{p.Ranks, p.Calls} {
		for _, s := range list {
			if !isShare(s.Share) || s.Rank < 0 || s.Rank >= size {
				return false
			}
		}
	}
	return max(len(p.Links), len(p.Modules)) <= mostInWindows && modulesPossible(p.Modules) &&
		!slices.ContainsFunc(p.Links, func(l WaitLink) bool {
			return !l.Share.possible() || !l.Waits.possible(len(p.Modules)) || !l.For.possible(len(p.Modules))
		})
}

func (c *CallAt) possible(modules int) bool {
	return c.Function != "" && len(c.Function) <= MostName && len(c.Frames) <= 1 && framesPossible(c.Frames, modules)
}

func isShare(f float64) bool { return f >= 0 && f <= 1+Tolerance }
