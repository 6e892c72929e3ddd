package test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// holdRecord starts a process of alice on n1, outside of her job, that writes 1.2 GB past the end of its
// record, as far as that fits, and keeps the record open until the test ends.
func holdRecord(t *testing.T, id string) {
	t.Helper()
	cmd := site.command("exec", "n1", "setpriv", "--reuid", "alice", "--regid", "alice", "--clear-groups", "bash", "-c",
		`exec 9<>/run/jobeff/"$0"/record/ranks; dd if=/dev/zero bs=1M seek=64 count=1200 conv=notrunc >&9 2>/dev/null; echo held; read -r`, id)
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
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		t.Fatalf("the record of job %s is not held: %v", id, err)
	}
}

// leftOnN1 is what ended jobs have left in /run/jobeff.
func leftOnN1(t *testing.T) string {
	t.Helper()
	return site.exec(t, "n1", "find", "/run/jobeff", "-mindepth", "1", "-maxdepth", "1", "-name", ".*")
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

// TestRecordIsCharged: a measured job's memory cgroup is charged with what its ranks take of the
// record, and with nothing else of ours. The MPI's own shared memory is in both figures.
func TestRecordIsCharged(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/sys/fs/cgroup/memory/tasks"); err != nil {
		t.Skip("no memory cgroup of version 1")
	}
	script := "srun sh -c '" + rounds(t, site, mpich) + " 5 1 >&2; " + // alone, it shares hardly any memory
		`stat -c "record %b" /run/jobeff/$SLURM_JOB_ID/record/ranks; ` +
		`grep ^total_shmem /sys/fs/cgroup/memory/slurm*/uid_*/job_$SLURM_JOB_ID/memory.stat'`
	measure := func(export string) (record, charged int64) {
		id := site.run(t, "alice", script, "-N1", "-n1", "--error=/dev/null", "--export=ALL"+export)
		out := site.output(t, "alice", id)
		if n, err := fmt.Sscanf(out, "record %d\ntotal_shmem %d\n", &record, &charged); n != 2 {
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
