package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"jobeff/ingest/slurm"
)

// AddSlurm adds what sacct said, all lines of a job in a transaction of their own. Lines that
// were added before change nothing. It returns how many of the lines are of attempts known here. An
// error that is no ErrUnavailable names jobs that cannot be matched, as a report of theirs is damaged; all
// others are added.
func (s *Store) AddSlurm(ctx context.Context, jobs []slurm.Job) (known int, err error) {
	var n atomic.Int32
	var mu sync.Mutex // of damaged
	var damaged error
	var order []jobKey
	lines := map[jobKey][]*slurm.Job{}
	for i := range jobs {
		k := jobKey{jobs[i].Cluster, jobs[i].RawID}
		if lines[k] == nil {
			order = append(order, k)
		}
		lines[k] = append(lines[k], &jobs[i])
	}
	err = each(slurmAtOnce, len(order), func(i int) error {
		of, err := s.addLines(ctx, order[i], lines[order[i]])
		n.Add(int32(of))
		if err == nil || errors.Is(err, ErrUnavailable) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		damaged = errors.Join(damaged, err)
		return nil
	})
	if err = errors.Join(err, damaged); err != nil {
		return int(n.Load()), fmt.Errorf("store: sacct's jobs: %w", err)
	}
	return int(n.Load()), nil
}

