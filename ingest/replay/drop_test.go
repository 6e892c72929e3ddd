package replay

import (
	"testing"
	"time"
)

// pairLogs are of two ranks that use most of what a log can hold, 8 windows of it.
func pairLogs(tb testing.TB) []Log {
	m := machine{size: 2}
	return m.simulate(tb, loop(8, func(p *proc, _ int) {
		p.compute(time.Duration(50+10*p.rank) * ms)
		s, r := p.isend(1-p.rank, 1, 8), p.irecv(1-p.rank, 1, 8)
		p.wait(s, r)
		if p.rank == 0 {
			p.compute(10 * ms)
			p.send(1, 2, 8, nil)
		} else {
			p.recv(0, 2, 8, nil)
		}
		p.coll(OpCollFrom, p.world(), 0)
		p.coll(OpCollScan, p.world(), 0)
		p.coll(OpCollTo, p.group(1, 0), 0)
	}))
}

// A communicator is known only if its ranks agree on its size; this one is at every border.
func TestCommunicatorsOfOddSize(t *testing.T) {
	logs := pairLogs(t)
	run := runOf(logs)
	entryOf(t, logs, 1, OpComm, 0).Tag = 3
	if got := replay(logs, 2, run); got.Matched != 0 || got.Drops[0].Reason != ReasonBorder || got.Drops[0].Count != 8 {
		t.Errorf("%d matched, %v", got.Matched, got.Drops)
	}
}

// entryOf is the n-th entry of a kind in a rank's log.
func entryOf(tb testing.TB, logs []Log, rank int, op Op, n int) *Entry {
	tb.Helper()
	for i := range logs[rank].Entries {
		if e := &logs[rank].Entries[i]; e.Op == op {
			if n == 0 {
				return e
			}
			n--
		}
	}
	tb.Fatalf("rank %d has no such entry %d", rank, op)
	return nil
}

