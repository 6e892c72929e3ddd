package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/policy"
	"jobeff/policy/slow"
)

// Judging is what Judge needs to know.
type Judging struct {
	Rules int64         // the mark of the rules, more than 0
	Grace time.Duration // how long after its end an attempt may wait for reports; 0: it does not wait
	// Ask gives the names of the rules that flag a job.
	Ask func(*listing.JobAndWorkload) []string
}

// judgedAtOnce is how many attempts a call of Judge asks the rules about.
const judgedAtOnce = 16

// markRules names the mark of the rules whose flags lists show.
const markRules = "rules"

// JudgeBy makes these rules the ones whose flags lists show. If several daemons have different rules,
// those of the one that started last count; the others then judge nothing.
func (s *Store) JudgeBy(ctx context.Context, rules int64) error {
	return s.SetMark(ctx, markRules, time.UnixMicro(rules))
}

// judgeable are attempts that have all that rules ask about: their reports, or no more time to wait
// for them, and Slurm's word, if that ever comes. Those that run are judged with each interim report.
const judgeable = `unmerged = 0 AND ((nodes > 0 AND reports >= nodes AND as_of_us IS NULL OR end_us < ?) AND (usage_read = 1 OR slurm_submit_us IS NULL)
	OR end_us IS NULL AND as_of_us IS NOT NULL AND nodes > 0 AND reports >= nodes) AND ` + isShown

// toJudge finds attempts of a range of judged_by: what changed last, then the newest.
const toJudge = "SELECT cluster, job_id, attempt, judged_by, used_us, judged_us, lost_us, gpu_us, gpu_known_us, gpu_idle_us FROM attempts r WHERE judged_by > ? AND judged_by < ? AND " + judgeable + " ORDER BY judged_by, start_us DESC LIMIT ?"

// Unjudged is how many attempts the rules have not judged, whatever they wait for.
func (s *Store) Unjudged(ctx context.Context) (n int64, err error) {
	err = s.number(ctx, &n, `SELECT (SELECT count(*) FROM attempts WHERE judged_by < m.rules) + (SELECT count(*) FROM attempts WHERE judged_by > m.rules)
		FROM (SELECT COALESCE(max(time_us), 0) AS rules FROM marks WHERE name = '`+markRules+"') m")
	return n, unavailable(err)
}

// Judge asks the rules about some attempts that they have not judged. For lists and sums it keeps the
// names of the rules that flag an attempt, and what the attempt used and lost, as package policy says; and for policy/slow
// what it says of its nodes.
// Like Merge it finds what waits by a query, and one of several daemons does it. It returns how many
// attempts it judged; err names those that cannot be read, which count as judged.
func (s *Store) Judge(ctx context.Context, by Judging, now time.Time) (judged int, err error) {
	release, mine, err := s.engine.alone(ctx, markBegan)
	if err != nil || !mine {
		return 0, unavailable(err)
	}
	defer release()
	if mark, err := s.Mark(ctx, markRules); err != nil || mark.UnixMicro() != by.Rules {
		return 0, err
	}
	waiting, err := s.waitForRules(ctx, by, now)
	if err != nil {
		return 0, fmt.Errorf("store: attempts to judge: %w", unavailable(err))
	}
	var damaged error
	for i := range waiting {
		u := &waiting[i]
		if err = s.askRules(ctx, u, by, now); errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return 0, err
		}
		damaged = errors.Join(damaged, err)
	}
	err = each(len(waiting), len(waiting), func(i int) error {
		u := &waiting[i]
		return s.doJob(ctx, jobKey{u.cluster, u.jobID}, func(w *writer) error {
			set, args := "", []any{by.Rules, strings.Join(u.flags, ",")}
			if !u.now.equal(u.before) { // else the sums of the month stay untouched
				set = ", used_us = ?, judged_us = ?, lost_us = ?, gpu_us = ?, gpu_known_us = ?, gpu_idle_us = ?"
				args = append(args, optional(u.now.used), optional(u.now.judged), optional(u.now.lost), u.now.gpu.Used, u.now.gpu.Known, u.now.gpu.Idle)
			}
			return errors.Join(w.keepTimes(u), w.exec("UPDATE attempts SET judged_by = ?, flags = ?"+set+" WHERE cluster = ? AND job_id = ? AND attempt = ? AND judged_by = ?",
				append(append(args, u.args()...), u.judgedBy)...))
		})
	})
	for i := 0; i < len(waiting) && err == nil; i++ {
		if u := &waiting[i]; u.endsArray > 0 {
			err = s.do(ctx, func(w *writer) error {
				return w.exec(toAskTasks, -now.UnixMicro(), u.cluster, u.endsArray, strings.Join(u.flags, ","))
			})
		}
	}
	if err != nil {
		return 0, fmt.Errorf("store: flags: %w", err)
	}
	return len(waiting), damaged
}

