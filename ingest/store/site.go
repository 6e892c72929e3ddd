package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
)

// This file reads what the pages of a site show beside jobs: sums, programs, nodes, and what was told.

// sumOfJobs sums up attempts r as job.Hours. It is known of judged ones what they lost.
const sumOfJobs = `SELECT count(*), count(pe), COALESCE(sum(used), 0) / 3600, COALESCE(sum(CASE WHEN lost IS NOT NULL THEN known END), 0) / 3600,
	COALESCE(sum(CASE WHEN lost > 0 THEN lost END), 0) / 3600 FROM (SELECT r.parallel_efficiency AS pe, ` + usedSeconds + ` AS used, ` + knownSeconds + ` AS known,
	CASE WHEN ` + isJudged + ` THEN ` + knownSeconds + ` - COALESCE(r.thread_useful_s, r.useful_s) END AS lost FROM `

// SumJobs sums up all jobs of a query that the viewer may see, those beyond its limit, too.
func (s *Store) SumJobs(ctx context.Context, v Viewer, q job.JobQuery, uids []uint32) (sum job.Hours, err error) {
	c, from, err := chosen(q, uids)
	if err != nil {
		return sum, err
	}
	ended := whichEnded(q, "", nil)[0]
	c.add(ended.where, ended.args...)
	where, args := s.shownTo(v, from, strings.Join(c.where, " AND "), c.args)
	err = s.read.QueryRowContext(ctx, sumOfJobs+from+" WHERE "+where+") r", args...).Scan(&sum.Jobs, &sum.Measured, &sum.Used, &sum.Judged, &sum.Lost)
	if err != nil {
		return sum, fmt.Errorf("store: sum of jobs: %w", unavailable(err))
	}
	return sum, nil
}

const workloadOfAttempt = `SELECT workload_key, workload_name FROM workload_runs WHERE cluster = ? AND job_id = ? AND attempt = ?
	ORDER BY cores * elapsed_s DESC, execution LIMIT 1`

// WorkloadsOf are the workloads of the jobs of a list, by their programs that took the most core time, with
// key and name alone; empty: a job belongs to none, or is not merged yet.
func (s *Store) WorkloadsOf(ctx context.Context, jobs []job.Job) ([]job.WorkloadSummary, error) {
	all := make([]job.WorkloadSummary, len(jobs))
	for i := range jobs {
		err := s.read.QueryRowContext(ctx, workloadOfAttempt, jobs[i].Cluster, jobs[i].JobID, jobs[i].Attempt).Scan(&all[i].Key, &all[i].Name)
		if orNoRow(err) != nil {
			return nil, fmt.Errorf("store: workloads of jobs: %w", unavailable(err))
		}
	}
	return all, nil
}

// Programs adds up the hours by the programs' file names, of jobs that ended in a span, most lost first: of all
// jobs, or those of a coordinator's accounts. For others it is ErrNotFound.
func (s *Store) Programs(ctx context.Context, v Viewer, from, to time.Time) ([]job.NamedHours, error) {
	p := span{from: from, to: to}
	if !v.All {
		if p.accounts = v.Coordinates(); len(p.accounts) == 0 {
			return nil, ErrNotFound
		}
	}
	var f job.Facts
	if err := s.programs(ctx, p, &f); err != nil {
		return nil, fmt.Errorf("store: hours by program: %w", unavailable(err))
	}
	return f.Programs, nil
}

// Nodes reads when every node reported last, and what it said of its outbox, by name.
func (s *Store) Nodes(ctx context.Context) (all []job.Node, err error) {
	err = s.eachRow(ctx, "SELECT node, heard_us, outbox_us, waiting, oldest_us, refused, cut, lost FROM nodes ORDER BY node", nil, func(rows *sql.Rows) error {
		var n job.Node
		var heard, said, oldest int64
		err := rows.Scan(&n.Node, &heard, &said, &n.Waiting, &oldest, &n.Refused, &n.Cut, &n.Lost)
		n.Heard, n.Oldest = time.UnixMicro(heard), time.Duration(oldest)*time.Microsecond
		if said > 0 {
			n.Said = time.UnixMicro(said)
		}
		all = append(all, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: nodes: %w", unavailable(err))
	}
	return all, nil
}

// ToldOf reads the notices since a time of which the viewer may know, newest first: those to themselves, and those
// of workloads of which they see a run since eight weeks before. Of these a coordinator gets no figures: the
// notice was of all that the user ran. What is told in shadow, operators alone are told.
func (s *Store) ToldOf(ctx context.Context, v Viewer, since time.Time) ([]job.Told, error) {
	all, err := s.Told(ctx, since)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	if v.Operates() {
		return all, nil
	}
	known := map[string]bool{"": false}
	others := v.All || len(v.Accounts) > 0
	var theirs []job.Told
	for _, t := range all {
		seen, asked := known[t.Workload]
		if t.Shadow || t.UID != v.UID && !others {
			continue
		}
		if t.UID != v.UID && !asked {
			runs, err := s.newestRuns(ctx, v, workloadRunRows+" WHERE w.workload_key = ? AND w.start_us >= ?", []any{t.Workload, since.Add(-lineageBefore).UnixMicro()}, 1)
			if err != nil {
				return nil, fmt.Errorf("store: notices: %w", unavailable(err))
			}
			seen, known[t.Workload] = len(runs) > 0, len(runs) > 0
		}
		if t.UID != v.UID {
			t.Job, t.Jobs, t.Lost = "", 0, 0
		}
		if t.UID == v.UID || seen {
			theirs = append(theirs, t)
		}
	}
	return theirs, nil
}

// AddRunsOf adds to a notice the runs of its workload that the viewer may see: some before it, and those since, up
// to a time.
func (s *Store) AddRunsOf(ctx context.Context, v Viewer, t *job.Told, to time.Time) error {
	const between = " WHERE w.workload_key = ? AND w.start_us >= ? AND w.start_us < ?"
	before, err := s.newestRuns(ctx, v, workloadRunRows+between, []any{t.Workload, t.At.Add(-lineageBefore).UnixMicro(), t.At.UnixMicro()}, lineageRuns)
	if err != nil {
		return wrapWorkload(err)
	}
	since, err := s.newestRuns(ctx, v, workloadRunRows+between, []any{t.Workload, t.At.UnixMicro(), to.UnixMicro()}, mostFollowed)
	t.Runs, t.Cut = nil, len(since) == mostFollowed
	for _, some := range [][]workloadRun{before, since} {
		for _, r := range slices.Backward(some) {
			t.Runs = append(t.Runs, r.Run)
		}
	}
	return wrapWorkload(err)
}
