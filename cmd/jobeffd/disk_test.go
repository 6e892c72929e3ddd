package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jobeff/ingest/client"
	"jobeff/ingest/job"
	"jobeff/ingest/listing"
	"jobeff/ingest/node"
	"jobeff/ingest/store"
	"jobeff/test/disktest"
	"jobeff/test/trial"
)

// smallDisk mounts a file system of so many bytes ("1m") until the test ends.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	trial.MayMount(t)
	dir = t.TempDir()
	if err := syscall.Mount("jobeff-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// remount changes a small disk.
func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

// fill leaves no room on a disk.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := 64 << 10; block > 0; {
		if _, err := f.Write(make([]byte, block)); err != nil {
			block /= 2
		}
	}
	return func() { os.Remove(path) }
}

// listed are the ids of the jobs that a daemon shows.
func listed(t *testing.T, d *daemon) (ids []uint32) {
	t.Helper()
	list, err := d.client().Jobs(ctx, listing.JobQuery{Limit: 1000})
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, j := range list.Jobs {
		ids = append(ids, j.JobID)
	}
	return ids
}

// TestReaderDiskFull: the disk is full under the reader. It goes on answering; a mute is refused
// for now, and taken when there is room.
func TestReaderDiskFull(t *testing.T) {
	disk := smallDisk(t, "4m")
	d := newDaemon(t)
	d.db = filepath.Join(disk, "jobeff.db")
	reader := d.reader(t)
	d.startsBeside(t, reader)
	free := fill(t, disk)
	mute := func() error {
		_, err := reader.client().SetMute(ctx, "model", "", job.Mute{Until: time.Now().Add(time.Hour), Reason: strings.Repeat("full", 10_000/4)})
		return err
	}
	var answer *client.ServerError
	var err error
	for range 100 { // what SQLite has room for in its log
		if err = mute(); err != nil {
			break
		}
	}
	if !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("full: %v", err)
	}
	if ids := listed(t, reader); len(ids) != 1 {
		t.Errorf("full: jobs %v", ids)
	}
	free()
	if err := mute(); err != nil {
		t.Errorf("with room: %v", err)
	}
}

// TestReadOnlyDisk: the database's disk is read-only when the daemons start. Both say so in a line,
// and start when it is not.
func TestReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, "20m")
	d := newDaemon(t)
	d.db = filepath.Join(disk, "jobeff.db")
	reader := d.reader(t)
	d.start(t)
	if err := d.client().PostReport(ctx, mustJSON(t, report(7))); err != nil {
		t.Fatal(err)
	}
	d.stop(syscall.SIGTERM)
	remount(t, disk, syscall.MS_RDONLY, "")
	for _, args := range [][]string{d.args, reader.args} {
		var out bytes.Buffer
		within, cancel := context.WithTimeout(ctx, time.Minute) // one that starts would go on for ever
		defer cancel()
		code := run(within, append([]string{"--config", filepath.Join(d.dir, "jobeff.toml"), "--database", d.db}, args...), &out)
		if code != 1 || !strings.Contains(out.String(), "read-only file system") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, &out)
		}
	}
	remount(t, disk, 0, "")
	d.start(t)
	reader.start(t)
	if ids := listed(t, reader); len(ids) != 1 {
		t.Errorf("jobs %v", ids)
	}
}

// TestSpoolsDisk: a node's disk is full, or read-only. What cannot be written is an error for the
// fold, which keeps the job's directory. What waits is sent when the disk can be written again.
func TestSpoolsDisk(t *testing.T) {
	spool := smallDisk(t, "1m")
	d := newDaemon(t)
	d.start(t)
	if _, err := (node.Outbox{Spool: spool}).Write(report(7)); err != nil {
		t.Fatal(err)
	}
	free := fill(t, spool)
	if _, err := (node.Outbox{Spool: spool}).Write(report(8)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	if res := d.send(t, spool); res.Sent != 1 || res.Kept != 0 {
		t.Errorf("a full disk: %+v", res)
	}
	free()
	if _, err := (node.Outbox{Spool: spool}).Write(report(8)); err != nil {
		t.Fatal(err)
	}
	remount(t, spool, syscall.MS_RDONLY, "")
	if _, err := (node.Outbox{Spool: spool}).Write(report(9)); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a read-only disk: %v", err)
	}
	c := d.client()
	defer c.Close()
	if res, err := (&client.Sender{Spool: spool, Client: c}).Send(ctx); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a read-only disk: %+v, %v", res, err)
	}
	remount(t, spool, 0, "")
	if res := d.send(t, spool); res.Sent != 1 || res.Kept != 0 {
		t.Errorf("writable again: %+v", res)
	}
	if ids := listed(t, d); len(ids) != 2 {
		t.Errorf("jobs %v", ids)
	}
}

