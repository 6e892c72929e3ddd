package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// held starts a process of alice on n1, outside of her job, until the test ends, and returns the word that it
// says first.
func held(t *testing.T, args ...string) (said string) {
	t.Helper()
	cmd := site.command(append([]string{"exec", "n1", "setpriv", "--reuid", "alice", "--regid", "alice", "--clear-groups"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	fmt.Fscan(out, &said)
	return said
}

// holdRecord writes 1.2 GB past the end of the record of alice's job, as far as that fits, and keeps the
// record open until the test ends.
func holdRecord(t *testing.T, id string) {
	t.Helper()
	if said := held(t, "bash", "-c", `exec 9<>/run/jobeff/"$0"/ranks; dd if=/dev/zero bs=1M seek=64 count=1200 conv=notrunc >&9 2>/dev/null; echo held; read -r`, id); said != "held" {
		t.Fatalf("the record of job %s is not held: %q", id, said)
	}
}

// leftOnN1 is what ended jobs have left in /run/jobeff/notes.
func leftOnN1(t *testing.T) string {
	t.Helper()
	return site.exec(t, "n1", "find", "/run/jobeff/notes", "-mindepth", "1", "-maxdepth", "1", "-name", ".*")
}

// TestRecordHeld: a user fills their record to the last byte, and a process of theirs holds it when
// the job is over. Their own report and a neighbour's job have everything.
func TestRecordHeld(t *testing.T) {
	job := srun(t, usual) + rounds(t, site, usual) + " 5 1"
	id := site.submit(t, "alice", job+"; until [ -e held ]; do sleep .1; done", "-n2", "-w", "n1")
	until(t, "the ranks of job "+id, func() bool { return site.output(t, "alice", id) != "" })
	holdRecord(t, id)
	neighbour := site.run(t, "bob", job, "-n2", "-w", "n1")
	site.as(t, "alice", "touch", "held")
	site.wait(t, id)
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 2, 1)
	wantWhole(t, wantExecutions(t, site.jobeff(t, "bob", neighbour), 1)[0], usual, 2, 1)
	if left := leftOnN1(t); strings.Count(left, ".gone-") != 1 {
		t.Errorf("the held record is not counted: %q", left)
	}
	after := site.run(t, "bob", job, "-n2", "-w", "n1")
	wantWhole(t, wantExecutions(t, site.jobeff(t, "bob", after), 1)[0], usual, 2, 1)
}

// cover lets alice mount a file system on n1 over path, as fusermount3 lets her, that never answers. It
// is there until the test ends; false: fusermount3 refuses.
func cover(t *testing.T, path string, options ...string) bool {
	t.Helper()
	script, err := os.ReadFile("fuse.py")
	if err != nil {
		t.Fatal(err)
	}
	return held(t, append([]string{"/usr/bin/python3", "-c", string(script), path}, options...)...) == "mounted"
}

// busyN1 is what n1 has of jobs until Slurm would give it another one: mounts, folders and what is noted of them; "": nothing.
func busyN1(t *testing.T) string {
	t.Helper()
	return site.exec(t, "n1", "sh", "-c", "{ grep ' /run/jobeff/' /proc/mounts; ls /run/jobeff | grep '^[0-9]'; ls -A /run/jobeff/notes | grep '^[.0-9]'; sinfo -h -n n1 -o %t | grep -v idle; } || true")
}

// TestRecordCovered: a user mounts a file system over what leads to their record, one that root may not
// look at and one that never answers root, and keeps it when the job is over. The jobs end, nothing is
// left of them, and a neighbour has the node.
func TestRecordCovered(t *testing.T) {
	site.exec(t, "n1", "sh", "-c", "echo user_allow_other >/etc/fuse.conf; mknod -m 666 /var/fuse c 10 229 && mount --bind /var/fuse /dev/fuse")
	t.Cleanup(func() { site.exec(t, "n1", "umount", "/dev/fuse") })
	job := srun(t, usual) + rounds(t, site, usual) + " 5 1"
	neighbour := func() {
		id := site.run(t, "bob", job, "-n2", "-w", "n1")
		wantWhole(t, wantExecutions(t, site.jobeff(t, "bob", id), 1)[0], usual, 2, 1)
	}
	neighbour()
	for i, options := range [][]string{nil, {"allow_other"}} {
		flag := fmt.Sprint("covered", i)
		id := site.submit(t, "alice", job+"; until [ -e "+flag+" ]; do sleep .1; done; srun -n1 true", "-n2", "-w", "n1")
		until(t, "the ranks of job "+id, func() bool { return site.output(t, "alice", id) != "" })
		record := strings.TrimSpace(site.exec(t, "n1", "sh", "-c", "find /run/jobeff/"+id+" -name ranks"))
		if !cover(t, record[:strings.LastIndexByte(record, '/')], options...) && !cover(t, record, options...) {
			t.Fatal("fusermount3 refuses: this test tries nothing")
		}
		site.as(t, "alice", "touch", flag)
		site.wait(t, id)
		neighbour()
		wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 2, 1)
	}
	until(t, "nothing to be left on n1", func() bool { return busyN1(t) == "" })
	tidyStrays(t)
}

// tidyStrays leaves on n1 what nobody would remove: a record of nobody's, with a file system of alice's
// on it. doctor tells, and tidy removes it, but nothing of a running job.
func tidyStrays(t *testing.T) {
	t.Helper()
	site.exec(t, "n1", "sh", "-c", "mkdir /run/jobeff/4000000000 && mount -t tmpfs -o uid=$(id -u alice) tmpfs /run/jobeff/4000000000")
	if !cover(t, "/run/jobeff/4000000000", "allow_other") {
		t.Fatal("fusermount3 refuses")
	}
	doctor := site.try(t, "", "exec", "n1", "jobeff", "admin", "doctor").stdout
	if !strings.Contains(doctor, "2 mounts in /run/jobeff without a job") {
		t.Errorf("doctor says\n%s", doctor)
	}
	id := site.submit(t, "alice", "until [ -e tidied ]; do sleep .1; done; "+srun(t, usual)+rounds(t, site, usual)+" 5 1", "-n2", "-w", "n1")
	until(t, "job "+id, func() bool { return site.exec(t, "n1", "sh", "-c", "ls -d /run/jobeff/"+id+" || true") != "" })
	site.exec(t, "n1", "/usr/sbin/jobeff-ingest", "tidy")
	site.as(t, "alice", "touch", "tidied")
	site.wait(t, id)
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 2, 1)
	until(t, "nothing to be left on n1", func() bool { return busyN1(t) == "" })
}

