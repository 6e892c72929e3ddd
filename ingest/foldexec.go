package ingest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"jobeff/preload/record"
)

// execution makes the part of an execution that this node saw of a world whose
// processes have been closed.
func (f *folder) execution(w *world, boot string) Execution {
	slices.SortFunc(w.procs, func(a, b *process) int { return cmp.Compare(a.slot.Rank, b.slot.Rank) })
	e := f.describe(w)
	sums := newCallSums()
	byNode := map[string][]*process{}
	for _, p := range w.procs {
		p.addCalls(sums)
		byNode[p.node] = append(byNode[p.node], p)
		e.Start = firstTime(e.Start, p.line.real(p.start))
		e.End = lastTime(e.End, p.line.real(p.end))
		e.Endings[p.ending]++
		e.Slowest = append(e.Slowest, rankOf(p))
	}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		share := nodeShare(node, byNode[node])
		share.BootID = boot
		if f.sameBoot {
			share.OnlineCPUs = f.machine.OnlineCPUs
		}
		e.Nodes = append(e.Nodes, share)
	}
	e.Slowest = slowest(e.Slowest)
	e.Endings = cutEndings(e.Endings)
	f.listCalls(&e, sums)
	f.listSections(&e, w)
	e.Warnings = mergeWarnings(e.Warnings, doubts(w))
	return e
}

// describe fills in what is the same for all ranks from the first one's slot.
func (f *folder) describe(w *world) Execution {
	s := w.procs[0].slot
	e := Execution{
		Key: w.key, KeyFrom: w.from, Steps: stepsOf(w), Size: w.size, Spawned: w.spawned,
		MPI: s.Family, MPIVersion: s.MPIVersion, Executable: s.Exe, BuildID: s.BuildID,
		ThreadLevel: record.ThreadLevelName(s.ThreadLevel),
		CPUsPerTask: max(s.Claims.CPUsPerTask, 0), OMPThreads: max(s.Claims.OMPThreads, 0),
		Endings: map[string]int{},
	}
	f.tellWorkload(&e, w.procs[0])
	return e
}

func stepsOf(w *world) []string {
	var steps []string
	for _, p := range w.procs {
		if p.step != "" {
			steps = append(steps, p.step)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// nodeShare adds up the ranks of one node.
func nodeShare(node string, procs []*process) NodeShare {
	n := NodeShare{Node: node, Ranks: len(procs)}
	var ids []int
	for _, p := range procs {
		n.CPUs = max(n.CPUs, p.slot.CPUs)
		n.Useful = addTime(n.Useful, p.useful)
		n.MPI = addTime(n.MPI, p.mpi)
		n.IO = addTime(n.IO, p.io)
		n.ElapsedSum = addTime(n.ElapsedSum, p.elapsed)
		n.UsefulMax = max(n.UsefulMax, p.useful)
		n.ElapsedMax = max(n.ElapsedMax, p.elapsed)
		ids = append(ids, p.slot.Rank)
	}
	n.Counters = countersOf(procs)
	n.RankIDs = formatRanges(ids)
	for _, p := range procs {
		n.UsefulShare = append(n.UsefulShare, shareByte(p.useful, n.ElapsedMax))
		n.MPIShare = append(n.MPIShare, shareByte(p.mpi, n.ElapsedMax))
	}
	return n
}

// shareByte is 255 * part / whole, rounded.
func shareByte(part, whole time.Duration) byte {
	if whole <= 0 {
		return 0
	}
	return byte(255*(float64(part)/float64(whole)) + 0.5)
}

func rankOf(p *process) Rank {
	return Rank{Rank: p.slot.Rank, Node: p.node, PID: p.slot.PID,
		Elapsed: p.elapsed, Useful: p.useful, MPI: p.mpi, Ending: p.ending}
}

// slowest keeps the SlowestKept ranks with the most useful time, in a total order:
// whatever is merged first, the same ones stay.
func slowest(ranks []Rank) []Rank {
	slices.SortFunc(ranks, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(b.Useful, a.Useful), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID))
	})
	return slices.Clip(ranks[:min(len(ranks), SlowestKept)])
}

// cutEndings puts the rarest of too many endings under EndingOther.
func cutEndings(all map[string]int) map[string]int {
	if len(all) <= mostEndings {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	for _, name := range names[mostEndings-1:] {
		all[EndingOther] += all[name]
		delete(all, name)
	}
	return all
}

// listCalls writes the sums as lists, most time first.
func (f *folder) listCalls(e *Execution, sums *callSums) {
	e.Classes = callList(sums.classes, func(n int) string { return record.Class(n).String() })
	if f.calls += len(sums.funcs); f.calls > mostCalls {
		f.warn.note(WarnCallsCut)
	} else {
		e.Calls = callList(sums.funcs, record.FuncName)
	}
	e.HistP2P, e.HistCol = trimHist(sums.histP2P[:]), trimHist(sums.histCo[:])
}

func callList(sums callsByNumber, name func(int) string) []Call {
	var out []Call
	for number, c := range sums {
		c.Name = name(number)
		out = append(out, *c)
	}
	sortCalls(out)
	return out
}

func sortCalls(calls []Call) {
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
}

// trimHist cuts the empty bins at the end.
func trimHist(h []uint64) []uint64 {
	n := len(h)
	for n > 0 && h[n-1] == 0 {
		n--
	}
	return slices.Clone(h[:n])
}

// doubts are the warnings about the ranks of one world.
func doubts(w *world) []Warning {
	var warn warnings
	first := w.procs[0].slot
	for _, p := range w.procs {
		notes := map[string]bool{
			WarnTorn:       p.slot.Torn && p.ending != EndingRunning,
			WarnOdd:        p.odd,
			WarnClockDrift: p.drift,
			WarnAssumedEnd: p.assumed,
			WarnRunning:    p.ending == EndingRunning,
			WarnNoFinalize: !p.assumed && p.ending != EndingRunning && p.ending != EndingFinalized,
			WarnThreads:    len(p.threads) > 0,
		}
		for code, holds := range notes {
			if holds {
				warn.note(code)
			}
		}
		if p.slot.Exe != first.Exe || p.slot.BuildID != first.BuildID {
			warn.add(Warning{Code: WarnExecutables, Text: warningText[WarnExecutables]})
		}
	}
	if singleton(first) {
		warn.note(WarnSingletons)
	}
	return warn.list()
}

// singleton tells a process that its step started with others, but that is alone
// in its world. A world that a launcher other than srun started is none: there the
// claims are those of the launcher's own step.
func singleton(s *record.Slot) bool {
	return s.Size == 1 && !s.Spawned && s.Claims.Step >= 0 && s.Claims.NTasks > 1
}
