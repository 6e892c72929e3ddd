package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/slow"
)

// Retention is how long things are kept; 0 means for ever.
type Retention struct {
	Ranks time.Duration // each rank's figures, and the nodes' reports
	Jobs  time.Duration // jobs; the sums of their months stay
}

// Retained counts what Retain did.
type Retained struct {
	Trimmed int // jobs that lost the figures of their ranks
	Pruned  int // jobs that only count in their month now
}

// retainBatch is how many jobs are looked up at once. As many of them are dropped together as take
// about retainFor, but retainLeast at least: on a busy disk a COMMIT takes long for one job, too.
// Those that have not begun by then wait for the next part. After each part Retain rests as long as
// the part took. So reports wait for few jobs, and the writer of another process gets its turn.
const (
	retainBatch = 200
	retainLeast = 8
	retainFor   = 50 * time.Millisecond
)

// Retain drops what is older than the retention allows. It may be stopped at any moment, and
// the next call goes on. It calls progress now and then; progress may be nil.
func (s *Store) Retain(ctx context.Context, r Retention, now time.Time, progress func(Retained)) (done Retained, err error) {
	together := retainLeast
	for _, part := range []struct {
		keep  time.Duration
		query string
		do    func(w *writer, k attemptKey, before int64) (bool, error)
		count *int
	}{
		{r.Jobs, toPrune, (*writer).prune, &done.Pruned},
		{r.Jobs, toPruneUnstarted, (*writer).prune, &done.Pruned},
		{r.Jobs, toPruneAhead, (*writer).prune, &done.Pruned},
		{r.Ranks, toTrim, (*writer).trim, &done.Trimmed},
		{r.Ranks, toTrimAhead, (*writer).trim, &done.Trimmed},
	} {
		for part.keep > 0 && err == nil {
			var n int
			n, err = s.retain(ctx, time.Now, &together, part.query, now.Add(-part.keep).UnixMicro(), part.do)
			*part.count += n
			if n == 0 {
				break
			}
			if progress != nil {
				progress(done)
			}
		}
	}
	return done, errors.Join(err, s.retainRest(ctx, now))
}

// How long other things are kept: finished mails, notices to users (longer than the year that
// a decision looks back), and nodes that are silent. The times of jobs' nodes are kept for slow.Year: no look goes
// further back.
const (
	mailsKept   = 90 * 24 * time.Hour
	noticesKept = 400 * 24 * time.Hour
	nodesKept   = 2 * silentAfter
)

// retainRest drops old mails, notices, nodes and times of nodes.
func (s *Store) retainRest(ctx context.Context, now time.Time) error {
	err := s.do(ctx, func(w *writer) error {
		return errors.Join(
			w.exec("DELETE FROM mails WHERE decided_us < ? AND (sent_us IS NOT NULL OR failed_us IS NOT NULL)", now.Add(-mailsKept).UnixMicro()),
			w.exec("DELETE FROM notices WHERE at_us < ?", now.Add(-noticesKept).UnixMicro()),
			w.exec("DELETE FROM nodes WHERE heard_us < ?", now.Add(-nodesKept).UnixMicro()),
			w.exec("DELETE FROM node_times WHERE end_us < ?", now.Add(-slow.Year).UnixMicro()),
			w.exec("DELETE FROM month_sums WHERE jobs = 0"),
			w.exec("DELETE FROM day_sums WHERE jobs = 0"),
			w.exec("DELETE FROM program_sums WHERE runs = 0"))
	})
	if err != nil {
		return fmt.Errorf("store: old mails, notices, nodes and times of nodes: %w", err)
	}
	return nil
}

// age is what an attempt's age counts from: its end, or its last change if the end is unknown, or if
// only nodes told of an end, and it was still to come.
const age = "CASE WHEN slurm_end_us IS NULL AND end_us > changed_us THEN changed_us ELSE COALESCE(end_us, changed_us) END"

// What is old. toPruneAhead and toTrimAhead find attempts that changed long ago, but whose start,
// as nodes said, is later.
const (
	pruned           = "SELECT cluster, job_id, attempt, " + age + " FROM attempts WHERE unmerged = 0 AND "
	toPrune          = pruned + "start_us < ? AND " + age + " < ? ORDER BY start_us LIMIT ?"
	toPruneUnstarted = pruned + "start_us IS NULL AND changed_us < ? AND " + age + " < ? LIMIT ?"
	toPruneAhead     = pruned + ahead
	trimmed          = "SELECT cluster, job_id, attempt, 0 FROM attempts WHERE unmerged = 0 AND trimmed = 0 AND "
	toTrim           = trimmed + "start_us < ? AND " + age + " < ? ORDER BY start_us LIMIT ?"
	toTrimAhead      = trimmed + ahead
	ahead            = "slurm_end_us IS NULL AND changed_us < ? AND start_us >= ? LIMIT ?"
)

