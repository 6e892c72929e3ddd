package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/ingest/when"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// execution makes this node's part of an execution, from a world whose processes are closed.
func (f *folder) execution(w *world, boot string) job.Execution {
	slices.SortFunc(w.procs, func(a, b *process) int { return cmp.Compare(a.slot.Rank, b.slot.Rank) })
	e := f.describe(w)
	sums := newCallSums()
	byNode := map[string][]*process{}
	for _, p := range w.procs {
		p.addCalls(sums)
		byNode[p.node] = append(byNode[p.node], p)
		e.Start = when.First(e.Start, p.line.real(p.start))
		e.End = when.Last(e.End, p.line.real(p.end))
		e.Endings[p.ending]++
		rank := rankOf(p)
		p.openmp = f.openmp.of(p)
		if p.openmp != nil && (p.live || p.whole != nil) {
			p.openmp.OpenMP = job.OpenMP{Threads: p.openmp.Threads, Why: whileRunning}
		}
		if p.openmp != nil {
			rank.OpenMP = &p.openmp.OpenMP
		}
		e.Slowest = append(e.Slowest, rank)
	}
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		share := nodeShare(node, byNode[node])
		share.Threads = threadsOf(byNode[node])
		share.Run = w.run(byNode[node])
		share.Load = loadOf(byNode[node], f.machine.OnlineCPUs)
		share.BootID = boot
		if f.sameBoot {
			share.OnlineCPUs, share.Hardware, share.ClockError = f.machine.OnlineCPUs, f.machine.Hardware(), f.machine.clockError
		}
		e.Nodes = append(e.Nodes, share)
	}
	e.Slowest = job.Slowest(e.Slowest)
	e.Endings = job.CutEndings(e.Endings)
	f.listCalls(&e, sums)
	hybrid := slices.ContainsFunc(w.procs, func(p *process) bool { return p.openmp != nil })
	for _, p := range w.procs {
		p.hybrid = hybrid
	}
	w.tellCourse(&e)
	e.Places = placesOf(w.procs)
	f.listSections(&e, w)
	e.Windows = f.windows(w, &e)
	e.Warnings = doubt.MergeWarnings(e.Warnings, doubts(w))
	return e
}

