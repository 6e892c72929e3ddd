package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What must not be lost, or noticed, when a part of jobeff fails. Tests in this file that break a
// node or the daemon run alone.

const failpoints = "/etc/jobeff/failpoints"

// withFailpoints puts a program that has failpoints in the place of the installed one, which has
// none, until undo or the test's end.
func withFailpoints(t *testing.T, installed string, build []string, nodes ...string) (undo func()) {
	t.Helper()
	built := filepath.Join(site.dir, filepath.Base(installed))
	if out, err := exec.Command("go", slices.Concat([]string{"build", "-tags", "failpoint", "-o", built}, build)...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, node := range nodes {
		site.exec(t, node, "mount", "--bind", built, installed)
	}
	undo = sync.OnceFunc(func() {
		for _, node := range nodes {
			site.exec(t, node, "umount", "-l", installed)
		}
	})
	t.Cleanup(undo)
	return undo
}

// TestFailpoints makes the plugin's Go body fail on a node, once at each point. The job runs, the
// node stays idle, and the next epilog sends what the failed one kept.
func TestFailpoints(t *testing.T) {
	withFailpoints(t, "/usr/lib/jobeff/jobeff_spank_body.so", []string{"-buildmode=c-shared", "../spank/body"}, "n1", "n2", "n3")
	for i, point := range []string{"prolog", "epilog", "ship"} {
		node := fmt.Sprint("n", i+1)
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			site.run(t, "alice", "true", "-w", node) // its prolog notes that the site measures all jobs
			for _, kind := range []string{"panic", "fatal", "hang", "oom"} {
				t.Run(kind, func(t *testing.T) { failAt(t, node, point, kind) })
			}
		})
	}
}

func failAt(t *testing.T, node, point, kind string) {
	site.exec(t, node, "sh", "-c", fmt.Sprintf("echo %s %s >%s", point, kind, failpoints))
	job := srun(t, usual) + rounds(t, site, usual) + " 5 1"
	id := site.run(t, "alice", job, "-n2", "-w", node)
	site.exec(t, node, "rm", failpoints)
	if out := site.output(t, "alice", id); out != "size 2\n" {
		t.Errorf("the job's output is %q", out)
	}
	until(t, node+" to be idle", func() bool {
		state := strings.TrimSpace(site.exec(t, "ctl", "sinfo", "-hN", "-n", node, "-o", "%t"))
		if strings.Contains(state, "d") && state != "idle" { // down, drain, drng
			t.Fatalf("the node is %s", state)
		}
		return state == "idle"
	})
	if point != "prolog" {
		if d := site.try(t, "", "as", "alice", "jobeff", "--json", id); d.code == 0 && strings.Contains(d.stdout, "executions\": [\n    {") {
			t.Errorf("the failpoint %s %s did not fail: the data is there at once", point, kind)
		}
	}
	site.run(t, "alice", "true", "-w", node)
	d := site.jobeff(t, "alice", id)
	if d.State != "COMPLETED" {
		t.Errorf("state %s", d.State)
	}
	wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 1)
	if point == "prolog" && !warned(d, "prolog_failed") {
		t.Errorf("nothing is said of the prolog's failure: %v", d.Warnings)
	}
}

// TestDaemonKilled kills jobeffd while 200 jobs end, and starts it again: some end before each kill, some while it is
// away. The others wait for a file.
func TestDaemonKilled(t *testing.T) {
	const jobs = 200
	kills := []int{jobs / 5, jobs / 2} // at so many ended jobs
	script := ""
	for _, at := range kills {
		script += fmt.Sprintf("until [ $SLURM_ARRAY_TASK_ID -le %d ] || [ -e killed%[1]d ]; do sleep 0.1; done\n", at)
	}
	id := site.submit(t, "bob", script+rounds(t, site, mpich)+" 1 1", "-n1", fmt.Sprintf("--array=1-%d", jobs), "--job-name=burst")
	endedOf := func() (n int) {
		for _, j := range site.parts(t, id) {
			if strings.Contains(strings.Join(ended, " "), j.state) {
				n++
			}
		}
		return n
	}
	for _, at := range kills {
		until(t, fmt.Sprint(at, " ended jobs"), func() bool { return endedOf() >= at })
		site.must(t, "", "jobeffd", "kill9")
		site.as(t, "bob", "touch", fmt.Sprint("killed", at))
		until(t, "a job to end without jobeffd", func() bool { return endedOf() > at })
		site.must(t, "", "jobeffd", "start")
	}
	site.wait(t, id)
	until(t, "all rows", func() bool {
		resend(t)
		return len(burst(t)) >= jobs
	})
	resend(t)
	rows := burst(t)
	if len(rows) != jobs {
		t.Errorf("%d jobs, want %d", len(rows), jobs)
	}
	for task, n := range rows {
		if n != 1 {
			t.Errorf("task %d has %d rows", task, n)
		}
	}
}

// resend does what jobeff-ingest.timer does every minute.
func resend(t *testing.T) {
	t.Helper()
	for n := range nodes {
		site.exec(t, fmt.Sprint("n", n+1), "jobeff-ingest", "send")
	}
}

// burst counts the rows of each task of TestDaemonKilled's job.
func burst(t *testing.T) map[uint32]int {
	t.Helper()
	rows := map[uint32]int{}
	for _, d := range site.list(t, "bob") {
		if d.ArrayTaskID != nil && d.Name == "burst" && d.Ranks == 1 {
			rows[*d.ArrayTaskID]++
		}
	}
	return rows
}

