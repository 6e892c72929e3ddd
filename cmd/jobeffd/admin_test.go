package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jobeff/cmd/cli"
	"jobeff/ingest/store"
)

// adminProcess is a jobeffd admin in a process of its own.
func adminProcess(args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	cmd, stderr = exec.Command("/proc/self/exe", append([]string{"admin"}, args...)...), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), "JOBEFFD_TEST=1", "JOBEFF_CONFIG=/dev/null")
	cmd.Stderr = stderr
	return cmd, stderr
}

func TestAdminExits(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"":                            {cli.ExitOK, ""},
		"nonsense":                    {cli.ExitUsage, "jobeffd: jobeffd admin knows no \"nonsense\": see jobeffd admin --help\n"},
		"size --nonsense":             {cli.ExitUsage, "jobeffd: unknown flag: --nonsense: see jobeffd admin size --help\n"},
		"size --database /no/such.db": {cli.ExitError, "jobeffd: store: open /no/such.db: no such file"},
	} {
		cmd, stderr := adminProcess(strings.Fields(args)...)
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.HasPrefix(stderr.String(), want.says) {
			t.Errorf("%q: exit %d, %q; want %d, %q", args, code, stderr, want.code, want.says)
		}
	}
}

// TestAdminInterrupted: a command that waits for its input ends at a signal. The daemon would
// catch it.
func TestAdminInterrupted(t *testing.T) {
	database := filepath.Join(t.TempDir(), "jobeff.db")
	db, err := store.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cmd, _ := adminProcess("import", "--database", database, "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat(" ", 1<<20)); err != nil { // more than a pipe holds: it reads
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
		t.Errorf("%v, want killed by SIGINT", cmd.ProcessState)
	}
}