// unjudged is an attempt that the rules have not judged.
type unjudged struct {
	attemptKey
	judgedBy    int64  // before the rules are asked: if it changes meanwhile, they are asked again
	endsArray   uint32 // the array, if this is its last task that ended and none waits; 0: it is not
	flags       []string
	before, now coreTimes
	times       []byte // what it says of its nodes, as node_times has it; nil: nothing
}

// coreTimes are what an attempt's row keeps of its core time, nil: not known, and of its GPU time.
type coreTimes struct {
	used, judged, lost *job.CoreTime
	gpu                job.GPUTime
}

func (t coreTimes) equal(o coreTimes) bool {
	return optional(t.used) == optional(o.used) && optional(t.judged) == optional(o.judged) && optional(t.lost) == optional(o.lost) && t.gpu == o.gpu
}

// waitForRules finds some attempts that the rules have not judged.
func (s *Store) waitForRules(ctx context.Context, by Judging, now time.Time) (all []unjudged, err error) {
	complete := int64(math.MaxInt64)
	if by.Grace > 0 {
		complete = now.Add(-by.Grace).UnixMicro()
	}
	for _, between := range [][2]int64{{math.MinInt64, 0}, {-1, by.Rules}, {by.Rules, math.MaxInt64}} {
		err := s.eachRow(ctx, toJudge, []any{between[0], between[1], complete, s.shownSince(now), judgedAtOnce - len(all)}, func(rows *sql.Rows) error {
			var u unjudged
			err := rows.Scan(&u.cluster, &u.jobID, &u.attempt, &u.judgedBy, &u.before.used, &u.before.judged, &u.before.lost, &u.before.gpu.Used, &u.before.gpu.Known, &u.before.gpu.Idle)
			all = append(all, u)
			return err
		})
		if err != nil || len(all) >= judgedAtOnce {
			return all, err
		}
	}
	return all, nil
}

// askRules reads an attempt as Job does, with its workload, asks the rules, and works out what it used and lost, and what
// it says of its nodes. An attempt that is gone is flagged by none.
func (s *Store) askRules(ctx context.Context, u *unjudged, by Judging, now time.Time) error {
	everybody, k := Viewer{All: true}, u.attemptKey
	rows, err := s.readAttempts(ctx, everybody, "attempts r", "r.cluster = ? AND r.job_id = ? AND r.attempt = ?", newestFirst+" LIMIT ?", k.args(), 1)
	if err != nil || len(rows) == 0 {
		return unavailable(err)
	}
	j := &rows[0].job
	found := &listing.JobAndWorkload{Job: j}
	if err = s.complete(ctx, rows[0]); err == nil {
		j.Warnings = append(j.Warnings, assemble.UsageWarnings(j)...)
		if j.Complete = !j.IsRunning(); j.Complete {
			found.Workload, err = s.WorkloadOf(ctx, everybody, j)
		}
	}
	if err != nil {
		return fmt.Errorf("store: job %d: %w", k.jobID, unavailable(err))
	}
	if j.Array != nil {
		var later int
		if err := s.read.QueryRowContext(ctx, endedLater, k.args()...).Scan(&later); err != nil {
			return unavailable(err)
		}
		if later == 0 {
			u.endsArray = j.ArrayJobID
		}
	}
	if now.Sub(j.End) < slow.Year {
		if u.times, err = packTimes(slow.Of(j)); err != nil {
			return fmt.Errorf("store: job %d: %w", k.jobID, err)
		}
	}
	hours := policy.CoreHoursOf(j)
	u.flags, u.now = by.Ask(found), coreTimes{hours.Used, hours.Judged(), hours.Lost, j.GPUTime()}
	return nil
}

