package test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"jobeff/report/view"
)

// TestResized: a job of two nodes that gives one back is one job, with the ranks of all of its programs and the core time
// of both sizes. slurmctld resizes none before slurmdbd has told it the job's index, which takes a while on a busy cluster.
func TestResized(t *testing.T) {
	t.Parallel()
	app := build(t, site, usual.cc, "busy.c", "-fopenmp", "-pthread")
	run := srun(t, usual)
	id := site.run(t, "alice", fmt.Sprintf(`cd && %[1]s%[2]s 2 sleep
until scontrol update JobId=$SLURM_JOB_ID NumNodes=1; do sleep .2; done
. ./slurm_job_${SLURM_JOB_ID}_resize.sh
rm -f slurm_job_${SLURM_JOB_ID}_resize.*
%[1]s-n 2 %[2]s 2 sleep`, run, app), "-N2", "-n4", "--ntasks-per-node=2") // beside other jobs, Slurm may else give one node three CPUs
	var d *view.Job
	until(t, "Slurm's word of job "+id, func() bool {
		d = site.jobeff(t, "alice", id)
		return d.State == "FAILED" || d.State == "COMPLETED" && d.Used != nil
	})
	lines := strings.Split(strings.TrimSpace(site.exec(t, "ctl", "sacct", "-DXnP", "-j", id, "-o", "State,Submit,Start,End,AllocCPUS")), "\n")
	var at [2][4]float64 // of each line, but for its state: s, and CPUs
	for i, line := range lines[:min(len(lines), 2)] {
		for k, text := range strings.Split(line, "|")[1:] {
			if when, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
				at[i][k] = float64(when.Unix())
			} else {
				at[i][k], _ = strconv.ParseFloat(text, 64)
			}
		}
	}
	want := at[0][3]*(at[1][0]-at[0][1]) + at[1][3]*(at[1][2]-at[1][0])
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "RESIZING|") || at[1][3] >= at[0][3] {
		t.Fatalf("Slurm has %q", lines)
	}
	if d.State != "COMPLETED" || d.Attempt != 1 || d.NodesReported != 2 || len(d.Executions) != 2 || d.Coverage == nil || *d.Coverage != 1 || d.Used == nil || math.Abs(3600**d.Used-want) > 1e-6 {
		t.Errorf("%s, attempt %d, %d nodes, %d programs, %v core-hours, want %v core-seconds: %q", d.State, d.Attempt, d.NodesReported, len(d.Executions), d.Used, want, lines)
	}
	if text := site.as(t, "alice", "jobeff", id); strings.Contains(text, "did not finish") || !strings.Contains(text, "it was resized") {
		t.Errorf("it is told %s", text)
	}
}
