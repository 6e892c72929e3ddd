package job

import "time"

// Counters are what the CPUs counted in useful time, in user mode (METRICS 1: InsS, IPCS,
// FreqS). They add up.
type Counters struct {
	Ranks        int           `json:"ranks"` // that had counters; the sums are over these
	Instructions uint64        `json:"instructions"`
	Cycles       uint64        `json:"cycles"`
	Useful       time.Duration `json:"useful_ns"` // the part of U_i that was counted
}

// Add adds b. Sums stop at the largest number, like those of calls.
func (c *Counters) Add(b Counters) {
	c.Ranks += b.Ranks
	c.Instructions = AddCount(c.Instructions, b.Instructions)
	c.Cycles = AddCount(c.Cycles, b.Cycles)
	c.Useful = AddTime(c.Useful, b.Useful)
}

// IPC is useful instructions per cycle; nil without a cycle.
func (c *Counters) IPC() *float64 { return ratio(float64(c.Instructions), float64(c.Cycles)) }

// Frequency is cycles per useful second, Hz; nil without useful time.
func (c *Counters) Frequency() *float64 { return ratio(float64(c.Cycles), c.Useful.Seconds()) }

func ratio(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	r := a / b
	return &r
}
