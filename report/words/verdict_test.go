package words

import (
	"testing"

	"jobeff/ingest/job"
)

// Time in files passes neither for MPI nor for ranks that ended early.
func TestWentInto(t *testing.T) {
	cases := []struct {
		pe, mpi, io float64 // of 2 ranks x 5 s
		want        string
	}{
		{0.6, 4, 0, "went into MPI"},
		{0.5, 4, 0, "was not useful (40 % in MPI, 10 % beside it: ranks that began late or ended early)"},
		{0.4, 4, 2, "was not useful (40 % in MPI, 20 % in MPI-IO)"},
		{0.3, 4, 2, "was not useful (40 % in MPI, 20 % in MPI-IO, 10 % beside it: ranks that began late or ended early)"},
	}
	for _, c := range cases {
		j := &job.Job{Metrics: &job.Metrics{Efficiencies: job.Efficiencies{Parallel: c.pe}, MPITime: c.mpi, IOTime: c.io, Ranks: 2, Elapsed: 5}}
		if got := wentInto(j); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestMemoryThatRanOut: what Slurm sampled does not contradict that a job ran out of memory.
func TestMemoryThatRanOut(t *testing.T) {
	j := &job.Job{State: "COMPLETED", Usage: &job.Usage{Memory: 40 << 20, Allocated: 100 << 20}}
	for state, want := range map[string]string{
		"COMPLETED":     "40.0 MiB of 100 MiB at once, by Slurm, whose count may miss a short peak or hold file cache (memory efficiency 0.40)",
		"OUT_OF_MEMORY": "ran out. Slurm's samples saw at most 40.0 MiB of 100 MiB: they miss a short peak, and one node or task may run out before the others",
	} {
		if j.State = state; memoryText(j) != want {
			t.Errorf("%s: %s", state, memoryText(j))
		}
	}
}

// TestMemoryText: the interval, who counted it, and what may be file cache.
func TestMemoryText(t *testing.T) {
	const MiB = 1 << 20
	for want, change := range map[string]func(*job.Cgroup){
		"100 MiB to 400 MiB of 1.0 GiB: the rest may be file cache, which the kernel could have dropped (memory efficiency at most 0.39)": func(*job.Cgroup) {},
		"390 MiB of 1.0 GiB (memory efficiency 0.38)": func(c *job.Cgroup) { c.Low, c.High = 390*MiB, 390*MiB },
		"100 MiB of 1.0 GiB without file cache, by 25 readings and the largest process; with it 400 MiB (memory efficiency 0.10)": func(c *job.Cgroup) { c.Samples = 25 },
		"at least 100 MiB of 1.0 GiB": func(c *job.Cgroup) { c.High, c.Peaks = 0, 0 },
		"100 MiB to 400 MiB of 1.0 GiB: the rest may be file cache, which the kernel could have dropped (memory efficiency at most 0.39); its limit was reached, so it may need more": func(c *job.Cgroup) { c.Full = 3 },
		"ran out. It held at most 400 MiB of 1.0 GiB: a step, a task or a node may have had a lower limit":                                                                            func(c *job.Cgroup) { c.Kills = 1 },
		"ran out. It held at least 100 MiB of 1.0 GiB: a step, a task or a node may have had a lower limit":                                                                           func(c *job.Cgroup) { c.Kills, c.High, c.NodeHigh, c.Peaks = 1, 0, 0, 0 },
	} {
		c := &job.Cgroup{Nodes: 1, Low: 100 * MiB, High: 400 * MiB, Peaks: 1, Events: 1}
		change(c)
		if got := memoryText(&job.Job{Nodes: 1, Cgroup: c, Usage: &job.Usage{Allocated: 1024 * MiB}}); got != want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