// TestOldBackup: a backup of an hour ago is restored while nodes report. What they report from then
// on is there, once. What they reported in that hour comes back with an import of the replaced file.
func TestOldBackup(t *testing.T) {
	d := newDaemon(t)
	d.start(t)
	post := func(jobs ...uint32) {
		t.Helper()
		for _, id := range jobs {
			if err := d.client().PostReport(ctx, mustJSON(t, report(id))); err != nil {
				t.Error(err)
			}
		}
	}
	post(1, 2)
	backup := filepath.Join(d.dir, "backup.db")
	if err := store.Backup(ctx, d.db, backup); err != nil {
		t.Fatal(err)
	}
	post(3)
	d.stop(syscall.SIGTERM)
	spool := t.TempDir()
	if _, err := (node.Outbox{Spool: spool}).Write(report(4)); err != nil { // while jobeffd is away
		t.Fatal(err)
	}
	if err := store.Restore(ctx, backup, d.db, true); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	if res := d.send(t, spool); res.Sent != 1 {
		t.Errorf("%+v", res)
	}
	post(2, 5) // one is in the backup
	if ids := listed(t, d); len(ids) != 4 || slices.Contains(ids, 3) {
		t.Errorf("jobs %v", ids)
	}
	old, err := store.OpenBeside(d.db + ".old")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	var out bytes.Buffer
	if err := old.Export(ctx, &out, nil); err != nil || !strings.Contains(out.String(), `"job_id":3`) {
		t.Errorf("what was replaced has no job 3: %v", err)
	}
	beside, err := store.OpenBeside(d.db)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	if _, err := beside.Import(ctx, &out, nil); err != nil {
		t.Error(err)
	}
	if ids := listed(t, d); len(ids) != 5 {
		t.Errorf("with what was replaced: jobs %v", ids)
	}
}

// TestNoCore: neither process leaves its memory behind, whatever ends it.
func TestNoCore(t *testing.T) {
	d := newDaemon(t)
	for _, p := range []*daemon{d, d.reader(t)} {
		p.program = []string{"sh", "-c", `cd "$0" && ulimit -c unlimited && exec "$@"`, p.dir, "/proc/self/exe"}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p.program[4] = self
		p.env = []string{"GOTRACEBACK=crash"}
		p.start(t)
		var limit unix.Rlimit
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_CORE, nil, &limit); err != nil || limit.Cur == 0 {
			t.Fatalf("it may leave no core anyway: %v, %v", limit, err)
		}
		err = p.stop(syscall.SIGABRT)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() || exit.Sys().(syscall.WaitStatus).CoreDump() {
			t.Errorf("%v: %v", p.args, err)
		}
		if p.args[0] == "--read" {
			continue
		}
		d.program = []string{"/proc/self/exe"}
		d.start(t) // the reader needs a database
	}
}

// failingDisk mounts a file system of a file, which becomes read-only at its first fault, as most
// do. fault causes one; mend unmounts, checks and mounts it again.
func failingDisk(t *testing.T) (dir string, fault, mend func()) {
	t.Helper()
	trial.MayMount(t)
	image := filepath.Join(t.TempDir(), "image")
	said := func(name string, args ...string) (string, error) {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s %v: %w: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	must := func(name string, args ...string) {
		t.Helper()
		if _, err := said(name, args...); err != nil {
			t.Fatal(err)
		}
	}
	must("truncate", "-s", "32M", image)
	must("mkfs.ext4", "-q", image)
	dir = t.TempDir()
	var device string
	// A device of its own each time: a cluster that starts meanwhile copies all mounts, and its copy
	// keeps a failed file system as it is.
	mount := func() {
		t.Helper()
		var err error
		if device, err = said("losetup", "--find", "--show", image); err != nil {
			t.Skip(err)
		}
		of := device
		t.Cleanup(func() { said("losetup", "-d", of) })
		must("mount", "-o", "errors=remount-ro", device, dir)
	}
	mount()
	t.Cleanup(func() { said("umount", "-l", dir) })
	fault = func() {
		t.Helper()
		if err := os.WriteFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error"), []byte("jobeff"), 0); err != nil {
			t.Skip(err)
		}
	}
	return dir, fault, func() { t.Helper(); must("umount", dir); said("fsck.ext4", "-fy", image); mount() }
}

