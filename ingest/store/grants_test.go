package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGrants: the grants that were set last hold, also for another process; older ones do not.
func TestGrants(t *testing.T) {
	database := newDatabase(t)
	s := openAt(t, database)
	beside, err := OpenBeside(database)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	both := []Grant{{1, "chem"}, {1, "bio"}, {2, ""}, {1, "chem"}}
	for _, c := range []struct {
		name   string
		grants []Grant
		open   bool
		want   []Viewer // of 1, 2 and 3
	}{
		{"none", nil, true, []Viewer{{UID: 1}, {UID: 2}, {UID: 3}}},
		{"some", both, true, []Viewer{{UID: 1, Accounts: []string{"bio", "chem"}}, {UID: 2, All: true}, {UID: 3}}},
		{"the same", both, true, []Viewer{{UID: 1, Accounts: []string{"bio", "chem"}}, {UID: 2, All: true}, {UID: 3}}},
		{"to everybody", []Grant{{Everybody, ""}, {1, "bio"}}, true, []Viewer{{UID: 1, All: true, Accounts: []string{"bio"}}, {UID: 2, All: true}, {UID: 3, All: true}}},
		{"to everybody, closed", []Grant{{Everybody, ""}, {1, "bio"}}, false, []Viewer{{UID: 1, Accounts: []string{"bio"}}, {UID: 2}, {UID: 3}}},
		{"none again", nil, true, []Viewer{{UID: 1}, {UID: 2}, {UID: 3}}},
	} {
		if err := s.SetGrants(ctx, c.grants); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			got, err := beside.Viewer(ctx, uint32(i+1), c.open)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: %s, %v", c.name, d, err)
			}
		}
	}
}

// TestReadEnds: a query ends with its context, however much there is to read, and says why.
func TestReadEnds(t *testing.T) {
	s := open(t)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	var n int64
	err := s.read.QueryRowContext(short, "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many) SELECT count(*) FROM many").Scan(&n)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %d", err, n)
	}
}
