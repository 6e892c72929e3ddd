package node

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/preload/record"
)

// beyond says why a rank's threads have no figures.
const beyond = "more threads ran at once than its parallel regions tell"

// threadShare is what one process did with its threads (METRICS 2).
func (p *process) threadShare() job.ThreadShare {
	in := sectionTime{p.elapsed, p.mpi, p.io}
	if p.openmp == nil {
		return in.threadShare(nil)
	}
	return in.threadShare(&p.openmp.OpenMP)
}

// threadShare is what a process did with its threads in some time of its own; o is nil if it used
// no OpenMP.
func (p sectionTime) threadShare(o *job.OpenMP) job.ThreadShare {
	one := job.ThreadShare{Threads: 1, ThreadsMax: 1, Useful: p.useful(), UsefulMax: p.useful(), MPI: p.mpi, IO: p.io}
	if o == nil {
		return one
	}
	all := func(main time.Duration) time.Duration { return job.MulTime(max(main, 0), o.Threads) }
	serial := max(p.useful()-max(o.InRegions-o.MPIMain-o.IOMain, 0), 0) // only the main thread computed then
	t := job.ThreadShare{Ranks: 1, Threads: o.Threads, ThreadsMax: o.Threads, Why: o.Why,
		Useful: serial + o.Useful, UsefulMax: min(max(serial+o.UsefulMain, o.UsefulMost), p.all),
		MPI: job.AddTime(o.MPI, all(p.mpi-o.MPIMain)), IO: job.AddTime(o.IO, all(p.io-o.IOMain)),
		Imbalance: o.Imbalance, Scheduling: o.Scheduling + o.Locked}
	whole, known := all(p.all), time.Duration(0)
	for _, part := range []time.Duration{t.Useful, t.MPI, t.IO, t.Imbalance, t.Scheduling} {
		known = job.AddTime(known, part)
	}
	t.Serial = whole - known
	if over := -t.Serial; over > whole/100 {
		t.Why = beyond
	} else if over > 0 { // two threads do not read the clock at one moment
		t.Serial = 0
		for _, part := range []*time.Duration{&t.Imbalance, &t.Scheduling, &t.MPI, &t.Useful} {
			less := min(over, *part)
			*part, over = *part-less, over-less
		}
	}
	if t.Why != "" { // only how many there were is known
		one.Ranks, one.Threads, one.ThreadsMax, one.Why = 1, o.Threads, o.Threads, t.Why
		return one
	}
	return t
}

// notWhole says why the threads of a section have no figures.
const notWhole = "not all of its threads' time in the section is known"

// sectionThreads is what the threads of a process did in a section; nil if no rank of the world
// used OpenMP.
func (p *process) sectionThreads(r *rankSection) *job.ThreadShare {
	if !p.hybrid {
		return nil
	}
	if p.openmp == nil {
		t := r.whole.threadShare(nil)
		t.Busiest = 1
		return &t
	}
	o, busiest := job.OpenMP{Threads: p.openmp.Threads, Why: p.openmp.Why}, 0
	if r.threads == nil || !r.threads.Whole || r.open || p.openmp.Others > 0 {
		o.Why = notWhole
	} else {
		long := func(ticks uint64) time.Duration { return time.Duration(p.line.of(ticks)) }
		t := r.threads
		o.InRegions, o.MPIMain, o.IOMain, o.Team = long(t.Region), long(t.RegionMPI), long(t.RegionIO), long(t.Team)
		o.Useful, o.MPI, o.IO, o.Scheduling, o.Locked = long(t.Useful), long(t.MPI), long(t.IO), long(t.Scheduling), long(t.Locked)
		o.Imbalance = max(o.Team-o.Useful-o.MPI-o.IO-o.Scheduling-o.Locked, 0)
		if t.Busiest {
			o.UsefulMain, o.UsefulMost, busiest = long(t.UsefulMain), long(t.UsefulMost), 1
		}
	}
	share := r.whole.threadShare(&o)
	share.Busiest = busiest
	return &share
}

// threadsOf adds up the processes of a node; nil where none used OpenMP.
func threadsOf(procs []*process) *job.ThreadShare {
	var sum job.ThreadShare
	for _, p := range procs {
		t := p.threadShare()
		sum.Add(&t)
	}
	if sum.Ranks == 0 {
		return nil
	}
	return &sum
}

// openMPSlots are the slots of OpenMP threads of a record, by their process.
type openMPSlots map[threadsOwner][]*record.Slot

// threadsOwner is a process's pid, and the ticks at which it claimed its slot.
type threadsOwner struct {
	pid     int
	claimed uint64
}

