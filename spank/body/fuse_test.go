package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/ingest/job"
	"jobeff/policy/doubt"
)

// fuse lets the node have /dev/fuse as distributions have it, and other users in a user's file system
// if the user wants it.
func (n *testNode) fuse() {
	n.t.Helper()
	if _, err := exec.LookPath("fusermount3"); err != nil {
		n.t.Fatal("fuse3 is not installed (test/packages)")
	}
	const script = `echo user_allow_other >/etc/fuse.conf && echo "u:x:$0:$0::/:/bin/sh" >/etc/passwd && ln -s /proc/self/mounts /etc/mtab &&
		mknod -m 666 /run/fuse c 10 229 && mount --bind /run/fuse /dev/fuse`
	if out, err := n.enter("sh", "-c", script, fmt.Sprint(user)).CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %s", err, out)
	}
}

// cover lets a user mount a file system over path that never answers; false: fusermount3 refuses. It
// ends with release.
func (n *testNode) cover(uid int, path string, options ...string) (mounted bool, release func()) {
	n.t.Helper()
	script, err := filepath.Abs("../../test/fuse.py")
	if err != nil {
		n.t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := n.enter(append([]string{"setpriv", "--reuid", fmt.Sprint(uid), "--regid", fmt.Sprint(user), "--clear-groups", "/usr/bin/python3", "-c", string(text), path}, options...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	release = func() { in.Close(); cmd.Wait() }
	n.t.Cleanup(release)
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		n.t.Fatal(err)
	}
	return said == "mounted\n", release
}

// A user mounts a file system of theirs over what leads to their record, one that root cannot look
// at, or one that never answers root. The job ends as any other, nothing is left of it, and a
// neighbour's job is measured meanwhile.
func TestFileSystemOverTheRecord(t *testing.T) {
	for name, options := range map[string][]string{"root may not look": nil, "root gets no answer": {"allow_other"}} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.fuse()
			record := n.startJob(user, 110)
			n.claim(110)
			before := n.mounts()
			mounted, release := n.cover(user, filepath.Dir(record), options...)
			if !mounted {
				mounted, release = n.cover(user, record, options...)
			}
			if !mounted {
				t.Fatal("fusermount3 refuses: this test tries nothing")
			}
			waited := false
			wait := time.AfterFunc(20*time.Second, func() { waited = true; release() })
			n.step(110, 1)
			n.epilog(110)
			n.wantMeasured(111)
			if !wait.Stop() || waited {
				t.Error("root waits for the user's file system")
			}
			if ids := fmt.Sprint(n.ids()); ids != "[110 111]" {
				t.Errorf("reports of %s", ids)
			}
			if left := n.entries(); len(left) > 0 {
				t.Errorf("/run/jobeff holds %q", left)
			}
			if after := n.mounts(); after != "" {
				t.Errorf("mounted while the job ran:\n%sand when it is over:\n%s", before, after)
			}
		})
	}
}

// mounts are the node's mounts below /run/jobeff.
func (n *testNode) mounts() (lines string) {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", n.pid))
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " /run/jobeff/") {
			lines += line
		}
	}
	return lines
}

// starts starts a command of a user, which is ended with the test, and returns its first line.
func (n *testNode) starts(uid int, command ...string) string {
	n.t.Helper()
	cmd := n.enter(append([]string{"setpriv", "--reuid", fmt.Sprint(uid), "--regid", fmt.Sprint(user), "--clear-groups"}, command...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.TrimSpace(said)
}

// However a user's processes hang on the record when the job ends or begins anew, root waits for none.
func TestRecordIsInUse(t *testing.T) {
	for name, use := range map[string]func(n *testNode, record string){
		"a lease to write": func(n *testNode, record string) {
			n.starts(user, "/usr/bin/python3", "-c", "import fcntl, os, signal, sys, time\nsignal.signal(signal.SIGIO, signal.SIG_IGN)\nf = os.open(sys.argv[1], os.O_RDWR)\nfcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)\nprint('leased', flush=True)\ntime.sleep(1000)", record)
		},
		"locks": func(n *testNode, record string) {
			n.starts(user, "/usr/bin/python3", "-c", "import fcntl, os, sys, time\nf = os.open(sys.argv[1], os.O_RDWR)\nfcntl.lockf(f, fcntl.LOCK_EX)\nfcntl.flock(f, fcntl.LOCK_EX)\nprint('locked', flush=True)\ntime.sleep(1000)", record)
		},
		"a question that is not answered": func(n *testNode, record string) {
			if mounted, _ := n.cover(user, record, "allow_other"); !mounted {
				n.t.Fatal("fusermount3 refuses")
			}
			n.starts(user, "sh", "-c", `echo asks; exec cat "$0"`, record)
		},
		"attributes": func(n *testNode, record string) { // the kernel takes them from the room for inodes, or refuses them
			said := n.starts(user, "/usr/bin/python3", "-c", "import os, sys, time\nf = os.open(sys.argv[1], os.O_RDWR)\nn = 0\ntry:\n  while n < 1000:\n    os.setxattr(f, 'user.%d' % n, b'x' * 1000)\n    n += 1\nexcept OSError:\n  pass\nprint(n, flush=True)\ntime.sleep(1000)", record)
			if n, err := strconv.Atoi(said); err != nil || n > 8 {
				t.Errorf("%q attributes of 1000 bytes fit, want a few", said)
			}
		},
		"a mount in a namespace of the user's own": func(n *testNode, record string) {
			n.starts(user, "unshare", "-Urm", "--propagation", "unchanged", "sh", "-c", `mount --bind /dev/null "$0" && mount --rbind "${0%/*}" /mnt && echo mounted; exec sleep 1000`, record)
		},
		"a private copy of all mounts": func(n *testNode, record string) {
			n.starts(user, "unshare", "-Urm", "sh", "-c", `mount --bind /dev/null "$0" && mount --rbind /run /mnt && cd "${0%/*}" && echo mounted; exec sleep 1000`, record)
		},
		"a mount that comes late": func(n *testNode, record string) { // fusermount3 with its descriptor of the record, stopped before it mounts
			n.starts(0, "/usr/bin/python3", "-c", "import ctypes, os, sys, time\nf = os.open(sys.argv[1], os.O_WRONLY)\nprint('open', flush=True)\nmount = ctypes.CDLL(None).mount\nwhile os.fstat(f).st_nlink > 0:\n  time.sleep(.01)\nmount(b'late', b'/proc/self/fd/%d' % f, b'tmpfs', 0, None)\ntime.sleep(1000)", record)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.fuse()
			use(n, n.startJob(user, 120))
			n.env = append(n.env, "SLURM_JOB_RESTART_COUNT=1") // and no epilog came
			if record := n.startJob(user, 120); record == "" || !n.asks(user, "cat", record) {
				t.Errorf("the second attempt's record %q cannot be read", record)
			}
			logged := n.epilog(120)
			n.wantMeasured(121)
			if ids := fmt.Sprint(n.ids()); ids != "[120 120 121]" || logged != "" {
				t.Errorf("reports of %s, logged %q", ids, logged)
			}
			unread := func(w doubt.Warning) bool { return w.Code == doubt.WarnUnreadable }
			refused := slices.ContainsFunc(n.outbox(), func(r *job.NodeReport) bool { return slices.ContainsFunc(r.Warnings, unread) })
			if refused != (name == "a lease to write") {
				t.Errorf("a record was not read: %v; root would have to wait for a lease", refused)
			}
			if left := n.mounts(); strings.Contains(left, "fuse") || strings.Count(left, "\n") > 1 {
				t.Errorf("mounted when all is over:\n%s", left)
			}
		})
	}
}
