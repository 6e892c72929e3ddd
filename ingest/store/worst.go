package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
)

// This file reads the lines that lost most. An index has the jobs of each day in that order, so for a
// long span few jobs of each day are read. The sums of days bound what an array lost.

const (
	lostFirst = "r.lost_us DESC NULLS LAST, " + newestFirst
	dayOf     = "r.end_us / 86400000000" // as attempts_by_day has it
)

var lostValue = fmt.Sprintf(valueOf, "r.lost_us")

// byLost compares two lines: the one that lost more comes first, those whose loss is not known last.
func byLost(a, b *lineHead) int {
	return cmp.Or(cmp.Compare(b.lost(), a.lost()), newer(&a.cursor, &b.cursor))
}

// lost is what a line lost, in millionths of a us; -Inf if it is not known.
func (h *lineHead) lost() float64 {
	if h.Value == nil {
		return math.Inf(-1)
	}
	return *h.Value
}

// worst are the lines that lost most, so far.
type worst struct {
	*lineList
	most  int
	heads []lineHead
}

// worstOf reads so many of the lines that lost most.
func (l *lineList) worstOf(ctx context.Context, most int) ([]lineHead, error) {
	w := &worst{l, most + l.q.Offset, nil}
	err := w.jobs(ctx)
	if err == nil && !l.q.Tasks {
		err = w.ofArrays(ctx)
	}
	return w.heads[min(l.q.Offset, len(w.heads)):], err
}

// keep adds some lines, and keeps the first `most` of all.
func (w *worst) keep(more []lineHead) {
	if w.at != nil {
		more = slices.DeleteFunc(more, func(h lineHead) bool { return byLost(&h, &lineHead{cursor: *w.at}) <= 0 })
	}
	w.heads = append(w.heads, more...)
	slices.SortFunc(w.heads, func(a, b lineHead) int { return byLost(&a, &b) })
	w.heads = w.heads[:min(w.most, len(w.heads))]
}

// least is what a further line must have lost to be kept, us, rounded down for the last digits of a
// sum; -Inf while there is room.
func (w *worst) least() float64 {
	if len(w.heads) < w.most {
		return math.Inf(-1)
	}
	return w.heads[w.most-1].lost()/1e6*(1-1e-9) - 1
}

// jobs reads the jobs with lines of their own: those of each whole day, those of the parts of days
// that the span cuts, and those that had not ended when the span did.
func (w *worst) jobs(ctx context.Context) error {
	start, end := spanOf(w.q)
	from, to, whole := wholeDays(start, end)
	parts := []conditions{w.notEnded()}
	ended := func(start, end int64) {
		if start < end {
			parts = append(parts, w.filters.and("r.end_us >= ? AND r.end_us < ?", start, end))
		}
	}
	if !whole {
		ended(start, end)
	} else {
		ended(start, from*dayUS)
		ended(to*dayUS, end)
	}
	for _, c := range parts {
		if err := w.jobsOf(ctx, c); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	days, err := w.days(ctx, from, to)
	for _, d := range days {
		if err != nil || d.most < w.least() {
			break
		}
		err = w.jobsOf(ctx, w.filters.and(dayOf+" = ?", d.day))
	}
	return err
}

// jobsOf reads the jobs of one part.
func (w *worst) jobsOf(ctx context.Context, c conditions) error {
	c = c.spanned(w.q)
	if !w.q.Tasks {
		c.add("r.array_job_id + 0 = 0")
	}
	if least := w.least(); least > 0 {
		c.add("r.lost_us >= ?", int64(least))
	}
	if w.at != nil {
		w.at.behind(&c, lostValue+" DESC NULLS LAST, "+newestFirst)
	}
	selection, args := w.selection(w.viewer, w.from, c)
	rows, err := w.readHeads(ctx, fmt.Sprintf(singleLines, "0", "r.lost_us", selection)+" ORDER BY "+lostFirst+" LIMIT ?", append(args, w.most))
	w.keep(rows)
	return err
}

// dayLost is a day on which jobs ended, and what the one that lost most lost, us; -Inf: not known of any.
type dayLost struct {
	day  int64
	most float64
}

// days are the days, from `from` on and before `to`, on which jobs ended, the one with the job that lost most first. The query
// jumps from one to the next in the index.
func (w *worst) days(ctx context.Context, from, to int64) (days []dayLost, err error) {
	err = w.eachRow(ctx, `WITH RECURSIVE days(day) AS (SELECT (SELECT max(`+dayOf+`) FROM attempts r WHERE `+dayOf+` < ?)
		UNION ALL SELECT (SELECT max(`+dayOf+`) FROM attempts r WHERE `+dayOf+` < d.day) FROM days d WHERE d.day > ?)
		SELECT day, (SELECT max(r.lost_us) FROM attempts r WHERE `+dayOf+` = d.day) FROM days d WHERE day >= ?`, []any{to, from, from}, func(rows *sql.Rows) error {
		d := dayLost{most: math.Inf(-1)}
		var most sql.NullInt64
		err := rows.Scan(&d.day, &most)
		if most.Valid {
			d.most = float64(most.Int64)
		}
		days = append(days, d)
		return err
	})
	slices.SortFunc(days, func(a, b dayLost) int { return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(b.day, a.day)) })
	return days, err
}

