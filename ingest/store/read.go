package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
	"jobeff/policy/doubt"
)

// readOfAttempt are the columns of attempts that views are made of.
var readOfAttempt = append(of("r", except(columnsOfAttempt, unread...)),
	column[attemptRow]{lostOfAttempt, func(r *attemptRow) any { return &r.lostText }},
	column[attemptRow]{presentFlags, func(r *attemptRow) any { return unknown{&r.flags, &r.isJudged} }})

// lostOfAttempt are four columns in one: SQLite 3.53 sorts all attempts for a list that selects 61 columns or more.
const lostOfAttempt = "r.used_us || ' ' || r.gpu_us || ' ' || COALESCE(r.judged_us || ' ' || r.lost_us, '')"

// readLost reads what lostOfAttempt selects; NULL becomes nil. It sets Used and GPUUsed only if the
// job was resized.
func (r *attemptRow) readLost() error {
	j, used, gpus, lost := &r.job, job.CoreTime(0), job.CoreTime(0), strings.Fields(r.lostText)
	if len(lost) > 2 {
		j.Judged, j.Lost = new(job.CoreTime), new(job.CoreTime)
	}
	_, err := fmt.Sscan(r.lostText, []any{&used, &gpus, j.Judged, j.Lost}[:len(lost)]...)
	if whole := job.UsedCoreTime(j.CPUs, j.Elapsed); whole != nil && used > 0 && used != *whole {
		j.Used = &used
	}
	if whole := job.UsedCoreTime(j.GPUs, j.Elapsed); gpus > 0 && (whole == nil || gpus != *whole) {
		j.GPUUsed = &gpus
	}
	return err
}

// encode makes a column of JSON, which stays "" if there is nothing to say.
func encode(is bool, v any, into *string) error {
	if !is {
		return nil
	}
	text, err := json.Marshal(v)
	*into = string(text)
	return err
}

// decode reads a column of JSON, which may be "".
func decode(text string, into any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// finish fills the job's fields that are not columns.
func (r *attemptRow) finish() error {
	j := &r.job
	j.Cluster, j.JobID, j.Attempt = r.cluster, r.jobID, int(r.attempt)
	j.DisplayID = job.DisplayID(j)
	j.Unconfirmed, j.Flags = j.Submit.IsZero(), r.flagged()
	switch {
	case r.timed:
		j.Elapsed = time.Duration(r.elapsed) * time.Second
	case !j.Start.IsZero() && j.End.After(j.Start):
		j.Elapsed = j.End.Sub(j.Start)
	}
	if r.cancelledBy != nil {
		j.State = fmt.Sprintf("%s by %d", j.State, *r.cancelledBy)
	}
	if r.measured {
		j.Metrics = &r.metrics
		r.metrics.Balanced()
		if r.threaded {
			r.metrics.MPI.Balanced()
			r.hybrid.Span = r.rankSeconds
			r.metrics.Hybrid = &r.hybrid
		} else {
			r.metrics.MPI = r.metrics.Efficiencies
		}
		r.metrics.BalancedOut()
	}
	if r.used {
		j.Usage = &r.usage
		j.Usage.TotalCPU = time.Duration(r.totalCPU) * time.Microsecond
	}
	if err := errors.Join(r.readLost(), decode(r.noData, &j.NoData), decode(r.cgroup, &j.Cgroup), decode(r.gpus, &j.GPUUse), decode(r.warnings, &j.Warnings)); err != nil {
		return err
	}
	if j.Reports == 0 {
		j.NoData = silence(j)
	}
	tellInterim(j)
	if j.TellHung(); r.ranked && j.AsOf.IsZero() {
		j.Covered = j.CoveredBy(r.rankSeconds)
	}
	switch {
	case r.unmerged == 0:
	case j.Decision == "":
		j.NoData = doubt.NewWarning(doubt.WhyMerging, 0)
	default:
		j.Warnings = append(j.Warnings, doubt.NewWarning(doubt.WarnMerging, 0))
	}
	return nil
}

// tellInterim takes AsOf from a warning: the time of the figures of nodes that have reported only
// while the job ran. If the job has ended, the warning stays, and says how much is not known.
func tellInterim(j *job.Job) {
	i := slices.IndexFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnInterim })
	if i < 0 {
		return
	}
	w := &j.Warnings[i]
	j.AsOf, _ = time.Parse(time.RFC3339Nano, w.Args.Other)
	if j.End.IsZero() {
		j.Together, j.Interim = w.Args.Kind == doubt.KindTogether, w.Args.Time
		j.Warnings = slices.Delete(j.Warnings, i, i+1)
		return
	}
	w.Args.Kind, w.Args.Other, w.Args.Time = "", "", max(j.End.Sub(j.AsOf), 0)
}

