package wordstest

import (
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
)

// Queue is what waits of two users: a plain job, an array, held and hostile ones.
func Queue() *slurmid.PendingList {
	plain := slurmid.Pending{Cluster: "c", ID: "4800", JobID: 4800, UID: 1000, User: "alice", Account: "chem", Partition: "main,big", QOS: "normal", Name: "md", Nodes: 2, CPUs: 128, GPUs: 4, Memory: 256 << 30,
		TimeLimit: 12 * 3600, Submit: Began, Eligible: Began, Expected: Began.Add(5 * time.Hour), Reason: "Resources"}
	array, held, dark := plain, plain, plain
	array.ID, array.JobID, array.ArrayJobID, array.Name, array.Reason, array.Expected, array.GPUs = "48013_[1001-9999%100]", 48013, 48013, "sweep", "JobArrayTaskLimit", time.Time{}, 0
	array.Start(nil)
	held.ID, held.JobID, held.Reason, held.Expected, held.TimeLimit = "4802+1", 4803, "JobHeldUser", time.Time{}, 0
	dark.ID, dark.JobID, dark.ArrayJobID, dark.UID, dark.Name, dark.User, dark.Account, dark.Partition, dark.QOS, dark.Reason = "4900_[1,3,5,7,9,11,13,...]", 4900, 4900, 1001, Nasty, Nasty, Nasty, Nasty, Nasty, Nasty
	return &slurmid.PendingList{AsOf: Began.Add(90 * time.Second), Jobs: []slurmid.Pending{plain, array, held, dark}, LeftOut: 1234}
}

// Waits is a job of which nothing has begun, with further lines of it.
func Waits(p slurmid.Pending, more ...slurmid.Pending) *job.Job {
	j := job.OfPending(&p)
	j.Pending = &slurmid.PendingList{AsOf: Queue().AsOf, Jobs: append([]slurmid.Pending{p}, more...)}
	return j
}

// Placed has places of a program whose lines were found, and of a library whose lines were not.
func Placed() *job.Job {
	return &job.Job{DisplayID: "123", Executions: []job.Execution{{
		Executable: "/home/a/solver", Nodes: []job.NodeShare{{Ranks: 4}},
		Classes: []job.Call{{Name: "collective", Time: 100 * time.Second}, {Name: "file", Time: time.Hour}},
		Places: &job.Places{
			Looked:  true,
			Modules: []job.Module{{Path: "/home/a/solver", BuildID: "ab"}, {Path: "/lib/\x1b[2Jx.so", BuildID: "cd"}},
			List: []job.Place{
				{Function: "MPI_Allreduce", Calls: 4, Time: 31 * time.Second, Ranks: 4, Most: 20 * time.Second, Least: time.Second,
					Frames: []job.Frame{{Symbol: "exchange_halo", File: "/src/solver.f90", Line: 212}, {Symbol: "step", File: "/src/solver.f90", Line: 20}}},
				{Function: "MPI_Wait", Calls: 900, Time: 30 * time.Second, Samples: 100, Sampled: 30 * time.Second, Ranks: 3, Most: 20 * time.Second, Least: time.Second,
					Frames: []job.Frame{{Module: 1, Offset: 0x1234, Why: "rebuilt since: its file has another build-id"}}},
				{Function: "MPI_Allreduce", Calls: 4, Time: 9 * time.Second, Ranks: 4, Most: 5 * time.Second, Least: time.Second,
					Frames: []job.Frame{{Symbol: "exchange_halo", File: "/src/solver.f90", Line: 212}}},
				{Function: "MPI_Send", Calls: 1, Time: time.Second, Ranks: 1, Most: time.Second, Least: time.Second},
			},
		},
	}}}
}
