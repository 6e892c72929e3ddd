package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// do queues work that concerns no job, and waits until it is committed.
func (s *Store) do(ctx context.Context, work func(*writer) error) error {
	return s.doJob(ctx, jobKey{}, work)
}

// doJob queues work and waits until it is committed. If the context ends first, the work may
// still be done.
func (s *Store) doJob(ctx context.Context, job jobKey, work func(*writer) error) error {
	o := &op{job: job, do: work, result: make(chan error, 1)}
	l := s.lanes[job.jobID%uint32(len(s.lanes))]
	select {
	case l.ops <- o:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	case <-s.done:
		return errClosed
	}
	select {
	case err := <-o.result:
		return unavailable(err)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	case <-s.done:
		return errClosed
	}
}

func (s *Store) startLanes(all []committer) {
	var wg sync.WaitGroup
	for _, c := range all {
		l := &lane{c, make(chan *op, queueLength)}
		s.lanes = append(s.lanes, l)
		wg.Go(func() { l.run(s.quit, &s.coming, waitForMore) })
	}
	go func() {
		wg.Wait()
		close(s.done)
	}()
}

// Coming says that a report is about to reach AddReport. Call arrived when it has.
func (s *Store) Coming() (arrived func()) { return s.coming.begin() }

// Mark reads a time that SetMark wrote; zero if there is none.
func (s *Store) Mark(ctx context.Context, name string) (time.Time, error) {
	var us int64
	err := s.read.QueryRowContext(ctx, "SELECT time_us FROM marks WHERE name = ?", name).Scan(&us)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return time.UnixMicro(us).UTC(), unavailable(err)
}

// SetMark keeps a time under a name.
func (s *Store) SetMark(ctx context.Context, name string, t time.Time) error {
	return s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO marks (name, time_us) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET time_us = excluded.time_us",
			name, t.UnixMicro())
	})
}

// Began is when this database was made. Slurm's jobs that ended before are left out.
func (s *Store) Began() time.Time { return s.began }

func (s *Store) firstStart() (time.Time, error) {
	ctx, cancel := context.WithTimeout(background, 2*busyTimeout)
	defer cancel()
	err := s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO marks (name, time_us) VALUES ('began', ?) ON CONFLICT (name) DO NOTHING", time.Now().UnixMicro())
	})
	if err != nil {
		return time.Time{}, err
	}
	return s.Mark(ctx, "began")
}

// knowCluster makes a cluster's row in a transaction of its own, so that a job's transaction
// never waits for it.
func (s *Store) knowCluster(ctx context.Context, cluster string) error {
	if _, known := s.clusters.Load(cluster); known {
		return nil
	}
	err := s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO clusters (cluster) VALUES (?) ON CONFLICT (cluster) DO NOTHING", cluster)
	})
	if err == nil {
		s.clusters.Store(cluster, true)
	}
	return err
}

// slurmAtOnce is how many of sacct's lines wait for the writer at once. Reports must not wait
// long behind them.
const slurmAtOnce = 200

// each does the work of several jobs, many of them at once.
func each(n int, do func(i int) error) error {
	var all errgroup.Group
	all.SetLimit(slurmAtOnce)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}
