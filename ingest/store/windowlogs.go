package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/job"
)

// Bounds of the logs of windows that wait to be replayed, of all jobs. So many rows are those of a
// few jobs of thousands of nodes.
const (
	mostLogRows  = 20_000
	mostLogBytes = 512 << 20
)

// A replay that did not end, by a kill or for want of memory, is tried again: logTries times, and
// after logAgain at the earliest.
const (
	logTries = 3
	logAgain = time.Minute
)

// WindowLogs are the logs of all nodes of an execution.
type WindowLogs struct {
	attemptKey
	world     string
	Logs      []*job.NodeLogs
	Execution *job.Execution // merged from the nodes' reports
}

// AddLogs keeps the logs of one node until they are replayed, and returns after the COMMIT. packed
// is their form on the wire. added is false if they were there already.
func (s *Store) AddLogs(ctx context.Context, l *job.NodeLogs, packed []byte) (added bool, err error) {
	err = s.doJob(ctx, jobKey{l.Cluster, l.JobID}, func(w *writer) error {
		var rows, bytes, there int64
		key := []any{l.Cluster, l.JobID, l.Node, l.Nonce}
		err := errors.Join(w.one("SELECT count(*), COALESCE(SUM(bytes), 0) FROM window_logs", nil, []any{&rows, &bytes}),
			w.one("SELECT count(*) FROM window_logs WHERE cluster = ? AND job_id = ? AND node = ? AND nonce = ?", key, []any{&there}))
		if added = there == 0; err != nil || !added {
			return err
		}
		if rows >= mostLogRows || bytes+int64(len(packed)) > mostLogBytes {
			return ErrManyLogs
		}
		return w.exec("INSERT INTO window_logs (cluster, job_id, node, nonce, world, size, ranks, received_us, bytes, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			append(key, l.Key, l.Size, l.Ranks, time.Now().UnixMicro(), len(packed), packed)...)
	})
	if err != nil {
		return false, fmt.Errorf("store: logs of job %d from %s: %w", l.JobID, l.Node, err)
	}
	return added, nil
}

// logsOfReports ties logs to the attempt of their report.
const logsOfReports = ` FROM window_logs l JOIN reports r ON r.cluster = l.cluster AND r.job_id = l.job_id AND r.node = l.node AND r.nonce = l.nonce
	WHERE r.attempt > 0 `

// Logs are replayed once those of all ranks are there, and their reports are merged.
const logsToReplay = "SELECT l.cluster, l.job_id, r.attempt, l.world" + logsOfReports + `AND l.tried_us < ?
	AND EXISTS (SELECT 1 FROM attempts a WHERE a.cluster = r.cluster AND a.job_id = r.job_id AND a.attempt = r.attempt AND a.unmerged = 0)
	GROUP BY l.cluster, l.job_id, r.attempt, l.world, l.size HAVING SUM(l.ranks) >= l.size ORDER BY MIN(l.received_us) LIMIT 1`

// NextLogs claims the logs that are to be replayed next; nil: none are. It drops those that wait
// for others of their execution longer than grace.
func (s *Store) NextLogs(ctx context.Context, now time.Time, grace time.Duration) (*WindowLogs, error) {
	l := new(WindowLogs)
	before := now.Add(-logAgain).UnixMicro()
	err := s.read.QueryRowContext(ctx, logsToReplay, before).Scan(&l.cluster, &l.jobID, &l.attempt, &l.world)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, s.dropLogs(ctx, now.Add(-max(grace, 2*logTries*logAgain)))
	case err != nil:
		return nil, fmt.Errorf("store: logs to replay: %w", unavailable(err))
	}
	mine, err := s.claimLogs(ctx, l, now, before)
	if err == nil && mine {
		err = s.readLogs(ctx, l)
	}
	if err != nil || !mine {
		return nil, err
	}
	if l.Execution == nil { // folded with others, or its report was trimmed
		return nil, s.KeepWindows(ctx, l, nil, nil)
	}
	return l, nil
}

// dropLogs deletes what came before a time.
func (s *Store) dropLogs(ctx context.Context, before time.Time) error {
	var old int64
	if err := s.number(ctx, &old, "SELECT count(*) FROM window_logs WHERE received_us < ?", before.UnixMicro()); err != nil || old == 0 {
		return err
	}
	return s.do(ctx, func(w *writer) error {
		return w.exec("DELETE FROM window_logs WHERE received_us < ?", before.UnixMicro())
	})
}

