package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jobeff/ingest/job"
)

// ErrNotOwner says that the workload belongs to another user. The viewer may see it.
var ErrNotOwner = errors.New("store: another user's workload")

// SetMute mutes a workload until m.Until; it replaces an earlier mute. Only the owner, root
// and operators may do so.
func (s *Store) SetMute(ctx context.Context, v Viewer, keyOrName string, uid *uint32, m job.Mute) (*job.Workload, error) {
	w, id, err := s.owned(ctx, v, keyOrName, uid)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, func(w *writer) error {
		return w.exec(`INSERT INTO mutes (cluster, uid, workload_key, since_us, until_us, reason) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (cluster, uid, workload_key) DO UPDATE SET since_us = excluded.since_us, until_us = excluded.until_us, reason = excluded.reason`,
			append(id.args(), m.Since.UnixMicro(), m.Until.UnixMicro(), m.Reason)...)
	})
	if err != nil {
		return nil, fmt.Errorf("store: mute: %w", err)
	}
	w.Mute = &m
	return w, nil
}

// ClearMute ends a mute. The returned workload's Mute tells whether there was one.
func (s *Store) ClearMute(ctx context.Context, v Viewer, keyOrName string, uid *uint32) (*job.Workload, error) {
	w, id, err := s.owned(ctx, v, keyOrName, uid)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, func(w *writer) error {
		return w.exec("DELETE FROM mutes WHERE cluster = ? AND uid = ? AND workload_key = ?", id.args()...)
	})
	if err != nil {
		return nil, fmt.Errorf("store: mute: %w", err)
	}
	return w, nil
}

// owned finds a workload that the viewer may change, without its runs.
func (s *Store) owned(ctx context.Context, v Viewer, keyOrName string, uid *uint32) (w *job.Workload, id workloadID, err error) {
	if w, err = s.Workload(ctx, v, keyOrName, uid); err != nil {
		return nil, id, err
	}
	if !v.All && w.UID != v.UID {
		return nil, id, ErrNotOwner
	}
	w.Runs = nil
	return w, workloadID{w.Cluster, w.UID, w.Key}, nil
}

// mute is the mute that holds now; nil if there is none.
func (s *Store) mute(ctx context.Context, id workloadID) (*job.Mute, error) {
	var since, until int64
	m := new(job.Mute)
	err := s.read.QueryRowContext(ctx, `SELECT since_us, until_us, reason FROM mutes
		WHERE cluster = ? AND uid = ? AND workload_key = ? AND until_us > ?`, append(id.args(), time.Now().UnixMicro())...).Scan(&since, &until, &m.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	m.Since, m.Until = time.UnixMicro(since).UTC(), time.UnixMicro(until).UTC()
	return m, err
}
