package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// lostTime is the time that the ranks of a run lost, s.
const lostTime = `(w.cores * w.elapsed_s - w.useful_s)`

// Sums of the runs of a span's jobs by workload and cores, of runs whose threads were measured: heavyHours of all its
// jobs, heavyEarly of those that ran when it began, heavyOf of one workload on some cores.
const (
	heavySums = `SELECT w.workload_key, w.cores, count(*), sum(w.cores * w.elapsed_s) / 3600, COALESCE(sum(` + lostTime + `), 0) / 3600 FROM `
	heavyRuns = `w.ended = 1 AND w.coverage >= 1
		AND (w.threads = 1 OR EXISTS (SELECT 1 FROM executions e WHERE e.cluster = w.cluster AND e.job_id = w.job_id AND e.attempt = w.attempt
			AND e.execution = w.execution AND e.thread_span_s IS NOT NULL))`
	ofRun      = ` w ON w.cluster = r.cluster AND w.job_id = r.job_id AND w.attempt = r.attempt WHERE `
	heavyHours = heavySums + `attempts r JOIN workload_runs` + ofRun + heavyRuns + ` AND r.end_us >= ? AND r.end_us < ?`
	heavyEarly = heavySums + `attempts r JOIN workload_runs` + ofRun + heavyRuns + ` AND r.end_us + 0 >= ? AND r.end_us + 0 < ? AND w.start_us < ? AND `
	heavyOf    = heavySums + `workload_runs` + withJob + ` WHERE w.workload_key = ? AND w.cores = ? AND w.start_us >= ? AND w.start_us < ? AND ` + heavyRuns + ` AND r.end_us + 0 >= ? AND r.end_us + 0 < ?`
)

// heaviest are the workloads and cores whose runs of a span can have lost most, from an index alone.
const heaviest = `SELECT w.workload_key, w.cores, sum(CASE WHEN w.lost_core_hours >= 0 THEN w.lost_core_hours ELSE w.used_core_hours END) FROM workload_runs w
	WHERE w.start_us >= ? AND w.start_us < ? AND w.ended = 1 GROUP BY w.workload_key, w.cores ORDER BY 3 DESC, 1, 2 LIMIT ? OFFSET ?`

// heavyJob finds the job of a workload and core count that lost most; the accounts and heaviestFirst follow it.
const heavyJob = `SELECT r.cluster, r.job_id, r.attempt FROM workload_runs w JOIN attempts r ON r.cluster = w.cluster AND r.job_id = w.job_id AND r.attempt = w.attempt
		WHERE w.workload_key = ? AND w.cores = ? AND w.ended = 1 AND w.coverage >= 1 AND w.start_us >= ? AND r.end_us >= ? AND r.end_us < ?`

const heaviestFirst = ` ORDER BY ` + lostTime + ` DESC NULLS LAST, r.job_id LIMIT 1`

// longestJob bounds how long before the span a job may have started. It lets the query use
// the index on the start.
const longestJob = 60 * 24 * time.Hour

// heavyLoad is what a workload's runs on so many cores used and lost.
type heavyLoad struct {
	loadKey
	hours listing.Hours
}

type loadKey struct {
	key   string
	cores int
}

// loads reads the rows of heavySums.
func (s *Store) loads(ctx context.Context, query string, args []any) (map[loadKey]listing.Hours, error) {
	all := map[loadKey]listing.Hours{}
	err := s.eachRow(ctx, query+" GROUP BY w.workload_key, w.cores", args, func(rows *sql.Rows) error {
		var k loadKey
		var h listing.Hours
		err := rows.Scan(&k.key, &k.cores, &h.Jobs, &h.Used, &h.Lost)
		h.Measured, h.Judged = h.Jobs, h.Used
		all[k] = h
		return err
	})
	return all, err
}

// heavyLoads are the loads of a span that lost most, so far.
type heavyLoads []heavyLoad

