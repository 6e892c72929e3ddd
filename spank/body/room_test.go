package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jobeff/ingest/node"
)

// neighbour is the uid of a second user, who does nothing wrong.
const neighbour = 54321

// as are the words with another user.
func as(uid int, words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, strings.Replace(w, strconv.Itoa(user), strconv.Itoa(uid), 1))
	}
	return out
}

// start is the prolog and the first step of a user's job; it returns the record's path on the
// node, "" if the step is not measured.
func (n *testNode) startJob(uid, job int) (record string) {
	n.t.Helper()
	n.host(as(uid, script(job, "job_prolog"))...)
	env, _ := n.host(as(uid, append(stepWords(job, 0), "call=task_init", "print=env"))...)
	for line := range strings.Lines(env) {
		if path, ok := strings.CutPrefix(line, "JOBEFF_RECORD_FILE="); ok {
			record = strings.TrimSpace(path)
		}
	}
	return record
}

// hold starts a process of the user, outside of any job, that opens the record, writes what it can
// past its end and keeps it open until release is called. The words before, if any, start it.
func (n *testNode) hold(record string, before ...string) (release func()) {
	n.t.Helper()
	cmd := n.enter(append(before, "setpriv", "--reuid", fmt.Sprint(user), "--regid", fmt.Sprint(user), "--clear-groups", "bash", "-c",
		`exec 9<>"$0"; dd if=/dev/zero bs=1M count=1200 seek=64 conv=notrunc >&9 2>/dev/null; echo held; exec sleep infinity`, record)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	release = func() { cmd.Process.Kill(); cmd.Wait() }
	n.t.Cleanup(release)
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		n.t.Fatalf("%s is not held: %v", record, err)
	}
	return release
}

// wantMeasured runs a job of the neighbour and checks that nothing is missing.
func (n *testNode) wantMeasured(job int) {
	n.t.Helper()
	record := n.startJob(neighbour, job)
	if record == "" {
		n.t.Fatalf("job %d of another user is not measured", job)
	}
	n.claimFile(n.path("top", strings.TrimPrefix(record, "/run/jobeff/")))
	n.host(as(neighbour, script(job, "job_epilog"))...)
	for _, r := range n.outbox() {
		if int(r.JobID) == job {
			if r.UID != neighbour || r.Decision != "on" || len(r.Steps) != 1 || !r.Prolog {
				n.t.Errorf("job %d of another user: %+v", job, r)
			}
			return
		}
	}
	n.t.Errorf("no report of job %d of another user: %d others", job, len(n.outbox()))
}

// A user writes past the end of their record until nothing fits any more. Their neighbour's jobs
// are measured, and so is their own job.
func TestRecordFilledByItsUser(t *testing.T) {
	n := newNode(t)
	n.run = "mode=711,size=16m"
	n.hold(n.startJob(user, 50))
	n.wantMeasured(51)
	n.epilog(50)
	if ids := fmt.Sprint(n.ids()); ids != "[50 51]" {
		t.Errorf("reports of %s", ids)
	}
}

// A process of the user outlives the job and holds its deleted record.
func TestDeletedRecordIsHeld(t *testing.T) {
	n := newNode(t)
	n.run = "mode=711,size=16m"
	n.hold(n.startJob(user, 52))
	n.epilog(52)
	n.wantMeasured(53)
	n.wantMounts(1)
}

// asks runs a command of a user on the node, outside of any job; false: it failed.
func (n *testNode) asks(uid int, command ...string) bool {
	n.t.Helper()
	id := strconv.Itoa(uid)
	return n.enter(append([]string{"setpriv", "--reuid", id, "--regid", strconv.Itoa(user), "--clear-groups"}, command...)...).Run() == nil
}

// With O_PATH, whoever can name a file can keep its memory, and it would count for its owner. So
// nobody else can name a record, not even a user of the same group.
func TestRecordIsHeldByItsUserOnly(t *testing.T) {
	n := newNode(t)
	record := n.startJob(user, 82)
	if !n.asks(user, "stat", record) {
		t.Error("the user does not see their record")
	}
	if n.asks(neighbour, "stat", record) || n.asks(neighbour, "sh", "-c", `cd "${0%/*}"`, record) {
		t.Error("another user can hold the record")
	}
}

