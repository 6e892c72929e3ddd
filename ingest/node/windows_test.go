package node

import (
	"math"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/preload/record"
)

// byTurns are the slots of two ranks that work 1 s and 0.5 s, then 0.5 s and 1 s, in 8 windows
// from 10 s to 18 s; and the slots of their windows.
func byTurns() (ranks, windows []record.Slot) {
	for rank := range 2 {
		ranks = append(ranks, rankSlot(rank, 2, 6, 2))
		entries := []record.LogEntry{
			{Op: uint8(replay.OpComm), Comm: 1, Bytes: 1, Tag: 2, Peer: int32(rank)},
			{Op: uint8(replay.OpWindow), Comm: 1, Call: 60, Enter: at(10).Ticks, Leave: at(10).Ticks},
		}
		for i := range uint64(8) {
			begin, worked := at(10+float64(i)), []float64{1, 0.5}[(int(i)+rank)%2]
			closes := record.LogEntry{Op: uint8(replay.OpCollAll), Flags: uint8(replay.Border), Comm: 1, Call: 60,
				Enter: begin.Ticks + seconds(worked), Leave: begin.Ticks + seconds(1)}
			opens := closes
			opens.Op, opens.Flags, opens.Request = uint8(replay.OpWindow), 0, i+1
			entries = append(entries, closes, opens)
		}
		windows = append(windows, windowSlotOf(ranks[rank], entries...))
	}
	return ranks, windows
}

// windowSlotOf is a slot of windows of a process.
func windowSlotOf(of record.Slot, entries ...record.LogEntry) record.Slot {
	return record.Slot{Kind: record.KindWindows, State: record.StateRunning, Parent: of.Rank, Windows: &record.WindowSlot{
		PID: of.PID, Process: of.ClaimedAt.Ticks, Entries: entries}}
}

// foldWindows is what the fold makes of the windows.
func foldWindows(t *testing.T, ranks, windows []record.Slot) *job.Windows {
	t.Helper()
	f := foldSlots(t, testMachine(100), nil, append(ranks, windows...)...)
	e := f.executions[0]
	before := e.Windows
	if e.Clean("n1"); e.Windows != before {
		t.Errorf("its windows would be refused: %+v", before)
	}
	return e.Windows
}

// The record's windows are replayed with the rest of the fold.
func TestFoldOfWindows(t *testing.T) {
	ranks, windows := byTurns()
	w := foldWindows(t, ranks, windows)
	if !w.Determined() || w.Matched != 8 || w.Dropped != 0 || w.Share != 1 {
		t.Fatalf("%+v", w)
	}
	if math.Abs(w.Serialisation.Value-0.75) > 1e-6 || math.Abs(w.Transfer.Value-1) > 1e-6 || w.Elapsed != 8e9 || w.Ideal != 8e9 {
		t.Errorf("%+v", w)
	}
}

// A log goes over several slots, which may stand in any order.
func TestWindowsOverSlots(t *testing.T) {
	ranks, windows := byTurns()
	var parts []record.Slot
	for _, s := range windows {
		second := windowSlotOf(ranks[s.Parent], s.Windows.Entries[7:]...)
		second.Windows.Order, s.Windows.Entries = 1, s.Windows.Entries[:7]
		parts = append(parts, second, s)
	}
	if w := foldWindows(t, ranks, parts); !w.Determined() || w.Matched != 8 {
		t.Errorf("%+v", w)
	}
}

// What is missing leaves the efficiencies open, with the reason.
func TestWindowsNotWhole(t *testing.T) {
	tests := []struct {
		name   string
		change func(windows []record.Slot) []record.Slot
		want   replay.Why
	}{
		{"a rank without a log", func(w []record.Slot) []record.Slot { return w[1:] }, replay.WhyRanks},
		{"the log of an earlier process", func(w []record.Slot) []record.Slot { w[0].Windows.Process++; return w }, replay.WhyRanks},
		{"a log that was being written to", func(w []record.Slot) []record.Slot { w[1].Torn = true; return w }, replay.WhyRanks},
		{"a slot less", func(w []record.Slot) []record.Slot { w[1].Windows.Order = 1; return w }, replay.WhyRanks},
		{"threads", func(w []record.Slot) []record.Slot { w[1].Windows.Why = record.WindowsThreads; return w }, replay.WhyThreads},
		{"thin samples", func(w []record.Slot) []record.Slot { w[1].Windows.K = 40; return w }, replay.WhyFew},
		{"times that cannot be", func(w []record.Slot) []record.Slot { w[1].Windows.Entries[2].Leave = 1 << 63; return w }, replay.WhyOdd},
		{"windows with less waiting than the run", func(w []record.Slot) []record.Slot {
			for i := range w {
				for j := range w[i].Windows.Entries {
					w[i].Windows.Entries[j].Enter = w[i].Windows.Entries[j].Leave
				}
			}
			return w
		}, replay.WhyNotLike},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			ranks, windows := byTurns()
			if w := foldWindows(t, ranks, c.change(windows)); w == nil || w.Why != c.want {
				t.Errorf("%+v, want %q", w, c.want)
			}
		})
	}
}

// Each reason that a rank can give is known.
func TestWhyWindows(t *testing.T) {
	seen := map[replay.Why]bool{}
	for why := record.WindowsLogged; why <= record.WindowsNoGroups; why++ {
		seen[whyWindows[why]] = true
	}
	if len(seen) != 6 {
		t.Errorf("%v, want 6 different ones", seen)
	}
}

// A record full of windows costs no more than the library can have written.
func TestWindowSlotsAreBounded(t *testing.T) {
	s := windowSlots{of: map[int][]*record.WindowSlot{}}
	for range mostWindowSlots + 10 {
		s.add(&record.Slot{Windows: &record.WindowSlot{}})
	}
	if n := len(s.of[0]); n != mostWindowSlots {
		t.Errorf("%d slots are kept, want %d", n, mostWindowSlots)
	}
}
