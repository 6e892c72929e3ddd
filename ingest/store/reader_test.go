package store

import (
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
