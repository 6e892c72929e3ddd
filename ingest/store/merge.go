package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// quiet is how long Settle waits for further reports of a run, and leaves a complete one to
// the daemon that had its last, and one that a daemon has claimed to that.
const quiet = time.Second

// Settle merges runs whose reports came in greater numbers than are merged at once:
// those that became complete here, and those to which nothing came for a while, of whatever
// daemon. So daemons that share a database do not all merge the same, as far as their
// clocks agree to less than quiet; otherwise they write the same twice. It returns how many
// it merged.
func (s *Store) Settle(ctx context.Context) (merged int, err error) {
	if err := s.keepHeard(ctx, time.Now()); err != nil {
		return 0, err
	}
	if err := s.fillTimes(ctx); err != nil {
		return 0, err
	}
	complete := s.gathering.takeComplete()
	others, err := s.unmerged(ctx)
	if err != nil {
		return 0, fmt.Errorf("store: runs to merge: %w", unavailable(err))
	}
	others = slices.DeleteFunc(others, func(k attemptKey) bool { return slices.Contains(complete, k) })
	for i, k := range slices.Concat(complete, others) {
		since := time.Now()
		if i >= len(complete) {
			since = since.Add(-quiet)
		}
		mine, err := s.claim(ctx, k, since)
		if mine && err == nil {
			err = s.settle(ctx, k)
		}
		if err != nil {
			return merged, fmt.Errorf("store: job %d: %w", k.jobID, err)
		}
		if mine {
			merged++
		}
	}
	return merged, nil
}

// claim takes a run that waits to be merged and has not changed since, nor was claimed: for
// the others it has changed now. Where this daemon dies they find it again after quiet.
func (s *Store) claim(ctx context.Context, k attemptKey, since time.Time) (mine bool, err error) {
	err = s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error {
		var run int64
		err := w.one("UPDATE attempts SET changed_us = ? WHERE cluster = ? AND job_id = ? AND attempt = ? AND merged < reports AND changed_us <= ? RETURNING attempt",
			append(append([]any{time.Now().UnixMicro()}, k.args()...), since.UnixMicro()), []any{&run})
		mine = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return mine, err
}

const toMerge = "SELECT cluster, job_id, attempt FROM attempts WHERE merged < reports AND changed_us < ? ORDER BY changed_us LIMIT 100"

func (s *Store) unmerged(ctx context.Context) ([]attemptKey, error) {
	rows, err := s.read.QueryContext(ctx, toMerge, time.Now().Add(-quiet).UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var keys []attemptKey
	for rows.Next() {
		var k attemptKey
		if err := rows.Scan(&k.cluster, &k.jobID, &k.attempt); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// settle merges outside the writer and keeps the result if no report came
// meanwhile; else the next Settle does it again.
func (s *Store) settle(ctx context.Context, k attemptKey) error {
	j, n, err := s.mergeReports(ctx, k)
	if err != nil {
		return err
	}
	s.kept.drop(jobKey{k.cluster, k.jobID})
	return s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error {
		var now int
		err := w.one("SELECT reports FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args(), []any{&now})
		if errors.Is(err, sql.ErrNoRows) { // pruned meanwhile
			return nil
		}
		if err != nil || now != n {
			return err
		}
		return w.keepMerged(k, j, n)
	})
}

// mergeReports puts a run together from its n reports.
func (s *Store) mergeReports(ctx context.Context, k attemptKey) (j *job.Job, n int, err error) {
	rows, err := s.read.QueryContext(ctx, reportsOfAttempt, k.args()...)
	if err != nil {
		return nil, 0, unavailable(err)
	}
	var m job.JobMerger
	if n, err = addAll(&m, rows, s.kept.get(jobKey{k.cluster, k.jobID})); err != nil {
		return nil, 0, unavailable(err)
	}
	return m.Job(), n, nil
}

// keepMerged writes what n reports of a run come to that is in the database.
func (w *writer) keepMerged(k attemptKey, j *job.Job, n int) error {
	row := &attemptRow{attemptKey: k}
	if err := row.merge(j, n); err != nil {
		return err
	}
	var rows executionRows
	if err := rows.add(k, j); err != nil {
		return err
	}
	return errors.Join(w.writeAttempt(row, from(merging)), w.forgetExecutions(k), w.insertExecutions(&rows))
}

// executionRows are the values of the rows that runs' executions have, one row after the
// other.
type executionRows struct{ executions, workloads, calls []any }

// add adds those of a run.
func (r *executionRows) add(k attemptKey, j *job.Job) error {
	for i := range j.Executions {
		x := &j.Executions[i]
		detail, err := pack(x)
		if err != nil {
			return err
		}
		row := &executionRow{attemptKey: k, execution: i, Execution: x, mpi: clip(job.MPILibrary(x)), detail: detail}
		if row.measured = x.Metrics != nil; row.measured {
			row.metrics = *x.Metrics
		}
		r.executions = appendValues(r.executions, executionTable.columns, row)
		run, err := workloadRow(k, j.UID, i, x)
		if err != nil {
			return err
		}
		if run != nil {
			r.workloads = appendValues(r.workloads, workloadTable.columns, run)
		}
		for _, c := range x.Calls {
			r.calls = appendValues(r.calls, callTable.columns, &callRow{k, i, c})
		}
	}
	return nil
}

// insertExecutions writes rows of executions that are not there.
func (w *writer) insertExecutions(r *executionRows) error {
	return errors.Join(w.insertRows(executionTable.into, r.executions), w.insertRows(workloadTable.into, r.workloads),
		w.insertRows(callTable.into, r.calls))
}

// forgetExecutions deletes what a run has of them.
func (w *writer) forgetExecutions(k attemptKey) error {
	return errors.Join(w.forget("executions", k), w.forget("workload_runs", k), w.forget("calls", k))
}