// describe fills in what all ranks have in common, from the first one's slot.
func (f *folder) describe(w *world) job.Execution {
	s := w.procs[0].slot
	e := job.Execution{
		Key: w.key, KeyFrom: w.from, Steps: stepsOf(w), Size: w.size, Spawned: w.spawned,
		MPI: s.Family, MPIVersion: s.MPIVersion, Executable: s.Exe, BuildID: s.BuildID,
		CPUsPerTask: max(s.Claims.CPUsPerTask, 0), OMPThreads: max(s.Claims.OMPThreads, 0),
		Endings: map[string]int{},
	}
	if !s.WithoutMPI {
		e.ThreadLevel = record.ThreadLevelName(s.ThreadLevel)
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
func nodeShare(node string, procs []*process) job.NodeShare {
	n := job.NodeShare{Node: node, Ranks: len(procs)}
	var ids []int
	for _, p := range procs {
		n.CPUs = max(n.CPUs, p.slot.CPUs)
		n.Useful = job.AddTime(n.Useful, p.useful)
		n.MPI = job.AddTime(n.MPI, p.mpi)
		n.IO = job.AddTime(n.IO, p.io)
		n.ElapsedSum = job.AddTime(n.ElapsedSum, p.elapsed)
		n.UsefulMax = max(n.UsefulMax, p.useful)
		n.ElapsedMax = max(n.ElapsedMax, p.elapsed)
		ids = append(ids, p.slot.Rank)
	}
	n.Stuck = stuck(procs)
	n.Counters = countersOf(procs)
	n.RankIDs = slurmid.FormatRanges(ids)
	for _, p := range procs {
		n.UsefulShare = append(n.UsefulShare, shareByte(p.useful, n.ElapsedMax))
		n.MPIShare = append(n.MPIShare, shareByte(p.mpi, n.ElapsedMax))
	}
	return n
}

// stuck is how long at the end all processes were in calls that they never left.
func stuck(procs []*process) time.Duration {
	least := procs[0].openTime()
	for _, p := range procs {
		if p.slot.FiniEnter != 0 || p.live {
			return 0
		}
		least = min(least, p.openTime())
	}
	return least
}

// shareByte is 255 * part / whole, rounded.
func shareByte(part, whole time.Duration) byte {
	if whole <= 0 {
		return 0
	}
	return byte(255*(float64(part)/float64(whole)) + 0.5)
}

func rankOf(p *process) job.Rank {
	return job.Rank{Rank: p.slot.Rank, Node: p.node, PID: p.slot.PID,
		Elapsed: p.elapsed, Useful: p.useful, MPI: p.mpi, Ending: p.ending}
}

// listCalls writes the sums as lists, most time first.
func (f *folder) listCalls(e *job.Execution, sums *callSums) {
	e.Classes = callList(sums.classes, func(n int) string { return record.Class(n).String() })
	if f.calls += len(sums.funcs); f.calls > mostCalls {
		f.warn.Note(doubt.WarnCallsCut)
	} else {
		e.Calls = callList(sums.funcs, record.FuncName)
	}
	e.HistP2P, e.HistCol = trimHist(sums.histP2P[:]), trimHist(sums.histCo[:])
}

// trimHist cuts off the empty bins at the end.
func trimHist(h []uint64) []uint64 {
	n := len(h)
	for n > 0 && h[n-1] == 0 {
		n--
	}
	return slices.Clone(h[:n])
}

func callList(sums callsByNumber, name func(int) string) []job.Call {
	var out []job.Call
	for number, c := range sums {
		c.Name = name(number)
		out = append(out, *c)
	}
	job.SortCalls(out)
	return out
}

// doubts are the warnings about the ranks of one world.
func doubts(w *world) []doubt.Warning {
	var warn doubt.Warnings
	first := w.procs[0].slot
	for _, p := range w.procs {
		notes := map[string]bool{
			doubt.WarnTorn:       p.slot.Torn && p.ending != job.EndingRunning,
			doubt.WarnOdd:        p.odd,
			doubt.WarnClockDrift: p.drift,
			doubt.WarnAssumedEnd: p.assumed,
			doubt.WarnRunning:    p.ending == job.EndingRunning,
			doubt.WarnNoTime:     p.elapsed == 0,
			doubt.WarnLeft:       p.slot.Left,
			doubt.WarnNoFinalize: !p.assumed && p.ending != job.EndingRunning && p.ending != job.EndingFinalized && !p.slot.WithoutMPI,
			doubt.WarnThreads:    len(p.threads) > 0,
		}
		for code, holds := range notes {
			if holds {
				warn.Note(code)
			}
		}
		if p.slot.Exe != first.Exe || p.slot.BuildID != first.BuildID {
			warn.Add(doubt.Warning{Code: doubt.WarnExecutables})
		}
	}
	if singleton(first) {
		warn.Note(doubt.WarnSingletons)
	}
	return warn.List()
}

// singleton says that a process is alone in its world although its step started several. Ranks
// that a launcher other than srun started are none: their claims are those of the launcher's
// own step. Programs without MPI mean to be alone.
func singleton(s *record.Slot) bool {
	return s.Size == 1 && !s.WithoutMPI && !s.Spawned && s.Claims.Step >= 0 && s.Claims.NTasks > 1
}

// mostCalls bounds the rows in all Execution.Calls of a report: the report of 5,000 mpiruns
// must fit into the epilog's memory.
const mostCalls = 50_000

// world is this node's part of one MPI_COMM_WORLD.
type world struct {
	key, from string
	size      int
	spawned   bool
	start     uint64 // of the first rank, ns
	lastSign  uint64
	places    []place
	procs     []*process
}

// worldKey names the world of p, the same text on every node.
func worldKey(p *process) (key, from string) {
	s := p.slot
	names := map[record.WorldFrom]string{record.WorldPMIX: "pmix", record.WorldHydra: "hydra", record.WorldPMI: "pmi"}
	if name := names[s.WorldFrom]; name != "" && s.World != "" {
		return name + ":" + s.World, name
	}
	return fmt.Sprintf("%s:%s:%d", assemble.StartKey, p.step, s.Size), assemble.StartKey
}

// groupWorlds sorts processes into worlds. Within one key, a rank that comes a second time, or
// that started much later, belongs to a later world.
func groupWorlds(procs []*process) []*world {
	slices.SortStableFunc(procs, func(a, b *process) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.slot.Rank, b.slot.Rank), cmp.Compare(a.slot.Index, b.slot.Index))
	})
	byKey, byParent := map[string]*worldList{}, map[string]*worldList{}
	var all []*world
	for _, p := range procs {
		key, from := worldKey(p)
		id := key + "\x00" + strconv.Itoa(p.slot.Size) + strconv.FormatBool(p.slot.Spawned)
		same, siblings := listOf(byKey, id), listOf(byParent, id+"\x00"+strconv.Itoa(p.slot.PPID))
		w := pickWorld(siblings, same, p, assemble.WindowOf(from))
		if w == nil {
			w = &world{key: key, from: from, size: p.slot.Size, spawned: p.slot.Spawned, start: p.start}
			same.add(w)
			siblings.add(w)
			all = append(all, w)
		}
		for _, place := range w.places {
			place.list.takes(place.at, p.slot.Rank)
		}
		w.lastSign = max(w.lastSign, p.lastSign)
		w.procs = append(w.procs, p)
	}
	return all
}

