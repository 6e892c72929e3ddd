package record_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// somePlaces fill all of a table's kinds of entries.
func somePlaces() *record.Places {
	return &record.Places{
		Every: 1000, DroppedTicks: 7, Open: &record.Frame{Module: 1, Offset: 0x77},
		Modules: []record.Module{{Program: true, BuildID: "0102"}, {Path: "/lib/a.so", BuildID: "ff"}, {Path: "/lib/b.so"}, {Bias: 0x7000}},
		List: []record.Place{
			{Function: 5, Frames: []record.Frame{{0, 0x1000}, {1, 0x20}}, Calls: 3, Ticks: 90, Longest: 40},
			{Function: 9, Frames: []record.Frame{{3, 1}}, Samples: 4, ShortCalls: 100, Longest: 1},
			{Function: 5, Calls: 1, Ticks: 5, Longest: 5},
		},
	}
}

func readPlaces(t *testing.T, change func(file []byte), p *record.Places) *record.Slot {
	t.Helper()
	file := recordtest.File(record.Head{}, record.Slot{Kind: record.KindProcess, State: record.StateRunning, Rank: 0, Size: 1, OpenCall: 9, Places: p})
	if change != nil {
		change(file)
	}
	f, err := record.Read(bytes.NewReader(file), int64(len(file)), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got *record.Slot
	if err := f.Each(func(s *record.Slot) error { got = s; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPlaces(t *testing.T) {
	s := readPlaces(t, nil, somePlaces())
	if diff := cmp.Diff(somePlaces(), s.Places); diff != "" || s.Odd || s.OpenCall != 9 {
		t.Errorf("odd %v, open call %d (-want +got)\n%s", s.Odd, s.OpenCall, diff)
	}
}

// TestHostilePlaces: a module that is none ends a chain, and impossible numbers are none.
func TestHostilePlaces(t *testing.T) {
	p := somePlaces()
	p.List[0].Frames[1].Module = 200
	p.List[1].Frames[0].Offset = 1 << 60
	p.List[2].Ticks, p.List[2].Samples = 1<<63, 1<<61
	p.Modules[1].Path = "/lib/\x1b[2J\u202e.so"
	s := readPlaces(t, nil, p)
	got := s.Places
	if !s.Odd || len(got.List[0].Frames) != 1 || len(got.List[1].Frames) != 0 || got.List[2].Ticks != 0 || got.List[2].Samples != 0 {
		t.Errorf("odd %v, %+v", s.Odd, got.List)
	}
	if want := "/lib/?[2J?.so"; got.Modules[1].Path != want {
		t.Errorf("path %q, want %q", got.Modules[1].Path, want)
	}
}
