package record_test

import (
	"bytes"
	"errors"
	"testing"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// changing is a record to which somebody writes after each reading.
type changing struct {
	file  []byte
	after func(file []byte)
}

func (c *changing) ReadAt(b []byte, at int64) (int, error) {
	n, err := bytes.NewReader(c.file).ReadAt(b, at)
	c.after(c.file)
	return n, err
}

func readLive(t *testing.T, file []byte, after func([]byte)) (slots []record.Slot, err error) {
	t.Helper()
	f, err := record.Read(&changing{file, after}, int64(len(file)), record.Options{Live: true})
	if err != nil {
		return nil, err
	}
	err = f.Each(func(s *record.Slot) error { slots = append(slots, *s); return nil })
	return slots, err
}

// running is a rank that runs, with edges.
func running() record.Slot {
	s := full()
	s.State, s.Ending, s.FiniEnter, s.FiniLeft = record.StateRunning, record.EndingNone, 0, 0
	s.Timeline = &record.Timeline{First: 7, Edges: []record.Edge{{At: 20, MPI: 5}, {At: 40, MPI: 9}}}
	return s
}

// TestLive: what a rank changes meanwhile is told, and so is what it did not.
func TestLive(t *testing.T) {
	file := recordtest.File(record.Head{}, running())
	slotOf := func(edit func(*record.Slot)) []byte {
		s := running()
		edit(&s)
		return recordtest.File(record.Head{}, s)
	}
	calls := slotOf(func(s *record.Slot) { s.MPITicks, s.Last, s.Open = 1000, 990, 1010 })
	edges := slotOf(func(s *record.Slot) { s.Timeline.Edges = s.Timeline.Edges[:1] })
	inCall := slotOf(func(s *record.Slot) { s.Torn = true })
	between := func(versions ...[]byte) func([]byte) {
		i := 0
		return func(to []byte) { i++; copy(to, versions[i%len(versions)]) }
	}
	for name, tt := range map[string]struct {
		after func([]byte)
		still bool
		torn  bool
	}{
		"nothing": {func([]byte) {}, true, false},
		"calls":   {between(file, calls), false, false},
		"edges":   {between(file, edges), false, true},
		"in call": {between(inCall), false, false},
	} {
		slots, err := readLive(t, bytes.Clone(file), tt.after)
		if errors.Is(err, record.ErrTorn) != tt.torn || err != nil && !tt.torn {
			t.Errorf("%s: %v", name, err)
		}
		if !tt.torn && (len(slots) != 1 || slots[0].Still != tt.still || len(slots[0].Timeline.Edges) != 2) {
			t.Errorf("%s: %+v", name, slots)
		}
	}
}

// TestLiveNearly: sums that two readings tell are of one moment where they grew no more than time did.
func TestLiveNearly(t *testing.T) {
	now := func() uint64 {
		p, ok := record.Now(record.ClockMonotonic)
		if !ok {
			t.Fatal("no clock")
		}
		return p.Ticks
	}
	const ms = 1_000_000
	begin := now() - 50*ms // of the open call
	inMPI := func(edit func(*record.Slot)) []byte {
		s := running()
		s.Clock, s.MPITicks, s.Open, s.Last, s.OpenCall = record.ClockMonotonic, 100*ms, begin, begin-10*ms, 5
		edit(&s)
		return recordtest.File(record.Head{}, s)
	}
	ended := func(s *record.Slot) { s.MPITicks, s.Last, s.OpenCall = 100*ms+now()-begin, now(), -1 }
	for name, tt := range map[string]struct {
		edit func(*record.Slot)
		want bool
	}{
		"the call ended":                 {ended, true},
		"… and its time is not there":    {func(s *record.Slot) { ended(s); s.MPITicks = 100 * ms }, false},
		"… and is there twice":           {func(s *record.Slot) { s.MPITicks += now() - begin }, false},
		"its writer stopped in between":  {func(s *record.Slot) { ended(s); s.Torn = true }, false},
		"nothing changed but other sums": {func(s *record.Slot) { s.HistP2P[3]++ }, true},
	} {
		reads := 0
		slots, err := readLive(t, inMPI(func(*record.Slot) {}), func(to []byte) {
			edit := tt.edit
			if reads++; reads%2 == 1 { // the first of two readings comes next; the head and the slot's head were read before
				edit = func(*record.Slot) {}
			}
			copy(to, inMPI(edit))
		})
		if err != nil || len(slots) != 1 {
			t.Fatalf("%s: %v, %v", name, slots, err)
		}
		if s := slots[0]; s.Still || s.Nearly != tt.want || s.ReadAt == 0 {
			t.Errorf("%s: still %v, nearly %v, read at %d", name, s.Still, s.Nearly, s.ReadAt)
		}
	}
}

// packing is a record of a slot of packed ones, which takes more of them, and one process.
func packing(own record.Slot, packed ...record.Slot) []byte {
	const headBytes, summaryInHead = 4096, 100 // je_head.summary
	file := recordtest.File(record.Head{}, record.Slot{}, own)
	copy(file[headBytes:], recordtest.Summary(packed...))
	file[summaryInHead] = 1
	return file
}

// TestLivePacked: a slot that was packed while the record was read is not missed in silence.
func TestLivePacked(t *testing.T) {
	after := packing(record.Slot{}, done(11), done(12))
	file, reads := packing(done(12), done(11)), 0
	slots, err := readLive(t, file, func(to []byte) {
		if reads++; reads == 7 { // the summary was read, the slot was not
			copy(to, after)
		}
	})
	if !errors.Is(err, record.ErrTorn) || len(slots) != 1 {
		t.Errorf("%d slots after %d readings: %v", len(slots), reads, err)
	}
	if slots, err = readLive(t, after, func([]byte) {}); err != nil || len(slots) != 2 || !slots[1].Still {
		t.Errorf("%+v, %v", slots, err)
	}
}

// FuzzLive: a process that writes anything while its record is read.
func FuzzLive(f *testing.F) {
	whole := recordtest.File(record.Head{}, running(), full())
	f.Add([]byte{}, uint8(1))
	f.Add([]byte{0x40, 1, 1, 0, 0, 0, 255, 255, 255, 255, 0x41, 1, 0, 4, 0, 0, 1, 0, 0, 0}, uint8(3))
	f.Fuzz(func(t *testing.T, edits []byte, each uint8) {
		step := 10 * (int(each)%4 + 1)
		rest := edits
		slots, _ := readLive(t, bytes.Clone(whole), func(to []byte) {
			n := min(step, len(rest))
			recordtest.EditSlot(to, 0, rest[:n])
			if rest = rest[n:]; len(rest) == 0 {
				rest = edits
			}
		})
		for i := range slots {
			checkSlot(t, &slots[i])
		}
	})
}
