package job

import (
	"math"
	"math/bits"
	"time"
)

// AddCount adds counts; the sum stops at the largest number.
func AddCount(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// AddTime adds times that are not negative; the sum stops at the largest time.
func AddTime(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// MulTime is n times d, at most the largest time. Neither may be negative.
func MulTime(d time.Duration, n int) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(n))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

// possible bounds a number of seconds so that sums of such numbers do not overflow.
func possible(s float64) float64 {
	if math.IsNaN(s) {
		return 0
	}
	return min(max(s, 0), 1e18)
}

// MostLabels bounds Execution.Sections: as many as one rank can have, and (other sections). Each
// rank may have labels of its own, which contain its number.
const MostLabels = 10_001

// Instances are sampled instances of a section: those that all of its ranks kept (METRICS 3).
// Instance i is a rank's i-th stay in the label.
type Instances struct {
	Least uint64     `json:"least"` // fewest times that a rank entered the label; Most: the most times
	Most  uint64     `json:"most"`
	Kept  []Instance `json:"kept"` // by number
}

// Instance is what the ranks of a Section did in one instance. Moments are ns of the nodes'
// CLOCK_REALTIME.
type Instance struct {
	Number uint64        `json:"i"`
	In     int64         `json:"in"`    // T_min
	Out    int64         `json:"out"`   // T_max
	Late   time.Duration `json:"late"`  // sum over ranks of T_in - T_min
	Late2  Square        `json:"late2"` // sum over ranks of (T_in - T_min)^2
	Early  time.Duration `json:"early"` // sum over ranks of T_max - T_out
}

// Square is a sum of squares in ns^2. A float's sum would depend on the order of merging.
type Square struct {
	Hi uint64 `json:"hi,omitempty"`
	Lo uint64 `json:"lo,omitempty"`
}

func product(a, b uint64) Square {
	hi, lo := bits.Mul64(a, b)
	return Square{hi, lo}
}

// plus adds; the sum stops at the largest number.
func (s Square) plus(b Square) Square {
	lo, carry := bits.Add64(s.Lo, b.Lo, 0)
	hi, over := bits.Add64(s.Hi, b.Hi, carry)
	if over != 0 {
		return Square{math.MaxUint64, math.MaxUint64}
	}
	return Square{hi, lo}
}

// seconds is the sum in s^2.
func (s Square) seconds() float64 { return (float64(s.Hi)*(1<<64) + float64(s.Lo)) / 1e18 }

// mostShift bounds how far the clocks of two nodes can differ, ns: three days.
const mostShift = 1 << 48

// timesRanks is ranks times d, at most the largest time.
func timesRanks(d int64, ranks int) time.Duration {
	return MulTime(time.Duration(min(max(d, 0), mostShift)), ranks)
}

// within is i as seen from an earlier T_min and a later T_max.
func (i Instance) within(in, out int64, ranks int) Instance {
	shift := min(uint64(i.In)-uint64(in), mostShift)
	all := timesRanks(int64(shift), ranks)
	i.Late2 = i.Late2.plus(product(2*shift, uint64(i.Late))).plus(product(shift, uint64(all)))
	i.Late, i.Early = AddTime(i.Late, all), AddTime(i.Early, timesRanks(out-i.Out, ranks))
	i.In, i.Out = in, out
	return i
}

// with joins what other ranks did in the same instance.
func (i Instance) with(b Instance, ranks, others int) Instance {
	in, out := min(i.In, b.In), max(i.Out, b.Out)
	i, b = i.within(in, out, ranks), b.within(in, out, others)
	i.Late, i.Late2, i.Early = AddTime(i.Late, b.Late), i.Late2.plus(b.Late2), AddTime(i.Early, b.Early)
	return i
}

// with joins the instances of other ranks.
func (x *Instances) with(y *Instances, ranks, others int) *Instances {
	out := &Instances{Least: min(x.Least, y.Least), Most: max(x.Most, y.Most)}
	for i, j := 0, 0; i < len(x.Kept) && j < len(y.Kept); {
		switch {
		case x.Kept[i].Number < y.Kept[j].Number:
			i++
		case x.Kept[i].Number > y.Kept[j].Number:
			j++
		default:
			out.Kept = append(out.Kept, x.Kept[i].with(y.Kept[j], ranks, others))
			i, j = i+1, j+1
		}
	}
	return out
}

// ThreadShare is what the ranks of one node did with their threads (METRICS 2). A rank without
// OpenMP counts as one thread. Times are sums over the threads, and together they are the sum over
// the ranks of threads times elapsed.
type ThreadShare struct {
	Ranks      int    `json:"ranks"`       // that used OpenMP
	Threads    int    `json:"threads"`     // of all ranks
	ThreadsMax int    `json:"threads_max"` // of one rank
	Why        string `json:"why,omitempty"`

	Useful     time.Duration `json:"useful_ns"`         // u
	UsefulMax  time.Duration `json:"useful_max_ns"`     // of one thread; in a section, of the ranks in Busiest
	Busiest    int           `json:"busiest,omitempty"` // of a section: ranks for which it is known what each thread did
	MPI        time.Duration `json:"mpi_ns"`            // m; a call outside of regions holds all threads of its rank
	IO         time.Duration `json:"io_ns"`             // likewise
	Imbalance  time.Duration `json:"imbalance_ns"`      // i
	Scheduling time.Duration `json:"scheduling_ns"`     // s, with waiting for locks
	Serial     time.Duration `json:"serial_ns"`         // r: threads without a region while another one computed
}

// Add adds the ranks of another node.
func (t *ThreadShare) Add(b *ThreadShare) {
	t.Ranks, t.Threads, t.ThreadsMax = t.Ranks+b.Ranks, t.Threads+b.Threads, max(t.ThreadsMax, b.ThreadsMax)
	t.Why, t.UsefulMax, t.Busiest = max(t.Why, b.Why), max(t.UsefulMax, b.UsefulMax), t.Busiest+b.Busiest
	to, from := t.times(), b.times()
	for i := range to {
		*to[i] = AddTime(*to[i], *from[i])
	}
}

// times are the sums over threads.
func (t *ThreadShare) times() [6]*time.Duration {
	return [...]*time.Duration{&t.Useful, &t.MPI, &t.IO, &t.Imbalance, &t.Scheduling, &t.Serial}
}

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

// Possible reports whether so many ranks can have counted this.
func (c *Counters) Possible(ranks int) bool {
	return c.Ranks >= 1 && c.Ranks <= ranks && c.Useful >= 0
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