// retain does one batch, so many jobs together, and counts the jobs that it changed.
func (s *Store) retain(ctx context.Context, clock func() time.Time, together *int, query string, before int64, do func(*writer, attemptKey, int64) (bool, error)) (int, error) {
	var keys []attemptKey
	newest := map[string]int64{} // latest end of the pruned jobs, by cluster
	err := s.eachRow(ctx, query, []any{before, before, retainBatch}, func(rows *sql.Rows) error {
		var k attemptKey
		var end int64
		err := rows.Scan(&k.cluster, &k.jobID, &k.attempt, &end)
		keys = append(keys, k)
		if end > 0 {
			newest[k.cluster] = max(newest[k.cluster], end)
		}
		return err
	})
	for cluster, end := range newest {
		if err == nil {
			err = s.do(ctx, func(w *writer) error { return w.markPruned(cluster, end) })
		}
	}
	if err != nil {
		return 0, fmt.Errorf("store: old jobs: %w", unavailable(err))
	}
	n, failed := 0, error(nil) // one that fails holds up no other
	for len(keys) > 0 {
		part := keys[:min(*together, len(keys))]
		keys = keys[len(part):]
		changed, late := make([]bool, len(part)), make([]bool, len(part))
		begin := clock()
		begun := sync.OnceValue(clock) // by the first of them: reports may wait before it
		err := each(len(part), len(part), func(i int) error {
			k := part[i]
			return s.doJob(ctx, jobKey{k.cluster, k.jobID}, func(w *writer) (err error) {
				first := begun()
				if changed[i], late[i] = false, clock().Sub(first) > retainFor; !late[i] {
					changed[i], err = do(w, k, before)
				}
				return err
			})
		})
		for i := range part {
			n += bit(changed[i])
			if late[i] {
				keys = append(keys, part[i])
			}
		}
		if err != nil {
			failed = fmt.Errorf("store: old jobs: %w", err)
		}
		if errors.Is(err, ErrUnavailable) {
			break
		}
		took := clock().Sub(begin)
		switch {
		case took > retainFor:
			*together = max(*together/2, retainLeast)
		case len(part) == *together && took < retainFor/2:
			*together = min(*together*2, retainBatch)
		}
		select {
		case <-ctx.Done():
		case <-time.After(took):
		}
	}
	return n, failed
}

// leastKept is the shortest retention of jobs: anything that ended since was not pruned.
const leastKept = 24 * time.Hour

// markOfPruned names the mark that says how far a cluster's jobs are pruned.
func markOfPruned(cluster string) string { return "pruned:" + cluster }

// markPruned notes that jobs up to an end are pruned. The mark is written before the jobs are
// deleted. It is the end of a job, not the time of day, so a wrong clock cannot move it too far.
func (w *writer) markPruned(cluster string, end int64) error {
	return w.exec(`INSERT INTO marks (name, time_us) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET
		time_us = CASE WHEN excluded.time_us > marks.time_us THEN excluded.time_us ELSE marks.time_us END`, markOfPruned(cluster), end)
}

// pruned says whether an attempt that is missing, and ended then, may have been pruned.
// Its month has then counted it already.
func (w *writer) pruned(cluster string, end time.Time, now int64) (bool, error) {
	if end.IsZero() || now-end.UnixMicro() < leastKept.Microseconds() {
		return false, nil
	}
	var mark int64
	err := w.one("SELECT time_us FROM marks WHERE name = ?", []any{markOfPruned(cluster)}, []any{&mark})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return end.Add(-slackSlurm).UnixMicro() <= mark, err
}

// prune adds an attempt to its month and deletes it, in one transaction.
func (w *writer) prune(k attemptKey, before int64) (bool, error) {
	m, err := w.monthOf(k, before)
	if err != nil || m == nil {
		return false, err
	}
	if err := cmp.Or(w.exec(addMonth, appendValues(nil, monthTable.columns, m)...), w.exec(keepSum, k.args()...)); err != nil {
		return false, err
	}
	if err := w.exec("DELETE FROM windows WHERE cluster = ? AND job_id = ? AND (node, nonce) IN (SELECT node, nonce FROM reports WHERE cluster = ? AND job_id = ? AND attempt = ?)",
		append([]any{k.cluster, k.jobID}, k.args()...)...); err != nil {
		return false, err
	}
	for _, table := range append(slices.Clone(tablesOfAttempt), "attempts") {
		if err := w.forget(table, k); err != nil {
			return false, err
		}
	}
	return true, w.forget("reports", attemptKey{k.cluster, k.jobID, -k.attempt}) // those that setAside kept
}

