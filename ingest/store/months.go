package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/listing"
)

// The sums of months and days (month_sums, day_sums) are kept by triggers on attempts, in the
// transaction that changes a row, whatever changes it: what the row counted is taken away, and what it
// counts is added. The view counted says what a row counts. If that stays in the same sums, the
// difference is added. Sums are whole numbers, so nothing is lost to rounding.
//
// A sum has several parts, one for each lane. Two transactions that change one row would wait for each
// other, but a lane does one thing at a time. What a dropped job counted stays, in a part below zero.
const keyOfMonth = "cluster, month, partition_name, account, uid, user_name, part"

// hoursColumns sum up what rows of the view, or of month_sums, count.
const hoursColumns = `COALESCE(sum(jobs), 0), COALESCE(sum(measured), 0), ` + hoursSum

// hoursSum are core-hours and GPU-hours. Sums of all that is kept may be larger than the largest whole number.
const hoursSum = `COALESCE(sum(1.0 * used_us), 0) / 3600000000.0, COALESCE(sum(1.0 * judged_us), 0) / 3600000000.0, COALESCE(sum(1.0 * lost_us), 0) / 3600000000.0,
	COALESCE(sum(1.0 * gpu_us), 0) / 3600000000.0, COALESCE(sum(1.0 * gpu_known_us), 0) / 3600000000.0, COALESCE(sum(1.0 * gpu_idle_us), 0) / 3600000000.0`

// keepSum keeps what an attempt counts, before it is dropped.
const keepSum = `INSERT INTO month_sums SELECT cluster, month, partition_name, account, uid, user_name, -1 - part,
		jobs, measured, COALESCE(used_us, 0), COALESCE(judged_us, 0), COALESCE(lost_us, 0), gpu_us, gpu_known_us, gpu_idle_us
	FROM counted WHERE cluster = ? AND job_id = ? AND attempt = ?
	ON CONFLICT (` + keyOfMonth + `) DO UPDATE SET jobs = month_sums.jobs + excluded.jobs,
		measured = month_sums.measured + excluded.measured, used_us = month_sums.used_us + excluded.used_us,
		judged_us = month_sums.judged_us + excluded.judged_us, lost_us = month_sums.lost_us + excluded.lost_us,
		gpu_us = month_sums.gpu_us + excluded.gpu_us, gpu_known_us = month_sums.gpu_known_us + excluded.gpu_known_us, gpu_idle_us = month_sums.gpu_idle_us + excluded.gpu_idle_us`

// sumsOf are the fields of hoursColumns, for Scan.
func sumsOf(h *listing.Hours) []any {
	return []any{&h.Jobs, &h.Measured, &h.Used, &h.Judged, &h.Lost, &h.GPU, &h.GPUKnown, &h.GPUIdle}
}

// timeColumns are hoursColumns in microseconds.
var timeColumns = strings.ReplaceAll(hoursColumns, " / 3600000000.0", "")

// numberOfMonth is a month as columns hold it: 202611.
func numberOfMonth(t time.Time) int {
	t = t.UTC()
	return 100*t.Year() + int(t.Month())
}

// monthOf is when a month as columns hold it begins, UTC; zero for 0.
func monthOf(number int) time.Time {
	if number == 0 {
		return time.Time{}
	}
	return time.Date(number/100, time.Month(number%100), 1, 0, 0, 0, 0, time.UTC)
}

// Months sums up the jobs that the viewer may see, dropped ones, too: those that lost most first, but by
// month the oldest first. Jobs that Slurm has not confirmed, or that have not ended, are left out.
func (s *Store) Months(ctx context.Context, v Viewer, q listing.MonthQuery) (all []listing.MonthSum, err error) {
	c := conditions{where: []string{"r.month > 0"}} // 0: of an end that no calendar has
	if !q.From.IsZero() {
		c.add("r.month >= ?", numberOfMonth(q.From))
	}
	if !q.To.IsZero() {
		c.add("r.month < ?", numberOfMonth(q.To))
	}
	if q.Account != "" {
		in(&c, "r.account", strings.Split(q.Account, ","))
	}
	if q.Partition != "" {
		in(&c, "r.partition_name", strings.Split(q.Partition, ","))
	}
	if len(q.UIDs) > 0 {
		in(&c, "r.uid", q.UIDs)
	}
	if mine, seen := v.sees(); mine != "" {
		c.add(mine, seen...)
	}
	var columns, groups []string
	for _, g := range []struct{ by, column, none string }{{"month", "r.month", "0"}, {"cluster", "r.cluster", "''"},
		{"partition", "r.partition_name", "''"}, {"account", "r.account", "''"}, {"user", "r.uid, max(r.user_name)", "0, ''"}} {
		if slices.Contains(q.By, g.by) {
			columns, groups = append(columns, g.column), append(groups, strings.TrimSuffix(g.column, ", max(r.user_name)"))
		} else {
			columns = append(columns, g.none)
		}
	}
	text := "SELECT " + strings.Join(columns, ", ") + ", " + hoursColumns + " FROM month_sums r WHERE " + strings.Join(c.where, " AND ")
	if len(groups) > 0 {
		text += " GROUP BY " + strings.Join(groups, ", ")
	}
	text += " HAVING sum(jobs) > 0 ORDER BY "
	if slices.Contains(q.By, "month") {
		text += "1, "
	}
	err = s.eachRow(ctx, text+"11 DESC, 9 DESC, 2, 3, 4, 5", c.args, func(rows *sql.Rows) error {
		var m listing.MonthSum
		var month int
		err := rows.Scan(append([]any{&month, &m.Cluster, &m.Partition, &m.Account, &m.UID, &m.User}, sumsOf(&m.Hours)...)...)
		m.Month = monthOf(month)
		all = append(all, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: months: %w", unavailable(err))
	}
	return all, nil
}
