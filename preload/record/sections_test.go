package record_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// sampled is a number that is kept at k = 1, as the next one is.
const sampled = 27

// sectionSlot is a slot of sections with something in every field.
func sectionSlot() record.Slot {
	return record.Slot{
		Kind: record.KindSections, Parent: 1, State: record.StateRunning, OpenCall: -1, Rank: -1, Size: -1,
		Sections: &record.Sections{
			PID: 10, Init: 11, Order: 0, Wrong: 7, Deep: 8, Ignored: 9, Last: 12,
			Entries: []record.Section{
				{Label: record.OtherSections},
				{Label: "halo", Count: 3, Whole: record.SectionTicks{All: 10, MPI: 5, IO: 1}, Own: record.SectionTicks{All: 6, MPI: 4, IO: 1},
					Sampled: &record.Instances{K: 1, Kept: []record.Instance{{Number: sampled, In: 14, Out: 15}, {Number: sampled + 1, In: 13, Out: 14}}},
					Threads: &record.SectionThreads{Region: 31, RegionMPI: 32, RegionIO: 33, Team: 34, Useful: 35, MPI: 36, IO: 37, Scheduling: 38, Locked: 39, UsefulMain: 33, UsefulMost: 34, Busiest: true, Whole: true}},
			},
			Open:   []record.OpenSection{{Number: 1, In: record.SectionTicks{All: 20, MPI: 6, IO: 2}, Inner: record.SectionTicks{All: 3, MPI: 2, IO: 1}}},
			Wrongs: []record.WrongExit{{Open: "halo", Exited: "step", Count: 6}, {Open: "", Exited: "halo", Count: 1}},
		},
	}
}

func TestReadGivesSectionsAsWritten(t *testing.T) {
	torn := sectionSlot()
	torn.Torn, torn.Index = true, 1
	_, slots := readAll(t, recordtest.File(record.Head{}, sectionSlot(), torn), record.Options{})
	if d := cmp.Diff([]record.Slot{sectionSlot(), torn}, slots); d != "" {
		t.Error(d)
	}
}

func TestReadBoundsSections(t *testing.T) {
	s := sectionSlot()
	s.Parent = 1 << 30
	s.Sections.Entries[1].Sampled, s.Sections.Entries[1].Threads = nil, nil
	s.Sections.Entries[1].Label = "\x1b[31m\xff\u202e"
	s.Sections.Entries[1].Count, s.Sections.Entries[1].Whole.All = 1<<60, 1<<63
	s.Sections.Open[0].Number = 1 << 30
	s.Sections.Order = 1000
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	got := slots[0]
	want := record.Section{Label: "?[31m??", Whole: record.SectionTicks{MPI: 5, IO: 1}, Own: record.SectionTicks{All: 6, MPI: 4, IO: 1}}
	if d := cmp.Diff(want, got.Sections.Entries[1]); d != "" {
		t.Error(d)
	}
	if !got.Odd || got.Parent != 0 || got.Sections.Open[0].Number != 0 || got.Sections.Order != 0 {
		t.Errorf("out of bounds: %+v", got)
	}
}

// What a rank cannot have kept is left out, and a detail never lies where a label does.
func TestReadBoundsInstances(t *testing.T) {
	s := sectionSlot()
	kept := &s.Sections.Entries[1].Sampled.Kept
	*kept = append(*kept, (*kept)[0], record.Instance{Number: 1, In: 1, Out: 2}, record.Instance{Number: sampled + 3, In: 2, Out: 1})
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	if got := slots[0].Sections.Entries[1].Sampled; !slots[0].Odd || len(got.Kept) != 2 {
		t.Errorf("odd %v, got %+v", slots[0].Odd, got)
	}
	s = sectionSlot()
	for len(s.Sections.Entries) < record.SectionsPerSlot {
		s.Sections.Entries = append(s.Sections.Entries, record.Section{Label: "more", Count: 1})
	}
	_, slots = readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	if got := slots[0].Sections.Entries[1].Sampled; got != nil {
		t.Errorf("got %+v", got)
	}
}

// Half of the numbers are kept at k = 1, half of those at 2, and periods of the program don't show.
func TestIsKept(t *testing.T) {
	var kept [12]int
	even := 0
	for number := range uint64(1 << 16) {
		for k := range kept {
			if record.IsKept(number, k) {
				kept[k]++
			} else if k+1 < len(kept) && record.IsKept(number, k+1) {
				t.Fatalf("%d is kept at %d and not at %d", number, k+1, k)
			}
		}
		if number%2 == 0 && record.IsKept(number, 6) {
			even++
		}
	}
	for k, n := range kept {
		if want := 1 << (16 - k); n < want*7/10 || n > want*13/10 {
			t.Errorf("%d are kept at %d, want about %d", n, k, want)
		}
	}
	if even < 400 || even > 624 {
		t.Errorf("%d of %d are even", even, kept[6])
	}
}

func FuzzSections(f *testing.F) {
	whole := recordtest.File(record.Head{}, full(), sectionSlot())
	f.Add(uint32(len(whole)), []byte{})
	f.Add(uint32(len(whole)), []byte{6, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, size uint32, edits []byte) {
		file := bytes.Clone(whole[:min(int(size), len(whole))])
		recordtest.EditSlot(file, 1, edits)
		eachSlot(file, func(s *record.Slot) {
			if s.Kind == record.KindSections {
				checkSections(t, s.Sections)
			}
		})
	})
}

func checkSections(t *testing.T, s *record.Sections) {
	t.Helper()
	var labels []string
	for _, e := range s.Entries {
		labels = append(labels, e.Label)
		if e.Count > 1<<53 || e.Whole.All > 1<<62 || e.Own.IO > 1<<62 {
			t.Errorf("out of bounds: %+v", e)
		}
		if e.Sampled != nil && len(e.Sampled.Kept) > record.MostInstances {
			t.Errorf("%d instances", len(e.Sampled.Kept))
		}
	}
	for _, w := range s.Wrongs {
		labels = append(labels, w.Open, w.Exited)
	}
	for _, label := range labels {
		if !utf8.ValidString(label) || strings.ContainsFunc(label, unicode.IsControl) || len(label) > 3*64 {
			t.Errorf("label %q", label)
		}
	}
	if len(s.Entries) > record.SectionsPerSlot || len(s.Open) > 64 || len(s.Wrongs) > 8 {
		t.Errorf("%d entries, %d open, %d wrong exits", len(s.Entries), len(s.Open), len(s.Wrongs))
	}
}
