package record_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// withSummary is a record of some slots and then a summary of others.
func withSummary(slots []record.Slot, packed ...record.Slot) []byte {
	file := recordtest.File(record.Head{}, append(slots, record.Slot{})...)
	summary := recordtest.Summary(packed...)
	copy(file[len(file)-len(summary):], summary)
	return file
}

// done is a finished process.
func done(pid int) record.Slot {
	s := full()
	s.PID, s.State, s.Threads = pid, record.StateDone, 1
	return s
}

func TestPackedSlotsAreWhole(t *testing.T) {
	_, slots := readAll(t, withSummary([]record.Slot{full()}, done(11), done(12), done(13)), record.Options{})
	want := []record.Slot{full(), done(11), done(12), done(13)}
	for i := range want {
		if i > 0 {
			want[i].Index = 2 + i // behind the file's own
		}
	}
	if d := cmp.Diff(want, slots); d != "" {
		t.Error(d)
	}
}

// A process that died while it packed leaves a slot there twice.
func TestPackedAndStillThere(t *testing.T) {
	_, slots := readAll(t, withSummary([]record.Slot{done(11), done(12)}, done(12), done(13)), record.Options{})
	var pids []int
	for _, s := range slots {
		pids = append(pids, s.PID)
	}
	if d := cmp.Diff([]int{11, 12, 13}, pids); d != "" {
		t.Error(d)
	}
}

func FuzzSummary(f *testing.F) {
	whole := withSummary(nil, done(11), done(12))
	f.Add([]byte{})
	f.Add([]byte{6, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Add([]byte{7, 0, 255, 255, 255, 255, 0, 16, 0, 0})
	f.Fuzz(func(t *testing.T, edits []byte) {
		file := bytes.Clone(whole)
		recordtest.EditSlot(file, 0, edits)
		eachSlot(file, func(s *record.Slot) { checkSlot(t, s) })
	})
}
