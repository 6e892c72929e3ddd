package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// EachWorkload calls do with each workload of a query, the one that ran last first; with q.Detail the runs of
// one are in memory at a time. uid, if it is not nil, limits the list to that user's. A workload is summed up
// over the runs that the viewer may see. next is as in EachJob, and do may return ErrEnough.
func (s *Store) EachWorkload(ctx context.Context, v Viewer, q listing.WorkloadQuery, uid *uint32, do func(*listing.WorkloadSummary) error) (next string, err error) {
	if others := v.All || len(v.Accounts) > 0; !others {
		if uid != nil && *uid != v.UID {
			return "", nil
		}
		uid = &v.UID
	}
	here, at, err := readCursor(q.After, q.Values())
	if err != nil {
		return "", err
	}
	if q.Named {
		next, err = s.eachNamed(ctx, v, q, uid, &here, at, do)
		return next, wrapWorkload(err)
	}
	all, limit, err := s.workloadsOf(ctx, v, q, uid, at)
	if err != nil {
		return "", wrapWorkload(err)
	}
	for i := range all[:min(limit, len(all))] {
		one := all[i]
		if err := s.summarize(ctx, v, &one.WorkloadSummary, q.Detail); err != nil {
			return "", wrapWorkload(err)
		}
		enough := do(&one.WorkloadSummary)
		if enough != nil && !errors.Is(enough, ErrEnough) {
			return "", enough
		}
		if enough != nil && i+1 < len(all) || i+1 == limit && limit < len(all) {
			here.Start, here.Key = &one.start, one.Key
			return here.word(), nil
		}
	}
	return "", nil
}

// listedWorkload is a workload of a list, and when its newest run began.
type listedWorkload struct {
	listing.WorkloadSummary
	start int64 // us
}

// workloadsOf reads the sums of a query's workloads behind at, if it is not nil, of one more than its limit.
func (s *Store) workloadsOf(ctx context.Context, v Viewer, q listing.WorkloadQuery, uid *uint32, at *cursor) (all []listedWorkload, limit int, err error) {
	limit = mostListed(q)
	if q.Detail {
		limit = min(limit, maxDetailed)
	}
	for _, list := range listWorkloads(v, q, uid, time.Now(), at) {
		all = nil
		err = s.eachRow(ctx, list.where, append(list.args, limit+1, q.Offset), func(rows *sql.Rows) error {
			var one listedWorkload
			err := rows.Scan(&one.Key, &one.Runs, &one.FewestCores, &one.MostCores, &one.CoreHours, &one.Lost, &one.start)
			all = append(all, one)
			return err
		})
		if err != nil || len(all) > limit {
			break
		}
	}
	return all, limit, err
}

func mostListed(q listing.WorkloadQuery) int {
	if q.Limit > 0 {
		return min(q.Limit, maxWorkloads)
	}
	return defaultWorkloads
}

// newestOfAll is the number of runs, the newest of all users, among which a list first looks for its
// workloads.
const newestOfAll = 20_000

// listWorkloads are the queries of a list; their last arguments are the limit and the offset. The
// first that fills the list is the list. Among the newest runs of all users there are mostly
// enough workloads, and only theirs are then added up. One user's are added up at once.
func listWorkloads(v Viewer, q listing.WorkloadQuery, uid *uint32, now time.Time, at *cursor) (queries []selection) {
	var c conditions
	c.add("w.start_us >= ?", max(q.Since.UnixMicro(), 0))
	if uid != nil {
		c.add("w.uid = ?", *uid)
	}
	if q.Muted {
		c.add(`EXISTS (SELECT 1 FROM mutes m
			WHERE m.cluster = w.cluster AND m.uid = w.uid AND m.workload_key = w.workload_key AND m.until_us > ?)`, now.UnixMicro())
	}
	if mine, seen := v.sees(); mine != "" && (uid == nil || *uid != v.UID || v.cluster() != "") {
		c.add("(SELECT 1 FROM attempts r WHERE r.cluster = w.cluster AND r.job_id = w.job_id AND r.attempt = w.attempt AND "+mine+") IS NOT NULL", seen...) // for EXISTS PostgreSQL may read all of them
	}
	where := " FROM workload_runs w WHERE " + strings.Join(c.where, " AND ")
	sums := `SELECT min(w.workload_key), count(*), min(w.cores), max(w.cores), sum(w.used_core_hours),
		COALESCE(sum(CASE WHEN w.lost_core_hours >= 0 THEN w.lost_core_hours END), -1), max(w.start_us)` + where
	var later conditions
	behind := ""
	if at != nil && at.Start != nil {
		later.add("(max(w.start_us) < ? OR max(w.start_us) = ? AND min(w.workload_key) > ?)", *at.Start, *at.Start, at.Key)
		behind = " HAVING " + later.where[0]
	}
	group, page, order := " GROUP BY w.workload_key", " LIMIT ? OFFSET ?", " ORDER BY max(w.start_us) DESC, 1"
	if q.Lost {
		order = " ORDER BY 6 DESC, 1"
	} else if uid == nil {
		newest := fmt.Sprintf(" AND w.workload_key IN (SELECT n.workload_key FROM (SELECT w.workload_key, w.start_us%s ORDER BY w.start_us DESC LIMIT %d) n",
			where, newestOfAll) + strings.ReplaceAll(group+behind+order+page, "w.", "n.") + ")"
		queries = append(queries, selection{where: sums + newest + group + order, args: slices.Concat(c.args, c.args, later.args)})
	}
	if uid == nil { // || keeps SQLite from reading all runs that ever were, in the order of their workloads
		group += " || ''"
	}
	return append(queries, selection{where: sums + group + behind + order + page, args: slices.Concat(c.args, later.args)})
}

// summarize reads the newest run of a workload, or with detail all runs, and whether it is
// muted.
func (s *Store) summarize(ctx context.Context, v Viewer, one *listing.WorkloadSummary, detail bool) error {
	var w *job.Workload
	var err error
	if detail {
		w, err = s.workload(ctx, v, one.Key, runsKept)
	} else {
		var runs []workloadRun
		if runs, err = s.newestRuns(ctx, v, runsOfWorkload, []any{one.Key}, 1); len(runs) > 0 && err == nil {
			w, err = s.workloadOfRuns(ctx, one.Key, runs)
		}
	}
	if err != nil || w == nil {
		if errors.Is(err, ErrNoWorkload) {
			err = nil
		}
		return err
	}
	one.Name, one.Newest, one.Mute = w.Name, w.Runs[len(w.Runs)-1], w.Mute
	if detail {
		one.Workload = w
		return s.AddJobsOf(ctx, v, w)
	}
	return nil
}
