package job

import (
	"cmp"
	"time"

	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
)

// Load is what the kernel counted in the ranks of one node, each from the end of its MPI_Init to
// its last reading. It shows what the environment does not: how many threads computed, on which
// CPUs, and whether these were enough.
type Load struct {
	Ranks      int           `json:"ranks"`              // that were read; the sums cover these
	Span       time.Duration `json:"span_ns"`            // of all readings
	CPU        time.Duration `json:"cpu_ns"`             // CPU time of all threads
	Other      time.Duration `json:"other_cpu_ns"`       // … of the threads that do not call MPI
	MPIThreads time.Duration `json:"mpi_threads_cpu_ns"` // … of the threads that MPI_Init started
	Threads    int           `json:"threads"`            // most threads of one rank at once; 0: not known
	Threaded   int           `json:"threaded"`           // ranks whose Other is above 5 % of their time
	OpenMP     int           `json:"openmp"`             // … of these, ranks where OpenMP's regions explain it
	BusyName   string        `json:"busy_name"`          // comm of the busiest such thread
	BusyOfMPI  bool          `json:"busy_of_mpi"`        // … which MPI_Init started
	GPURanks   int           `json:"gpu_ranks"`          // ranks that had a GPU's device file open

	// Whole is the number of ranks whose threads were all read. The next four cover these.
	Whole      int           `json:"whole"`
	Busy       int           `json:"busy_threads"`   // threads that ran or waited for a CPU half of the time or more
	Queue      time.Duration `json:"queue_ns"`       // how long threads waited for a CPU
	ThreadSpan time.Duration `json:"thread_span_ns"` // the time of a rank times its busy threads, at least 1, summed up
	Slept      time.Duration `json:"slept_ns"`       // outside MPI, at least: neither on a CPU nor waiting for one

	// How long the threads that called MPI_Init were off the CPU outside MPI, at least and at most: CPU time inside
	// MPI is not known separately.
	OffLeast time.Duration `json:"off_least_ns,omitempty"`
	OffMost  time.Duration `json:"off_most_ns,omitempty"`
	// Used is the number of ranks that the next five cover, Files that of the two after it.
	Used      int           `json:"used,omitempty"`
	System    time.Duration `json:"system_ns,omitempty"`   // of CPU, in the kernel
	Faults    int           `json:"page_faults,omitempty"` // that read from a disk
	Waits     int           `json:"waits,omitempty"`       // context switches of threads that waited
	Preempted int           `json:"preempted,omitempty"`   // … that lost their CPU to another one
	MaxRSS    int64         `json:"max_rss,omitempty"`     // of the largest rank, bytes
	Files     int           `json:"files,omitempty"`
	Read      int64         `json:"read_bytes,omitempty"` // from disks and some network file systems
	Written   int64         `json:"written_bytes,omitempty"`

	CPUList string `json:"cpu_list"` // CPUs that the ranks may run on, "0-3,8"
	// Ranks that have the same CPUs, and fewer of them than busy threads: the fullest such group.
	CrowdRanks int    `json:"crowd_ranks"`
	CrowdBusy  int    `json:"crowd_threads"`
	CrowdCPUs  string `json:"crowd_cpus"`
}

const (
	contentionShare = 0.05 // of the time of the busy threads
	sleptShare      = 0.10 // of the ranks' time
)

// Add adds the ranks of another node.
func (l *Load) Add(b *Load) {
	l.Ranks, l.Whole, l.Threaded, l.GPURanks = l.Ranks+b.Ranks, l.Whole+b.Whole, l.Threaded+b.Threaded, l.GPURanks+b.GPURanks
	l.Busy, l.OpenMP = l.Busy+b.Busy, l.OpenMP+b.OpenMP
	l.Used, l.Files = l.Used+b.Used, l.Files+b.Files
	for _, sum := range []struct{ to, from *int }{{&l.Faults, &b.Faults}, {&l.Waits, &b.Waits}, {&l.Preempted, &b.Preempted}} {
		*sum.to = int(addNumbers(int64(*sum.to), int64(*sum.from)))
	}
	l.Read, l.Written, l.MaxRSS = addNumbers(l.Read, b.Read), addNumbers(l.Written, b.Written), max(l.MaxRSS, b.MaxRSS)
	for _, sum := range []struct{ to, from *time.Duration }{{&l.Span, &b.Span}, {&l.CPU, &b.CPU}, {&l.Other, &b.Other},
		{&l.MPIThreads, &b.MPIThreads}, {&l.Queue, &b.Queue}, {&l.ThreadSpan, &b.ThreadSpan}, {&l.Slept, &b.Slept},
		{&l.OffLeast, &b.OffLeast}, {&l.OffMost, &b.OffMost}, {&l.System, &b.System}} {
		*sum.to = AddTime(*sum.to, *sum.from)
	}
	l.Threads = max(l.Threads, b.Threads)
	switch { // the same thread stays in any order of adding
	case b.BusyName == l.BusyName:
		l.BusyOfMPI = l.BusyOfMPI && b.BusyOfMPI
	case b.BusyName != "" && (l.BusyName == "" || b.BusyName < l.BusyName):
		l.BusyName, l.BusyOfMPI = b.BusyName, b.BusyOfMPI
	}
	if c := cmp.Or(cmp.Compare(b.CrowdBusy, l.CrowdBusy), cmp.Compare(b.CrowdRanks, l.CrowdRanks), cmp.Compare(b.CrowdCPUs, l.CrowdCPUs)); c > 0 {
		l.CrowdRanks, l.CrowdBusy, l.CrowdCPUs = b.CrowdRanks, b.CrowdBusy, b.CrowdCPUs
	}
}

