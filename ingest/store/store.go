// Package store keeps jobs in a database and is the only code that speaks SQL.
//
// The server hands it what nodes reported and what sacct said; it joins both to
// runs of jobs, merges the nodes' parts, and gives ingest.Job views back. There
// is one writer, which commits what waits together: whoever added something is
// answered after the COMMIT. Readers never wait for it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"
)

// Errors that callers tell apart. All that is neither is a fault of the program.
var (
	ErrNotFound = errors.New("store: no such job")
	// ErrUnavailable wraps what passes: the database is locked by another process,
	// its disk is full, too much waits. Nothing of the refused work was kept.
	ErrUnavailable = errors.New("store: the database cannot take this now")
)

// busyTimeout is how long the writer waits for another process's lock.
const busyTimeout = 5 * time.Second

// readers is how many views are read at once.
const readers = 4

// Store is an open database. Its methods may be called from several goroutines.
type Store struct {
	write *sql.DB // one connection, the writer's
	read  *sql.DB
	lock  *os.File
	ops   chan *op
	quit  chan struct{} // closed: the writer shall end
	done  chan struct{} // closed: it has
	once  sync.Once
	began time.Time
}

// Open opens the database file at path, makes it where it does not exist, and
// brings its schema up to date. One process at a time may hold it.
func Open(path string) (*Store, error) {
	if err := prepareDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := lockDatabase(path)
	if err != nil {
		return nil, err
	}
	s := &Store{lock: lock, ops: make(chan *op, queueLength), quit: make(chan struct{}), done: make(chan struct{})}
	w, err := s.open(path)
	if err != nil {
		s.closeFiles()
		return nil, fmt.Errorf("store: %s: %w", path, unavailable(err))
	}
	go s.run(w)
	if s.began, err = s.firstStart(); err != nil {
		s.Close()
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) open(path string) (w *writer, err error) {
	if s.write, err = connect(path, "_txlock=immediate&_journal_mode=WAL&_synchronous=FULL"); err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if err := migrate(background, s.write); err != nil {
		return nil, err
	}
	if s.read, err = connect(path, "_query_only=1"); err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(readers)
	return newWriter(s.write)
}

// connect makes a pool; it opens nothing yet.
func connect(path, options string) (*sql.DB, error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options +
		fmt.Sprintf("&_busy_timeout=%d", busyTimeout.Milliseconds())
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(readers)
	return db, nil
}

// prepareDir makes the database's directory and refuses file systems on which
// SQLite's locks do not hold.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("store: %w: run jobeffd as root, or name another file with --database", err)
	}
	const nfs = 0x6969
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err == nil && int64(fs.Type) == nfs {
		return fmt.Errorf("store: %s is on NFS, where SQLite loses data: put the database on a local disk (server.database)", dir)
	}
	return nil
}

// lockDatabase makes the file, readable for its owner only, and takes the lock
// that keeps a second jobeffd out. The kernel drops it with the process.
func lockDatabase(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w: run jobeffd as root, or name another file with --database", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("store: another jobeffd uses %s (%w): stop it, or name another file with --database", path, err)
	}
	db, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("store: %w", err)
	}
	return f, db.Close()
}

// Close commits what waits and closes the database. It may be called again.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.quit)
		<-s.done
		err = s.closeFiles()
	})
	return err
}

func (s *Store) closeFiles() error {
	var err error
	if s.read != nil {
		err = s.read.Close()
	}
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	return errors.Join(err, s.lock.Close())
}

// Ping reads one row, to see that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var n int
	return unavailable(s.read.QueryRowContext(ctx, "SELECT count(*) FROM marks").Scan(&n))
}

// unavailable marks SQLite's errors that pass.
func unavailable(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrNomem:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
