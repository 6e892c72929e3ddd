package record_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// windowSlot is a slot of windows with something in every field, of the process full.
func windowSlot() record.Slot {
	return record.Slot{
		Kind: record.KindWindows, Parent: 1, State: record.StateRunning, OpenCall: -1, Rank: -1, Size: -1,
		Windows: &record.WindowSlot{
			PID: 10, Process: 1, K: 3, Why: record.WindowsThreads, Lost: 5,
			Entries: []record.LogEntry{
				{Enter: 100, Leave: 110, Bytes: 8, Request: 1 << 63, Peer: 3, Tag: -2, Comm: 2, Call: 5, Op: 12, Flags: 129, Site: 3},
				{Op: 2, Bytes: 1 << 63, Comm: 1, Tag: 4},
			},
			Sites: []record.Site{{Module: 1, Address: 0x1234}, {}, {Module: 254, Address: 1<<48 - 1}},
		},
	}
}

func TestReadGivesWindowsAsWritten(t *testing.T) {
	torn := windowSlot()
	torn.Torn, torn.Index = true, 1
	_, slots := readAll(t, recordtest.File(record.Head{}, windowSlot(), torn), record.Options{})
	if d := cmp.Diff([]record.Slot{windowSlot(), torn}, slots); d != "" {
		t.Error(d)
	}
}

// An entry that is not known makes its window unfit: it is what a newer library wrote.
func TestReadOfUnknownEntries(t *testing.T) {
	s := windowSlot()
	s.Windows.Entries = []record.LogEntry{{Op: 0, Tag: 1}, {Op: 22}, {Op: 255, Comm: 3}}
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	want := []record.LogEntry{{Op: 21, Tag: 8}, {Op: 21, Tag: 8}, {Op: 21, Tag: 8, Comm: 3}}
	if d := cmp.Diff(want, slots[0].Windows.Entries); d != "" {
		t.Error(d)
	}
}

// Each entry of a full slot has its site.
func TestReadOfFullSlot(t *testing.T) {
	s := windowSlot()
	for len(s.Windows.Entries) < record.LogsPerSlot {
		s.Windows.Entries = append(s.Windows.Entries, record.LogEntry{Enter: 1 << 50, Op: 9, Peer: 77, Comm: 0x01010101, Call: 0x0101, Site: uint8(len(s.Windows.Entries) % 3)})
	}
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	if d := cmp.Diff([]record.Slot{s}, slots); d != "" {
		t.Error(d)
	}
}

// A site is told only where its module is known and has its address.
func TestHostileSites(t *testing.T) {
	s := windowSlot()
	s.Windows.Entries[0].Site = 65 // of 64
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	if got := slots[0]; !got.Odd || got.Windows.Entries[0].Site != 0 {
		t.Errorf("odd %v, %+v", got.Odd, got.Windows.Entries[0])
	}
	places := &record.Places{Modules: []record.Module{{Bias: 0x1000}, {Bias: 1 << 63}}}
	for _, c := range []struct {
		of   *record.Places
		at   record.Site
		want bool
	}{
		{places, record.Site{Module: 0, Address: 0x1020}, true},
		{places, record.Site{Module: 0, Address: 0x20}, false},
		{places, record.Site{Module: 1, Address: 0x1020}, false},
		{places, record.Site{Module: 2, Address: 0x1020}, false},
		{places, record.Site{Module: -1, Address: 0x1020}, false},
		{places, record.Site{}, false},
		{&record.Places{Modules: []record.Module{{}}}, record.Site{}, false},
		{nil, record.Site{Module: 0, Address: 0x1020}, false},
	} {
		if at, known := c.of.At(c.at); known != c.want || known && at != (record.Frame{Module: 0, Offset: 0x20}) {
			t.Errorf("%+v is %+v, %v", c.at, at, known)
		}
	}
}

// Whatever stands in the slot, the entries are at most those of a slot.
func FuzzWindows(f *testing.F) {
	whole := recordtest.File(record.Head{}, full(), windowSlot())
	f.Add(uint32(len(whole)), []byte{})
	f.Add(uint32(len(whole)), []byte{6, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, size uint32, edits []byte) {
		file := bytes.Clone(whole[:min(int(size), len(whole))])
		recordtest.EditSlot(file, 1, edits)
		eachSlot(file, func(s *record.Slot) {
			if w := s.Windows; w != nil && (len(w.Entries) > record.LogsPerSlot || w.K < 0 || w.K > 62 || w.Order < 0 || w.Order > 7 || len(w.Sites) > 64) {
				t.Errorf("%d entries, k %d, order %d, %d sites", len(w.Entries), w.K, w.Order, len(w.Sites))
			}
		})
	})
}
