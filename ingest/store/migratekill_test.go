package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// migrateEnv makes TestMigrateKilled only open the database that it names.
const migrateEnv = "JOBEFF_TEST_MIGRATE"

// TestMigrateKilled kills a process that migrates an old database, a bit later each time,
// until one finishes. The next process can always go on, and all jobs are there.
func TestMigrateKilled(t *testing.T) {
	onlySQLite(t, "the fixtures are SQLite's")
	if path := os.Getenv(migrateEnv); path != "" {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		return
	}
	text, err := os.ReadFile("testdata/schema-1.sql")
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
	kills := 0
	for !migrateFor(t, path, time.Duration(kills)*time.Millisecond) {
		kills++
	}
	if kills == 0 {
		t.Error("it was not killed once")
	}
	t.Logf("%d kills", kills)
	s := openAt(t, path)
	for _, id := range []string{"7", "9_3", "12"} {
		if j := aJob(t, s, alice, id, 0); j.Metrics == nil || len(j.Executions) != 1 {
			t.Errorf("job %s: %+v", id, j)
		}
	}
	add(t, s, nodeReport(20, 1, "a", 0))
}

// migrateFor runs a process that migrates, kills it after a time, and says whether it had
// finished. If it failed by itself, the test fails.
func migrateFor(t *testing.T, path string, most time.Duration) (done bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestMigrateKilled$")
	cmd.Env = append(os.Environ(), migrateEnv+"="+path)
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(most, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() > 0 {
		text, _ := os.ReadFile(out.Name())
		t.Fatalf("after %v: %v\n%s", most, err, text)
	}
	return err == nil
}
