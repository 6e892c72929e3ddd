package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"jobeff/ingest/job"
)

// readRan are the columns that a line is made of.
var readRan = func() (all []column[attemptRow]) {
	needed := []string{"cluster", "job_id", "attempt", "array_job_id", "array_task_id", "het_job_id", "het_offset", "uid", "user_name", "state", "nodes",
		"alloc_cpus", "gpus", "slurm_submit_us", "slurm_elapsed_s", "time_limit_s", "start_us", "end_us", "warnings_json", "ranks", "parallel_efficiency",
		"total_cpu_us", "memory_b", "memory_task_b", "memory_alloc_b", "oom_steps", "cgroup_json"}
	for _, c := range attemptColumns {
		if slices.Contains(needed, c.name) {
			all = append(all, column[attemptRow]{"r." + c.name, c.field})
		}
	}
	return all
}()

// Jobs that ended: those with runs of a workload, and those of one name without any, among a user's newest.
const (
	namedAmong = 5000
	ranOfKey   = ` FROM (SELECT w.cluster, w.job_id, w.attempt FROM workload_runs w WHERE w.workload_key = ? AND w.start_us >= 0 ORDER BY w.start_us DESC LIMIT ?) k
		JOIN attempts r ON r.cluster = k.cluster AND r.job_id = k.job_id AND r.attempt = k.attempt WHERE r.slurm_end_us IS NOT NULL`
	ranOfName = ` FROM (SELECT n.cluster, n.job_id, n.attempt, n.name FROM attempts n WHERE n.uid = ? AND n.start_us >= 0 ORDER BY n.start_us DESC LIMIT ?) k
		JOIN attempts r ON r.cluster = k.cluster AND r.job_id = k.job_id AND r.attempt = k.attempt WHERE r.slurm_end_us IS NOT NULL AND k.cluster = ? AND k.name = ?
		AND NOT EXISTS (SELECT 1 FROM workload_runs w WHERE w.cluster = r.cluster AND w.job_id = r.job_id AND w.attempt = r.attempt)`
)

// AddAlike reads the newest jobs that did the same work as a job: those of its workload, or, where no program
// of it is known, its user's of the same name.
func (s *Store) AddAlike(ctx context.Context, v Viewer, j *job.Job) (err error) {
	if key := job.WorkloadOf(j); key != "" {
		j.Alike, _, err = s.ran(ctx, v, ranOfKey, key, job.RanMost)
	} else if j.Name != "" {
		j.Alike, _, err = s.ran(ctx, v, ranOfName, j.UID, namedAmong, j.Cluster, j.Name)
	}
	return wrapWorkload(err)
}

// AddJobsOf reads the newest jobs of a workload.
func (s *Store) AddJobsOf(ctx context.Context, v Viewer, w *job.Workload) (err error) {
	w.Jobs, _, err = s.ran(ctx, v, ranOfKey, w.Key, job.RanMost)
	return wrapWorkload(err)
}

// NamedJobs is the workload of a user's jobs of one name that left no record of a program; uid nil: the
// viewer's.
func (s *Store) NamedJobs(ctx context.Context, v Viewer, name string, uid *uint32) (*job.Workload, error) {
	if uid == nil {
		uid = &v.UID
	}
	clusters, err := s.clusterNames(ctx)
	for _, cluster := range clusters {
		ran, user, err := s.ran(ctx, v, ranOfName, *uid, namedAmong, cluster, name)
		if err != nil {
			return nil, wrapWorkload(err)
		}
		if len(ran) > 0 {
			return job.NamedWorkload(cluster, *uid, user, name, ran), nil
		}
	}
	if err == nil {
		err = ErrNoWorkload
	}
	return nil, wrapWorkload(err)
}

// clusterNames are the names of all clusters.
func (s *Store) clusterNames(ctx context.Context) (all []string, err error) {
	err = s.eachRow(ctx, "SELECT cluster FROM clusters ORDER BY cluster", nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		all = append(all, name)
		return err
	})
	return all, err
}

// ran reads the newest jobs that a query selects and the viewer may see, each once, oldest first, and the
// name of their user.
func (s *Store) ran(ctx context.Context, v Viewer, query string, args ...any) (all []job.Ran, user string, err error) {
	if where, seen := v.sees(); where != "" {
		query, args = query+" AND "+where, append(args, seen...)
	}
	read, seen := newReader(readRan), map[attemptKey]bool{}
	err = s.eachRow(ctx, "SELECT "+names(readRan, "")+query+" ORDER BY r.start_us DESC LIMIT ?", append(args, job.RanMost), func(rows *sql.Rows) error {
		r, err := read.read(rows)
		if err == nil {
			err = r.finish()
		}
		if err != nil || seen[r.attemptKey] {
			return err
		}
		r.job.TimeLimit = time.Duration(r.limit) * time.Second
		seen[r.attemptKey], user = true, r.job.User
		all = append(all, job.RanOf(&r.job))
		return nil
	})
	slices.Reverse(all)
	return all, user, err
}
