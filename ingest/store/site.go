package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// This file reads what the pages of a site show besides jobs: sums, programs, nodes, and what was told.

// workloadsOfJobs selects the runs of jobs: of each job the one with the most core time first. It also
// finds jobs with these numbers of other clusters, and all attempts.
const workloadsOfJobs = `SELECT w.cluster, w.job_id, w.attempt, w.workload_key, w.workload_name FROM clusters c CROSS JOIN workload_runs w
	WHERE w.cluster = c.cluster AND w.job_id IN (?%s) ORDER BY w.cores * w.elapsed_s DESC, w.execution`

// WorkloadsOf returns for each job of a list the workload of the program that took the most core time,
// with key and name alone; empty: the job belongs to none, or is not merged yet.
func (s *Store) WorkloadsOf(ctx context.Context, jobs []job.Job) ([]listing.WorkloadSummary, error) {
	all, ids, of := make([]listing.WorkloadSummary, len(jobs)), make([]any, len(jobs)), map[attemptKey]*listing.WorkloadSummary{}
	for i := range jobs {
		ids[i], of[keyOf(&jobs[i])] = jobs[i].JobID, &all[i]
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	err := s.eachRow(ctx, fmt.Sprintf(workloadsOfJobs, strings.Repeat(", ?", len(ids)-1)), ids, func(rows *sql.Rows) error {
		var k attemptKey
		var w listing.WorkloadSummary
		err := rows.Scan(&k.cluster, &k.jobID, &k.attempt, &w.Key, &w.Name)
		if found := of[k]; found != nil && found.Key == "" {
			*found = w
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: workloads of jobs: %w", unavailable(err))
	}
	return all, nil
}

// Programs adds up the hours by the programs' file names, of jobs that ended in a span, most lost first: of all
// jobs, or those of a coordinator's accounts. For others it is ErrNotFound.
func (s *Store) Programs(ctx context.Context, v Viewer, from, to time.Time) ([]listing.NamedHours, error) {
	p := span{from: from, to: to, cluster: v.cluster()}
	if !v.All {
		if p.accounts = v.Coordinates(); len(p.accounts) == 0 {
			return nil, ErrNotFound
		}
	}
	var f listing.Facts
	if err := s.programs(ctx, p, &f); err != nil {
		return nil, fmt.Errorf("store: hours by program: %w", unavailable(err))
	}
	return f.Programs, nil
}

// Nodes reads when every node reported last, and what it said of its outbox, by name.
func (s *Store) Nodes(ctx context.Context) (all []listing.Node, err error) {
	err = s.eachRow(ctx, "SELECT "+nodeName+", heard_us, outbox_us, waiting, oldest_us, refused, cut, lost FROM nodes ORDER BY cluster, node", nil, func(rows *sql.Rows) error {
		var n listing.Node
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

// ToldOf reads the notices since a time that the viewer may know of, newest first: those to
// themselves, and those about workloads with a run that they see, since eight weeks before. A
// coordinator gets no figures of the latter: the notice was of all that the user ran. Only operators
// get what was told in shadow.
func (s *Store) ToldOf(ctx context.Context, v Viewer, since time.Time) ([]listing.Told, error) {
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
	var theirs []listing.Told
	for _, t := range all {
		seen, asked := known[t.Workload]
		mine := v.is(t.Cluster, t.UID)
		if t.Shadow || !mine && !others {
			continue
		}
		if !mine && !asked {
			runs, err := s.newestRuns(ctx, v, workloadRunRows+" WHERE w.workload_key = ? AND w.start_us >= ?", []any{t.Workload, since.Add(-lineageBefore).UnixMicro()}, 1)
			if err != nil {
				return nil, fmt.Errorf("store: notices: %w", unavailable(err))
			}
			seen, known[t.Workload] = len(runs) > 0, len(runs) > 0
		}
		if !mine {
			t.Job, t.Jobs, t.Lost = "", 0, 0
		}
		if mine || seen {
			theirs = append(theirs, t)
		}
	}
	return theirs, nil
}

// AddRunsOf adds to a notice the runs of its workload that the viewer may see: some before it, and those since, up
// to a time.
func (s *Store) AddRunsOf(ctx context.Context, v Viewer, t *listing.Told, to time.Time) error {
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
