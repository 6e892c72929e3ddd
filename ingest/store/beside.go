package store

import (
	"context"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// AddBeside adds the runs of a job's workload just before and after it, of those that the viewer may see.
func (s *Store) AddBeside(ctx context.Context, v Viewer, found *listing.JobAndWorkload) error {
	key, main := job.WorkloadOf(found.Job), job.MainExecution(found.Executions)
	if key == "" || main < 0 {
		return nil
	}
	for _, side := range []struct {
		than, order string
		run         **job.Run
	}{
		{"<", newestRuns, &found.Before},
		{">", " ORDER BY w.start_us, w.job_id, w.attempt, w.execution LIMIT ?", &found.After},
	} {
		query := workloadRunRows + " WHERE w.workload_key = ? AND (w.start_us, w.job_id) " + side.than + " (?, ?) AND NOT (w.cluster = ? AND w.job_id = ?)"
		args := []any{key, found.Executions[main].Start.UnixMicro(), found.JobID, found.Cluster, found.JobID}
		runs, err := s.runsInOrder(ctx, v, query, args, side.order, 1)
		if err != nil {
			return wrapWorkload(err)
		}
		if len(runs) > 0 {
			*side.run = &runs[0].Run
		}
	}
	return nil
}
