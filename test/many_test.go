package test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestManyExecutions runs more MPI programs in one script than the record has slots at first, in
// little memory; `make soak` runs 5,000.
func TestManyExecutions(t *testing.T) {
	t.Parallel()
	const runs = 60
	script := fmt.Sprintf("for i in $(seq %d); do timeout 300 mpiexec.hydra -n 2 %s 1 1; done", runs, build(t, site, mpich.cc, "rounds.c"))
	id := site.run(t, "alice", script, "-N1", "-n2", "--mem=200M")
	d := reported(t, id)
	for _, e := range wantExecutions(t, d, runs) {
		if e.Ranks != 2 || e.Endings["finalized"] != 2 {
			t.Errorf("%d ranks, endings %v", e.Ranks, e.Endings)
		}
		wantCalls(t, e.Figures, "MPI_Allreduce", 2)
	}
	wantIdentities(t, d.Figures)
	if warned(d, "lost_full") || warned(d, "lost_memory") {
		t.Errorf("something was lost: %v", d.Warnings)
	}
}

// TestManyProcesses: a job starts 10,000 processes, 4,000 by its script and 3,000 by each rank. Only
// the ranks are measured, and only they take room in the record.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	const byScript, byRank, ranks = 4000, 3000, 2
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done
%s%s %d
du -sk /run/jobeff/$SLURM_JOB_ID/ranks | cut -f1`, byScript, srun(t, openmpi), build(t, site, openmpi.cc, "forks.c"), byRank)
	id := site.run(t, "alice", script, "-N1", fmt.Sprint("-n", ranks), "-t5")
	d := reported(t, id)
	wantWhole(t, wantExecutions(t, d, 1)[0], openmpi, ranks, 1)
	wantCalls(t, d.Figures, "MPI_Allreduce", ranks*byRank/100)
	if warned(d, "lost_full") || warned(d, "lost_memory") {
		t.Errorf("something was lost: %v", d.Warnings)
	}
	// a rank takes 60 KiB: 1 MiB would hold 17
	if room, err := strconv.Atoi(strings.TrimSpace(site.output(t, "alice", id))); err != nil || room > 1024 {
		t.Errorf("the record takes %d KiB, %v", room, err)
	}
}