// claimLogs counts a try, unless another daemon claimed the logs. After the last try they are
// dropped.
func (s *Store) claimLogs(ctx context.Context, l *WindowLogs, now time.Time, before int64) (mine bool, err error) {
	err = s.doJob(ctx, jobKey{l.cluster, l.jobID}, func(w *writer) error {
		var tries int64
		err := w.one("UPDATE window_logs SET tries = tries + 1, tried_us = ? WHERE cluster = ? AND job_id = ? AND world = ? AND tried_us < ? RETURNING tries",
			[]any{now.UnixMicro(), l.cluster, l.jobID, l.world, before}, []any{&tries})
		if mine = err == nil && tries <= logTries; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil && !mine {
			err = l.forget(w)
		}
		return err
	})
	return mine, err
}

func (l *WindowLogs) forget(w *writer) error {
	return w.exec("DELETE FROM window_logs WHERE cluster = ? AND job_id = ? AND world = ?", l.cluster, l.jobID, l.world)
}

// readLogs reads the logs, and their execution.
func (s *Store) readLogs(ctx context.Context, l *WindowLogs) error {
	err := s.eachRow(ctx, "SELECT l.body"+logsOfReports+"AND l.cluster = ? AND l.job_id = ? AND l.world = ? AND r.attempt = ?",
		[]any{l.cluster, l.jobID, l.world, l.attempt}, func(rows *sql.Rows) error {
			var body sql.RawBytes
			if err := rows.Scan(&body); err != nil {
				return err
			}
			text, err := job.DecompressReport(nil, body)
			if err != nil {
				return err
			}
			logs, err := job.DecodeLogs(text)
			l.Logs = append(l.Logs, logs)
			return err
		})
	if err != nil {
		return fmt.Errorf("store: logs of job %d: %w", l.jobID, unavailable(err))
	}
	all, _, err := s.executions(ctx, l.attemptKey)
	if err != nil {
		return fmt.Errorf("store: job %d: %w", l.jobID, unavailable(err))
	}
	for i := range all {
		x := &all[i]
		if x.Folded == nil && x.Key == l.world && x.Metrics != nil && l.within(x) {
			l.Execution = x
		}
	}
	return nil
}

// within tells whether all logs began while the execution ran.
func (l *WindowLogs) within(x *job.Execution) bool {
	for _, one := range l.Logs {
		if one.Size != x.Size || one.Start.Before(x.Start) || one.Start.After(x.End) {
			return false
		}
	}
	return true
}

// KeepWindows keeps what a replay told, for the merge, under the report of first, the logs with
// rank 0. Then it forgets the logs. With nil it only forgets them.
func (s *Store) KeepWindows(ctx context.Context, l *WindowLogs, first *job.NodeLogs, told *job.Windows) error {
	text, err := json.Marshal(told)
	if err == nil {
		err = s.doJob(ctx, jobKey{l.cluster, l.jobID}, func(w *writer) error {
			if told == nil {
				return l.forget(w)
			}
			return errors.Join(l.forget(w), w.exec(`INSERT INTO windows (cluster, job_id, node, nonce, world, start_us, windows_json) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (cluster, job_id, node, nonce, world, start_us) DO UPDATE SET windows_json = excluded.windows_json`,
				first.Cluster, first.JobID, first.Node, first.Nonce, first.Key, first.Start.UnixMicro(), string(text)), w.mergeAgain(l.attemptKey))
		})
	}
	if err != nil {
		return fmt.Errorf("store: windows of job %d: %w", l.jobID, err)
	}
	return nil
}

// windowsOfJob reads those of all attempts: a node's nonce tells them apart.
const windowsOfJob = "SELECT node, nonce, world, start_us, windows_json FROM windows WHERE cluster = ? AND job_id = ?"

// toldWindows are what a replay told of an execution.
type toldWindows struct {
	world   string
	start   int64 // us, on the node of rank 0
	windows job.Windows
}

// tell gives the windows to their execution in its node's report.
func (t *toldWindows) tell(r *job.NodeReport) {
	for i := range r.Executions {
		if x := &r.Executions[i]; x.Key == t.world && x.Start.UnixMicro() == t.start {
			x.Windows = &t.windows
		}
	}
}