// arraysAtOnce is how many arrays' lines are read first; then twice as many. Tests read fewer.
var arraysAtOnce = 200

const mostArraysAtOnce = 10_000

// The arrays of some days by what they lost, and those of some jobs.
const (
	arrayBounds = `SELECT r.cluster, r.uid, r.array_job_id, sum(1.0 * r.lost_us) FROM %s GROUP BY r.cluster, r.uid, r.array_job_id ORDER BY 4 DESC, 1, 2, 3 LIMIT ? OFFSET ?`
	arraysIn    = `SELECT DISTINCT r.cluster, r.uid, r.array_job_id, 0.0 FROM %s AND r.array_job_id + 0 > 0`
)

// ofArrays reads the lines of arrays: first of those with tasks that no sum has. Of the others it
// reads those that lost most in the days of the span first, until no further one can have lost what
// the last line did.
func (w *worst) ofArrays(ctx context.Context) error {
	seen := map[arrayKey]bool{}
	for _, c := range []conditions{w.notEnded(), w.untold()} {
		selection, args := w.selection(w.viewer, w.from, c)
		if _, err := w.look(ctx, seen, fmt.Sprintf(arraysIn, selection), args); err != nil {
			return err
		}
	}
	part, _ := summed(w.q)
	c, _, err := chosen(part, w.uids)
	if err != nil {
		return err
	}
	start, end := spanOf(w.q)
	sums, args := w.sumsOf("day_sums", c.and("r.array_job_id > 0 AND r.day >= ? AND r.day <= ?", start/dayUS-1, end/dayUS+1))
	query := fmt.Sprintf(arrayBounds, sums)
	for n, offset, more := arraysAtOnce, 0, true; more && err == nil; n, offset = min(2*n, mostArraysAtOnce), offset+n {
		more, err = w.look(ctx, seen, query, append(slices.Clone(args), n, offset))
	}
	return err
}

// look reads the lines of the arrays that a query finds, and that were not seen; more: there may be more that lost
// enough.
func (w *worst) look(ctx context.Context, seen map[arrayKey]bool, query string, args []any) (more bool, err error) {
	fresh, lost := map[arrayKey]bool{}, math.Inf(-1)
	err = w.eachRow(ctx, query, args, func(rows *sql.Rows) error {
		var key arrayKey
		err := rows.Scan(&key.cluster, &key.uid, &key.array, &lost)
		if !seen[key] {
			seen[key], fresh[key] = true, true
		}
		return err
	})
	if err != nil {
		return false, err
	}
	lines, err := w.arrays(ctx, fresh, "sum(value)", orders["lost"])
	w.keep(lines)
	return lost >= w.least() && !math.IsInf(lost, -1), err
}
