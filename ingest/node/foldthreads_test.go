package node

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/preload/record"
)

// A program without MPI means to be alone, also beside others of its step, and no MPI is named.
func TestProgramsWithoutMPI(t *testing.T) {
	for _, without := range []bool{true, false} {
		a := rankSlot(0, 1, 8, 4)
		a.WithoutMPI, a.ThreadLevel, a.Claims.Step, a.Claims.NTasks = without, 1, 0, 4
		e := &foldSlots(t, testMachine(100), nil, a).executions[0]
		if slices.Contains(codesOf(e), job.WarnSingletons) == without || (e.ThreadLevel == "") != without {
			t.Errorf("without MPI %v: thread level %q, warnings %v", without, e.ThreadLevel, e.Warnings)
		}
	}
}

// The threads of two ranks on a node, one without OpenMP, fill the time of all cores.
func TestFoldOfTheThreadsOfANode(t *testing.T) {
	a, b := rankSlot(0, 2, 8, 4), rankSlot(1, 2, 9, 3)
	f := foldSlots(t, testMachine(100), nil, a, b, openMPSlotOf(a,
		record.OpenMPThread{TID: a.TID, Useful: seconds(3), MPI: seconds(1), Scheduling: seconds(0.5), Regions: 7, RegionTicks: seconds(5), TeamTicks: seconds(10), Team: 2, TeamMost: 2},
		record.OpenMPThread{TID: a.TID + 1, Useful: seconds(4), Locked: seconds(0.25)}))
	// Outside of regions: 3 s of MPI, which hold two threads, and 4 s of one thread's work.
	want := &job.ThreadShare{Ranks: 1, Threads: 3, ThreadsMax: 2, Useful: 11e9 + 9e9, UsefulMax: 9e9, MPI: 7e9 + 3e9,
		Imbalance: 125e7, Scheduling: 75e7, Serial: 4e9}
	got := f.executions[0].Nodes[0].Threads
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if all := got.Useful + got.MPI + got.Imbalance + got.Scheduling + got.Serial; all != 3*12*time.Second {
		t.Errorf("the parts are %v, want 3 threads of 12 s", all)
	}
	if h := job.ExecutionMetrics(&f.executions[0]).Hybrid; h == nil || h.Threads != 3 {
		t.Errorf("hybrid %+v", h)
	}
}

// A rank that had more threads at once than its regions tell has no figures of threads.
func TestFoldOfTooManyThreads(t *testing.T) {
	a := rankSlot(0, 1, 12, 0)
	f := foldSlots(t, testMachine(100), nil, a, openMPSlotOf(a,
		record.OpenMPThread{TID: a.TID, Useful: seconds(12), Regions: 1, RegionTicks: seconds(12), TeamTicks: seconds(24), Team: 2, TeamMost: 2},
		record.OpenMPThread{TID: a.TID + 1, Useful: seconds(14)}))
	got := f.executions[0].Nodes[0].Threads
	if got == nil || got.Why != beyond || got.Useful != 12*time.Second {
		t.Errorf("got %+v", got)
	}
	if !job.ThreadsUnknown(f.executions) {
		t.Error("its threads are known")
	}
}

// What nested regions and those of other threads ran on are all threads of the process.
func TestThreadsAtOnce(t *testing.T) {
	for _, c := range []struct {
		of   record.OpenMP
		want int
	}{
		{record.OpenMP{}, 1},
		{record.OpenMP{TeamMost: 4, Threads: 6}, 4},
		{record.OpenMP{TeamMost: 4, Threads: 6, Nested: 1}, 6},
		{record.OpenMP{TeamMost: 4, Threads: 6, OtherRegions: 1}, 6},
		{record.OpenMP{TeamMost: 4, Threads: 6, Nested: 1, OtherRegions: 1}, 6},
		{record.OpenMP{TeamMost: 4, Threads: 2, Nested: 1}, 4},
	} {
		if got := threadsAtOnce(&c.of); got != c.want {
			t.Errorf("%+v: %d, want %d", c.of, got, c.want)
		}
	}
}

// Threads that compute beside OpenMP's are not taken for idle ones.
func TestOtherThreadsThanOpenMP(t *testing.T) {
	for _, c := range []struct {
		name    string
		other   float64 // s of CPU time, of threads that do not call MPI
		regions uint64
		team    float64 // s
		unknown bool
	}{
		{"in regions", 5, 10, 10, false},
		{"awake after regions", 1, 1000, 0.1, false},
		{"one region, and a pool of its own", 5, 1, 0.1, true},
		{"regions, and a pool of its own", 9, 10, 10, true},
	} {
		a := rankSlot(0, 1, 12, 0)
		a.Kernel = record.Kernel{At: at(21).Ticks, Process: seconds(11 + c.other), Thread: seconds(11), Tasks: 4}
		f := foldSlots(t, testMachine(100), nil, a, openMPSlotOf(a,
			record.OpenMPThread{TID: a.TID, Useful: seconds(c.team / 2), Regions: c.regions, RegionTicks: seconds(c.team / 2), TeamTicks: seconds(c.team), Team: 2, TeamMost: 2},
			record.OpenMPThread{TID: a.TID + 1, Useful: seconds(c.team / 2)}))
		if got := job.ThreadsUnknown(f.executions); got != c.unknown {
			t.Errorf("%s: unknown is %v: %+v", c.name, got, f.executions[0].Nodes[0].Load)
		}
	}
}
