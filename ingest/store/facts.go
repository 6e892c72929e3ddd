package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/listing"
)

// Limits of the lists that a digest reads.
const (
	mostNamed  = 200
	mostSilent = 50
)

// span is the time, the accounts and the cluster that a digest is about.
type span struct {
	from, to time.Time
	accounts []string // empty: all
	cluster  string   // "": all
}

// during is the same of another time.
func (p span) during(from, to time.Time) span {
	p.from, p.to = from, to
	return p
}

// whole says that a digest is about all that jobeffd serves.
func (p span) whole() bool { return len(p.accounts) == 0 && p.cluster == "" }

func (p span) times() []any { return []any{p.from.UnixMicro(), p.to.UnixMicro()} }

// among is the SQL condition on the accounts and the cluster of rows r.
func (p span) among(column string) (where string, args []any) {
	for _, a := range p.accounts {
		args = append(args, a)
	}
	if len(args) > 0 {
		where = " AND " + column + " IN (" + strings.Repeat("?, ", len(args)-1) + "?)"
	}
	of, cluster := ofCluster("r", p.cluster)
	return where + of, append(args, cluster...)
}

// viewer sees what the span is about, and nothing else.
func (p span) viewer() Viewer {
	if len(p.accounts) == 0 {
		return Viewer{All: true, Cluster: p.cluster}
	}
	return Viewer{UID: math.MaxUint32, Accounts: p.accounts, Cluster: p.cluster} // no user's
}

// runs is the SQL condition on the accounts and the cluster of runs w, and what must be joined for it.
func (p span) runs() (join, where string, args []any) {
	if where, args = p.among("r.account"); where != "" {
		join = joinJob
	}
	return join, where, args
}

// facts sums up the jobs of a span, and how well jobeff itself did.
func (s *Store) facts(ctx context.Context, p span) (*listing.Facts, error) {
	f, err := s.hours(ctx, p)
	if err == nil {
		if err = s.health(ctx, p, &f.Health); err != nil {
			return nil, fmt.Errorf("store: health: %w", unavailable(err))
		}
	}
	return f, err
}