// holdPaths starts a process of a user that opens what it can of paths, with O_PATH, and keeps it until
// the test ends. It returns how many it got.
func (n *testNode) holdPaths(uid int, paths ...string) (got int) {
	n.t.Helper()
	const script = `
import os, sys
got = 0
for path in sys.argv[1:]:
    try:
        os.open(path, os.O_PATH | os.O_NOFOLLOW)
        got += 1
    except OSError:
        pass
print(got, flush=True)
sys.stdin.read()`
	cmd := n.enter(append([]string{"setpriv", "--reuid", strconv.Itoa(uid), "--regid", strconv.Itoa(user), "--clear-groups", "/usr/bin/python3", "-c", script}, paths...)...)
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
	n.t.Cleanup(func() { in.Close(); cmd.Wait() })
	if _, err := fmt.Fscan(out, &got); err != nil {
		n.t.Fatal(err)
	}
	return got
}

// inodes are those that /run/jobeff has in use.
func (n *testNode) inodes() uint64 {
	n.t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(n.path("top"), &fs); err != nil {
		n.t.Fatal(err)
	}
	return fs.Files - fs.Ffree
}

// Nobody but root reaches root's notes, not even the job's user: no user keeps their inodes from the
// jobs to come.
func TestNotesAreHeldByNobodyElse(t *testing.T) {
	n := newNode(t)
	n.run = "mode=711,nr_inodes=30"
	n.wantMeasured(85)
	before := n.inodes()
	for id := 86; id < 96; id++ {
		n.startJob(user, id)
		var paths []string
		for _, dir := range []string{"/run/jobeff/", "/run/jobeff/notes/"} {
			dir += strconv.Itoa(id)
			paths = append(paths, dir, dir+"/job", dir+"/steps", dir+"/decision", dir+"/record")
		}
		for _, uid := range []int{user, neighbour} {
			if got := n.holdPaths(uid, paths...); got != 1 {
				t.Errorf("job %d: user %d of this node reaches %d of %q, want the first", id, uid, got, paths)
			}
		}
		n.epilog(id)
	}
	if after := n.inodes(); after != before {
		t.Errorf("before these jobs %d inodes were in use, and then %d", before, after)
	}
	n.wantMeasured(96)
}

// In a mount namespace that is older than a job, no record lies on the job's mount point, and any user may hold
// that. It takes nothing from the jobs to come, as the package mounts /run/jobeff.
func TestMountPointsAreHeld(t *testing.T) {
	unit, err := os.ReadFile("../../packaging/systemd/run-jobeff.mount")
	if err != nil {
		t.Fatal(err)
	}
	_, options, _ := strings.Cut(string(unit), "Options=")
	n := newNode(t)
	n.run, _, _ = strings.Cut(options, "\n")
	older := *n
	if older.pid, err = strconv.Atoi(n.starts(neighbour, "unshare", "-Urm", "--propagation", "private", "sh", "-c", "echo $$; exec sleep 1000")); err != nil {
		t.Fatal(err)
	}
	n.wantMeasured(240)
	before := n.inodes()
	for job := 241; job < 245; job++ {
		n.startJob(user, job)
		if older.holdPaths(neighbour, fmt.Sprint("/run/jobeff/", job)) != 1 {
			t.Error("this test tries nothing")
		}
		n.epilog(job)
	}
	if after := n.inodes(); after != before {
		t.Errorf("before these jobs %d inodes were in use, and then %d", before, after)
	}
}

// Each record that a process holds keeps a mount and some inodes, however few bytes it has. So their
// number is bounded, too.
func TestHeldRecordsAreCounted(t *testing.T) {
	n := newNode(t)
	n.run = "mode=711,nr_inodes=100"
	held := 0
	for job := 200; job < 220; job++ {
		if record := n.startJob(user, job); record != "" {
			held += n.holdPaths(user, record)
		}
		n.epilog(job)
	}
	if held < 1 || held > 16 {
		t.Errorf("the user's processes hold the records of %d jobs", held)
	}
	n.wantMounts(held)
	if used := n.inodes(); used > uint64(3+3*held) {
		t.Errorf("%d held records keep %d inodes", held, used)
	}
	if reports := n.outbox(); !strings.Contains(reports[len(reports)-1].Decision, "still hold records on this node (16, 0 MiB)") {
		t.Errorf("the last job was told %q", reports[len(reports)-1].Decision)
	}
	n.wantMeasured(220)
}

