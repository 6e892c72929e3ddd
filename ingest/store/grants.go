package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Grant is one thing that Slurm lets a user see beside their own jobs.
type Grant struct {
	UID     int64  // Everybody, or one user
	Account string // whose jobs they see, as its coordinator; "": all jobs
}

// Everybody is the UID of a grant to all users.
const Everybody = -1

// SetGrants replaces all grants. It writes only if something changed.
func (s *Store) SetGrants(ctx context.Context, grants []Grant) error {
	have, err := s.grants(ctx, "SELECT uid, account FROM grants")
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
		err := w.exec("DELETE FROM grants")
		for _, g := range want {
			if err == nil {
				err = w.exec("INSERT INTO grants (uid, account) VALUES (?, ?) ON CONFLICT DO NOTHING", g.UID, g.Account)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store: grants: %w", err)
	}
	return nil
}

// Viewer tells what a user may see. A grant to everybody counts only if open is set.
func (s *Store) Viewer(ctx context.Context, uid uint32, open bool) (Viewer, error) {
	v := Viewer{UID: uid}
	grants, err := s.grants(ctx, "SELECT uid, account FROM grants WHERE uid IN (?, ?)", uid, Everybody)
	for _, g := range grants {
		switch {
		case g.Account != "":
			v.Accounts = append(v.Accounts, g.Account)
		case g.UID != Everybody || open:
			v.All = true
		}
	}
	return v, err
}

// grants reads the grants that a query selects, sorted.
func (s *Store) grants(ctx context.Context, query string, args ...any) (all []Grant, err error) {
	rows, err := s.read.QueryContext(ctx, query+" ORDER BY uid, account", args...)
	if err != nil {
		return nil, unavailable(err)
	}
	defer rows.Close()
	for rows.Next() {
		var g Grant
		if err := rows.Scan(&g.UID, &g.Account); err != nil {
			return nil, unavailable(err)
		}
		all = append(all, g)
	}
	return all, unavailable(rows.Err())
}
