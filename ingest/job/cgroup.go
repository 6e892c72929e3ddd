package job

import (
	"math"
	"time"
)

// Cgroup is what the kernel counted of an attempt, in its cgroups and of its processes, as root of the nodes read
// it. A node's report covers one node; Add sums up nodes. Memory is in bytes.
type Cgroup struct {
	Nodes int `json:"nodes"` // that know something
	// CPUs is how many CPUs of these nodes are online: hardware threads of so many Cores. 0: not known of every
	// node.
	CPUs  int `json:"cpus,omitempty"`
	Cores int `json:"cores,omitempty"`
	// Low is what the attempt needed at least: the most anonymous and shared memory of a reading, or the
	// largest process. High is the peak of all it held, file cache included, and may be known of some nodes only.
	Low      int64 `json:"low,omitempty"`
	High     int64 `json:"high,omitempty"`
	Peaks    int   `json:"peaks,omitempty"`     // nodes in High
	NodeLow  int64 `json:"node_low,omitempty"`  // the highest Low of a node
	NodeHigh int64 `json:"node_high,omitempty"` // … and High
	Samples  int   `json:"samples,omitempty"`   // readings while it ran: of the node with the fewest
	Process  int64 `json:"process,omitempty"`   // ru_maxrss of the largest process
	Cache    int64 `json:"cache,omitempty"`     // most file cache of a reading
	Caches   int   `json:"caches,omitempty"`    // nodes in Cache

	Events int `json:"events,omitempty"` // nodes that know the next two
	Full   int `json:"full,omitempty"`   // how often the memory limit was reached
	Kills  int `json:"kills,omitempty"`  // processes killed because there was no more memory

	Faults  int   `json:"faults,omitempty"`       // page faults that read from a disk
	Swapped int   `json:"swapped,omitempty"`      // pages that came back from swap
	Read    int64 `json:"disk_read,omitempty"`    // from the busiest disk
	Written int64 `json:"disk_written,omitempty"` // … to it
	// Stalled is how long all processes of a node waited for memory at once, by the kernel's PSI; nil: not known of
	// any node.
	Stalled *time.Duration `json:"stalled_ns,omitempty"`
	// Throttled is what a limit of CPU time cost, summed over the CPUs, at least; nil: not known of any node.
	Throttled *time.Duration `json:"throttled_ns,omitempty"`
}

// Add adds the cgroups of other nodes. The order makes no difference.
func (c *Cgroup) Add(b *Cgroup) {
	switch {
	case b.Nodes == 0:
	case c.Nodes == 0:
		c.Samples, c.CPUs, c.Cores = b.Samples, b.CPUs, b.Cores
	default:
		c.Samples = min(c.Samples, b.Samples)
		c.CPUs, c.Cores = addAll(c.CPUs, b.CPUs), addAll(c.Cores, b.Cores)
	}
	for _, sum := range []struct{ to, from *int64 }{{&c.Low, &b.Low}, {&c.High, &b.High}, {&c.Cache, &b.Cache}, {&c.Read, &b.Read}, {&c.Written, &b.Written}} {
		*sum.to = addNumbers(*sum.to, *sum.from)
	}
	for _, sum := range []struct{ to, from *int }{{&c.Nodes, &b.Nodes}, {&c.Peaks, &b.Peaks}, {&c.Caches, &b.Caches}, {&c.Events, &b.Events},
		{&c.Full, &b.Full}, {&c.Kills, &b.Kills}, {&c.Faults, &b.Faults}, {&c.Swapped, &b.Swapped}} {
		*sum.to = int(addNumbers(int64(*sum.to), int64(*sum.from)))
	}
	c.NodeLow, c.NodeHigh, c.Process = max(c.NodeLow, b.NodeLow), max(c.NodeHigh, b.NodeHigh), max(c.Process, b.Process)
	c.Stalled, c.Throttled = addKnown(c.Stalled, b.Stalled), addKnown(c.Throttled, b.Throttled)
}