// A record whose epilog removes it at this moment takes what it holds, not all that it may become: else
// some short jobs that end together keep the next one of their user from being measured.
func TestRecordsOnTheirWayOut(t *testing.T) {
	n := newNode(t)
	for job := 230; job < 234; job++ {
		n.startJob(user, job)
		gone := n.path("run", fmt.Sprintf(".gone-%d-aa", job))
		if err := os.Rename(n.path("run", strconv.Itoa(job)), gone); err != nil {
			t.Fatal(err)
		}
		d, err := os.Open(gone)
		if err == nil {
			t.Cleanup(func() { d.Close() })
			err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n.startJob(user, 234) == "" {
		t.Error("the next job is not measured")
	}
}

// preload puts a function of C in the place of libc's for what root does from now on.
func (n *testNode) preload(function string) {
	n.t.Helper()
	library := n.path("preload.so")
	cc := exec.Command("gcc", "-shared", "-fPIC", "-x", "c", "-o", library, "-")
	cc.Stdin = strings.NewReader("#include <errno.h>\n" + function + "\n")
	if out, err := cc.CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %s", err, out)
	}
	n.env = append(n.env, "LD_PRELOAD="+library)
}

// A fold that cannot become nobody reads no user's record.
func TestFoldIsNobody(t *testing.T) {
	n := newNode(t)
	n.startJob(user, 98)
	n.claim(98)
	n.preload("int setresuid() { errno = EPERM; return -1; }")
	if logged := n.epilog(98); !strings.Contains(logged, "the fold cannot give up root") || len(n.outbox()) > 0 {
		t.Errorf("%d reports, logged %q", len(n.outbox()), logged)
	}
	n.env = n.env[:len(n.env)-1]
	n.epilog(99)
	if ids := fmt.Sprint(n.ids()); ids != "[98]" {
		t.Errorf("then reports of %s", ids)
	}
}

// On a kernel whose tmpfs has no access lists, jobs are measured as before. Who is not in the user's group
// cannot hold a record.
func TestRecordWithoutAccessLists(t *testing.T) {
	n := newNode(t)
	n.preload("int fsetxattr() { errno = EOPNOTSUPP; return -1; }")
	record := n.startJob(user, 97)
	n.env = n.env[:len(n.env)-1]
	if record == "" || !n.asks(user, "stat", record) || n.asks(neighbour, "cat", record) {
		t.Errorf("the user does not reach their record %q, or others read it", record)
	}
	id := strconv.Itoa(neighbour)
	if n.enter("setpriv", "--reuid", id, "--regid", id, "--clear-groups", "stat", record).Run() == nil {
		t.Error("a user of another group can hold the record")
	}
	n.claim(97)
	n.epilog(97)
	if ids := fmt.Sprint(n.ids()); ids != "[97]" || len(n.entries()) > 0 {
		t.Errorf("reports of %s, left %q", ids, n.entries())
	}
}

// The record's directory is root's: a user makes nothing beside the record, does not replace it, and
// gives nobody a way in.
func TestNothingBesideTheRecord(t *testing.T) {
	n := newNode(t)
	record := n.startJob(user, 83)
	n.claim(83)
	for _, try := range []string{`mkdir a`, `: >b`, `ln -s / c`, `mkfifo d`, `ln ranks e`, `mv ranks f`, `rm -f ranks`,
		`setfacl -m u:$0:rwx .`, `setfacl -d -m u:$0:rwx .`, `chmod 777 .`, `chown $0 .`, `chattr +d .`} {
		if n.asks(user, "sh", "-c", `cd "${1%/*}" || exit 0; `+try, strconv.Itoa(user), record) {
			t.Errorf("the user may %s", try)
		}
	}
	if !n.asks(user, "setfacl", "-m", fmt.Sprint("u:", neighbour, ":rw"), record) {
		t.Error("no access list on the user's own file")
	}
	if n.asks(neighbour, "stat", record) {
		t.Error("with an access list on their file, another user can hold the record")
	}
	n.epilog(83)
	if ids := fmt.Sprint(n.ids()); ids != "[83]" {
		t.Errorf("reports of %s", ids)
	}
	if left := n.entries(); len(left) > 0 {
		t.Errorf("/run/jobeff holds %q", left)
	}
	n.wantMounts(0)
}

// A process that stands in the record's directory adds nothing to it when the job is over.
func TestDirectoryOfTheRecordIsHeld(t *testing.T) {
	n := newNode(t)
	record := n.startJob(user, 84)
	cmd := n.enter("setpriv", "--reuid", fmt.Sprint(user), "--regid", fmt.Sprint(user), "--clear-groups", "sh", "-c",
		`cd "${0%/*}"; echo in; read line; : >more && echo grew`, record)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	n.epilog(84)
	n.wantMounts(0)
	in.Close()
	if said, _ := io.ReadAll(out); len(said) > 0 {
		t.Errorf("it %s", said)
	}
	cmd.Wait()
}

// In a mount namespace of their own, a user's process has a copy of the mount. What it holds counts
// like any other.
func TestRecordIsHeldInAnotherNamespace(t *testing.T) {
	n := newNode(t)
	release := n.hold(n.startJob(user, 54), "unshare", "--mount", "--propagation", "private")
	n.epilog(54)
	next := func(job, mounts int) {
		n.prolog(job)
		n.epilog(job)
		n.wantMounts(mounts)
	}
	next(55, 1)
	release()
	next(56, 0)
}

// wantMounts checks how many records are mounted, and how.
func (n *testNode) wantMounts(want int) {
	n.t.Helper()
	mounts := n.mounts()
	if got := strings.Count(mounts, " /run/jobeff/"); got != want || strings.Count(mounts, " rw,nosuid,nodev,noexec,") != want {
		n.t.Errorf("these are mounted, want %d, without programs and devices:\n%s", want, mounts)
	}
}

// Two jobs of one user at once have a record each.
func TestTwoJobsOfAUser(t *testing.T) {
	n := newNode(t)
	n.hold(n.startJob(user, 57))
	record := n.startJob(user, 58)
	if out, err := n.enter("fallocate", "--offset", "4096", "--length", "32768", record).CombinedOutput(); err != nil {
		t.Errorf("no room for a slot beside the full record: %s", out)
	}
	n.claim(57)
	n.claim(58)
	n.epilog(58)
	n.epilog(57)
	if ids := fmt.Sprint(n.ids()); ids != "[57 58]" {
		t.Errorf("reports of %s", ids)
	}
	n.wantMounts(1)
}

// An epilog that was killed while it removed a directory leaves the rest to the next one.
func TestEpilogKilledBeforeItUnmounts(t *testing.T) {
	n := newNode(t)
	n.startJob(user, 59)
	if err := os.Rename(n.path("run", "59"), n.path("run", ".gone-59-aa")); err != nil {
		t.Fatal(err)
	}
	n.wantMounts(2) // the user's and root's
	n.prolog(70)
	n.epilog(70)
	if left := n.entries(); len(left) > 0 {
		t.Errorf("/run/jobeff holds %q", left)
	}
	n.wantMounts(0)
}

// unmount takes the record's mounts away, those of root first.
func (n *testNode) unmount(paths ...string) {
	n.t.Helper()
	for _, path := range paths {
		if out, err := n.enter("umount", path).CombinedOutput(); err != nil {
			n.t.Fatalf("%s: %s", path, out)
		}
	}
}

// A prolog was killed before it mounted the record. The next one does, or the epilog removes the rest.
func TestPrologKilledBeforeItMounts(t *testing.T) {
	n := newNode(t)
	for job, again := range map[int]bool{73: true, 74: false} {
		id := strconv.Itoa(job)
		n.prolog(job)
		n.unmount("/run/jobeff/notes/"+id+"/record", "/run/jobeff/"+id)
		if again {
			n.prolog(job)
			n.wantMounts(2)
			if n.step(job, 0) == "" {
				t.Error("after the second prolog the job is not measured")
			}
		}
		n.epilog(job)
		n.wantMounts(0)
	}
	n.prolog(77) // and one before it gave the record to the user
	record := n.path("run", "77", "record", "ranks")
	if err := os.Chown(record, 0, 0); err != nil {
		t.Fatal(err)
	}
	n.prolog(77)
	if !n.asks(user, "cat", "/run/jobeff/77/ranks") {
		t.Error("after the second prolog the user cannot read their record")
	}
	n.epilog(77)
	n.wantMounts(0)
	if left := n.entries(); len(left) > 0 || len(n.outbox()) != 3 {
		t.Errorf("/run/jobeff holds %q; %d reports", left, len(n.outbox()))
	}
}

// The user's mount of an attempt whose notes are lost goes with the next prolog of the job.
func TestNotesOfAnEarlierAttemptAreLost(t *testing.T) {
	n := newNode(t)
	n.prolog(75)
	n.unmount("/run/jobeff/notes/75/record")
	if err := os.RemoveAll(n.path("run", "75")); err != nil {
		t.Fatal(err)
	}
	n.prolog(75)
	n.wantMounts(2)
	n.epilog(75)
	n.wantMounts(0)
}

// srun --no-allocate makes up a job id, and no epilog comes: nothing is left behind.
func TestNoAllocation(t *testing.T) {
	n := newNode(t)
	const job = 0xffff513b // seen with Slurm 22.05
	if record := n.startJob(user, job); record != "" {
		t.Errorf("it is measured, in %s", record)
	}
	if left := n.entries(); len(left) > 0 {
		t.Errorf("/run/jobeff holds %q", left)
	}
}

// A job's steps do not let root's notes of it grow for ever.
func TestNotesAreBounded(t *testing.T) {
	n := newNode(t)
	n.prolog(72)
	n.step(72, 0)
	const most = 32 << 20
	steps := n.path("run", "72", "steps")
	if err := os.Truncate(steps, most); err != nil {
		t.Fatal(err)
	}
	if env := n.step(72, 1); env == "" {
		t.Error("the step was not measured")
	}
	if info, err := os.Stat(steps); err != nil || info.Size() != most {
		t.Errorf("%v, %v; want no more than %d bytes", info, err, most)
	}
}

// Where root may not mount, the job is not measured, and its report says why.
func TestMountRefused(t *testing.T) {
	n := newNode(t)
	cmd := n.enter(append([]string{"setpriv", "--bounding-set", "-sys_admin", n.parts + "/host", n.parts + "/jobeff_spank.so"}, script(71, "job_prolog")...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if env := n.step(71, 0); env != "" {
		t.Errorf("the task got %q", env)
	}
	n.epilog(71)
	const want = "off the record could not be made: Operation not permitted"
	if reports := n.outbox(); len(reports) != 1 || reports[0].Decision != want {
		t.Errorf("%+v, want %q", reports, want)
	}
}

// What doctor and jobeffd are told of a node's run directories.
func TestStateOfRunDirs(t *testing.T) {
	n := newNode(t)
	n.run = "mode=711,nr_inodes=20"
	want := func(what string, want node.RunDirState) {
		t.Helper()
		if got, err := node.ReadRunDirs(n.path("top")); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
	}
	want("an idle node", node.RunDirState{Notes: 5})
	record := n.startJob(user, 55)
	want("a job", node.RunDirState{Notes: 45, Records: 1})
	n.hold(record)
	want("a full record", node.RunDirState{Notes: 45, Records: 1, Full: 1})
	n.epilog(55)
	want("held", node.RunDirState{Notes: 30, Records: 1, Held: 64 << 20})
	for _, s := range []node.RunDirState{{}, {Notes: 100, Records: 2, Full: 1, Held: 5}} {
		if back, ok := node.ParseRunDirState(s.String()); !ok || back != s {
			t.Errorf("%s is read as %+v, %v", s, back, ok)
		}
	}
	for _, text := range []string{"", "notes=1", "notes=101 records=1 full=0 held=0", "notes=1 records=1 full=2 held=0", "notes=1 records=1 full=0 held=-1"} {
		if s, ok := node.ParseRunDirState(text); ok {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

// What a user's processes hold of ended jobs is bounded: who holds more than one record may is not
// measured until they let go.
func TestHeldRecordsAreBounded(t *testing.T) {
	n := newNode(t)
	n.write("[measure]\nrecord_mib = 2\n", 0o644, "etc", "jobeff.toml")
	var releases []func()
	const running, first, jobs = 59, 60, 12
	n.startJob(user, running)
	for job := first; job < first+jobs; job++ {
		if record := n.startJob(user, job); record != "" {
			releases = append(releases, n.hold(record))
		}
		n.epilog(job)
	}
	if len(releases) < 1 || len(releases) > 2 {
		t.Errorf("the processes hold the records of %d jobs, of 2 MiB each at least", len(releases))
	}
	reports := n.outbox()
	if len(reports) != jobs {
		t.Fatalf("%d reports of %d jobs", len(reports), jobs)
	}
	if last := reports[len(reports)-1]; !strings.Contains(last.Decision, "still hold") {
		t.Errorf("the last job was not told why: %q", last.Decision)
	}
	n.wantMeasured(80)
	n.prolog(running)
	if got := n.read("run", fmt.Sprint(running), "decision"); got != "on\n" {
		t.Errorf("a second prolog of a job that is measured says %q", got)
	}
	n.epilog(running)
	for _, release := range releases {
		release()
	}
	if n.startJob(user, 81) == "" {
		t.Error("nothing is held any more, and the user is still not measured")
	}
	n.epilog(81)
	if left := n.entries(); len(left) > 0 {
		t.Errorf("/run/jobeff holds %q", left)
	}
	n.wantMounts(0)
}