func (o openMPSlots) add(s *record.Slot) {
	of := threadsOwner{s.OpenMP.PID, s.OpenMP.Process}
	o[of] = append(o[of], s)
}

// signOfLife notes that a process was still alive when a thread's state changed last.
func (o openMPSlots) signOfLife(p *process, now uint64) {
	if sum := record.OpenMPOf(p.slot, p.threads, o[threadsOwner{p.slot.PID, p.slot.ClaimedAt.Ticks}], 0); sum != nil {
		p.lastSign = max(p.lastSign, p.when(sum.Last, p.claimed, now))
	}
}

// of sums up the OpenMP of a process that is closed; nil if it used none.
func (o openMPSlots) of(p *process) *openMP {
	sum := record.OpenMPOf(p.slot, p.threads, o[threadsOwner{p.slot.PID, p.slot.ClaimedAt.Ticks}], p.line.ticksAt(p.end))
	if sum == nil {
		return nil
	}
	long := func(ticks uint64) time.Duration { return time.Duration(p.line.of(ticks)) }
	awake := awakeLibgomp
	if sum.Runtimes&record.OpenMPOMPT != 0 {
		awake = awakeOMPT
	}
	return &openMP{awake: awake, OpenMP: job.OpenMP{
		Threads: threadsAtOnce(sum), Why: whyOpenMP(sum), Regions: sum.Regions, Nested: sum.Nested, Others: sum.OtherRegions, Tasks: sum.TasksRun,
		InRegions: long(sum.RegionTicks), Team: long(sum.TeamTicks),
		Useful: long(sum.Useful), UsefulMain: long(sum.UsefulMain), UsefulMost: long(sum.UsefulMost),
		MPI: long(sum.MPI), MPIMain: long(sum.MPIMain), IO: long(sum.IO), IOMain: long(sum.IOMain),
		Imbalance: long(sum.Imbalance), Scheduling: long(sum.Scheduling), Locked: long(sum.Locked),
	}}
}

// threadsAtOnce is how many threads a process needs cores for.
func threadsAtOnce(o *record.OpenMP) int {
	if o.Nested+o.OtherRegions > 0 {
		return max(o.TeamMost, o.Threads, 1)
	}
	return max(o.TeamMost, 1)
}

// How long a thread of OpenMP uses a CPU after a region before it sleeps, unless its user sets it
// otherwise: libgomp spins for a few ms, other runtimes for 200 ms.
const (
	awakeLibgomp = 5 * time.Millisecond
	awakeOMPT    = 250 * time.Millisecond
)

// explained is the CPU time that other threads than the main one can have used for OpenMP: in
// regions, and while they were awake after them.
func (p *process) explained() time.Duration {
	o := p.openmp
	others, outside := o.Threads-1, max(p.elapsed-o.InRegions, 0)
	after := outside
	if o.Regions < uint64(outside/o.awake) {
		after = time.Duration(o.Regions) * o.awake
	}
	return job.AddTime(max(o.Team-o.InRegions, 0), job.MulTime(after, others))
}

// whyOpenMP says why times are missing, "" if they are whole.
func whyOpenMP(o *record.OpenMP) string {
	switch o.Why {
	case record.OpenMPKnown:
	case record.OpenMPOldCode:
		return "a compiler older than gcc 4.9 made some of its regions"
	case record.OpenMPNoOMPT:
		return "its OpenMP runtime does not tell tools what it does"
	case record.OpenMPOtherTool:
		return "another tool measures its OpenMP"
	case record.OpenMPTSan:
		return "it runs with ThreadSanitizer"
	default:
		return "it was not sure which OpenMP runtime it uses"
	}
	switch {
	case o.Lost > 0:
		return "it has more threads than can be recorded"
	case o.Untimed&record.OpenMPBigTasks != 0:
		return "some tasks have too large arguments to be measured"
	}
	return ""
}

// mostCPUs bounds what a rank's threads can have used where the machine is not known.
const mostCPUs = 1 << 13

const (
	threadedShare = 0.05 // of a rank's time
	leastThreaded = 10 * time.Millisecond
)

// isThreaded reports whether a rank had threads that compute besides those that call MPI. other is their
// CPU time in a span.
func isThreaded(other, span time.Duration) bool {
	return other > leastThreaded && other.Seconds() > threadedShare*span.Seconds()
}

