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

// readRan are the columns that an sbatch line is made of.
var readRan = of("r", only(columnsOfAttempt, "cluster", "job_id", "attempt", "array_job_id", "array_task_id", "het_job_id", "het_offset", "uid", "user_name", "partition_name", "qos", "state",
	"nodes", "alloc_cpus", "gpus", "slurm_submit_us", "slurm_elapsed_s", "time_limit_s", "start_us", "end_us", "warnings_json", "ranks", "parallel_efficiency",
	"total_cpu_us", "memory_b", "memory_task_b", "memory_alloc_b", "oom_steps", "cgroup_json", "gpus_json", "script_args", "tasks"))

// Jobs that ended: those with runs of a workload, and those of one name without any, among a user's newest.
const (
	namedAmong = 5000
	ranOfKey   = ` FROM (SELECT w.cluster, w.job_id, w.attempt FROM workload_runs w WHERE w.workload_key = ? AND w.start_us >= 0 ORDER BY w.start_us DESC LIMIT ?) k
		JOIN attempts r ON r.cluster = k.cluster AND r.job_id = k.job_id AND r.attempt = k.attempt WHERE r.slurm_end_us IS NOT NULL`
	ranOfName = ` FROM (SELECT n.cluster, n.job_id, n.attempt, n.name FROM attempts n WHERE n.uid = ? AND n.start_us >= 0 ORDER BY n.start_us DESC LIMIT ?) k
		JOIN attempts r ON r.cluster = k.cluster AND r.job_id = k.job_id AND r.attempt = k.attempt WHERE r.slurm_end_us IS NOT NULL AND k.cluster = ? AND k.name = ?
		AND NOT EXISTS (SELECT 1 FROM workload_runs w WHERE w.cluster = r.cluster AND w.job_id = r.job_id AND w.attempt = r.attempt)`
)

// AddAlike reads the newest jobs that did the same work as a job: those of its workload or, if no program of
// it is known, those of its user with the same name.
func (s *Store) AddAlike(ctx context.Context, v Viewer, j *job.Job) (err error) {
	if key := job.WorkloadOf(j); key != "" {
		j.Alike, _, err = s.ran(ctx, v, ranOfKey, key, job.RanMost)
	} else if j.Name != "" {
		j.Alike, _, err = s.ran(ctx, v, ranOfName, j.UID, namedAmong, j.Cluster, j.Name)
	}
	return wrapWorkload(err)
}

// AddAsked reads what else the sbatch line for a job of a list needs: jobs alike, and its steps.
func (s *Store) AddAsked(ctx context.Context, j *job.Job) error {
	r := &attemptRow{attemptKey: attemptKey{j.Cluster, j.JobID, int64(j.Attempt)}}
	if err := s.readSteps(ctx, r); err != nil {
		return fmt.Errorf("store: steps: %w", unavailable(err))
	}
	j.Steps, j.NTasks = r.job.Steps, r.job.NTasks
	return s.AddAlike(ctx, Viewer{All: true}, j)
}

// AddJobsOf reads what the sbatch line for the next job of a workload needs: its newest jobs, and all of the last.
func (s *Store) AddJobsOf(ctx context.Context, v Viewer, w *job.Workload) (err error) {
	if w.Jobs, _, err = s.ran(ctx, v, ranOfKey, w.Key, job.RanMost); err == nil {
		err = s.addLast(ctx, v, w)
	}
	return wrapWorkload(err)
}

// mostSessions bounds the interactive sessions, jobs without a batch script, that addLast passes over.
const mostSessions = 5

// addLast reads the newest of a workload's jobs that is like the next one: a batch script's, if one is among the
// newest.
func (s *Store) addLast(ctx context.Context, v Viewer, w *job.Workload) error {
	tried := 0
	for _, r := range slices.Backward(w.Jobs) {
		if r.State != "COMPLETED" && r.State != "OUT_OF_MEMORY" && r.State != "TIMEOUT" {
			continue
		}
		last, err := s.attemptOf(ctx, v, attemptKey{w.Cluster, r.JobID, int64(r.Attempt)})
		if err != nil {
			return err
		}
		script := last != nil && last.ByScript()
		if script || w.Last == nil {
			w.Last = last
		}
		if tried++; script || tried > mostSessions {
			break
		}
	}
	return nil
}

// attemptOf reads all of an attempt; nil: it is gone, or the viewer may not see it.
func (s *Store) attemptOf(ctx context.Context, v Viewer, k attemptKey) (*job.Job, error) {
	rows, err := s.attempts(ctx, v, selection{"r.cluster = ? AND r.job_id = ? AND r.attempt = ?", k.args(), "r.attempt"}, 1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0].job, s.complete(ctx, rows[0])
}

// ownersOf finds the owners of jobs of a name, of one user or among the newest of all.
const ownersOf = `SELECT k.cluster, k.uid, max(k.user_name) FROM (SELECT n.cluster, n.uid, n.user_name, n.name FROM attempts n WHERE n.start_us >= 0%s
	ORDER BY n.start_us DESC LIMIT ?) k WHERE k.name = ? GROUP BY k.cluster, k.uid ORDER BY k.cluster, k.uid LIMIT 6`

