package node

import (
	"math/bits"
	"time"

	"jobeff/preload/record"
)

// Two moments that were read on both clocks convert a slot's ticks into nanoseconds of
// CLOCK_MONOTONIC. The first is when the slot was claimed. The second is when its process
// finished, or now if the fold runs on the same boot of the same machine. The longer
// baseline is used, and the other checks it.

const (
	driftMost   = 1e-3                 // of the two baselines against each other
	driftFloor  = 5 * time.Millisecond // a smaller difference is a preemption, not a drift
	slowestTick = 1000.0               // ns per tick of the slowest clock taken for real: 1 MHz
	fastestTick = 0.05                 // likewise: 20 GHz

	// latestMono bounds moments of CLOCK_MONOTONIC and times, ns: 36 years. Moments of CLOCK_REALTIME
	// are before 2117 (package record), so sums of both fit 64 bits.
	latestMono = 1 << 60
)

// rate is a clock's speed: ns nanoseconds are as long as ticks ticks.
type rate struct{ ns, ticks uint64 }

func rateBetween(a, b record.Pair) (rate, bool) {
	if a.IsZero() || b.IsZero() || b.Ticks <= a.Ticks || b.Mono <= a.Mono {
		return rate{}, false
	}
	r := rate{b.Mono - a.Mono, b.Ticks - a.Ticks}
	perTick := float64(r.ns) / float64(r.ticks)
	return r, perTick >= fastestTick && perTick <= slowestTick
}

// of converts ticks to ns, at most latestMono.
func (r rate) of(ticks uint64) uint64 { return min(scale(ticks, r.ns, r.ticks), latestMono) }

// scale is n * by / of, at most 2^62.
func scale(n, by, of uint64) uint64 {
	hi, lo := bits.Mul64(n, by)
	if hi >= of { // also if of is 0
		return 1 << 62
	}
	q, _ := bits.Div64(hi, lo, of)
	return min(q, 1<<62)
}

// timeline converts the ticks of one slot.
type timeline struct {
	at record.Pair
	rate
}

// mono is when the clock showed ticks, CLOCK_MONOTONIC in ns. 0 stays 0: the event did not
// happen.
func (t timeline) mono(ticks uint64) uint64 {
	switch {
	case ticks == 0:
		return 0
	case ticks >= t.at.Ticks:
		return min(t.at.Mono+t.of(ticks-t.at.Ticks), latestMono)
	}
	return t.at.Mono - min(t.of(t.at.Ticks-ticks), t.at.Mono-min(t.at.Mono, 1))
}

// ticksAt is what the clock showed at mono.
func (t timeline) ticksAt(mono uint64) uint64 {
	return t.at.Ticks + scale(mono-min(t.at.Mono, mono), t.ticks, t.ns)
}

// real converts mono to CLOCK_REALTIME.
func (t timeline) real(mono uint64) time.Time {
	return time.Unix(0, int64(t.at.Real)+int64(mono)-int64(t.at.Mono)).UTC()
}

// clocks makes the timelines of the slots of one record.
type clocks struct {
	now  map[record.Clock]record.Pair // empty: another boot than the record's
	best map[record.Clock]rate        // longest baseline within the record
}

func newClocks() *clocks {
	return &clocks{now: map[record.Clock]record.Pair{}, best: map[record.Clock]rate{}}
}

// read reads every clock once, after the record was read: all that the record holds is then in the past.
func (c *clocks) read(m Machine) {
	if m.Now == nil {
		return
	}
	for _, k := range []record.Clock{record.ClockMonotonic, record.ClockTSC, record.ClockCNTVCT} {
		if p, ok := m.Now(k); ok {
			c.now[k] = p
		}
	}
}

// nowMono is this moment in ns, or latestMono if it is not known.
func (c *clocks) nowMono() uint64 {
	if p, ok := c.now[record.ClockMonotonic]; ok {
		return p.Mono
	}
	return latestMono
}

// learn keeps the record's longest baseline, for slots without one.
func (c *clocks) learn(s *record.Slot) {
	if r, ok := rateBetween(s.ClaimedAt, s.FinishedAt); ok && r.ns > c.best[s.Clock].ns {
		c.best[s.Clock] = r
	}
}

// timeline makes the timeline of s. drift says that its two baselines disagree, ok that it has
// one at all.
func (c *clocks) timeline(s *record.Slot) (t timeline, drift, ok bool) {
	t.at = s.ClaimedAt
	if t.at.IsZero() || t.at.Mono > c.nowMono() {
		return t, false, false
	}
	if s.Clock == record.ClockMonotonic {
		t.at.Ticks, t.rate = t.at.Mono, rate{1, 1}
		return t, false, true
	}
	own, haveOwn := rateBetween(s.ClaimedAt, s.FinishedAt)
	now, haveNow := rateBetween(s.ClaimedAt, c.now[s.Clock])
	switch {
	case haveOwn && haveNow:
		t.rate = own
		if now.ns > own.ns {
			t.rate = now
		}
		return t, disagree(own, now), true
	case haveOwn:
		t.rate = own
	case haveNow:
		t.rate = now
	default:
		t.rate, ok = c.best[s.Clock]
		return t, false, ok
	}
	return t, false, true
}

// disagree reports whether the rates of two baselines differ by more than reading the clocks can
// explain.
func disagree(a, b rate) bool {
	if b.ns < a.ns {
		a, b = b, a
	}
	byA, byB := float64(a.ns), float64(a.ticks)*float64(b.ns)/float64(b.ticks)
	off := byA - byB
	if off < 0 {
		off = -off
	}
	return off > driftMost*byA && off > float64(driftFloor)
}
