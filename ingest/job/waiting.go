package job

import (
	"time"

	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
)

// OnlyWaits says that jobeffd knows the job only by its line in Slurm's queue: no attempt has begun.
func (j *Job) OnlyWaits() bool { return j.Pending != nil && j.Attempt == 0 }

// OfPending makes a job of a line of Slurm's queue. No attempt of it has begun.
func OfPending(p *slurmid.Pending) *Job {
	return &Job{Cluster: p.Cluster, JobID: p.JobID, DisplayID: p.ID, ArrayJobID: p.ArrayJobID, HetJobID: p.HetJobID, UID: p.UID, User: p.User, Account: p.Account,
		Partition: p.Partition, QOS: p.QOS, Name: p.Name, State: "PENDING", Submit: p.Submit, Eligible: p.Eligible,
		TimeLimit: time.Duration(p.TimeLimit) * time.Second, NoData: doubt.NewWarning(doubt.WhyPending, 0)}
}
