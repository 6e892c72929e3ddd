package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
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
		{"to everybody", []Grant{{Everybody, ""}, {1, "bio"}}, true, []Viewer{{UID: 1, All: true, Guest: true, Accounts: []string{"bio"}}, {UID: 2, All: true, Guest: true}, {UID: 3, All: true, Guest: true}}},
		{"to everybody, one operates", []Grant{{Everybody, ""}, {2, ""}}, true, []Viewer{{UID: 1, All: true, Guest: true}, {UID: 2, All: true}, {UID: 3, All: true, Guest: true}}},
		{"to everybody, closed", []Grant{{Everybody, ""}, {1, "bio"}}, false, []Viewer{{UID: 1, Accounts: []string{"bio"}}, {UID: 2}, {UID: 3}}},
		{"none again", nil, true, []Viewer{{UID: 1}, {UID: 2}, {UID: 3}}},
	} {
		if err := s.SetGrants(ctx, "", c.grants); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			got, err := beside.Viewer(ctx, "", uint32(i+1), c.open)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%s: %s, %v", c.name, d, err)
			}
		}
	}
}

// TestGuest: who sees all jobs only since Slurm lets everybody see them changes nothing of others', and learns
// nothing of how the site is run, or of what others were told in shadow.
func TestGuest(t *testing.T) {
	s := open(t)
	addConfirmed(t, s, runReport(7, 1, 2, named("melt")))
	for i, shadow := range []bool{false, true} {
		m := mailOf(fmt.Sprint("notice:", i))
		m.Told[0].Subject, m.Told[0].Shadow, m.Told[0].Workload = fmt.Sprint(i), shadow, job.WorkloadKey("test", alice.UID, &runReport(7, 1, 2, named("melt")).Executions[0])
		if _, err := s.DecideMail(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	guest := Viewer{UID: bob.UID, All: true, Guest: true}
	mute := job.Mute{Since: day, Until: day.Add(oneDay)}
	for _, c := range []struct {
		by      Viewer
		changes bool // of alice's
		told    int
	}{{guest, false, 1}, {Viewer{UID: alice.UID, All: true, Guest: true}, true, 1}, {root, true, 2}} {
		if _, err := s.Job(ctx, c.by, slurmid.Ref{ID: 7}, 0); err != nil {
			t.Errorf("%+v: %v", c.by, err)
		}
		if _, err := s.SetMute(ctx, c.by, "melt", nil, mute); (err == nil) != c.changes || err != nil && !errors.Is(err, ErrNoWorkload) {
			t.Errorf("%+v mutes: %v", c.by, err)
		}
		if _, err := s.ClearMute(ctx, c.by, "melt", nil); (err == nil) != c.changes || err != nil && !errors.Is(err, ErrNoWorkload) {
			t.Errorf("%+v ends a mute: %v", c.by, err)
		}
		if _, err := s.NoticeOf(ctx, c.by, "7", "r"); (err == nil) != c.changes || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v finds a notice: %v", c.by, err)
		}
		if _, err := s.TwoWeeks(ctx, c.by, day, day.Add(oneDay), nil); (err == nil) != c.by.Operates() || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v gets a digest: %v", c.by, err)
		}
		if told, err := s.ToldOf(ctx, c.by, day); err != nil || len(told) != c.told {
			t.Errorf("%+v knows of %d notices: %v", c.by, len(told), err)
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
