package node

import (
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

	elapsed, useful, mpi, io time.Duration // useful + mpi + io = elapsed
}

// newProcess converts a slot's times, except its end.
func newProcess(s *record.Slot, line timeline, now uint64) *process {
	p := &process{slot: s, line: line, odd: s.Odd, claimed: line.at.Mono}
	p.start = p.when(s.InitLeft, p.claimed, now)
	p.lastSign = max(p.claimed, p.start)
	open := s.Open
	if s.OpenCall < 0 { // a call that was left: after MPI_Init this is from before the claim
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

// measured tells whether the process has a rank and a region.
func (p *process) measured() bool {
	return p.slot.Kind == record.KindProcess && p.start != 0 && p.slot.Rank >= 0 && p.slot.Size > 0
}

// close sets the end, and how the region was spent. The time since the last stamp counts as
// useful, or as the MPI call that the process never left.
func (p *process) close(end uint64, ending string, assumed bool) {
	p.end = max(end, p.start)
	p.ending, p.assumed = ending, assumed
	p.elapsed = time.Duration(p.end - p.start)
	mpi, io := p.line.of(p.slot.MPITicks), p.line.of(p.slot.IOTicks)
	if p.slot.FiniEnter == 0 {
		open := uint64(p.openTime())
		if record.FuncClass(p.slot.OpenCall) == record.ClassIO {
			io += open
		} else {
			mpi += open
		}
	}
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

// openMP is the OpenMP of a process.
type openMP struct {
	job.OpenMP
	awake time.Duration // how long its threads are awake after a region
}
