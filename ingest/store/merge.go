package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	complete := s.gathering.takeComplete()
	others, err := s.unmerged(ctx)
	if err != nil {
		return 0, fmt.Errorf("store: runs to merge: %w", unavailable(err))
	}
	others = slices.DeleteFunc(others, func(k runKey) bool { return slices.Contains(complete, k) })
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
func (s *Store) claim(ctx context.Context, k runKey, since time.Time) (mine bool, err error) {
	err = s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error {
		var run int64
		err := w.one("UPDATE runs SET changed_us = ? WHERE cluster = ? AND job_id = ? AND run = ? AND merged < reports AND changed_us <= ? RETURNING run",
			append(append([]any{time.Now().UnixMicro()}, k.args()...), since.UnixMicro()), []any{&run})
		mine = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return mine, err
}

const toMerge = "SELECT cluster, job_id, run FROM runs WHERE merged < reports AND changed_us < ? ORDER BY changed_us LIMIT 100"

func (s *Store) unmerged(ctx context.Context) ([]runKey, error) {
	rows, err := s.read.QueryContext(ctx, toMerge, time.Now().Add(-quiet).UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var keys []runKey
	for rows.Next() {
		var k runKey
		if err := rows.Scan(&k.cluster, &k.jobID, &k.run); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// settle merges outside the writer and keeps the result if no report came
// meanwhile; else the next Settle does it again.
func (s *Store) settle(ctx context.Context, k runKey) error {
	j, n, err := s.mergeReports(ctx, k)
	if err != nil {
		return err
	}
	s.kept.drop(jobKey{k.cluster, k.jobID})
	return s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error {
		var now int
		err := w.one("SELECT reports FROM runs WHERE cluster = ? AND job_id = ? AND run = ?", k.args(), []any{&now})
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
func (s *Store) mergeReports(ctx context.Context, k runKey) (j *job.Job, n int, err error) {
	rows, err := s.read.QueryContext(ctx, reportsOfRun, k.args()...)
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
func (w *writer) keepMerged(k runKey, j *job.Job, n int) error {
	merged, err := mergedSettings(j, n)
	if err != nil {
		return err
	}
	var rows executionRows
	if err := rows.add(k, j); err != nil {
		return err
	}
	return errors.Join(w.updateRun(k, merged), w.forgetExecutions(k), w.insertExecutions(&rows))
}

// mergedSettings is what n reports of a run come to.
func mergedSettings(j *job.Job, n int) ([]setting, error) {
	steps, err := json.Marshal(j.Steps)
	if err != nil {
		return nil, err
	}
	warnings, err := json.Marshal(j.Warnings)
	if err != nil {
		return nil, err
	}
	all := []setting{
		{"merged", n, replaces}, {"decision", j.Decision, replaces}, {"no_data", j.NoData, replaces},
		{"steps_json", string(steps), replaces}, {"warnings_json", string(warnings), replaces},
		{"rank_seconds", job.RankSeconds(j.Executions), replaces}, {"threaded", bit(job.Threaded(j.Executions)), replaces},
		{"array_job_id", int64(j.ArrayJobID), larger}, {"array_task_id", optional(j.ArrayTaskID), missing},
		{"het_job_id", int64(j.HetJobID), larger}, {"nodes", int64(j.Nodes), larger},
		{"user_name", j.User, empty}, {"account", j.Account, empty}, {"partition_name", j.Partition, empty},
	}
	values := metricArgs(j.Metrics)
	for i, column := range []string{"parallel_efficiency", "load_balance", "load_balance_in", "load_balance_out", "communication_efficiency",
		"elapsed_s", "useful_s", "mpi_time_s", "ranks", "metric_nodes", "coverage"} {
		all = append(all, setting{column, values[i], replaces})
	}
	return all, nil
}

// executionRows are the values of the rows that runs' executions have, one row after the
// other.
type executionRows struct{ executions, workloads, calls []any }

// add adds those of a run.
func (r *executionRows) add(k runKey, j *job.Job) error {
	for i := range j.Executions {
		x := &j.Executions[i]
		detail, err := pack(x)
		if err != nil {
			return err
		}
		r.executions = append(append(r.executions, k.args()...), i, x.Key, x.KeyFrom, x.Size, micro(x.Start), micro(x.End), clip(job.MPILibrary(x)), x.Executable, x.BuildID)
		r.executions = append(append(r.executions, metricArgs(x.Metrics)...), detail)
		run, err := workloadRow(k, j.UID, i, x)
		if err != nil {
			return err
		}
		r.workloads = append(r.workloads, run...)
		for _, c := range x.Calls {
			r.calls = append(append(r.calls, k.args()...), i, c.Name, bigint(c.Count), int64(c.Time), bigint(c.Sent), bigint(c.Received), bigint(c.Largest))
		}
	}
	return nil
}

// insertExecutions writes rows of executions that are not there.
func (w *writer) insertExecutions(r *executionRows) error {
	return errors.Join(w.insertRows(`executions (cluster, job_id, run, execution, key, key_from, size, start_us, end_us, mpi, executable, build_id,
		parallel_efficiency, load_balance, load_balance_in, load_balance_out, communication_efficiency,
		elapsed_s, useful_s, mpi_time_s, ranks, nodes, coverage, detail)`, r.executions),
		w.insertRows(workloadColumns, r.workloads),
		w.insertRows("calls (cluster, job_id, run, execution, name, count, time_ns, sent, received, largest)", r.calls))
}

// forgetExecutions deletes what a run has of them.
func (w *writer) forgetExecutions(k runKey) error {
	return errors.Join(w.forget("executions", k), w.forget("workload_runs", k), w.forget("calls", k))
}

// metricArgs are the metrics in the order of their columns, NULL without data.
func metricArgs(m *job.Metrics) []any {
	if m == nil {
		return make([]any, 11)
	}
	return []any{m.ParallelEfficiency, m.LoadBalance, m.LoadBalanceIn, m.LoadBalanceOut, m.CommunicationEfficiency,
		m.Elapsed, m.Useful, m.MPITime, m.Ranks, m.Nodes, m.Coverage}
}

// bit is a truth as a BIGINT holds it.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bigint is a count as SQL can hold it.
func bigint(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
