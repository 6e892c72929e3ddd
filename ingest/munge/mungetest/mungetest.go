// Package mungetest starts a real munged for a test, with a key, a socket and a
// directory of its own. Only tests import it.
package mungetest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"jobeff/ingest/munge"
)

// Start runs a munged in the foreground until the test ends and returns its
// socket. The test is skipped where munge is not installed, unless
// JOBEFF_TEST_ALL is set, as `make test` does.
func Start(t testing.TB) (socket string) {
	t.Helper()
	bin, err := exec.LookPath("munged")
	if err != nil {
		bin = "/usr/sbin/munged"
	}
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("JOBEFF_TEST_ALL") != "" {
			t.Fatal("munged is not installed")
		}
		t.Skip("munged is not installed")
	}
	dir, err := os.MkdirTemp("", "mungetest") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := make([]byte, 128)
	rand.Read(key)
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o400); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o711)
	run(t, bin, dir)
	return filepath.Join(dir, "socket")
}

// run starts munged and waits until it makes credentials.
func run(t testing.TB, bin, dir string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	cmd := exec.Command(bin, "--foreground", "--force", "--socket="+in("socket"), "--key-file="+in("key"),
		"--log-file="+in("log"), "--pid-file="+in("pid"), "--seed-file="+in("seed"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := munge.Encode(in("socket"), []byte("up"), 0); err == nil {
			return
		}
	}
	log, _ := os.ReadFile(in("log"))
	t.Fatalf("munged does not start: %s", log)
}
