package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"jobeff/ingest/slurm"
)

// AddSlurm adds what sacct said, each job in a transaction of its own. Lines that were added
// before change nothing. It returns how many of the jobs are known here.
func (s *Store) AddSlurm(ctx context.Context, jobs []slurm.Job) (known int, err error) {
	var n atomic.Int32
	lines := map[jobKey]int{}
	for i := range jobs {
		lines[jobKey{jobs[i].Cluster, jobs[i].RawID}]++
	}
	err = each(len(jobs), func(i int) error {
		ok, err := s.addSlurm(ctx, &jobs[i], lines[jobKey{jobs[i].Cluster, jobs[i].RawID}] == 1)
		if ok {
			n.Add(1)
		}
		return err
	})
	if err != nil {
		return int(n.Load()), fmt.Errorf("store: sacct's jobs: %w", err)
	}
	return int(n.Load()), nil
}

// addSlurm adds a line; alone says that it is the only one of its job.
func (s *Store) addSlurm(ctx context.Context, j *slurm.Job, alone bool) (ok bool, err error) {
	if err := s.knowCluster(ctx, j.Cluster); err != nil {
		return false, err
	}
	err = s.doJob(ctx, jobKey{j.Cluster, j.RawID}, func(w *writer) (err error) {
		ok, err = w.addSlurm(j, alone, s.began, time.Now().UnixMicro())
		return err
	})
	if err != nil {
		return false, fmt.Errorf("job %d: %w", j.RawID, err)
	}
	return ok, nil
}

func (w *writer) addSlurm(j *slurm.Job, alone bool, began time.Time, now int64) (ok bool, err error) {
	k, ok, err := w.attemptForSlurm(j, alone, began, now)
	if !ok || err != nil {
		return false, err
	}
	if err := w.dropForeign(k, j.NodeList); err != nil {
		return false, err
	}
	by := from(accounting)
	if j.WithSteps && !j.End.IsZero() {
		by = by.with(usage)
	}
	return true, w.writeAttempt(rowOfSlurm(k, j), by)
}

const toAsk = `SELECT job_id FROM attempts
		WHERE slurm_end_us IS NULL AND reports > 0 AND changed_us > ? ORDER BY changed_us LIMIT ?`

const toWeigh = `SELECT job_id FROM attempts
		WHERE usage_read = 0 AND slurm_end_us IS NOT NULL AND slurm_end_us > ? ORDER BY slurm_end_us LIMIT ?`

// ToAsk lists raw job ids of which sacct has more to tell, the oldest first. Some have
// reports but no end yet: Slurm's database may learn it hours late, after the poller has
// stopped looking there. The others have ended, but their steps were not read. Each kind gets
// half of the places.
func (s *Store) ToAsk(ctx context.Context, most int) (ids []uint32, err error) {
	since := time.Now().Add(-askFor).UnixMicro()
	for _, query := range []string{toAsk, toWeigh} {
		if ids, err = s.appendIDs(ctx, ids, query, since, most/2); err != nil {
			return nil, fmt.Errorf("store: jobs to ask for: %w", unavailable(err))
		}
	}
	return ids, nil
}

func (s *Store) appendIDs(ctx context.Context, ids []uint32, query string, args ...any) ([]uint32, error) {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id uint32
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

const asked = `UPDATE attempts SET usage_read = 1 WHERE cluster IN (SELECT cluster FROM clusters) AND job_id = ?
		AND usage_read = 0 AND slurm_end_us IS NOT NULL AND slurm_end_us < ?`

// Asked notes that sacct was asked for these jobs. If they ended some minutes ago, sacct will
// not tell more about their steps later.
func (s *Store) Asked(ctx context.Context, ids []uint32) error {
	settled := time.Now().Add(-slurm.Settled).UnixMicro()
	err := each(len(ids), func(i int) error {
		return s.doJob(ctx, jobKey{jobID: ids[i]}, func(w *writer) error { return w.exec(asked, ids[i], settled) })
	})
	if err != nil {
		return fmt.Errorf("store: jobs that sacct was asked for: %w", err)
	}
	return nil
}

// askFor is how long sacct is asked about a job before it is given up.
const askFor = 7 * 24 * time.Hour
