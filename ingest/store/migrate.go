package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// migrations are the steps to this build's schema: NNNNN_what.sql is step NNNNN, and what an engine must say in its
// own words follows under the same name in the engine's folder. They go forward only. A step that a commit on main
// has is never changed.
//
//go:embed migrations/*.sql migrations/*/*.sql
var migrations embed.FS

// schemaVersion is the newest migration that this build knows.
const schemaVersion = 6

// preMark is the mark of databases from before 0.1.0, whose versions count otherwise.
const preMark = "schema"

// dialect is how an engine's SQL differs from SQLite's.
type dialect struct {
	folder string // of its own part of the migrations
	goose  goose.Dialect
	rebind func(query string) string
	locker lock.SessionLocker // nil: only one process uses the engine
	err    error              // from making it
}

// Databases that this build cannot bring up to date.
var (
	errNewerSchema = errors.New("a newer version of jobeffd made this database: install that version, or restore a backup of the time before it")
	errOlderSchema = errors.New("a version from before 0.1.0 made this database, and only what commit 967a4cf4 exported can be taken over (jobeff admin import FILE): let server.database name a new one")
	errNoSchema    = errors.New("it is empty: jobeffd or `jobeff admin migrate` makes its tables")
	errNotMigrated = errors.New("an older version of jobeffd made this database: stop jobeffd, and bring it up to date with `jobeff admin migrate`, or start this version's jobeffd")
)

// migrate makes the tables, or brings them up to date. Each migration is a transaction, so a killed one leaves a
// version from which the next start goes on.
func (d dialect) migrate(ctx context.Context, db *sql.DB) error {
	p, err := d.provider(db)
	if err != nil {
		return err
	}
	have, _, err := p.GetVersions(ctx)
	if err == nil && have > 0 {
		err = knownSchema(ctx, db, have)
	}
	if err == nil {
		_, err = p.Up(ctx)
	}
	return err
}

// checkSchema refuses a database whose tables are not those of this build.
func checkSchema(ctx context.Context, db *sql.DB) error {
	version, err := schemaOf(db)
	switch {
	case err != nil:
		return err
	case version == 0:
		return errNoSchema
	}
	if err = knownSchema(ctx, db, version); err == nil && version < schemaVersion {
		err = errNotMigrated
	}
	return err
}

// knownSchema refuses a database whose tables no migration of this build made.
func knownSchema(ctx context.Context, db *sql.DB, version int64) error {
	var pre int64
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM marks WHERE name = '"+preMark+"'").Scan(&pre)
	switch {
	case sqlitePasses(err) || postgresPasses(err):
		return err
	case err != nil || pre > 0: // the oldest have no marks
		return errOlderSchema
	case version > schemaVersion:
		return errNewerSchema
	}
	return nil
}

// schemaOf reads the version of a database's schema.
func schemaOf(db *sql.DB) (version int64, err error) {
	err = db.QueryRow("SELECT max(version_id) FROM goose_db_version").Scan(&version)
	if err != nil && !sqlitePasses(err) && !postgresPasses(err) {
		err = fmt.Errorf("it is no database of jobeff: %v", err)
	}
	return version, err
}

func (d dialect) provider(db *sql.DB) (*goose.Provider, error) {
	if d.err != nil {
		return nil, d.err
	}
	var steps []*goose.Migration
	for version := range int64(schemaVersion) {
		text, err := d.step(version + 1)
		if err != nil {
			return nil, err
		}
		steps = append(steps, goose.NewGoMigration(version+1, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, text) // without arguments both drivers take several statements
			return err
		}}, nil))
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(steps...)}
	if d.locker != nil {
		options = append(options, goose.WithSessionLocker(d.locker))
	}
	return goose.NewProvider(d.goose, db, nil, options...)
}

// step is the text of a migration: what all engines read, and then the engine's own.
func (d dialect) step(version int64) (text string, err error) {
	names, err := fs.Glob(migrations, fmt.Sprintf("migrations/%05d_*.sql", version))
	if err != nil || len(names) != 1 {
		return "", fmt.Errorf("schema %d has %d files: %w", version, len(names), err)
	}
	all, err := migrations.ReadFile(names[0])
	own, missing := migrations.ReadFile(path.Join("migrations", d.folder, path.Base(names[0])))
	if errors.Is(missing, fs.ErrNotExist) {
		missing = nil
	}
	return string(slices.Concat(all, own)), errors.Join(err, missing)
}
