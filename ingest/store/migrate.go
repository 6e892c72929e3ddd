package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema to this build's version, each step in a transaction
// of its own, so that a kill leaves a version from which the next start goes on.
// A newer schema is refused: an old program must not write into it.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
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
