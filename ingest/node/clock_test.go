package node

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// Two moments make a rate if both clocks went on, at a speed that a clock may have.
func TestRateBetween(t *testing.T) {
	from := record.Pair{Ticks: 1000, Mono: 5000, Real: 1}
	for _, c := range []struct {
		ticks, mono uint64
		ok          bool
	}{
		{3000, 1000, true}, {1, 1000, true}, {20, 1, true},
		{1, 1001, false}, {21, 1, false}, {0, 1000, false}, {1000, 0, false},
	} {
		r, ok := rateBetween(from, record.Pair{Ticks: from.Ticks + c.ticks, Mono: from.Mono + c.mono, Real: 2})
		if ok != c.ok || ok && r != (rate{c.mono, c.ticks}) {
			t.Errorf("%d ticks in %d ns: %+v, %v", c.ticks, c.mono, r, ok)
		}
	}
	if _, ok := rateBetween(record.Pair{}, from); ok {
		t.Error("a moment that nobody read")
	}
}

// A timeline goes through its moment in both directions, and never to 0, which means no event.
func TestTimeline(t *testing.T) {
	line := timeline{record.Pair{Ticks: 3000, Mono: 1000, Real: 50_000}, rate{ns: 1, ticks: 3}}
	for ticks, want := range map[uint64]uint64{0: 0, 3000: 1000, 3300: 1100, 2700: 900, 1: 1} {
		if got := line.mono(ticks); got != want {
			t.Errorf("%d ticks: %d, want %d", ticks, got, want)
		}
	}
	if line.ticksAt(1100) != 3300 || line.ticksAt(900) != 3000 || line.realNs(3300) != 50_100 || line.real(900).UnixNano() != 49_900 {
		t.Errorf("%d, %d, %d, %v", line.ticksAt(1100), line.ticksAt(900), line.realNs(3300), line.real(900))
	}
	young := timeline{record.Pair{Ticks: 9000, Mono: 1000}, rate{ns: 1, ticks: 3}} // of 3000 ns before, 1000 were
	for ticks, want := range map[uint64]uint64{3: 1, 6003: 1, 6006: 2, 9000: 1000} {
		if got := young.mono(ticks); got != want {
			t.Errorf("%d ticks: %d, want %d", ticks, got, want)
		}
	}
	for ticks, want := range map[uint64]uint64{9: 3, math.MaxUint64: latestMono} {
		if got := line.of(ticks); got != want {
			t.Errorf("%d ticks take %d ns, want %d", ticks, got, want)
		}
	}
	if slow := (rate{ns: 2, ticks: 1}); (rate{}).of(5) != latestMono || slow.of(1<<59) != latestMono || slow.of(1<<58) != 1<<59 || slow.of(1<<63) != latestMono {
		t.Error("what no clock counts is not bounded")
	}
}

// Baselines disagree by more than 0.1 % and 5 ms, whichever is first.
func TestDisagree(t *testing.T) {
	const s = 1_000_000_000
	for _, c := range []struct {
		a, b rate
		is   bool
	}{
		{rate{100 * s, 100 * s}, rate{200 * s, 200 * s}, false},
		{rate{100 * s, 100 * s}, rate{200.1 * s, 200 * s}, false},
		{rate{100 * s, 100 * s}, rate{200.3 * s, 200 * s}, true},
		{rate{100 * s, 100 * s}, rate{199.7 * s, 200 * s}, true},
		{rate{200.3 * s, 200 * s}, rate{100 * s, 100 * s}, true},
		{rate{1 * s, 1 * s}, rate{200.6 * s, 200 * s}, false}, // 3 ms
		{rate{1 * s, 1 * s}, rate{202 * s, 200 * s}, true},    // 10 ms
		{rate{1 * s, 1 * s}, rate{198 * s, 200 * s}, true},
	} {
		if disagree(c.a, c.b) != c.is {
			t.Errorf("%+v and %+v disagree: %v", c.a, c.b, !c.is)
		}
	}
}

// A TSC's ticks are converted by its longer baseline, or by that of another slot.
func TestTimelines(t *testing.T) {
	tsc := func(s, perTick float64) record.Pair {
		p := at(s)
		p.Ticks = uint64(float64(p.Mono) / perTick)
		return p
	}
	c := newClocks()
	c.read(testMachine(1000)) // 1/3 ns per tick
	slot := record.Slot{Clock: record.ClockTSC, ClaimedAt: tsc(10, 1./3), FinishedAt: tsc(20, 1./3)}
	if line, drift, ok := c.timeline(&slot); !ok || drift || line.ns != 990e9 {
		t.Errorf("%+v, %v, %v", line, drift, ok)
	}
	slot.FinishedAt.Ticks = slot.ClaimedAt.Ticks + 29e9 // 3 % fast
	if line, drift, ok := c.timeline(&slot); !ok || !drift || line.ns != 990e9 {
		t.Errorf("%+v, %v, %v", line, drift, ok)
	}
	elsewhere := newClocks()
	elsewhere.learn(&slot)
	short := slot
	short.FinishedAt = tsc(11, 1./3)
	elsewhere.learn(&short)
	short.FinishedAt = record.Pair{}
	if line, drift, ok := elsewhere.timeline(&short); !ok || drift || line.ns != 10e9 || line.ticks != 29e9 {
		t.Errorf("%+v, %v, %v", line, drift, ok)
	}
	short.ClaimedAt = tsc(1001, 1./3)
	if _, _, ok := c.timeline(&short); ok {
		t.Error("a slot of the future has a timeline")
	}
}

// The parts of the threads' time, of a rank with MPI and IO inside regions and outside.
func TestThreadShare(t *testing.T) {
	const s = time.Second
	in := sectionTime{all: 20 * s, mpi: 5 * s, io: 3 * s}
	of := func(change func(o *job.OpenMP)) job.ThreadShare {
		o := &job.OpenMP{Threads: 2, InRegions: 10 * s, MPIMain: 2 * s, IOMain: 1 * s, Useful: 9 * s, UsefulMain: 5 * s, UsefulMost: 4 * s,
			MPI: 3 * s, IO: 2 * s, Imbalance: 3 * s, Scheduling: 2 * s, Locked: 1 * s}
		change(o)
		return in.threadShare(o)
	}
	// Useful alone: 12 s of one thread, 7 s of them in regions; the other thread waits the rest.
	want := job.ThreadShare{Ranks: 1, Threads: 2, ThreadsMax: 2, Useful: 14 * s, UsefulMax: 10 * s, MPI: 9 * s, IO: 6 * s,
		Imbalance: 3 * s, Scheduling: 3 * s, Serial: 5 * s}
	if d := cmp.Diff(want, of(func(*job.OpenMP) {})); d != "" {
		t.Error(d)
	}
	// What two threads that do not read the clock at one moment have too much is taken from the imbalance first.
	want.Imbalance, want.Scheduling, want.Serial = 0, 11*s, 0
	if d := cmp.Diff(want, of(func(o *job.OpenMP) { o.Imbalance, o.Scheduling = s/10, 10*s })); d != "" {
		t.Error(d)
	}
	if got := of(func(o *job.OpenMP) { o.Imbalance += 6 * s }); got.Why != beyond || got.Useful != 12*s || got.Threads != 2 {
		t.Errorf("threads of more time than there was: %+v", got)
	}
}
