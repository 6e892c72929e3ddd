package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	queueLength = 1024 // writes that may wait
	batchLength = 256  // writes of one COMMIT
)

// op is one piece of work for the writer: all of it is kept, or nothing.
type op struct {
	do     func(*writer) error
	result chan error
}

// writer owns the only connection that writes. Its statements are prepared once.
type writer struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// background is the context of the writer's statements: one that can be
// cancelled costs the driver a goroutine each.
var background = context.Background()

func newWriter(db *sql.DB) (*writer, error) {
	conn, err := db.Conn(background)
	if err != nil {
		return nil, err
	}
	return &writer{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// errClosed is what work gets that comes after Close.
var errClosed = fmt.Errorf("%w: it is being closed", ErrUnavailable)

// do queues work and waits until it is committed. Where the context ends first,
// the work may still be done.
func (s *Store) do(ctx context.Context, work func(*writer) error) error {
	o := &op{do: work, result: make(chan error, 1)}
	select {
	case s.ops <- o:
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

// run is the writer: it takes what waits, up to a batch, and commits it at once.
// After Close it does what still waits.
func (s *Store) run(w *writer) {
	defer close(s.done)
	defer w.close()
	for {
		select {
		case first := <-s.ops:
			w.commit(s.batch(first))
		case <-s.quit:
			for len(s.ops) > 0 {
				w.commit(s.batch(<-s.ops))
			}
			return
		}
	}
}

// batch takes what waits behind first.
func (s *Store) batch(first *op) []*op {
	batch := []*op{first}
	for len(batch) < batchLength {
		select {
		case o := <-s.ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// commit does a batch in one transaction. Work that fails is undone alone.
func (w *writer) commit(batch []*op) {
	results := make([]error, len(batch))
	err := w.exec("BEGIN IMMEDIATE")
	if err == nil {
		for i, o := range batch {
			results[i] = w.alone(o)
		}
		if err = w.exec("COMMIT"); err != nil {
			w.exec("ROLLBACK") // an error says that SQLite has done so itself
		}
	}
	for i, o := range batch {
		o.result <- errors.Join(err, results[i])
	}
}

// alone does one piece of work inside the transaction.
func (w *writer) alone(o *op) error {
	if err := w.exec("SAVEPOINT one"); err != nil {
		return err
	}
	err := o.do(w)
	if err != nil {
		err = errors.Join(err, w.exec("ROLLBACK TO one"))
	}
	return errors.Join(err, w.exec("RELEASE one"))
}

func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(background, query)
	if err == nil {
		w.stmts[query] = s
	}
	return s, err
}

func (w *writer) exec(query string, args ...any) error {
	s, err := w.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(background, args...)
	return err
}

func (w *writer) rows(query string, args ...any) (*sql.Rows, error) {
	s, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(background, args...)
}

// one scans one row; sql.ErrNoRows where there is none.
func (w *writer) one(query string, args, into []any) error {
	s, err := w.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(background, args...).Scan(into...)
}

func (w *writer) close() {
	for _, s := range w.stmts {
		s.Close()
	}
	w.conn.Close()
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
