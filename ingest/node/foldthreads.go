package node

import (
	"time"

	"jobeff/ingest/job"
)

// beyond says why a rank's threads have no figures.
const beyond = "more threads ran at once than its parallel regions tell"

// threads is what one process did with its threads (METRICS 2).
func (p *process) threadShare() job.ThreadShare {
	o := p.openmp
	one := job.ThreadShare{Threads: 1, ThreadsMax: 1, Useful: p.useful, UsefulMax: p.useful, MPI: p.mpi, IO: p.io}
	if o == nil {
		return one
	}
	all := time.Duration(o.Threads)
	serial := max(p.useful-max(o.InRegions-o.MPIMain-o.IOMain, 0), 0) // nobody else computed then
	t := job.ThreadShare{Ranks: 1, Threads: o.Threads, ThreadsMax: o.Threads, Why: o.Why,
		Useful: serial + o.Useful, UsefulMax: min(max(serial+o.UsefulMain, o.UsefulMost), p.elapsed),
		MPI: o.MPI + all*max(p.mpi-o.MPIMain, 0), IO: o.IO + all*max(p.io-o.IOMain, 0),
		Imbalance: o.Imbalance, Scheduling: o.Scheduling + o.Locked}
	whole := all * p.elapsed
	t.Serial = whole - t.Useful - t.MPI - t.IO - t.Imbalance - t.Scheduling
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