// monthOf makes a month of one attempt; nil if it is gone, or not old.
func (w *writer) monthOf(k attemptKey, before int64) (*Month, error) {
	m := &Month{Cluster: k.cluster, Jobs: 1}
	var at int64
	var state string
	var cpus, elapsed, cpu sql.NullInt64
	var ranks, useful, mpi sql.NullFloat64
	err := w.one(`SELECT uid, account, user_name, `+age+`, state, alloc_cpus,
			COALESCE(slurm_elapsed_s * 1000000, end_us - start_us), total_cpu_us, rank_seconds,
			COALESCE(thread_useful_s, useful_s), COALESCE(thread_mpi_s, mpi_time_s)
		FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ? AND `+age+` < ?`, append(k.args(), before),
		[]any{&m.UID, &m.Account, &m.User, &at, &state, &cpus, &elapsed, &cpu, &ranks, &useful, &mpi})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.Month = numberOfMonth(time.UnixMicro(at))
	if state == "COMPLETED" {
		m.Completed = 1
	}
	if useful.Valid {
		m.Measured = 1
	}
	m.CoreSeconds = float64(cpus.Int64) * float64(elapsed.Int64) / 1e6
	m.CPUSeconds = float64(cpu.Int64) / 1e6
	m.RankSeconds, m.Useful, m.MPITime = ranks.Float64, useful.Float64, mpi.Float64
	err = w.one(`SELECT workload_key, workload_name FROM workload_runs WHERE cluster = ? AND job_id = ? AND attempt = ?
		ORDER BY cores * elapsed_s DESC, execution LIMIT 1`, k.args(), []any{&m.WorkloadKey, &m.WorkloadName})
	return m, orNoRow(err)
}

// addMonth adds a month to its row.
var addMonth = addMonthStatement()

func addMonthStatement() string {
	var sets []string
	for _, c := range monthNames {
		sets = append(sets, c.name+" = excluded."+c.name)
	}
	for _, c := range monthSums {
		sets = append(sets, c.name+" = rollup_months."+c.name+" + excluded."+c.name)
	}
	return "INSERT INTO " + monthTable.into + " VALUES (" + places(len(monthTable.columns)) + ") ON CONFLICT (" +
		names(monthKey) + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// trim drops an attempt's figures of each rank and the text of its reports. It stays known
// that the reports came.
func (w *writer) trim(k attemptKey, before int64) (bool, error) {
	var one int
	err := w.one("SELECT 1 FROM attempts WHERE cluster = ? AND job_id = ? AND attempt = ? AND trimmed = 0 AND "+age+" < ? AND unmerged = 0",
		append(k.args(), before), []any{&one})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, table := range []string{"executions", "reports"} {
		if err := w.rewrite(table, k); err != nil {
			return false, err
		}
	}
	return true, w.exec("UPDATE attempts SET trimmed = 1 WHERE cluster = ? AND job_id = ? AND attempt = ?", k.args()...)
}

// rewrite replaces an attempt's rows by shortened ones at the end of the table. Shortened in
// place, they would leave pages nearly empty for ever.
func (w *writer) rewrite(table string, k attemptKey) error {
	all, err := readRows(w.rows(ofAttempt(table), k.args()...))
	if err != nil {
		return err
	}
	if err := w.forget(table, k); err != nil {
		return err
	}
	for _, r := range all {
		if err := shorten(r); err != nil {
			return err
		}
		if err := w.insert(table, r); err != nil {
			return err
		}
	}
	return nil
}

// shorten removes from a row what trim drops.
func shorten(r row) (err error) {
	if detail, is := r["detail"].([]byte); is {
		r["detail"], err = withoutRanks(detail)
	}
	if _, is := r["body"]; is {
		r["body"] = []byte{}
	}
	return err
}

// withoutRanks packs an execution again, without the figures of each rank.
func withoutRanks(detail []byte) ([]byte, error) {
	var x job.Execution
	if err := unpack(detail, &x); err != nil {
		return nil, err
	}
	x.Timeline, x.Places = nil, nil
	for i := range x.Nodes {
		x.Nodes[i].UsefulShare, x.Nodes[i].MPIShare, x.Nodes[i].Course = nil, nil, nil
	}
	return pack(&x)
}
