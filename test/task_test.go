package test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lookAround prints all that a task inherits, or that the library could change.
const lookAround = `
env | sort
ulimit -a; ulimit -Ha
grep -E "^(Sig[BIC]|Cap|Cpus_allowed|NoNewPrivs|Seccomp|Threads)" /proc/self/status
ls -l /proc/self/fd | tail -n +2
umask; nice; pwd; id
echo on stderr >&2
exit 7`

// What differs between two steps without jobeff: ports, step numbers, pids, inodes, and what srun
// says if the step before has not ended for the controller.
var (
	srunsOwn = regexp.MustCompile(`(?m)^srun: (Job \d+ step creation temporarily|Step created for job).*\n`)
	own      = regexp.MustCompile(`(?m)^(LD_PRELOAD|JOBEFF_RECORD_FILE|JOBEFF_COUNTERS|JOBEFF_WINDOWS|APPTAINERENV_LD_PRELOAD|SINGULARITYENV_LD_PRELOAD|SLURM_STEP_?ID|SLURM_SRUN_COMM_PORT|SLURM_STEP_LAUNCHER_PORT|SLURM_TASK_PID|SLURM_SPANK_\w*|_SLURM_SPANK_\w*)=.*\n`)
	volatile = regexp.MustCompile(`\[\d+\]|/proc/\d+|\d\d:\d\d`)
)

// TestTaskUnchanged compares a measured task with one that is not measured.
func TestTaskUnchanged(t *testing.T) {
	t.Parallel()
	script := "for m in on off; do srun --jobeff=$m bash -c '" + lookAround + "' >$m.out 2>$m.err; echo $? >$m.code; done\n" +
		"grep -c ^LD_PRELOAD= on.out off.out; exit 3"
	dir := site.home("alice") + "/unchanged"
	site.as(t, "alice", "mkdir", "-p", dir)
	id := site.run(t, "alice", script, "-n1", "--chdir="+dir)
	if out := site.output(t, "alice", id); out != "on.out:1\noff.out:0\n" {
		t.Errorf("LD_PRELOAD is set in: %q, want it in the measured step only", out)
	}
	for _, what := range []string{"out", "err", "code"} {
		on, off := site.as(t, "alice", "cat", dir+"/on."+what), site.as(t, "alice", "cat", dir+"/off."+what)
		clean := func(s string) []string {
			lines := strings.Split(volatile.ReplaceAllString(own.ReplaceAllString(srunsOwn.ReplaceAllString(s, ""), ""), ""), "\n")
			if what == "err" { // srun's own lines may come at any place
				slices.Sort(lines)
			}
			return lines
		}
		a, b := clean(on), clean(off)
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				t.Errorf("%s differs from line %d:\nmeasured:\n%s\nnot measured:\n%s", what, i+1, strings.Join(a[min(i, len(a)):], "\n"), strings.Join(b[min(i, len(b)):], "\n"))
				break
			}
		}
	}
	if d := site.jobeff(t, "alice", id); d.ExitCode != "3:0" || d.State != "FAILED" {
		t.Errorf("state %s, exit code %s, want FAILED 3:0", d.State, d.ExitCode)
	}
}

// TestNoFileMayGrow compares jobs in which no file may grow (ulimit -f 0), measured and not: the
// whole job, as sbatch hands the submitter's limits on, and one program of it. What such a program
// then does is its MPI library's business.
func TestNoFileMayGrow(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		line := "-K " + rounds(t, site, f) + " 3 1"
		for _, ranks := range []int{1, 2} {
			sbatch := fmt.Sprintf("sbatch --parsable -N1 -n%d ", ranks)
			t.Run(fmt.Sprintf("%s program %d", f.name, ranks), func(t *testing.T) {
				t.Parallel()
				wantSameEnd(t, sbatch+"--output="+site.outputFile(t, "alice"), "{ (ulimit -f 0; "+srun(t, f)+line+"; echo exit $?) 2>&1; } | grep -E '^(size|exit) '")
			})
			t.Run(fmt.Sprintf("%s job %d", f.name, ranks), func(t *testing.T) {
				t.Parallel()
				wantSameEnd(t, "ulimit -f 0; "+sbatch+"--output=/dev/null", srun(t, f)+line)
			})
		}
	}
}

// wantSameEnd submits a script measured and not, and compares how the jobs end and what they say.
// Slurm's own exit code of the job is not compared: on a busy machine it was 0:0 once and 25:0 once.
func wantSameEnd(t *testing.T, submit, script string) {
	t.Helper()
	said := map[string]string{}
	for _, mode := range []string{"on", "off"} {
		id := strings.TrimSpace(site.must(t, "#!/bin/bash\n"+script, "as", "alice", "bash", "-c", submit+" --jobeff="+mode))
		site.wait(t, id)
		said[mode] = site.sacct(t, id, "State") + "\n" + site.output(t, "alice", id)
	}
	t.Logf("not measured: %q", said["off"])
	if said["on"] != said["off"] {
		t.Errorf("measured: %q", said["on"])
	}
}
