package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// ErrNoWorkload says that there is no such workload, or that the viewer may not see it.
var ErrNoWorkload = errors.New("store: no such workload")

// AmbiguousError says that a name fits several workloads.
type AmbiguousError struct {
	Name string   // as given
	Some []string // names with their keys, whose they are and in what they differ; perhaps not all
	// Beginning: Name is the beginning of theirs.
	Beginning bool
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%.60q is not one workload: %s", e.Name, strings.Join(e.Some, "; "))
}

// How many runs make a curve: the newest of each core count. From 50 runs the median time is
// known to a sixth of their spread, from 100 to an eighth. In a large database each run takes
// six pages of the file, and reading them is most of a viewer's wait.
const (
	runsKept     = 1000 // together
	coreRunsKept = 50   // of one core count
)

// How many workloads a list holds.
const (
	defaultWorkloads = 100
	maxWorkloads     = 1000
	maxDetailed      = 20 // with their runs
)

// workloadID names a workload in the database.
type workloadID struct {
	cluster string
	uid     uint32
	key     string
}

func (id workloadID) args() []any { return []any{id.cluster, id.uid, id.key} }

// Workload reads the runs of one workload, oldest first. Its key, its name or the beginning of either
// names it. By a name, a viewer finds their own; root and operators find anybody's, or that of uid if
// it is not nil. By its whole key, a coordinator finds a workload if they see one of its runs.
func (s *Store) Workload(ctx context.Context, v Viewer, keyOrName string, uid *uint32) (*job.Workload, error) {
	key, err := s.workloadKey(ctx, v, keyOrName, uid)
	if err != nil {
		return nil, wrapWorkload(err)
	}
	w, err := s.workload(ctx, v, key, runsKept)
	return w, wrapWorkload(err)
}

// WorkloadOf is the workload of a job's main execution; nil if it belongs to none.
func (s *Store) WorkloadOf(ctx context.Context, v Viewer, j *job.Job) (*job.Workload, error) {
	key := job.WorkloadOf(j)
	if key == "" {
		return nil, nil
	}
	w, err := s.workload(ctx, v, key, runsKept)
	if errors.Is(err, ErrNoWorkload) { // its reports are not merged yet
		return nil, nil
	}
	if err == nil && w.All != nil {
		err = s.addRunsOf(ctx, w, j)
	}
	return w, wrapWorkload(err)
}

// addRunsOf adds the job's own runs, if these are not among the newest.
func (s *Store) addRunsOf(ctx context.Context, w *job.Workload, j *job.Job) error {
	if slices.ContainsFunc(w.Runs, func(r job.Run) bool { return r.Cluster == j.Cluster && r.JobID == j.JobID && r.Attempt == j.Attempt }) {
		return nil
	}
	older, err := s.eachWorkloadRun(ctx, runsOfAttempt, []any{j.Cluster, j.JobID, j.Attempt, w.Key})
	for i := range older {
		w.Runs = append(w.Runs, older[i].Run)
	}
	slices.SortStableFunc(w.Runs, func(a, b job.Run) int { return a.Start.Compare(b.Start) })
	return err
}

// rebuiltRuns selects what AddRebuilt adds.
var rebuiltRuns = workloadRunRows + ` WHERE w.lineage = (SELECT o.lineage FROM workload_runs o WHERE o.cluster = ? AND o.job_id = ? AND o.attempt = ? AND o.execution = ?)
		AND w.lineage <> '' AND w.start_us < ? AND w.workload_key <> ? AND w.cores = ?`

// AddRebuilt adds Rebuilt to the workload of a job, of the runs that the viewer may see.
func (s *Store) AddRebuilt(ctx context.Context, v Viewer, w *job.Workload, j *job.Job) error {
	at := slices.IndexFunc(w.Runs, func(r job.Run) bool { return r.Cluster == j.Cluster && r.JobID == j.JobID && r.Attempt == j.Attempt })
	if at < 0 {
		return nil
	}
	own := &w.Runs[at]
	if slices.ContainsFunc(w.Runs, func(r job.Run) bool { return r.Cores() == own.Cores() && r.Start.Before(own.Start) }) {
		return nil
	}
	runs, err := s.newestRuns(ctx, v, rebuiltRuns, []any{own.Cluster, own.JobID, own.Attempt, own.Execution, own.Start.UnixMicro(), w.Key, own.Cores()}, coreRunsKept)
	for i := range runs {
		w.Rebuilt = append(w.Rebuilt, runs[i].Run)
	}
	return wrapWorkload(err)
}