// failedNodes are Slurm's states of jobs whose node was lost, for SQL.
const failedNodes = "'NODE_FAIL', 'BOOT_FAIL'"

// silence says why a job that only sacct knows has no data. classified says the same of many, but knows no "yet".
func silence(j *job.Job) doubt.Warning {
	why := doubt.NewWarning(doubt.WhyNoReport, 0)
	switch {
	case j.State != "" && strings.Contains(failedNodes, "'"+j.State+"'"):
		why.Args = doubt.Arguments{Kind: doubt.KindFailed, Name: j.State}
	case j.End.IsZero():
		why.Code = doubt.WhyNotEnded
	case time.Since(j.End) < time.Minute:
		why.Args.Kind = doubt.KindYet
	}
	return why
}

// explainSilence says that reports of the job's owner came which do not fit it, if there are any.
func (s *Store) explainSilence(ctx context.Context, r *attemptRow) error {
	var apart int
	err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM attempts WHERE cluster = ? AND job_id = ? AND uid = ? AND slurm_submit_us IS NULL",
		r.cluster, r.jobID, r.job.UID).Scan(&apart)
	if apart > 0 {
		r.job.NoData = doubt.NewWarning(doubt.WhyOtherTimes, 0)
	}
	return err
}

// selection is the WHERE and the order of a lookup.
type selection struct {
	where string
	args  []any
	order string
}

// newestFirst needs a condition on the start. Without one SQLite (3.53) reads and sorts all
// jobs for a small limit, since the index on the start has only the first of these terms.
const newestFirst = "r.start_us DESC NULLS LAST, r.cluster, r.job_id DESC, r.attempt DESC"

// confirmedFirst orders attempts that only nodes reported behind all others.
const confirmedFirst = "CASE WHEN r.slurm_submit_us IS NULL THEN 1 ELSE 0 END, "

// byRef lists what a reference may mean, the likeliest first.
func byRef(ref slurmid.Ref) []selection {
	newest := confirmedFirst + "r.start_us DESC NULLS LAST, r.slurm_submit_us DESC NULLS LAST, r.attempt DESC"
	switch {
	case ref.ArrayTask != nil:
		return []selection{{"r.array_job_id = ? AND r.array_job_id > 0 AND r.array_task_id = ?", []any{ref.ID, *ref.ArrayTask}, newest}}
	case ref.HetOffset != nil:
		return []selection{{"r.het_job_id = ? AND r.het_job_id > 0 AND COALESCE(r.het_offset, r.job_id - r.het_job_id) = ?", []any{ref.ID, *ref.HetOffset}, newest}}
	}
	return []selection{
		{"r.job_id = ?", []any{ref.ID}, newest},
		{"r.array_job_id = ? AND r.array_job_id > 0", []any{ref.ID}, confirmedFirst + "r.array_task_id, " + newest},
		{"r.het_job_id = ? AND r.het_job_id > 0", []any{ref.ID}, confirmedFirst + "r.het_offset, " + newest},
	}
}

// Job reads one attempt of a job, or only a step of it if ref names one. attempt counts from
// 1, the oldest; 0 is the latest. A job that the viewer may not see is ErrNotFound, too.
func (s *Store) Job(ctx context.Context, v Viewer, ref slurmid.Ref, attempt int) (*job.Job, error) {
	rows, err := s.meant(ctx, v, ref)
	if err != nil {
		return nil, fmt.Errorf("store: job %s: %w", ref, unavailable(err))
	}
	r := choose(rows, attempt)
	if r == nil {
		return nil, ErrNotFound
	}
	j := &r.job
	err = s.complete(ctx, r)
	if err == nil && ref.ArrayTask == nil && ref.HetOffset == nil {
		err = s.warnOfParts(ctx, v, j)
	}
	if err != nil {
		return nil, fmt.Errorf("store: job %s: %w", ref, unavailable(err))
	}
	if ref.Step != "" {
		return onlyStep(j, ref.Step)
	}
	j.Warnings = append(j.Warnings, assemble.UsageWarnings(j)...)
	return j, nil
}

// complete reads all that belongs to an attempt.
func (s *Store) complete(ctx context.Context, r *attemptRow) error {
	if err := s.fill(ctx, r); err != nil {
		return err
	}
	if err := s.readSteps(ctx, r); err != nil {
		return fmt.Errorf("steps: %w", err)
	}
	if !r.job.Unconfirmed && r.job.Reports == 0 {
		if err := s.explainSilence(ctx, r); err != nil {
			return err
		}
	}
	return s.addOverheads(ctx, &r.job)
}

