package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
)

// A program without MPI means to be alone, also beside others of its step, and no MPI is named.
func TestProgramsWithoutMPI(t *testing.T) {
	for _, without := range []bool{true, false} {
		a := rankSlot(0, 1, 8, 4)
		a.WithoutMPI, a.ThreadLevel, a.Claims.Step, a.Claims.NTasks = without, 1, 0, 4
		e := &foldSlots(t, testMachine(100), nil, a).executions[0]
		if slices.Contains(codesOf(e), doubt.WarnSingletons) == without || (e.ThreadLevel == "") != without {
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

// openMPSlotOf is the slot of the OpenMP threads of a process.
func openMPSlotOf(of record.Slot, threads ...record.OpenMPThread) record.Slot {
	return record.Slot{Kind: record.KindOpenMP, State: record.StateRunning, OpenMP: &record.OpenMPSlot{
		PID: of.PID, Process: of.ClaimedAt.Ticks, Runtimes: record.OpenMPLibgomp, Threads: threads}}
}

func seconds(s float64) uint64 { return uint64(s * 1e9) }

// A rank's OpenMP stands beside its own times.
func TestFoldOfOpenMP(t *testing.T) {
	a := rankSlot(0, 1, 8, 4)
	f := foldSlots(t, testMachine(100), nil, a, openMPSlotOf(a,
		record.OpenMPThread{TID: a.TID, Useful: seconds(3), MPI: seconds(1), Scheduling: seconds(0.5), Regions: 7, Nested: 1,
			RegionTicks: seconds(5), TeamTicks: seconds(10), Team: 2, TeamMost: 2},
		record.OpenMPThread{TID: a.TID + 1, Useful: seconds(4), Locked: seconds(0.25), TasksRun: 9}))
	want := &job.OpenMP{Threads: 2, Regions: 7, Nested: 1, Tasks: 9, InRegions: 5e9, Team: 10e9, Useful: 7e9, UsefulMain: 3e9, UsefulMost: 4e9,
		MPI: 1e9, MPIMain: 1e9, Imbalance: 1.25e9, Scheduling: 5e8, Locked: 2.5e8}
	if d := cmp.Diff(want, f.executions[0].Slowest[0].OpenMP); d != "" {
		t.Error(d)
	}
	if got := jobtest.Codes(f.executions[0].Warnings) + jobtest.Codes(f.warnings); got != "" {
		t.Errorf("warnings %s", got)
	}
}

// The region that a killed rank was in lasted to its end.
func TestFoldOfAnOpenRegion(t *testing.T) {
	a := killed(0, 1, 2, 16)
	facts := &attemptFacts{node: "n1", end: 30 * sec, exits: map[int][]exitEvent{100: {{step: "0", mono: 20 * sec, status: 9}}}, steps: map[string]uint64{"0": 0}}
	f := foldSlots(t, testMachine(100), facts, a, openMPSlotOf(a,
		record.OpenMPThread{TID: a.TID, State: record.OpenMPUseful, Since: at(18).Ticks, MPISeen: a.MPITicks, RegionSince: at(17).Ticks, Team: 2, TeamMost: 2, Scheduling: seconds(1)},
		record.OpenMPThread{TID: a.TID + 1, Since: at(19).Ticks, Useful: seconds(1)}))
	want := &job.OpenMP{Threads: 2, InRegions: 3e9, Team: 6e9, Useful: 3e9, UsefulMain: 2e9, UsefulMost: 1e9, Scheduling: 1e9, Imbalance: 2e9}
	if d := cmp.Diff(want, f.executions[0].Slowest[0].OpenMP); d != "" {
		t.Error(d)
	}
}

// A program without MPI does not lack MPI_Finalize.
func TestFoldOfAProgramWithoutMPI(t *testing.T) {
	a := rankSlot(0, 1, 8, 0)
	a.WithoutMPI, a.Family, a.FiniEnter, a.FiniLeft = true, "", 0, 0
	a.State, a.Ending, a.EndingCode = record.StateRunning, record.EndingExit, 3
	f := foldSlots(t, testMachine(100), nil, a)
	if e := f.executions[0]; e.Endings["exit 3"] != 1 || e.MPI != "" || jobtest.Codes(e.Warnings) != "" {
		t.Errorf("endings %v, MPI %q, warnings %v", e.Endings, e.MPI, e.Warnings)
	}
}

// Why tells each reason, and nothing where times are whole.
func TestWhyOpenMP(t *testing.T) {
	seen := map[string]bool{}
	for why := record.OpenMPKnown; why <= record.OpenMPNoRuntime; why++ {
		seen[whyOpenMP(&record.OpenMP{Why: why})] = true
	}
	seen[whyOpenMP(&record.OpenMP{Lost: 1})] = true
	seen[whyOpenMP(&record.OpenMP{Untimed: record.OpenMPBigTasks})] = true
	if len(seen) != 8 || !seen[""] {
		t.Errorf("got %v, want 8 different texts", seen)
	}
}

// loaded is rankSlot of 8 s useful and 2 s in MPI, with what the kernel counted: CPU time of the
// rank and of other threads, run-queue wait, busy threads, and the CPUs of the mask (a byte).
func loaded(rank, size int, own, other, queue float64, busy int, mask byte) record.Slot {
	s := rankSlot(rank, size, 8, 2)
	ns := func(seconds float64) uint64 { return uint64(seconds * 1e9) }
	s.Kernel = record.Kernel{At: at(20).Ticks, Process: ns(own + other), Thread: ns(own), TasksKnown: true, Queue: ns(queue),
		Tasks: 3, Busy: busy, GPU: record.GPUNone}
	s.Kernel.Mask[0] = mask
	if other > 0.5 {
		s.Kernel.Busiest, s.Kernel.BusiestTID, s.Kernel.BusiestName = ns(other), 7000+rank, "helper"
	}
	return s
}

func codesOf(e *job.Execution) (codes []string) {
	for _, w := range e.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// What is told of a rank's threads and CPUs follows from what the kernel counted alone.
func TestLoad(t *testing.T) {
	both := func(own, other, queue float64, busy int, mask byte) []record.Slot {
		return []record.Slot{loaded(0, 2, own, other, queue, busy, mask), loaded(1, 2, own, other, queue, busy, mask)}
	}
	change := func(slots []record.Slot, do func(*record.Slot)) []record.Slot {
		for i := range slots {
			do(&slots[i])
		}
		return slots
	}
	tests := []struct {
		name     string
		slots    []record.Slot
		threaded bool
		codes    []string
		text     string
	}{
		{"plain", both(9.9, 0.01, 0.05, 1, 3), false, nil, ""},
		{"idle progress thread", both(9.9, 0.4, 0.05, 1, 3), false, nil, ""},
		{"OpenMP that nobody asked for", both(9.9, 9, 0.05, 2, 15), true, []string{doubt.WarnThreadsCounted}, "all 2 ranks"},
		{"OpenMP as asked for", change(both(9.9, 9, 0.05, 2, 15), func(s *record.Slot) { s.Claims.OMPThreads = 2 }), true, nil, ""},
		{"asked for, but not there", change(both(9.9, 0.01, 0.05, 1, 15), func(s *record.Slot) { s.Claims.OMPThreads = 2 }), false, nil, ""},
		{"older library", change(both(0, 0, 0, 0, 0), func(s *record.Slot) { s.Kernel, s.Claims.CPUsPerTask = record.Kernel{}, 4 }), true, nil, ""},
		{"busy progress thread", change(both(9.9, 9.9, 0.05, 2, 15), func(s *record.Slot) { s.Kernel.BusiestOfMPI = true }), true, []string{doubt.WarnProgress}, "(helper)"},
		{"two ranks on one core", both(5, 0, 4.9, 1, 2), false, []string{doubt.WarnContention}, "2 busy threads of 2 ranks share CPU 1"},
		{"beside a hog", both(6, 0, 3.9, 1, 3), false, []string{doubt.WarnContention}, "in 39 % of their time"},
		{"sleeps", both(2, 0, 0.01, 0, 3), false, []string{doubt.WarnSlept}, "at least 60 %"},
		{"sleeps in MPI", both(8, 0, 0.01, 1, 3), false, nil, ""},
		{"not every thread was read", change(both(5, 0, 0, 0, 3), func(s *record.Slot) { s.Kernel.TasksKnown = false }), false, nil, ""},
		{"more CPU time than CPUs", both(9.9, 90, 0, 1, 3), false, nil, ""},
	}
	for _, tt := range tests {
		var m assemble.Merger
		m.Add(&job.NodeReport{Node: "n1", JobID: 1, Executions: foldSlots(t, testMachine(100), nil, tt.slots...).executions})
		e := &m.Job().Executions[0]
		if got := job.Threaded([]job.Execution{*e}); got != tt.threaded {
			t.Errorf("%s: threaded is %v", tt.name, got)
		}
		if got := codesOf(e); !slices.Equal(got, tt.codes) {
			t.Errorf("%s: warnings %v, want %v", tt.name, e.Warnings, tt.codes)
		}
		if tt.text != "" && !slices.ContainsFunc(e.Warnings, func(w doubt.Warning) bool { return strings.Contains(doubt.Text(w), tt.text) }) {
			t.Errorf("%s: %v does not say %q", tt.name, e.Warnings, tt.text)
		}
	}
}

// Of a killed rank, what stood at the last reading counts, over the time up to it.
func TestLoadOfAKilledRank(t *testing.T) {
	s := killed(0, 1, 1, 18)
	s.Kernel = record.Kernel{At: at(14).Ticks, Process: 6 * sec, Thread: 4 * sec, TasksKnown: true, Tasks: 2, Busy: 2}
	l := foldSlots(t, testMachine(30), nil, s).executions[0].Nodes[0].Load
	if l == nil || l.Span != 4*time.Second || l.Other != 2*time.Second || l.Threaded != 1 {
		t.Errorf("%+v", l)
	}
}

// A thread that calls MPI and ended is not one that computes for the rank: after its last reading
// it is taken to have been busy up to its last call.
func TestCallersAreNotOtherThreads(t *testing.T) {
	s := loaded(0, 1, 5, 5, 0, 2, 3)
	thread := record.Slot{Kind: record.KindThread, State: record.StateRunning, Parent: 0, PID: 100, TID: 7000, OpenCall: -1, Rank: 0, Size: 1,
		Clock: record.ClockMonotonic, ClaimedAt: at(11), InitEnter: at(11).Ticks, InitLeft: at(11).Ticks, Last: at(16).Ticks,
		Kernel: record.Kernel{At: at(12).Ticks, Thread: sec}}
	l := foldSlots(t, testMachine(100), nil, s, thread).executions[0].Nodes[0].Load
	if l == nil || l.Other != 0 || l.Threaded != 0 {
		t.Errorf("%+v", l)
	}
}

// From which share on threads are told.
func TestIsThreaded(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		other, span time.Duration
		is          bool
	}{{6 * s, 100 * s, true}, {5 * s, 100 * s, false}, {11 * time.Millisecond, s / 10, true}, {10 * time.Millisecond, s / 10, false}, {0, 0, false}} {
		if got := isThreaded(c.other, c.span); got != c.is {
			t.Errorf("%v of %v: threaded is %v", c.other, c.span, got)
		}
	}
}