// TwoWeeks are the facts of a span with its comparisons, and the sums of the span before. They are of the accounts
// that are named, or of all. A coordinator who names none gets their own accounts; one who names another gets
// ErrNotFound.
func (s *Store) TwoWeeks(ctx context.Context, v Viewer, from, to time.Time, accounts []string) (*listing.TwoWeeks, error) {
	if !v.Operates() {
		theirs := v.Coordinates()
		if len(accounts) == 0 {
			accounts = theirs
		}
		if len(theirs) == 0 || slices.ContainsFunc(accounts, func(a string) bool { return !slices.Contains(theirs, a) }) {
			return nil, ErrNotFound
		}
	}
	p := span{from, to, accounts, v.cluster()}
	this, err := s.facts(ctx, p)
	if err != nil {
		return nil, err
	}
	before, err := s.hours(ctx, p.during(from.Add(from.Sub(to)), from))
	if err == nil {
		err = s.wrong(ctx, p, this)
	}
	if err == nil && p.whole() {
		this.Alarms, err = s.Alarms(ctx, from, to)
		if err == nil {
			this.Comparison, err = s.Comparison(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	return &listing.TwoWeeks{Cluster: v.Of, Accounts: accounts, This: this, Before: before}, s.comparisons(ctx, p, this)
}

const lateReports = `SELECT count(*), COALESCE(sum(CASE WHEN came.received_us > r.end_us + ? THEN 1 ELSE 0 END), 0) FROM attempts r
		JOIN reports came ON came.cluster = r.cluster AND came.job_id = r.job_id AND came.attempt = r.attempt WHERE r.end_us >= ? AND r.end_us < ? AND r.slurm_submit_us IS NOT NULL`

// health reads how well jobeff itself did. Nodes and mails are of all accounts together, so a digest of some
// leaves them out.
func (s *Store) health(ctx context.Context, p span, h *listing.Health) error {
	var err error
	if h.Known, err = s.lines(ctx, p, false, h); err != nil {
		return err
	}
	where, more := p.among("r.account")
	args := append(p.times(), more...)
	err = s.read.QueryRowContext(ctx, lateReports+where, append([]any{listing.LateAfter.Microseconds()}, args...)...).Scan(&h.Reports, &h.Late)
	if err != nil || !p.whole() {
		return err
	}
	if err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM mails WHERE sent_us IS NULL AND decided_us < ?", p.to.UnixMicro()).Scan(&h.Unsent); err != nil {
		return err
	}
	until := p.to.Add(p.to.Sub(p.from)) // a week's digest is read in the next
	boxes, err := s.Outboxes(ctx, p.from, until)
	if err != nil {
		return err
	}
	h.Outboxes = troubled(boxes)
	if h.SlowNodes, err = s.SlowNodes(ctx); err != nil {
		return err
	}
	if look := h.SlowNodes; look != nil && (look.At.Before(p.from) || !look.At.Before(until)) {
		h.SlowNodes = nil
	}
	h.Silent, err = s.silent(ctx, p.from)
	return err
}

// silent are the nodes that have not reported since a time, but did in the four weeks before.
func (s *Store) silent(ctx context.Context, since time.Time) ([]string, error) {
	return onlyColumn[string](s.read.QueryContext(ctx, `SELECT `+nodeName+` FROM nodes WHERE heard_us >= ? AND heard_us < ? ORDER BY cluster, node LIMIT ?`,
		since.Add(-silentAfter).UnixMicro(), since.UnixMicro(), mostSilent))
}

// Status reads how jobeff itself does: in the last 24 hours, but for nodes. They are silent if no job ended there in a
// week, and slow if the last look says so.
func (s *Store) Status(ctx context.Context, now time.Time) (*listing.Status, error) {
	is := &listing.Status{At: now, Damaged: s.Damaged()}
	is.Doubt, is.Hint = s.Doubt(ctx)
	for _, read := range []func() error{
		func() error { return s.health(ctx, span{from: now.Add(-24 * time.Hour), to: now}, &is.Health) },
		func() (err error) { is.Health.Silent, err = s.silent(ctx, now.Add(-7*24*time.Hour)); return err },
		func() (err error) { is.Health.SlowNodes, err = s.SlowNodes(ctx); return err },
		func() (err error) { is.Alarms, err = s.AlarmsUp(ctx); return err },
		func() (err error) { is.Comparison, err = s.Comparison(ctx); return err },
		func() (err error) { is.Read, err = s.sacctRead(ctx, ""); return err },
		func() (err error) { is.Nodes, is.Quiet, err = s.NodesHeard(ctx, now, 24*time.Hour); return err },
	} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("store: status: %w", unavailable(err))
		}
	}
	return is, nil
}

// Limits of what is read to find savings and changes.
const (
	mostHeavy        = 32                      // workloads on one core count
	heavyKept        = 240                     // newest runs of such a workload, of every core count
	heaviestLineages = 1000                    // lineages that are looked at
	mostLineages     = 200                     // changed ones of these that are kept
	lineageLooked    = 4000                    // newest runs of a lineage that are looked at
	lineageRuns      = 400                     // runs of a lineage that are kept, of one executable half as many
	lineageBefore    = 8 * 7 * 24 * time.Hour  // how far back other executables are looked for
	toldBefore       = 26 * 7 * 24 * time.Hour // how far back advice is followed
	mostSeries       = 200                     // workloads on one core count
	mostTold         = 100
	mostFollowed     = 1000 // runs of each since
)

