package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/harm"
)

// Marks of the comparison of measured jobs with others.
const (
	MarkCompared = "compared_since" // jobs that ended from then on are compared
	MarkShare    = "compared_share" // which part of the jobs was measured then, in millionths
)

// ShareMark is MarkShare's time for a share.
func ShareMark(share float64) time.Time { return time.UnixMicro(1 + int64(share*1e6)) }

// EndedBetween reads what Slurm says of the jobs that ended in a span, in the order of their ends. Metrics hold the
// parallel efficiency alone, and are nil without one.
func (s *Store) EndedBetween(ctx context.Context, from, to time.Time, do func(*job.Job)) error {
	err := s.eachRow(ctx, `SELECT cluster, job_id, uid, name, partition_name, alloc_cpus, nodes, state, exit_code, slurm_elapsed_s, end_us, decision, parallel_efficiency FROM attempts
		WHERE end_us > ? AND end_us <= ? AND slurm_end_us IS NOT NULL ORDER BY end_us, cluster, job_id, attempt`,
		[]any{from.UnixMicro(), to.UnixMicro()}, func(rows *sql.Rows) error {
			var j job.Job
			var end int64
			var elapsed sql.NullInt64
			var parallel sql.NullFloat64
			err := rows.Scan(&j.Cluster, &j.JobID, &j.UID, &j.Name, &j.Partition, &j.CPUs, &j.Nodes, &j.State, &j.ExitCode, &elapsed, &end, &j.Decision, &parallel)
			j.End, j.Elapsed = time.UnixMicro(end).UTC(), time.Duration(elapsed.Int64)*time.Second
			if parallel.Valid {
				j.Metrics = &job.Metrics{Efficiencies: job.Efficiencies{Parallel: parallel.Float64}}
			}
			if err == nil {
				do(&j)
			}
			return err
		})
	if err != nil {
		return fmt.Errorf("store: jobs that ended: %w", unavailable(err))
	}
	return nil
}

// KeepComparison keeps how rare a harm could have been noticed by now.
func (s *Store) KeepComparison(ctx context.Context, c *harm.Comparison) error {
	return s.keepOnly(ctx, "comparison", c)
}

// Comparison is what KeepComparison kept last; nil: nothing yet.
func (s *Store) Comparison(ctx context.Context) (*harm.Comparison, error) {
	return keptOnly[harm.Comparison](ctx, s, "comparison")
}

// keepOnly replaces what is in a table's one row.
func (s *Store) keepOnly(ctx context.Context, table string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = s.do(ctx, func(w *writer) error {
			return w.exec("INSERT INTO "+table+" (id, "+table+"_json) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET "+table+"_json = excluded."+table+"_json", string(text))
		})
	}
	if err != nil {
		return fmt.Errorf("store: %s: %w", table, err)
	}
	return nil
}

// keptOnly reads what keepOnly kept last; nil: nothing yet.
func keptOnly[T any](ctx context.Context, s *Store, table string) (*T, error) {
	var text string
	err := s.read.QueryRowContext(ctx, "SELECT "+table+"_json FROM "+table).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	v := new(T)
	if err == nil {
		err = json.Unmarshal([]byte(text), v)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", table, unavailable(err))
	}
	return v, nil
}

// KeepAlarm raises an alarm. If one of its kind is up, nothing changes.
func (s *Store) KeepAlarm(ctx context.Context, a *harm.Alarm) error {
	text, err := json.Marshal(a)
	if err == nil {
		err = s.do(ctx, func(w *writer) error {
			return w.exec("INSERT INTO alarms (kind, at_us, alarm_json) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", a.Kind, a.At.UnixMicro(), string(text))
		})
	}
	if err != nil {
		return fmt.Errorf("store: alarm: %w", err)
	}
	return nil
}

// Alarms are those that were raised before the end of a span and were up in it.
func (s *Store) Alarms(ctx context.Context, from, to time.Time) (all []harm.Alarm, err error) {
	err = s.eachRow(ctx, "SELECT cleared_us, alarm_json FROM alarms WHERE at_us <= ? AND (cleared_us IS NULL OR cleared_us >= ?) ORDER BY at_us, kind",
		[]any{to.UnixMicro(), from.UnixMicro()}, func(rows *sql.Rows) error {
			var a harm.Alarm
			var text string
			var cleared sql.NullInt64
			err := rows.Scan(&cleared, &text)
			err = errors.Join(err, json.Unmarshal([]byte(text), &a))
			if cleared.Valid {
				a.Cleared = time.UnixMicro(cleared.Int64).UTC()
			}
			all = append(all, a)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("store: alarms: %w", unavailable(err))
	}
	return all, nil
}

// AlarmsUp are those that no operator has cleared.
func (s *Store) AlarmsUp(ctx context.Context) ([]harm.Alarm, error) {
	return s.Alarms(ctx, time.UnixMicro(math.MaxInt64), time.UnixMicro(math.MaxInt64))
}

// ClearAlarms ends all alarms. Jobs are compared anew from then on.
func (s *Store) ClearAlarms(ctx context.Context, now time.Time) error {
	err := s.SetMark(ctx, MarkCompared, now)
	if err == nil {
		err = s.do(ctx, func(w *writer) error {
			return w.exec("UPDATE alarms SET cleared_us = ? WHERE cleared_us IS NULL", now.UnixMicro())
		})
	}
	if err != nil {
		return fmt.Errorf("store: alarms: %w", err)
	}
	return nil
}
