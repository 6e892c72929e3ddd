package test

import (
	"testing"
)

// TestWhereItWorks brings up a small cluster of each kind in the table of doc/MEASURED.md. The
// shared cluster has PrologFlags=Alloc and cgroup v1.
func TestWhereItWorks(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name string
		env  []string
	}{
		{"PrologFlags none", []string{"CLUSTER_PROLOGFLAGS=none"}},
		{"PrologFlags Contain", []string{"CLUSTER_PROLOGFLAGS=Contain"}},
		{"job_container tmpfs", []string{"CLUSTER_PROLOGFLAGS=Contain", "CLUSTER_CONTAINER=tmpfs"}},
		{"no cgroups", []string{"CLUSTER_CGROUP=none"}},
		{"configless", []string{"CLUSTER_CONFIGLESS=1"}},
	}
	for i, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			c, err := newCluster("-"+string(rune('a'+i)), 2, kind.env...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.down()
			defer func() {
				if t.Failed() {
					c.keepLogs()
				}
			}()
			// PMIx 5's shared memory and job_container/tmpfs do not get on, also without us
			for _, f := range families {
				id := c.run(t, "alice", "export PMIX_MCA_gds=hash\nsrun --mpi="+f.mpi+" "+rounds(t, c, f)+" 20 5", "-N2", "-n4")
				e := wantExecutions(t, c.jobeff(t, "alice", id), 1)[0]
				wantWhole(t, e, f, 4, 2)
				wantCalls(t, e.Figures, "MPI_Allreduce", 80)
			}
			id := c.run(t, "alice", "mpirun.openmpi -np 4 --map-by node "+rounds(t, c, openmpi)+" 20 5", "-N2", "--ntasks-per-node=2")
			wantWhole(t, wantExecutions(t, c.jobeff(t, "alice", id), 1)[0], openmpi, 4, 2)
		})
	}
}
