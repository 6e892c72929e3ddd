package job

import (
	"math"
	"time"
)

// Room is the most that a job can be given, as jobeffd knows it when it answers. With Kinds it describes the nodes of
// the partition, also those that are down, and the limits of partition and QOS. Limits of users, accounts and
// associations, features and GPUs may leave less. Without Kinds it describes a node like those that the job had, with
// CPUs and Memory alone: what is built in, of which Slurm may give less. A zero is no limit, or not known.
type Room struct {
	Nodes     int           `json:"nodes,omitempty"`      // of one job; known with Kinds
	CPUs      int           `json:"cpus,omitempty"`       // as Slurm counts them, of the node with the most
	Memory    int64         `json:"memory,omitempty"`     // bytes of the node with the most, that jobs may ask for
	AllCPUs   int           `json:"all_cpus,omitempty"`   // of one job on all its nodes
	AllMemory int64         `json:"all_memory,omitempty"` // bytes, likewise
	Time      time.Duration `json:"time_ns,omitempty"`    // the longest time limit
	Kinds     []NodeKind    `json:"kinds,omitempty"`      // none: Slurm's answer is not known
}

// NodeKind is what nodes of a partition have for jobs, all of them the same. Kinds are kept apart, since the
// nodes with the most memory may have the fewest CPUs.
type NodeKind struct {
	Nodes  int   `json:"nodes"`  // of this kind
	CPUs   int   `json:"cpus"`   // of each
	Memory int64 `json:"memory"` // bytes, likewise; 0: not known
}

// FromSlurm says whether the figures are Slurm's own, of the partition.
func (r *Room) FromSlurm() bool { return r != nil && len(r.Kinds) > 0 }

// Holds says whether a job can be given so many nodes with so many CPUs and bytes on each. What is not known sets no
// limit.
func (r *Room) Holds(nodes, cpus int, memory int64) bool {
	if r == nil {
		return true
	}
	within := func(n, most int64) bool { return n <= most || most == 0 }
	if !within(int64(nodes), int64(r.Nodes)) || !within(int64(cpus), int64(r.CPUs)) || !within(memory, r.Memory) ||
		!within(int64(nodes)*int64(cpus), int64(r.AllCPUs)) || r.AllMemory > 0 && memory > r.AllMemory/int64(max(nodes, 1)) {
		return false
	}
	fit := 0
	for _, k := range r.Kinds {
		if cpus <= k.CPUs && within(memory, k.Memory) {
			fit += k.Nodes
		}
	}
	return len(r.Kinds) == 0 || fit >= nodes
}

// RoomOfNodes is a node like those that the job had; nil: nothing is known of any of them.
func (j *Job) RoomOfNodes() *Room {
	var had []*Hardware
	for i := range j.Executions {
		for k := range j.Executions[i].Nodes {
			had = append(had, j.Executions[i].Nodes[k].Hardware)
		}
	}
	r := roomLike(j.CPUs, j.Nodes, had...)
	if c := j.Cgroup; r == nil && c != nil && c.Nodes > 0 && c.Cores > 0 { // no program of it was measured
		r = roomLike(j.CPUs, j.Nodes, &Hardware{Cores: c.Cores / c.Nodes, ThreadsPerCore: j.ThreadsPerCore()})
	}
	return r
}

// RoomOfNodes is a node like those that the run had; nil: they are not known, or differ.
func (r *Run) RoomOfNodes() *Room {
	if r.Conditions == nil {
		return nil
	}
	return roomLike(r.AllocCPUs, r.Nodes, r.Conditions.Machine)
}

// roomLike is a Room like the largest of a job's nodes. Slurm may count cores or hardware threads. It
// counts threads if the job had more CPUs than its nodes have cores.
func roomLike(cpus, nodes int, had ...*Hardware) *Room {
	r := new(Room)
	for _, h := range had {
		if h == nil {
			continue
		}
		per := h.Cores
		if cpus > nodes*h.Cores {
			per *= max(h.ThreadsPerCore, 1)
		}
		r.CPUs, r.Memory = max(r.CPUs, per), max(r.Memory, min(h.MemoryMiB, math.MaxInt64>>20)<<20)
	}
	if r.CPUs <= 0 && r.Memory <= 0 {
		return nil
	}
	return r
}