// Each change of one entry makes its window unfit, with its reason, and no other window.
func TestDrops(t *testing.T) {
	last := func(op Op) func(*Entry) { return func(e *Entry) { e.Op = op } }
	tests := []struct {
		name   string
		rank   int
		op     Op
		n      int
		change func(e *Entry)
		want   Reason
	}{
		{"too long", 1, OpWindow, 3, func(e *Entry) { e.Flags |= TooLong; e.Bytes = uint64(60 * ms) }, ReasonTooLong},
		{"no end", 0, OpCollAll, 3, func(e *Entry) { e.Flags = 0 }, ReasonMissing},
		{"another kind opens it", 0, OpWindow, 3, func(e *Entry) { e.Call = 77 }, ReasonBorder},
		{"bytes differ", 0, OpSend, 3, func(e *Entry) { e.Bytes = 4 }, ReasonBytes},
		{"a buffer too small", 1, OpRecv, 3, func(e *Entry) { e.Bytes, e.Flags = 4, 0 }, ReasonBytes},
		{"another tag", 0, OpSend, 3, func(e *Entry) { e.Tag = 5 }, ReasonSends},
		{"a send too many", 1, OpRecv, 3, last(OpLocal), ReasonSends},
		{"the request never ends", 1, OpDone, 7, last(OpLocal), ReasonOpen},
		{"the request began before", 1, OpSendStart, 3, last(OpLocal), ReasonOpen},
		{"a persistent request of nobody", 1, OpSendStart, 3, last(OpStart), ReasonOpen},
		{"a wildcard", 1, OpRecv, 3, func(e *Entry) { e.Peer = unknown }, ReasonWildcard},
		{"no such communicator", 1, OpRecv, 3, func(e *Entry) { e.Comm = 9 }, ReasonComm},
		{"no such rank", 1, OpRecv, 3, func(e *Entry) { e.Peer = 2 }, ReasonOdd},
		{"nor for one that was started", 1, OpRecvStart, 3, func(e *Entry) { e.Peer = 2 }, ReasonOdd},
		{"it ends in no collective", 0, OpCollAll, 3, func(e *Entry) { e.Op = OpLocal }, ReasonBorder},
		{"another root", 1, OpCollFrom, 3, func(e *Entry) { e.Peer = 1 }, ReasonColl},
		{"another root of a reduction", 1, OpCollTo, 3, func(e *Entry) { e.Peer = 1 }, ReasonColl},
		{"a collective too few", 1, OpCollScan, 3, last(OpLocal), ReasonColl},
		{"another collective", 1, OpCollScan, 3, func(e *Entry) { e.Call = 99 }, ReasonColl},
		{"a collective that a rank never enters", 1, OpCollTo, 3, last(OpLocal), ReasonColl},
		{"clocks that moved", 1, OpCollAll, 3, func(e *Entry) { e.Enter += int64(20 * ms); e.Leave += int64(20 * ms) }, ReasonClock},
		{"one-sided", 1, OpCollScan, 3, func(e *Entry) { e.Op, e.Tag = OpUnsupported, 1 }, ReasonRMA},
		{"something else", 1, OpCollScan, 3, func(e *Entry) { e.Op, e.Tag = OpUnsupported, 999 }, ReasonOther},
		{"it began before the call before", 1, OpRecv, 3, func(e *Entry) { e.Enter -= int64(time.Second) }, ReasonOdd},
		{"it ended before it was sent", 1, OpRecv, 3, func(e *Entry) { e.Leave = e.Enter }, ReasonOrder},
		{"a part of no call", 0, OpSendStart, 3, func(e *Entry) { e.Flags |= Continued }, ReasonOdd},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			logs := pairLogs(t)
			run := runOf(logs)
			c.change(entryOf(t, logs, c.rank, c.op, c.n))
			got := replay(logs, 2, run)
			if len(got.Drops) == 0 || got.Drops[0].Reason != c.want || got.Matched != 7 || got.Why != Determined {
				t.Errorf("%q, %d matched, %v, want 7 and %q", got.Why, got.Matched, got.Drops, c.want)
			}
		})
	}
}

// A wildcard is resolved by the status that the program asks for, or its window is dropped.
func TestWildcardsNeedAStatus(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		m := machine{size: 2, ignore: ignore}
		logs := m.simulate(t, loop(8, func(p *proc, _ int) {
			p.compute(50 * ms)
			s, r := p.isend(1-p.rank, 1, 8), p.irecv(unknown, unknown, 64)
			p.wait(r, s)
		}))
		got := replay(logs, 2, runOf(logs))
		if ignore && (got.Matched != 0 || got.Drops[0].Reason != ReasonWildcard) || !ignore && got.Matched != 8 {
			t.Errorf("ignored: %v, %d matched, %v", ignore, got.Matched, got.Drops)
		}
	}
}

// Calls that wait for each other end the replay of their window, and of no other.
func TestEndless(t *testing.T) {
	m := machine{size: 2}
	logs := m.simulate(t, loop(8, func(p *proc, _ int) {
		p.compute(50 * ms)
		s, r := p.isend(1-p.rank, 1, 8), p.irecv(1-p.rank, 1, 8)
		p.wait(s, r)
	}))
	run := runOf(logs)
	for _, l := range logs { // wait before the send begins
		for i := range l.Entries {
			if e := l.Entries[i:]; e[0].Op == OpSendStart && i > 40 {
				e[0], e[1], e[2], e[3] = e[1], e[3], e[0], e[2]
				e[1].Flags, e[3].Flags = Exact, 0
				e[1].Enter, e[1].Leave = e[0].Enter, e[0].Leave
				e[3].Enter, e[3].Leave = e[0].Enter, e[0].Leave
				break
			}
		}
	}
	if got := replay(logs, 2, run); len(got.Drops) != 1 || got.Drops[0].Reason != ReasonEndless || got.Matched != 7 {
		t.Errorf("%d matched, %v", got.Matched, got.Drops)
	}
}

