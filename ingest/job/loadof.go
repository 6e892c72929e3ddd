package job

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// LoadOf is what the kernel counted in executions. CPUList is left empty: the CPUs of two nodes
// are not the same ones. Nil where nothing was counted.
func LoadOf(executions []Execution) *Load {
	var sum Load
	for i := range executions {
		for j := range executions[i].Nodes {
			if l := executions[i].Nodes[j].Load; l != nil {
				sum.Add(l)
			}
		}
	}
	if sum.Ranks == 0 {
		return nil
	}
	return &sum
}

// CPUsAllowed is the number of CPUs that the ranks of an execution may run on, all nodes together;
// 0: not known of every node.
func CPUsAllowed(e *Execution) (n int) {
	for i := range e.Nodes {
		l := e.Nodes[i].Load
		if l == nil || l.CPUs() == 0 {
			return 0
		}
		n += l.CPUs()
	}
	return n
}

// threaded tells whether ranks of an execution had threads that compute. It is counted; the
// environment is believed only for ranks that no library counted.
func (e *Execution) threaded() bool {
	counted, ranks := 0, 0
	for i := range e.Nodes {
		ranks += e.Nodes[i].Ranks
		if l := e.Nodes[i].Load; l != nil {
			counted += l.Ranks
			if l.Threaded > 0 {
				return true
			}
		}
	}
	return counted < ranks && e.asksForThreads()
}

// asksForThreads tells what the environment claims.
func (e *Execution) asksForThreads() bool { return e.CPUsPerTask > 1 || e.OMPThreads > 1 }

// Threaded tells whether ranks had threads that compute besides those that call MPI: their useful
// time is then not that of all their cores.
func Threaded(executions []Execution) bool {
	return slices.ContainsFunc(executions, func(e Execution) bool { return e.threaded() })
}

// checkLoad takes away what cannot be.
func (n *NodeShare) checkLoad() {
	l := n.Load
	if l == nil {
		return
	}
	cpus := func(list string) bool { return list == "" || cpusIn(list) > 0 }
	counts := l.Ranks >= 1 && l.Ranks <= n.Ranks && max(l.Whole, l.Threaded, l.GPURanks, l.CrowdRanks) <= l.Ranks
	if !counts || l.Other > l.CPU || l.Slept > l.Span || !cpus(l.CPUList) || !cpus(l.CrowdCPUs) {
		n.Load = nil
	}
}

// loadWarnings are the doubts that the kernel's counts raise.
func loadWarnings(e *Execution) (out []Warning) {
	l := LoadOf([]Execution{*e})
	if l == nil {
		return nil
	}
	add := func(code, text string) { out = append(out, Warning{Code: code, Text: text}) }
	switch {
	case l.Threaded > 0 && l.BusyOfMPI:
		add(WarnProgress, fmt.Sprintf("a thread that MPI_Init started (%s) was busy: it needs a core of its own beside each rank's", l.BusyName))
	case l.Threaded > 0 && !e.asksForThreads():
		add(WarnThreadsCounted, fmt.Sprintf("%s had busy threads that do not call MPI, although nothing in the environment asks for them: the efficiencies speak of MPI only", ranksOf(l.Threaded, l.Ranks)))
	}
	switch {
	case l.CrowdBusy > 0:
		add(WarnContention, fmt.Sprintf("%d busy threads of %d ranks share %s: useful time contains waiting for a CPU (srun --cpu-bind=cores, -c)", l.CrowdBusy, l.CrowdRanks, cpuText(l.CrowdCPUs)))
	case l.Contended():
		add(WarnContention, fmt.Sprintf("busy threads waited for a CPU in %d %% of their time: useful time contains this waiting (other programs on the cores, too few CPUs, or a CPU limit)", percent(l.Queue, l.ThreadSpan)))
	}
	if l.IsAsleep() {
		add(WarnSlept, fmt.Sprintf("outside MPI, ranks used no CPU in at least %d %% of their time, and did not wait for one: they slept, or waited for a file or a device", percent(l.Slept, l.Span)))
	}
	return out
}

// percent is part of whole; whole is not 0.
func percent(part, whole time.Duration) int {
	return int(math.Round(100 * part.Seconds() / whole.Seconds()))
}

func ranksOf(n, all int) string {
	switch {
	case all == 1:
		return "the rank"
	case n == all:
		return fmt.Sprintf("all %d ranks", all)
	}
	return fmt.Sprintf("%d of %d ranks", n, all)
}

func cpuText(list string) string {
	if n := cpusIn(list); n != 1 {
		return fmt.Sprintf("%d CPUs (%s)", n, list)
	}
	return "CPU " + list
}

// severalModels is the Model of an execution whose nodes differ.
const severalModels = "several"

// HardwareOf is what all nodes of an execution have in common: Model is "several" where their
// CPUs differ, other figures are then 0, as MaxMHz and MemoryMiB are where they alone differ. Nil
// where a node's is not known.
func HardwareOf(e *Execution) *Hardware {
	var all *Hardware
	for i := range e.Nodes {
		h := e.Nodes[i].Hardware
		switch {
		case h == nil:
			return nil
		case all == nil:
			first := *h
			all = &first
		case all.kind() != h.kind():
			return &Hardware{Model: severalModels}
		}
		if all.MaxMHz != h.MaxMHz {
			all.MaxMHz = 0
		}
		if all.MemoryMiB != h.MemoryMiB {
			all.MemoryMiB = 0
		}
	}
	return all
}
