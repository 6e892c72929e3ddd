package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurm"
)

// AddJobs keeps jobs that are already put together, as an import has them: what the
// nodes said is there merged, their reports are not. All of them are one commit, so
// some thousand at a time are quick; Slurm is not asked about them again. A job whose
// run is already there is an error, and nothing is kept.
func (s *Store) AddJobs(ctx context.Context, jobs []*job.Job) error {
	now := time.Now().UnixMicro()
	runs := make([][]setting, len(jobs)) // all is put together here: the writer has enough to do
	var executions executionRows
	for i, j := range jobs {
		var err error
		if runs[i], err = runSettings(j, now); err == nil && j.Reports > 0 {
			err = executions.add(keyOf(j), j)
		}
		err = errors.Join(err, s.knowCluster(ctx, j.Cluster))
		if err != nil {
			return fmt.Errorf("store: job %d: %w", j.JobID, err)
		}
	}
	err := s.do(ctx, func(w *writer) error {
		for i, j := range jobs {
			if err := w.insertRun(keyOf(j), runs[i]); err != nil {
				return fmt.Errorf("job %d: %w", j.JobID, err)
			}
		}
		return w.insertExecutions(&executions)
	})
	if err != nil {
		return fmt.Errorf("store: jobs: %w", err)
	}
	return nil
}

// keyOf names a job's run.
func keyOf(j *job.Job) runKey { return runKey{j.Cluster, j.JobID, int64(j.RunNumber)} }

// runSettings is all of a run's row.
func runSettings(j *job.Job, now int64) ([]setting, error) {
	all := []setting{{"uid", j.UID, replaces}, {"changed_us", now, replaces}}
	if !j.Submit.IsZero() {
		all = append(append(all, slurmSettings(slurmJob(j))...), usageSettings(j.Usage)...)
	}
	if j.Reports == 0 {
		return all, nil
	}
	merged, err := mergedSettings(j, j.Reports)
	all = append(all, setting{"reports", j.Reports, replaces}, setting{"node_start_us", micro(j.Start), replaces}, setting{"node_end_us", micro(j.End), replaces})
	return append(all, merged...), err
}

// slurmJob is what sacct would say of the job.
func slurmJob(j *job.Job) *slurm.Job {
	state, _, _ := strings.Cut(j.State, " ")
	return &slurm.Job{Cluster: j.Cluster, RawID: j.JobID, ArrayJobID: j.ArrayJobID, ArrayTaskID: j.ArrayTaskID, HetJobID: j.HetJobID,
		HetOffset: j.HetOffset, UID: j.UID, User: j.User, State: state, ExitCode: j.ExitCode, Submit: j.Submit, Start: j.Start, End: j.End,
		Elapsed: j.Elapsed, Nodes: j.Nodes, CPUs: j.CPUs, GPUs: j.GPUs, TRES: j.TRES, Account: j.Account, QOS: j.QOS, Partition: j.Partition, Name: j.Name}
}
