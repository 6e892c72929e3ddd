package job

import (
	"fmt"

	"jobeff/report/figure"
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

// checkLoad takes away what cannot be.
func (n *NodeShare) checkLoad() {
	l := n.Load
	if l == nil {
		return
	}
	cpus := func(list string) bool { return list == "" || cpusIn(list) > 0 }
	counts := l.Ranks >= 1 && l.Ranks <= n.Ranks && max(l.Whole, l.Threaded, l.GPURanks, l.CrowdRanks) <= l.Ranks && l.OpenMP <= l.Threaded
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
	case l.Threaded > l.OpenMP && l.BusyOfMPI:
		add(WarnProgress, fmt.Sprintf("a thread that MPI_Init started (%s) was busy: it needs a core of its own beside each rank's", l.BusyName))
	case l.Threaded > l.OpenMP && !e.asksForThreads() && e.MPI != "":
		add(WarnThreadsCounted, l.ThreadedText()+", although nothing in the environment asks for them: the efficiencies speak of MPI only")
	}
	switch {
	case l.CrowdBusy > 0:
		add(WarnContention, l.CrowdText()+": useful time contains waiting for a CPU (srun --cpu-bind=cores, -c)")
	case l.Contended():
		add(WarnContention, l.QueueText()+": useful time contains this waiting (other programs on the cores, too few CPUs, or a CPU limit)")
	}
	if l.IsAsleep() {
		add(WarnSlept, l.SleptText()+", and did not wait for one: they slept, or waited for a file or a device")
	}
	return out
}

// ThreadedText says how many ranks had threads: "2 of 4 ranks had busy threads that do not call
// MPI".
func (l *Load) ThreadedText() string {
	unknown := l.Threaded - l.OpenMP
	ranks := figure.Count(unknown) + " of " + figure.Counted(l.Ranks, "rank")
	switch {
	case l.Ranks == 1:
		ranks = "the rank"
	case unknown == l.Ranks:
		ranks = "all " + figure.Counted(l.Ranks, "rank")
	}
	return ranks + " had busy threads that do not call MPI"
}

// CrowdText names the fullest group of ranks: "4 busy threads of 4 ranks share 2 CPUs (0-1)".
func (l *Load) CrowdText() string {
	cpus := "CPU " + l.CrowdCPUs
	if n := cpusIn(l.CrowdCPUs); n != 1 {
		cpus = fmt.Sprintf("%s (%s)", figure.Counted(n, "CPU"), l.CrowdCPUs)
	}
	return fmt.Sprintf("%s of %s share %s", figure.Counted(l.CrowdBusy, "busy thread"), figure.Counted(l.CrowdRanks, "rank"), cpus)
}

// QueueText says how long threads waited: "busy threads waited for a CPU in 42 % of their time".
func (l *Load) QueueText() string {
	return fmt.Sprintf("busy threads waited for a CPU in %s of their time", figure.Part(l.Queue.Seconds(), l.ThreadSpan.Seconds()))
}

// SleptText says how long ranks slept: "outside MPI, ranks used no CPU in at least 42 % of their
// time".
func (l *Load) SleptText() string {
	return fmt.Sprintf("outside MPI, ranks used no CPU in at least %s of their time", figure.Part(l.Slept.Seconds(), l.Span.Seconds()))
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
