package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// Limits of what is read to find savings and changes.
const (
	mostHeavy     = 32  // workloads on one core count
	heavyKept     = 240 // their newest runs, of every core count
	mostLineages  = 200
	lineageLooked = 4000                   // its newest runs, of which
	lineageRuns   = 400                    // are kept, of one executable half as many
	lineageBefore = 8 * 7 * 24 * time.Hour // how far back other executables are looked for
	toldBefore    = 180 * 24 * time.Hour   // how far back advice is followed
	mostTold      = 100
)

// Comparisons adds to f what sums cannot tell: the workloads that lost most, those whose
// executable changed, and those whose users got advice.
func (s *Store) Comparisons(ctx context.Context, f *job.Facts, accounts []string) error {
	p := span{f.From, f.To, accounts}
	for what, read := range map[string]func(context.Context, span, *job.Facts) error{
		"workloads": s.heavy, "executables": s.lineages, "advice": s.advised} {
		if err := read(ctx, p, f); err != nil {
			return fmt.Errorf("store: comparing %s: %w", what, unavailable(err))
		}
	}
	return nil
}

// lostTime is the time that the ranks of a run lost, s.
const lostTime = `(w.cores * w.elapsed_s - w.useful_s)`

// heavyHours joins the week's jobs with their runs, and keeps runs whose threads were measured.
const heavyHours = `SELECT w.workload_key, w.cores, count(*), sum(w.cores * w.elapsed_s) / 3600, COALESCE(sum(` + lostTime + `), 0) / 3600
		FROM attempts r JOIN workload_runs w ON w.cluster = r.cluster AND w.job_id = r.job_id AND w.attempt = r.attempt
		WHERE r.end_us >= ? AND r.end_us < ? AND w.ended = 1 AND w.coverage >= 1
		AND (w.threads = 1 OR EXISTS (SELECT 1 FROM executions e WHERE e.cluster = w.cluster AND e.job_id = w.job_id AND e.attempt = w.attempt
			AND e.execution = w.execution AND e.thread_span_s IS NOT NULL))`

// heavyJob finds the job of a workload and core count that lost most.
const heavyJob = `SELECT r.cluster, r.job_id, r.attempt FROM workload_runs w JOIN attempts r ON r.cluster = w.cluster AND r.job_id = w.job_id AND r.attempt = w.attempt
		WHERE w.workload_key = ? AND w.cores = ? AND w.ended = 1 AND w.coverage >= 1 AND w.start_us >= ? AND r.end_us >= ? AND r.end_us < ?
		ORDER BY ` + lostTime + ` DESC NULLS LAST, r.job_id LIMIT 1`

// longestJob bounds how long before the span a job may have started. It lets the query use
// the index on the start.
const longestJob = 60 * 24 * time.Hour

