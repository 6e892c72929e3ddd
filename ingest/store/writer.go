package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	queueLength = 1024 // writes that may wait in a lane
	batchLength = 256  // writes that are committed at once
)

// jobKey names a job; the zero value none.
type jobKey struct {
	cluster string
	jobID   uint32
}

// op is one piece of work for a writer: all of it is kept, or nothing. It may be
// done more than once: its effect and what it sets are the same each time.
type op struct {
	job    jobKey // that it is about: what concerns a job is done one after the other
	do     func(*writer) error
	result chan error
}

// session is a transaction's way to the database. Queries have ? for an argument.
type session interface {
	// exec changes something. On PostgreSQL the error may come from a later call,
	// or from the end of the work.
	exec(query string, args ...any) error
	// rows reads. They must be closed before the next call.
	rows(query string, args ...any) (*sql.Rows, error)
	// one scans one row; sql.ErrNoRows where there is none.
	one(query string, args, into []any) error
}

// writer is what a piece of work writes with.
type writer struct{ session }

// committer does the work of one lane: all of a batch, an answer to each.
type committer interface {
	commit(batch []*op)
	close()
}

// lane is a queue of work and who does it.
type lane struct {
	committer
	ops chan *op
}

// background is the context of SQLite's statements: one that can be cancelled
// costs the driver a goroutine each.
var background = context.Background()

// errClosed is what work gets that comes after Close.
var errClosed = fmt.Errorf("%w: it is being closed", ErrUnavailable)

// do queues work that is about no job and waits until it is committed.
func (s *Store) do(ctx context.Context, work func(*writer) error) error {
	return s.doJob(ctx, jobKey{}, work)
}

// doJob queues work and waits until it is committed. Where the context ends
// first, the work may still be done.
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

// run takes what waits, up to a batch, and commits it at once; for reports that are coming
// it waits atMost. After Close it does what still waits.
func (l *lane) run(quit <-chan struct{}, coming *pending, atMost time.Duration) {
	defer l.close()
	for {
		select {
		case first := <-l.ops:
			coming.wait(atMost)
			l.commit(l.batch(first))
		case <-quit:
			for len(l.ops) > 0 {
				l.commit(l.batch(<-l.ops))
			}
			return
		}
	}
}

// waitForMore bounds how long a commit waits for reports that are on their way. Under load
// it then holds four times as many, for as many fewer pages of the file, and a report waits
// no longer: it would have waited for its turn.
const waitForMore = 10 * time.Millisecond

// Coming says that a report is on its way to AddReport, until arrived is called.
func (s *Store) Coming() (arrived func()) { return s.coming.begin() }

// batch takes what waits behind first.
func (l *lane) batch(first *op) []*op {
	batch := []*op{first}
	for len(batch) < batchLength {
		select {
		case o := <-l.ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// Mark reads a time that SetMark wrote; zero if none was.
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

// Began is when this database was made: Slurm's jobs that ended before are not
// taken in.
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

// knowCluster makes a cluster's row, which stands for itself: a job's
// transaction never waits for it.
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
