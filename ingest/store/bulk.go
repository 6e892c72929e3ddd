package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"jobeff/ingest"
	"jobeff/ingest/slurm"
)

// AddJobs keeps jobs that are already put together, as an import has them: what the
// nodes said is there merged, their reports are not. All of them are one commit, so
// some thousand at a time are quick; Slurm is not asked about them again. A job whose
// run is already there is an error, and nothing is kept.
func (s *Store) AddJobs(ctx context.Context, jobs []*ingest.Job) error {
	details := make([][][]byte, len(jobs)) // packed here: the writer has enough to do
	for i, j := range jobs {
		var err error
		if details[i], err = packAll(j.Executions); err == nil {
			err = s.knowCluster(ctx, j.Cluster)
		}
		if err != nil {
			return fmt.Errorf("store: job %d: %w", j.JobID, err)
		}
	}
	err := s.do(ctx, func(w *writer) error {
		now := time.Now().UnixMicro()
		for i, j := range jobs {
			if err := w.addJob(j, details[i], now); err != nil {
				return fmt.Errorf("job %d: %w", j.JobID, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: jobs: %w", err)
	}
	return nil
}

func (w *writer) addJob(j *ingest.Job, details [][]byte, now int64) error {
	k := runKey{j.Cluster, j.JobID, int64(j.RunNumber)}
	if err := w.newRun(k, j.UID, now, ""); err != nil {
		return err
	}
	if !j.Submit.IsZero() {
		if err := errors.Join(w.keepSlurm(k, slurmJob(j)), w.keepUsage(k, j.Usage)); err != nil {
			return err
		}
	}
	if j.Reports == 0 {
		return nil
	}
	err := w.exec("UPDATE runs SET reports = ?, node_start_us = ?, node_end_us = ? WHERE cluster = ? AND job_id = ? AND run = ?",
		append([]any{j.Reports, micro(j.Start), micro(j.End)}, k.args()...)...)
	if err != nil {
		return err
	}
	return w.keepPacked(k, j, j.Reports, details, true)
}

// slurmJob is what sacct would say of the job.
func slurmJob(j *ingest.Job) *slurm.Job {
	state, _, _ := strings.Cut(j.State, " ")
	return &slurm.Job{Cluster: j.Cluster, RawID: j.JobID, ArrayJobID: j.ArrayJobID, ArrayTaskID: j.ArrayTaskID, HetJobID: j.HetJobID,
		HetOffset: j.HetOffset, UID: j.UID, User: j.User, State: state, ExitCode: j.ExitCode, Submit: j.Submit, Start: j.Start, End: j.End,
		Elapsed: j.Elapsed, Nodes: j.Nodes, CPUs: j.CPUs, GPUs: j.GPUs, TRES: j.TRES, Account: j.Account, QOS: j.QOS, Partition: j.Partition, Name: j.Name}
}
