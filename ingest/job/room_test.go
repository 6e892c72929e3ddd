package job

import (
	"math"
	"reflect"
	"testing"
)

const gib = 1 << 30

// TestHolds: what fits into a partition's nodes together, not what the largest of each has.
func TestHolds(t *testing.T) {
	r := &Room{Nodes: 10, CPUs: 64, Memory: 1024 * gib, Kinds: []NodeKind{{Nodes: 8, CPUs: 64, Memory: 256 * gib}, {Nodes: 4, CPUs: 32, Memory: 1024 * gib}}}
	limited := *r
	limited.AllCPUs, limited.AllMemory = 100, 1100*gib
	for _, c := range []struct {
		r           *Room
		nodes, cpus int
		memory      int64
		want        bool
	}{
		{r, 1, 64, 256 * gib, true}, {r, 1, 32, 1024 * gib, true}, {r, 1, 33, 257 * gib, false}, {r, 1, 65, gib, false}, {r, 1, 1, 1025 * gib, false},
		{r, 4, 32, 1024 * gib, true}, {r, 5, 32, 1024 * gib, false}, {r, 10, 32, 256 * gib, true}, {r, 11, 1, 1, false}, {r, 8, 64, gib, true}, {r, 9, 64, gib, false},
		{&limited, 1, 64, gib, true}, {&limited, 2, 64, gib, false}, {&limited, 2, 32, 550 * gib, true}, {&limited, 2, 32, 551 * gib, false},
		{&Room{CPUs: 64}, 9, 64, math.MaxInt64, true}, {&Room{CPUs: 64}, 1, 65, 1, false}, {&Room{Memory: gib}, 1000, 1000, gib, true}, {&Room{Memory: gib}, 1, 1, gib + 1, false},
		{nil, 1 << 30, 1 << 30, math.MaxInt64, true},
	} {
		if got := c.r.Holds(c.nodes, c.cpus, c.memory); got != c.want {
			t.Errorf("%+v holds %d nodes with %d CPUs and %d GiB: %v", c.r, c.nodes, c.cpus, c.memory/gib, got)
		}
	}
	if !r.FromSlurm() || (&Room{CPUs: 64}).FromSlurm() || (*Room)(nil).FromSlurm() {
		t.Error("where it is from")
	}
}

// TestRoomOfNodes: a node like those of a job is the largest of them, in cores where the job's CPUs may be such.
func TestRoomOfNodes(t *testing.T) {
	on := func(cpus, nodes int, had ...*Hardware) *Job {
		j := &Job{CPUs: cpus, Nodes: nodes, Executions: []Execution{{}}}
		for _, h := range had {
			j.Executions[0].Nodes = append(j.Executions[0].Nodes, NodeShare{Hardware: h})
		}
		return j
	}
	small, large := &Hardware{Cores: 32, ThreadsPerCore: 2, MemoryMiB: 256 << 10}, &Hardware{Cores: 48, ThreadsPerCore: 1, MemoryMiB: 512 << 10}
	withoutPrograms := &Job{CPUs: 4, Nodes: 2, Cgroup: &Cgroup{Nodes: 2, CPUs: 128, Cores: 64}}
	for name, c := range map[string]struct {
		j    *Job
		want *Room
	}{
		"cores":          {on(32, 1, small), &Room{CPUs: 32, Memory: 256 * gib}},
		"threads":        {on(64, 1, small), &Room{CPUs: 64, Memory: 256 * gib}},
		"two kinds":      {on(64, 2, small, large), &Room{CPUs: 48, Memory: 512 * gib}},
		"one that tells": {on(64, 2, nil, large), &Room{CPUs: 48, Memory: 512 * gib}},
		"no memory":      {on(8, 1, &Hardware{Cores: 8}), &Room{CPUs: 8}},
		"impossible":     {on(8, 1, &Hardware{Cores: -8, MemoryMiB: math.MaxInt64}), &Room{Memory: math.MaxInt64 >> 20 << 20}},
		"none":           {on(8, 1), nil}, "silent": {on(8, 1, nil), nil},
		"no program": {withoutPrograms, &Room{CPUs: 32}},
	} {
		if got := c.j.RoomOfNodes(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	run := &Run{AllocCPUs: 64, Nodes: 1, Conditions: &Conditions{Machine: small}}
	if got := run.RoomOfNodes(); !reflect.DeepEqual(got, &Room{CPUs: 64, Memory: 256 * gib}) {
		t.Errorf("of a run: %+v", got)
	}
	for _, machine := range []*Hardware{nil, {Model: severalModels}} {
		if run.Conditions.Machine = machine; run.RoomOfNodes() != nil {
			t.Errorf("of a run on %+v: %+v", machine, run.RoomOfNodes())
		}
	}
	if run.Conditions = nil; run.RoomOfNodes() != nil {
		t.Error("of a run of which nothing is known")
	}
}
