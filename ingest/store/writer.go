package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	queueLength = 1024 // writes that may wait in a lane
	batchLength = 256  // writes that are committed at once
)

// jobKey names a job; the zero value names none.
type jobKey struct {
	cluster string
	jobID   uint32
}

// lock is the cluster's half of the number that PostgreSQL locks for a job.
func (k jobKey) lock() int32 {
	h := fnv.New32a()
	io.WriteString(h, k.cluster)
	return int32(h.Sum32())
}

// op is one piece of work for a writer, kept completely or not at all: a report, or what do does. It
// may run more than once, and must then do and set the same.
type op struct {
	job    jobKey // the job that it is about; work on one job runs in order
	do     func(*writer) error
	report *incoming
	taken  atomic.Bool // by its lane, or taken back by the one that queued it
	result chan error
}

// session is a transaction's way to the database. A ? in a query stands for an argument.
type session interface {
	// exec changes something. On PostgreSQL its error may come from a later call, or when
	// the work ends.
	exec(query string, args ...any) error
	// rows reads. They must be closed before the next call.
	rows(query string, args ...any) (*sql.Rows, error)
	// one scans one row; sql.ErrNoRows if there is none.
	one(query string, args, into []any) error
}

// writer runs the statements of a piece of work in its transaction.
type writer struct{ session }

// run does pieces of work in a transaction. Reports of one job go together, so a job of N nodes
// costs a few statements, not N times as many.
func (w *writer) run(batch []*op) error {
	reports := map[jobKey][]*incoming{}
	for _, o := range batch {
		if o.report != nil {
			reports[o.job] = append(reports[o.job], o.report)
		}
	}
	for _, o := range batch {
		var err error
		if o.report == nil {
			err = o.do(w)
		} else if all := reports[o.job]; all != nil {
			delete(reports, o.job)
			err = w.addReports(o.job, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// committer does the work of one lane: it commits a whole batch and answers each piece.
type committer interface {
	commit(batch []*op)
	close()
}

// lane is a queue of work, with its committer.
type lane struct {
	committer
	ops chan *op
}

// run commits what waits, a batch at a time. After Close it still commits the rest.
func (l *lane) run(quit <-chan struct{}) {
	defer l.close()
	for {
		select {
		case first := <-l.ops:
			l.commit(l.batch(first))
		case <-quit:
			for len(l.ops) > 0 {
				l.commit(l.batch(<-l.ops))
			}
			return
		}
	}
}

// batch takes first and what waits behind it, but for what was taken back.
func (l *lane) batch(first *op) (batch []*op) {
	for o := first; ; {
		if o.taken.CompareAndSwap(false, true) {
			batch = append(batch, o)
		}
		if len(batch) == batchLength {
			return batch
		}
		select {
		case o = <-l.ops:
		default:
			return batch
		}
	}
}

// do queues work that concerns no job, and waits until it is committed.
func (s *Store) do(ctx context.Context, work func(*writer) error) error {
	return s.doJob(ctx, jobKey{}, work)
}

// doJob queues work and waits until it is committed. If the context ends when it has begun, it may
// still be done.
func (s *Store) doJob(ctx context.Context, job jobKey, work func(*writer) error) error {
	return s.commit(ctx, &op{job: job, do: work})
}

// commit queues a piece of work in the lane of its job, and waits until it is committed.
func (s *Store) commit(ctx context.Context, o *op) error {
	if s.Damaged() {
		return ErrDamaged
	}
	o.result = make(chan error, 1)
	l := s.lanes[o.job.jobID%uint32(len(s.lanes))]
	select {
	case l.ops <- o:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	case <-s.done:
		return errClosed
	}
	select {
	case err := <-o.result:
		if err = unavailable(err); IsDamage(err) {
			s.Suspect(context.WithoutCancel(ctx))
		}
		return err
	case <-ctx.Done():
		if o.taken.CompareAndSwap(false, true) {
			o.do, o.report = nil, nil // the queue may be blocked for long, and a report takes memory
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	case <-s.done:
		return errClosed
	}
}

// Queue is how many writes wait.
func (s *Store) Queue() (n int) {
	for _, l := range s.lanes {
		n += len(l.ops)
	}
	return n
}

func (s *Store) startLanes(all []committer) {
	var wg sync.WaitGroup
	for _, c := range all {
		l := &lane{c, make(chan *op, queueLength)}
		s.lanes = append(s.lanes, l)
		wg.Go(func() { l.run(s.quit) })
	}
	go func() {
		wg.Wait()
		close(s.done)
	}()
}

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

// TakeTurn lets one of several daemons do something now and then that takes long. The mark is when it is to be done next. If that
// time has come, the call is the only one that returns true, and moves the mark by lease: whoever does the work then moves
// it further, and if nobody does, another tries after that. A mark further ahead than every comes from a wrong clock.
func (s *Store) TakeTurn(ctx context.Context, mark string, now time.Time, lease, every time.Duration) (mine bool, err error) {
	err = s.do(ctx, func(w *writer) error {
		var us int64
		err := w.one(`INSERT INTO marks (name, time_us) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET time_us = excluded.time_us
			WHERE marks.time_us <= ? OR marks.time_us > ? RETURNING time_us`, []any{mark, now.Add(lease).UnixMicro(), now.UnixMicro(), now.Add(every).UnixMicro()}, []any{&us})
		mine = err == nil
		return orNoRow(err)
	})
	return mine, err
}

// markBegan names the mark of when the database was made.
const markBegan = "began"

// Began is when this database was made. Slurm's jobs that ended before are left out.
func (s *Store) Began() time.Time { return s.began }

func (s *Store) firstStart() (time.Time, error) {
	ctx, cancel := context.WithTimeout(background, 2*busyTimeout)
	defer cancel()
	err := s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO marks (name, time_us) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", markBegan, time.Now().UnixMicro())
	})
	if err != nil {
		return time.Time{}, err
	}
	return s.Mark(ctx, markBegan)
}

// mostClusters bounds the clusters that reports may bring: a report of another one waits on its node.
// Questions by a job's id look at each cluster, and anybody may make up a name. Slurm's own word has
// no bound.
const mostClusters = 100

// knowCluster makes a cluster's row in a transaction of its own, so that a job's transaction
// never waits for it. told says that Slurm names it.
func (s *Store) knowCluster(ctx context.Context, cluster string, told bool) error {
	if _, known := s.clusters.Load(cluster); known {
		return nil
	}
	most := mostClusters
	if told {
		most = math.MaxInt32
	}
	err := s.do(ctx, func(w *writer) error {
		return w.exec("INSERT INTO clusters (cluster) SELECT CAST(? AS TEXT) WHERE (SELECT count(*) FROM clusters) < ? ON CONFLICT (cluster) DO NOTHING", cluster, most)
	})
	var there int64
	if err == nil {
		err = unavailable(s.read.QueryRowContext(ctx, "SELECT count(*) FROM clusters WHERE cluster = ?", cluster).Scan(&there))
	}
	switch {
	case err != nil:
		return err
	case there == 0:
		return ErrManyClusters
	}
	s.clusters.Store(cluster, true)
	return nil
}

// slurmAtOnce is how many of sacct's lines wait for the writer at once. Reports must not wait
// long behind them.
const slurmAtOnce = 200

// each does the work of n jobs, atOnce of them at a time.
func each(atOnce, n int, do func(i int) error) error {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}
