package job

import (
	"testing"
	"time"
)

// TestFurtherThreads: what of a job's CPUs was on further hardware threads of cores with a rank, and on others. Programs run for 1000 s, and each rank computes for 600 s of them; the job takes 1200 s if nothing else is said.
func TestFurtherThreads(t *testing.T) {
	start := time.Unix(1e9, 0)
	on := func(ranks, perCore int) NodeShare {
		n := NodeShare{Node: "n", Ranks: ranks, Useful: time.Duration(ranks) * 600 * time.Second, UsefulMax: 600 * time.Second, MPI: time.Duration(ranks) * 400 * time.Second,
			ElapsedMax: 1000 * time.Second, ElapsedSum: time.Duration(ranks) * 1000 * time.Second}
		if perCore > 0 {
			n.Hardware = &Hardware{Cores: 64, ThreadsPerCore: perCore}
		}
		return n
	}
	after := func(s int, nodes ...NodeShare) Execution {
		e := Execution{MPI: "MPICH", Start: start.Add(time.Duration(s) * time.Second), Nodes: nodes}
		for i := range nodes {
			e.Nodes[i].Node += string(rune('a' + i))
			e.Size += nodes[i].Ranks
		}
		e.End = e.Start.Add(1000 * time.Second)
		return e
	}
	world := func(nodes ...NodeShare) []Execution { return []Execution{after(0, nodes...)} }
	teams := func(n NodeShare, threads int) NodeShare {
		all := time.Duration(n.Ranks * threads)
		n.Threads = &ThreadShare{Threads: n.Ranks * threads, ThreadsMax: threads, Useful: all * 600 * time.Second, UsefulMax: 600 * time.Second, MPI: all * 400 * time.Second}
		return n
	}
	for _, c := range []struct {
		name          string
		cpus          int
		executions    []Execution
		further, idle float64 // s
		elapsed       int
	}{
		// Nothing may be said of further threads.
		{name: "one thread a core", cpus: 64, executions: world(on(64, 1))},
		{name: "a machine that is not known", cpus: 128, executions: world(on(64, 0)), idle: 64_000},
		{name: "Slurm counts cores", cpus: 64, executions: world(on(64, 2))},
		{name: "a rank on each hardware thread", cpus: 128, executions: world(on(128, 2))},
		{name: "more ranks than CPUs", cpus: 64, executions: world(on(128, 2)), idle: -64_000},
		{name: "a thread on each hardware thread", cpus: 128, executions: world(teams(on(16, 2), 8))},
		// What Slurm counted beyond ranks and threads may be said to be.
		{name: "a rank on each core", cpus: 128, executions: world(on(64, 2)), further: 64_000},
		{name: "a thread on each core", cpus: 128, executions: world(teams(on(16, 2), 4)), further: 64_000},
		{name: "a rank on half of the cores", cpus: 128, executions: world(on(32, 2)), further: 32_000, idle: 64_000},
		{name: "ranks on three of four hardware threads", cpus: 4, executions: world(on(3, 2)), further: 1000},
		{name: "four threads a core", cpus: 256, executions: world(on(64, 4)), further: 192_000},
		{name: "two ranks on each core of four threads", cpus: 256, executions: world(on(128, 4)), further: 128_000},
		{name: "one rank with CR_Core", cpus: 2, executions: world(on(1, 2)), further: 1000},
		{name: "one rank with CR_CPU", cpus: 1, executions: world(on(1, 2))},
		{name: "nodes of two kinds", cpus: 192, executions: world(on(64, 2), on(64, 1)), further: 64_000},
		{name: "nodes of two kinds, and CPUs of neither", cpus: 256, executions: world(on(64, 2), on(64, 1)), further: 64_000, idle: 64_000},
		{name: "one program after the other", cpus: 4, executions: []Execution{after(0, on(2, 2)), after(1000, on(2, 2))}, further: 4000, elapsed: 2200},
		{name: "programs side by side, and Slurm counts cores", cpus: 2, executions: []Execution{after(0, on(1, 2)), after(0, on(1, 2))}},
		{name: "programs side by side", cpus: 4, executions: []Execution{after(0, on(1, 2)), after(0, on(1, 2))}, further: 2000},
		{name: "programs that overlap for half of their time", cpus: 4, executions: []Execution{after(0, on(2, 2)), after(500, on(2, 2))}, further: 2000, elapsed: 1700},
		{name: "Slurm's whole seconds are fewer", cpus: 128, executions: world(on(64, 2)), further: 63_872, elapsed: 999},
	} {
		j := &Job{CPUs: c.cpus, Elapsed: 1200 * time.Second, End: start.Add(time.Hour), Executions: c.executions, Metrics: JobMetrics(c.executions)}
		if c.elapsed > 0 {
			j.Elapsed = time.Duration(c.elapsed) * time.Second
		}
		if further, idle := j.Beside(); !near(further, c.further, 1e-6) || !near(idle, c.idle, 1e-6) {
			t.Errorf("%s: %v on further threads, %v on other CPUs; want %v, %v", c.name, further, idle, c.further, c.idle)
		}
	}
}

// TestThreadsPerCore: it is that of the nodes that tell.
func TestThreadsPerCore(t *testing.T) {
	for _, c := range []struct {
		cgroup *Cgroup
		want   int
	}{{nil, 1}, {&Cgroup{Nodes: 1}, 1}, {&Cgroup{CPUs: 64, Cores: 64}, 1}, {&Cgroup{CPUs: 256, Cores: 128}, 2}, {&Cgroup{CPUs: 24, Cores: 16}, 2}, {&Cgroup{CPUs: 2, Cores: 8}, 1}} {
		if got := (&Job{Cgroup: c.cgroup}).ThreadsPerCore(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.cgroup, got, c.want)
		}
	}
}
