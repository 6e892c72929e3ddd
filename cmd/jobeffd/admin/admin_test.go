package admin

import (
	"bytes"
	"errors"
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

// TestOnlyRegularFilesAreRead: nobody may ever write to a FIFO, and a device may never end.
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

// TestPictureIsANewFile: a picture never takes the place of a file, nor of one behind a link.
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

// TestLinksOfAnIntruder: an intruder who is jobeffd's user puts links in the place of its files. When root
// looks after the database, nothing is written through them. Files that root names belong to root.
func TestLinksOfAnIntruder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	const nobody = 65534
	t.Setenv("JOBEFF_CONFIG", "/dev/null")
	dir, roots := t.TempDir(), filepath.Join(t.TempDir(), "roots")
	database, empty, made := filepath.Join(dir, "jobeff.db"), filepath.Join(roots, "empty"), filepath.Join(roots, "made")
	backup, export := filepath.Join(roots, "backup"), filepath.Join(roots, "export")
	fine := func(all ...error) {
		t.Helper()
		if err := errors.Join(all...); err != nil {
			t.Fatal(err)
		}
	}
	owner := func(file string) int {
		info, err := os.Stat(file)
		fine(err)
		return int(info.Sys().(*syscall.Stat_t).Uid)
	}
	anew := func() {
		t.Helper()
		os.Remove(database)
		fine(os.WriteFile(database, nil, 0o600), os.Chown(database, nobody, nobody))
	}
	do := func(args ...string) error { return run(t, append(args, "--database", database)...) }

	fine(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, nobody, nobody), os.Mkdir(roots, 0o700), os.WriteFile(empty, nil, 0o600))
	anew()
	fine(do("migrate"), do("backup", backup), do("restore", backup), do("export", "--json", export),
		do("import", export), do("prune", "--older", "9days"), do("notices"))
	if owner(database) != nobody || owner(backup) != 0 || owner(export) != 0 || os.Geteuid() != 0 || os.Getegid() != 0 {
		t.Fatalf("owners: %d, %d, %d; root is left as %d:%d", owner(database), owner(backup), owner(export), os.Geteuid(), os.Getegid())
	}

	for _, name := range []string{"", "-wal", "-shm", "-journal", ".part", ".old"} {
		for _, command := range [][]string{{"migrate"}, {"backup", made + "2"}, {"restore", "--replace", backup}, {"size"},
			{"export", "--json", made + "2"}, {"import", export}, {"prune", "--older", "9days"}, {"notices"}} {
			for _, to := range []string{empty, made} {
				anew()
				os.Remove(database + name)
				fine(os.Symlink(to, database+name))
				do(command...)
				os.Remove(database + name)
				os.Remove(made + "2")
				if info, err := os.Stat(empty); err != nil || info.Size() != 0 || owner(empty) != 0 {
					t.Errorf("%v wrote through a link at jobeff.db%s", command, name)
				}
				if os.Remove(made) == nil {
					t.Errorf("%v made a file through a link at jobeff.db%s", command, name)
				}
				fine(os.Truncate(empty, 0))
			}
		}
	}
}