// wrapWorkload wraps the errors that callers do not tell apart.
func wrapWorkload(err error) error {
	var several *AmbiguousError
	if err == nil || errors.Is(err, ErrNoWorkload) || errors.As(err, &several) {
		return err
	}
	return fmt.Errorf("store: workload: %w", unavailable(err))
}

// namings are the ways to name a workload, the likeliest first. A key belongs to one workload, so one
// of its runs is enough.
var namings = []struct {
	query string
	args  func(name string) []any
}{
	{"SELECT w.workload_key, w.workload_name FROM workload_runs w WHERE w.workload_key = ?%s LIMIT 1",
		func(name string) []any { return []any{name} }},
	{namedWorkloads + "w.workload_name = ?" + fewNames, func(name string) []any { return []any{name} }},
	{namedWorkloads + "(substr(w.workload_key, 1, ?) = ? OR substr(w.workload_name, 1, ?) = ?)" + fewNames, func(name string) []any {
		n := len([]rune(name))
		return []any{n, name, n, name}
	}},
}

const (
	namedWorkloads = "SELECT DISTINCT w.workload_key, w.workload_name FROM workload_runs w WHERE "
	fewNames       = "%s ORDER BY w.workload_name, w.workload_key LIMIT 6"
)

// workloadKey finds the workload that a name means.
func (s *Store) workloadKey(ctx context.Context, v Viewer, name string, uid *uint32) (key string, err error) {
	scope, scopeArgs := "", []any{}
	if !v.All && uid != nil && *uid != v.UID { // the viewer's own workload of that name would be another one
		return "", ErrNoWorkload
	}
	if !v.All {
		uid = &v.UID
	}
	if uid != nil {
		scope, scopeArgs = " AND w.uid = ?", []any{*uid}
	}
	where, cluster := ofCluster("w", v.cluster())
	scope, scopeArgs = scope+where, append(scopeArgs, cluster...)
	for i, n := range namings {
		query, args := fmt.Sprintf(n.query, scope), append(n.args(name), scopeArgs...)
		if i == 0 && !v.All { // it has one owner, and workload reads no run that the viewer may not see
			query, args = fmt.Sprintf(n.query, ""), n.args(name)
		}
		var found []string
		err := s.eachRow(ctx, query, args, func(rows *sql.Rows) error {
			var called string
			err := rows.Scan(&key, &called)
			if !slices.Contains(found, key) {
				found = append(found, key)
			}
			return err
		})
		switch {
		case err != nil:
			return "", err
		case len(found) == 1:
			return key, nil
		case len(found) > 1:
			several := &AmbiguousError{Name: name, Beginning: i == len(namings)-1}
			return "", cmp.Or(s.tellApart(ctx, v, several, found), error(several))
		}
	}
	return "", ErrNoWorkload
}

// tellApart says whose the workloads of these keys are, and what tells them apart.
func (s *Store) tellApart(ctx context.Context, v Viewer, several *AmbiguousError, keys []string) error {
	all := make([]listing.WorkloadSummary, len(keys))
	of := map[string]map[string]bool{"user": {}, "program": {}, "build": {}}
	for i := range all {
		all[i].Key = keys[i]
		if err := s.summarize(ctx, v, &all[i], false); err != nil {
			return err
		}
		of["user"][all[i].Newest.User], of["program"][all[i].Newest.Executable], of["build"][all[i].Newest.BuildID] = true, true, true
	}
	for i := range all {
		r := &all[i].Newest
		told := fmt.Sprintf("%s (%s)", all[i].Name, all[i].Key)
		if len(of["user"]) > 1 {
			told += " of " + r.User
		}
		switch {
		case len(of["program"]) > 1:
			told += ", " + r.Executable
		case len(of["build"]) > 1:
			told += ", build " + r.BuildID[:min(8, len(r.BuildID))]
		case len(of["user"]) == 1:
			told += ", other arguments or input"
		}
		several.Some = append(several.Some, told+fmt.Sprintf(", last run job %s of %s", r.DisplayID, r.Start.UTC().Format(time.DateOnly)))
	}
	return nil
}