func (s *Store) heavy(ctx context.Context, p span, f *job.Facts) error {
	type load struct {
		key   string
		cores int
		hours job.Hours
	}
	var loads []load
	where, args := p.among("r.account")
	err := s.eachRow(ctx, heavyHours+where+" GROUP BY w.workload_key, w.cores", append(p.times(), args...), func(rows *sql.Rows) error {
		var l load
		err := rows.Scan(&l.key, &l.cores, &l.hours.Jobs, &l.hours.Used, &l.hours.Lost)
		l.hours.Measured, l.hours.Judged = l.hours.Jobs, l.hours.Used
		loads = append(loads, l)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(loads, func(a, b load) int {
		return cmp.Or(cmp.Compare(b.hours.Lost, a.hours.Lost), cmp.Compare(a.key, b.key), cmp.Compare(a.cores, b.cores))
	})
	known := map[string]*job.Workload{}
	for _, l := range loads[:min(len(loads), mostHeavy)] {
		if known[l.key] == nil {
			if known[l.key], err = s.workload(ctx, Viewer{All: true}, l.key, heavyKept); err != nil {
				return err
			}
		}
		h := job.HeavyWorkload{Hours: l.hours, Workload: known[l.key]}
		if h.Job, err = s.heaviestJob(ctx, p, l.key, l.cores); errors.Is(err, sql.ErrNoRows) {
			continue
		} else if err != nil {
			return err
		}
		f.Heavy = append(f.Heavy, h)
	}
	return nil
}

// heaviestJob reads the job that lost most, with its executions.
func (s *Store) heaviestJob(ctx context.Context, p span, key string, cores int) (*job.Job, error) {
	var k attemptKey
	err := s.read.QueryRowContext(ctx, heavyJob, key, cores, p.from.Add(-longestJob).UnixMicro(), p.from.UnixMicro(), p.to.UnixMicro()).
		Scan(&k.cluster, &k.jobID, &k.attempt)
	if err != nil {
		return nil, err
	}
	rows, err := s.attempts(ctx, Viewer{All: true}, selection{"r.cluster = ? AND r.job_id = ? AND r.attempt = ?", k.args(), "r.attempt"}, 1)
	if err != nil || len(rows) == 0 {
		return nil, errors.Join(err, sql.ErrNoRows)
	}
	return &rows[0].job, s.fill(ctx, rows[0])
}

// ofExecution joins a workload's run with its execution.
const ofExecution = ` JOIN executions e USING (cluster, job_id, attempt, execution) `

// changedLineages finds lineages that ran in the span, and up to its end with several
// executables or MPI libraries. The heaviest comes first.
const changedLineages = `SELECT w.lineage FROM workload_runs w` + ofExecution + `
		WHERE w.start_us >= ? AND w.start_us < ? AND w.lineage <> '' AND w.build_id <> '' AND w.ended = 1
		GROUP BY w.lineage HAVING (count(DISTINCT w.build_id) > 1 OR count(DISTINCT e.mpi) > 1) AND max(w.start_us) >= ?
		ORDER BY sum(w.cores * w.elapsed_s) DESC, w.lineage LIMIT ?`

// runsOfLineage reads the newest runs of each executable and MPI library of a lineage, so
// that one with many runs does not crowd out the others.
var runsOfLineage = selectRun + `w.mpi FROM (SELECT l.*, e.mpi, ROW_NUMBER() OVER (PARTITION BY l.build_id, e.mpi ORDER BY l.start_us DESC, l.job_id DESC) AS nth
		FROM (SELECT * FROM workload_runs WHERE lineage = ? AND start_us >= ? AND start_us < ? AND ended = 1 ORDER BY start_us DESC LIMIT ?) l` +
	ofExecution + `)` + withJob + ` WHERE w.nth <= ?`

func (s *Store) lineages(ctx context.Context, p span, f *job.Facts) error {
	since := p.from.Add(-lineageBefore).UnixMicro()
	var all []string
	err := s.eachRow(ctx, changedLineages, []any{since, p.to.UnixMicro(), p.from.UnixMicro(), mostLineages}, func(rows *sql.Rows) error {
		var one string
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	})
	if err != nil {
		return err
	}
	where, args := p.among("r.account")
	for _, one := range all {
		runs, err := s.manyRuns(ctx, runsOfLineage+where+" ORDER BY w.start_us DESC LIMIT ?",
			append(append([]any{one, since, p.to.UnixMicro(), lineageLooked, lineageRuns / 2}, args...), lineageRuns))
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			f.Lineages = append(f.Lineages, runs)
		}
	}
	return nil
}

// manyRuns reads runs newest first and returns them oldest first.
func (s *Store) manyRuns(ctx context.Context, query string, args []any) (runs []job.Run, err error) {
	all, err := s.eachWorkloadRun(ctx, query, args)
	for _, r := range slices.Backward(all) {
		runs = append(runs, r.Run)
	}
	return runs, err
}

// RunsSince reads the newest runs of a workload since a time, oldest first.
func (s *Store) RunsSince(ctx context.Context, key string, since time.Time, most int) ([]job.Run, error) {
	runs, err := s.manyRuns(ctx, workloadRunRows+" WHERE w.workload_key = ? AND w.start_us >= ? ORDER BY w.start_us DESC LIMIT ?",
		[]any{key, since.UnixMicro(), most})
	if err != nil {
		return nil, fmt.Errorf("store: runs of a workload: %w", unavailable(err))
	}
	return runs, nil
}

// advised adds the notices that gave advice and were really sent, and the runs since then.
func (s *Store) advised(ctx context.Context, p span, f *job.Facts) error {
	told, err := s.Told(ctx, p.from.Add(-toldBefore))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range told { // the first of a workload: what ran before it is the baseline
		if t.Shadow || t.Muted || t.Advised == 0 || t.Workload == "" || seen[t.Workload] || len(f.Told) == mostTold || !t.At.Before(p.to) {
			continue
		}
		seen[t.Workload] = true
		if t.Runs, err = s.RunsSince(ctx, t.Workload, t.At, lineageRuns); err != nil {
			return err
		}
		if len(p.accounts) == 0 || slices.ContainsFunc(t.Runs, func(r job.Run) bool { return slices.Contains(p.accounts, r.Account) }) {
			f.Told = append(f.Told, t)
		}
	}
	return nil
}
