package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion is the newest migration that this build knows.
const schemaVersion = 1

// markSchema names the mark that holds schemaMark.
const markSchema = "schema"

// schemaMark tells the schemas of different commits apart: until the first release all are
// version 1.
var schemaMark = func() int64 {
	h := fnv.New32a()
	text, _ := migrations.ReadFile("migrations/00001_schema.sql") // embedded
	h.Write(text)
	io.WriteString(h, strings.Join(monthWords, ""))
	return int64(h.Sum32())
}()

// dialect is how an engine's SQL differs from SQLite's.
type dialect struct {
	goose  goose.Dialect
	rebind func(query string) string
	words  []string           // of the migrations, and what replaces them
	locker lock.SessionLocker // nil: only one process uses the engine
	err    error              // from making it
}

// errOtherSchema refuses a database whose tables are another commit's.
var errOtherSchema = errors.New("another version of jobeffd made this database, and before the first release they differ: export it with that version (jobeff admin export --json FILE), let server.database name a new one, start this jobeffd, and add the jobs with jobeff admin import FILE")

// migrate makes the tables. Each migration is a transaction, so a killed one leaves a version
// from which the next start goes on.
func (d dialect) migrate(ctx context.Context, db *sql.DB) error {
	p, err := d.provider(db)
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return errOtherSchema
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	return checkSchema(ctx, db)
}

// checkSchema refuses a database whose tables are not those of this build.
func checkSchema(ctx context.Context, db *sql.DB) error {
	version, err := schemaOf(db)
	if err != nil {
		return err
	}
	if version == 0 {
		return errors.New("it is empty: jobeffd or `jobeff admin migrate` makes its tables")
	}
	var mark int64
	err = db.QueryRowContext(ctx, "SELECT time_us FROM marks WHERE name = '"+markSchema+"'").Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (version != schemaVersion || mark != schemaMark) {
		return errOtherSchema
	}
	return err
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
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if d.locker != nil {
		options = append(options, goose.WithSessionLocker(d.locker))
	}
	words := strings.NewReplacer(slices.Concat([]string{"SCHEMA_MARK", strconv.FormatInt(schemaMark, 10)}, monthWords, d.words)...)
	return goose.NewProvider(d.goose, db, replacedFiles{files, words}, options...)
}

// replacedFiles are the migrations in an engine's own words.
type replacedFiles struct {
	fs.FS
	words *strings.Replacer
}

// Open returns a migration's text with the words replaced.
func (r replacedFiles) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	text, err := fs.ReadFile(r.FS, name)
	return &replacedFile{f, strings.NewReader(r.words.Replace(string(text)))}, err
}

type replacedFile struct {
	fs.File
	text *strings.Reader
}

// Read reads the replaced text.
func (f *replacedFile) Read(p []byte) (int, error) { return f.text.Read(p) }
