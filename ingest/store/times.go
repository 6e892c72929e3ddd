package store

import (
	"context"
	"database/sql"
	"fmt"

	"jobeff/ingest/job"
)

// fillAtOnce is how many attempts a call of fillTimes fills: reports that come meanwhile must
// not wait long.
const fillAtOnce = 100

const toTime = "SELECT cluster, job_id, attempt FROM attempts WHERE ranks > 0 AND io_time_s IS NULL ORDER BY changed_us LIMIT ? OFFSET ?"

// fillTimes fills timeColumns of some attempts that an earlier jobeff stored, from their
// executions. If an attempt's executions cannot be read, its columns stay NULL.
func (s *Store) fillTimes(ctx context.Context) error {
	var keys []attemptKey
	err := s.eachRow(ctx, toTime, []any{fillAtOnce, s.untimed.Load()}, func(rows *sql.Rows) error {
		var k attemptKey
		err := rows.Scan(&k.cluster, &k.jobID, &k.attempt)
		keys = append(keys, k)
		return err
	})
	if err == nil {
		err = each(len(keys), func(i int) error { return s.fillTimesOf(ctx, keys[i]) })
	}
	if err != nil {
		return fmt.Errorf("store: times of old jobs: %w", unavailable(err))
	}
	return nil
}

// fillTimesOf fills the columns of one attempt and of its executions.
func (s *Store) fillTimesOf(ctx context.Context, k attemptKey) error {
	return s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) error {
		all, err := readRows(w.rows("SELECT execution, detail FROM executions WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...))
		if err != nil {
			return err
		}
		row := &attemptRow{attemptKey: k, measured: true}
		for _, one := range all {
			var x job.Execution
			if detail, _ := one["detail"].([]byte); unpack(detail, &x) != nil {
				s.untimed.Add(1)
				return nil
			}
			row.job.Executions = append(row.job.Executions, x)
		}
		row.addTimes()
		for i, x := range row.job.Executions {
			if m := x.Metrics; m != nil {
				if err := w.exec("UPDATE executions SET io_time_s = ?, wait_time_s = ? WHERE cluster = ? AND job_id = ? AND attempt = ? AND execution = ?",
					append([]any{m.IOTime, m.WaitTime}, append(k.args(), all[i]["execution"])...)...); err != nil {
					return err
				}
			}
		}
		return w.writeAttempt(row, from(filling))
	})
}
