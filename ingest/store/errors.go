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

// Errors that callers tell apart. All that is neither is a fault of the program.
var (
	ErrNotFound = errors.New("store: no such job")
	// ErrUnavailable wraps what passes: the database is locked by another process,
	// its disk is full, it is away, too much waits. Nothing of the refused work was kept.
	ErrUnavailable = errors.New("store: the database cannot take this now")
)

// busyTimeout is how long a writer waits for another process's lock.
const busyTimeout = 5 * time.Second

// readers is how many views are read at once.
const readers = 4

// oneLine is an error whose text is one line; pgx writes one for each address it tried.
type oneLine struct{ error }

// Error is the error's words.
func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

// Unwrap returns the error.
func (e oneLine) Unwrap() error { return e.error }

// unavailable marks the databases' errors that pass.
func unavailable(err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) || !sqlitePasses(err) && !postgresPasses(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// sqlitePasses tells SQLite's errors that pass.
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

// again tells errors after which the same transaction may succeed at once:
// another daemon was faster, or the connection had died since it was used last.
func again(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "40001", "40P01", "23505", "57P01": // serialization, deadlock, a row made meanwhile, the server stops
			return true
		}
		return false
	}
	return errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// postgresPasses tells PostgreSQL's errors that pass, by the classes of its
// manual's appendix A, and those of the way to it.
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

// ErrPruned is that a job's month has taken it in, and its records are gone.
var ErrPruned = errors.New("store: the job is so old that it was dropped, but for its month's sums")

// background is the context of SQLite's statements: one that can be cancelled
// costs the driver a goroutine each.
var background = context.Background()

// errClosed is what work gets that comes after Close.
var errClosed = fmt.Errorf("%w: it is being closed", ErrUnavailable)
