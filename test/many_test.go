package test

import (
	"fmt"
	"testing"
)

// TestManyExecutions runs more MPI programs in one script than the record has slots at first, in
// little memory; `make soak` runs 5,000.
func TestManyExecutions(t *testing.T) {
	t.Parallel()
	const runs = 60
	script := fmt.Sprintf("for i in $(seq %d); do timeout 60 mpiexec.hydra -n 2 %s 1 1; done", runs, build(t, site, mpich.cc, "rounds.c"))
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
