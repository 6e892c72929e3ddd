package test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Faults of the server, and of the way to it. They must lose nothing: every ended job has one
// row. FAULTS.md lists all faults with their tests. Each of these tests runs alone; `make faults`
// runs them with more jobs.

// stormJobs is how many jobs end in a storm: 150, or $JOBEFF_FAULTS_JOBS.
func stormJobs() int {
	if n, err := strconv.Atoi(os.Getenv("JOBEFF_FAULTS_JOBS")); err == nil {
		return n
	}
	return 150
}

// storm submits an array of n jobs of one rank and returns its id.
func storm(t *testing.T, name string, n int) string {
	t.Helper()
	return site.submit(t, "bob", rounds(t, site, mpich)+" 1 1", "-n1", fmt.Sprintf("--array=1-%d", n), "--job-name="+name)
}

// waitStorm waits for all its jobs, as long as some still end.
func waitStorm(t *testing.T, id string, n int) {
	t.Helper()
	for last, same := -1, 0; ; time.Sleep(pause()) {
		left := strings.Count(site.exec(t, "ctl", "squeue", "-h", "-r", "-j", id, "-o", "%i"), "\n")
		if left == 0 {
			return
		}
		if same++; left != last {
			last, same = left, 0
		}
		if same > patience {
			t.Fatalf("not finished: %d of %d jobs do not end", left, n)
		}
	}
}

// wantStorm checks that each job has one row with its rank. It waits as long as some still arrive.
func wantStorm(t *testing.T, name string, n int) {
	t.Helper()
	rows := map[uint32]int{}
	for last, same := -1, 0; len(rows) < n; time.Sleep(pause()) {
		resend(t)
		rows = map[uint32]int{}
		for _, d := range site.list(t, "bob") {
			if d.ArrayTaskID != nil && d.Name == name && d.Ranks == 1 {
				rows[*d.ArrayTaskID]++
			}
		}
		if same++; len(rows) != last {
			last, same = len(rows), 0
		}
		if same > patience {
			t.Fatalf("not finished: %d of %d jobs have no row", n-len(rows), n)
		}
	}
	for task, count := range rows {
		if count != 1 || int(task) > n {
			t.Errorf("task %d has %d rows", task, count)
		}
	}
	t.Logf("%d jobs, %d rows", n, len(rows))
}

// TestServerDown: jobs end while the server is away. When it returns, all of them arrive.
func TestServerDown(t *testing.T) {
	n := stormJobs()
	site.must(t, "", "jobeffd", "stop")
	up := false
	t.Cleanup(func() {
		if !up {
			site.must(t, "", "jobeffd", "start")
		}
	})
	id := storm(t, "down", n)
	waitStorm(t, id, n)
	waiting := 0
	for i := range nodes {
		out := site.exec(t, fmt.Sprint("n", i+1), "sh", "-c", "ls /var/spool/jobeff/outbox | wc -l")
		here, _ := strconv.Atoi(strings.TrimSpace(out))
		waiting += here
	}
	if waiting < n {
		t.Errorf("%d reports wait on the nodes, want at least %d", waiting, n)
	}
	site.must(t, "", "jobeffd", "start")
	up = true
	wantStorm(t, "down", n)
}

// TestBlackHole: the server accepts connections and does not answer. No epilog waits for that,
// and the report comes later.
func TestBlackHole(t *testing.T) {
	ended := func() string {
		return site.exec(t, "ctl", "sh", "-c", "cat "+site.dir+"/log/slurmd-n*.log | grep -c 'jobeff: jobeff_body_\\(fold\\|ship\\|light\\) .* was ended' || true")
	}
	before := ended()
	site.exec(t, "ctl", "sh", "-c", "kill -STOP $(cat /run/jobeffd.pid)")
	on := func() { site.exec(t, "ctl", "sh", "-c", "kill -CONT $(cat /run/jobeffd.pid)") }
	t.Cleanup(on)
	id := site.run(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 5 1", "-N1", "-n2")
	if after := ended(); after != before {
		t.Errorf("an epilog waited for the server until it was ended: %s such, %s before", after, before)
	}
	on()
	resend(t)
	wantWhole(t, wantExecutions(t, site.jobeff(t, "alice", id), 1)[0], usual, 2, 1)
}

// TestKilledAfterCommit: the daemon dies between a report's COMMIT and its answer. The node sends
// the report again, and the job has one row.
func TestKilledAfterCommit(t *testing.T) {
	asInstalled := withFailpoints(t, "/usr/sbin/jobeffd", []string{"../cmd/jobeffd"}, "ctl")
	site.exec(t, "ctl", "sh", "-c", "echo committed kill >"+failpoints)
	t.Cleanup(func() { site.exec(t, "ctl", "rm", "-f", failpoints) })
	site.must(t, "", "jobeffd", "stop")
	site.must(t, "", "jobeffd", "start")
	id := site.run(t, "bob", srun(t, usual)+rounds(t, site, usual)+" 5 1", "-n2", "-w", "n1", "--job-name=committed")
	until(t, "the daemon's death", func() bool {
		return site.try(t, "", "exec", "ctl", "sh", "-c", "kill -0 $(cat /run/jobeffd.pid)").code != 0
	})
	if out := site.exec(t, "n1", "ls", "/var/spool/jobeff/outbox"); !strings.Contains(out, "-"+id+"-") {
		t.Errorf("the node did not keep its report: %q", out)
	}
	site.exec(t, "ctl", "rm", failpoints)
	asInstalled()
	site.exec(t, "ctl", "rm", "-f", "/run/jobeffd/jobeffd.sock") // what `jobeffd start` waits for
	site.must(t, "", "jobeffd", "start")
	resend(t)
	d := site.jobeff(t, "bob", id)
	wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 1)
	wantRows(t, id, 1)
	if d.Attempt != 1 || d.NodesReported != 1 {
		t.Errorf("attempt %d, %d nodes reported", d.Attempt, d.NodesReported)
	}
}

