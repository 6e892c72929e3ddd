package jobtest

import (
	"fmt"
	"math"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// Began is when the made-up jobs start.
var Began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Sec is so many seconds.
func Sec(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Rank is the useful and the MPI time of one rank, s.
type Rank struct{ Useful, MPI float64 }

// Work is a rank that did so much, s.
func Work(useful, mpi float64) Rank { return Rank{useful, mpi} }

// World is an execution of these ranks. It starts start seconds after the job. Each node has
// perNode ranks; the first node is n<first>.
func World(first, perNode int, start float64, ranks ...Rank) job.Execution {
	e := job.Execution{Size: len(ranks), Executable: "/usr/bin/lmp", MPI: "Open MPI", Start: Began.Add(Sec(start))}
	for i, r := range ranks {
		if i%perNode == 0 {
			e.Nodes = append(e.Nodes, job.NodeShare{Node: fmt.Sprintf("n%d", first+i/perNode)})
		}
		n := &e.Nodes[len(e.Nodes)-1]
		n.Ranks++
		n.Useful += Sec(r.Useful)
		n.UsefulMax = max(n.UsefulMax, Sec(r.Useful))
		n.MPI += Sec(r.MPI)
		n.ElapsedMax = max(n.ElapsedMax, Sec(r.Useful+r.MPI))
	}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		for _, r := range ranks[i*perNode : min((i+1)*perNode, len(ranks))] {
			n.UsefulShare = append(n.UsefulShare, byte(math.Round(255*r.Useful/n.ElapsedMax.Seconds())))
		}
	}
	return e
}

// Job is a job that ran these programs: two nodes, four CPUs, one hour.
func Job(executions ...job.Execution) *job.Job {
	j := &job.Job{JobID: 1, User: "anna", Account: "chem", Partition: "main", State: "COMPLETED", Start: Began,
		End: Began.Add(time.Hour), Elapsed: time.Hour, Nodes: 2, Reports: 2, CPUs: 4, Decision: "on", Executions: executions}
	if j.Metrics = job.JobMetrics(executions); j.Metrics == nil {
		j.NoData = doubt.NewWarning(doubt.WhyInMPIInit, 0)
	}
	return j
}

// With is the job after a change.
func With(j *job.Job, change func(*job.Job)) *job.Job { change(j); return j }

// Alike is n such ranks.
func Alike(n int, r Rank) []Rank {
	var all []Rank
	for range n {
		all = append(all, r)
	}
	return all
}

// Threaded is a world whose ranks had so many threads each. While a rank was outside of MPI, its
// further threads spent these parts of their time computing, waiting in barriers and scheduling; the
// rest was serial.
func Threaded(e job.Execution, threads int, useful, imbalance, scheduling float64) job.Execution {
	for i := range e.Nodes {
		n := &e.Nodes[i]
		further := float64(threads-1) * float64(n.Useful)
		part := func(share float64) time.Duration { return time.Duration(math.Round(share * further)) }
		n.Threads = &job.ThreadShare{Ranks: n.Ranks, Threads: threads * n.Ranks, ThreadsMax: threads, Useful: n.Useful + part(useful), UsefulMax: n.UsefulMax,
			MPI: time.Duration(threads) * n.MPI, Imbalance: part(imbalance), Scheduling: part(scheduling), Serial: part(1 - useful - imbalance - scheduling)}
	}
	return e
}

// Unmeasured is a world whose ranks had two threads each, which nobody measured.
func Unmeasured(e job.Execution) job.Execution { e.OMPThreads = 2; return e }

// Loaded is the execution with what the kernel counted on its only node.
func Loaded(e job.Execution, l job.Load) job.Execution { e.Nodes[0].Load = &l; return e }

// Singleton is one of the ranks of a step that never met.
func Singleton(node int) job.Execution {
	e := World(node, 1, 0, Work(3500, 1))
	e.Warnings = []doubt.Warning{{Code: doubt.WarnSingletons, Count: 1}}
	return e
}

// Idling is a job of this execution whose CPUs without a rank were idle.
func Idling(e job.Execution) *job.Job {
	j := Job(e)
	j.Usage = &job.Usage{TotalCPU: Sec(job.RankSeconds(j.Executions))}
	return j
}

// OnOneNode is a job of this execution on one node.
func OnOneNode(e job.Execution) *job.Job { j := Job(e); j.Nodes, j.Reports = 1, 1; return j }

// Run is a run that took t seconds on n cores. Each rank computed for useful seconds of them.
func Run(id uint32, n int, t, useful float64) job.Run {
	return job.Run{Cluster: "test", JobID: id, Attempt: 1, DisplayID: fmt.Sprint(id), UID: 1000, User: "anna",
		Start: Began.Add(time.Duration(id) * time.Hour), Ranks: n, Threads: 1, Nodes: 1, Ended: true, Coverage: 1,
		Elapsed: t, Useful: useful * float64(n), Conditions: &job.Conditions{UsefulMax: useful}, MPITime: (t - useful) * float64(n), Collectives: 1000, Executable: "/usr/bin/lmp"}
}

// Workload is a workload with these runs.
func Workload(runs ...job.Run) *job.Workload {
	return &job.Workload{Key: "3fa2c1aabbccddeeff00", Name: "lmp-3fa2c1", Cluster: "test", UID: 1000, User: "anna",
		Executable: "/usr/bin/lmp", Runs: runs}
}

// JobOf is a job whose only program was the run, on as many cores as it had ranks.
func JobOf(r job.Run) *job.Job {
	n := r.Ranks
	each := Rank{r.Useful / float64(n), r.Elapsed - r.Useful/float64(n)}
	j := Job(World(1, n, 0, Alike(n, each)...))
	j.Cluster, j.JobID, j.Attempt, j.UID, j.CPUs, j.Nodes, j.Reports = r.Cluster, r.JobID, r.Attempt, r.UID, n, 1, 1
	j.Executions[0].BuildID, j.Executions[0].ArgsHash = "abcd", "ef"
	j.Elapsed = Sec(r.Elapsed)
	j.End = j.Start.Add(j.Elapsed)
	return j
}

// ChangedRun is the run after a change.
func ChangedRun(r job.Run, change func(*job.Run)) job.Run { change(&r); return r }