// addAll adds two numbers. The sum is not known, 0, if one of them is not.
func addAll(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return int(addNumbers(int64(a), int64(b)))
}

// addNumbers adds numbers that are not negative, and stops at the highest number.
func addNumbers(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

func addKnown(a, b *time.Duration) *time.Duration {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	sum := AddTime(*a, *b)
	return &sum
}

// Possible reports whether one node can have counted this.
func (c *Cgroup) Possible() bool {
	return c.Nodes == 1 && max(c.Peaks, c.Caches, c.Events) <= 1 && c.NodeLow == c.Low && c.NodeHigh == c.High && (c.High > 0) == (c.Peaks == 1) &&
		(c.Peaks == 0 || c.Low <= c.High)
}

// Where the upper end of NeededMemory is from.
const (
	MemoryCgroup = "cgroup" // the kernel
	MemorySlurm  = "slurm"  // samples of Slurm's, or its reading of the kernel
)

// NeededMemory is how much memory a job needed, bytes. It is an interval: a cgroup's peak includes
// file cache that the kernel could have dropped. An end of 0 is not known.
type NeededMemory struct {
	Low, High         int64 // of all nodes
	NodeLow, NodeHigh int64 // of the node that needed most
	// Use and NodeUse are the ends that advice may rest on; 0: less memory may not be advised, and NoLess
	// says why.
	Use, NodeUse int64
	NoLess       string
	Cache        int64 // most file cache that was seen; -1: not known
	Limit        bool  // the limit was reached, or something was killed for want of memory
	Samples      int   // readings behind Low, of the node with the fewest
	From         string
}

// sampledEnough is how many readings are enough to take Low for what the job needed.
const sampledEnough = 20

// NeededMemory returns what is known of the memory that the job needed; nil: nothing.
func (j *Job) NeededMemory() *NeededMemory {
	n := NeededMemory{Cache: -1, From: MemoryCgroup, Limit: len(j.Usage.StepsOutOfMemory()) > 0 || j.State == "OUT_OF_MEMORY"}
	c := j.Cgroup
	if c == nil {
		c = new(Cgroup)
	}
	whole := c.Nodes > 0 && c.Nodes >= j.Nodes
	n.Low, n.NodeLow, n.Samples = c.Low, c.NodeLow, c.Samples
	n.Limit = n.Limit || c.Full > 0 || c.Kills > 0
	if c.Caches > 0 {
		n.Cache = c.Cache
	}
	switch {
	case whole && c.Peaks == c.Nodes:
		n.High, n.NodeHigh = c.High, c.NodeHigh
	case j.Usage != nil && j.Usage.Memory > 0:
		n.From, n.High = MemorySlurm, max(j.Usage.Memory, n.Low)
		if j.Nodes == 1 {
			n.NodeHigh = n.High
		}
	case n.Low == 0:
		return nil
	}
	n.decide(c, whole)
	return &n
}

// decide fills in the ends that advice may rest on, or why there are none.
func (n *NeededMemory) decide(c *Cgroup, whole bool) {
	switch {
	case n.Limit && c.Kills > 0:
		n.NoLess = "a process was killed for want of memory"
	case n.Limit:
		n.NoLess = "its memory limit was reached"
	case !whole:
		n.NoLess = "the kernel's figures are not known of every node"
	case c.Events < c.Nodes:
		n.NoLess = "whether its memory limit was reached is not known"
	case n.Samples >= sampledEnough:
		n.Use, n.NodeUse = n.Low, n.NodeLow
	case n.From != MemoryCgroup || n.High == 0:
		n.NoLess = "the kernel's peak is not known"
	default:
		n.Use, n.NodeUse = n.High, n.NodeHigh
	}
}

// Needed is the memory that a job needed as one figure, bytes: Use if there is one, else the upper
// end, else the lower.
func (n *NeededMemory) Needed() int64 {
	for _, known := range []int64{n.Use, n.High} {
		if known > 0 {
			return known
		}
	}
	return n.Low
}