// meant reads what a reference most likely means. An attempt that only nodes reported hides none
// that Slurm has confirmed: a node could make up a job with an array's id.
func (s *Store) meant(ctx context.Context, v Viewer, ref slurmid.Ref) (rows []*attemptRow, err error) {
	for _, sel := range byRef(ref) {
		where, args := ofCluster("r", ref.Cluster)
		sel.where, sel.args = sel.where+where, append(sel.args, args...)
		some, err := s.attempts(ctx, v, sel, 1000)
		var of []string
		for _, r := range some {
			of = append(of, r.cluster)
		}
		if err = cmp.Or(err, s.OneCluster(ref, of)); err != nil {
			return nil, err
		}
		if len(some) > 0 && !some[0].job.Unconfirmed {
			return some, nil
		}
		if len(rows) == 0 {
			rows = some
		}
	}
	return rows, nil
}

// choose numbers the attempts of the first row's job by their start, in one second by their submission, and takes
// one.
func choose(rows []*attemptRow, attempt int) *attemptRow {
	if len(rows) == 0 {
		return nil
	}
	var same []*attemptRow
	for _, r := range rows {
		if r.job.Cluster == rows[0].job.Cluster && r.job.JobID == rows[0].job.JobID {
			same = append(same, r)
		}
	}
	slices.SortStableFunc(same, func(a, b *attemptRow) int {
		return cmp.Or(a.job.Start.Compare(b.job.Start), a.job.Submit.Compare(b.job.Submit), cmp.Compare(a.attempt, b.attempt))
	})
	for i, r := range same {
		r.job.Attempt = i + 1
	}
	if attempt == 0 {
		return rows[0]
	}
	if attempt < 1 || attempt > len(same) {
		return nil
	}
	return same[attempt-1]
}

// Together these two let a query that names no cluster use the keys, which begin with it.
const (
	attemptsOfClusters = "clusters c CROSS JOIN attempts r"
	ofClusters         = "r.cluster = c.cluster"
)

// attempts reads selected rows of attempts that the viewer may see.
func (s *Store) attempts(ctx context.Context, v Viewer, sel selection, limit int) ([]*attemptRow, error) {
	return s.readAttempts(ctx, v, attemptsOfClusters, ofClusters+" AND "+sel.where, sel.order+" LIMIT ?", sel.args, limit)
}

// notByUser keeps an engine from the index on users.
var notByUser = strings.NewReplacer("r.uid = ?", "r.uid + 0 = ?", "r.uid IN (", "r.uid + 0 IN (")

// shownTo adds to a condition on attempts what the viewer may see. All that reads attempts for people
// must call it.
func (s *Store) shownTo(v Viewer, from, where string, args []any) (string, []any) {
	where, args = where+" AND "+isShown, append(slices.Clone(args), s.shownSince(time.Now()))
	if mine, seen := v.sees(); mine != "" {
		if from == attemptsOfClusters { // keys select fewer rows than the index on users would
			mine = notByUser.Replace(mine)
		}
		where, args = where+" AND "+mine, append(args, seen...)
	}
	return where, args
}

// selection is what follows FROM: the jobs of some conditions that the viewer may see, with its arguments.
func (s *Store) selection(v Viewer, from string, c conditions) (string, []any) {
	where, args := s.shownTo(v, from, strings.Join(c.where, " AND "), c.args)
	return from + " WHERE " + where, args
}

// readAttempts reads the attempts of a query that the viewer may see. limits are the arguments of
// order.
func (s *Store) readAttempts(ctx context.Context, v Viewer, from, where, order string, args []any, limits ...any) (all []*attemptRow, err error) {
	where, args = s.shownTo(v, from, where, args)
	query := " FROM " + from + " WHERE " + where + " ORDER BY " + order
	if by, _, _ := strings.Cut(order, " LIMIT"); strings.HasSuffix(by, ", "+newestFirst) {
		query = keysFirst(query, by)
	}
	read := newReader(readOfAttempt)
	err = s.eachRow(ctx, "SELECT "+names(readOfAttempt)+query, append(args, limits...), func(rows *sql.Rows) error {
		r, err := read.read(rows)
		if err == nil {
			err = r.finish()
			r.job.DisplayID = s.named(r.cluster, r.job.DisplayID)
		}
		all = append(all, r)
		return err
	})
	return all, err
}

