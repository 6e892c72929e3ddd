package job

import (
	"time"

	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
)

// OnlyWaits says that the line is all that is known of its job: no attempt of it has begun that is known.
func (j *Job) OnlyWaits() bool { return j.Pending != nil && j.Attempt == 0 }

// OfPending is a line of Slurm's queue as a job of which nothing has begun.
func OfPending(p *slurmid.Pending) *Job {
	return &Job{Cluster: p.Cluster, JobID: p.JobID, DisplayID: p.ID, ArrayJobID: p.ArrayJobID, HetJobID: p.HetJobID, UID: p.UID, User: p.User, Account: p.Account,
		Partition: p.Partition, QOS: p.QOS, Name: p.Name, State: "PENDING", Submit: p.Submit, Eligible: p.Eligible,
		TimeLimit: time.Duration(p.TimeLimit) * time.Second, NoData: doubt.NewWarning(doubt.WhyPending, 0)}
}
