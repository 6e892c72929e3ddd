package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// Limits of the lists that a digest reads.
const (
	mostNamed   = 200
	mostReasons = 20
	mostSilent  = 50
)

// isJudged selects jobs whose loss is known: every rank was recorded, and no thread was missed.
const (
	usedSeconds  = `CAST(alloc_cpus AS DOUBLE PRECISION) * COALESCE(slurm_elapsed_s, (end_us - start_us) / 1000000.0)`
	isJudged     = `r.parallel_efficiency IS NOT NULL AND r.coverage >= 1 AND r.alloc_cpus > 0 AND r.threaded = 0`
	hoursColumns = `count(*), COALESCE(sum(measured), 0), COALESCE(sum(used), 0) / 3600, COALESCE(sum(CASE WHEN judged = 1 THEN used ELSE 0 END), 0) / 3600,
		COALESCE(sum(CASE WHEN judged = 1 AND used > useful THEN used - useful ELSE 0 END), 0) / 3600`
	endedAttempts = `(SELECT r.*, ` + usedSeconds + ` AS used, COALESCE(r.thread_useful_s, r.useful_s, 0) AS useful,
		CASE WHEN r.parallel_efficiency IS NOT NULL THEN 1 ELSE 0 END AS measured, CASE WHEN ` + isJudged + ` THEN 1 ELSE 0 END AS judged
		FROM attempts r WHERE r.end_us >= ? AND r.end_us < ? AND r.slurm_submit_us IS NOT NULL`
)

// span is the time, and the accounts, that a digest is about.
type span struct {
	from, to time.Time
	accounts []string // empty: all
}

func (p span) times() []any { return []any{p.from.UnixMicro(), p.to.UnixMicro()} }

// among is the SQL condition on the accounts.
func (p span) among(column string) (where string, args []any) {
	if len(p.accounts) == 0 {
		return "", nil
	}
	for _, a := range p.accounts {
		args = append(args, a)
	}
	return " AND " + column + " IN (" + strings.Repeat("?, ", len(args)-1) + "?)", args
}

// ended is the FROM clause for jobs that ended in the span, with used and useful seconds.
func (p span) ended() (from string, args []any) {
	where, more := p.among("r.account")
	return endedAttempts + where + ") r", append(p.times(), more...)
}

// Facts sums up the jobs of some or all accounts that ended in a span of time.
func (s *Store) Facts(ctx context.Context, from, to time.Time, accounts []string) (*job.Facts, error) {
	p := span{from, to, accounts}
	f := &job.Facts{From: from, To: to}
	for _, part := range []struct {
		column string
		into   *[]job.NamedHours
	}{{"account", &f.Accounts}, {"user_name", &f.Users}} {
		if err := s.hoursBy(ctx, p, part.column, part.into); err != nil {
			return nil, fmt.Errorf("store: hours by %s: %w", part.column, unavailable(err))
		}
	}
	if err := s.programs(ctx, p, f); err != nil {
		return nil, fmt.Errorf("store: hours by program: %w", unavailable(err))
	}
	if err := s.health(ctx, p, &f.Health); err != nil {
		return nil, fmt.Errorf("store: health: %w", unavailable(err))
	}
	from2, args := p.ended()
	t := &f.Total
	err := s.read.QueryRowContext(ctx, "SELECT "+hoursColumns+" FROM "+from2, args...).Scan(&t.Jobs, &t.Measured, &t.Used, &t.Judged, &t.Lost)
	if err != nil {
		return nil, fmt.Errorf("store: hours: %w", unavailable(err))
	}
	return f, nil
}

// TwoWeeks are the facts of a span with its comparisons, and the sums of the span before.
func (s *Store) TwoWeeks(ctx context.Context, from, to time.Time, accounts []string) (*job.TwoWeeks, error) {
	this, err := s.Facts(ctx, from, to, accounts)
	if err != nil {
		return nil, err
	}
	before, err := s.Facts(ctx, from.Add(from.Sub(to)), from, accounts)
	if err != nil {
		return nil, err
	}
	return &job.TwoWeeks{This: this, Before: before}, s.Comparisons(ctx, this, accounts)
}

func (s *Store) hoursBy(ctx context.Context, p span, column string, into *[]job.NamedHours) error {
	from, args := p.ended()
	return s.eachRow(ctx, "SELECT "+column+", "+hoursColumns+" FROM "+from+" GROUP BY "+column+" ORDER BY 6 DESC, 4 DESC, 1 LIMIT ?",
		append(args, mostNamed), func(rows *sql.Rows) error { return appendHours(rows, into) })
}

func appendHours(rows *sql.Rows, into *[]job.NamedHours) error {
	var h job.NamedHours
	err := rows.Scan(&h.Name, &h.Jobs, &h.Measured, &h.Used, &h.Judged, &h.Lost)
	*into = append(*into, h)
	return err
}