// eachRow calls do for every row of a query.
func (s *Store) eachRow(ctx context.Context, query string, args []any, do func(*sql.Rows) error) error {
	rows, err := s.read.QueryContext(ctx, query, args...)
	return eachOf(rows, err, do)
}

// readRun are the columns that a run is read from: of w (runs), of r (their attempts), and
// the MPI library of the execution.
var readRun = slices.Concat(workloadTable.columns, jobOfRun, mpiOfRun)

// selectRun selects them, except the MPI library, whose expression follows it.
var selectRun = "SELECT " + names(of("w", workloadTable.columns)) + ", " + names(of("r", jobOfRun)) + ", "

// withJob joins the runs with their attempts.
const (
	withJob = " w" + joinJob
	joinJob = " JOIN attempts r ON r.cluster = w.cluster AND r.job_id = w.job_id AND r.attempt = w.attempt"
)

// workloadRunRows selects runs; the rest of the query follows it.
var workloadRunRows = selectRun + `'' FROM workload_runs` + withJob

// coreCounts finds the core counts of a workload and how many runs each has, up to a limit.
// It jumps from one core count to the next in the index: a workload that ran every few
// minutes for a year has tens of thousands of runs on a few core counts.
const coreCounts = `WITH RECURSIVE counts(cores) AS (
		SELECT min(cores) FROM workload_runs WHERE workload_key = ?
		UNION ALL
		SELECT (SELECT min(w.cores) FROM workload_runs w WHERE w.workload_key = ? AND w.cores > c.cores) FROM counts c WHERE c.cores IS NOT NULL)
	SELECT cores, (SELECT count(*) FROM (SELECT 1 FROM workload_runs w WHERE w.workload_key = ? AND w.cores = counts.cores LIMIT ?) few)
	FROM counts WHERE cores IS NOT NULL`

// runsOnCores selects the runs of a workload on one core count.
var runsOnCores = workloadRunRows + " WHERE w.workload_key = ? AND w.cores = ?"

// runsOfAttempt selects the runs of a workload in one attempt.
var runsOfAttempt = workloadRunRows + " WHERE w.cluster = ? AND w.job_id = ? AND w.attempt = ? AND w.workload_key = ?"

// sumOfRuns sums up the runs of a workload, from an index alone; that of a coordinator needs the
// attempts, too.
const (
	sumOfRuns = `SELECT count(*), COALESCE(sum(w.used_core_hours), 0), COALESCE(sum(CASE WHEN w.lost_core_hours >= 0 THEN w.used_core_hours END), 0),
		COALESCE(sum(CASE WHEN w.lost_core_hours >= 0 THEN w.lost_core_hours END), 0) FROM workload_runs`
	sumOfAllRuns = sumOfRuns + " w WHERE w.workload_key = ?"
)

// runsOfWorkload selects all runs of a workload. The condition on the start always holds. It
// makes SQLite take the index that has them in order; else it sorts them all.
var runsOfWorkload = workloadRunRows + " WHERE w.workload_key = ? AND w.start_us >= 0"

// newestRuns orders runs so that a limit keeps the newest.
const newestRuns = " ORDER BY w.start_us DESC, w.job_id DESC, w.attempt DESC, w.execution DESC LIMIT ?"

// workload reads the runs of a key that the viewer may see, as workloadRuns chooses them, with the
// sum of all if there are more, and the room of the newest.
func (s *Store) workload(ctx context.Context, v Viewer, key string, limit int) (*job.Workload, error) {
	runs, cut, err := s.workloadRuns(ctx, v, key, limit)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, ErrNoWorkload
	}
	w, err := s.workloadOfRuns(ctx, key, runs)
	if err == nil && cut {
		w.All, err = s.sumOfRuns(ctx, v, w)
	}
	if newest := &runs[len(runs)-1]; err == nil {
		if w.Room, err = s.roomIn(ctx, newest.Cluster, newest.Partition, newest.qos); w.Room == nil {
			w.Room = newest.RoomOfNodes()
		}
	}
	return w, err
}

