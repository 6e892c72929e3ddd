package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"jobeff/ingest/listing"
	"jobeff/ingest/slurmid"
)

// mostTasks is how many attempts of an array's tasks are summed up.
const mostTasks = maxLimit

const ofArrayOf = "r.cluster = ? AND r.array_job_id > 0 AND r.array_job_id = ?"

// AddTasks adds the array's tasks that the viewer may see to what was found for the array's id, as
// a list has them, the lowest numbers first. It adds none if there is only one.
func (s *Store) AddTasks(ctx context.Context, v Viewer, ref slurmid.Ref, found *listing.JobAndWorkload) error {
	of := found.Job
	if ref.ArrayTask != nil || ref.HetOffset != nil || ref.Step != "" || of.ArrayJobID == 0 || of.ArrayJobID != ref.ID {
		return nil
	}
	rows, err := s.attempts(ctx, v, selection{ofArrayOf, []any{of.Cluster, ref.ID}, "r.array_task_id, r.start_us, r.attempt"}, mostTasks+1)
	if err == nil {
		found.MoreTasks = len(rows) > mostTasks
		rows = rows[:min(mostTasks, len(rows))]
		err = errors.Join(s.addPrograms(ctx, rows), s.addNTasks(ctx, of.Cluster, ref.ID, rows))
	}
	if err != nil {
		return fmt.Errorf("store: tasks of %s: %w", ref, unavailable(err))
	}
	for _, r := range rows {
		if r.job.UID != of.UID || r.job.Unconfirmed && !of.Unconfirmed { // a node could make up a task
			continue
		}
		if err := s.listedJob(ctx, listing.JobQuery{}, r); err != nil {
			return fmt.Errorf("store: tasks of %s: %w", ref, unavailable(err))
		}
		found.Tasks = append(found.Tasks, r.job)
	}
	if len(found.Tasks) == 1 {
		found.Tasks = nil
	}
	return nil
}

const ntasksOfArray = "SELECT r.job_id, r.attempt, r.tasks FROM attempts r WHERE " + ofArrayOf

// addNTasks fills in how many tasks each job of an array had. With that column, SQLite scans all jobs for a list.
func (s *Store) addNTasks(ctx context.Context, cluster string, id uint32, jobs []*attemptRow) error {
	ntasks := map[attemptKey]int{}
	err := s.eachRow(ctx, ntasksOfArray, []any{cluster, id}, func(rows *sql.Rows) error {
		k, n := attemptKey{cluster: cluster}, 0
		err := rows.Scan(&k.jobID, &k.attempt, &n)
		ntasks[k] = n
		return err
	})
	for _, r := range jobs {
		r.job.NTasks = ntasks[r.attemptKey]
	}
	return err
}

const programsOfArray = `SELECT x.job_id, x.attempt, x.executable, COALESCE(x.thread_span_s, x.ranks * x.elapsed_s, 0)
	FROM attempts r JOIN executions x ON x.cluster = r.cluster AND x.job_id = r.job_id AND x.attempt = r.attempt WHERE ` + ofArrayOf

// addPrograms fills in which program took most core time in each row of a task of an array.
func (s *Store) addPrograms(ctx context.Context, rows []*attemptRow) error {
	type array struct {
		cluster string
		id      uint32
	}
	all := map[array]map[attemptKey]*attemptRow{}
	for _, r := range rows {
		if of := (array{r.cluster, r.job.ArrayJobID}); of.id > 0 {
			if all[of] == nil {
				all[of] = map[attemptKey]*attemptRow{}
			}
			all[of][r.attemptKey] = r
		}
	}
	most := map[attemptKey]float64{}
	for of, tasks := range all {
		err := s.eachRow(ctx, programsOfArray, []any{of.cluster, of.id}, func(row *sql.Rows) error {
			k, program, took := attemptKey{cluster: of.cluster}, "", 0.0
			err := row.Scan(&k.jobID, &k.attempt, &program, &took)
			if r := tasks[k]; r != nil && (r.job.Program == "" || took > most[k]) {
				r.job.Program, most[k] = program, took
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