// addLines adds the lines of a job, and reports what became of the reports that had waited.
func (s *Store) addLines(ctx context.Context, k jobKey, lines []*slurm.Job) (known int, err error) {
	if err := s.knowCluster(ctx, k.cluster, true); err != nil {
		return 0, err
	}
	var settled Settled
	err = s.doJob(ctx, k, func(w *writer) (err error) {
		known, settled, err = w.addLines(k, lines, s.began, time.Now().UnixMicro())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("job %d: %w", k.jobID, err)
	}
	s.tellSettled(settled)
	return known, nil
}

// addLines finds or makes the attempt of each line and writes what it says. If that is news,
// the reports to which it matters are matched again.
func (w *writer) addLines(k jobKey, lines []*slurm.Job, began time.Time, now int64) (known int, settled Settled, err error) {
	settled.Cluster, settled.JobID = k.cluster, k.jobID
	all, err := w.candidates(k)
	if err != nil {
		return 0, settled, err
	}
	first := !slices.ContainsFunc(all, (*candidate).isTold)
	of := make([]*candidate, len(lines)) // nil: an attempt that is not kept here
	for i, j := range lines {
		c := attemptOfLine(all, j, len(lines) == 1, now)
		if c == nil {
			gone, err := w.isPast(j, began, now)
			if err != nil {
				return 0, settled, err
			}
			if gone {
				continue
			}
			c = &candidate{isNew: true, attempt: nextAttempt(all), uid: j.UID}
			all = append(all, c)
		}
		c.take(j)
		of[i] = c
		known++
	}
	var again []*incoming
	if slices.ContainsFunc(all, func(c *candidate) bool { return c.news }) {
		if again, err = w.takeApart(k, all); err != nil {
			return 0, settled, err
		}
	}
	for i, c := range of {
		if c == nil {
			continue
		}
		if err := w.writeLine(attemptKey{k.cluster, k.jobID, c.attempt}, c, lines[i], now); err != nil {
			return 0, settled, err
		}
	}
	for _, c := range all {
		if c.confirmed {
			settled.Fit += c.reports
		}
	}
	if err := w.addAgain(k, again, &settled); err != nil {
		return 0, settled, err
	}
	if !first { // AddReport already counted those that did not fit
		settled.Unfit = 0
	}
	return known, settled, nil
}

// isPast reports whether the attempt of a line was pruned, or ended before the database began.
func (w *writer) isPast(j *slurm.Job, began time.Time, now int64) (bool, error) {
	if !j.End.IsZero() && j.End.Before(began) {
		return true, nil
	}
	return w.pruned(j.Cluster, j.End, now)
}

// take notes what a line says of the attempt. It is news if matching would now come out differently.
func (c *candidate) take(j *slurm.Job) {
	at, submit, nodelist := stretchOf(j.Start, j.End), j.Submit.UnixMicro(), clean(j.NodeList)
	c.news = c.news || !c.isTold() || c.slurm != at || c.nodelist != nodelist
	c.confirmed = c.confirmed || !c.isTold()
	row := rowOfSlurm(attemptKey{}, j)
	now := slurmFigures{sql.NullInt64{Int64: int64(j.CPUs), Valid: true}, sql.NullInt64{Int64: row.elapsed, Valid: row.timed}, c.figures.cpu}
	if withUsage(j) {
		now.cpu = sql.NullInt64{Int64: row.totalCPU, Valid: row.used}
	}
	c.recounted = c.recounted || c.figures != now || c.slurm.end != at.end
	c.figures = now
	c.slurm, c.nodelist, c.state = at, nodelist, j.State
	c.submit = sql.NullInt64{Int64: submit, Valid: true}
}

// writeLine writes what a line says. The runs of an attempt count from now on, so it is merged again.
func (w *writer) writeLine(k attemptKey, c *candidate, j *slurm.Job, now int64) error {
	by := from(accounting)
	if withUsage(j) {
		by = by.with(usage)
	}
	row := rowOfSlurm(k, j)
	opens := c.isNew
	if opens {
		by = by.with(opening)
		row.job.UID, row.changed, c.isNew = j.UID, time.UnixMicro(now), false
	}
	err := w.writeAttempt(row, by)
	if err == nil && !opens && c.recounted {
		err = w.exec(toCountAgain, append([]any{-now}, k.args()...)...)
	}
	if err != nil || opens || !c.confirmed {
		return err
	}
	return w.mergeAgain(k)
}

// withUsage says whether a line tells what the job's steps used.
func withUsage(j *slurm.Job) bool { return j.WithSteps && !j.End.IsZero() }

// toCountAgain lets Judge ask the rules about an attempt again, and work out anew what it lost: Slurm
// has changed its figures.
const toCountAgain = "UPDATE attempts SET judged_by = ?, judged_us = NULL, lost_us = NULL, gpu_known_us = 0, gpu_idle_us = 0 WHERE cluster = ? AND job_id = ? AND attempt = ? AND judged_by > 0"

const toAsk = `SELECT job_id FROM attempts r
		WHERE slurm_end_us IS NULL AND reports > 0 AND as_of_us IS NULL AND changed_us > ?%s ORDER BY changed_us LIMIT ? OFFSET ?`

const toWeigh = `SELECT job_id FROM attempts r
		WHERE usage_read = 0 AND slurm_end_us IS NOT NULL AND slurm_end_us > ?%s ORDER BY slurm_end_us LIMIT ?`

// ToAsk lists raw job ids of a cluster, "" of any, about which sacct has more to say, the oldest first. Some have reports but
// no end yet: Slurm's database may learn it hours late, after the poller has stopped looking there.
// The others have ended, but their steps were not read. Each kind gets half of the places. Of the
// first kind, `skip` ids are passed over, and next is how many to pass over the next time: Slurm never
// confirms made-up jobs, which would hold up the others for a week.
func (s *Store) ToAsk(ctx context.Context, cluster string, skip, most int) (ids []uint32, next int, err error) {
	of, args := ofCluster("r", cluster)
	args = append([]any{time.Now().Add(-askFor).UnixMicro()}, args...)
	ids, err = s.appendIDs(ctx, ids, fmt.Sprintf(toAsk, of), append(slices.Clone(args), most/2, skip)...)
	if len(ids) == most/2 {
		next = skip + len(ids)
	}
	if err == nil {
		ids, err = s.appendIDs(ctx, ids, fmt.Sprintf(toWeigh, of), append(args, most/2)...)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("store: jobs to ask for: %w", unavailable(err))
	}
	return ids, next, nil
}

func (s *Store) appendIDs(ctx context.Context, ids []uint32, query string, args ...any) ([]uint32, error) {
	more, err := onlyColumn[uint32](s.read.QueryContext(ctx, query, args...))
	return append(ids, more...), err
}

const asked = `UPDATE attempts SET usage_read = 1 WHERE cluster IN (SELECT c.cluster FROM clusters c WHERE c.cluster = ? OR CAST(? AS TEXT) = '') AND job_id = ?
		AND usage_read = 0 AND slurm_end_us IS NOT NULL AND slurm_end_us < ?`

// Asked notes that sacct was asked for these jobs of a cluster, "" of any. If they ended some minutes ago, sacct will have
// no more about their steps later.
func (s *Store) Asked(ctx context.Context, cluster string, ids []uint32) error {
	settled := time.Now().Add(-slurm.Settled).UnixMicro()
	err := each(slurmAtOnce, len(ids), func(i int) error {
		return s.doJob(ctx, jobKey{jobID: ids[i]}, func(w *writer) error { return w.exec(asked, cluster, cluster, ids[i], settled) })
	})
	if err != nil {
		return fmt.Errorf("store: jobs that sacct was asked for: %w", err)
	}
	return nil
}

// askFor is how long sacct is asked about a job before it is given up.
const askFor = 7 * 24 * time.Hour

// Grant is one thing that a cluster's Slurm lets a user see besides their own jobs.
type Grant struct {
	UID     int64  // Everybody, or one user
	Account string // whose jobs they see, as its coordinator; "": all jobs
}

// Everybody is the UID of a grant to all users.
const Everybody = -1

// SetGrants replaces all grants of a cluster, and those from before jobeffd told clusters apart; "": all. It writes
// only if something changed.
func (s *Store) SetGrants(ctx context.Context, cluster string, grants []Grant) error {
	const replaced = " FROM grants WHERE cluster IN (?, '') OR CAST(? AS TEXT) = ''"
	have, err := s.grants(ctx, "SELECT uid, account"+replaced, cluster, cluster)
	if err != nil {
		return err
	}
	want := slices.SortedFunc(slices.Values(grants), func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Account, b.Account))
	})
	if want = slices.Compact(want); slices.Equal(have, want) {
		return nil
	}
	err = s.do(ctx, func(w *writer) error {
		err := w.exec("DELETE"+replaced, cluster, cluster)
		for _, g := range want {
			if err == nil {
				err = w.exec("INSERT INTO grants (cluster, uid, account) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", cluster, g.UID, g.Account)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store: grants: %w", err)
	}
	return nil
}

// Viewer returns what a user of a cluster may see; "": jobeffd tells no clusters apart. A grant to everybody counts
// only if open is set.
func (s *Store) Viewer(ctx context.Context, cluster string, uid uint32, open bool) (Viewer, error) {
	v := Viewer{UID: uid, Cluster: cluster}
	grants, err := s.grants(ctx, "SELECT uid, account FROM grants WHERE cluster = ? AND uid IN (?, ?)", cluster, uid, Everybody)
	for _, g := range grants {
		switch {
		case g.Account != "":
			v.Accounts = append(v.Accounts, g.Account)
		case g.UID != Everybody:
			v.All, v.Guest = true, false
		case open: // of all grants it comes first
			v.All, v.Guest = true, true
		}
	}
	return v, err
}

// grants reads the grants that a query selects, sorted.
func (s *Store) grants(ctx context.Context, query string, args ...any) (all []Grant, err error) {
	err = s.eachRow(ctx, query+" ORDER BY uid, account", args, func(rows *sql.Rows) error {
		var g Grant
		err := rows.Scan(&g.UID, &g.Account)
		all = append(all, g)
		return err
	})
	return all, unavailable(err)
}
