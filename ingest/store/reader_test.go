package store

import (
	"os"
	"testing"
)

// TestLongReader: a long read transaction blocks no write, and sees the same data throughout.
func TestLongReader(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(1, 1, "a", 0))
	tx, err := s.read.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	seen := func() (n int) {
		if err := tx.QueryRow("SELECT count(*) FROM reports").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := seen(); n != 1 {
		t.Fatalf("%d reports", n)
	}
	const more = 500
	for job := range uint32(more) {
		add(t, s, nodeReport(2+job, 1, "a", 0))
	}
	if n := seen(); n != 1 {
		t.Errorf("the reader sees %d reports, of 1 when it began", n)
	}
	tx.Rollback()
	if n := count(t, s, "reports"); n != 1+more {
		t.Errorf("%d reports", n)
	}
}

// TestLogShrinks: a long read makes the write-ahead log grow. After it the log is written back
// and shrinks to its limit.
func TestLogShrinks(t *testing.T) {
	onlySQLite(t, "its log is a file of SQLite's")
	s := open(t)
	job := uint32(0)
	write := func() {
		job++
		if _, err := s.AddReport(ctx, Sender{}, nodeReport(job, 1, "a", 0), make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		info, err := os.Stat(s.engine.name() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	write()
	tx, err := s.read.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := tx.QueryRow("SELECT count(*) FROM reports").Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	for size() < walLimit+(8<<20) && job < 100 {
		write()
	}
	held := size()
	tx.Rollback()
	for range 3 { // the first writes it back, the next begins it anew
		write()
	}
	if now := size(); held <= walLimit || now > walLimit {
		t.Errorf("the log had %d MiB while it was held, and has %d", held>>20, now>>20)
	}
}