// sumOfRuns sums up all runs of a workload that the viewer may see.
func (s *Store) sumOfRuns(ctx context.Context, v Viewer, w *job.Workload) (*job.RunSum, error) {
	query, args := sumOfAllRuns, []any{w.Key}
	if where, seen := v.sees(); where != "" && !v.is(w.Cluster, w.UID) {
		query, args = sumOfRuns+withJob+" WHERE w.workload_key = ? AND "+where, append(args, seen...)
	}
	var sum job.RunSum
	err := s.eachRow(ctx, query, args, func(rows *sql.Rows) error {
		return rows.Scan(&sum.Runs, &sum.Used, &sum.Known, &sum.Lost)
	})
	return &sum, err
}

// workloadOfRuns is the workload that has these runs.
func (s *Store) workloadOfRuns(ctx context.Context, key string, runs []workloadRun) (w *job.Workload, err error) {
	newest := &runs[len(runs)-1]
	w = &job.Workload{Key: key, Name: newest.name, Cluster: newest.Cluster, UID: newest.UID, User: newest.User,
		Executable: newest.Executable, InputNote: newest.inputNote}
	for i := range runs {
		w.Runs = append(w.Runs, runs[i].Run)
	}
	w.Mute, err = s.mute(ctx, workloadID{w.Cluster, w.UID, key})
	return w, err
}

// workloadRuns reads the newest runs of every core count, oldest first. It takes at most
// coreRunsKept of each and limit in all, in equal parts if there are enough; cut says that there may
// be more.
func (s *Store) workloadRuns(ctx context.Context, v Viewer, key string, limit int) (runs []workloadRun, cut bool, err error) {
	type count struct{ cores, runs int }
	var counts []count
	err = s.eachRow(ctx, coreCounts, []any{key, key, key, min(limit, coreRunsKept)}, func(rows *sql.Rows) error {
		var c count
		err := rows.Scan(&c.cores, &c.runs)
		counts = append(counts, c)
		return err
	})
	slices.SortFunc(counts, func(a, b count) int { return cmp.Or(cmp.Compare(a.runs, b.runs), cmp.Compare(a.cores, b.cores)) })
	for i, c := range counts { // the fewest first: the others get what these leave
		part := min(c.runs, limit/(len(counts)-i))
		limit -= part
		cut = cut || part < c.runs || c.runs >= coreRunsKept
		if err == nil && part > 0 {
			var some []workloadRun
			some, err = s.newestRuns(ctx, v, runsOnCores, []any{key, c.cores}, part)
			runs = append(runs, some...)
		}
	}
	slices.SortFunc(runs, func(a, b workloadRun) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Execution, b.Execution))
	})
	return runs, cut, err
}

// newestRuns reads the newest runs of a query that the viewer may see.
func (s *Store) newestRuns(ctx context.Context, v Viewer, query string, args []any, limit int) (runs []workloadRun, err error) {
	return s.runsInOrder(ctx, v, query, args, newestRuns, limit)
}

// runsInOrder reads the first runs of a query that the viewer may see.
func (s *Store) runsInOrder(ctx context.Context, v Viewer, query string, args []any, order string, limit int) (runs []workloadRun, err error) {
	if where, seen := v.sees(); where != "" {
		query, args = query+" AND "+where, append(args, seen...)
	}
	return s.eachWorkloadRun(ctx, query+order, append(args, limit))
}

// eachWorkloadRun reads the runs of a query, without impossible ones.
func (s *Store) eachWorkloadRun(ctx context.Context, query string, args []any) (runs []workloadRun, err error) {
	read := newReader(readRun)
	err = s.eachRow(ctx, query, args, func(rows *sql.Rows) error {
		r, err := read.read(rows)
		if err == nil {
			err = r.finish()
			r.DisplayID = s.named(r.Cluster, r.DisplayID)
		}
		if r.Check() == nil {
			runs = append(runs, *r)
		}
		return err
	})
	return runs, err
}

