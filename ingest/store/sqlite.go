package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
	"golang.org/x/sys/unix"
)

// sqliteEngine keeps the database in one file. One process at a time holds it, and one
// connection writes.
type sqliteEngine struct {
	path  string
	file  os.FileInfo // what had this path when it was opened
	lock  *os.File    // nil: another process may hold it
	index *os.File    // SQLite's "-shm"; nil: it was not needed yet
	write *sql.DB
}

func openSQLite(path string) (*sqliteEngine, error) {
	if err := prepareDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := onlyDatabase(path); err != nil {
		return nil, err
	}
	lock, err := lockDatabase(path)
	if err != nil {
		return nil, err
	}
	e, err := besideSQLite(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	e.lock = lock
	if e.file, err = lock.Stat(); err == nil {
		err = e.there() // a restore may have replaced it just now
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// writerCache is how much of the file the writer caches, KiB. A transaction that touches more
// writes some pages twice: with SQLite's 2 MiB a thousand jobs do.
const writerCache = 32_000

// besideSQLite opens a file that another process may hold.
func besideSQLite(path string) (e *sqliteEngine, err error) {
	e = &sqliteEngine{path: path}
	if e.file, err = os.Stat(path); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if e.write, err = connect(path, fmt.Sprintf("mode=rw&_txlock=immediate&_journal_mode=WAL&_synchronous=FULL&_cache_size=-%d", writerCache)); err != nil {
		return nil, err
	}
	e.write.SetMaxOpenConns(1)
	return e, nil
}

func (e *sqliteEngine) name() string { return e.path }

func (e *sqliteEngine) writeDB() *sql.DB { return e.write }

// there checks that the file still has its name.
func (e *sqliteEngine) there() error {
	if now, err := os.Stat(e.path); err != nil || !os.SameFile(now, e.file) {
		return fmt.Errorf("%w: %s", ErrMoved, e.path)
	}
	return nil
}

// reserve is the room that is left free for jobs that Slurm has confirmed, bytes: for some hundred
// thousand of them. On a small disk it is a tenth.
const reserve = 1 << 30

func (e *sqliteEngine) nearlyFull() bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(e.path, &fs) == nil && fs.Bavail < min(fs.Blocks/10, reserve/uint64(fs.Bsize))
}

// forget drops what the kernel caches of the file and of its log. After a write that failed, the cache
// has pages that the disk does not have. ext4 would write what comes later into the same blocks, and
// never note that they hold something (seen on Linux 6.18): a power cut would take what was committed
// meanwhile. The file itself is never opened anew: closing it would drop SQLite's locks.
func (e *sqliteEngine) forget() {
	e.writeBackAgain()
	if e.lock != nil {
		_ = unix.Fadvise(int(e.lock.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
	if log, err := os.Open(e.path + "-wal"); err == nil {
		_ = unix.Fadvise(int(log.Fd()), 0, 0, unix.FADV_DONTNEED)
		log.Close()
	}
}

// backfilled is where SQLite's index of its log counts the pages that were written back (walformat.html, nBackfill).
const backfilled = 96

// writeBackAgain makes the next checkpoint begin at the log's first page. SQLite asks whether pages
// reached the disk only after a checkpoint that came to the log's end. It takes pages as there that an
// earlier checkpoint wrote back without asking, though the error may be of these. It would drop the
// log, and the file would be damaged (TestDiskErrors). Like the file, the index is never closed.
func (e *sqliteEngine) writeBackAgain() {
	if e.index == nil {
		e.index, _ = os.OpenFile(e.path+"-shm", os.O_RDWR, 0)
	}
	if e.index != nil {
		_, _ = e.index.WriteAt(make([]byte, 4), backfilled)
	}
}

func (e *sqliteEngine) dialect() dialect {
	return dialect{folder: "sqlite", goose: goose.DialectSQLite3, rebind: func(query string) string { return query }}
}

// openRead opens the views' pool. Its connections keep statements prepared, which makes a
// page a tenth faster.
func (e *sqliteEngine) openRead() (*sql.DB, error) {
	return connect(e.path, "mode=rw&_query_only=1&_stmt_cache_size=64")
}

// walLimit is the size to which a write-ahead log shrinks once it is written back, bytes. A
// long read makes it grow; without one it stays far below.
const walLimit = 64 << 20

// lanes is one: SQLite has one writer.
func (e *sqliteEngine) lanes() ([]committer, error) {
	w, err := newSQLiteWriter(e)
	if err == nil {
		err = w.exec(fmt.Sprintf("PRAGMA journal_size_limit = %d", walLimit))
	}
	if err == nil && e.lock == nil { // only the process that holds the file checkpoints, so that another one that hangs never locks the log
		err = w.exec("PRAGMA wal_autocheckpoint = 0")
	}
	return []committer{w}, err
}

// checkpoints is the statement that sets SQLite's default.
func (e *sqliteEngine) checkpoints() string { return "PRAGMA wal_autocheckpoint = 1000" }

func (e *sqliteEngine) alone(context.Context, string) (release func(), mine bool, err error) {
	return func() {}, true, nil
}

func (e *sqliteEngine) close() error {
	err := e.write.Close()
	if e.index != nil {
		err = errors.Join(err, e.index.Close())
	}
	if e.lock != nil {
		// a child between fork and exec has the file open, too, and would hold the lock a moment longer
		err = errors.Join(err, syscall.Flock(int(e.lock.Fd()), syscall.LOCK_UN), e.lock.Close())
	}
	return err
}

// connect makes a pool; it opens the file later.
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

// prepareDir makes the database's directory. It refuses NFS, where SQLite's locks do not
// hold.
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

// onlyDatabase refuses a file that is not SQLite's, before anything is made next to it. An empty
// file will become a database.
func onlyDatabase(path string) error {
	const magic = "SQLite format 3\x00"
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	head := make([]byte, len(magic))
	if err == nil && info.Mode().IsRegular() {
		if names := info.Sys().(*syscall.Stat_t).Nlink; names > 1 {
			return fmt.Errorf("store: %s has %d names (hard links), and SQLite keeps a log for each: remove the others; find -samefile shows them", path, names)
		}
		var f *os.File
		if f, err = os.Open(path); err == nil {
			defer f.Close()
			switch _, err = io.ReadFull(f, head); {
			case err == io.EOF:
				return nil
			case string(head) == magic:
				return onlyOurs(path)
			}
		}
	}
	if err != nil && err != io.ErrUnexpectedEOF {
		return cmp.Or(deniedToRoot(path, err), fmt.Errorf("store: %w: run jobeffd as root, or name another file with --database", err))
	}
	return fmt.Errorf("store: %s is not a database of SQLite's: name another file with --database, or as server.database in jobeff.toml", path)
}

// onlyOurs refuses a database that holds tables, but none of jobeff's: another program owns
// it. It writes nothing. A file that it cannot read is left to the one who opens it.
func onlyOurs(path string) error {
	db, err := connect(path, "mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer db.Close()
	var all, ours int
	err = db.QueryRow(`SELECT count(*), COALESCE(sum(name = 'marks'), 0) FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'goose_db_version'`).Scan(&all, &ours)
	if err == nil && all > 0 && ours == 0 {
		return fmt.Errorf("store: %s is another program's database: name another file with --database, or as server.database in jobeff.toml", path)
	}
	return nil
}

// lockDatabase makes the file, readable only for its owner, and takes the lock that keeps a
// second jobeffd out, whatever name it knows the file by. SQLite's own locks are of another kind.
// The kernel drops the lock with the process.
func lockDatabase(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w: run jobeffd as root, or name another file with --database", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("store: another jobeffd uses %s (%w): stop it (systemctl stop jobeffd.socket), or name another file with --database", path, err)
	}
	return f, nil
}

// sqliteWriter owns the only connection that writes. It prepares each statement once.
type sqliteWriter struct {
	engine *sqliteEngine
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
}

func newSQLiteWriter(e *sqliteEngine) (*sqliteWriter, error) {
	conn, err := e.write.Conn(background)
	if err != nil {
		return nil, err
	}
	return &sqliteWriter{engine: e, conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// commit does a batch in one transaction. If a piece fails, commit rolls back and repeats the
// batch with a savepoint for each piece. Savepoints cost too much to use always.
func (s *sqliteWriter) commit(batch []*op) {
	results := make([]error, len(batch))
	var failed error
	err := s.transaction(func() error {
		failed = (&writer{s}).run(batch)
		return failed
	})
	if failed != nil {
		err = s.transaction(func() error {
			for i, o := range batch {
				results[i] = s.alone(o)
			}
			return nil
		})
	}
	for i, o := range batch {
		o.result <- errors.Join(err, results[i])
	}
}

// transaction does work and commits it, or leaves nothing of it.
func (s *sqliteWriter) transaction(work func() error) error {
	err := s.exec("BEGIN IMMEDIATE")
	if err != nil {
		return err
	}
	if err = work(); err == nil {
		err = s.engine.there()
	}
	if err == nil {
		err = s.exec("COMMIT")
	}
	if err != nil {
		s.exec("ROLLBACK") // an error means that SQLite has done so itself
	}
	if e := (sqlite3.Error{}); errors.As(err, &e) && e.Code == sqlite3.ErrIoErr {
		s.engine.forget()
	}
	return err
}

// alone does one piece of work inside the transaction.
func (s *sqliteWriter) alone(o *op) error {
	if err := s.exec("SAVEPOINT one"); err != nil {
		return err
	}
	err := (&writer{s}).run([]*op{o})
	if err != nil {
		err = errors.Join(err, s.exec("ROLLBACK TO one"))
	}
	return errors.Join(err, s.exec("RELEASE one"))
}

func (s *sqliteWriter) stmt(query string) (*sql.Stmt, error) {
	if st := s.stmts[query]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(background, query)
	if err == nil {
		s.stmts[query] = st
	}
	return st, err
}

func (s *sqliteWriter) exec(query string, args ...any) error {
	st, err := s.stmt(query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(background, args...)
	return err
}

func (s *sqliteWriter) rows(query string, args ...any) (*sql.Rows, error) {
	st, err := s.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(background, args...)
}

func (s *sqliteWriter) one(query string, args, into []any) error {
	st, err := s.stmt(query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(background, args...).Scan(into...)
}

func (s *sqliteWriter) close() {
	for _, st := range s.stmts {
		st.Close()
	}
	s.conn.Close()
}
