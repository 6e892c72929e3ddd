package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// ErrDamaged is an ErrUnavailable: the database's own pages are wrong. Nothing is written into it any more, so
// nodes keep their reports until it is mended and jobeffd is started again.
var ErrDamaged = fmt.Errorf("%w: it is damaged", ErrUnavailable)

// IsDamage recognizes what SQLite and PostgreSQL say of wrong pages.
func IsDamage(err error) bool {
	if e := new(pgconn.PgError); errors.As(err, &e) {
		return e.Code == "XX001" || e.Code == "XX002" // data_corrupted, index_corrupted
	}
	var e sqlite3.Error
	return errors.Is(err, ErrDamaged) || errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}

// NameDamage makes an ErrDamaged of what IsDamage recognizes, and leaves other errors as they are.
func NameDamage(err error) error {
	if IsDamage(err) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// checkEvery is how often the whole database is read to find damage that nothing else has met.
const checkEvery = 7 * 24 * time.Hour

// markChecked names the mark of when it was read last and was whole. A time long ago asks for a look now.
const markChecked = "checked"

// Suspect has the database looked at soon, by the jobeffd that takes reports: somebody met a wrong page.
func (s *Store) Suspect(ctx context.Context) {
	if s.suspected.CompareAndSwap(false, true) {
		_ = s.SetMark(ctx, markChecked, time.Unix(0, 0)) // for another process, and the next start
	}
}

// Damaged says that the database was found damaged since it was opened.
func (s *Store) Damaged() bool { return s.damaged.Load() }

// Check reads the whole database if it is time to, or if it is suspected. found is what is wrong; from then on
// nothing is written.
func (s *Store) Check(ctx context.Context, now time.Time) (found string, err error) {
	last, err := s.Mark(ctx, markChecked)
	if err != nil && !IsDamage(err) || s.Damaged() {
		return "", err
	}
	if err == nil && !s.suspected.Load() && last.After(now.Add(-checkEvery)) {
		return "", nil
	}
	if found, err = s.engine.check(ctx); err != nil {
		return "", unavailable(err)
	}
	if found != "" {
		s.suspected.Store(false)
		s.Suspect(ctx)
		s.damaged.Store(true)
		return found, nil
	}
	s.suspected.Store(false)
	return "", s.SetMark(ctx, markChecked, now)
}

// check reads each page and compares what they say of each other (pragma.html#pragma_quick_check).
func (e *sqliteEngine) check(ctx context.Context) (found string, err error) {
	db, err := e.openRead()
	if err != nil {
		return "", err
	}
	defer db.Close()
	if err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); IsDamage(err) {
		return err.Error(), nil
	}
	if found == "ok" {
		found = ""
	}
	return found, err
}

// check looks at nothing: PostgreSQL has checksums of its own, and says what it meets.
func (e *pgEngine) check(context.Context) (string, error) { return "", nil }