// Why nothing is determined.
func TestNotDetermined(t *testing.T) {
	good := efficiencies{}
	tests := []struct {
		name   string
		change func(logs []Log, size *int, run *efficiencies) []Log
		want   Why
	}{
		{"all is well", func(l []Log, _ *int, _ *efficiencies) []Log { return l }, Determined},
		{"no logs", func([]Log, *int, *efficiencies) []Log { return nil }, WhyRanks},
		{"a rank less", func(l []Log, _ *int, _ *efficiencies) []Log { return l[:1] }, WhyRanks},
		{"a rank twice", func(l []Log, _ *int, _ *efficiencies) []Log { l[1].Rank = 0; return l }, WhyRanks},
		{"a rank too many", func(l []Log, _ *int, _ *efficiencies) []Log { l[1].Rank = 2; return l }, WhyRanks},
		{"a window twice", func(l []Log, _ *int, _ *efficiencies) []Log {
			entryOf(t, l, 0, OpWindow, 4).Request = entryOf(t, l, 0, OpWindow, 3).Request
			return l
		}, WhyOdd},
		{"a communicator twice", func(l []Log, _ *int, _ *efficiencies) []Log { entryOf(t, l, 0, OpComm, 1).Comm = 1; return l }, WhyOdd},
		{"threads", func(l []Log, _ *int, _ *efficiencies) []Log { l[1].Why = WhyThreads; return l }, WhyThreads},
		{"few windows", func(l []Log, _ *int, _ *efficiencies) []Log { l[0].K = 60; return l }, WhyFew},
		{"times run backwards", func(l []Log, _ *int, _ *efficiencies) []Log { entryOf(t, l, 1, OpRecv, 2).Leave = 1; return l }, WhyOdd},
		{"windows run backwards", func(l []Log, _ *int, _ *efficiencies) []Log {
			entryOf(t, l, 0, OpWindow, 4).Request = 1
			return l
		}, WhyOdd},
		{"most windows do not fit", func(l []Log, _ *int, _ *efficiencies) []Log {
			for n := range 4 {
				entryOf(t, l, 0, OpSend, n).Bytes++
			}
			return l
		}, WhyShare},
		{"the run waits more", func(l []Log, _ *int, r *efficiencies) []Log { r.CommE -= 0.06; return l }, WhyNotLike},
		{"the run's load differs", func(l []Log, _ *int, r *efficiencies) []Log { r.LB -= 0.06; return l }, WhyNotLike},
		{"the run is like the windows", func(l []Log, _ *int, r *efficiencies) []Log { r.LB -= 0.04; return l }, Determined},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			logs, size := pairLogs(t), 2
			if good == (efficiencies{}) {
				good = runOf(logs)
			}
			run := good
			if got := replay(c.change(logs, &size, &run), size, run); got.Why != c.want {
				t.Errorf("%q, want %q; %v", got.Why, c.want, got.Drops)
			}
		})
	}
}

// As few windows as are enough, and most of the time in fewer than that.
func TestFewestWindows(t *testing.T) {
	for _, c := range []struct {
		windows, broken int
		want            Why
	}{{windowsLeast, 0, Determined}, {windowsLeast - 1, 0, WhyFew}, {20, 20 - windowsLeast + 1, WhyFew}, {20, 20 - windowsLeast, Determined}} {
		m := machine{size: 2}
		logs := m.simulate(t, loop(c.windows, func(p *proc, i int) {
			p.compute(ms)
			if i >= c.broken {
				p.compute(time.Second)
			}
			p.sendrecv(1-p.rank, 1-p.rank, 8)
		}))
		run := runOf(logs)
		for n := range c.broken {
			entryOf(t, logs, 0, OpSend, n).Bytes++
		}
		if got := replay(logs, 2, run); got.Why != c.want {
			t.Errorf("%+v: %q, share %v", c, got.Why, got.Share)
		}
	}
}
