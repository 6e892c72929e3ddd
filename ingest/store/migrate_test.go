package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMigrate: a database of every schema before this one, as the program of then left
// it, is brought up to date with all that stands in it, and takes new reports.
func TestMigrate(t *testing.T) {
	onlySQLite(t, "the fixtures are SQLite's")
	fixtures, err := filepath.Glob("testdata/schema-*.sql")
	if err != nil || len(fixtures) < 2 {
		t.Fatalf("%d fixtures, %v", len(fixtures), err)
	}
	for i := range fixtures {
		version := i + 1
		text, err := os.ReadFile(fmt.Sprintf("testdata/schema-%d.sql", version))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "jobeff.db")
		old, err := connect(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := old.Exec(string(text)); err != nil {
			t.Fatal(err)
		}
		old.Close()
		s := openAt(t, path)
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
		add(t, s, runReport(20, 5, 2, named("new")))
		if w, err := s.Workload(ctx, alice, "new", nil); err != nil || len(w.Runs) != 1 {
			t.Errorf("schema %d: %v, %v", version, w, err)
		}
		if version < 2 { // there were no workloads
			continue
		}
		w, err := s.Workload(ctx, alice, "melt", nil)
		if err != nil || len(w.Runs) != 2 || w.Runs[1].Ranks != 2 || w.Mute == nil || w.Mute.Reason != "I know" {
			t.Errorf("schema %d: %+v, %v", version, w, err)
		}
	}
}
