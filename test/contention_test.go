package test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/report/view"
)

// What people are told of a job that lacked CPUs, memory or time: the sentences are compared
// with testdata/NAME.txt.

var update = flag.Bool("update", false, "write what was said as the golden files")

// situation is a job whose figures say little of its program.
type situation struct {
	name   string
	ranks  int
	step   string                        // what starts the ranks of busy.c, which is %[1]s; %[2]s is srun with its --mpi
	args   []string                      // of sbatch
	before func(t *testing.T)            // nil: nothing
	meets  func(t *testing.T, id string) // what happens to it while it runs; nil: nothing
}

// Ranks that shall lack CPUs are bound to CPU 0 and 1, which every machine for these tests has.
// The others sleep, in MPI too: nothing is said of what else runs on the machine. Ranks that compute
// do so until a time, so that all are done at once, however little of a CPU each has.
var situations = []situation{
	{name: "libgomp", ranks: 2, step: "%[2]staskset -c 0,1 %[1]s 2 openmp"},
	{name: "one-core", ranks: 2, step: "%[2]staskset -c 0 %[1]s 2 alone"},
	{name: "two-cpus", ranks: 4, step: "%[2]staskset -c 0,1 %[1]s 2 alone"},
	{name: "hog", ranks: 2, step: "%[2]sbash -c 'exec taskset -c $SLURM_LOCALID %[1]s 3 alone'", args: []string{"-w", "n1"}, before: hog},
	{name: "out-of-memory", ranks: 2, step: "%[2]s%[1]s 4 memory", args: []string{"--mem=150M"}},
	{name: "out-of-memory-mpirun", ranks: 2, step: "timeout 300 mpirun.openmpi -np 2 %[1]s 4 memory", args: []string{"--mem=150M"}},
	{name: "out-of-memory-goes-on", ranks: 2, step: "%[2]s%[1]s 4 memory; true", args: []string{"--mem=150M"}},
	{name: "failed-later", ranks: 2, step: "%[2]s%[1]s 8 sleep; exit 137"},
	{name: "suspended", ranks: 2, step: "%[2]s%[1]s 8 sleep", meets: suspend},
	{name: "time-limit", ranks: 2, step: "%[2]s%[1]s 600 sleep", meets: runOutOfTime},
	{name: "hung", ranks: 2, step: "%[2]s%[1]s 600 hang", meets: runOutOfTime},
}

func TestSituations(t *testing.T) {
	t.Parallel()
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.before != nil {
				s.before(t)
			}
			f := usual
			if strings.Contains(s.step, openmpi.launch) {
				f = openmpi
			}
			app := build(t, site, f.cc, "busy.c", "-fopenmp", "-pthread")
			args := append([]string{"-J", s.name, "--jobeff-workload=" + s.name, "-N1", fmt.Sprint("-n", s.ranks)}, s.args...)
			id := site.submit(t, "alice", fmt.Sprintf(s.step, app, srun(t, usual)), args...)
			if s.meets != nil {
				s.meets(t, id)
			}
			site.wait(t, id)
			d := usage(t, id)
			views := site.as(t, "alice", "jobeff", "--full", id) + "\n" + site.as(t, "alice", "jobeff", "explain", id)
			golden(t, s.name+".txt", sentences(views, id), hinderedBy(d, s.name+".txt"))
		})
	}
}

// hinderedBy are the lines that differ where a machine had no CPU for ranks that hardly need one, or
// for the prolog, and jobeff says so in a warning that the golden has not. Its other lines stay.
func hinderedBy(d *view.Job, name string) *regexp.Regexp {
	want, _ := os.ReadFile(filepath.Join("testdata", name))
	lines := []string{`\z.`} // none
	for code, of := range map[string]string{"contention": `\[contention\]$|^(Confidence|Workload|Advice) |\[slept\]$`, "prolog_failed": `\[prolog_failed\]$|^Confidence `} {
		if warned(d, code) && !strings.Contains(string(want), "["+code+"]") {
			lines = append(lines, of)
		}
	}
	return regexp.MustCompile(strings.Join(lines, "|"))
}

