package record_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

// openMPSlot is a slot of OpenMP threads with something in every field, of the process full.
func openMPSlot() record.Slot {
	return record.Slot{
		Kind: record.KindOpenMP, Parent: 1, State: record.StateRunning, OpenCall: -1, Rank: -1, Size: -1,
		OpenMP: &record.OpenMPSlot{
			PID: 10, Process: 1, Runtimes: record.OpenMPLibgomp, Why: record.OpenMPOldCode, Untimed: record.OpenMPBigTasks, Lost: 5,
			Threads: []record.OpenMPThread{
				{TID: 10, State: record.OpenMPUseful, Since: 100, Useful: 60, Waiting: 10, Scheduling: 5, Locked: 4, MPI: 3, IO: 2,
					MPISeen: 18, IOSeen: 19, Regions: 9, Nested: 2, RegionTicks: 90, TeamTicks: 180, RegionSince: 99,
					Team: 2, TeamMost: 8, TasksMade: 6, TasksRun: 7, Dispatches: 20, Locks: 21, Waits: 22},
				{TID: 11, Since: 98, Useful: 50, Regions: 1, RegionTicks: 10, TeamTicks: 20, Team: 2, TeamMost: 2},
			},
		},
	}
}

func TestReadGivesOpenMPAsWritten(t *testing.T) {
	torn := openMPSlot()
	torn.Torn, torn.Index = true, 1
	_, slots := readAll(t, recordtest.File(record.Head{}, openMPSlot(), torn), record.Options{})
	if d := cmp.Diff([]record.Slot{openMPSlot(), torn}, slots); d != "" {
		t.Error(d)
	}
}

func TestReadGivesProcessesWithoutMPI(t *testing.T) {
	s := full()
	s.WithoutMPI, s.Began = true, 77
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	if d := cmp.Diff([]record.Slot{s}, slots); d != "" {
		t.Error(d)
	}
}

// Of two processes of one pid each has its own OpenMP; a packed slot that is still there, too,
// counts once.
func TestPackedOpenMPIsWhole(t *testing.T) {
	first := openMPSlot()
	first.State = record.StateDone
	other := openMPSlot()
	other.State = record.StateDone
	other.OpenMP.Process = 2
	file := withSummary([]record.Slot{done(10), first}, first, other)
	_, slots := readAll(t, file, record.Options{})
	var openmp []*record.Slot
	for i := range slots[1:] {
		openmp = append(openmp, &slots[1+i])
	}
	if len(openmp) != 2 {
		t.Fatalf("%d slots of OpenMP, want 2", len(openmp))
	}
	if got := record.OpenMPOf(&slots[0], nil, openmp, 100); got.Regions != 10 {
		t.Errorf("got %+v, want the 10 regions of one process", got)
	}
}

// What the team's times do not explain is waiting at the ends of regions.
func TestOpenMPOf(t *testing.T) {
	process, slot := full(), openMPSlot()
	process.OpenCall = -1
	slot.OpenMP.Threads[0].State, slot.OpenMP.Threads[0].RegionSince = record.OpenMPOutside, 0
	got := record.OpenMPOf(&process, nil, []*record.Slot{&slot}, 110)
	want := &record.OpenMP{
		Runtimes: record.OpenMPLibgomp, Why: record.OpenMPOldCode, Untimed: record.OpenMPBigTasks, Lost: 5,
		Threads: 2, Team: 2, TeamMost: 8, Regions: 10, Nested: 2, OtherRegions: 1,
		RegionTicks: 90, OtherTicks: 10, TeamTicks: 200,
		Useful: 110, MPI: 3, IO: 2, Imbalance: 76, Scheduling: 5, Locked: 4, UsefulMost: 50, UsefulMain: 60, MPIMain: 3, IOMain: 2,
		TasksMade: 6, TasksRun: 7, Dispatches: 20, Locks: 21, Waits: 22, Last: 100,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := record.OpenMPOf(&process, nil, nil, 110); got != nil {
		t.Errorf("a process without OpenMP has %+v", got)
	}
}

// A killed process had a region open: its threads' states last until its end, and the MPI call
// that a thread never left is MPI.
func TestOpenMPOfAKilledProcess(t *testing.T) {
	process, slot := full(), openMPSlot()
	process.OpenCall, process.Open, process.MPITicks = -1, 0, 20
	thread := record.Slot{Kind: record.KindThread, TID: 11, Open: 107, OpenCall: 9}
	slot.OpenMP.Threads[1].State = record.OpenMPUseful
	got := record.OpenMPOf(&process, []*record.Slot{&thread}, []*record.Slot{&slot}, 110)
	type times struct {
		Open                                        bool
		Region, Team, Useful, MPI, UsefulMain, Most uint64
	}
	have := times{got.Open, got.RegionTicks, got.TeamTicks, got.Useful, got.MPI, got.UsefulMain, got.UsefulMost}
	// main: 10 ticks more, 2 of them MPI; the other: 12 more, of them 3 in a call that it never left
	if want := (times{true, 101, 222, 60 + 8 + 50 + 9, 3 + 2 + 3, 68, 59}); have != want {
		t.Errorf("got %+v, want %+v", have, want)
	}
}

func TestReadBoundsOpenMP(t *testing.T) {
	s := openMPSlot()
	s.Parent, s.OpenMP.Order, s.OpenMP.Why = 1<<30, 99, 77
	first := &s.OpenMP.Threads[0]
	first.State, first.Useful, first.Team, first.Regions = 6, 1<<63, 1<<30, 1<<60
	_, slots := readAll(t, recordtest.File(record.Head{}, s), record.Options{})
	got := slots[0]
	if o := got.OpenMP; !got.Odd || got.Parent != 0 || o.Order != 0 || o.Why != record.OpenMPNoRuntime {
		t.Errorf("out of bounds: %+v, %+v", got, o)
	}
	if first := got.OpenMP.Threads[0]; first.State != record.OpenMPOutside || first.Useful != 0 || first.Team != 0 || first.Regions != 0 {
		t.Errorf("out of bounds: %+v", first)
	}
}

func FuzzOpenMP(f *testing.F) {
	whole := recordtest.File(record.Head{}, full(), openMPSlot())
	f.Add(uint32(len(whole)), []byte{}, uint64(110))
	f.Add(uint32(len(whole)), []byte{4, 0, 255, 255, 255, 255, 255, 255, 255, 255}, uint64(1<<62))
	f.Fuzz(func(t *testing.T, size uint32, edits []byte, end uint64) {
		file := bytes.Clone(whole[:min(int(size), len(whole))])
		recordtest.EditSlot(file, 1, edits)
		var process, openmp []*record.Slot
		eachSlot(file, func(s *record.Slot) {
			switch s.Kind {
			case record.KindProcess:
				process = append(process, s)
			case record.KindOpenMP:
				openmp = append(openmp, s)
			}
		})
		for _, p := range process {
			checkOpenMP(t, record.OpenMPOf(p, nil, openmp, end))
		}
	})
}

func checkOpenMP(t *testing.T, o *record.OpenMP) {
	t.Helper()
	if o == nil {
		return
	}
	for _, v := range []uint64{o.Useful, o.MPI, o.IO, o.Imbalance, o.Scheduling, o.Locked, o.TeamTicks, o.RegionTicks, o.UsefulMost, o.Regions} {
		if v > 1<<62 {
			t.Fatalf("out of bounds: %+v", o)
		}
	}
	if o.Threads > record.OpenMPPerSlot || o.TeamMost > 1<<22 {
		t.Fatalf("out of bounds: %+v", o)
	}
}
