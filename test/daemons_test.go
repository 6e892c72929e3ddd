package test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Slurm's own daemons die on a node, the package is replaced, and a job lies about itself.

// running submits rounds on n1, which wait for a file at their end if one is named, and waits for its ranks.
func running(t *testing.T, roundsOf20ms int, file ...string) (id string) {
	t.Helper()
	id = site.submit(t, "bob", fmt.Sprintf("%s%s %d 20 %s", srun(t, usual), rounds(t, site, usual), roundsOf20ms, strings.Join(file, "")), "-n2", "-w", "n1", "-t5")
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool { return strings.Contains(site.output(t, "bob", id), "size 2") })
	return id
}

// wantRows checks how often bob's list shows a job: once for each of its attempts.
func wantRows(t *testing.T, id string, want int) {
	t.Helper()
	rows := 0
	for _, d := range site.list(t, "bob") {
		if fmt.Sprint(d.JobID) == id {
			rows++
		}
	}
	if rows != want {
		t.Errorf("%d rows of job %s, want %d", rows, id, want)
	}
}

// TestSlurmdDies kills a node's slurmd; the job ends before it is back.
func TestSlurmdDies(t *testing.T) {
	id := running(t, 100)
	site.exec(t, "n1", "pkill", "-9", "-x", "slurmd")
	time.Sleep(5 * time.Second)
	site.must(t, "", "nodeup", "n1")
	site.wait(t, id)
	d := site.jobeff(t, "bob", id)
	wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 1)
	wantCalls(t, d.Figures, "MPI_Allreduce", 200)
	wantRows(t, id, 1)
	if left := site.exec(t, "n1", "sh", "-c", "grep /run/jobeff/ /proc/mounts || true"); strings.Contains(left, id) {
		t.Errorf("the record's file system is still mounted: %s", left)
	}
}

// TestStepdDies kills the slurmstepd of a step under its ranks, then cancels the job. What the
// ranks had measured is kept.
func TestStepdDies(t *testing.T) {
	id := running(t, 10000)
	time.Sleep(2 * time.Second) // some rounds
	site.exec(t, "n1", "pkill", "-9", "-f", `slurmstepd: \[`+id+`\.0\]`)
	site.as(t, "bob", "scancel", id)
	site.wait(t, id)
	site.try(t, "", "exec", "n1", "pkill", "-9", "-f", "_rounds.c") // if nothing else ended them
	d := site.jobeff(t, "bob", id)
	e := wantExecutions(t, d, 1)[0]
	if e.Ranks != 2 || e.Elapsed == nil || *e.Elapsed < 1.5 {
		t.Errorf("%d ranks, elapsed %v", e.Ranks, e.Elapsed)
	}
	wantIdentities(t, e.Figures)
	wantRows(t, id, 1)
}

// TestUpgrade installs the package over itself, on every node, under a running job.
func TestUpgrade(t *testing.T) {
	id := running(t, 100, "installed")
	site.must(t, "", append([]string{"install"}, packages()...)...)
	if !site.inState(t, id, "RUNNING") {
		t.Fatal("the job had ended before the package was there")
	}
	site.as(t, "bob", "touch", "installed")
	site.wait(t, id)
	d := site.jobeff(t, "bob", id)
	wantWhole(t, wantExecutions(t, d, 1)[0], usual, 2, 1)
	wantCalls(t, d.Figures, "MPI_Allreduce", 200)
	if out := site.output(t, "bob", id); out != "size 2\n" {
		t.Errorf("the job's output is %q", out)
	}
}

// TestForged: a job lies about its owner, its place and what jobeff may do.
func TestForged(t *testing.T) {
	t.Parallel()
	script := `export SLURM_JOB_ACCOUNT=rich SLURM_JOB_USER=root SLURM_JOB_UID=0 SLURM_JOB_PARTITION=secret SLURM_CLUSTER_NAME=other SLURMD_NODENAME=n9
export SPANK_JOBEFF=off SPANK_SLURM_JOB_UID=0 SPANK__SLURM_SPANK_OPTION_jobeff_jobeff=off JOBEFF_CONFIG=/tmp/evil.toml
` + srun(t, usual) + rounds(t, site, usual) + " 5 1"
	id := site.run(t, "alice", script, "-N1", "-n2")
	d := reported(t, id)
	if d.User != "alice" || d.Account != "proj" || d.Partition != "main" || d.Cluster != "test" {
		t.Errorf("user %q, account %q, partition %q, cluster %q", d.User, d.Account, d.Partition, d.Cluster)
	}
	e := wantExecutions(t, d, 1)[0]
	wantWhole(t, e, usual, 2, 1)
	if e.NodeList[0].Node == "n9" {
		t.Error("the node's name is the job's word")
	}
}
