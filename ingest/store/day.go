package store

import (
	"context"
	"database/sql"
	"time"
)

// Day counts the attempts that started within 24 hours.
type Day struct {
	Jobs     map[string]int // by Slurm's state; "unknown": sacct has not told
	Measured int            // attempts that have figures
	Partial  int            // attempts of which some nodes have not reported
	Coverage float64        // mean over the measured ones; 0 without any
}

const daysAttempts = `SELECT state, count(*), count(coverage), sum(coverage), sum(CASE WHEN reports > 0 AND reports < nodes THEN 1 ELSE 0 END)
		FROM attempts WHERE start_us > ? AND start_us <= ? GROUP BY state`

// DayUntil counts the attempts that started in the 24 hours before end.
func (s *Store) DayUntil(ctx context.Context, end time.Time) (Day, error) {
	d := Day{Jobs: map[string]int{}}
	rows, err := s.read.QueryContext(ctx, daysAttempts, end.Add(-24*time.Hour).UnixMicro(), end.UnixMicro())
	if err != nil {
		return d, unavailable(err)
	}
	defer rows.Close()
	var covered float64
	for rows.Next() {
		var state string
		var all, measured, partial int
		var coverage sql.NullFloat64
		if err := rows.Scan(&state, &all, &measured, &coverage, &partial); err != nil {
			return d, unavailable(err)
		}
		if state == "" {
			state = "unknown"
		}
		d.Jobs[state] += all
		d.Measured += measured
		d.Partial += partial
		covered += coverage.Float64
	}
	if d.Measured > 0 {
		d.Coverage = covered / float64(d.Measured)
	}
	return d, unavailable(rows.Err())
}

// Queue is how many writes wait.
func (s *Store) Queue() (n int) {
	for _, l := range s.lanes {
		n += len(l.ops)
	}
	return n
}
