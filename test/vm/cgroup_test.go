package vm

import "testing"

// onCgroup2 are the end-to-end tests that depend on cgroups, or on what Slurm's daemons do under systemd, and whose jobs fit into
// two CPUs of one node.
var onCgroup2 = []string{
	"^TestExactCounts$/_C$", // both MPIs
	"^TestFiveExecutions$",  // by their own launchers
	"^TestRecordIsCharged$",
	"^TestOutOfMemory$",
	"^TestMemory$",
	"^TestStopped$/^srun", // time limit, scancel
	"^TestRequeue$",
	"^TestArray$",
	"^TestForged$",
	"^TestRecordCovered$",
	"^TestSlurmdDies$",
	// what is said of jobs that lack CPUs and memory, with OpenMP
	"^TestSituations$/^(libgomp|one-core|hog|suspended|out-of-memory|out-of-memory-mpirun|time-limit)$",
}

// TestCgroup: the end-to-end tests hold on a node with cgroup v2, also with job_container/tmpfs.
func TestCgroup(t *testing.T) {
	m := boot(t, drive(newDisk(t))...)
	m.must(t, "slurm-ready; grep -q cgroup2 /proc/mounts && ! grep -q ' cgroup ' /proc/mounts")
	m.endToEnd(t, onCgroup2...)
	m.must(t, "echo JobContainerType=job_container/tmpfs >>/etc/slurm/slurm.conf; systemctl restart slurmctld slurmd; slurm-ready")
	// Open MPI 5's PMIx does not work in it, also without us
	t.Run("job_container", func(t *testing.T) { m.endToEnd(t, "^TestExactCounts$/^pmi2_C$", "^TestOutOfMemory$/^srun_MPICH$") })
}
