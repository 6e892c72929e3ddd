package node

import (
	"math"
	"testing"

	"jobeff/ingest/job"
	"jobeff/ingest/replay"
	"jobeff/ingest/wire"
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
	if wire.CleanExecution(&e, "n1"); e.Windows != before {
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

// late are the slots of two ranks on a node, and of their windows: 8 in which rank 1 receives at its site 2, as soon as
// rank 0 sends at its site 1.
func late() (ranks, windows []record.Slot) {
	ranks, windows = byTurns()
	modules := []record.Module{{Path: "/lib/other.so", BuildID: "02", Bias: 1 << 40}, {Program: true, BuildID: "01", Bias: 0x5000}}
	for rank := range 2 {
		ranks[rank] = rankSlot(rank, 2, 4, 4)
		ranks[rank].Places = &record.Places{Every: 1000, Modules: modules}
		w := windows[rank].Windows
		w.Sites = []record.Site{{Module: 1, Address: 0x5010}, {Module: 1, Address: 0x5020}}
		var entries []record.LogEntry
		for i, e := range w.Entries {
			if i >= 2 && i%2 == 0 { // the end of a window
				begin := at(10 + float64(i/2-1))
				message := record.LogEntry{Op: uint8(replay.OpSend), Comm: 1, Call: 0, Peer: 1, Enter: begin.Ticks + seconds(0.5), Leave: begin.Ticks + seconds(0.5), Site: 1}
				if rank == 1 {
					message.Op, message.Call, message.Peer, message.Enter, message.Site = uint8(replay.OpRecv), 1, 0, begin.Ticks, 2
				}
				entries = append(entries, message)
				if e.Enter = message.Leave; rank == 1 {
					e.Enter = e.Leave
				}
			}
			entries = append(entries, e)
		}
		w.Entries = entries
	}
	return ranks, windows
}

// The chain names the places of its two calls. One that is not known stays so, and is never another.
func TestFoldOfSites(t *testing.T) {
	program := job.Module{Path: "/bin/app", BuildID: "01"}
	sends, receives := &job.Frame{Offset: 0x10}, &job.Frame{Offset: 0x20}
	for _, c := range []struct {
		name       string
		change     func(ranks, windows []record.Slot)
		waits, For *job.Frame
	}{
		{"as it was", func(_, _ []record.Slot) {}, receives, sends},
		{"no entry of the sender names a site", func(_, w []record.Slot) {
			for i := range w[0].Windows.Entries {
				w[0].Windows.Entries[i].Site = 0
			}
		}, receives, nil},
		{"a site that is not there", func(_, w []record.Slot) { w[1].Windows.Sites = w[1].Windows.Sites[:1] }, nil, sends},
		{"a site that was freed", func(_, w []record.Slot) { w[1].Windows.Sites[1] = record.Site{} }, nil, sends},
		{"a module out of range", func(_, w []record.Slot) { w[1].Windows.Sites[1].Module = 2 }, nil, sends},
		{"another module's address", func(_, w []record.Slot) { w[1].Windows.Sites[1].Module = 0 }, nil, sends},
		{"modules of no name", func(r, _ []record.Slot) { r[1].Places.Modules = make([]record.Module, 2) }, nil, sends},
		{"a rank that was killed while it noted a place", func(r, _ []record.Slot) { r[0].Places = nil }, receives, nil},
	} {
		ranks, windows := late()
		c.change(ranks, windows)
		w := foldWindows(t, ranks, windows)
		if !w.Determined() || w.Matched != 8 || len(w.Path.Links) != 1 {
			t.Errorf("%s: %+v, %+v", c.name, w, w.Path)
			continue
		}
		l := w.Path.Links[0]
		for _, end := range []struct {
			got  job.CallAt
			want *job.Frame
			call string
		}{{l.Waits, c.waits, record.FuncName(1)}, {l.For, c.For, record.FuncName(0)}} {
			known := len(end.got.Frames) == 1 && w.Path.Modules[end.got.Frames[0].Module] == program
			if end.got.Function != end.call || known != (end.want != nil) || known && end.got.Frames[0].Offset != end.want.Offset {
				t.Errorf("%s: %+v of %+v, want %s at %+v", c.name, end.got, w.Path.Modules, end.call, end.want)
			}
		}
		if l.Share != (job.Estimate{Value: 1, Low: 1, High: 1}) {
			t.Errorf("%s: %+v", c.name, l.Share)
		}
	}
}

// A node has room for so many sites; of others it is not known where they stand.
func TestSitesAreBounded(t *testing.T) {
	n := siteNumbers{}
	p := &process{slot: &record.Slot{Exe: "/bin/app", Places: &record.Places{Modules: []record.Module{{Program: true}}}}}
	sites := make([]record.Site, replay.MostSites+2)
	for i := range sites {
		sites[i].Address = uint64(i + 1)
	}
	of := n.of(p, append(sites, sites[0]))
	if len(n.list) != replay.MostSites || of[replay.MostSites-1] != replay.MostSites || of[replay.MostSites] != 0 || of[len(of)-1] != 1 {
		t.Errorf("%d sites, %v", len(n.list), of[replay.MostSites-1:])
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
