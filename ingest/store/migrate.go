package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// dialect is how an engine's SQL differs from SQLite's.
type dialect struct {
	goose   goose.Dialect
	rebind  func(query string) string
	replace *strings.Replacer  // words of the migrations that differ; nil: none
	locker  lock.SessionLocker // nil: only one process uses the engine
	err     error              // from making it
}

// migrate brings the schema to this build's version. Each step is a transaction, so a killed
// migration leaves a version from which the next start goes on. migrate refuses a newer
// schema: an old program must not write into it.
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
		return fmt.Errorf("the database has schema %d and this jobeffd knows %d: install the newer jobeffd that wrote it", have, want)
	}
	_, err = p.Up(ctx)
	return err
}

// newestSchema is the schema that this build knows.
func newestSchema() (version int64) {
	files, _ := migrations.ReadDir("migrations") // embedded
	for _, f := range files {
		var n int64
		fmt.Sscanf(f.Name(), "%d_", &n)
		version = max(version, n)
	}
	return version
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
	if d.replace != nil {
		files = replacedFiles{files, d.replace}
	}
	return goose.NewProvider(d.goose, db, files, options...)
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
