package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// OpenBeside opens a database that jobeffd may have open too. It never changes the
// schema, and it writes between the daemon's transactions.
func OpenBeside(database string) (*Store, error) {
	e, err := openBeside(database)
	if err != nil {
		return nil, err
	}
	s := &Store{engine: e, quit: make(chan struct{}), done: make(chan struct{})}
	if err := s.openBeside(); err != nil {
		s.closeDatabase()
		return nil, notOpened(e, err)
	}
	return s, nil
}

func openBeside(database string) (engine, error) {
	if IsPostgres(database) {
		return openPostgres(database)
	}
	if err := cmp.Or(onlyDatabase(database), readable(database)); err != nil {
		return nil, err
	}
	return besideSQLite(database)
}

func (s *Store) openBeside() error {
	if err := checkSchema(background, s.engine.writeDB()); err != nil {
		return err
	}
	if err := s.openPools(); err != nil {
		return err
	}
	began, err := s.Mark(background, markBegan)
	s.began = began
	return err
}

// becoming lets one goroutine at a time change the whole process's rights.
var becoming sync.Mutex

// AsOwner calls do, which writes to a database. For root, do runs with the rights of the folder's
// owner: whoever may write there may also put links there. Open root's own files before.
func AsOwner(database string, do func() error) (err error) {
	var folder syscall.Stat_t
	if os.Geteuid() != 0 || IsPostgres(database) || syscall.Stat(filepath.Dir(database), &folder) != nil || folder.Uid == 0 {
		return do()
	}
	becoming.Lock()
	defer becoming.Unlock()
	groups, err := syscall.Getgroups()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer func() { // root first: only root may change groups
		err = errors.Join(err, syscall.Setresuid(-1, 0, -1), syscall.Setresgid(-1, 0, -1), syscall.Setgroups(groups))
	}()
	uid, gid := int(folder.Uid), int(folder.Gid)
	if err := cmp.Or(syscall.Setgroups([]int{gid}), syscall.Setresgid(-1, gid, -1), syscall.Setresuid(-1, uid, -1)); err != nil {
		return fmt.Errorf("store: cannot become the owner of %s: %w", filepath.Dir(database), err)
	}
	return do()
}

// deniedToRoot says what to do if root, as the folder's owner, may not read the database; nil for
// other errors.
func deniedToRoot(path string, err error) error {
	if os.Getuid() != 0 || !errors.Is(err, os.ErrPermission) {
		return nil
	}
	return fmt.Errorf("store: %w: it must belong to the owner of its folder: chown --reference=%s %s", err, filepath.Dir(path), path)
}

// readable says why the database's file cannot be used.
func readable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		return cmp.Or(deniedToRoot(path, err), fmt.Errorf("store: %w: run this as root", err))
	}
	if err != nil {
		return fmt.Errorf("store: %w: name the database with --database, or as server.database in jobeff.toml; jobeffd makes a new one when it starts", err)
	}
	return f.Close()
}

// Migrate brings a database up to date and returns both versions. Stop every jobeffd first:
// an older one cannot use a newer schema (errSchema). The database must exist, empty or not,
// so that a mistyped name makes no new one.
func Migrate(database string) (before, after int64, err error) {
	if !IsPostgres(database) {
		if err := cmp.Or(onlyDatabase(database), readable(database)); err != nil {
			return 0, 0, err
		}
	}
	if e, err := openBeside(database); err == nil { // 0 if nothing is in it yet
		before, _ = schemaOf(e.writeDB())
		e.close()
	}
	s, err := Open(database)
	if err != nil {
		return before, 0, err
	}
	after, err = s.version()
	return before, after, errors.Join(err, s.Close())
}

// version reads the version of the schema.
func (s *Store) version() (version int64, err error) {
	err = s.read.QueryRow("SELECT max(version_id) FROM goose_db_version").Scan(&version)
	return version, unavailable(err)
}

// errDump says which tools back up a PostgreSQL.
var errDump = errors.New("store: a PostgreSQL is backed up and restored with its own tools: pg_dump --format=custom, pg_restore")

