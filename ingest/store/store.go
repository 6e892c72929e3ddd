package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// engine is what differs between SQLite and PostgreSQL.
type engine interface {
	name() string // for people
	there() error // ErrMoved: the database is no longer where it was opened
	dialect() dialect
	writeDB() *sql.DB
	openRead() (*sql.DB, error)
	nearlyFull() bool                                    // little of its disk is free
	lanes() ([]committer, error)                         // those that write, each on its own
	check(ctx context.Context) (found string, err error) // that its pages are whole; found is what is wrong
	checkpoints() string                                 // a statement by which another process than the daemon keeps SQLite's log short; "": there is none
	// alone holds a mark, which nobody writes. mine says that no other daemon holds it; release lets
	// others.
	alone(ctx context.Context, mark string) (release func(), mine bool, err error)
	close() error
}

// Store is an open database. Its methods may be called from several goroutines.
type Store struct {
	engine   engine
	read     *readPool
	lanes    []*lane
	quit     chan struct{} // closed: the writers must end
	done     chan struct{} // closed: the writers have ended
	once     sync.Once
	began    time.Time
	clusters sync.Map // names that the database holds
	heard    heardNodes
	settled  func(Settled)
	patience time.Duration // see WaitForSlurm
	apart    []string      // see TellApart

	suspected, damaged atomic.Bool // see Check

	hungAfter time.Duration // see FindHung
}

// Open opens a database, creates its tables if there are none, and brings its schema up to
// date. The database is the path of an SQLite file, which one process at a time may hold, or
// the URL of a PostgreSQL.
func Open(database string) (*Store, error) {
	e, err := openEngine(database)
	if err != nil {
		return nil, err
	}
	s := &Store{engine: e, quit: make(chan struct{}), done: make(chan struct{})}
	if err := s.open(); err != nil {
		s.closeDatabase()
		return nil, notOpened(e, err)
	}
	if s.began, err = s.firstStart(); err != nil {
		s.Close()
		return nil, notOpened(e, err)
	}
	return s, nil
}

func openEngine(database string) (engine, error) {
	if IsPostgres(database) {
		return openPostgres(database)
	}
	if scheme, _, is := strings.Cut(database, ":"); is && !strings.Contains(scheme, "/") { // otherwise SQLite would make a file of that name
		return nil, fmt.Errorf("store: %.40q is neither a file nor a PostgreSQL: write a path that begins with /, or postgres://USER@HOST:PORT/DATABASE", scheme+":")
	}
	return openSQLite(database)
}

func (s *Store) open() error {
	d := s.engine.dialect()
	if err := d.migrate(background, s.engine.writeDB()); err != nil {
		return err
	}
	return s.openPools()
}

func (s *Store) openPools() error {
	var pools [2]*sql.DB
	for i, connections := range []int{readers, longReaders} {
		var err error
		if pools[i], err = s.engine.openRead(); err != nil {
			return err
		}
		pools[i].SetMaxOpenConns(connections)
	}
	pools[0].SetMaxIdleConns(readers)
	pools[1].SetMaxIdleConns(0)
	s.read = &readPool{pools[0], pools[1], s.engine.dialect().rebind}
	committers, err := s.engine.lanes()
	if err != nil {
		return err
	}
	s.startLanes(committers)
	return nil
}

// Close commits what waits and closes the database. Calling it again does nothing.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.quit)
		<-s.done
		err = s.closeDatabase()
	})
	return err
}

func (s *Store) closeDatabase() error {
	var err error
	if s.read != nil {
		err = s.read.Close()
	}
	return errors.Join(err, s.engine.close())
}

// There checks, without a question to it, that the database is still where it was opened.
// Otherwise it returns ErrMoved.
func (s *Store) There() error { return s.engine.there() }

// Ping reads one row, to check that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var n int
	return unavailable(s.read.QueryRowContext(ctx, "SELECT count(*) FROM marks").Scan(&n))
}

// readPool runs queries that have ? for an argument.
type readPool struct {
	*sql.DB
	long   *sql.DB // for long queries
	rebind func(query string) string
}

// longQuery is the length, bytes, from which on a query has a connection of its own, which is closed
// after it. Other queries stay prepared on theirs, and one that names thousands of jobs takes some
// MiB.
const longQuery = 8 << 10

func (p *readPool) of(query string) *sql.DB {
	if len(query) >= longQuery {
		return p.long
	}
	return p.DB
}

// QueryContext runs a query as sql.DB does.
func (p *readPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.of(query).QueryContext(ctx, p.rebind(query), plainArgs(args)...)
}

// QueryRowContext runs a query as sql.DB does.
func (p *readPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.of(query).QueryRowContext(ctx, p.rebind(query), plainArgs(args)...)
}

// Close closes both pools.
func (p *readPool) Close() error { return errors.Join(p.DB.Close(), p.long.Close()) }

// notOpened names the database in an error, on one line. If nothing answers there, it says
// what to do.
func notOpened(e engine, err error) error {
	hint := ""
	if connect := new(*pgconn.ConnectError); errors.As(err, connect) {
		hint = ": is PostgreSQL running there, and does it know this user and database? psql with the same address says more"
	}
	return oneLine{fmt.Errorf("store: %s: %w%s", e.name(), unavailable(err), hint)}
}
