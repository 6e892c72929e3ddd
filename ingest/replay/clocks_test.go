package replay

import (
	"testing"
	"time"
)

// What the kernels say of two nodes' clocks narrows what the borders leave open: rank 1 waits so
// long in each that its clock could be 0.1 s behind.
func TestClockErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		errors  time.Duration // of both clocks; 0: not known
		early   time.Duration // by which rank 1 seems to have received too early
		matched int
		drop    Reason
		whatIf  bool
	}{
		{"known clocks", ms, 0, 8, Matched, true},
		{"unknown clocks", 0, 0, 8, Matched, false},
		{"unknown clocks may be apart", 0, 5 * ms, 8, Matched, false},
		{"known clocks are apart", 4 * ms, 5 * ms, 8, Matched, true},
		{"known clocks cannot be apart", ms, 5 * ms, 7, ReasonOrder, true},
	} {
		m := machine{size: 2, perNode: 1, transfer: ms}
		logs := m.simulate(t, loop(8, func(p *proc, _ int) {
			if p.rank == 1 {
				p.recv(0, 1, 8, nil)
				return
			}
			p.compute(10 * ms)
			p.send(1, 1, 8, nil)
			p.compute(100 * ms)
		}))
		run := runOf(logs)
		logs[0].ClockError, logs[1].ClockError = c.errors, c.errors
		entryOf(t, logs, 1, OpRecv, 3).Leave -= int64(c.early + ms)
		got := replay(logs, 2, run)
		if got.Why != Determined || got.Matched != c.matched || (got.WhatIf != nil) != c.whatIf || c.drop != Matched && got.Drops[0].Reason != c.drop {
			t.Errorf("%s: %q, %d matched, %v, what if: %+v", c.name, got.Why, got.Matched, got.Drops, got.WhatIf)
		}
	}
}

// A node's clock is set right by as little as its borders and the kernels' word ask for. Node 0 enters at 1000
// and 2000, and leaves 100 later; node 1's times are given from 1000 on.
func TestSetClocks(t *testing.T) {
	const slack = 2 * clockRank
	for i, c := range []struct {
		open, close  [2]int64 // enter and leave of node 1
		errors       int64    // of both clocks
		shift, doubt int64
		why          Reason
	}{
		{[2]int64{60, 150}, [2]int64{1040, 1130}, 0, 0, 130, Matched},
		{[2]int64{60, 150}, [2]int64{1040, 1130}, 10, 0, 20, Matched},
		{[2]int64{560, 650}, [2]int64{1540, 1630}, 0, 460, 170, Matched},
		{[2]int64{-440, -350}, [2]int64{560, 630}, 0, -370, 170, Matched},
		{[2]int64{120, 150}, [2]int64{1040, 1130}, 10, 20, 0, Matched},
		{[2]int64{100 + slack, 150 + slack}, [2]int64{990, 1000}, 0, slack, 0, Matched},
		{[2]int64{101 + slack, 150 + slack}, [2]int64{990, 1000}, 0, 0, 0, ReasonClock},
	} {
		w := &window{nodeOf: []int32{0, 1}, clocks: []int64{c.errors, c.errors}, shift: make([]int64, 2), doubt: make([]int64, 2),
			open:  []border{{enter: 1000, leave: 1100}, {enter: 1000 + c.open[0], leave: 1000 + c.open[1]}},
			close: []border{{enter: 2000, leave: 2100}, {enter: 1000 + c.close[0], leave: 1000 + c.close[1]}}}
		if why := w.setClocks(); why != c.why || why == Matched && (w.shift[1] != c.shift || w.doubt[1] != c.doubt || w.shift[0] != 0) {
			t.Errorf("%d: %q, shift %d, doubt %d", i, why, w.shift[1], w.doubt[1])
		}
	}
	w := &window{nodeOf: []int32{0, 0, 1, 2}, doubt: []int64{0, 7, 5}}
	if same, two := w.doubtBetween(0, 1), w.doubtBetween(2, 3); same != clockRank || two != clockRank+12 {
		t.Errorf("on one node %d, on two %d", same, two)
	}
}

// Kernels whose word no border leaves room for are not believed.
func TestClockErrorsThatAreWrong(t *testing.T) {
	m := machine{size: 4, perNode: 2, ahead: time.Second, transfer: 50 * ms}
	logs := m.simulate(t, loop(16, func(p *proc, _ int) {
		p.compute(50 * ms)
		p.sendrecv((p.rank+1)%p.size, (p.rank+p.size-1)%p.size, 64)
	}))
	run := runOf(logs)
	for i := range logs {
		logs[i].ClockError = ms
	}
	if got := replay(logs, 4, run); got.Why != Determined || !near(got.Serialisation.Value, 1) || !near(got.Transfer.Value, 0.5) {
		t.Errorf("%q, SerE %v TE %v, %v", got.Why, got.Serialisation.Value, got.Transfer.Value, got.Drops)
	}
}