// TestDiskFails: the database's disk becomes read-only under both daemons. Nodes keep their reports,
// people are still answered, and nothing that was confirmed is lost.
func TestDiskFails(t *testing.T) {
	disk, fault, mend := failingDisk(t)
	d := newDaemon(t)
	d.db = filepath.Join(disk, "jobeff.db")
	reader := d.reader(t)
	d.start(t)
	reader.start(t)
	const jobs = 50
	for id := range uint32(jobs) {
		if err := d.client().PostReport(ctx, mustJSON(t, report(1+id))); err != nil {
			t.Fatal(err)
		}
	}
	fault()
	spool := t.TempDir()
	if _, err := (node.Outbox{Spool: spool}).Write(report(jobs + 1)); err != nil {
		t.Fatal(err)
	}
	if res := d.send(t, spool); res.Kept != 1 || res.Sent != 0 || res.Refused != 0 {
		t.Errorf("read-only: %+v", res)
	}
	if n := len(listed(t, reader)); n != jobs {
		t.Errorf("read-only: %d jobs of %d", n, jobs)
	}
	d.stop(syscall.SIGTERM)
	reader.stop(syscall.SIGTERM)
	mend()
	d.start(t)
	if res := d.send(t, spool); res.Sent != 1 || res.Kept != 0 {
		t.Errorf("mended: %+v", res)
	}
	if n := len(listed(t, d)); n != jobs+1 {
		t.Errorf("mended: %d jobs of %d", n, jobs+1)
	}
}

// diskFaults are what a disk does wrong.
var diskFaults = map[string]func(t *testing.T, disk *disktest.Disk) (end func()){
	"full":          func(t *testing.T, disk *disktest.Disk) func() { return fill(t, disk.Dir) },
	"a write fails": brokenDisk("write", 1),
	"a flush fails": brokenDisk("flush", 1),
	"writes fail":   brokenDisk("write", 1000),
	"flushes fail":  brokenDisk("flush", 1000),
}

// checkpointFails makes writes to the disk blocks of SQLite's file fail. Its log can still be written, so COMMIT goes well, and
// only a checkpoint fails after it. A reader holds up the first checkpoints: they write back a part of the log, and do not ask
// whether that reached the disk. The file gets its blocks beforehand, so that everything written back fails.
func checkpointFails(t *testing.T, disk *disktest.Disk) func() {
	t.Helper()
	path := filepath.Join(disk.Dir, "jobeff.db")
	must(t, exec.Command("fallocate", "--keep-size", "--length", "16MiB", path).Run())
	db := openSQL(t, path)
	reads, err := db.Begin()
	must(t, err)
	var n int
	must(t, reads.QueryRow("SELECT count(*) FROM reports").Scan(&n))
	disk.FailIn(t, path)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if log, err := os.Stat(path + "-wal"); err != nil || log.Size() > 6<<20 {
				break
			}
		}
		reads.Rollback()
		db.Close()
	}()
	return func() { <-over; disk.Mend(t) }
}

func brokenDisk(kind string, times int) func(*testing.T, *disktest.Disk) func() {
	return func(t *testing.T, disk *disktest.Disk) func() {
		t.Helper()
		disk.Fail(t, kind, times)
		return func() { disk.Mend(t) }
	}
}

