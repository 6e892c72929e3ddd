package job

import (
	"math"
	"math/bits"
	"time"

	"jobeff/preload/record"
)

// Instances are sampled instances of a section: those that all of its ranks kept (METRICS 3).
// Instance i is the time that a rank entered the label for the i-th time.
type Instances struct {
	Least uint64     `json:"least"` // times that a rank entered the label
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
	hi, lo := bits.Mul64(uint64(min(max(d, 0), mostShift)), uint64(ranks))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

// within is i, told from an earlier T_min and a later T_max.
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

// joinInstances joins the instances of the ranks of two sections; nil if those of one are not
// known. A section without ranks is a sum that has just begun.
func joinInstances(s, b *Section) *Instances {
	switch {
	case b.Ranks == 0:
		return s.Instances
	case s.Ranks == 0:
		return b.Instances
	case s.Instances == nil || b.Instances == nil:
		return nil
	}
	x, y := s.Instances, b.Instances
	out := &Instances{Least: min(x.Least, y.Least), Most: max(x.Most, y.Most)}
	for i, j := 0, 0; i < len(x.Kept) && j < len(y.Kept); {
		switch {
		case x.Kept[i].Number < y.Kept[j].Number:
			i++
		case x.Kept[i].Number > y.Kept[j].Number:
			j++
		default:
			out.Kept = append(out.Kept, x.Kept[i].with(y.Kept[j], s.Ranks, b.Ranks))
			i, j = i+1, j+1
		}
	}
	return out
}

// check says why instances of so many ranks cannot be; nil if they can.
func (i *Instances) check(ranks int) error {
	if i == nil {
		return nil
	}
	if len(i.Kept) > record.MostInstances || i.Least > i.Most {
		return errLists
	}
	last := uint64(0)
	for _, one := range i.Kept {
		if one.Number <= last || one.In < 0 || one.Out < one.In || min(one.Late, one.Early) < 0 {
			return errNegative
		}
		long := timesRanks(one.Out-one.In, ranks)
		if max(one.Late, one.Early) > long || one.Late2.seconds() > one.Late.Seconds()*time.Duration(one.Out-one.In).Seconds()*(1+Tolerance) {
			return errTooMuch
		}
		last = one.Number
	}
	return nil
}

// Imbalances are sums over sampled instances of what METRICS 3 tells of each.
type Imbalances struct {
	Sampled       int     `json:"sampled"`        // instances
	Known         int     `json:"known"`          // instances in Sum
	Entries       int     `json:"entries"`        // instances in EntryMean and EntryVariance
	Sum           float64 `json:"sum"`            // s, imb
	EntryMean     float64 `json:"entry_mean"`     // s, mean of imb_in over the ranks
	EntryVariance float64 `json:"entry_variance"` // s^2, its variance over the ranks
}

// count adds the numbers of instances. Numbers from another machine become possible ones.
func (i *Imbalances) count(b Imbalances) {
	for _, n := range [][2]*int{{&i.Sampled, &b.Sampled}, {&i.Known, &b.Known}, {&i.Entries, &b.Entries}} {
		*n[0] = min(max(*n[0], 0)+max(*n[1], 0), math.MaxInt32)
	}
}

// meanOf is the mean of n numbers; nil for none.
func meanOf(sum float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// imbalancesOf adds up the instances of a section of e. What is smaller than the doubt about the
// nodes' clocks is not told. Neither is anything where ranks that ended well entered the section a
// different number of times: their instances do not belong together.
func imbalancesOf(e *Execution, s *Section) Imbalances {
	if s.Instances == nil || len(s.Instances.Kept) == 0 || s.Instances.Least != s.Instances.Most && allFinalized(e) {
		return Imbalances{}
	}
	sum := Imbalances{Sampled: len(s.Instances.Kept)}
	ranks, n := float64(s.Ranks), float64(sum.Sampled)
	for _, i := range s.Instances.Kept {
		mean := i.Late.Seconds() / ranks
		sum.Sum += i.Early.Seconds() / ranks
		sum.EntryMean += mean
		sum.EntryVariance += max(i.Late2.seconds()/ranks-mean*mean, 0)
	}
	doubt, known := clockDoubt(e)
	if known && sum.Sum/n >= doubt.Seconds() {
		sum.Known = sum.Sampled
	} else {
		sum.Sum = 0
	}
	if known && sum.EntryMean/n >= doubt.Seconds() {
		sum.Entries = sum.Sampled
	} else {
		sum.EntryMean, sum.EntryVariance = 0, 0
	}
	return sum
}

func allFinalized(e *Execution) bool {
	ranks, _ := e.Ranks()
	return e.Endings[EndingFinalized] == ranks
}

// clockDoubt is by how much the clocks of an execution's nodes may differ; false: that is not
// known. Nodes of one boot share a clock.
func clockDoubt(e *Execution) (time.Duration, bool) {
	known := true
	errors := map[string]time.Duration{}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		known = known && n.BootID != "" && n.ClockError > 0
		errors[n.BootID] = max(errors[n.BootID], n.ClockError)
	}
	if len(errors) <= 1 {
		return 0, len(e.Nodes) == 1 || len(errors) == 1 && e.Nodes[0].BootID != ""
	}
	var most, second time.Duration
	for _, d := range errors {
		most, second = max(most, d), max(second, min(most, d))
	}
	return AddTime(most, second), known
}
