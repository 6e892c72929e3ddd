package ingest

import "time"

// Counters are what the CPUs counted in useful time, in user mode (METRICS §1: InsS,
// IPCS, FreqS). They add up.
type Counters struct {
	Ranks        int           `json:"ranks"` // that had counters; the sums speak of these
	Instructions uint64        `json:"instructions"`
	Cycles       uint64        `json:"cycles"`
	Useful       time.Duration `json:"useful_ns"` // of U_i, the part that was counted
}

// add adds what b counted; sums stop at the largest number, as those of calls do.
func (c *Counters) add(b Counters) {
	c.Ranks += b.Ranks
	c.Instructions = addCount(c.Instructions, b.Instructions)
	c.Cycles = addCount(c.Cycles, b.Cycles)
	c.Useful = addTime(c.Useful, b.Useful)
}

// IPC is useful instructions per cycle, nil without a cycle.
func (c *Counters) IPC() *float64 { return ratio(float64(c.Instructions), float64(c.Cycles)) }

// Frequency is cycles per useful second, Hz, nil without a second.
func (c *Counters) Frequency() *float64 { return ratio(float64(c.Cycles), c.Useful.Seconds()) }

func ratio(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	r := a / b
	return &r
}

// UsefulCounters adds up executions. Nil unless every recorded rank had counters: a part
// of them would not be comparable with another run.
func UsefulCounters(executions []Execution) *Counters {
	sum, ranks := Counters{}, 0
	for i := range executions {
		for j := range executions[i].Nodes {
			n := &executions[i].Nodes[j]
			ranks += n.Ranks
			if n.Counters != nil {
				sum.add(*n.Counters)
			}
		}
	}
	if ranks == 0 || sum.Ranks != ranks {
		return nil
	}
	return &sum
}

// countersOf adds up the ranks of a node, nil where none was counted.
func countersOf(procs []*process) *Counters {
	var sum Counters
	for _, p := range procs {
		if p.slot.Counted {
			sum.add(Counters{1, p.slot.Instructions, p.slot.Cycles, p.countedTime()})
		}
	}
	if sum.Ranks == 0 {
		return nil
	}
	return &sum
}

// countedTime is the useful time that the counters speak of: a rank that was killed while
// it computed did not read them again.
func (p *process) countedTime() time.Duration {
	if p.slot.FiniEnter != 0 || p.slot.OpenCall >= 0 {
		return p.useful
	}
	last := min(max(p.line.mono(p.slot.Last), p.start), p.end)
	return max(p.useful-time.Duration(p.end-last), 0)
}

// checkCounters takes away what cannot be.
func (n *NodeShare) checkCounters() {
	if c := n.Counters; c != nil && (c.Ranks < 1 || c.Ranks > n.Ranks || c.Useful < 0) {
		n.Counters = nil
	}
}
