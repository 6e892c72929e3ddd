package admin

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jobeff/cmd/cli"
)

// TestEveryCommandIsHandedOn: jobeff has each of these commands under its name.
func TestEveryCommandIsHandedOn(t *testing.T) {
	all := Command().Commands()
	for _, c := range all {
		if c.Short == "" {
			t.Errorf("cli.DatabaseCommands lacks %s", c.Name())
		}
	}
	if len(all) != len(cli.DatabaseCommands) {
		t.Errorf("%d commands, cli.DatabaseCommands has %d", len(all), len(cli.DatabaseCommands))
	}
}

// run runs a command without a database; it may take a minute.
func run(t *testing.T, args ...string) error {
	t.Helper()
	c := Command()
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.SetIn(bytes.NewReader(nil))
	c.SilenceErrors, c.SilenceUsage = true, true
	done := make(chan error, 1)
	go func() { done <- c.Execute() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%v hangs", args)
		return nil
	}
}

// What is read must be a regular file: nobody may ever write to a FIFO, and a device never ends.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"import"}, {"overhead", "import"}, {"overhead", "plot"}} {
		for _, path := range []string{fifo, "/dev/zero", dir} {
			err := run(t, append(command, path)...)
			if err == nil || !strings.Contains(err.Error(), path+" is not a regular file: name one, or read it to standard input and name -") {
				t.Errorf("%v %s: %v", command, path, err)
			}
		}
	}
}

const curve = `[{"msgsize": 8, "iterations": 1000, "iter_t": 9.465, "work_t": 8.608, "overhead": 0.858, "base_t": 3.990, "avail": 78.5}]`

// A picture never takes the place of a file, nor of one behind a link.
func TestPictureIsANewFile(t *testing.T) {
	dir := t.TempDir()
	in, kept, link := filepath.Join(dir, "in.json"), filepath.Join(dir, "kept"), filepath.Join(dir, "link")
	for file, text := range map[string]string{in: curve, kept: "kept"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	for _, svg := range []string{kept, link} {
		if err := run(t, "overhead", "plot", "--svg", svg, in); err == nil || !strings.Contains(err.Error(), svg+" exists: name a new file") {
			t.Errorf("%s: %v", svg, err)
		}
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "kept" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
	if err := run(t, "overhead", "plot", "--svg", filepath.Join(dir, "new.svg"), in); err != nil {
		t.Error(err)
	}
}
