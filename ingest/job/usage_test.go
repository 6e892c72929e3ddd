package job

import (
	"testing"
	"time"
)

// Only sacct's times, whole seconds, tell a suspension. A node's end some ms later is none.
func TestSuspended(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		end, elapsed, want time.Duration
	}{
		{10 * time.Second, 7 * time.Second, 3 * time.Second},
		{7 * time.Second, 7 * time.Second, 0},
		{7400 * time.Millisecond, 7 * time.Second, 0},
		{6 * time.Second, 7 * time.Second, 0},
	} {
		j := Job{Submit: start, Start: start, End: start.Add(c.end), Elapsed: c.elapsed}
		if got := j.Suspended(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWholeNodes: without a record, the nodes' CPUs tell whether a job had all of them, of nodes with two hardware threads a
// core whichever of both Slurm counts.
func TestWholeNodes(t *testing.T) {
	node := func(cpus, cores int) *Cgroup { return &Cgroup{Nodes: 1, CPUs: cpus, Cores: cores} }
	two := node(8, 4)
	two.Add(node(8, 4))
	unsaid := node(8, 4)
	unsaid.Add(node(0, 0))
	for name, c := range map[string]struct {
		cpus, nodes int
		of          *Cgroup
		whole, told bool
	}{
		"all CPUs": {8, 1, node(8, 8), true, true}, "half of them": {4, 1, node(8, 8), false, true},
		"all hardware threads": {8, 1, node(8, 4), true, true}, "all cores": {4, 1, node(8, 4), true, true}, "three cores": {3, 1, node(8, 4), false, true},
		"three cores of two threads": {6, 1, node(8, 4), false, true}, "two nodes": {16, 2, two, true, true}, "one of two nodes": {8, 2, node(8, 4), false, false},
		"a node that does not say": {16, 2, unsaid, false, false}, "nothing": {8, 1, nil, false, false},
	} {
		j := Job{CPUs: c.cpus, Nodes: c.nodes, Cgroup: c.of}
		if whole, why := j.WholeNodes(); whole != c.whole || (why == "") != c.told {
			t.Errorf("%s: %v, %q", name, whole, why)
		}
	}
}