// Backup writes a copy of the database as it is at this moment, while jobeffd goes on. The file
// must not exist yet. It keeps root's rights, which the copy may need: it only reads the database.
func Backup(ctx context.Context, database, file string) error {
	if IsPostgres(database) {
		return errDump
	}
	return NewFile(file, func(f *os.File) error { // VACUUM INTO takes an empty file
		if err := cmp.Or(onlyDatabase(database), readable(database)); err != nil {
			return err
		}
		db, err := connect(database, "mode=ro")
		if err != nil {
			return err
		}
		defer db.Close()
		if err := checkSchema(ctx, db); err != nil {
			return fmt.Errorf("store: %s: %w", database, unavailable(err))
		}
		if _, err := db.ExecContext(ctx, "VACUUM INTO ?", f.Name()); err != nil {
			return fmt.Errorf("store: backup to %s: %w", file, unavailable(err))
		}
		return nil
	})
}

// NewFile makes a file that only its owner can read; write fills it. The file must not
// exist yet. It gets its name when it is complete and on the disk: an interrupted write
// leaves a .part at most.
func NewFile(file string, write func(*os.File) error) error {
	if file == "" {
		return errors.New("store: the name is empty: name a new file")
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("store: %s exists: name a new file", file)
	}
	part := file + ".part"
	os.Remove(part)
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w: name a new file in a folder that is there", err)
	}
	defer f.Close()
	defer os.Remove(part)
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return keepFile(part, file)
}

// keepFile gives a finished file its name, and waits until the disk has it.
func keepFile(part, file string) error {
	if err := os.Rename(part, file); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer dir.Close()
	return dir.Sync()
}

// hasJobsError says that a restore would hide jobs.
type hasJobsError struct {
	Database string
	Jobs     int64
}

func (e *hasJobsError) Error() string {
	return fmt.Sprintf("store: %s holds %d jobs: with --replace it is kept as %s.old", e.Database, e.Jobs, e.Database)
}

// Restore puts a backup in the place of the database. No jobeffd may run. A database that
// holds jobs is only replaced with replace; it is kept as .old.
func Restore(ctx context.Context, file, database string, replace bool) error {
	if IsPostgres(database) {
		return errDump
	}
	if err := checkBackup(ctx, file); err != nil {
		return err
	}
	if err := prepareDir(filepath.Dir(database)); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer in.Close()
	return AsOwner(database, func() error { return restore(ctx, in, database, replace) })
}

func restore(ctx context.Context, in io.Reader, database string, replace bool) error {
	if err := onlyDatabase(database); err != nil && !replace {
		return fmt.Errorf("%w; with --replace it is kept as %s.old", err, database)
	}
	lock, err := lockDatabase(database)
	if err != nil {
		return err
	}
	defer lock.Close()
	jobs, err := atRest(ctx, database)
	if jobs > 0 && !replace {
		return &hasJobsError{database, jobs}
	}
	if err != nil && !replace {
		return fmt.Errorf("store: what is there cannot be read (%w): with --replace it is kept as %s.old", err, database)
	}
	if err := copyDatabase(in, database+".part"); err != nil {
		os.Remove(database + ".part")
		return err
	}
	return exchange(database, jobs > 0 || err != nil)
}

// checkBackup refuses a file that is damaged, or that this program cannot use.
func checkBackup(ctx context.Context, file string) error {
	if err := readable(file); err != nil {
		return err
	}
	db, err := connect(file, "_query_only=1&mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := checkSchema(ctx, db); err != nil {
		return fmt.Errorf("store: %s: %w", file, err)
	}
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil || said != "ok" {
		return fmt.Errorf("store: %s is damaged (%s): take another backup", file, errors.Join(err, errors.New(said)))
	}
	return nil
}

// atRest brings the whole database into its one file and counts its jobs. An empty file
// holds none.
func atRest(ctx context.Context, database string) (jobs int64, err error) {
	if info, err := os.Stat(database); err == nil && info.Size() == 0 {
		return 0, nil
	}
	db, err := connect(database, "")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM attempts").Scan(&jobs)
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrError { // no such table
		return 0, nil
	}
	return jobs, err
}

// copyDatabase writes a file and waits for the disk.
func copyDatabase(in io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer out.Close()
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync()); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// exchange puts DATABASE.part in the place of the database. At every moment one of the two
// has the name.
func exchange(database string, keep bool) error {
	if keep {
		os.Remove(database + ".old")
		if err := os.Link(database, database+".old"); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	for _, rest := range []string{"-wal", "-shm"} { // of a database that could not be read: SQLite would apply them to the new one
		if err := os.Rename(database+rest, database+".old"+rest); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("store: %w", err)
		}
	}
	return keepFile(database+".part", database)
}