// isShown leaves out attempts that wait for Slurm's word: those that came less than patience ago, and
// those of jobs for which sacct has since listed only attempts that do not fit. With NOT EXISTS
// PostgreSQL may read the whole table first.
const isShown = `(r.slurm_submit_us IS NOT NULL OR r.changed_us <= ? AND
	(r.changed_us > (SELECT COALESCE(max(time_us), 0) FROM marks WHERE name IN ('` + MarkRead + `', '` + MarkRead + `:' || r.cluster))
	OR (SELECT 1 FROM attempts o WHERE o.cluster = r.cluster AND o.job_id = r.job_id AND o.slurm_submit_us IS NOT NULL LIMIT 1) IS NULL))`

// MarkRead names the mark of the time up to which sacct was read: of all, or as MarkOf has it, of one of several
// clusters.
const MarkRead = "sacct_read"

// WaitForSlurm sets how long attempts that Slurm has not confirmed are hidden from people. With 0,
// as where Slurm is never asked, they are shown at once. It must be called before the store is used.
func (s *Store) WaitForSlurm(patience time.Duration) { s.patience = patience }

// shownSince is the time after which reports wait for Slurm's word, us.
func (s *Store) shownSince(now time.Time) int64 {
	if s.patience <= 0 {
		return math.MaxInt64 // daemons' clocks differ
	}
	return now.Add(-s.patience).UnixMicro()
}

// fill reads the attempt's executions, what it asked for, and what it could have.
func (s *Store) fill(ctx context.Context, r *attemptRow) (err error) {
	if r.job.Executions, r.trimmed, err = s.executions(ctx, r.attemptKey); err != nil {
		return err
	}
	if r.trimmed {
		r.job.Warnings = append(r.job.Warnings, doubt.NewWarning(doubt.WarnRanksDropped, 0))
	}
	return errors.Join(s.readAsked(ctx, r), s.addRoom(ctx, &r.job))
}

// tasksOfArray counts the tasks of an array that run or wait, of those with the highest numbers, and sums up the
// completed ones: each of very many may be read and judged.
var tasksOfArray = fmt.Sprintf(`SELECT count(*) - count(slurm_end_us) + (SELECT count(*) FROM pending r WHERE r.cluster = ? AND r.head_id = ?
		AND r.cluster IN (SELECT cluster FROM pending_looks WHERE until_us > ?) AND `+notBegun+`),
	count(CASE WHEN state = 'COMPLETED' THEN 1 END), COALESCE(sum(CASE WHEN state = 'COMPLETED' THEN slurm_elapsed_s END), 0)
	FROM (SELECT state, slurm_elapsed_s, slurm_end_us FROM attempts r WHERE `+ofArrayOf+` AND slurm_submit_us IS NOT NULL ORDER BY array_task_id DESC LIMIT %d) newest`, job.ArrayCounted)

// readAsked reads what the job asked for besides its size, and how the tasks of its array did, if all have ended. No
// list of many jobs does this: SQLite would sort all attempts for more columns.
func (s *Store) readAsked(ctx context.Context, r *attemptRow) error {
	var eligible sql.NullInt64
	var limit int64
	err := s.read.QueryRowContext(ctx, "SELECT eligible_us, time_limit_s FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ?", r.args()...).Scan(&eligible, &limit)
	if r.job.TimeLimit = time.Duration(limit) * time.Second; eligible.Valid {
		r.job.Eligible = time.UnixMicro(eligible.Int64).UTC()
	}
	if err != nil || r.job.ArrayJobID == 0 { // without a row, it was matched again meanwhile
		return orNoRow(err)
	}
	var open, tasks int
	var elapsed int64
	id := r.job.ArrayJobID
	if err := s.read.QueryRowContext(ctx, tasksOfArray, r.cluster, id, time.Now().UnixMicro(), r.cluster, id).Scan(&open, &tasks, &elapsed); err != nil || open > 0 {
		return err
	}
	r.job.Array = &job.Array{Tasks: tasks, Elapsed: time.Duration(elapsed) * time.Second}
	return nil
}

// executions reads the merged executions of an attempt, and whether they were trimmed.
func (s *Store) executions(ctx context.Context, k attemptKey) (all []job.Execution, trimmed bool, err error) {
	err = s.eachRow(ctx, executionsOfAttempt, k.args(), func(rows *sql.Rows) error {
		var detail sql.RawBytes
		var x job.Execution
		if err := rows.Scan(&detail, &trimmed); err != nil {
			return err
		}
		err := unpack(detail, &x)
		all = append(all, x)
		return err
	})
	return all, trimmed, err
}

const executionsOfAttempt = `SELECT x.detail, r.trimmed = 1 FROM attempts r JOIN executions x ON x.cluster = r.cluster AND x.job_id = r.job_id AND x.attempt = r.attempt
	WHERE r.cluster = ? AND r.job_id = ? AND r.attempt = ? ORDER BY x.execution`

