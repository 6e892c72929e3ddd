package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// TestCheckIsWeekly: the whole database is read a week after it was found whole, or when somebody suspects it,
// also in another process. Once it is found damaged nothing is written.
func TestCheckIsWeekly(t *testing.T) {
	onlySQLite(t, "PostgreSQL looks after its pages itself")
	for name, suspects := range map[string]bool{"a week later": false, "suspected": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobeff.db")
			s := openAt(t, path)
			if _, err := s.AddReport(ctx, Sender{}, nodeReport(7, 1, "a", 0), make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			check := func(at time.Time) string {
				t.Helper()
				found, err := s.Check(ctx, at)
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			if found := check(now); found != "" {
				t.Fatal(found)
			}
			s.Close()
			breakReport(t, path)
			s = openAt(t, path)
			if found := check(now.Add(checkEvery - time.Second)); found != "" {
				t.Fatalf("it is read too early: %s", found)
			}
			at := now.Add(checkEvery + time.Second)
			if suspects {
				beside, err := OpenBeside(path)
				if err != nil {
					t.Fatal(err)
				}
				beside.Suspect(ctx)
				beside.Close()
				at = now
			}
			if found := check(at); found == "" || !s.Damaged() {
				t.Error("the damage is not found")
			}
			if err := s.SetMark(ctx, "x", now); !errors.Is(err, ErrDamaged) || !errors.Is(err, ErrUnavailable) {
				t.Errorf("it is written: %v", err)
			}
		})
	}
}

// breakReport overwrites a page near the file's end, one of the chain that a large report takes.
func breakReport(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(make([]byte, 4096), st.Size()-10*4096)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestIsDamage: what either database says of its own pages.
func TestIsDamage(t *testing.T) {
	for err, want := range map[error]bool{
		sqlite3.Error{Code: sqlite3.ErrCorrupt}: true, sqlite3.Error{Code: sqlite3.ErrNotADB}: true, sqlite3.Error{Code: sqlite3.ErrBusy}: false,
		&pgconn.PgError{Code: "XX001"}: true, &pgconn.PgError{Code: "XX002"}: true, &pgconn.PgError{Code: "53100"}: false, ErrDamaged: true, ErrUnavailable: false,
	} {
		if got := IsDamage(fmt.Errorf("x: %w", err)); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