// programJudged are executions whose loss is known.
const programJudged = `(e.threads = 1 OR e.thread_span_s IS NOT NULL) AND e.coverage >= 1`

const programHours = `SELECT e.executable, CAST(sum(e.count) AS BIGINT), CAST(sum(e.count) AS BIGINT), sum(COALESCE(e.thread_span_s, e.ranks * e.elapsed_s * e.threads)) / 3600,
		sum(CASE WHEN ` + programJudged + ` THEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s) ELSE 0 END) / 3600,
		sum(CASE WHEN ` + programJudged + ` THEN COALESCE(e.thread_span_s - e.thread_useful_s, e.ranks * e.elapsed_s - e.useful_s) ELSE 0 END) / 3600
		FROM attempts r JOIN executions e ON e.cluster = r.cluster AND e.job_id = r.job_id AND e.attempt = r.attempt
		WHERE r.end_us >= ? AND r.end_us < ? AND r.slurm_submit_us IS NOT NULL AND e.parallel_efficiency IS NOT NULL`

// programs adds up the hours by the file name of the executable.
func (s *Store) programs(ctx context.Context, p span, f *job.Facts) error {
	where, args := p.among("r.account")
	var paths []job.NamedHours
	err := s.eachRow(ctx, programHours+where+" GROUP BY e.executable", append(p.times(), args...),
		func(rows *sql.Rows) error { return appendHours(rows, &paths) })
	if err != nil {
		return err
	}
	byName := map[string]int{}
	for _, h := range paths {
		h.Name = filepath.Base(h.Name)
		i, known := byName[h.Name]
		if !known {
			i, byName[h.Name] = len(f.Programs), len(f.Programs)
			f.Programs = append(f.Programs, job.NamedHours{Name: h.Name})
		}
		f.Programs[i].Add(h.Hours)
	}
	slices.SortFunc(f.Programs, func(a, b job.NamedHours) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(a.Name, b.Name))
	})
	f.Programs = f.Programs[:min(len(f.Programs), mostNamed)]
	return nil
}

// health tells how well jobeff itself did. Nodes and mails are counted for all accounts
// together.
func (s *Store) health(ctx context.Context, p span, h *job.Health) error {
	from, args := p.ended()
	err := s.eachRow(ctx, `SELECT CASE WHEN reports = 0 THEN '{"code":"`+job.WhyNoReport+`"}' ELSE no_data END, `+hoursColumns+` FROM `+from+`
		WHERE measured = 0 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?`, append(args, mostReasons),
		func(rows *sql.Rows) error {
			var r job.ReasonHours
			var why string
			err := rows.Scan(&why, &r.Jobs, &r.Measured, &r.Used, &r.Judged, &r.Lost)
			if why != "" {
				err = errors.Join(err, json.Unmarshal([]byte(why), &r.NoData))
			}
			h.Reasons = append(h.Reasons, r)
			return err
		})
	if err != nil {
		return err
	}
	for _, q := range []struct {
		text string
		args []any
		into []any
	}{
		{`SELECT COALESCE(sum(CASE WHEN coverage < 1 THEN 1 ELSE 0 END), 0),
			COALESCE(sum(CASE WHEN reports > 0 AND nodes > reports THEN nodes - reports ELSE 0 END), 0),
			COALESCE(sum(CASE WHEN warnings_json LIKE '%"` + job.WarnPrologFailed + `"%' THEN 1 ELSE 0 END), 0) FROM ` + from, args, []any{&h.Partial, &h.NodesMissed, &h.PrologFailed}},
		{`SELECT count(*), COALESCE(sum(CASE WHEN p.received_us > r.end_us + ? THEN 1 ELSE 0 END), 0) FROM attempts r
			JOIN reports p ON p.cluster = r.cluster AND p.job_id = r.job_id AND p.attempt = r.attempt WHERE r.end_us >= ? AND r.end_us < ?`,
			append([]any{job.LateAfter.Microseconds()}, p.times()...), []any{&h.Reports, &h.Late}},
		{`SELECT count(*) FROM mails WHERE sent_us IS NULL AND decided_us < ?`, []any{p.to.UnixMicro()}, []any{&h.Unsent}},
	} {
		if err := s.read.QueryRowContext(ctx, q.text, q.args...).Scan(q.into...); err != nil {
			return err
		}
	}
	boxes, err := s.Outboxes(ctx, p.from, p.to.Add(p.to.Sub(p.from))) // a week's digest is read in the next
	if err != nil {
		return err
	}
	h.Outboxes = troubled(boxes)
	return s.eachRow(ctx, `SELECT node FROM nodes WHERE heard_us >= ? AND heard_us < ? ORDER BY node LIMIT ?`,
		[]any{p.from.Add(-silentAfter).UnixMicro(), p.from.UnixMicro(), mostSilent}, func(rows *sql.Rows) error {
			var node string
			err := rows.Scan(&node)
			h.Silent = append(h.Silent, node)
			return err
		})
}