// hog lets a process of root spin on CPU 1 of n1, until the test ends.
func hog(t *testing.T) {
	t.Helper()
	pid := site.exec(t, "n1", "sh", "-c", "taskset -c 1 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!")
	t.Cleanup(func() { site.exec(t, "n1", "kill", strings.TrimSpace(pid)) })
}

// runOutOfTime takes the rest of its time from a job whose ranks run. Slurm looks every 30 s.
func runOutOfTime(t *testing.T, id string) {
	t.Helper()
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool { return started(t, id) })
	time.Sleep(2 * time.Second) // so that its time is not that of its start
	site.as(t, "alice", "scontrol", "update", "jobid="+id, "timelimit=0")
}

// suspend has Slurm stop a job for some of its ranks' time.
func suspend(t *testing.T, id string) {
	t.Helper()
	site.waitRunning(t, id)
	until(t, "the ranks of job "+id, func() bool { return started(t, id) })
	site.exec(t, "ctl", "scontrol", "suspend", id)
	time.Sleep(3 * time.Second)
	site.exec(t, "ctl", "scontrol", "resume", id)
}

// golden compares got with testdata/name, or writes it there with -update. Lines that match but are
// left out.
func golden(t *testing.T, name, got string, but *regexp.Regexp) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test ./test -update writes it", err)
	}
	lines := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), but.MatchString)
	}
	if diff := cmp.Diff(lines(string(want)), lines(got)); diff != "" {
		t.Errorf("%s differs (-want +got), go test ./test -update accepts it:\n%s", path, diff)
	}
}

// Views hold more than sentences. A table begins with a line like tables, as does the verdict that depends
// on how many CPUs the machine has. A line like figuresOnly tells times, memory, places, or what a rule asks
// of every job. Whether the tasks' memory adds up to more than the job's depends on Slurm's version.
var (
	tables      = regexp.MustCompile(`^unused-memory: |^(MPI )?[Pp]arallel efficiency  |^MPI share|^Parallel efficiency over time|^Useful part|^(Nodes|Ranks) with|^MPI calls|^Where in the code`)
	figuresOnly = regexp.MustCompile(`^(Time|Busy|Memory|Program|MPI|Core-hours|Line|sbatch|  asks|  see) |\[memory_over\]$`)
)

// measured are figures that differ from run to run. Other whole numbers stay: they are ranks,
// threads and CPUs.
var measured = regexp.MustCompile(`(runtime is )\d+(?:\.\d+)?|(?:\b(?:[Uu]nder|[Oo]ver) )?\d+ %|\b\d\d(?::\d\d)+|\b\d+(?:\.\d+)+(?: s\b)?`)

// counted are how many rules gave which verdict.
var counted = regexp.MustCompile(`(\d+ rules)(, \d+ [a-z ]+)+`)

// lost and compared are the parts of the headline that depend on how evenly the machine ran the
// ranks.
var (
	lost     = regexp.MustCompile(`(went into MPI|was lost in OpenMP|was not useful \(.*?\)): `)
	compared = regexp.MustCompile(`, (not below|below|above) the 0\.80 that POP recommends`)
)

// sentences is what views say of a job, a line each, however long the figures in it are. Left
// out, or written as #, is what the machine and the job's place in the queue decide.
func sentences(views, id string) string {
	var out strings.Builder
	for i, part := range strings.Split(strings.TrimSpace(views), "\n\n") {
		if tables.MatchString(part) {
			continue
		}
		if i == 0 { // the headline begins no line with spaces
			part = lost.ReplaceAllString(strings.Join(strings.Fields(part), " "), "…: ")
			part = compared.ReplaceAllString(part, "")
		}
		for line := range strings.Lines(strings.ReplaceAll(part, "\n    ", " ")) {
			if figuresOnly.MatchString(strings.TrimSuffix(line, "\n")) {
				continue
			}
			line = measured.ReplaceAllString(counted.ReplaceAllString(strings.Join(strings.Fields(line), " "), "$1"), "${1}#")
			fmt.Fprintln(&out, regexp.MustCompile(`\b(Job|jobeff workload) `+id+`\b`).ReplaceAllString(line, "$1 #"))
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}
