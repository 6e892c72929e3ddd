package jobtest

import (
	"fmt"
	"time"

	"jobeff/ingest/job"
)

// Run took t seconds on n cores, and each rank computed for useful seconds of them.
func Run(id uint32, n int, t, useful float64) job.Run {
	return job.Run{Cluster: "test", JobID: id, Attempt: 1, DisplayID: fmt.Sprint(id), UID: 1000, User: "anna",
		Start: Began.Add(time.Duration(id) * time.Hour), Ranks: n, Threads: 1, Nodes: 1, Ended: true, Coverage: 1,
		Elapsed: t, Useful: useful * float64(n), Conditions: &job.Conditions{UsefulMax: useful}, MPITime: (t - useful) * float64(n), Collectives: 1000, Executable: "/usr/bin/lmp"}
}

// Workload has these runs.
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

// Changed is the run after a change.
func Changed(r job.Run, change func(*job.Run)) job.Run { change(&r); return r }