// readSteps reads the attempt's steps. A job may have a megabyte of them, so nothing that reads
// many jobs does this.
func (s *Store) readSteps(ctx context.Context, r *attemptRow) error {
	err := s.read.QueryRowContext(ctx, "SELECT steps_json FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ?", r.args()...).Scan(&r.steps)
	if err != nil { // without a row, it was matched again meanwhile
		return orNoRow(err)
	}
	err = json.Unmarshal([]byte(r.steps), &r.job.Steps)
	r.job.NTasks = job.TasksOf(r.job.Steps)
	return err
}

// partsNamed is how many other parts of an array or a het job are named.
const partsNamed = 5

// warnOfParts says that there are more jobs of this kind, if the viewer asked for an array or
// a het job by its number.
func (s *Store) warnOfParts(ctx context.Context, v Viewer, j *job.Job) error {
	sel, kind := selection{ofArrayOf, []any{j.Cluster, j.ArrayJobID}, "r.array_task_id, r.attempt"}, ""
	switch {
	case j.ArrayJobID != 0:
	case j.HetJobID != 0:
		sel, kind = selection{"r.cluster = ? AND r.het_job_id = ? AND r.het_job_id > 0", []any{j.Cluster, j.HetJobID}, "r.job_id, r.attempt"}, doubt.KindHet
	default:
		return nil
	}
	rows, err := s.attempts(ctx, v, sel, partsNamed+2)
	if err != nil {
		return err
	}
	var others []string
	for _, r := range rows {
		if r.job.DisplayID != j.DisplayID && !slices.Contains(others, r.job.DisplayID) {
			others = append(others, r.job.DisplayID)
		}
	}
	if len(others) > partsNamed {
		others = append(others[:partsNamed], "…")
	}
	if len(others) > 0 {
		j.Warnings = append(j.Warnings, doubt.Warning{Code: doubt.WarnPart, Args: doubt.Arguments{Kind: kind, Name: j.DisplayID, Names: strings.Join(others, ",")}})
	}
	return nil
}

// StepError says that a job has no such step.
type StepError struct {
	Job, Step string
	Known     []string
	Cut       bool // the job had more steps than are known
}

// stepsNamed is how many steps an error names.
const stepsNamed = 20

func (e *StepError) Error() string {
	has := "has no step " + e.Step
	if e.Cut {
		has = fmt.Sprintf("had more steps than are listed, and step %s is not listed", e.Step)
	}
	if len(e.Known) == 0 {
		return fmt.Sprintf("job %s %s", e.Job, has)
	}
	some, more := e.Known, ""
	if len(some) > stepsNamed {
		some, more = some[:stepsNamed], ", …"
	}
	return fmt.Sprintf("job %s %s; it has %s%s", e.Job, has, strings.Join(some, ", "), more)
}

// onlyStep reduces a job to one step.
func onlyStep(j *job.Job, step string) (*job.Job, error) {
	var known []string
	var steps []job.Step
	for _, s := range j.Steps {
		known = append(known, s.ID)
		if s.ID == step {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 && j.Reports > 0 {
		cut := slices.ContainsFunc(j.Warnings, func(w doubt.Warning) bool { return w.Code == doubt.WarnStepsCut })
		return nil, &StepError{j.DisplayID, step, known, cut}
	}
	folded := slices.ContainsFunc(j.Executions, func(x job.Execution) bool { return x.Folded != nil && len(x.Steps) == 0 })
	if folded {
		j.Warnings = append(j.Warnings, doubt.Warning{Code: doubt.WarnPart, Args: doubt.Arguments{Kind: doubt.KindStep, Name: j.DisplayID}})
	}
	j.DisplayID += "." + step
	j.Steps, j.Usage = steps, nil // Slurm counted for the whole job
	j.Executions = slices.DeleteFunc(j.Executions, func(x job.Execution) bool { return !slices.Contains(x.Steps, step) })
	j.Covered = j.CoveredBy(job.CoreSeconds(j.Executions))
	if j.Metrics = job.JobMetrics(j.Executions); j.Metrics == nil && j.NoData == (doubt.Warning{}) {
		j.NoData = doubt.Warning{Code: doubt.WhyNoMPI, Args: doubt.Arguments{Kind: doubt.KindStep, Name: step}}
		switch {
		case job.OnlyUnknownThreads(j.Executions):
			j.NoData = assemble.NoThreads(j.Executions)
		case folded:
			j.NoData.Code = doubt.WhyFolded
		}
	}
	return j, nil
}