// NamedJobs is the workload of a user's jobs of one name that left no record of a program; uid nil: the
// viewer's, or anybody's if they see all.
func (s *Store) NamedJobs(ctx context.Context, v Viewer, name string, uid *uint32) (w *job.Workload, err error) {
	if uid == nil && !v.All {
		uid = &v.UID
	}
	one, args := "", []any{newestOfAll, name}
	if uid != nil {
		one, args = " AND n.uid = ?", []any{*uid, namedAmong, name}
	}
	type owner struct {
		cluster string
		uid     uint32
		name    string
	}
	var owners []owner
	err = s.eachRow(ctx, fmt.Sprintf(ownersOf, one), args, func(rows *sql.Rows) error {
		var o owner
		err := rows.Scan(&o.cluster, &o.uid, &o.name)
		owners = append(owners, o)
		return err
	})
	some := &AmbiguousError{Name: name}
	for _, o := range owners {
		if err != nil {
			break
		}
		var ran []job.Ran
		var newest *job.Job
		if ran, newest, err = s.ran(ctx, v, ranOfName, o.uid, namedAmong, o.cluster, name); err == nil && len(ran) > 0 {
			w = job.NamedWorkload(o.cluster, o.uid, newest.User, name, ran)
			err = s.addRoom(ctx, newest)
			w.Room = newest.Room
			some.Some = append(some.Some, fmt.Sprintf("that of user %s (%d)", o.name, o.uid))
		}
	}
	switch {
	case err != nil:
	case w == nil:
		err = ErrNoWorkload
	case len(some.Some) > 1 && uid == nil:
		err = some
	default:
		err = s.addLast(ctx, v, w)
	}
	return w, wrapWorkload(err)
}

// sumNames sums up the ended jobs without a run of a workload by name, among the newest of one user or of all.
const sumNames = `SELECT r.cluster, r.uid, r.name, max(r.user_name), count(*), min(r.alloc_cpus), max(r.alloc_cpus),
		CAST(COALESCE(sum(r.alloc_cpus * r.slurm_elapsed_s), 0) AS DOUBLE PRECISION) / 3600, max(r.start_us)
	FROM (SELECT n.cluster, n.job_id, n.attempt, n.uid, n.name, n.user_name, n.account, n.alloc_cpus, n.slurm_elapsed_s, n.slurm_end_us, n.start_us FROM attempts n WHERE n.start_us >= ?%s ORDER BY n.start_us DESC LIMIT ?) r
	WHERE r.slurm_end_us IS NOT NULL AND r.name <> ''%s
		AND NOT EXISTS (SELECT 1 FROM workload_runs w WHERE w.cluster = r.cluster AND w.job_id = r.job_id AND w.attempt = r.attempt)
	GROUP BY r.cluster, r.uid, r.name%s ORDER BY max(r.start_us) DESC, r.name, r.cluster, r.uid LIMIT ? OFFSET ?`

// eachNamed is EachWorkload for workloads of jobs without a record of a program. None of these can be muted.
func (s *Store) eachNamed(ctx context.Context, v Viewer, q listing.WorkloadQuery, uid *uint32, here, at *cursor, do func(*listing.WorkloadSummary) error) (next string, err error) {
	if q.Muted {
		return "", nil
	}
	var c conditions
	var later []any
	behind := ""
	if at != nil && at.Start != nil {
		behind = " HAVING max(r.start_us) < ? OR max(r.start_us) = ? AND (r.name, r.cluster, r.uid) > (?, ?, ?)"
		later = []any{*at.Start, *at.Start, at.Key, at.Cluster, at.UID}
	}
	among := newestOfAll
	if uid != nil {
		c.add(" AND n.uid = ?", *uid)
		among = namedAmong
	}
	limit := mostListed(q)
	n := 0
	sees, seen := v.sees()
	if sees != "" {
		sees = " AND " + sees
	}
	args := slices.Concat([]any{max(q.Since.UnixMicro(), 0)}, c.args, []any{among}, seen, later, []any{limit + 1, q.Offset})
	err = s.eachRow(ctx, fmt.Sprintf(sumNames, strings.Join(c.where, ""), sees, behind), args, func(rows *sql.Rows) error {
		var one listing.WorkloadSummary
		var start int64
		run := &one.Newest
		err := rows.Scan(&run.Cluster, &run.UID, &one.Name, &run.User, &one.Runs, &one.FewestCores, &one.MostCores, &one.CoreHours, &start)
		if err != nil || n == limit {
			next = here.word()
			return err
		}
		run.Start = time.UnixMicro(start).UTC()
		one.Key = job.NamedWorkload(run.Cluster, run.UID, "", one.Name, nil).Key
		here.Start, here.Key, here.Cluster, here.UID = &start, one.Name, run.Cluster, run.UID
		n++
		return do(&one)
	})
	if errors.Is(err, ErrEnough) {
		return here.word(), nil
	}
	return next, err
}

// ran reads the newest jobs that a query selects and the viewer may see, each once, oldest first.
// newest is the newest of them, with what an sbatch line is made of.
func (s *Store) ran(ctx context.Context, v Viewer, query string, args ...any) (all []job.Ran, newest *job.Job, err error) {
	if where, seen := v.sees(); where != "" {
		query, args = query+" AND "+where, append(args, seen...)
	}
	read, seen := newReader(readRan), map[attemptKey]bool{}
	err = s.eachRow(ctx, "SELECT "+names(readRan)+query+" ORDER BY r.start_us DESC LIMIT ?", append(args, job.RanMost), func(rows *sql.Rows) error {
		r, err := read.read(rows)
		if err == nil {
			err = r.finish()
			r.job.DisplayID = s.named(r.cluster, r.job.DisplayID)
		}
		if err != nil || seen[r.attemptKey] {
			return err
		}
		r.job.TimeLimit = time.Duration(r.limit) * time.Second
		if seen[r.attemptKey] = true; newest == nil {
			newest = &r.job
		}
		one := job.RanOf(&r.job)
		one.Args = r.scriptArgs
		all = append(all, one)
		return nil
	})
	slices.Reverse(all)
	return all, newest, err
}
