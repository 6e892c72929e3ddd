package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"jobeff/ingest/listing"
)

// This file sums up all jobs of a list. If the list selects only by what the sums of months and days
// are kept by, its total does not cost more as the history grows: these sums have the jobs that ended
// in the span. Rows are read only of the days that the span cuts, and of jobs that no sum has: those
// that had not ended when the span did, and those that Slurm has not confirmed.

// mostSummed bounds the jobs of a span whose rows are read if the sums of months and days do not
// have what a query selects. If there are more, the list has no total.
var mostSummed = 50_000

// summed is the part of a query that the sums of months and days have; all: they have the whole of it.
func summed(q listing.JobQuery) (part listing.JobQuery, all bool) {
	part = listing.JobQuery{User: q.User, Account: q.Account, Partition: q.Partition, Cluster: q.Cluster, Start: q.Start, End: q.End}
	return part, selectedBy(q) == part
}

// selectedBy is what a query selects by, without how that is listed.
func selectedBy(q listing.JobQuery) listing.JobQuery {
	q.Sort, q.Tasks, q.Limit, q.Offset, q.After, q.Detail, q.Stored = "", false, 0, 0, "", false, false
	return q
}

// totals adds up SELECTs of the columns that hoursColumns sum up.
type totals struct {
	*lineList
	conditions
	byUser bool // the index on users may find rows: else it finds all that one ever ran
}

// totals sums up the jobs of the whole list; nil: they are too many.
func (l *lineList) totals(ctx context.Context) (all *listing.Hours, err error) {
	t := &totals{lineList: l}
	part, whole := summed(l.q)
	switch inverted := !l.q.End.IsZero() && l.q.End.Before(l.q.Start); {
	case whole && !inverted:
		t.ran()
		return t.sum(ctx)
	case l.q.Jobs == "" && !inverted: // else an index finds them
		wide := *l
		if wide.filters, _, err = chosen(part, l.uids); err != nil {
			return nil, err
		}
		span := &totals{lineList: &wide}
		span.ran()
		if all, err = span.sum(ctx); err != nil || all.Jobs > mostSummed {
			return nil, err
		}
	}
	t.byUser = true
	t.rows(1, l.c)
	return t.sum(ctx)
}

// sum reads the totals.
func (t *totals) sum(ctx context.Context) (all *listing.Hours, err error) {
	all = new(listing.Hours)
	err = t.read.QueryRowContext(ctx, "SELECT "+hoursColumns+" FROM ("+strings.Join(t.where, " UNION ALL ")+") t", t.args...).Scan(sumsOf(all)...)
	return all, err
}

// each calls do with the sums, core time in us, of each user of an account.
func (t *totals) each(ctx context.Context, do func(cluster, account string, uid uint32, us listing.Hours)) error {
	return t.eachRow(ctx, "SELECT cluster, account, uid, "+timeColumns+" FROM ("+strings.Join(t.where, " UNION ALL ")+") t GROUP BY cluster, account, uid", t.args, func(rows *sql.Rows) error {
		var cluster, account string
		var uid uint32
		var sum listing.Hours
		err := rows.Scan(append([]any{&cluster, &account, &uid}, sumsOf(&sum)...)...)
		do(cluster, account, uid, sum)
		return err
	})
}

// rows adds rows of attempts; sign -1 takes them away.
func (t *totals) rows(sign int, c conditions) {
	selection, args := t.selection(t.viewer, t.from, c)
	if !t.byUser {
		selection = notByUser.Replace(selection)
	}
	t.add(fmt.Sprintf("SELECT r.cluster, r.account, r.uid, %d AS jobs, CASE WHEN r.parallel_efficiency IS NOT NULL THEN %[1]d ELSE 0 END AS measured, %[1]d * r.used_us AS used_us, %[1]d * r.judged_us AS judged_us, %[1]d * r.lost_us AS lost_us, %[1]d * r.gpu_us AS gpu_us, %[1]d * r.gpu_known_us AS gpu_known_us, %[1]d * r.gpu_idle_us AS gpu_idle_us FROM %s",
		sign, selection), args...)
}

// sums adds the sums of a table whose column is at least from, and less than to.
func (t *totals) sums(table, column string, from, to int64) {
	if from >= to {
		return
	}
	sums, args := t.sumsOf(table, t.filters.and("r.part >= 0 AND r."+column+" >= ? AND r."+column+" < ?", from, to))
	t.add("SELECT r.cluster, r.account, r.uid, r.jobs, r.measured, r.used_us, r.judged_us, r.lost_us, r.gpu_us, r.gpu_known_us, r.gpu_idle_us FROM "+sums, args...)
}

// sumsOf is what follows FROM: the rows of a table of sums that the viewer may see.
func (l *lineList) sumsOf(table string, c conditions) (string, []any) {
	c = c.and(ofClusters)
	if mine, args := l.viewer.sees(); mine != "" {
		c.add(mine, args...)
	}
	return "clusters c CROSS JOIN " + table + " r WHERE " + strings.Join(c.where, " AND "), c.args
}