// TestLibraryNotVisible changes the root of the tasks, as a container does. The library is not
// there, and the loader must not complain.
func TestLibraryNotVisible(t *testing.T) {
	plugin := filepath.Join(site.dir, "home", "chroot_spank.so")
	cc := exec.Command("gcc", "-shared", "-fPIC", "-o", plugin, "plugins/chroot_spank.c")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	const conf = "/etc/slurm/plugstack.conf.d/chroot.conf"
	site.exec(t, "n1", "sh", "-c", "echo optional "+plugin+" >"+conf)
	t.Cleanup(func() { site.exec(t, "n1", "rm", conf) })
	jail := makeJail(t)
	id := site.run(t, "alice", "export JAIL="+jail+"\nsrun /bin/env 2>&1; srun /bin/nowhere >/dev/null 2>&1", "-n1", "-w", "n1", "--chdir=/tmp")
	out := site.output(t, "alice", id)
	if strings.Contains(out, "ld.so") || strings.Contains(out, "libjobeff") {
		t.Errorf("the tasks notice that the library is missing:\n%s", out)
	}
	if !strings.Contains(out, "JAIL="+jail) {
		t.Errorf("/bin/env did not run in the jail:\n%s", out)
	}
}

// makeJail makes a root with nothing but /bin/env.
func makeJail(t *testing.T) string {
	t.Helper()
	return makeRoot(t, "jail", "/usr/bin/env")
}

// makeRoot makes a root directory in the shared home, with programs in /bin and the libraries that
// they need.
func makeRoot(t *testing.T, name string, programs ...string) string {
	t.Helper()
	root := filepath.Join(site.dir, "home", name)
	script := `root=$1; shift; mkdir -p "$root/bin" "$root/tmp" && cp "$@" "$root/bin/" &&
		for p; do ldd "$p"; done | grep -o '/[^ ]*' | while read f; do cp --parents "$f" "$root/"; done`
	if out, err := exec.Command("sh", append([]string{"-c", script, "sh", root}, programs...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root
}

// TestKillSwitch puts /etc/jobeff/off on a node.
func TestKillSwitch(t *testing.T) {
	site.exec(t, "n1", "touch", "/etc/jobeff/off")
	t.Cleanup(func() { site.exec(t, "n1", "rm", "-f", "/etc/jobeff/off") })
	id := site.run(t, "alice", "srun bash -c 'echo \"preload=$LD_PRELOAD\"'", "-n1", "-w", "n1")
	if out := site.output(t, "alice", id); out != "preload=\n" {
		t.Errorf("output %q, want no preload", out)
	}
	wantNoData(t, site.jobeff(t, "alice", id), "/etc/jobeff/off")
}

// TestUnreachable asks while the daemon is down.
func TestUnreachable(t *testing.T) {
	site.must(t, "", "jobeffd", "stop")
	t.Cleanup(func() { site.must(t, "", "jobeffd", "start") })
	r := site.try(t, "", "as", "alice", "jobeff", "1")
	if r.code == 0 || r.stdout != "" || !strings.Contains(r.stderr, "jobeff's server does not answer") {
		t.Errorf("exit %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// TestNoTrace takes a cluster down in the middle of its start and looks for what is left.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	c := &cluster{dir: fmt.Sprint(clusterPrefix, os.Getpid(), "-half")}
	up := c.command("up", "2")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the first node", func() bool { _, err := os.Stat(filepath.Join(c.dir, "ns", "n1.ready")); return err == nil })
	up.Process.Kill()
	up.Wait()
	c.must(t, "", "down")
	if _, err := os.Stat(c.dir); err == nil {
		t.Errorf("%s is still there", c.dir)
	}
	for _, file := range []string{"/proc/mounts", "/proc/net/dev"} {
		if b, _ := os.ReadFile(file); strings.Contains(string(b), "-half") || strings.Contains(string(b), "veth-n") {
			t.Errorf("%s:\n%s", file, b)
		}
	}
	until(t, "the end of its processes", func() bool {
		cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return !slices.ContainsFunc(cmdlines, func(f string) bool {
			b, _ := os.ReadFile(f)
			return strings.Contains(string(b), c.dir)
		})
	})
}

// TestDoctor runs `jobeff admin doctor` on a healthy node, and on one without the library.
func TestDoctor(t *testing.T) {
	if out := site.exec(t, "n1", "jobeff", "admin", "doctor"); !strings.Contains(out, " 0 failed") {
		t.Errorf("a node that is well:\n%s", out)
	}
	const library = "/usr/lib/jobeff/libjobeff.so"
	site.exec(t, "n1", "mv", library, library+".away")
	t.Cleanup(func() { site.exec(t, "n1", "mv", library+".away", library) })
	r := site.try(t, "", "exec", "n1", "jobeff", "admin", "doctor")
	if r.code == 0 || !strings.Contains(r.stdout, library) {
		t.Errorf("a node without %s: exit %d\n%s%s", library, r.code, r.stdout, r.stderr)
	}
	id := site.run(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 3 1 2>&1", "-n1", "-w", "n1")
	if out := site.output(t, "alice", id); out != "size 1\n" {
		t.Errorf("the job notices that the library is gone: %q", out)
	}
}
