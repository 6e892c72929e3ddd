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
		env  []string // of cluster.sh
		job  string   // what a job begins with
	}{
		{name: "PrologFlags none", env: []string{"CLUSTER_PROLOGFLAGS=none"}},
		{name: "PrologFlags Contain", env: []string{"CLUSTER_PROLOGFLAGS=Contain"}},
		// PMIx 5's shared memory does not work in it, also without us
		{name: "job_container tmpfs", env: []string{"CLUSTER_PROLOGFLAGS=Contain", "CLUSTER_CONTAINER=tmpfs"}, job: "export PMIX_MCA_gds=hash\n"},
		{name: "no cgroups", env: []string{"CLUSTER_CGROUP=none"}},
		{name: "configless", env: []string{"CLUSTER_CONFIGLESS=1"}},
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
			for _, s := range starters {
				if s.slurm && !s.f.bySlurm() {
					continue
				}
				id := c.run(t, "alice", kind.job+s.ranks(t, 4)+rounds(t, c, s.f)+" 20 5", "-N2", "--ntasks-per-node=2")
				e := wantExecutions(t, c.jobeff(t, "alice", id), 1)[0]
				wantWhole(t, e, s.f, 4, 2)
				wantCalls(t, e.Figures, "MPI_Allreduce", 80)
			}
		})
	}
}
