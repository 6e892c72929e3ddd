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

// quiet is how long Settle leaves an attempt alone: further reports may come, or another
// daemon may merge it, which had its last report or claimed it.
const quiet = time.Second

// Settle merges attempts with too many reports to merge at once: those that became complete
// here, and those of any daemon that got no report for a while. Daemons that share a database
// so share this work, if their clocks agree to less than quiet; otherwise two may write the
// same. Settle returns how many attempts it merged.
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
		return 0, fmt.Errorf("store: attempts to merge: %w", unavailable(err))
	}
	others = slices.DeleteFunc(others, func(k attemptKey) bool { return slices.Contains(complete, k) })
	for i, k := range slices.Concat(complete, others) {
		since := time.Now()
		if i >= len(complete) {
			since = since.Add(-quiet)
		}
		claimed, mine, err := s.claim(ctx, k, since)
		if mine && err == nil {
			err = s.settle(ctx, k, claimed)
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

// claim reserves an attempt that waits to be merged, if nothing changed since it was found.
// To other daemons it has then changed just now. If this daemon dies, they find it again
// after quiet.
func (s *Store) claim(ctx context.Context, k attemptKey, since time.Time) (claimed int64, mine bool, err error) {
	claimed = time.Now().UnixMicro()
	err = s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error {
		var attempt int64
		err := w.one("UPDATE attempts SET changed_us = ? WHERE cluster = ? AND job_id = ? AND attempt = ? AND merged < reports AND changed_us <= ? RETURNING attempt",
			append(append([]any{claimed}, k.args()...), since.UnixMicro()), []any{&attempt})
		mine = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return claimed, mine, err
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

// rowsOfTurn bounds the rows of executions, and likewise of calls, that Settle writes before
// other reports have a turn.
const rowsOfTurn = 500

// settle merges outside the writer, and writes the result in turns with other reports. It drops
// the result if a report came meanwhile; the next Settle then tries again.
func (s *Store) settle(ctx context.Context, k attemptKey, claimed int64) error {
	j, n, err := s.mergeReports(ctx, k)
	if err != nil {
		return err
	}
	s.kept.drop(jobKey{k.cluster, k.jobID})
	row, rows, err := mergedRows(k, j, n)
	t := &turn{attemptKey: k, reports: n, first: true, claimed: claimed}
	for err == nil && !t.ended {
		part, last := rows.next(rowsOfTurn)
		again := time.Now().UnixMicro()
		err = s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error { return t.write(w, &part, row, last, again) })
		t.first, t.claimed = false, again
	}
	return err
}

// turn is the state of an attempt that is written in turns with other work.
type turn struct {
	attemptKey
	reports int
	claimed int64 // by this daemon, us
	first   bool
	ended   bool
}

// write writes a part and claims the attempt again, or writes the attempt after the last part:
// until then views merge its reports. It ends early if a report came, another daemon claimed the
// attempt, or it was pruned.
func (t *turn) write(w *writer, part *executionRows, row *attemptRow, last bool, again int64) error {
	var now int
	var claimed int64
	var submit sql.NullInt64
	err := w.one("SELECT reports, changed_us, slurm_submit_us FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ?", t.args(), []any{&now, &claimed, &submit})
	mine := err == nil && now == t.reports && claimed == t.claimed
	if t.ended = last || !mine; errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if !mine {
		return err
	}
	some := *part // this may run again
	if !submit.Valid {
		some.workloads = nil
	}
	if t.first {
		err = w.forgetExecutions(t.attemptKey)
	}
	if err == nil {
		err = w.insertExecutions(&some)
	}
	if err != nil {
		return err
	}
	if last {
		return w.writeAttempt(row, from(merging))
	}
	return w.exec("UPDATE attempts SET changed_us = ? WHERE cluster = ? AND job_id = ? AND attempt = ?", append([]any{again}, t.args()...)...)
}

// mergeReports merges an attempt's n reports into a job.
func (s *Store) mergeReports(ctx context.Context, k attemptKey) (j *job.Job, n int, err error) {
	rows, err := s.read.QueryContext(ctx, reportsToMerge, k.mergeArgs()...)
	if err != nil {
		return nil, 0, unavailable(err)
	}
	var m job.JobMerger
	if n, err = addAll(&m, rows, s.kept.get(jobKey{k.cluster, k.jobID})); err != nil {
		return nil, 0, unavailable(err)
	}
	return m.Job(), n, nil
}