// endedLater finds a task of an attempt's array that ended after it, or at the same second with a higher id.
const endedLater = `SELECT count(*) FROM (SELECT 1 AS one FROM attempts u JOIN attempts r ON r.cluster = u.cluster AND r.array_job_id > 0 AND r.array_job_id = u.array_job_id
		AND (r.slurm_end_us, r.job_id, r.attempt) > (u.slurm_end_us, u.job_id, u.attempt)
	WHERE u.cluster = ? AND u.job_id = ? AND u.attempt = ? LIMIT 1) later`

// toAskTasks lets Judge ask the rules again about an array's tasks that were judged while others ran or waited, and
// have other flags than the last one.
const toAskTasks = "UPDATE attempts SET judged_by = ? WHERE cluster = ? AND array_job_id > 0 AND array_job_id = ? AND judged_by > 0 AND flags <> ?"

// runningSince bounds how long ago a job that runs was reported last, to find it by an index.
const runningSince = 24 * time.Hour

// EachFlaggedRunning calls do with each job that runs and that the present rules flag, with its steps and
// executions.
func (s *Store) EachFlaggedRunning(ctx context.Context, now time.Time, do func(*job.Job)) error {
	rows, err := s.readAttempts(ctx, Viewer{All: true}, "attempts r", "r.slurm_end_us IS NULL AND r.changed_us > ? AND r.as_of_us IS NOT NULL AND r.unmerged = 0 AND r.flags <> ''",
		newestFirst+" LIMIT ?", []any{now.Add(-runningSince).UnixMicro()}, maxLimit)
	if err != nil {
		return fmt.Errorf("store: running jobs: %w", unavailable(err))
	}
	for _, r := range rows {
		if len(r.job.Flags) == 0 { // of other rules than the present ones
			continue
		}
		if err := s.complete(ctx, r); err != nil {
			return fmt.Errorf("store: job %d: %w", r.jobID, unavailable(err))
		}
		do(&r.job)
	}
	return nil
}

// presentFlags are an attempt's flags; NULL if the present rules have not judged it.
const presentFlags = "CASE WHEN r.judged_by = " + presentMark + " THEN r.flags END"

// presentMark is the mark of the present rules. If there are none, it is one that no attempt has.
const presentMark = "(SELECT COALESCE(max(time_us), 9223372036854775807) FROM marks WHERE name = '" + markRules + "')"

// mostUnjudged is listing.MostUnjudged.
var mostUnjudged = listing.MostUnjudged

// UnjudgedOf is listing.Selected's Unjudged of a query.
func (s *Store) UnjudgedOf(ctx context.Context, v Viewer, q listing.JobQuery, uids []uint32) (n int, err error) {
	q.Rule = ""
	c, from, err := chosen(q, uids)
	if err != nil {
		return 0, err
	}
	if q.Jobs == "" { // the index of what is to be judged finds them
		c = c.spanned(q)
	} else {
		c = c.within(q)
	}
	var parts []string
	var all []any
	for _, than := range []string{"<", ">"} {
		selection, args := s.selection(v, from, c.and("r.end_us + 0 IS NOT NULL AND r.judged_by "+than+" "+presentMark))
		parts, all = append(parts, "SELECT 1 FROM "+selection), append(all, args...)
	}
	err = s.read.QueryRowContext(ctx, "SELECT count(*) FROM ("+strings.Join(parts, " UNION ALL ")+" LIMIT ?) r", append(all, mostUnjudged)...).Scan(&n)
	if err != nil {
		return 0, listError(err)
	}
	return n, nil
}

// flagged reads presentFlags; nil if they are NULL.
func (r *attemptRow) flagged() []string {
	if !r.isJudged {
		return nil
	}
	return strings.FieldsFunc(r.flags, func(c rune) bool { return c == ',' })
}