// finish fills the fields that are not columns.
func (r *workloadRun) finish() error {
	r.Start = time.UnixMicro(r.start).UTC()
	r.DisplayID = job.DisplayID(&job.Job{JobID: r.JobID, ArrayJobID: r.arrayJobID, ArrayTaskID: r.arrayTask, HetJobID: r.hetJobID, HetOffset: r.hetOffset})
	of := job.Job{Submit: r.slurmStart, Start: r.slurmStart, End: r.slurmEnd, Elapsed: time.Duration(r.slurmElapsed) * time.Second}
	r.Suspended = of.Suspended().Seconds()
	if r.outOfMemory != "" && !r.Ended {
		r.State = "OUT_OF_MEMORY"
	}
	if err := json.Unmarshal([]byte(r.sections), &r.Sections); err != nil {
		return fmt.Errorf("job %d: sections: %w", r.JobID, err)
	}
	return errors.Join(json.Unmarshal([]byte(r.counters), &r.Counters), json.Unmarshal([]byte(r.conditions), &r.Conditions))
}

// SetMute mutes a workload until m.Until; it replaces an earlier mute. Only the owner, root
// and operators may do so.
func (s *Store) SetMute(ctx context.Context, v Viewer, keyOrName string, uid *uint32, m job.Mute) (*job.Workload, error) {
	w, id, err := s.owned(ctx, v, keyOrName, uid)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, func(w *writer) error {
		return w.exec(`INSERT INTO mutes (cluster, uid, workload_key, since_us, until_us, reason) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (cluster, uid, workload_key) DO UPDATE SET since_us = excluded.since_us, until_us = excluded.until_us, reason = excluded.reason`,
			append(id.args(), m.Since.UnixMicro(), m.Until.UnixMicro(), m.Reason)...)
	})
	if err != nil {
		return nil, fmt.Errorf("store: mute: %w", err)
	}
	w.Mute = &m
	return w, nil
}

// ClearMute ends a mute. The returned workload's Mute shows whether there was one.
func (s *Store) ClearMute(ctx context.Context, v Viewer, keyOrName string, uid *uint32) (*job.Workload, error) {
	w, id, err := s.owned(ctx, v, keyOrName, uid)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, func(w *writer) error {
		return w.exec("DELETE FROM mutes WHERE cluster = ? AND uid = ? AND workload_key = ?", id.args()...)
	})
	if err != nil {
		return nil, fmt.Errorf("store: mute: %w", err)
	}
	return w, nil
}

// Muted says whether the owner of a job wants no mails of its workload now.
func (s *Store) Muted(ctx context.Context, j *job.Job) (bool, error) {
	key := job.WorkloadOf(j)
	if key == "" {
		return false, nil
	}
	m, err := s.mute(ctx, workloadID{j.Cluster, j.UID, key})
	if err != nil {
		return false, fmt.Errorf("store: mute: %w", unavailable(err))
	}
	return m != nil, nil
}

// owned finds a workload that the viewer may change, without its runs.
func (s *Store) owned(ctx context.Context, v Viewer, keyOrName string, uid *uint32) (w *job.Workload, id workloadID, err error) {
	if w, err = s.Workload(ctx, v, keyOrName, uid); err != nil {
		return nil, id, err
	}
	if !v.Operates() && !v.is(w.Cluster, w.UID) {
		return nil, id, ErrNoWorkload
	}
	w.Runs = nil
	return w, workloadID{w.Cluster, w.UID, w.Key}, nil
}

// mute is the mute that holds now; nil if there is none.
func (s *Store) mute(ctx context.Context, id workloadID) (*job.Mute, error) {
	var since, until int64
	m := new(job.Mute)
	err := s.read.QueryRowContext(ctx, `SELECT since_us, until_us, reason FROM mutes
		WHERE cluster = ? AND uid = ? AND workload_key = ? AND until_us > ?`, append(id.args(), time.Now().UnixMicro())...).Scan(&since, &until, &m.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	m.Since, m.Until = time.UnixMicro(since).UTC(), time.UnixMicro(until).UTC()
	return m, err
}
