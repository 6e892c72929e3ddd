package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostileSrun is what a user can make of an srun that runs as them, since they may attach to it. It types into each terminal
// that it reaches, notes what it has of its caller's, and then shows what the user wants shown.
const hostileSrun = `#!/usr/bin/python3
import fcntl, json, os, sys
def typed(where):
    try:
        fd = where if isinstance(where, int) else os.open(where, os.O_RDWR | os.O_NOCTTY)
        for c in b"id\n":
            fcntl.ioctl(fd, 0x5412, bytes([c]))
        return True
    except OSError:
        return False
files = {}
for fd in os.listdir("/proc/self/fd"):
    try:
        files[fd] = os.readlink("/proc/self/fd/" + fd)
    except OSError:
        pass
mask = os.umask(0)
tty = None
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    tty = True
except OSError:
    tty = False
had = {"typed": any([typed(w) for w in (0, 1, 2, 5, "/dev/tty", "TERMINAL")]), "tty": tty, "leads": os.getsid(0) == os.getpid(), "ids": [*os.getresuid(), *os.getresgid()],
    "groups": sorted(os.getgroups()), "environ": sorted(os.environ), "cwd": os.getcwd(), "mask": mask, "files": files}
with open("FOLDER/had", "w") as f:
    json.dump(had, f)
sys.stderr.write("\x1b]0;mine\x07")
sys.stdout.write(open("FOLDER/lines").read())
`

// terminal opens a terminal, and returns the end that a program gets.
func terminal(t *testing.T) (theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return theirs
}

// hostileFolder makes a folder with a squeue that lists a job of the user daemon, and with that user's srun.
func hostileFolder(t *testing.T, lines, terminal string) string {
	t.Helper()
	dir := t.TempDir()
	for p := dir; strings.HasPrefix(p, os.TempDir()+"/"); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	srun := strings.NewReplacer("FOLDER", dir, "TERMINAL", terminal).Replace(hostileSrun)
	squeue := "#!/bin/sh\nprintf '7|7|RUNNING|1|daemon|a|p|q|1|2|2026-11-20T12:00:00|it\\033[2J\\n7|8|RUNNING|0|root|a|p|q|1|2|N/A|root\\n'\n"
	for name, text := range map[string]string{"srun": srun, "squeue": squeue, "lines": lines} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRootsTerminal: root looks at a user's job on a terminal. What runs as the user, and belongs to them, has nothing of
// root's, and can neither type there nor draw.
func TestRootsTerminal(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root becomes somebody else")
	}
	theirs := terminal(t)
	lines := append(printed(t, 0, watchedAt(100), asPrinted), []byte("0: .\x1b[2J"))
	dir := hostileFolder(t, string(bytes.Join(lines, []byte("\n")))+"\n", theirs.Name())
	var out, complaint bytes.Buffer
	cmd := exec.Command("sh", "-c", `exec 5<>/dev/tty 6</etc/shadow; exec jobeff live --once 7`)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SECRET=of root", "SLURM_CONF=/etc/slurm/slurm.conf", "SLURM_JOB_ID=5", "LD_LIBRARY_PATH=/root")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, &out, &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), complaint.String())
	}
	if shown := out.String() + complaint.String(); !strings.Contains(shown, "Job        7 it") || strings.ContainsAny(shown, "\x1b\x07") {
		t.Errorf("root sees %q", shown)
	}
	var had struct {
		Typed, TTY, Leads bool
		Ids, Groups       []int
		Environ           []string
		Cwd               string
		Mask              int
		Files             map[string]string
	}
	text, err := os.ReadFile(filepath.Join(dir, "had"))
	if err = errors.Join(err, json.Unmarshal(text, &had)); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if waiting, err := unix.IoctlGetInt(int(theirs.Fd()), unix.TIOCINQ); err != nil || waiting != 0 || had.Typed {
		t.Errorf("%d characters were typed into root's terminal (%v), it says %v", waiting, err, had.Typed)
	}
	if had.TTY || !had.Leads || had.Cwd != "/" || had.Mask != 0o77 {
		t.Errorf("a terminal of root's, or no session of its own, in %s: %+v", had.Cwd, had)
	}
	if !slices.Equal(had.Ids, []int{1, 1, 1, 1, 1, 1}) || slices.Contains(had.Groups, 0) {
		t.Errorf("it is %v with the groups %v", had.Ids, had.Groups)
	}
	for _, name := range had.Environ {
		if name != "PATH" && name != "SLURM_CONF" && name != "LC_CTYPE" { // Python sets the last
			t.Errorf("root's variable %s", name)
		}
	}
	for _, fd := range slices.Sorted(maps.Keys(had.Files)) {
		if path := had.Files[fd]; !(fd == "0" && path == "/dev/null") && !((fd == "1" || fd == "2") && strings.HasPrefix(path, "pipe:")) {
			t.Errorf("descriptor %s is %s", fd, path)
		}
	}
}

// TestNothingStays: what a user's process started beside itself ends with it.
func TestNothingStays(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", "(trap '' TERM HUP; sleep 1000 & echo $! >"+dir+"/pid; wait) & while ! [ -s "+dir+"/pid ]; do :; done")
	if err := asOwner(cmd, uint32(os.Getuid())); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := waitForAll(cmd); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid == 0 {
		t.Fatal(err)
	}
	for from := time.Now(); ; time.Sleep(time.Millisecond) { // it is killed, and somebody reaps it
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Since(from) > time.Minute {
			t.Fatalf("process %d lives on: %s", pid, stat)
		}
	}
}

// TestGuidesKeepTheTerminal: no guide and no package lets root start anything as another user on root's terminal.
func TestGuidesKeepTheTerminal(t *testing.T) {
	var texts []string
	for _, pattern := range []string{"../../*.md", "../../doc/*.md", "../../packaging/*", "../../packaging/*/*", "../../etc/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, found...)
	}
	asOther := regexp.MustCompile(`\b(runuser|sudo|su|setpriv|machinectl shell)\b +-`)
	for _, path := range texts {
		if info, err := os.Stat(path); err != nil || info.IsDir() || strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if asOther.MatchString(line) && !(strings.Contains(line, "setsid -w ") && strings.Contains(line, "</dev/null 2>&1 ") && strings.Contains(line, "| cat -v")) {
				t.Errorf("%s: whoever that is types into root's terminal: %s", path, line)
			}
		}
	}
}
