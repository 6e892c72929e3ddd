package job

import (
	"cmp"
	"time"
)

// Load is what the kernel counted in the ranks of one node, each from the end of its MPI_Init to
// its last reading. The environment does not tell this: how many threads computed, on which CPUs,
// and whether these were enough.
type Load struct {
	Ranks      int           `json:"ranks"`              // that were read; the sums speak of these
	Span       time.Duration `json:"span_ns"`            // of all readings
	CPU        time.Duration `json:"cpu_ns"`             // CPU time of all threads
	Other      time.Duration `json:"other_cpu_ns"`       // … of the threads that do not call MPI
	MPIThreads time.Duration `json:"mpi_threads_cpu_ns"` // … of the threads that MPI_Init started
	Threads    int           `json:"threads"`            // most threads of one rank at once; 0: not known
	Threaded   int           `json:"threaded"`           // ranks whose Other is above threadedShare of their time
	OpenMP     int           `json:"openmp"`             // … of these, ranks where OpenMP's regions explain it
	BusyName   string        `json:"busy_name"`          // comm of the busiest such thread
	BusyOfMPI  bool          `json:"busy_of_mpi"`        // … which MPI_Init started
	GPURanks   int           `json:"gpu_ranks"`          // ranks that had a GPU's device file open

	// Whole is the number of ranks of which every thread was read. The rest speaks of these.
	Whole      int           `json:"whole"`
	Busy       int           `json:"busy_threads"`   // threads that ran or waited for a CPU half of the time or more
	Queue      time.Duration `json:"queue_ns"`       // how long threads waited for a CPU
	ThreadSpan time.Duration `json:"thread_span_ns"` // the time of a rank times its busy threads, at least 1, summed up
	Slept      time.Duration `json:"slept_ns"`       // outside MPI, at least: neither on a CPU nor waiting for one

	CPUList string `json:"cpu_list"` // CPUs that the ranks may run on, "0-3,8"
	// Ranks that have the same CPUs, and fewer of them than busy threads: the fullest such group.
	CrowdRanks int    `json:"crowd_ranks"`
	CrowdBusy  int    `json:"crowd_threads"`
	CrowdCPUs  string `json:"crowd_cpus"`
}

const (
	threadedShare   = 0.05 // of a rank's time
	contentionShare = 0.05 // of the time of the busy threads
	sleptShare      = 0.10 // of the ranks' time
	leastThreaded   = 10 * time.Millisecond
)

// IsThreaded tells whether a rank had threads that compute besides those that call MPI: they had
// other of CPU time in a span.
func IsThreaded(other, span time.Duration) bool {
	return other > leastThreaded && other.Seconds() > threadedShare*span.Seconds()
}

// Add adds the ranks of another node.
func (l *Load) Add(b *Load) {
	l.Ranks, l.Whole, l.Threaded, l.GPURanks = l.Ranks+b.Ranks, l.Whole+b.Whole, l.Threaded+b.Threaded, l.GPURanks+b.GPURanks
	l.Busy, l.OpenMP = l.Busy+b.Busy, l.OpenMP+b.OpenMP
	for _, sum := range []struct{ to, from *time.Duration }{{&l.Span, &b.Span}, {&l.CPU, &b.CPU}, {&l.Other, &b.Other},
		{&l.MPIThreads, &b.MPIThreads}, {&l.Queue, &b.Queue}, {&l.ThreadSpan, &b.ThreadSpan}, {&l.Slept, &b.Slept}} {
		*sum.to = AddTime(*sum.to, *sum.from)
	}
	l.Threads = max(l.Threads, b.Threads)
	switch { // whatever is added first, the same thread stays
	case b.BusyName == l.BusyName:
		l.BusyOfMPI = l.BusyOfMPI && b.BusyOfMPI
	case b.BusyName != "" && (l.BusyName == "" || b.BusyName < l.BusyName):
		l.BusyName, l.BusyOfMPI = b.BusyName, b.BusyOfMPI
	}
	if c := cmp.Or(cmp.Compare(b.CrowdBusy, l.CrowdBusy), cmp.Compare(b.CrowdRanks, l.CrowdRanks), cmp.Compare(b.CrowdCPUs, l.CrowdCPUs)); c > 0 {
		l.CrowdRanks, l.CrowdBusy, l.CrowdCPUs = b.CrowdRanks, b.CrowdBusy, b.CrowdCPUs
	}
}

// CPUs is the number of CPUs that the ranks may run on; 0: not known.
func (l *Load) CPUs() int { return cpusIn(l.CPUList) }

const mostCPUs = 1 << 16

// cpusIn counts the CPUs of a list, 0 where it is none.
func cpusIn(list string) (n int) {
	err := EachRange(list, func(lo, hi int) { n += min(hi, mostCPUs) - min(lo, mostCPUs) + 1 })
	if err != nil || n > mostCPUs {
		return 0
	}
	return n
}

// Contended tells whether busy threads lacked CPUs.
func (l *Load) Contended() bool {
	return l.CrowdBusy > 0 || l.Queue.Seconds() > contentionShare*l.ThreadSpan.Seconds()
}

// IsAsleep tells whether ranks often neither ran nor waited for a CPU outside MPI.
func (l *Load) IsAsleep() bool { return l.Slept.Seconds() > sleptShare*l.Span.Seconds() }
