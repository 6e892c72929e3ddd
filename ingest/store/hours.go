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
	byCluster, byAccount, byUser := hoursBy{}, hoursBy{}, hoursBy{}
	err = t.each(ctx, func(cluster, account string, uid uint32, us listing.Hours) {
		f.Total.Add(us)
		byCluster.add(cluster, us)
		byAccount.add(account, us)
		byUser.add(names[clusterUser{cluster, uid}], us)
	})
	f.Total, f.Accounts, f.Users = f.Total.Over(3600e6), byAccount.mostLost(3600e6), byUser.mostLost(3600e6)
	f.IdleGPUs = byUser.mostIdle(3600e6)
	if len(s.apart) > 0 && p.cluster == "" {
		f.Clusters = byCluster.mostLost(3600e6)
	}
	return err
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

// mostIdleGPUs is how many users a digest names whose GPUs ran no kernel.
const mostIdleGPUs = 5

// mostIdle are those with most GPU time in which no kernel ran, in so many units.
func (by hoursBy) mostIdle(units float64) (all []listing.NamedHours) {
	for name, h := range by {
		if h.GPUIdle > 0 {
			all = append(all, listing.NamedHours{Name: name, Hours: h.Over(units)})
		}
	}
	slices.SortFunc(all, func(a, b listing.NamedHours) int {
		return cmp.Or(cmp.Compare(b.GPUIdle, a.GPUIdle), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), mostIdleGPUs)]
}

// mostLost are those that lost most, in so many units.
func (by hoursBy) mostLost(units float64) (all []listing.NamedHours) {
	for name, h := range by {
		if h.Jobs > 0 {
			all = append(all, listing.NamedHours{Name: name, Hours: h.Over(units)})
		}
	}
	slices.SortFunc(all, func(a, b listing.NamedHours) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Used, a.Used), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), mostNamed)]
}

// programHours sum up what programs ran in some days, and in parts of days, in us; programsEnded are the runs of jobs that ended in one.
const (
	programHours  = "SELECT executable, CAST(sum(runs) AS BIGINT), sum(1.0 * used_us), sum(1.0 * judged_us), sum(1.0 * lost_us) FROM (%s) s GROUP BY executable ORDER BY executable"
	programDays   = "SELECT r.executable, r.runs, r.used_us, r.judged_us, r.lost_us FROM clusters c CROSS JOIN program_sums r WHERE " + ofClusters + " AND r.day >= ? AND r.day < ?"
	programsEnded = " UNION ALL SELECT r.executable, %[1]d * r.runs, %[1]d * r.used_us, %[1]d * r.judged_us, %[1]d * r.lost_us FROM ran r WHERE r.end_us >= ? AND r.end_us < ?"
)

// programs adds up the hours by the file name of the executable.
func (s *Store) programs(ctx context.Context, p span, f *listing.Facts) error {
	from, to, parts := days(p.from.UnixMicro(), p.to.UnixMicro())
	where, accounts := p.among("r.account")
	query, args := programDays+where, append([]any{from, to}, accounts...)
	for _, part := range parts {
		if part.start < part.end {
			query, args = query+fmt.Sprintf(programsEnded, part.sign)+where, append(append(args, part.start, part.end), accounts...)
		}
	}
	byName := hoursBy{}
	err := s.eachRow(ctx, fmt.Sprintf(programHours, query), args, func(rows *sql.Rows) error {
		var path string
		var h listing.Hours
		err := rows.Scan(&path, &h.Jobs, &h.Used, &h.Judged, &h.Lost)
		h.Measured = h.Jobs
		byName.add(filepath.Base(path), h)
		return err
	})
	f.Programs = byName.mostLost(3600e6)
	return err
}
