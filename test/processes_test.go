package test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

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