// ran adds the jobs that ran in the query's span.
func (t *totals) ran() {
	start, end := spanOf(t.q)
	t.rows(1, t.notEnded())
	t.rows(1, t.untold())
	if !t.q.End.IsZero() { // a list with an end has no jobs without a start
		t.rows(-1, t.filters.and("r.start_us IS NULL AND r.slurm_submit_us IS NOT NULL AND r.end_us + 0 >= ? AND r.end_us + 0 < ?", start, end))
	}
	t.ended(start, end)
}

// spanOf are the ends of a query's span, us.
func spanOf(q listing.JobQuery) (start, end int64) {
	start, end = math.MinInt64, math.MaxInt64
	if !q.Start.IsZero() {
		start = q.Start.UnixMicro()
	}
	if !q.End.IsZero() {
		end = q.End.UnixMicro()
	}
	return start, end
}

// notEnded selects the jobs that ran when the span ended.
func (l *lineList) notEnded() conditions {
	if l.q.End.IsZero() {
		return l.filters.and("r.end_us IS NULL")
	}
	_, end := spanOf(l.q)
	where, args := ranBetween(end, end)
	return l.filters.and(where, args...)
}

// untold selects the jobs that ended in the span and that Slurm has not confirmed. The index
// attempts_to_ask has them.
func (l *lineList) untold() conditions {
	start, end := spanOf(l.q)
	c := l.filters.and("r.slurm_end_us IS NULL AND r.changed_us >= 0 AND r.slurm_submit_us IS NULL AND r.end_us + 0 >= ? AND r.end_us + 0 < ?", start, end)
	if !l.q.End.IsZero() {
		c.add("r.start_us + 0 < ?", end)
	}
	return c
}

// dayUS is a day, us. Days are counted since 1970; jobs that ended before it, or after the year 9999, count for no
// day.
const dayUS = int64(24 * time.Hour / time.Microsecond)

var lastDay = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() / dayUS

// wholeDays are the days, from `from` on and before `to`, that lie whole in a span; ok: there is a
// midnight in it.
func wholeDays(start, end int64) (from, to int64, ok bool) {
	from, to = 1, lastDay
	if start > dayUS {
		from = min((start+dayUS-1)/dayUS, lastDay)
	}
	if end < lastDay*dayUS {
		to = max(end/dayUS, 1)
	}
	return from, to, from <= to && start <= from*dayUS && end >= to*dayUS
}

// partOfDay is a part of a day whose rows are added, or by a sign of -1 taken away.
type partOfDay struct {
	sign       int
	start, end int64
}

// days splits a span into the days from `from` on and before `to`, whose sums are read, and parts of days, whose rows
// are read. Of a day of which the span has most, or all that has passed, the sums are read, and the rest is taken away.
func days(start, end int64) (from, to int64, parts []partOfDay) {
	from, to, ok := wholeDays(start, end)
	if !ok {
		return 0, 0, []partOfDay{{1, start, end}}
	}
	first, last := partOfDay{1, start, from * dayUS}, partOfDay{1, to * dayUS, end}
	if from > 1 && first.end-start > dayUS/2 {
		from--
		first = partOfDay{-1, from * dayUS, start}
	}
	if to < lastDay && end > last.start && (end-last.start > dayUS/2 || end >= time.Now().UnixMicro()) {
		to++
		last = partOfDay{-1, end, to * dayUS}
	}
	return from, to, []partOfDay{first, last}
}

// ended adds the jobs that ended in a span, as Slurm says.
func (t *totals) ended(start, end int64) {
	from, to, parts := days(start, end)
	for _, p := range parts {
		t.endedRows(p.sign, p.start, p.end)
	}
	first, last := monthsWithin(from, to)
	if first >= last {
		t.sums("day_sums", "day", from, to)
		return
	}
	t.sums("day_sums", "day", from, first)
	t.sums("month_sums", "month", monthOfDay(first), monthOfDay(last))
	t.sums("day_sums", "day", last, to)
}

// endedRows adds the rows of those that ended in a span.
func (t *totals) endedRows(sign int, start, end int64) {
	if start < end {
		t.rows(sign, t.filters.and("r.slurm_submit_us IS NOT NULL AND r.end_us >= ? AND r.end_us < ?", start, end))
	}
}

// monthsWithin are the first day of the first whole month within some days, and that behind the last
// one.
func monthsWithin(from, to int64) (first, last int64) {
	of := func(day int64) time.Time { return time.UnixMicro(day * dayUS).UTC() }
	day := func(t time.Time) int64 { return t.UnixMicro() / dayUS }
	f, l := of(from), of(to)
	first, last = from, day(time.Date(l.Year(), l.Month(), 1, 0, 0, 0, 0, time.UTC))
	if f.Day() > 1 {
		first = day(time.Date(f.Year(), f.Month()+1, 1, 0, 0, 0, 0, time.UTC))
	}
	return first, last
}

func monthOfDay(day int64) int64 { return int64(numberOfMonth(time.UnixMicro(day * dayUS))) }