func (l *heavyLoads) add(all map[loadKey]listing.Hours) {
	for k, h := range all {
		*l = append(*l, heavyLoad{k, h})
	}
	slices.SortFunc(*l, func(a, b heavyLoad) int {
		return cmp.Or(cmp.Compare(b.hours.Lost, a.hours.Lost), cmp.Compare(a.key, b.key), cmp.Compare(a.cores, b.cores))
	})
	*l = (*l)[:min(len(*l), mostHeavy)]
}

// loadsAtOnce is how many loads are looked at first; then twice as many. Tests look at fewer.
var loadsAtOnce = 1000

// heaviestLoads are the loads of a span that lost most. What the runs of a span can have lost bounds what the runs of its jobs lost,
// so few workloads are added up; of some accounts, all are.
func (s *Store) heaviestLoads(ctx context.Context, p span) (loads heavyLoads, err error) {
	if where, args := p.among("r.account"); where != "" {
		all, err := s.loads(ctx, heavyHours+where, append(p.times(), args...))
		loads.add(all)
		return loads, err
	}
	from, to := p.from.UnixMicro()-dayUS, p.to.UnixMicro()+dayUS // clocks differ
	ran, args := ranBetween(p.from.UnixMicro(), p.from.UnixMicro())
	early, err := s.loads(ctx, heavyEarly+ran, slices.Concat(p.times(), []any{from}, args))
	if err != nil {
		return nil, err
	}
	sum := func(k loadKey) error {
		all, err := s.loads(ctx, heavyOf, append([]any{k.key, k.cores, from, to}, p.times()...))
		if h, is := early[k]; is {
			h.Add(all[k])
			all[k] = h
		}
		loads.add(all)
		return err
	}
	for k := range early {
		if err := sum(k); err != nil {
			return nil, err
		}
	}
	for n, offset, more := loadsAtOnce, 0, true; more; n, offset = 2*n, offset+n {
		var some []heavyLoad
		err := s.eachRow(ctx, heaviest, []any{from, to, n, offset}, func(rows *sql.Rows) error {
			var l heavyLoad
			err := rows.Scan(&l.key, &l.cores, &l.hours.Lost)
			some = append(some, l)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, l := range some {
			if len(loads) == mostHeavy && l.hours.Lost*(1+1e-9) < loads[mostHeavy-1].hours.Lost {
				return loads, nil
			}
			if _, known := early[l.loadKey]; !known {
				if err := sum(l.loadKey); err != nil {
					return nil, err
				}
			}
		}
		more = len(some) == n
	}
	return loads, nil
}

func (s *Store) heavy(ctx context.Context, p span, f *listing.Facts) error {
	loads, err := s.heaviestLoads(ctx, p)
	if err != nil {
		return err
	}
	known := map[string]*job.Workload{}
	for _, l := range loads {
		if known[l.key] == nil {
			if known[l.key], err = s.workload(ctx, p.viewer(), l.key, heavyKept); err != nil {
				return err
			}
		}
		h := listing.HeavyWorkload{Hours: l.hours, Workload: known[l.key]}
		if h.Job, err = s.heaviestJob(ctx, p, l.key, l.cores); errors.Is(err, sql.ErrNoRows) {
			continue
		} else if err != nil {
			return err
		}
		f.Heavy = append(f.Heavy, h)
	}
	return nil
}

// heaviestJob reads the job that lost most, with the jobs that its sbatch line is computed from.
func (s *Store) heaviestJob(ctx context.Context, p span, key string, cores int) (*job.Job, error) {
	var k attemptKey
	where, accounts := p.among("r.account")
	args := append([]any{key, cores, p.from.Add(-longestJob).UnixMicro(), p.from.UnixMicro(), p.to.UnixMicro()}, accounts...)
	err := s.read.QueryRowContext(ctx, heavyJob+where+heaviestFirst, args...).Scan(&k.cluster, &k.jobID, &k.attempt)
	if err != nil {
		return nil, err
	}
	j, err := s.attemptOf(ctx, p.viewer(), k)
	if err != nil || j == nil {
		return nil, errors.Join(err, sql.ErrNoRows)
	}
	return j, s.AddAlike(ctx, p.viewer(), j)
}
