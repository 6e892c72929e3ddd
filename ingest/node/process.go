package node

import (
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// process is one process of a record on its way through the fold. Times are ns of
// CLOCK_MONOTONIC of the node.
type process struct {
	slot    *record.Slot
	threads []*record.Slot // further threads that called MPI
	line    timeline
	node    string
	step    string

	claimed    uint64
	start, end uint64 // MPI_Init left, MPI_Finalize entered or what stands for it
	lastSign   uint64 // its last sign of life
	ending     string
	assumed    bool    // end is a guess
	openmp     *openMP // nil: it used none
	hybrid     bool    // a rank of its world used OpenMP
	odd        bool    // one of its numbers had to be bounded
	drift      bool
	live       bool     // it runs, and ends for this fold at an edge (cut)
	now        bool     // … or when it was read (upToNow)
	whole      *process // if this one covers only the time since `before` (Live): the same process with all of its time; else nil
	before     *process

	elapsed, useful, mpi, io time.Duration // useful + mpi + io = elapsed
}

// newProcess converts a slot's times, except its end.
func newProcess(s *record.Slot, line timeline, now uint64) *process {
	p := &process{slot: s, line: line, odd: s.Odd, claimed: line.at.Mono}
	p.start = p.when(s.InitLeft, p.claimed, now)
	p.lastSign = max(p.claimed, p.start)
	open := s.Open
	if s.OpenCall < 0 { // it is of a call that was left; right after MPI_Init it lies before the claim
		open = 0
	}
	for _, t := range []uint64{open, s.Last, s.FiniEnter, s.FiniLeft, s.FinishedAt.Ticks} {
		p.lastSign = max(p.lastSign, p.when(t, p.claimed, now))
	}
	return p
}

// when is the moment ticks, bounded to [from, to]; 0 stays 0.
func (p *process) when(ticks, from, to uint64) uint64 {
	if ticks == 0 {
		return 0
	}
	at := p.line.mono(ticks)
	if bounded := max(min(at, to), from); bounded != at {
		// Two clocks are never read at the same moment: a small difference is normal.
		p.odd = p.odd || max(at, bounded)-min(at, bounded) > uint64(time.Millisecond)
		return bounded
	}
	return at
}

// measured reports whether the process has a rank and a region.
func (p *process) measured() bool {
	return p.slot.Kind == record.KindProcess && p.start != 0 && p.slot.Rank >= 0 && p.slot.Size > 0
}

// close sets the end, and how the region was spent. The time since the last stamp counts as
// useful, or as the MPI call that the process never left.
func (p *process) close(end uint64, ending string, assumed bool) {
	p.endAt(end, ending, assumed)
	mpi, io := p.line.of(p.slot.MPITicks), p.line.of(p.slot.IOTicks)
	if p.slot.FiniEnter == 0 {
		open := uint64(p.openTime())
		if record.FuncClass(p.slot.OpenCall) == record.ClassIO {
			io += open
		} else {
			mpi += open
		}
	}
	p.spend(mpi, io)
}

func (p *process) endAt(end uint64, ending string, assumed bool) {
	p.end = max(end, p.start)
	p.ending, p.assumed = ending, assumed
	p.elapsed = time.Duration(p.end - p.start)
}

// spend sets how much of the region was in MPI and in its files, ns.
func (p *process) spend(mpi, io uint64) {
	p.mpi = p.bound(mpi)
	p.io = p.bound(uint64(p.mpi)+io) - p.mpi
	p.useful = p.elapsed - p.mpi - p.io
}

// openTime is how long the process had been in the call that it never left.
func (p *process) openTime() time.Duration {
	if p.slot.OpenCall < 0 || p.slot.Open == 0 {
		return 0
	}
	open := p.line.mono(p.slot.Open)
	return time.Duration(p.end - min(max(open, p.start), p.end))
}

// bound is ns, but no more than the process's region.
func (p *process) bound(ns uint64) time.Duration {
	limit := uint64(p.elapsed)
	if ns > limit {
		p.odd = p.odd || float64(ns-limit) > 1e-3*float64(limit)+float64(time.Millisecond)
		return p.elapsed
	}
	return time.Duration(ns)
}

// addCalls adds the calls of the process's threads to sums, by row and by class.
func (p *process) addCalls(sums *callSums) {
	switch {
	case p.whole != nil:
		sums.addSince(p.whole, p.before)
		return
	case p.live && !p.now: // they are of another moment
		return
	}
	sums.add(p, p.slot, p.line)
	if open := p.slot.OpenCall; open >= 0 && p.slot.FiniEnter == 0 {
		left := job.Call{Time: p.openTime()}
		sums.funcs.at(open).Add(left)
		sums.classes.at(int(record.FuncClass(open))).Add(left)
	}
	for _, t := range p.threads {
		sums.add(p, t, p.line)
	}
}

// callSums adds up functions, classes and histograms.
type callSums struct {
	funcs, classes  callsByNumber
	histP2P, histCo [record.Bins]uint64
}

type callsByNumber map[int]*job.Call

func (c callsByNumber) at(number int) *job.Call {
	if c[number] == nil {
		c[number] = &job.Call{}
	}
	return c[number]
}

func newCallSums() *callSums {
	return &callSums{funcs: callsByNumber{}, classes: callsByNumber{}}
}

func (c *callSums) add(p *process, s *record.Slot, line timeline) {
	into := func(sums callsByNumber, from []record.Func) {
		for _, f := range from {
			sums.at(f.Number).Add(job.Call{Count: f.Count, Time: p.bound(line.of(f.Ticks)),
				Sent: f.Sent, Received: f.Received, Largest: f.Largest})
		}
	}
	into(c.funcs, s.Funcs)
	into(c.classes, s.Classes)
	for b := range record.Bins {
		c.histP2P[b] = job.AddCount(c.histP2P[b], s.HistP2P[b])
		c.histCo[b] = job.AddCount(c.histCo[b], s.HistColl[b])
	}
}

// addSince adds what a process has called since an earlier reading of it.
func (c *callSums) addSince(now, before *process) {
	is, was := newCallSums(), newCallSums()
	now.addCalls(is)
	before.addCalls(was)
	for _, sums := range []struct{ to, is, was callsByNumber }{{c.funcs, is.funcs, was.funcs}, {c.classes, is.classes, was.classes}} {
		for number, call := range sums.is {
			old := sums.was.at(number)
			call.Count -= min(old.Count, call.Count)
			call.Time -= min(old.Time, call.Time)
			call.Sent -= min(old.Sent, call.Sent)
			call.Received -= min(old.Received, call.Received)
			if call.Count > 0 || call.Time > 0 {
				sums.to.at(number).Add(*call)
			}
		}
	}
}

// countersOf adds up the counters of a node's ranks; nil if no rank counted.
func countersOf(procs []*process) *job.Counters {
	var sum job.Counters
	for _, p := range procs {
		if p.slot.Counted {
			sum.Add(job.Counters{Ranks: 1, Instructions: p.slot.Instructions, Cycles: p.slot.Cycles, Useful: p.countedTime()})
		}
	}
	if sum.Ranks == 0 {
		return nil
	}
	return &sum
}

// countedTime is the useful time that the counters cover. A rank that was killed while it
// computed did not read them again.
func (p *process) countedTime() time.Duration {
	if p.slot.FiniEnter != 0 || p.slot.OpenCall >= 0 {
		return p.useful
	}
	last := min(max(p.line.mono(p.slot.Last), p.start), p.end)
	return max(p.useful-time.Duration(p.end-last), 0)
}

// openMP sums up the OpenMP of a process.
type openMP struct {
	job.OpenMP
	awake time.Duration // how long its threads stay awake after a region
}

// ownEnding is what a process itself said about its end, "" if nothing. MPICH's MPI_Abort may
// return; a program that then goes on to MPI_Finalize has aborted nevertheless.
func ownEnding(s *record.Slot) string {
	switch {
	case s.Ending == record.EndingAbort:
		return fmt.Sprintf("MPI_Abort %d", s.EndingCode)
	case s.State == record.StateFinalized || s.FiniEnter != 0 || s.Ending == record.EndingFinalize:
		return job.EndingFinalized
	case s.Ending == record.EndingExit && s.WithoutMPI:
		return fmt.Sprintf("exit %d", s.EndingCode)
	case s.Ending == record.EndingExit:
		return fmt.Sprintf("exit %d without MPI_Finalize", s.EndingCode)
	case s.Ending == record.EndingExec:
		return job.EndingExec
	}
	return ""
}

// finishWorld decides how and when every process of a world ended: by its own stamp, else by
// what root saw, else by a guess, which is marked as one. False: its ranks run, and it has no figures
// yet.
func (f *folder) finishWorld(w *world) bool {
	var running []*process
	for _, p := range w.procs {
		end, ending, assumed := f.endOf(p, w)
		if f.isLive() && ending == job.EndingRunning {
			running = append(running, p)
			continue
		}
		p.close(min(end, f.now), ending, assumed)
		f.torn = f.torn || f.isLive() && !p.slot.Still // it ends just now
	}
	return len(running) == 0 || f.cut(running)
}

func (f *folder) endOf(p *process, w *world) (end uint64, ending string, assumed bool) {
	own := ownEnding(p.slot)
	for _, stamp := range []uint64{p.slot.FiniEnter, p.slot.FinishedAt.Ticks} {
		if stamp != 0 && own != "" {
			return p.when(stamp, p.start, f.now), own, false
		}
	}
	if next, ok := f.becameAnother(p); ok && own == "" {
		return next, job.EndingExec, false
	}
	if e, ok := f.facts.exitOf(p.slot.PID, p.claimed); ok {
		if own == "" {
			own = statusText(e.status)
		}
		return max(e.gone(), p.lastSign), own, false
	}
	if (f.facts == nil || f.facts.live != nil) && f.alive(p.slot.PID, p) {
		return f.now, job.EndingRunning, false
	}
	if f.facts != nil && f.facts.live != nil && f.machine.alive != nil && f.sameBoot && own == "" && !f.alive(p.slot.PPID, p) {
		return p.lastSign, job.EndingAssumed, true
	}
	end = f.guessEnd(p, w)
	if f.isLive() && own == "" && end > f.now {
		return f.now, job.EndingRunning, false
	}
	if own == "" {
		own = job.EndingAssumed
	}
	return end, own, true
}

// becameAnother returns when a process of the same pid and parent claimed a slot after p: p had called
// exec, and the new program called MPI_Init again. A claim before p's last sign of life is another
// process's: in containers, each process may have a pid namespace of its own, and all of them one pid.
// If the new program never calls MPI, p counts as useful until Slurm sees the process end.
func (f *folder) becameAnother(p *process) (claimed uint64, ok bool) {
	return after(f.lives[lifeOf(p.slot)], p.lastSign)
}

// alive reports whether the process pid, p or its parent, is there. In a pid namespace of its own, a
// rank knows pids that are other processes here. Its parent's is mostly a low one, and low pids are in
// use, so such a rank does not count as gone.
func (f *folder) alive(pid int, p *process) bool {
	return f.machine.alive != nil && f.sameBoot && pid > 0 && f.machine.alive(pid, p.claimed)
}

// lateness is roughly how long after its ranks a launcher's daemon ends. Open MPI 4's waits a
// second between SIGTERM and SIGKILL, and sometimes another: it was seen to end 1.0 and 2.0 s
// after killed ranks. The value between them is within a second of both. From Open MPI 5 on it
// ends at once or after half a second. Hydra's ends at once.
func lateness(p *process) uint64 {
	if p.slot.Family != "Open MPI" {
		return 0
	}
	major := 0
	fmt.Sscanf(p.slot.MPIVersion, "Open MPI v%d", &major)
	if major >= 5 {
		return uint64(250 * time.Millisecond)
	}
	return uint64(1250 * time.Millisecond)
}

// guessEnd guesses when a process ended that nobody saw end:
//   - when its launcher's daemon ended, by the daemon's own note or Slurm's: at most about a
//     second late;
//   - else when its step ended, or earlier when the next world of that step began: launchers
//     run one after the other unless they are seen to overlap;
//   - in a record made by hand, at the last sign of life of its world.
func (f *folder) guessEnd(p *process, w *world) uint64 {
	if gone := p.slot.Gone; gone >= p.lastSign {
		return max(gone-lateness(p), p.lastSign)
	}
	if f.facts == nil {
		return w.lastSign
	}
	if e, ok := f.facts.exitOf(p.slot.PPID, p.lastSign); ok {
		return max(e.gone()-lateness(p), p.lastSign)
	}
	end := f.facts.end
	if stepEnd := f.facts.steps[p.step]; stepEnd != 0 {
		end = min(end, stepEnd)
	}
	if claim, ok := after(f.claims[p.step], w.lastSign); ok {
		end = min(end, claim)
	}
	return max(end, p.lastSign)
}

// after returns the first moment, of ascending ones, that is later than the given one.
func after(moments []uint64, one uint64) (first uint64, ok bool) {
	if i, _ := slices.BinarySearch(moments, one+1); i < len(moments) {
		return moments[i], true
	}
	return 0, false
}