// cpus is the number of cpus that the ranks may run on; 0: not known.
func (l *Load) cpus() int { return cpusIn(l.CPUList) }

const mostCPUs = 1 << 16

// cpusIn counts the CPUs of a list; 0 if it is no list.
func cpusIn(list string) (n int) {
	err := slurmid.EachRange(list, func(lo, hi int) { n += min(hi, mostCPUs) - min(lo, mostCPUs) + 1 })
	if err != nil || n > mostCPUs {
		return 0
	}
	return n
}

// Contended reports whether busy threads lacked CPUs.
func (l *Load) Contended() bool {
	return l.CrowdBusy > 0 || l.Queue.Seconds() > contentionShare*l.ThreadSpan.Seconds()
}

// IsAsleep reports whether ranks, outside MPI, often neither ran nor waited for a CPU.
func (l *Load) IsAsleep() bool { return l.Slept.Seconds() > sleptShare*l.Span.Seconds() }

// IsOff reports whether the threads that called MPI_Init were often off the CPU outside MPI, whatever
// they waited for. The limit is that of IsAsleep.
func (l *Load) IsOff() bool { return l.OffLeast.Seconds() > sleptShare*l.Span.Seconds() }

// LoadOf sums up what the kernel counted in executions; nil: nothing was counted. CPUList stays empty:
// the CPUs of two nodes are not the same ones.
func LoadOf(executions []Execution) *Load {
	var sum Load
	for i := range executions {
		for j := range executions[i].Nodes {
			if l := executions[i].Nodes[j].Load; l != nil {
				sum.Add(l)
			}
		}
	}
	if sum.Ranks == 0 {
		return nil
	}
	return &sum
}

// CPUsAllowed is the number of CPUs that the ranks of an execution may run on, all nodes together;
// 0: not known of every node.
func CPUsAllowed(e *Execution) (n int) {
	for i := range e.Nodes {
		l := e.Nodes[i].Load
		if l == nil || l.cpus() == 0 {
			return 0
		}
		n += l.cpus()
	}
	return n
}

// Possible reports whether so many ranks can have spent their time like this.
func (l *Load) Possible(ranks int) bool {
	cpus := func(list string) bool { return list == "" || cpusIn(list) > 0 }
	counts := l.Ranks >= 1 && l.Ranks <= ranks && max(l.Whole, l.Threaded, l.GPURanks, l.CrowdRanks, l.Used, l.Files) <= l.Ranks && l.OpenMP <= l.Threaded
	return counts && l.Other <= l.CPU && l.Slept <= l.Span && l.OffLeast <= l.OffMost && l.OffMost <= l.Span && cpus(l.CPUList) && cpus(l.CrowdCPUs)
}

// ThreadedArgs says how many of the ranks had busy threads that OpenMP does not explain.
func (l *Load) ThreadedArgs() doubt.Arguments {
	return doubt.Arguments{N: l.Threaded - l.OpenMP, Of: l.Ranks}
}

// CrowdArgs are the fullest group: its busy threads, ranks and CPUs.
func (l *Load) CrowdArgs() doubt.Arguments {
	return doubt.Arguments{N: l.CrowdBusy, Of: l.CrowdRanks, CPUs: cpusIn(l.CrowdCPUs), Name: l.CrowdCPUs}
}

// QueueArgs say how much of their time busy threads waited for a CPU.
func (l *Load) QueueArgs() doubt.Arguments {
	return doubt.Arguments{Time: l.Queue, OfTime: l.ThreadSpan}
}

// SleptArgs say how much of their time ranks slept.
func (l *Load) SleptArgs() doubt.Arguments { return doubt.Arguments{Time: l.Slept, OfTime: l.Span} }

// severalModels is the Model of an execution whose nodes differ.
const severalModels = "several"

// HardwareOf is what all nodes of an execution have in common; nil: it is not known of one. If
// their CPUs differ, Model is "several" and all other figures are 0. If only MaxMHz or MemoryMiB
// differs, that figure is 0.
func HardwareOf(e *Execution) *Hardware {
	var all *Hardware
	for i := range e.Nodes {
		h := e.Nodes[i].Hardware
		switch {
		case h == nil:
			return nil
		case all == nil:
			first := *h
			all = &first
		case all.kind() != h.kind():
			return &Hardware{Model: severalModels}
		}
		if all.MaxMHz != h.MaxMHz {
			all.MaxMHz = 0
		}
		if all.MemoryMiB != h.MemoryMiB {
			all.MemoryMiB = 0
		}
	}
	return all
}

// Hardware describes a node's CPUs and memory, as root reads them there. Runs on different CPUs do
// not share a curve.
type Hardware struct {
	Model          string `json:"model"` // of the CPU, as /proc/cpuinfo names it; "": not known
	Sockets        int    `json:"sockets"`
	Cores          int    `json:"cores"` // of all sockets
	ThreadsPerCore int    `json:"threads_per_core"`
	MaxMHz         int    `json:"max_mhz,omitempty"`
	MemoryMiB      int64  `json:"memory_mib,omitempty"`
}

// kind is what must be equal for two nodes to count as the same machine.
func (h Hardware) kind() Hardware {
	h.MaxMHz, h.MemoryMiB = 0, 0
	return h
}
