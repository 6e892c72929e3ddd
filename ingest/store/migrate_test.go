package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
)

// databaseOf is a database as the program of an earlier schema left it.
func databaseOf(t *testing.T, version int) (path string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/schema-%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "jobeff.db")
	old, err := connect(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.Exec(string(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMigrate brings a database of every earlier schema up to date. All that it holds is
// there, but for figures that cannot be, and it accepts new reports.
func TestMigrate(t *testing.T) {
	onlySQLite(t, "the fixtures are SQLite's")
	fixtures, err := filepath.Glob("testdata/schema-*.sql")
	if err != nil || len(fixtures) < 2 {
		t.Fatalf("%d fixtures, %v", len(fixtures), err)
	}
	for i := range fixtures {
		version := i + 1
		s := openAt(t, databaseOf(t, version))
		for id, uid := range map[string]uint32{"7": 1001, "9_3": 1001, "12": 1001, "13": 1002} {
			j := aJob(t, s, Viewer{UID: uid}, id, 0)
			if j.Metrics == nil || len(j.Executions) != 1 || len(j.Executions[0].Calls) != 1 || j.UID != uid {
				t.Errorf("schema %d, job %s: %+v", version, id, j)
			}
		}
		if j := aJob(t, s, alice, "7", 0); j.State != "COMPLETED" || j.Name != "sim?" || j.CPUs != 4 {
			t.Errorf("schema %d: %+v", version, j)
		}
		if w, err := s.WorkloadOf(ctx, alice, aJob(t, s, alice, "7", 0)); w != nil || err != nil {
			t.Errorf("schema %d: its arguments are not known: %v, %v", version, w, err)
		}
		addConfirmed(t, s, runReport(20, 5, 2, named("new")))
		if w, err := s.Workload(ctx, alice, "new", nil); err != nil || len(w.Runs) != 1 {
			t.Errorf("schema %d: %v, %v", version, w, err)
		}
		if version < 2 { // schema 1 had no workloads
			continue
		}
		w, err := s.Workload(ctx, alice, "melt", nil)
		if err != nil || len(w.Runs) != 1 || w.Runs[0].Ranks != 2 || // the other one's efficiency is above 1
			w.Mute == nil || w.Mute.Reason != "I know" {
			t.Errorf("schema %d: %+v, %v", version, w, err)
		}
		wantRefused(t, s, "15")
	}
}

// wantRefused: a job that an earlier jobeff stored with figures that cannot be shows none, in a
// page and in a list, and says why.
func wantRefused(t *testing.T, s *Store, id string) {
	t.Helper()
	list, err := s.Jobs(ctx, alice, job.JobQuery{Jobs: id}, nil)
	if err != nil || len(list.Jobs) != 1 {
		t.Fatal(list, err)
	}
	for place, j := range map[string]*job.Job{"page": aJob(t, s, alice, id, 0), "list": &list.Jobs[0]} {
		if j.Metrics != nil || len(j.Executions) > 0 || j.NoData != job.WarningText[job.WarnImpossible] || jobtest.Codes(j.Warnings) != job.WarnImpossible || j.User != "alice" {
			t.Errorf("%s: %+v", place, j)
		}
	}
}

// TestEverySchemaHasAFixture: the fixtures hold a database of every earlier schema.
func TestEverySchemaHasAFixture(t *testing.T) {
	files, err := migrations.ReadDir("migrations")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files[:len(files)-1] {
		var version int
		fmt.Sscanf(f.Name(), "%d_", &version)
		if _, err := os.Stat(fmt.Sprintf("testdata/schema-%d.sql", version)); err != nil {
			t.Errorf("%v: write it with the program of that schema, as CONTRIBUTING.md says", err)
		}
	}
}

// TestFillTimes: columns that an earlier jobeff did not have are filled in; until then a
// warning says so.
func TestFillTimes(t *testing.T) {
	onlySQLite(t, "the fixtures are SQLite's")
	s := openAt(t, databaseOf(t, 8))
	listed := func() *job.Job {
		list, err := s.Jobs(ctx, alice, job.JobQuery{Jobs: "30"}, nil)
		if err != nil || len(list.Jobs) != 1 {
			t.Fatal(list, err)
		}
		return &list.Jobs[0]
	}
	if before := listed(); jobtest.Codes(before.Warnings) != job.WarnTimesUnknown || before.Metrics.IOTime != 0 {
		t.Errorf("before: %v, %+v", before.Warnings, before.Metrics)
	}
	whole := aJob(t, s, alice, "30", 0).Metrics
	if whole.IOTime != 4 || whole.WaitTime != 6 {
		t.Errorf("the job: %+v", whole)
	}
	if _, err := s.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	after := listed()
	if d := cmp.Diff(whole, after.Metrics); d != "" || len(after.Warnings) > 0 {
		t.Errorf("after: %v%s", after.Warnings, d)
	}
	if n, err := readRows(s.read.QueryContext(ctx, "SELECT 1 FROM attempts a JOIN executions e USING (cluster, job_id, attempt) WHERE a.ranks > 0 AND (a.io_time_s IS NULL OR e.wait_time_s IS NULL)")); len(n) > 0 || err != nil {
		t.Errorf("%d are left, %v", len(n), err)
	}
}

// TestSchemaChanged: another program migrates the database under a running one, which then
// says what to do. It does not say that the fault passes.
func TestSchemaChanged(t *testing.T) {
	s := open(t)
	add(t, s, nodeReport(1, 1, "a", 0))
	if err := s.do(ctx, func(w *writer) error { return w.exec("ALTER TABLE attempts RENAME TO starts") }); err != nil {
		t.Fatal(err)
	}
	_, write := addReport(s, nodeReport(2, 1, "a", 0))
	_, read := s.Job(ctx, alice, job.JobRef{ID: 1}, 0)
	for _, err := range []error{write, read} {
		if !errors.Is(err, errSchema) || errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	}
}
