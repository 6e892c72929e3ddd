package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// AddJobs keeps jobs that are already merged, as an import has them; the nodes' reports
// are not kept. One commit holds all of them, so pass some thousand at a time. Slurm is not
// asked about them again. If an attempt exists already, AddJobs fails and keeps nothing.
func (s *Store) AddJobs(ctx context.Context, jobs []*job.Job) error {
	now := time.Now()
	rows := make([]*attemptRow, len(jobs)) // built here, since the writer has enough to do
	by := make([]sourceSet, len(jobs))
	var executions executionRows
	for i, j := range jobs {
		var err error
		if rows[i], by[i], err = rowOf(j, now); err == nil && j.Reports > 0 {
			err = executions.add(keyOf(j), j, !j.Submit.IsZero())
		}
		err = errors.Join(err, s.knowCluster(ctx, j.Cluster))
		if err != nil {
			return fmt.Errorf("store: job %d: %w", j.JobID, err)
		}
	}
	err := s.do(ctx, func(w *writer) error {
		for i, j := range jobs {
			if err := w.writeAttempt(rows[i], by[i]); err != nil {
				return fmt.Errorf("job %d: %w", j.JobID, err)
			}
		}
		return errors.Join(w.insertRows(executionTable.into, executions.executions), w.insertRows(workloadTable.into, executions.workloads))
	})
	if err != nil {
		return fmt.Errorf("store: jobs: %w", err)
	}
	return nil
}

// keyOf names a job's attempt.
func keyOf(j *job.Job) attemptKey { return attemptKey{j.Cluster, j.JobID, int64(j.Attempt)} }

// rowOf builds the whole row of an attempt, and names the sources that write it.
func rowOf(j *job.Job, now time.Time) (r *attemptRow, by sourceSet, err error) {
	r, by = &attemptRow{attemptKey: keyOf(j), job: *j, changed: now}, from(opening)
	if !j.Submit.IsZero() {
		by = by.with(accounting, usage)
		r.job.State, _, _ = strings.Cut(j.State, " ")
		r.slurmStart, r.slurmEnd = j.Start, j.End
		r.setElapsed(j.Elapsed)
		r.setUsage(j.Usage)
	}
	if j.Reports > 0 {
		by = by.with(arrival, merging)
		r.nodesStart, r.nodesEnd = j.Start, j.End
		err = r.merge(&r.job)
	}
	return r, by, err
}
