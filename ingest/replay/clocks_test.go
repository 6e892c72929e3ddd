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
		got := Replay(logs, 2, run)
		if got.Why != Determined || got.Matched != c.matched || (got.WhatIf != nil) != c.whatIf || c.drop != Matched && got.Drops[0].Reason != c.drop {
			t.Errorf("%s: %q, %d matched, %v, what if: %+v", c.name, got.Why, got.Matched, got.Drops, got.WhatIf)
		}
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
	if got := Replay(logs, 4, run); got.Why != Determined || !near(got.SerE, 1) || !near(got.TE, 0.5) {
		t.Errorf("%q, SerE %v TE %v, %v", got.Why, got.SerE, got.TE, got.Drops)
	}
}