// load is what the kernel counted in one process; false: it was not asked, or the counts are impossible.
func (p *process) load(cpus int) (job.Load, bool) {
	k := &p.slot.Kernel
	span := p.until(k.At)
	if k.At == 0 || span <= 0 || k.Process > uint64(job.AddTime(job.MulTime(span, max(cpus, 1)), time.Second)) {
		return job.Load{}, false
	}
	l := job.Load{Ranks: 1, Span: span, CPU: time.Duration(k.Process), Threads: k.Tasks}
	callers := p.callers()
	l.Other = max(l.CPU-callers, 0)
	l.MPIThreads = min(time.Duration(k.MPIThreads), l.CPU)
	if isThreaded(l.Other, span) {
		l.Threaded = 1
		if p.openmp != nil && p.openmp.Why == "" && !isThreaded(l.Other-p.explained(), span) {
			l.OpenMP = 1
		}
		if !p.callsMPI(k.BusiestTID) {
			l.BusyName, l.BusyOfMPI = k.BusiestName, k.BusiestOfMPI
		}
	}
	if k.GPU == record.GPUOpen {
		l.GPURanks = 1
	}
	outside, own := max(span-p.mpi-p.io, 0), time.Duration(k.Thread)
	l.OffLeast, l.OffMost = max(outside-own, 0), max(outside-max(own-p.mpi-p.io, 0), 0)
	if k.UsageKnown {
		l.Used, l.System, l.MaxRSS = 1, min(time.Duration(k.System), l.CPU), int64(k.MaxRSS)
		l.Faults, l.Waits, l.Preempted = int(k.Faults), int(k.Waits), int(k.Preempted)
	}
	if k.IOKnown {
		l.Files, l.Read, l.Written = 1, int64(k.Read), int64(k.Written)
	}
	if k.TasksKnown {
		busy := min(k.Busy, k.Tasks)
		l.Whole, l.Busy = 1, busy
		l.ThreadSpan = job.MulTime(span, max(busy, 1))
		l.Queue = min(time.Duration(k.Queue), job.MulTime(span, max(k.Tasks, 1)))
		l.Slept = max(span-time.Duration(k.Thread)-l.Queue-p.mpi-p.io, 0)
	}
	return l, true
}

// until is the part of the process's region before a moment.
func (p *process) until(ticks uint64) time.Duration {
	return time.Duration(min(max(p.line.mono(ticks), p.start), p.end) - p.start)
}

// callers is the CPU time of the threads that call MPI. A thread that ended after its last reading
// counts as busy from there to its last call.
func (p *process) callers() time.Duration {
	sum := time.Duration(p.slot.Kernel.Thread)
	for _, t := range p.threads {
		sum = job.AddTime(sum, time.Duration(t.Kernel.Thread))
		sum = job.AddTime(sum, max(p.until(t.Last)-p.until(max(t.Kernel.At, t.InitLeft)), 0))
	}
	return sum
}

func (p *process) callsMPI(tid int) bool {
	for _, t := range p.threads {
		if t.TID == tid {
			return true
		}
	}
	return false
}

// loadOf adds up the ranks of a node, nil where none was read.
func loadOf(procs []*process, onlineCPUs int) *job.Load {
	if onlineCPUs == 0 {
		onlineCPUs = mostCPUs
	}
	var sum job.Load
	var all cpuMask
	groups := map[cpuMask]*group{}
	for _, p := range procs {
		l, ok := p.load(onlineCPUs)
		if !ok {
			continue
		}
		sum.Add(&l)
		mask := cpuMask(p.slot.Kernel.Mask)
		all.add(mask)
		if groups[mask] == nil {
			groups[mask] = &group{}
		}
		groups[mask].ranks, groups[mask].busy = groups[mask].ranks+1, groups[mask].busy+l.Busy
	}
	if sum.Ranks == 0 {
		return nil
	}
	groups[all] = &group{sum.Ranks, sum.Busy}
	sum.CPUList = all.list()
	for mask, g := range groups {
		if cpus := mask.count(); cpus > 0 && g.busy > cpus {
			sum.Add(&job.Load{CrowdRanks: g.ranks, CrowdBusy: g.busy, CrowdCPUs: mask.list(), BusyName: sum.BusyName, BusyOfMPI: sum.BusyOfMPI})
		}
	}
	return &sum
}

// group counts ranks that may run on the same CPUs, and their busy threads.
type group struct{ ranks, busy int }

// cpuMask has a bit for each CPU.
type cpuMask [record.MaskBytes]byte

func (m *cpuMask) add(b cpuMask) {
	for i := range m {
		m[i] |= b[i]
	}
}

func (m *cpuMask) cpus() (all []int) {
	for i := range 8 * len(m) {
		if m[i/8]&(1<<(i%8)) != 0 {
			all = append(all, i)
		}
	}
	return all
}

func (m *cpuMask) count() int   { return len(m.cpus()) }
func (m *cpuMask) list() string { return slurmid.FormatRanges(m.cpus()) }