// TestRecordIsCharged: a measured job's memory cgroup is charged with what its ranks take of the
// record, and with nothing else of ours. The MPI's own shared memory is in both figures.
func TestRecordIsCharged(t *testing.T) {
	t.Parallel()
	// version 2's files are hierarchical, and the kernel adds them up every 2 s
	stat := `sed -n "s/^total_shmem /charged /p" /sys/fs/cgroup/memory/slurm*/uid_*/job_$SLURM_JOB_ID/memory.stat`
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		stat = `sleep 3; sed -n "s/^shmem /charged /p" /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_$SLURM_JOB_ID/memory.stat`
	} else if _, err := os.Stat("/sys/fs/cgroup/memory/tasks"); err != nil {
		t.Skip("no memory cgroup")
	}
	script := "srun sh -c '" + rounds(t, site, mpich) + " 5 1 >&2; " + // alone, it shares hardly any memory
		`stat -c "record %b" /run/jobeff/$SLURM_JOB_ID/ranks; ` + stat + "'"
	measure := func(export string) (record, charged int64) {
		id := site.run(t, "alice", script, "-N1", "-n1", "--error=/dev/null", "--export=ALL"+export)
		out := site.output(t, "alice", id)
		if n, err := fmt.Sscanf(out, "record %d\ncharged %d\n", &record, &charged); n != 2 {
			t.Fatalf("%q: %v", out, err)
		}
		return record * 512, charged
	}
	empty, without := measure(",JOBEFF=off")
	record, with := measure("")
	t.Logf("the rank takes %d bytes of the record, and %d more are charged to the job", record-empty, with-without)
	if took, more := record-empty, with-without; took < 16<<10 || more < took-4096 || more > took+4096 {
		t.Errorf("the rank takes %d bytes of the record, and %d more are charged to the job", took, more)
	}
}
