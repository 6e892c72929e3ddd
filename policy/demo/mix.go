package demo

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"jobeff/ingest/job"
)

// mix is how a hybrid run divides its cores into ranks and threads.
type mix struct {
	threads int
	longer  float64 // factor on the time, compared with the usual mix
	useful  float64 // part of the time outside MPI in which a further thread computes
}

// mixes are tried by the users of hybrid workloads, the usual one most.
var mixes = []mix{{usualThreads, 1, 0.90}, {usualThreads, 1, 0.91}, {8, 1.09, 0.80}, {2, 1.05, 0.94}}

// mixOf picks the mix of a job of so many cores. threads is 1 if its workload is not hybrid.
func mixOf(j *job.Job, cores, threads int) mix {
	m := mixes[int(j.JobID)%len(mixes)]
	switch {
	case threads == 1:
		return mix{1, 1, 1}
	case cores%m.threads != 0 || min(cores, coresPerNode)%m.threads != 0:
		return mixes[0]
	}
	return m
}

// share turns ranks of `from` threads each into those of this mix, on the same cores.
func (m mix) share(e *job.Execution, from int) {
	if m.threads == 1 {
		return
	}
	ranks := 0
	for i := range e.Nodes {
		n := &e.Nodes[i]
		m.ranks(n, from)
		n.RankIDs = rankIDs(ranks, n.Ranks)
		ranks += n.Ranks
	}
	for ending := range e.Endings {
		e.Endings[ending] = e.Size * from / m.threads
	}
	e.Size = e.Size * from / m.threads
	e.OMPThreads, e.CPUsPerTask = m.threads, m.threads
}

// ranks changes how many ranks a node has. Their times stay as they were drawn.
func (m mix) ranks(n *job.NodeShare, from int) {
	was := n.Ranks
	n.Ranks = max(was*from/m.threads, 1)
	useful, mpi := make([]byte, n.Ranks), make([]byte, n.Ranks)
	for r := range n.Ranks {
		old := r * was / n.Ranks
		useful[r], mpi[r] = n.UsefulShare[old], n.MPIShare[old]
	}
	n.UsefulShare, n.MPIShare, n.CPUs = useful, mpi, m.threads
	n.Useful = n.Useful * time.Duration(n.Ranks) / time.Duration(was)
	n.ElapsedSum = n.ElapsedMax * time.Duration(n.Ranks)
	n.MPI = n.ElapsedSum - n.Useful
}

// threadsOf fills in how a node's threads spent the time while their ranks computed, and what the kernel counted of them.
func (m mix) threadsOf(n *job.NodeShare) {
	n.Load = &job.Load{Ranks: n.Ranks, Whole: n.Ranks, Span: n.ElapsedSum, CPU: n.ElapsedSum, Threads: m.threads,
		Busy: m.threads * n.Ranks, ThreadSpan: n.ElapsedSum * time.Duration(m.threads)}
	if m.threads > 1 {
		n.Threads = m.beside(n.Ranks, n.Useful, n.UsefulMax, n.MPI)
		n.Load.Other = n.Threads.Useful - n.Useful
		n.Load.CPU += n.Load.Other
		n.Load.Threaded, n.Load.OpenMP = n.Ranks, n.Ranks
	}
}

// beside returns how the threads of ranks spent the time while the ranks computed, or were in MPI.
func (m mix) beside(ranks int, useful, usefulMax, mpi time.Duration) *job.ThreadShare {
	further := float64(m.threads-1) * float64(useful)
	part := func(share float64) time.Duration { return time.Duration(math.Round(share * further)) }
	lost := 1 - m.useful
	return &job.ThreadShare{Ranks: ranks, Threads: m.threads * ranks, ThreadsMax: m.threads, Useful: useful + part(m.useful), UsefulMax: usefulMax,
		MPI: time.Duration(m.threads) * mpi, Imbalance: part(0.6 * lost), Scheduling: part(0.1 * lost), Serial: part(0.3 * lost)}
}

func rankIDs(first, n int) string {
	if n == 1 {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, first+n-1)
}
