package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// testMigrate makes the test's program only open the database that it names.
const testMigrate = "JOBEFF_STORE_TEST_MIGRATE"

// testRetain makes it also drop the old jobs.
const testRetain = "JOBEFF_STORE_TEST_RETAIN"

func TestMain(m *testing.M) {
	if database := os.Getenv(testMigrate); database != "" {
		s, err := Open(database)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if os.Getenv(testRetain) != "" {
			_, err = s.Retain(ctx, Retention{Jobs: oneDay}, day.Add(10*oneDay), nil)
		}
		if seed := os.Getenv(testHistory); seed != "" {
			err = errors.Join(err, history(s, rand.New(rand.NewPCG(uint64(seed[0]), 2)), 1e6, func(string) error { fmt.Print("."); return nil }))
		}
		if err := errors.Join(err, s.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func migrateInChild(database string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), testMigrate+"="+database)
	return cmd
}

// TestMigrationKilled kills a process at any moment while it makes the tables. The next process goes
// on from there. (Fault 50.)
func TestMigrationKilled(t *testing.T) {
	const rounds = 15
	begin := time.Now()
	if out, err := migrateInChild(emptyDatabase(t)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	longest := time.Since(begin)
	amid := 0
	for i := range rounds {
		database := emptyDatabase(t)
		cmd := migrateInChild(database)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(longest*time.Duration(i)/rounds + time.Duration(rand.Int64N(int64(5*time.Millisecond))))
		cmd.Process.Kill()
		cmd.Wait()
		version := int64(0)
		if e, err := openBeside(database); err == nil {
			version, _ = schemaOf(e.writeDB())
			e.close()
		}
		if version < schemaVersion {
			amid++
		}
		s, err := Open(database)
		if err != nil {
			t.Fatalf("killed at schema %d: %v", version, err)
		}
		if v, err := s.version(); v != schemaVersion || err != nil {
			t.Errorf("killed at schema %d: schema %d, %v", version, v, err)
		}
		addConfirmed(t, s, runReport(20_000, 5, 2, nil))
		s.Close()
	}
	if amid < 2 {
		t.Errorf("only %d of %d were killed before the end", amid, rounds)
	}
	t.Logf("%d of %d were killed before the end", amid, rounds)
}

// TestMigrateTwice: two daemons start on one database at the same time.
func TestMigrateTwice(t *testing.T) {
	if os.Getenv(testServer) == "" {
		t.Skip("a file has one daemon")
	}
	database := emptyDatabase(t)
	errs := make(chan error)
	for range 2 {
		go func() {
			s, err := Open(database)
			if err == nil {
				s.Close()
			}
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestRetainKilled kills a process that drops old jobs, again and again, until one finishes. Each
// job then counts in its month, once.
func TestRetainKilled(t *testing.T) {
	const jobs = 500
	database := newDatabase(t)
	s := openAt(t, database)
	for id := range uint32(jobs) {
		add(t, s, nodeReport(1+id, 1, "a", 0))
	}
	merged(t, s).Close()
	kills := 0
	for done := false; !done; {
		cmd := migrateInChild(database)
		cmd.Env = append(cmd.Env, testRetain+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(20+10*kills)*time.Millisecond, func() { cmd.Process.Kill() })
		done = cmd.Wait() == nil
		timer.Stop()
		if code := cmd.ProcessState.ExitCode(); code > 0 {
			t.Fatalf("after %d kills: exit %d", kills, code)
		}
		if !done {
			kills++
		}
	}
	s = openAt(t, database)
	if m, left := months(t, s), count(t, s, "attempts"); len(m) != 1 || m[0].Jobs != jobs || left != 0 {
		t.Errorf("after %d kills the months count %+v, %d jobs are left, want %d in one month", kills, m, left, jobs)
	}
	if kills == 0 {
		t.Error("it was not killed once")
	}
	t.Logf("%d kills", kills)
}
