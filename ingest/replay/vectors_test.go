package replay

import (
	"math"
	"testing"
	"time"
)

// What windows add up to, and what is left without a block of them: useful 50 and 30 in 100, 150
// and 90 in 200; 80 and 160 on the ideal network.
func TestSums(t *testing.T) {
	all, second := newSums(2), newSums(2)
	all.add(100, &times{ideal: 80}, []float64{50, 30})
	for _, s := range []*sums{&all, &second} {
		s.add(200, &times{ideal: 160}, []float64{150, 90})
	}
	none := newSums(2)
	for i, c := range []struct {
		got, want efficiencies
	}{
		{all.without(&second), efficiencies{PE: 0.4, LB: 0.8, CommE: 0.5, SerE: 50. / 80, TE: 0.8}},
		{all.without(&none), efficiencies{PE: 160. / 300, LB: 0.8, CommE: 200. / 300, SerE: 200. / 240, TE: 0.8}},
		{all.without(&all), efficiencies{}},
	} {
		for _, v := range [][2]float64{{c.got.PE, c.want.PE}, {c.got.LB, c.want.LB}, {c.got.CommE, c.want.CommE}, {c.got.SerE, c.want.SerE}, {c.got.TE, c.want.TE}} {
			if math.Abs(v[0]-v[1]) > 1e-12 {
				t.Errorf("%d: %+v, want %+v", i, c.got, c.want)
			}
		}
	}
	for _, c := range []struct{ elapsed, useful float64 }{{0, 5}, {5, 0}} {
		s := newSums(1)
		if s.add(c.elapsed, &times{}, []float64{c.useful}); s.without(&sums{useful: []float64{0}}) != (efficiencies{}) {
			t.Errorf("%v useful in %v", c.useful, c.elapsed)
		}
	}
	short := newSums(1) // ranks that left a border at different moments
	short.add(90, &times{ideal: 100}, []float64{50})
	if e := short.without(&sums{useful: []float64{0}}); e.TE != 1 || e.CommE != 0.5 || e.SerE != 0.5 {
		t.Errorf("less than on the ideal network: %+v", e)
	}
	ser, te := jackknife(all.without(&none), &all, []sums{second, newSums(2)}) // a block without a window is none
	if want := spread(200./240, []float64{50. / 80}); ser != want || te != spread(0.8, []float64{0.8}) {
		t.Errorf("%v and %v, want %v", ser, te, want)
	}
}

// The library in C samples by the same bits (je_window_of): of the first 2^k windows it keeps this one.
func TestKeptIsOneOfABlock(t *testing.T) {
	for k, want := range []uint64{0, 1, 2, 2, 2, 2, 40, 40, 229, 430, 430, 430, 3617, 7658, 7658, 23576, 23576} {
		for i := range uint64(1) << k {
			if Kept(i, k) != (i == want) {
				t.Errorf("k %d: window %d is kept %v, want %d alone", k, i, Kept(i, k), want)
			}
		}
	}
}

// The useful time before a call, and before tests in a row, which hold their time in MPI.
func TestUsefulSince(t *testing.T) {
	for i, c := range []struct {
		e    Entry
		want float64
	}{
		{Entry{Op: OpSend, Enter: 100, Leave: 150, Bytes: 30}, 40}, {Entry{Op: OpSend, Enter: 50, Leave: 150}, 0},
		{Entry{Op: OpPoll, Enter: 100, Leave: 150, Bytes: 30}, 60}, {Entry{Op: OpPoll, Enter: 100, Leave: 150, Bytes: 1000}, 40},
	} {
		if got := c.e.usefulSince(60); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
	for tag, want := range map[int32]Reason{-1: ReasonOther, 0: ReasonOther, 1: ReasonRMA, 7: ReasonSpawn, 8: ReasonOther} {
		if got := unsupportedBy(tag); got != want {
			t.Errorf("%d: %q, want %q", tag, got, want)
		}
	}
}

// A communicator is found by its number, also where numbers in between are not in the log.
func TestCommunicatorByNumber(t *testing.T) {
	for _, numbers := range [][]uint32{{1, 2, 3}, {2, 5, 9}, {1, 3, 4}, nil} {
		var r reader
		has := map[uint32]bool{}
		for _, n := range numbers {
			r.comms, has[n] = append(r.comms, commRef{short: n}), true
		}
		for n := range uint32(12) {
			if got := r.comm(n); (got != nil) != has[n] || got != nil && got.short != n {
				t.Errorf("%d of %v: %+v", n, numbers, got)
			}
		}
	}
}

// A node's room is its part of what a server holds.
func TestRoomOn(t *testing.T) {
	for nodes, want := range map[int]Room{0: {1 << 18, mostText, 1 << 20}, 1: {1 << 18, mostText, 1 << 20}, 64: {1 << 18, mostText, 1 << 14}, 512: {1 << 17, mostText, 1 << 11}} {
		if got := RoomOn(nodes); got != want {
			t.Errorf("%d nodes: %+v, want %+v", nodes, got, want)
		}
	}
	if c := (coder{}); c.keeps(&Entry{Op: OpNone}, 0) || c.keeps(&Entry{Op: OpUnsupported + 1}, 0) || !c.keeps(&Entry{Op: OpComm}, 0) || c.keeps(&Entry{Op: OpLocal}, 0) || !(&coder{inside: true}).keeps(&Entry{Op: OpUnsupported}, 0) {
		t.Error("a window's calls are kept outside of windows, or what is none")
	}
}

// A request that starts no kind of collective fits no window; the first and the last kind do.
func TestPersistentCollectiveOfNoKind(t *testing.T) {
	for kind, matched := range map[Op]int{OpCollAll - 1: 0, OpCollAll: 8, OpCollNobody: 8, OpCollNobody + 1: 0} {
		m := machine{size: 2}
		logs := m.simulate(t, loop(8, func(p *proc, _ int) {
			p.compute(50 * ms)
			p.persistentScan()
		}))
		run := runOf(logs)
		for _, l := range logs {
			for i := range l.Entries {
				if e := &l.Entries[i]; e.Op == OpInitColl {
					e.Tag = int32(kind)
				}
			}
		}
		if got := replay(logs, 2, run); got.Matched != matched || matched == 0 && got.Drops[0].Reason != ReasonOdd {
			t.Errorf("of kind %d: %d matched, %v", kind, got.Matched, got.Drops)
		}
	}
}

// Scans of two communicators in a window each wait for their own lower ranks.
func TestScansSideBySide(t *testing.T) {
	m := machine{size: 4}
	logs := m.simulate(t, loop(16, func(p *proc, _ int) {
		p.compute(time.Duration(50*(4-p.rank)) * ms)
		p.coll(OpCollScan, p.group(p.rank/2*2, p.rank/2*2+1), 0)
		p.compute(time.Duration(50*(1+p.rank)) * ms)
		p.coll(OpCollScan, p.world(), 0)
	}))
	run := runOf(logs)
	got := replay(logs, 4, run)
	if got.Matched != 16 || got.WhatIf == nil || !near(got.Transfer.Value, 1) || !near(got.WhatIf.FasterNetwork, 1) {
		t.Errorf("%d matched, TE %v, %+v", got.Matched, got.Transfer.Value, got.WhatIf)
	}
	checkResult(t, run, got)
}
