package node

import (
	"time"

	"jobeff/ingest/job"
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
	all := time.Duration(o.Threads)
	serial := max(p.useful()-max(o.InRegions-o.MPIMain-o.IOMain, 0), 0) // nobody else computed then
	t := job.ThreadShare{Ranks: 1, Threads: o.Threads, ThreadsMax: o.Threads, Why: o.Why,
		Useful: serial + o.Useful, UsefulMax: min(max(serial+o.UsefulMain, o.UsefulMost), p.all),
		MPI: o.MPI + all*max(p.mpi-o.MPIMain, 0), IO: o.IO + all*max(p.io-o.IOMain, 0),
		Imbalance: o.Imbalance, Scheduling: o.Scheduling + o.Locked}
	whole := all * p.all
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
