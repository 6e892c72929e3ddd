package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNeededMemory: the interval, and the end on which advice may stand.
func TestNeededMemory(t *testing.T) {
	node := func(change func(*Cgroup)) *Cgroup {
		c := &Cgroup{Nodes: 1, Low: 10, High: 40, Peaks: 1, NodeLow: 10, NodeHigh: 40, Cache: 25, Caches: 1, Events: 1}
		change(c)
		return c
	}
	same := func(*Cgroup) {}
	slurm := &Usage{Memory: 30, Allocated: 100}
	for name, c := range map[string]struct {
		job  Job
		want *NeededMemory
	}{
		"nothing": {Job{Nodes: 1}, nil},
		"a peak":  {Job{Nodes: 1, Usage: slurm, Cgroup: node(same)}, &NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Use: 40, NodeUse: 40, Cache: 25, From: MemoryCgroup}},
		"19 readings": {Job{Nodes: 1, Cgroup: node(func(c *Cgroup) { c.Samples = 19 })},
			&NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Use: 40, NodeUse: 40, Cache: 25, Samples: 19, From: MemoryCgroup}},
		"20 readings": {Job{Nodes: 1, Cgroup: node(func(c *Cgroup) { c.Samples = 20 })},
			&NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Use: 10, NodeUse: 10, Cache: 25, Samples: 20, From: MemoryCgroup}},
		"20 readings, no peak": {Job{Nodes: 1, Cgroup: node(func(c *Cgroup) { c.Samples, c.High, c.NodeHigh, c.Peaks = 20, 0, 0, 0 })},
			&NeededMemory{Low: 10, NodeLow: 10, Use: 10, NodeUse: 10, Cache: 25, Samples: 20, From: MemoryCgroup}},
		"killed": {Job{Nodes: 1, Cgroup: node(func(c *Cgroup) { c.Kills, c.Samples = 1, 99 })},
			&NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Cache: 25, Samples: 99, Limit: true, From: MemoryCgroup, NoLess: "a process was killed for want of memory"}},
		"its limit": {Job{Nodes: 1, Cgroup: node(func(c *Cgroup) { c.Full = 1 })},
			&NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Cache: 25, Limit: true, From: MemoryCgroup, NoLess: "its memory limit was reached"}},
		"killed, as Slurm says": {Job{Nodes: 1, Cgroup: node(same), Usage: &Usage{OutOfMemory: "0"}},
			&NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Cache: 25, Limit: true, From: MemoryCgroup, NoLess: "its memory limit was reached"}},
		"the limit is not known": {Job{Nodes: 1, Cgroup: node(func(c *Cgroup) { c.Events = 0 })},
			&NeededMemory{Low: 10, High: 40, NodeLow: 10, NodeHigh: 40, Cache: 25, From: MemoryCgroup, NoLess: "whether its memory limit was reached is not known"}},
		"one of two nodes": {Job{Nodes: 2, Usage: slurm, Cgroup: node(func(c *Cgroup) { c.Samples = 20 })},
			&NeededMemory{Low: 10, High: 30, NodeLow: 10, Cache: 25, Samples: 20, From: MemorySlurm, NoLess: "the kernel's figures are not known of every node"}},
		"Slurm alone": {Job{Nodes: 1, Usage: slurm}, &NeededMemory{High: 30, NodeHigh: 30, Cache: -1, From: MemorySlurm, NoLess: "the kernel's figures are not known of every node"}},
		"no peak": {Job{Nodes: 1, Usage: slurm, Cgroup: node(func(c *Cgroup) { c.High, c.NodeHigh, c.Peaks = 0, 0, 0 })},
			&NeededMemory{Low: 10, High: 30, NodeLow: 10, NodeHigh: 30, Cache: 25, From: MemorySlurm, NoLess: "the kernel's peak is not known"}},
		"a process, and less by Slurm": {Job{Nodes: 1, Usage: slurm, Cgroup: &Cgroup{Nodes: 1, Low: 35, NodeLow: 35, Process: 35}},
			&NeededMemory{Low: 35, High: 35, NodeLow: 35, NodeHigh: 35, Cache: -1, From: MemorySlurm, NoLess: "whether its memory limit was reached is not known"}},
	} {
		if diff := cmp.Diff(c.want, c.job.NeededMemory()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestCgroupOfNodes: nodes add up, and what one of them does not know is not known of all.
func TestCgroupOfNodes(t *testing.T) {
	d := func(n time.Duration) *time.Duration { return &n }
	a := Cgroup{Nodes: 1, CPUs: 8, Cores: 4, Low: 10, High: 40, Peaks: 1, NodeLow: 10, NodeHigh: 40, Samples: 30, Process: 9, Cache: 5, Caches: 1, Events: 1, Full: 1, Kills: 2, Faults: 3, Swapped: 4, Read: 5, Written: 6, Throttled: d(7)}
	b := Cgroup{Nodes: 1, Low: 20, NodeLow: 20, Process: 20, Stalled: d(1)}
	want := Cgroup{Nodes: 2, Low: 30, High: 40, Peaks: 1, NodeLow: 20, NodeHigh: 40, Process: 20, Cache: 5, Caches: 1, Events: 1, Full: 1, Kills: 2, Faults: 3, Swapped: 4, Read: 5, Written: 6, Stalled: d(1), Throttled: d(7)}
	var one, other Cgroup
	one.Add(&a)
	one.Add(&b)
	other.Add(&b)
	other.Add(&a)
	if diff := cmp.Diff(want, one) + cmp.Diff(one, other); diff != "" {
		t.Error(diff)
	}
	j := Job{Nodes: 2, Cgroup: &one}
	if n := j.NeededMemory(); n.High != 0 || n.Low != 30 || n.Use != 0 {
		t.Errorf("with one peak of two: %+v", n)
	}
	for name, change := range map[string]func(*Cgroup){
		"of two nodes": func(c *Cgroup) { c.Nodes = 2 }, "two peaks": func(c *Cgroup) { c.Peaks = 2 }, "no peak": func(c *Cgroup) { c.Peaks = 0 },
		"less than nothing": func(c *Cgroup) { c.High, c.NodeHigh = 5, 5 }, "another node's": func(c *Cgroup) { c.NodeLow = 5 }, "events": func(c *Cgroup) { c.Events = 2 },
	} {
		c := a
		if change(&c); c.Possible() || !a.Possible() {
			t.Errorf("%s: %v", name, c)
		}
	}
}
