package slow

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"time"

	"jobeff/ingest/job"
	"jobeff/ingest/slurmid"
)

// Observation says how long the ranks of a job computed on one of its nodes.
type Observation struct {
	Stratum Stratum
	Machine Machine
	UID     uint32
	At      time.Time // the job's end
	// Value is ln of the mean useful time of a thread. If the job had several nodes, it is how much that is above the
	// median of the others, which had the same input and the same hour.
	Value float64
}

// Machine names a node.
type Machine struct {
	Cluster string `json:"cluster"` // its name
	Node    string `json:"node"`    // its name there
}

// Stratum is the same for observations that are alike except for their nodes: work, counts, machine, and place in the
// job. Some places have more work than others, such as that of rank 0.
type Stratum [16]byte

// leastUseful is the least mean useful time. That of shorter jobs is mostly starting.
const leastUseful = time.Minute

// Of returns the observations of the nodes of a job, of its main program. Nodes on which something else than their
// speed made ranks take longer are left out. nil: the job says nothing of its nodes.
func Of(j *job.Job) (all []Observation) {
	main := job.MainExecution(j.Executions)
	if main < 0 || !speaks(j, &j.Executions[main]) {
		return nil
	}
	e := &j.Executions[main]
	key, fit, values := job.WorkloadKey(j.Cluster, j.UID, e), []*job.NodeShare{}, []float64{}
	for i := range e.Nodes {
		if n := &e.Nodes[i]; fits(n) {
			fit, values = append(fit, n), append(values, math.Log(useful(n)))
		}
	}
	if len(e.Nodes) > 1 {
		values = aboveOthers(values)
	}
	places := placesOf(e)
	for i, n := range fit[:len(values)] {
		text := fmt.Sprintf("%s\x00%s\x00%s\x00%+v\x00%v", key, j.Partition, job.MPILibrary(e), kindOf(n.Hardware),
			[]int{len(e.Nodes), e.Size, j.CPUs, n.Ranks, n.CPUs, threads(n), e.Threads(), places[n]})
		sum := sha256.Sum256([]byte(text))
		all = append(all, Observation{Stratum(sum[:16]), Machine{j.Cluster, n.Node}, j.UID, j.End, values[i]})
	}
	return all
}

// speaks reports whether a job's times may depend on the speed of its nodes alone. It must have ended well, with all of its
// ranks measured up to the end, and have been neither stopped nor held back. Slurm has not said how a job ended if State is
// empty. No GPU's kind is known, so a program with one could have had a slower kind.
func speaks(j *job.Job, e *job.Execution) bool {
	one := []job.Execution{*e}
	m, h := job.ExecutionMetrics(e), job.HardwareOf(e)
	return j.StateWord() == "COMPLETED" && !j.End.IsZero() && j.AsOf.IsZero() && j.Suspended() == 0 && !held(j.Cgroup) &&
		e.Folded == nil && !e.Spawned && e.CameToEnd() && e.Check() == nil && !job.ThreadsUnknown(one) &&
		m != nil && m.Coverage >= 1 && h != nil && h.Cores > 0 && job.WorkloadKey(j.Cluster, j.UID, e) != ""
}

// held reports whether a limit of CPU time stopped processes, or memory came back from swap. That is known of the whole
// job only.
func held(c *job.Cgroup) bool {
	return c != nil && (c.Throttled != nil && *c.Throttled > 0 || c.Swapped > 0)
}

// fits reports whether the kernel counted all ranks of a node, and they had their CPUs while they computed.
func fits(n *job.NodeShare) bool {
	l := n.Load
	return l != nil && n.Ranks > 0 && l.Whole == n.Ranks && l.GPURanks == 0 && !l.Contended() && !l.IsAsleep() && !l.IsOff() &&
		useful(n) >= leastUseful.Seconds()
}

// useful returns the mean useful time of a thread on a node, s.
func useful(n *job.NodeShare) float64 {
	if t := n.Threads; t != nil && t.Threads > 0 {
		return t.Useful.Seconds() / float64(t.Threads)
	}
	return n.Useful.Seconds() / float64(max(n.Ranks, 1))
}

func threads(n *job.NodeShare) int {
	if n.Threads != nil {
		return n.Threads.Threads
	}
	return 0
}

// aboveOthers returns how far each value is above the median of the others; nil: there are no others.
func aboveOthers(values []float64) []float64 {
	if len(values) < 2 {
		return nil
	}
	sorted, above := slices.Sorted(slices.Values(values)), make([]float64, len(values))
	for i, v := range values {
		at, _ := slices.BinarySearch(sorted, v)
		above[i] = v - medianWithout(sorted, at)
	}
	return above
}

// placesOf numbers an execution's nodes from 0 by their first ranks.
func placesOf(e *job.Execution) map[*job.NodeShare]int {
	first := func(n *job.NodeShare) int {
		if ranks, err := slurmid.RankList(n.RankIDs, 1); err == nil && len(ranks) > 0 {
			return ranks[0]
		}
		return math.MaxInt
	}
	var nodes []*job.NodeShare
	for i := range e.Nodes {
		nodes = append(nodes, &e.Nodes[i])
	}
	slices.SortStableFunc(nodes, func(a, b *job.NodeShare) int { return first(a) - first(b) })
	places := map[*job.NodeShare]int{}
	for i, n := range nodes {
		places[n] = i
	}
	return places
}

// kindOf is what two nodes have in common that should be as fast. Memory is rounded to 8 GiB: firmware takes a little.
func kindOf(h *job.Hardware) job.Hardware {
	kind := *h
	kind.MemoryMiB = (kind.MemoryMiB + 4<<10) >> 13
	return kind
}
