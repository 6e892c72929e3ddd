package node

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// mostCPUs bounds what a rank's threads can have used where the machine is not known.
const mostCPUs = 1 << 13

// load is what the kernel counted in one process; false where it was not asked.
func (p *process) load(cpus int) (job.Load, bool) {
	k := &p.slot.Kernel
	span := p.until(k.At)
	if k.At == 0 || span <= 0 || k.Process > uint64(span)*uint64(max(cpus, 1))+uint64(time.Second) {
		return job.Load{}, false
	}
	l := job.Load{Ranks: 1, Span: span, CPU: time.Duration(k.Process), Threads: k.Tasks}
	callers := p.callers()
	l.Other = max(l.CPU-callers, 0)
	l.MPIThreads = min(time.Duration(k.MPIThreads), l.CPU)
	if job.IsThreaded(l.Other, span) {
		l.Threaded = 1
		if p.openmp != nil && p.openmp.Why == "" && !job.IsThreaded(l.Other-p.explained(), span) {
			l.OpenMP = 1
		}
		if !p.callsMPI(k.BusiestTID) {
			l.BusyName, l.BusyOfMPI = k.BusiestName, k.BusiestOfMPI
		}
	}
	if k.GPU == record.GPUOpen {
		l.GPURanks = 1
	}
	if k.TasksKnown {
		busy := min(k.Busy, k.Tasks)
		l.Whole, l.Busy = 1, busy
		l.ThreadSpan = span * time.Duration(max(busy, 1))
		l.Queue = min(time.Duration(k.Queue), span*time.Duration(max(k.Tasks, 1)))
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

// group is ranks that may run on the same CPUs.
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
func (m *cpuMask) list() string { return job.FormatRanges(m.cpus()) }