// comparisons adds to f what sums do not show: the workloads that lost most, lineages whose
// executable changed, series of runs, and workloads whose users got advice.
func (s *Store) comparisons(ctx context.Context, p span, f *listing.Facts) error {
	for what, read := range map[string]func(context.Context, span, *listing.Facts) error{
		"workloads": s.heavy, "executables": s.lineages, "series": s.series, "advice": s.advised} {
		if err := read(ctx, p, f); err != nil {
			return fmt.Errorf("store: comparing %s: %w", what, unavailable(err))
		}
	}
	return nil
}

// ofExecution joins a workload's run with its execution.
const ofExecution = ` JOIN executions e USING (cluster, job_id, attempt, execution) `

// changedLineages finds, among the lineages with the most core time in the span, those that had several executables
// or MPI libraries up to its end. The heaviest comes first.
const changedLineages = `SELECT k.lineage FROM (SELECT w.lineage, sum(w.used_core_hours) AS used FROM workload_runs w%[1]s
		WHERE w.start_us >= ? AND w.start_us < ? AND w.lineage <> '' AND w.ended = 1%[2]s GROUP BY w.lineage ORDER BY 2 DESC, 1 LIMIT ?) k
	WHERE (SELECT count(DISTINCT w.build_id) > 1 OR count(DISTINCT e.mpi) > 1
		FROM (SELECT l.cluster, l.job_id, l.attempt, l.execution, l.build_id FROM workload_runs l WHERE l.lineage = k.lineage AND l.start_us >= ? AND l.start_us < ? AND l.ended = 1
			ORDER BY l.start_us DESC LIMIT ?) w` + ofExecution + `%[1]s WHERE w.build_id <> ''%[2]s)
	ORDER BY k.used DESC, k.lineage LIMIT ?`

// runsOfLineage reads the newest runs of each executable and MPI library of a lineage, so
// that one with many runs does not crowd out the others.
var runsOfLineage = selectRun + `w.mpi FROM (SELECT l.*, e.mpi, ROW_NUMBER() OVER (PARTITION BY l.build_id, e.mpi ORDER BY l.start_us DESC, l.job_id DESC) AS nth
		FROM (SELECT * FROM workload_runs WHERE lineage = ? AND start_us >= ? AND start_us < ? AND ended = 1 ORDER BY start_us DESC LIMIT ?) l` +
	ofExecution + `)` + withJob + ` WHERE w.nth <= ?`

