package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// Errors that callers tell apart. Any other error is a fault of the program.
var (
	ErrNotFound = errors.New("store: no such job")
	// ErrUnavailable wraps temporary errors: another process locks the database, its disk is full,
	// it is away, or too many writes wait. Nothing of the refused work was kept.
	ErrUnavailable = errors.New("store: the database cannot take this now")
	// ErrManyLogs says that the logs of windows that wait to be replayed fill their room.
	ErrManyLogs = errors.New("store: many logs of windows wait to be replayed")
	// ErrLogsPart says that the waiting logs of one user, node or sender fill its part of that room.
	ErrLogsPart = errors.New("store: many logs of windows of this user, or from this node, wait to be replayed")
	// ErrLogsEarly says that the report of some logs has not joined an attempt that Slurm confirms.
	// The node keeps them: their report, or Slurm's word, may come.
	ErrLogsEarly = errors.New("store: the report of these logs has not come, or Slurm has not told of its job")
	// ErrMoved is an ErrUnavailable: SQLite's file lost its name. What is written to it would
	// be found by nobody.
	ErrMoved = fmt.Errorf("%w: its file was moved, deleted or replaced", ErrUnavailable)
)

// ErrEnough ends a list before its next item.
var ErrEnough = errors.New("no more are wanted")

// busyTimeout is how long a writer waits for another process's lock.
const busyTimeout = 5 * time.Second

// readers is how many views are read at once, and longReaders how many that name a great many jobs.
const (
	readers     = 4
	longReaders = 2
)

// oneLine prints an error on one line; pgx writes a line for each address that it tried.
type oneLine struct{ error }

// Error returns the error's text.
func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

// Unwrap returns the error.
func (e oneLine) Unwrap() error { return e.error }

// errSchema says that another program has changed the schema since this one opened it.
var errSchema = errors.New("this database's schema is not this jobeffd's: stop every jobeffd, install the same version everywhere, start them")

// orNoRow takes sql.ErrNoRows for no error.
func orNoRow(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// unavailable marks temporary database errors, and explains those of another schema.
func unavailable(err error) error {
	if otherSchema(err) && !errors.Is(err, errSchema) {
		return fmt.Errorf("%w: %w", errSchema, err)
	}
	err = NameDamage(err)
	if err == nil || errors.Is(err, ErrUnavailable) || !sqlitePasses(err) && !postgresPasses(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// otherSchema recognizes that a table or a column is missing.
func otherSchema(err error) bool {
	if e := new(pgconn.PgError); errors.As(err, &e) {
		return e.Code == "42P01" || e.Code == "42703"
	}
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "no such ")
}

// sqlitePasses recognizes SQLite's temporary errors.
func sqlitePasses(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrNomem:
		return true
	}
	return false
}

// again recognizes errors after which the same transaction may succeed at once: another
// daemon was faster, or the connection had died since its last use.
func again(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "40001", "40P01", "23505", "57P01": // serialization, deadlock, another daemon made the row, the server stops
			return true
		}
		return false
	}
	return errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// postgresPasses recognizes PostgreSQL's temporary errors (classes of appendix A of its manual),
// and those of the connection to it.
func postgresPasses(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "25006", "25P03", "55P03", "57014", "58030": // read only (a standby), idle, locked, cancelled, disk
			return true
		}
		switch e.Code[:min(2, len(e.Code))] {
		case "08", "40", "53", "57": // connection, rolled back, no room, stopping
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || again(err) || pgconn.Timeout(err) ||
		errors.Is(err, sql.ErrConnDone)
}

// ErrPruned says that only the month's sums remain of a job.
var ErrPruned = errors.New("store: the job is so old that it was dropped, but for its month's sums")

// ErrManyWaiting says that a report cannot wait for Slurm's word: too many of its job id wait already,
// it is too large, or the disk is too full. The node keeps it: what fits Slurm's word is taken when
// that comes.
var ErrManyWaiting = errors.New("store: many reports of the job wait for Slurm's word")

// ErrManyClusters says that a report names a cluster that Slurm has not named, while there are as
// many clusters already as jobeffd believes.
var ErrManyClusters = errors.New("store: there are many clusters already")

// background is the context of SQLite's statements. A cancellable context costs the driver a
// goroutine for each.
var background = context.Background()

// errClosed answers work that comes after Close.
var errClosed = fmt.Errorf("%w: it is being closed", ErrUnavailable)

// ErrForeignNode says that a node reported an attempt which, as Slurm says, did not have this
// node.
var ErrForeignNode = errors.New("store: the job did not have this node")
