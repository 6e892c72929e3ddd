package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sizes is how large the database is, and how large it will become. All sizes are bytes.
type Sizes struct {
	Now        int64 // on the disk
	Used       int64 // … without free pages
	Jobs       int64
	Trimmed    int64 // … whose ranks were dropped
	Months     int64 // rows of pruned jobs' months
	PerJob     float64
	PerTrimmed float64
	PerMonth   float64 // one row
	JobsPerDay float64 // as given, or as in the last week
	RowsPerMon int64
	Days       int   // ahead
	Foretold   int64 // the largest size until then
	KeptJobs   int64 // at that time
}

// leastForSize is how many jobs a measurement needs.
const leastForSize = 100

// Size measures what a job takes. It foretells the database's size under a retention after
// some days, with so many jobs a day (0: as in the last week).
func (s *Store) Size(ctx context.Context, r Retention, perDay float64, days int, now time.Time) (*Sizes, error) {
	z := &Sizes{JobsPerDay: perDay, Days: days}
	for _, step := range []func() error{
		func() error { return s.measureFiles(ctx, z) },
		func() error { return s.countJobs(ctx, z, now) },
		func() error { return s.measureJobs(ctx, z) },
		func() error { return s.foretell(ctx, z, r, now) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("store: size: %w", unavailable(err))
		}
	}
	return z, nil
}

func (s *Store) number(ctx context.Context, into *int64, query string, args ...any) error {
	return s.read.QueryRowContext(ctx, query, args...).Scan(into)
}

func (s *Store) measureFiles(ctx context.Context, z *Sizes) error {
	if IsPostgres(s.engine.name()) {
		err := s.number(ctx, &z.Now, `SELECT CAST(COALESCE(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class
			WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema())`)
		z.Used = z.Now
		return err
	}
	var pages, free, page int64
	err := errors.Join(s.number(ctx, &pages, "PRAGMA page_count"), s.number(ctx, &free, "PRAGMA freelist_count"), s.number(ctx, &page, "PRAGMA page_size"))
	z.Now, z.Used = pages*page, (pages-free)*page
	return err
}

func (s *Store) countJobs(ctx context.Context, z *Sizes, now time.Time) error {
	err := errors.Join(s.number(ctx, &z.Jobs, "SELECT count(*) FROM attempts"),
		s.number(ctx, &z.Trimmed, "SELECT count(*) FROM attempts WHERE trimmed = 1"),
		s.number(ctx, &z.Months, "SELECT count(*) FROM rollup_months"))
	if err != nil {
		return err
	}
	if z.Jobs-z.Trimmed < leastForSize {
		return fmt.Errorf("there are %d jobs, and %d are needed to measure what one takes: ask again later", z.Jobs-z.Trimmed, leastForSize)
	}
	if z.JobsPerDay == 0 {
		err = s.lastWeek(ctx, z, now)
	}
	month := now.Add(-30 * 24 * time.Hour).UnixMicro()
	return errors.Join(err, s.number(ctx, &z.RowsPerMon, `SELECT count(*) FROM (SELECT DISTINCT r.uid, r.account, w.workload_key FROM attempts r
		LEFT JOIN workload_runs w ON w.cluster = r.cluster AND w.job_id = r.job_id AND w.attempt = r.attempt WHERE r.start_us >= ?) g`, month))
}

// lastWeek counts the jobs per day, over as much of the last week as there is.
func (s *Store) lastWeek(ctx context.Context, z *Sizes, now time.Time) error {
	var n, first int64
	from := now.Add(-7 * 24 * time.Hour).UnixMicro()
	err := s.read.QueryRowContext(ctx, "SELECT count(*), COALESCE(min(start_us), 0) FROM attempts WHERE start_us >= ?", from).Scan(&n, &first)
	if err != nil {
		return err
	}
	span := now.Sub(time.UnixMicro(first))
	if n == 0 || span < time.Hour {
		return errors.New("no job or less than an hour of jobs is in its last week: say how many there are in a day with --jobs-per-day")
	}
	z.JobsPerDay = float64(n) / (span.Hours() / 24)
	return nil
}

