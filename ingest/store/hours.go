package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"

	"jobeff/ingest/listing"
)

// This file adds up the hours of a span, for a digest: of all jobs, and by account, user and program.

// hours are the sums among the facts.
func (s *Store) hours(ctx context.Context, p span) (*listing.Facts, error) {
	f := &listing.Facts{From: p.from, To: p.to}
	if err := s.hoursOf(ctx, p, f); err != nil {
		return nil, fmt.Errorf("store: hours: %w", unavailable(err))
	}
	if err := s.programs(ctx, p, f); err != nil {
		return nil, fmt.Errorf("store: hours by program: %w", unavailable(err))
	}
	return f, nil
}

// hoursOf adds up the hours of all jobs, and by account and user, from the sums of days.
func (s *Store) hoursOf(ctx context.Context, p span, f *listing.Facts) error {
	names, err := s.userNames(ctx, p)
	if err != nil {
		return err
	}
	t := &totals{lineList: &lineList{Store: s, viewer: p.viewer(), from: "attempts r"}}
	t.ended(p.from.UnixMicro(), p.to.UnixMicro())
	byAccount, byUser := hoursBy{}, hoursBy{}
	err = t.each(ctx, func(cluster, account string, uid uint32, us listing.Hours) {
		f.Total.Add(us)
		byAccount.add(account, us)
		byUser.add(names[clusterUser{cluster, uid}], us)
	})
	f.Total, f.Accounts, f.Users = hoursIn(f.Total, 3600e6), byAccount.mostLost(3600e6), byUser.mostLost(3600e6)
	return err
}

// hoursIn turns a sum into core-hours. units is how many of the sum's units make an hour.
func hoursIn(sum listing.Hours, units float64) listing.Hours {
	sum.Used, sum.Judged, sum.Lost = sum.Used/units, sum.Judged/units, sum.Lost/units
	return sum
}

// clusterUser is a user of a cluster.
type clusterUser struct {
	cluster string
	uid     uint32
}

// userNames are the names of those whose jobs ended in the months of a span.
func (s *Store) userNames(ctx context.Context, p span) (map[clusterUser]string, error) {
	sums, err := s.Months(ctx, p.viewer(), listing.MonthQuery{By: []string{"cluster", "user"}, From: p.from, To: p.to.UTC().AddDate(0, 1, 0)})
	names := map[clusterUser]string{}
	for _, m := range sums {
		names[clusterUser{m.Cluster, m.UID}] = m.User
	}
	return names, err
}

// hoursBy are sums by name.
type hoursBy map[string]*listing.Hours

func (by hoursBy) add(name string, h listing.Hours) {
	if by[name] == nil {
		by[name] = new(listing.Hours)
	}
	by[name].Add(h)
}

// mostLost are those that lost most, as hoursIn has them.
func (by hoursBy) mostLost(units float64) (all []listing.NamedHours) {
	for name, h := range by {
		if h.Jobs > 0 {
			all = append(all, listing.NamedHours{Name: name, Hours: hoursIn(*h, units)})
		}
	}
	slices.SortFunc(all, func(a, b listing.NamedHours) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Used, a.Used), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), mostNamed)]
}

// programJudged are executions whose loss is known.
const programJudged = `(e.threads = 1 OR e.thread_span_s IS NOT NULL) AND e.coverage >= 1 AND r.as_of_us IS NULL`

// programHours are in core-seconds.
const programHours = `SELECT e.executable, CAST(sum(e.count) AS BIGINT), CAST(sum(e.count) AS BIGINT), sum(COALESCE(e.thread_span_s, e.ranks * e.elapsed_s * e.threads)),
		sum(CASE WHEN ` + programJudged + ` THEN COALESCE(e.thread_span_s, e.ranks * e.elapsed_s) ELSE 0 END),
		sum(CASE WHEN ` + programJudged + ` THEN COALESCE(e.thread_span_s - e.thread_useful_s, e.ranks * e.elapsed_s - e.useful_s) ELSE 0 END)
		FROM attempts r JOIN executions e ON e.cluster = r.cluster AND e.job_id = r.job_id AND e.attempt = r.attempt
		WHERE r.end_us >= ? AND r.end_us < ? AND r.slurm_submit_us IS NOT NULL AND e.parallel_efficiency IS NOT NULL`

// programs adds up the hours by the file name of the executable.
func (s *Store) programs(ctx context.Context, p span, f *listing.Facts) error {
	where, args := p.among("r.account")
	byName := hoursBy{}
	err := s.eachRow(ctx, programHours+where+" GROUP BY e.executable ORDER BY e.executable", append(p.times(), args...), func(rows *sql.Rows) error {
		var path string
		var h listing.Hours
		err := rows.Scan(&path, &h.Jobs, &h.Measured, &h.Used, &h.Judged, &h.Lost)
		byName.add(filepath.Base(path), h)
		return err
	})
	f.Programs = byName.mostLost(3600)
	return err
}
