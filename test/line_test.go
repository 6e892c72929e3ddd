package test

import (
	"strings"
	"testing"
)

// TestLineThatFits: a Python job on one of four cores, with ten times the memory that it takes. It is told so, and
// the line asks for what it had.
func TestLineThatFits(t *testing.T) {
	t.Parallel()
	// it computes for five seconds of a CPU, however long the machine lets it wait for that
	const holds = `python3 -c "
import time
own = bytearray(100 << 20)
while time.process_time() < 5: pass"`
	id := site.run(t, "alice", holds, "-J", "my fit", "-N1", "-n1", "-c4", "--mem=1100M", "--time=600")
	d := usage(t, id)
	text := site.as(t, "alice", "jobeff", "--full", id)
	if !strings.Contains(strings.Join(strings.Fields(text), " "), "of its 4 CPUs busy") {
		t.Errorf("it is not told of its idle CPUs:\n%s", text)
	}
	if d.TimeLimit == nil || *d.TimeLimit != 36000 || d.TimeEfficiency == nil || d.QueueTime == nil {
		t.Errorf("time limit %v, efficiency %v, queue %v", d.TimeLimit, d.TimeEfficiency, d.QueueTime)
	}
	l := d.Request
	if l == nil || l.Line == nil {
		t.Fatalf("no line: %+v", l)
	}
	const want = "sbatch --nodes=1 --ntasks=1 --cpus-per-task=4 --time=" // five seconds tell nothing of CPUs, and it had a whole node
	if !strings.HasPrefix(*l.Line, want) || !strings.HasSuffix(*l.Line, " --job-name='my fit' YOUR-SCRIPT") || l.Runs != 1 {
		t.Errorf("%s of %d runs, want %s…", *l.Line, l.Runs, want)
	}
	if l.Memory != 0 || l.Time < 1.8*d.JobElapsed || l.Time > 1.8*d.JobElapsed+60 {
		t.Errorf("it asks for %d MiB and %g s after %g s", l.Memory>>20, l.Time, d.JobElapsed)
	}
	if !strings.HasSuffix(strings.ReplaceAll(text, " \\\n    ", " "), *l.Line+"\n") {
		t.Errorf("jobeff %s does not end in the line:\n%s", id, text)
	}
	for _, name := range []string{id, "my fit"} {
		if got := strings.ReplaceAll(site.as(t, "alice", "jobeff", "workload", name), " \\\n    ", " "); !strings.HasSuffix(got, *l.Line+"\n") {
			t.Errorf("jobeff workload %q prints %s", name, got)
		}
	}
	if list := site.as(t, "alice", "jobeff", "workload", "-nP"); !strings.Contains(list, "my fit|alice|-|1|4|") {
		t.Errorf("the list of workloads does not hold it:\n%s", list)
	}
	// of a script's arguments a hash is kept, as b2sum -l 128 prints it
	argued := strings.TrimSpace(site.as(t, "alice", "sh", "-c", `printf '#!/bin/sh\nsrun true\n' >argued.sh; sbatch --parsable -o /dev/null -n1 argued.sh 'a b' secret`))
	site.wait(t, argued)
	hashed := ""
	for _, s := range site.jobeff(t, "alice", argued).Steps {
		hashed += s.Args
	}
	if want := site.as(t, "alice", "sh", "-c", `printf 'a b\0secret\0' | b2sum -l 128`); hashed != want[:32] {
		t.Errorf("its arguments have the hash %q, want %s", hashed, want)
	}
	if r := site.try(t, "", "as", "bob", "jobeff", "workload", "my fit"); r.code == 0 {
		t.Errorf("bob sees alice's jobs: %s", r.stdout)
	}
	// srun starts as many tasks as a job asks for, also without MPI; on two nodes Slurm puts two on one, as before
	l = usage(t, site.run(t, "alice", "srun true", "-J", "three tasks", "-N2", "-n3")).Request
	if l == nil || l.Line == nil || !strings.HasPrefix(*l.Line, "sbatch --nodes=2 --ntasks=3 --ntasks-per-node=2 --cpus-per-task=1 --mem=") || l.Time < 60 {
		t.Fatalf("three tasks: %+v", l)
	}
	line := strings.NewReplacer("sbatch ", "sbatch --parsable -o /dev/null ", "YOUR-SCRIPT", "argued.sh").Replace(*l.Line)
	site.wait(t, strings.TrimSpace(site.as(t, "alice", "sh", "-c", line)))
}