func (s *Store) lineages(ctx context.Context, p span, f *listing.Facts) error {
	since := p.from.Add(-lineageBefore).UnixMicro()
	join, where, args := p.runs()
	all, err := onlyColumn[string](s.read.QueryContext(ctx, fmt.Sprintf(changedLineages, join, where),
		slices.Concat(p.times(), args, []any{heaviestLineages, since, p.to.UnixMicro(), lineageLooked}, args, []any{mostLineages})...))
	if err != nil {
		return err
	}
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

// busySeries finds the workloads and core counts with the most core-hours in the span.
const busySeries = `SELECT w.workload_key, w.cores FROM workload_runs w%s WHERE w.start_us >= ? AND w.start_us < ? AND w.ended = 1%s
		GROUP BY w.workload_key, w.cores ORDER BY sum(w.used_core_hours) DESC, w.workload_key, w.cores LIMIT ?`

// runsOfSeries selects the runs of one of them up to a time, with their MPI libraries.
var runsOfSeries = selectRun + `(SELECT e.mpi FROM executions e WHERE e.cluster = w.cluster AND e.job_id = w.job_id AND e.attempt = w.attempt AND e.execution = w.execution)
		FROM workload_runs` + withJob + ` WHERE w.workload_key = ? AND w.cores = ? AND w.start_us < ?`

func (s *Store) series(ctx context.Context, p span, f *listing.Facts) error {
	var keys [][]any
	join, where, args := p.runs()
	err := s.eachRow(ctx, fmt.Sprintf(busySeries, join, where), append(append(p.times(), args...), mostSeries), func(rows *sql.Rows) error {
		var key string
		var cores int
		err := rows.Scan(&key, &cores)
		keys = append(keys, []any{key, cores, p.to.UnixMicro()})
		return err
	})
	if err != nil {
		return err
	}
	for _, one := range keys {
		runs, err := s.manyRuns(ctx, runsOfSeries+where+" ORDER BY w.start_us DESC LIMIT ?", append(append(one, args...), listing.SeriesRuns))
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			f.Series = append(f.Series, runs)
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

// runsBetween reads the newest runs of a workload, of the accounts, that started in the span, oldest first.
func (s *Store) runsBetween(ctx context.Context, key string, p span, most int) ([]job.Run, error) {
	where, accounts := p.among("r.account")
	runs, err := s.manyRuns(ctx, workloadRunRows+" WHERE w.workload_key = ? AND w.start_us >= ? AND w.start_us < ?"+where+" ORDER BY w.start_us DESC LIMIT ?",
		append(append(append([]any{key}, p.times()...), accounts...), most))
	if err != nil {
		return nil, fmt.Errorf("store: runs of a workload: %w", unavailable(err))
	}
	return runs, nil
}

// advised adds the notices that gave advice and were really sent, and the runs before and since.
func (s *Store) advised(ctx context.Context, p span, f *listing.Facts) error {
	told, err := s.Told(ctx, p.from.Add(-toldBefore))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range told { // the first of a workload: what ran before it is the baseline
		if p.cluster != "" && t.Cluster != p.cluster || t.Shadow || t.Muted || t.Advised == 0 || t.Workload == "" || seen[t.Workload] || len(f.Told) == mostTold || !t.At.Before(p.to) {
			continue
		}
		seen[t.Workload] = true
		before, err := s.runsBetween(ctx, t.Workload, p.during(t.At.Add(-lineageBefore), t.At), lineageRuns)
		if err != nil {
			return err
		}
		since, err := s.runsBetween(ctx, t.Workload, p.during(t.At, p.to), mostFollowed)
		if err != nil {
			return err
		}
		t.Runs, t.Cut = append(before, since...), len(since) == mostFollowed
		if len(p.accounts) > 0 { // the notice was of all that the user ran
			if t.Job, t.Jobs, t.Lost = "", 0, 0; !slices.ContainsFunc(before, func(r job.Run) bool { return r.Cores() == t.Cores }) {
				continue
			}
		}
		f.Told = append(f.Told, t)
	}
	return nil
}

// Day counts the attempts that started within 24 hours.
type Day struct {
	Jobs     map[string]int // by Slurm's state; "unknown": sacct has not told
	Measured int            // attempts that have figures
	Partial  int            // attempts some of whose nodes have not reported
	Coverage float64        // mean over the measured ones; 0 without any
}

const daysAttempts = `SELECT state, count(*), sum(CASE WHEN ` + hasFigures + ` THEN 1 ELSE 0 END), sum(coverage), sum(CASE WHEN reports > 0 AND reports < nodes THEN 1 ELSE 0 END)
		FROM attempts r WHERE start_us > ? AND start_us <= ? GROUP BY state`

// DayUntil counts the attempts that started in the 24 hours before end.
func (s *Store) DayUntil(ctx context.Context, end time.Time) (Day, error) {
	d := Day{Jobs: map[string]int{}}
	var covered float64
	err := s.eachRow(ctx, daysAttempts, []any{end.Add(-24 * time.Hour).UnixMicro(), end.UnixMicro()}, func(rows *sql.Rows) error {
		var state string
		var all, measured, partial int
		var coverage sql.NullFloat64
		if err := rows.Scan(&state, &all, &measured, &coverage, &partial); err != nil {
			return err
		}
		if state == "" {
			state = "unknown"
		}
		d.Jobs[state] += all
		d.Measured += measured
		d.Partial += partial
		covered += coverage.Float64
		return nil
	})
	if d.Measured > 0 {
		d.Coverage = covered / float64(d.Measured)
	}
	return d, unavailable(err)
}