// TestDiskErrors: the database's disk is full, or its writes or flushes fail, once or for a while. SQLite's may fail where only a
// checkpoint sees it. jobeffd says so and answers 503. When the disk is mended, jobeffd goes on by itself; if ext4 became
// read-only, it does so after a reboot. What it acknowledged is there after a power cut, during the fault or later.
func TestDiskErrors(t *testing.T) {
	for name, db := range diskDatabases {
		for what, begin := range diskFaults {
			t.Run(name+"/"+what, func(t *testing.T) { diskError(t, db, begin, syscall.SIGKILL) })
		}
	}
	// as it ends, SQLite writes the log back and drops it: what it takes to be in the file must be there
	t.Run("SQLite/a checkpoint fails", func(t *testing.T) { diskError(t, sqliteOnDisk{}, checkpointFails, syscall.SIGTERM) })
}

func diskError(t *testing.T, db diskDatabase, begin func(*testing.T, *disktest.Disk) (end func()), stop syscall.Signal) {
	disk, spool, log := disktest.Start(t, db.size()), t.TempDir(), new(saidLines)
	d := newDaemon(t)
	d.db, d.log = db.create(t, disk.Dir), log
	d.start(t)
	jobs := 0
	send := func(more int) client.SendResult {
		t.Helper()
		for range more {
			jobs++
			_, err := node.Outbox{Spool: spool}.Write(report(uint32(jobs)))
			must(t, err)
		}
		return d.send(t, spool)
	}
	if res := send(50); res.Kept > 0 {
		t.Fatalf("a sound disk: %+v", res)
	}
	must(t, exec.Command("sync", "-f", disk.Dir).Run())
	end := begin(t, disk)
	res := send(20)
	for res.Kept == 0 && log.wrong() == "" && jobs < 5000 {
		res = send(20)
	}
	if said := log.wrong(); res.Refused > 0 || !strings.Contains(said, "the database cannot take this now") {
		t.Errorf("after %d jobs: %+v; jobeffd said %q", jobs, res, said)
	}
	during, taken := disk.Position(t), sentFrom(t, spool, jobs)
	end()
	how := "by itself"
	for late := time.Now().Add(time.Minute); res.Kept > 0 && time.Now().Before(late); res = send(1) {
		if node.WriteDurable(disk.Dir, "probe", nil) == nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		how = "after a reboot"
		d.stop(syscall.SIGTERM)
		db.kill()
		disk.Repair(t)
		db.restart(t)
		d.start(t)
	}
	if res = send(20); res.Kept > 0 || res.Refused > 0 {
		t.Fatalf("mended: %+v; jobeffd said %s", res, log.wrong())
	}
	after := disk.Position(t)
	if d.stop(stop); stop == syscall.SIGTERM {
		after = disk.Position(t)
	}
	db.kill()
	disk.Stop(t)
	// PostgreSQL starts again from what the kernel holds of its log, also of a piece that the disk refused. Until its
	// checkpoint has ended, tables on the disk may be ahead of the log.
	_, whole := db.(sqliteOnDisk)
	wantCut(t, db, disk, during, taken, whole)
	wantCut(t, db, disk, after, sentFrom(t, spool, jobs), true)
	t.Logf("result: %s: %d jobs were acknowledged before the disk was mended; jobeffd went on %s, and acknowledged %d", t.Name(), len(taken), how, jobs-len(taken))
}

// sentFrom returns the jobs up to this one that have left an outbox.
func sentFrom(t *testing.T, spool string, jobs int) (ids []int) {
	t.Helper()
	for id := 1; id <= jobs; id++ {
		name, err := node.OutboxName(report(uint32(id)))
		must(t, err)
		if _, err := os.Stat(filepath.Join(node.OutboxDir(spool), name+node.PackedExt)); err != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// wantCut wants these jobs in the database that a cut at a position left, and the database whole.
func wantCut(t *testing.T, db diskDatabase, disk *disktest.Disk, position int64, ids []int, whole bool) {
	t.Helper()
	dir, _ := disk.Cut(t, position, rand.New(rand.NewPCG(16, 0)))
	os.Remove(filepath.Join(dir, "filler")) // PostgreSQL does not start on a full disk
	d := newDaemon(t)
	d.db = db.open(t, dir)
	d.start(t)
	defer db.kill()
	defer d.stop(syscall.SIGKILL)
	stored := storedReports(t, d.db)
	for _, id := range ids {
		if stored[fmt.Sprintf("%032x", id)] == 0 {
			t.Errorf("job %d was acknowledged, and is missing after a cut at %d", id, position)
		}
	}
	if whole {
		db.check(t, d.db)
	}
}
