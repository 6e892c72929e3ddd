package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"jobeff/ingest/slurmid"
)

// TellApart names the clusters, if jobeffd tells several apart: each one's sacct is read by itself. It must be
// called before the store is used.
func (s *Store) TellApart(clusters []string) { s.apart = clusters }

// ManyClustersError says that jobs of several clusters have the id that somebody asks for.
type ManyClustersError struct{ IDs []string } // with their clusters

func (e *ManyClustersError) Error() string {
	return "several clusters have this job: ask for " + strings.Join(e.IDs, " or ")
}

// OneCluster is a ManyClustersError if jobs of several of the clusters that jobeffd tells apart have an id.
func (s *Store) OneCluster(ref slurmid.Ref, of []string) error {
	var ids []string
	for _, one := range s.apart {
		if slices.Contains(of, one) {
			ids = append(ids, slurmid.Of(one, ref.String()))
		}
	}
	if len(ids) < 2 {
		return nil
	}
	return &ManyClustersError{ids}
}

// named puts the cluster in front of a job's id, if jobeffd tells several apart.
func (s *Store) named(cluster, id string) string {
	if len(s.apart) == 0 {
		return id
	}
	return slurmid.Of(cluster, id)
}

// ofCluster is the SQL condition that a row is of a cluster, to follow others; "": of any. The || keeps engines from
// the keys, which begin with the cluster: they would read the whole cluster.
func ofCluster(table, cluster string) (where string, args []any) {
	if cluster == "" {
		return "", nil
	}
	return " AND " + table + ".cluster || '' = ?", []any{cluster}
}

// MarkOf names a mark of a cluster; "": of all.
func MarkOf(mark, cluster string) string {
	if cluster == "" {
		return mark
	}
	return mark + ":" + cluster
}

// sacctRead is the time up to which a cluster's sacct was read; "": of several the earliest. Zero: never, or not of each.
func (s *Store) sacctRead(ctx context.Context, of string) (read time.Time, err error) {
	if len(s.apart) == 0 {
		return s.Mark(ctx, MarkRead)
	}
	if of != "" {
		return s.Mark(ctx, MarkOf(MarkRead, of))
	}
	for i, one := range s.apart {
		at, err := s.Mark(ctx, MarkOf(MarkRead, one))
		if err != nil || at.IsZero() {
			return time.Time{}, err
		}
		if i == 0 || at.Before(read) {
			read = at
		}
	}
	return read, nil
}