// TestSpoolFull gives a node's spool 16 KiB while the server is away. Jobs run, and the node
// stays in service. Once there is room, everything arrives.
func TestSpoolFull(t *testing.T) {
	site.must(t, "", "jobeffd", "stop")
	site.exec(t, "n1", "sh", "-c", "mount -t tmpfs -o size=16k tmpfs /var/spool/jobeff")
	gone := false
	free := func() {
		if !gone {
			site.exec(t, "n1", "sh", "-c", `cp -a /var/spool/jobeff /tmp/kept && umount /var/spool/jobeff && cp -a /tmp/kept/. /var/spool/jobeff/`)
			site.must(t, "", "jobeffd", "start")
			gone = true
		}
	}
	t.Cleanup(free)
	var ids []string
	for range 6 {
		ids = append(ids, site.run(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 5 1", "-n2", "-w", "n1"))
	}
	if left := strings.Fields(site.exec(t, "n1", "ls", "-A", "/run/jobeff/notes")); !slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, ".done-") }) {
		t.Errorf("the outbox took all: %q is left", left)
	}
	site.wantInService(t, "n1")
	free()
	ids = append(ids, site.run(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 5 1", "-n2", "-w", "n1"))
	resend(t)
	for _, id := range ids {
		d := site.jobeff(t, "alice", id)
		if d.State != "COMPLETED" {
			t.Errorf("job %s: %s", id, d.State)
		}
		wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 1)
	}
}

// TestHostileName: a job's name is harmless wherever jobeff shows it.
func TestHostileName(t *testing.T) {
	t.Parallel()
	name := "=cmd|' /C calc'!A0<script>alert(1)</script>\x1b[31m\u202e\x01\"|,;'"
	id := site.run(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 5 1", "-N1", "-n2", "--job-name="+name)
	d := site.jobeff(t, "alice", id)
	wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 1)
	for _, args := range [][]string{{"jobeff", id}, {"jobeff", "--json", id}, {"jobeff", "-S", "-1days"}, {"jobeff", "-S", "-1days", "--parsable2"}, {"jobeff", "explain", id}} {
		out := site.as(t, "alice", args...)
		if i := strings.IndexFunc(out, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == '\u202e' }); i >= 0 {
			t.Errorf("%q: byte %d of\n%q", args, i, out)
		}
	}
	if log := site.exec(t, "ctl", "cat", site.dir+"/log/jobeffd.log"); strings.ContainsAny(log, "\x1b\u202e\x01") {
		t.Error("the daemon's log is not inert")
	}
}

// TestSuspendedRanks: a job that is suspended for a while has no negative times, and all of its
// life counts.
func TestSuspendedRanks(t *testing.T) {
	t.Parallel()
	id := site.submit(t, "alice", srun(t, usual)+rounds(t, site, usual)+" 250 20", "-N1", "-n2")
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool { return started(t, id) })
	site.as(t, "alice", "scancel", "--signal=STOP", id)
	time.Sleep(3 * time.Second)
	site.as(t, "alice", "scancel", "--signal=CONT", id)
	site.wait(t, id)
	e := wantExecutions(t, site.jobeff(t, "alice", id), 1)[0]
	wantWhole(t, e, usual, 2, 1)
	const least = 6.5 // 5 s of work, and most of 3 s stopped
	if *e.Elapsed < least || *e.Useful < 0 || *e.MPITime < 0 || *e.Useful+*e.MPITime > 2**e.Elapsed+0.01 {
		t.Errorf("elapsed %v s, useful %v, MPI %v", *e.Elapsed, *e.Useful, *e.MPITime)
	}
}

// TestJobIDUsedAgain: the controller forgets everything and counts from 1 again. The earlier job
// and the new one with its id are two rows.
func TestJobIDUsedAgain(t *testing.T) {
	t.Parallel()
	c, err := newCluster("-again", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.down()
	job := srun(t, usual) + rounds(t, c, usual) + " %d 5"
	first := c.run(t, "alice", fmt.Sprintf(job, 3), "-n1")
	wantCalls(t, c.jobeff(t, "alice", first).Figures, "MPI_Allreduce", 3)
	c.exec(t, "ctl", "sh", "-c", "pkill -x slurmctld; while pgrep -x slurmctld; do sleep .1; done; rm -f /var/lib/slurm/slurmctld/job_state* /var/lib/slurm/slurmctld/last_*; setpriv --reuid slurm --regid slurm --clear-groups slurmctld -c")
	until(t, "the new controller", func() bool {
		r := c.try(t, "", "exec", "ctl", "sinfo", "-hN", "-o", "%t")
		return r.code == 0 && strings.TrimSpace(r.stdout) == "idle"
	})
	second := c.run(t, "alice", fmt.Sprintf(job, 7), "-n1")
	if second != first {
		t.Fatalf("the second job has the id %s, the first had %s: nothing is tried here", second, first)
	}
	until(t, "the second job's row", func() bool {
		d := c.jobeff(t, "alice", second)
		return d.Attempt == 2 && len(d.Executions) == 1
	})
	wantCalls(t, c.jobeff(t, "alice", second).Figures, "MPI_Allreduce", 7)
	runs := map[int]uint64{}
	for _, d := range c.list(t, "alice") {
		runs[d.Attempt]++
	}
	if len(runs) != 2 || runs[1] != 1 || runs[2] != 1 {
		t.Errorf("runs %v, want one each of 1 and 2", runs)
	}
}
