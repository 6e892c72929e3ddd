package store

import (
	"context"
	"fmt"
	"strings"

	"jobeff/ingest"
)

// How many jobs a list holds.
const (
	DefaultLimit = 1000
	MaxLimit     = 100_000
	MaxDetail    = 1000 // with executions
)

// Jobs lists what the viewer may see of the query, newest first, without steps and,
// but for q.Detail, without executions. UID narrows it to one user's; nil means everybody's.
func (s *Store) Jobs(ctx context.Context, v Viewer, q ingest.JobQuery, uid *uint32) (*ingest.JobList, error) {
	var where []string
	var args []any
	add := func(condition string, arg any) {
		where, args = append(where, condition), append(args, arg)
	}
	if uid != nil {
		add("r.uid = ?", *uid)
	}
	if q.Account != "" {
		add("r.account = ?", q.Account)
	}
	if q.State != "" {
		add("r.state = ?", q.State)
	}
	if !q.Start.IsZero() {
		add("(r.end_us IS NULL OR r.end_us >= ?)", q.Start.UnixMicro())
	}
	if !q.End.IsZero() {
		add("r.start_us < ?", q.End.UnixMicro())
	}
	if len(where) == 0 {
		where = []string{"1 = 1"}
	}
	limit := DefaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, MaxLimit)
	}
	if q.Detail {
		limit = min(limit, MaxDetail)
	}
	rows, err := s.list(ctx, v, strings.Join(where, " AND "), args, limit+1, q.Offset)
	if err != nil {
		return nil, fmt.Errorf("store: list: %w", unavailable(err))
	}
	list := &ingest.JobList{Jobs: []ingest.Job{}, More: len(rows) > limit}
	for _, r := range rows[:min(limit, len(rows))] {
		if q.Detail {
			if err := s.fill(ctx, r); err != nil {
				return nil, fmt.Errorf("store: list: job %d: %w", r.job.JobID, unavailable(err))
			}
		}
		r.job.Steps = nil
		r.job.Warnings = append(r.job.Warnings, ingest.UsageWarnings(&r.job)...)
		list.Jobs = append(list.Jobs, r.job)
	}
	return list, nil
}

// list is runs for a query without a key: it goes along the index on the start.
func (s *Store) list(ctx context.Context, v Viewer, where string, args []any, limit, offset int) ([]*runRow, error) {
	return s.readRuns(ctx, v, "runs r", where, "r.start_us DESC NULLS LAST, r.cluster, r.job_id, r.run DESC LIMIT ? OFFSET ?", args, limit, offset)
}