// pickWorld is the latest world that p can belong to, preferably one with the same parent.
func pickWorld(siblings, same *worldList, p *process, window time.Duration) *world {
	if w := siblings.pick(p, window); w != nil {
		return w
	}
	return same.pick(p, window)
}

// worldList lists worlds in the order of their starts. A user's record may hold a great many worlds
// that all have the same rank. before is a chain that skips these; each walk shortens it.
type worldList struct {
	worlds []*world
	before map[int]map[int]int // by rank: for a world that has it, an earlier one to try; -1: none
}

// place is a world's index in a list.
type place struct {
	list *worldList
	at   int
}

func listOf(lists map[string]*worldList, id string) *worldList {
	if lists[id] == nil {
		lists[id] = &worldList{before: map[int]map[int]int{}}
	}
	return lists[id]
}

func (l *worldList) add(w *world) {
	w.places = append(w.places, place{l, len(l.worlds)})
	l.worlds = append(l.worlds, w)
}

// takes notes that a world has a rank.
func (l *worldList) takes(at, rank int) {
	if l.before[rank] == nil {
		l.before[rank] = map[int]int{}
	}
	l.before[rank][at] = at - 1
}

// pick is the latest world that lacks p's rank and began at most window before p; nil: none.
func (l *worldList) pick(p *process, window time.Duration) *world {
	before, last := l.before[p.slot.Rank], len(l.worlds)-1
	at := last
	for {
		earlier, has := before[at]
		if !has {
			break
		}
		at = earlier
	}
	for last != at {
		before[last], last = at, before[last]
	}
	if at < 0 || p.start-l.worlds[at].start > uint64(window) {
		return nil
	}
	return l.worlds[at]
}

// noRankZero is Execution.InputNote without rank 0: only rank 0 reads what identifies the workload.
const noRankZero = "rank 0 left no record"

// inputNotes say why an input is not known, for Execution.InputNote.
var inputNotes = map[record.Input]string{
	record.InputNotLooked:  "libjobeff.so did not look: it is an older one, or there was no /proc",
	record.InputNone:       "no argument names a file",
	record.InputMany:       "the arguments name more than 16 files",
	record.InputLate:       "the files were not read within 50 ms",
	record.InputUnreadable: "a file that the arguments name could not be read",
	record.InputInUse:      "a file that the arguments name was open for changes, or standard input",
	record.InputFUSE:       "a file that the arguments name is on a FUSE file system, where nothing is read",
	record.InputLong:       "the command line is longer than 64 KiB",
}

// tellWorkload fills in what identifies the workload, from the lowest rank on this node. Merging
// keeps that of the lowest rank of all nodes.
func (f *folder) tellWorkload(e *job.Execution, p *process) {
	s := p.slot
	e.Workload = cleanWorkload(s.Workload)
	if f.facts != nil && f.facts.workloads[p.step] != "" {
		e.Workload = f.facts.workloads[p.step]
	}
	if s.Rank != 0 {
		e.InputNote = noRankZero
		return
	}
	e.ExecutableHash, e.ArgsHash, e.Args = s.ExeHash, s.ArgsHash, s.Args
	e.InputHash, e.Inputs, e.InputNote = s.InputHash, s.Inputs, inputNotes[s.Input]
	if e.InputHash == "" && e.InputNote == "" {
		e.InputNote = inputNotes[record.InputUnreadable]
	}
}

// cleanWorkload returns a workload's name if the plugin would accept it, else "".
func cleanWorkload(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+:@/-"
	if len(name) > wire.MostWorkload || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(allowed, c) }) {
		return ""
	}
	return name
}
