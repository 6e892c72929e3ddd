// Package mungetest starts a real munged for a test, with a key, a socket and a
// directory of its own. Only tests import it.
package mungetest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"jobeff/ingest/munge"
	"jobeff/test/trial"
)

// Start runs a munged in the foreground until the test ends and returns its socket. It skips the test if munge
// is not installed, unless JOBEFF_TEST_ALL is set, as `make test` does.
func Start(t testing.TB) (socket string) {
	t.Helper()
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
	run(t, dir)
	return filepath.Join(dir, "socket")
}

// Skewed starts another munged with the key of the one at socket, on a machine whose clock is wrong by offset,
// in faketime's form ("-10m").
func Skewed(t testing.TB, socket, offset string) (skewed string) {
	t.Helper()
	lib, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(lib) == 0 {
		if os.Getenv("JOBEFF_TEST_ALL") != "" {
			t.Fatal("faketime is not installed")
		}
		t.Skip("faketime is not installed")
	}
	skewed = Start(t)
	Restart(t, skewed, socket, "LD_PRELOAD="+lib[0], "FAKETIME="+offset)
	return skewed
}

// Restart ends a munged, which then forgets the credentials that it has seen. It starts it again with the key
// of the one at like and more environment.
func Restart(t testing.TB, socket, like string, env ...string) {
	t.Helper()
	running[socket].End(syscall.SIGKILL)
	dir := filepath.Dir(socket)
	key, err := os.ReadFile(filepath.Join(filepath.Dir(like), "key"))
	if err == nil && like != socket {
		os.Remove(filepath.Join(dir, "key")) // a user may not write into it
		err = os.WriteFile(filepath.Join(dir, "key"), key, 0o400)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, env...)
}

// running holds the process of each socket; tests of one package start them one at a time.
var running = map[string]*trial.Server{}

// run starts munged and waits until it makes credentials.
func run(t testing.TB, dir string, env ...string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	cmd := exec.Command(program(t), "--foreground", "--force", "--socket="+in("socket"), "--key-file="+in("key"),
		"--pid-file="+in("pid"), "--seed-file="+in("seed"))
	cmd.Env = append(os.Environ(), env...)
	running[in("socket")] = trial.Serve(t, cmd, func() bool {
		_, err := munge.Encode(in("socket"), []byte("up"), 0)
		return err == nil
	})
}

// program finds munged, which may be out of PATH.
func program(t testing.TB) string {
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
	return bin
}
