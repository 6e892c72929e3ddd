package store

import (
	"context"
	"fmt"
	"time"

	"jobeff/ingest"
	"jobeff/ingest/slurm"
)

// slurmBatch is how many of sacct's lines one piece of work takes in, so that
// reports do not wait long behind them.
const slurmBatch = 200

// AddSlurm takes in what sacct said. Lines that were taken in before change
// nothing. It returns how many are known here.
func (s *Store) AddSlurm(ctx context.Context, jobs []slurm.Job) (known int, err error) {
	for len(jobs) > 0 {
		batch := jobs[:min(slurmBatch, len(jobs))]
		jobs = jobs[len(batch):]
		n := 0
		err := s.do(ctx, func(w *writer) error {
			n = 0
			now := time.Now().UnixMicro()
			for i := range batch {
				ok, err := w.addSlurm(&batch[i], s.began, now)
				if err != nil {
					return fmt.Errorf("job %d: %w", batch[i].RawID, err)
				}
				if ok {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return known, fmt.Errorf("store: sacct's jobs: %w", err)
		}
		known += n
	}
	return known, nil
}

func (w *writer) addSlurm(j *slurm.Job, began time.Time, now int64) (ok bool, err error) {
	k, ok, err := w.runForSlurm(j, began, now)
	if !ok || err != nil {
		return false, err
	}
	return true, w.exec(`UPDATE runs SET
		array_job_id = max(array_job_id, ?), array_task_id = COALESCE(?, array_task_id),
		het_job_id = max(het_job_id, ?), het_offset = COALESCE(?, het_offset),
		user_name = ?, account = ?, partition_name = ?, qos = ?, name = ?,
		state = ?, cancelled_by = ?, exit_code = ?, nodelist = ?, nodes = max(nodes, ?), alloc_cpus = ?,
		slurm_submit_us = ?, slurm_start_us = ?, slurm_end_us = ?, slurm_elapsed_s = ?
		WHERE cluster = ? AND job_id = ? AND run = ?`,
		j.ArrayJobID, optional(j.ArrayTaskID), j.HetJobID, optional(j.HetOffset),
		clean(j.User), clean(j.Account), clean(j.Partition), clean(j.QOS), clean(j.Name),
		clean(j.State), optional(j.CancelledBy), clean(j.ExitCode), clean(j.NodeList), j.Nodes, j.CPUs,
		micro(j.Submit), micro(j.Start), micro(j.End), int64(j.Elapsed/time.Second), k.cluster, k.jobID, k.run)
}

const toAsk = `SELECT job_id FROM runs
		WHERE slurm_end_us IS NULL AND reports > 0 AND changed_us > ? ORDER BY changed_us LIMIT ?`

// ToAsk lists raw ids of runs that nodes reported and whose end sacct has not
// told yet, the oldest first: Slurm's database may learn of a job's end hours
// late, when a look at the last minutes finds it no more.
func (s *Store) ToAsk(ctx context.Context, most int) ([]uint32, error) {
	rows, err := s.read.QueryContext(ctx, toAsk,
		time.Now().Add(-askFor).UnixMicro(), most)
	if err != nil {
		return nil, fmt.Errorf("store: runs to ask for: %w", unavailable(err))
	}
	defer rows.Close()
	var ids []uint32
	for rows.Next() {
		var id uint32
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// askFor is after how long a job that sacct never told of is given up.
const askFor = 7 * 24 * time.Hour

// optional is a pointer's number, or NULL.
func optional(n *uint32) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}

// clean makes sacct's text harmless.
func clean(s string) string { return ingest.CleanText(s, 1024) }
