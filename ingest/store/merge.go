package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"jobeff/ingest"
)

// quiet is how long Settle waits for further reports of a run, and leaves a complete one to
// the daemon that had its last.
const quiet = time.Second

// Settle merges runs whose reports came in greater numbers than are merged at once:
// those that became complete here, and those to which nothing came for a while, of whatever
// daemon. So daemons that share a database do not all merge the same. It returns how
// many it merged.
func (s *Store) Settle(ctx context.Context) (merged int, err error) {
	keys := s.gathering.takeComplete()
	others, err := s.unmerged(ctx)
	if err != nil {
		return 0, fmt.Errorf("store: runs to merge: %w", unavailable(err))
	}
	for _, k := range others {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		if err := s.settle(ctx, k); err != nil {
			return merged, fmt.Errorf("store: job %d: %w", k.jobID, err)
		}
		merged++
	}
	return merged, nil
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
		err := w.one("SELECT count(*) FROM reports WHERE cluster = ? AND job_id = ? AND run = ?", k.args(), []any{&now})
		if err != nil || now != n {
			return err
		}
		return w.keepMerged(k, j, n, false)
	})
}

// mergeReports puts a run together from its n reports.
func (s *Store) mergeReports(ctx context.Context, k runKey) (j *ingest.Job, n int, err error) {
	rows, err := s.read.QueryContext(ctx, reportsOfRun, k.args()...)
	if err != nil {
		return nil, 0, unavailable(err)
	}
	var m ingest.JobMerger
	if n, err = addAll(&m, rows, s.kept.get(jobKey{k.cluster, k.jobID})); err != nil {
		return nil, 0, unavailable(err)
	}
	return m.Job(), n, nil
}

// keepMerged writes what n reports of a run come to; of a new run nothing was kept before.
func (w *writer) keepMerged(k runKey, j *ingest.Job, n int, isNew bool) error {
	details, err := packAll(j.Executions)
	if err != nil {
		return err
	}
	return w.keepPacked(k, j, n, details, isNew)
}

// packAll packs each execution.
func packAll(executions []ingest.Execution) (details [][]byte, err error) {
	for i := range executions {
		d, err := pack(&executions[i])
		if err != nil {
			return nil, err
		}
		details = append(details, d)
	}
	return details, nil
}

// keepPacked is keepMerged with the executions also packed.
func (w *writer) keepPacked(k runKey, j *ingest.Job, n int, details [][]byte, isNew bool) error {
	steps, err := json.Marshal(j.Steps)
	if err != nil {
		return err
	}
	warnings, err := json.Marshal(j.Warnings)
	if err != nil {
		return err
	}
	args := []any{n, j.Decision, j.NoData, string(steps), string(warnings), ingest.RankSeconds(j.Executions), bit(ingest.Threaded(j.Executions)),
		j.ArrayJobID, j.ArrayJobID, optional(j.ArrayTaskID), j.HetJobID, j.HetJobID, j.Nodes, j.Nodes, j.User, j.Account, j.Partition}
	args = append(args, metricArgs(j.Metrics)...)
	err = w.exec(`UPDATE runs SET merged = ?, decision = ?, no_data = ?, steps_json = ?, warnings_json = ?, rank_seconds = ?, threaded = ?,
		array_job_id = CASE WHEN array_job_id > ? THEN array_job_id ELSE ? END, array_task_id = COALESCE(array_task_id, ?),
		het_job_id = CASE WHEN het_job_id > ? THEN het_job_id ELSE ? END, nodes = CASE WHEN nodes > ? THEN nodes ELSE ? END,
		user_name = CASE user_name WHEN '' THEN ? ELSE user_name END, account = CASE account WHEN '' THEN ? ELSE account END,
		partition_name = CASE partition_name WHEN '' THEN ? ELSE partition_name END,
		parallel_efficiency = ?, load_balance = ?, load_balance_in = ?, load_balance_out = ?, communication_efficiency = ?,
		elapsed_s = ?, useful_s = ?, mpi_time_s = ?, ranks = ?, metric_nodes = ?, coverage = ?
		WHERE cluster = ? AND job_id = ? AND run = ?`, append(args, k.args()...)...)
	if err != nil {
		return err
	}
	return w.keepExecutions(k, j, details, isNew)
}

// keepExecutions replaces the run's executions, details are the same, packed; a new run has none.
func (w *writer) keepExecutions(k runKey, j *ingest.Job, details [][]byte, isNew bool) error {
	for _, table := range []string{"executions", "calls", "workload_runs"} {
		if isNew {
			break
		}
		if err := w.exec("DELETE FROM "+table+" WHERE cluster = ? AND job_id = ? AND run = ?", k.args()...); err != nil {
			return err
		}
	}
	var calls []any
	for i := range j.Executions {
		x := &j.Executions[i]
		if err := errors.Join(w.keepExecution(k, i, x, details[i]), w.keepRun(k, j.UID, i, x)); err != nil {
			return err
		}
		for _, c := range x.Calls {
			calls = append(append(calls, k.args()...), i, c.Name, bigint(c.Count), int64(c.Time), bigint(c.Sent), bigint(c.Received), bigint(c.Largest))
		}
	}
	return w.insertRows("calls (cluster, job_id, run, execution, name, count, time_ns, sent, received, largest)", calls)
}

func (w *writer) keepExecution(k runKey, i int, x *ingest.Execution, detail []byte) error {
	args := append(k.args(), i, x.Key, x.KeyFrom, x.Size, micro(x.Start), micro(x.End), clip(ingest.MPILibrary(x)), x.Executable, x.BuildID)
	args = append(append(args, metricArgs(x.Metrics)...), detail)
	return w.exec(`INSERT INTO executions (cluster, job_id, run, execution, key, key_from, size, start_us, end_us, mpi, executable, build_id,
		parallel_efficiency, load_balance, load_balance_in, load_balance_out, communication_efficiency,
		elapsed_s, useful_s, mpi_time_s, ranks, nodes, coverage, detail)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...)
}

// metricArgs are the metrics in the order of their columns, NULL without data.
func metricArgs(m *ingest.Metrics) []any {
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