// weight is what a row takes besides its values: its header and its entries in indexes.
var weight = map[string]int{"attempts": 110, "reports": 60, "executions": 40, "workload_runs": 150, "node_times": 80}

// monthWeight is roughly what a row of a month takes.
const monthWeight = 200

// measureJobs weighs some jobs by their values. From the database's size it then computes
// what a unit of this weight takes on the disk.
func (s *Store) measureJobs(ctx context.Context, z *Sizes) error {
	whole, short, err := s.weigh(ctx, "SELECT * FROM attempts WHERE trimmed = 0 AND unmerged = 0 ORDER BY start_us DESC LIMIT 1000")
	if err != nil {
		return err
	}
	if whole == 0 {
		return errors.New("its jobs are being merged: ask again in a few seconds")
	}
	if z.Trimmed >= leastForSize {
		if short, _, err = s.weigh(ctx, "SELECT * FROM attempts WHERE trimmed = 1 ORDER BY start_us DESC LIMIT 1000"); err != nil {
			return err
		}
	}
	n := float64(z.Jobs - z.Trimmed)
	unit := float64(z.Used) / (n*whole + float64(z.Trimmed)*short + float64(z.Months)*monthWeight)
	z.PerJob, z.PerTrimmed, z.PerMonth = unit*whole, unit*short, unit*monthWeight
	return nil
}

// weigh is the mean weight of selected attempts as they are, and once they are trimmed.
func (s *Store) weigh(ctx context.Context, query string) (whole, short float64, err error) {
	n := 0.0
	err = s.snapshot(ctx, func(q func(string, ...any) ([]row, error)) error {
		attempts, err := q(query)
		if err != nil {
			return err
		}
		for _, r := range attempts {
			n++
			whole += float64(r.weight("attempts"))
			short += float64(r.weight("attempts"))
			for _, table := range tablesOfAttempt {
				rows, err := q(ofAttempt(table), r["cluster"], r["job_id"], r["attempt"])
				if err != nil {
					return err
				}
				for _, one := range rows {
					whole += float64(one.weight(table))
					if err := shorten(one); err != nil {
						return err
					}
					short += float64(one.weight(table))
				}
			}
		}
		return nil
	})
	return whole / max(1, n), short / max(1, n), err
}

func (r row) weight(table string) int {
	w := weight[table]
	for _, v := range r {
		switch v := v.(type) {
		case string:
			w += 1 + len(v)
		case []byte:
			w += 2 + len(v)
		case int64:
			w += 2
			for ; v > 127 || v < -128; v >>= 8 {
				w++
			}
		case float64:
			w += 9
		case nil:
			w++
		}
	}
	return w
}

// foretell adds up what is kept of existing jobs and of those to come.
func (s *Store) foretell(ctx context.Context, z *Sizes, r Retention, now time.Time) error {
	kept := func(keep time.Duration) (float64, error) {
		days := float64(z.Days)
		if keep > 0 {
			days = min(days, keep.Hours()/24+1) // old jobs are dropped once a day
		}
		var there int64
		from := int64(0)
		if keep > 0 {
			from = now.Add(time.Duration(z.Days)*24*time.Hour - keep).UnixMicro()
		}
		err := s.number(ctx, &there, "SELECT count(*) FROM attempts WHERE start_us >= ?", from)
		return z.JobsPerDay*days + float64(there), err
	}
	jobs, err := kept(r.Jobs)
	if err != nil {
		return err
	}
	whole := jobs
	if r.Ranks > 0 {
		if whole, err = kept(r.Ranks); err != nil {
			return err
		}
		whole = min(whole, jobs)
	}
	months := float64(z.Months)
	if r.Jobs > 0 {
		if past := float64(z.Days) - r.Jobs.Hours()/24; past > 0 {
			months += float64(z.RowsPerMon) * (past/30 + 1)
		}
	}
	z.KeptJobs = int64(jobs)
	z.Foretold = int64(whole*z.PerJob + (jobs-whole)*z.PerTrimmed + months*z.PerMonth)
	return nil
}
