package node

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/assemble"
	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/ingest/wire"
	"jobeff/policy/doubt"
	"jobeff/preload/record"
	"jobeff/preload/record/recordtest"
)

const (
	sec   = uint64(time.Second)
	epoch = uint64(1_700_000_000) * sec // CLOCK_REALTIME where CLOCK_MONOTONIC is 0
)

var testBoot = [16]byte{0xb0, 0x07}

// at is the moment s seconds after boot on a slot's nanosecond clock.
func at(s float64) record.Pair {
	mono := uint64(s * 1e9)
	return record.Pair{Ticks: mono, Mono: mono, Real: epoch + mono}
}

// testMachine is the machine of the records, now seconds after boot.
func testMachine(now float64) Machine {
	return Machine{
		BootID: hex.EncodeToString(testBoot[:]), OnlineCPUs: 2, Hardware: func() *job.Hardware { return nil },
		Now: func(c record.Clock) (record.Pair, bool) {
			p := at(now)
			if c == record.ClockTSC {
				p.Ticks = p.Mono * 3
			}
			return p, c != record.ClockCNTVCT
		},
	}
}

// rankSlot is a rank that started 10 s after boot and was useful and in MPI for so
// many seconds.
func rankSlot(rank, size int, useful, mpi float64) record.Slot {
	end := 10 + useful + mpi
	return record.Slot{
		Kind: record.KindProcess, State: record.StateFinalized, Ending: record.EndingFinalize, OpenCall: -1,
		PID: 100 + rank, PPID: 99, Rank: rank, Size: size, Threads: 1, WorldFrom: record.WorldPMIX, World: "job.0",
		CPUs: 2, Host: "n1", Exe: "/bin/app", Family: "Open MPI",
		Claims: record.Claims{Step: -1, ProcID: -1, NTasks: -1, NodeID: -1, CPUsPerTask: -1, OMPThreads: -1},
		Clock:  record.ClockMonotonic, ClaimedAt: at(9), FinishedAt: at(end + 0.5),
		InitLeft: at(10).Ticks, FiniEnter: at(end).Ticks, FiniLeft: at(end + 0.5).Ticks, Last: at(end).Ticks,
		Calls: 2, MPITicks: uint64(mpi * 1e9),
		Funcs:   []record.Func{{Number: 5, Count: 2, Ticks: uint64(mpi * 1e9), Sent: 100, Largest: 60}},
		Classes: []record.Func{{Number: int(record.ClassP2P), Count: 2, Ticks: uint64(mpi * 1e9), Sent: 100, Largest: 60}},
	}
}

// killed is rankSlot without any stamp after its last call, which ended last s after
// boot.
func killed(rank, size int, mpi, last float64) record.Slot {
	s := rankSlot(rank, size, last-10-mpi, mpi)
	s.State, s.Ending, s.FiniEnter, s.FiniLeft, s.FinishedAt = record.StateRunning, record.EndingNone, 0, 0, record.Pair{}
	s.Last, s.Open = at(last).Ticks, at(last-mpi).Ticks
	return s
}

func openRecord(t testing.TB, slots ...record.Slot) *record.File {
	t.Helper()
	b := recordtest.File(record.Head{BootID: testBoot, ByHand: true}, slots...)
	f, err := record.Read(bytes.NewReader(b), int64(len(b)), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func foldSlots(t *testing.T, m Machine, facts *attemptFacts, slots ...record.Slot) folded {
	t.Helper()
	f := foldRecord(openRecord(t, slots...), m, facts)
	for i := range f.executions {
		if err := f.executions[i].Check(); err != nil {
			t.Errorf("its figures would be refused: %v: %+v", err, f.executions[i])
		}
	}
	return f
}

func TestFoldOfAWholeExecution(t *testing.T) {
	f := foldSlots(t, testMachine(100), nil, rankSlot(1, 2, 6, 6), rankSlot(0, 2, 8, 4))
	if len(f.executions) != 1 {
		t.Fatalf("got %d executions", len(f.executions))
	}
	start := time.Unix(0, int64(epoch)).UTC()
	want := job.Execution{
		Key: "pmix:job.0", KeyFrom: "pmix", Size: 2, Start: start.Add(10 * time.Second), End: start.Add(22 * time.Second),
		MPI: "Open MPI", Executable: "/bin/app", ThreadLevel: "MPI_THREAD_SINGLE", InputNote: inputNotes[record.InputNotLooked],
		Nodes: []job.NodeShare{{Node: "n1", BootID: hex.EncodeToString(testBoot[:]), OnlineCPUs: 2, CPUs: 2, Ranks: 2,
			Useful: 14e9, UsefulMax: 8e9, MPI: 10e9, ElapsedMax: 12e9, ElapsedSum: 24e9,
			RankIDs: "0-1", UsefulShare: []byte{170, 128}, MPIShare: []byte{85, 128},
			Run: &job.Instance{Number: 1, In: int64(epoch + 10e9), Out: int64(epoch + 22e9)}}},
		Calls:   []job.Call{{Name: "MPI_Send", Count: 4, Time: 10e9, Sent: 200, Largest: 60}},
		Classes: []job.Call{{Name: "point-to-point", Count: 4, Time: 10e9, Sent: 200, Largest: 60}},
		Slowest: []job.Rank{{Rank: 0, Node: "n1", PID: 100, Elapsed: 12e9, Useful: 8e9, MPI: 4e9, Ending: "finalized"},
			{Rank: 1, Node: "n1", PID: 101, Elapsed: 12e9, Useful: 6e9, MPI: 6e9, Ending: "finalized"}},
		Endings: map[string]int{"finalized": 2},
		HistP2P: []uint64{}, HistCol: []uint64{},
	}
	if d := cmp.Diff(want, f.executions[0]); d != "" {
		t.Error(d)
	}
}

// TestFoldByHandLeavesOut: a rank that no MPI gives takes its program with it, and no other one.
func TestFoldByHandLeavesOut(t *testing.T) {
	hostile := rankSlot(1<<30, 1<<30+1, 8, 4)
	hostile.World = "job.1"
	r := foldByHand(openRecord(t, rankSlot(0, 1, 8, 4), hostile), testMachine(100))
	if len(r.Executions) != 1 || r.Executions[0].Key != "pmix:job.0" || jobtest.Codes(r.Warnings) != doubt.WarnImpossible || r.Processes != 2 {
		t.Errorf("%+v", r)
	}
}

// TestFoldConvertsTicks has a 3 GHz clock and the two baselines in all combinations.
func TestFoldConvertsTicks(t *testing.T) {
	ghz3 := func(s record.Slot) record.Slot {
		s.Clock = record.ClockTSC
		for _, p := range []*uint64{&s.InitLeft, &s.FiniEnter, &s.FiniLeft, &s.Last, &s.Open, &s.MPITicks,
			&s.ClaimedAt.Ticks, &s.FinishedAt.Ticks, &s.Funcs[0].Ticks, &s.Classes[0].Ticks} {
			*p *= 3
		}
		return s
	}
	unfinished := func(s record.Slot) record.Slot {
		s.FinishedAt = record.Pair{}
		return s
	}
	uneven := rankSlot(0, 1, 8, 4)
	uneven.FinishedAt.Mono += sec
	otherBoot := Machine{BootID: "0"}
	tests := []struct {
		name    string
		machine Machine
		slots   []record.Slot
		elapsed time.Duration
		warn    string // of the execution, else of the record
	}{
		{"finished, same boot", testMachine(100), []record.Slot{ghz3(rankSlot(0, 1, 8, 4))}, 12e9, ""},
		{"finished, other boot", otherBoot, []record.Slot{ghz3(rankSlot(0, 1, 8, 4))}, 12e9, ""},
		{"unfinished, same boot", testMachine(100), []record.Slot{unfinished(ghz3(rankSlot(0, 1, 8, 4)))}, 12e9, ""},
		{"unfinished, other boot, another finished", otherBoot,
			[]record.Slot{ghz3(rankSlot(0, 2, 8, 4)), unfinished(ghz3(rankSlot(1, 2, 8, 4)))}, 12e9, ""},
		{"unfinished, other boot", otherBoot, []record.Slot{unfinished(ghz3(rankSlot(0, 1, 8, 4)))}, 0, doubt.WarnClock},
		{"uneven", testMachine(100), []record.Slot{ghz3(uneven)}, 12e9, doubt.WarnClockDrift},
	}
	for _, tt := range tests {
		f := foldSlots(t, tt.machine, nil, tt.slots...)
		if tt.elapsed == 0 {
			if len(f.executions) != 0 || jobtest.Codes(f.warnings) != tt.warn {
				t.Errorf("%s: %d executions, warnings %v", tt.name, len(f.executions), f.warnings)
			}
			continue
		}
		e := f.executions[0]
		got := e.Nodes[0].ElapsedMax
		if off := got - tt.elapsed; off < -10 || off > 10 || e.Nodes[0].Ranks != len(tt.slots) || jobtest.Codes(e.Warnings) != tt.warn {
			t.Errorf("%s: elapsed %v of %d ranks, warnings %v", tt.name, got, e.Nodes[0].Ranks, e.Warnings)
		}
	}
}

func TestFoldNamesEndings(t *testing.T) {
	exit, abort, inRecv := killed(0, 1, 4, 20), killed(0, 1, 4, 20), killed(0, 1, 4, 20)
	exit.Ending, exit.EndingCode, exit.FinishedAt = record.EndingExit, 3, at(21)
	abort.Ending, abort.EndingCode, abort.FinishedAt = record.EndingAbort, 7, at(21)
	inRecv.OpenCall, inRecv.Open = 9, at(20.5).Ticks
	abortReturned := abort
	abortReturned.State, abortReturned.FiniEnter = record.StateFinalized, at(22).Ticks
	facts := func(events ...exitEvent) *attemptFacts {
		f := &attemptFacts{node: "n1", end: 40 * sec, exits: map[int][]exitEvent{}, steps: map[string]uint64{"0": 30 * sec}}
		f.exits[100] = append(f.exits[100], events...)
		return f
	}
	mother := facts()
	mother.exits[99] = []exitEvent{{step: "0", mono: 25 * sec}}
	noEnd := facts()
	noEnd.steps["0"] = 0
	alive := testMachine(50)
	alive.alive = func(pid int, mono uint64) bool { return pid == 100 && mono == 9*sec }
	tests := []struct {
		name    string
		machine Machine
		facts   *attemptFacts
		slot    record.Slot
		ending  string
		elapsed time.Duration
		mpi     time.Duration
		warn    string
	}{
		{"exit", testMachine(100), nil, exit, "exit 3 without MPI_Finalize", 11e9, 4e9, doubt.WarnNoFinalize},
		{"abort", testMachine(100), nil, abort, "MPI_Abort 7", 11e9, 4e9, doubt.WarnNoFinalize},
		{"abort that returned", testMachine(100), nil, abortReturned, "MPI_Abort 7", 12e9, 4e9, doubt.WarnNoFinalize},
		{"killed, computing", testMachine(100), facts(exitEvent{"0", 22 * sec, 9, 0}), killed(0, 1, 4, 20), "signal 9 (SIGKILL)", 12e9, 4e9, doubt.WarnNoFinalize},
		{"killed in Recv", testMachine(100), facts(exitEvent{"0", 22 * sec, 9, 0}), inRecv, "signal 9 (SIGKILL)", 12e9, 5.5e9, doubt.WarnNoFinalize},
		{"an older process with the pid", testMachine(100), facts(exitEvent{"0", 5 * sec, 0, 0}, exitEvent{"0", 22 * sec, 0x300, 0}), killed(0, 1, 4, 20), "exit 3", 12e9, 4e9, doubt.WarnNoFinalize},
		{"its launcher's exit seen", testMachine(100), mother, killed(0, 1, 4, 20), "assumed", 13.75e9, 4e9, doubt.WarnAssumedEnd},
		{"its step's end", testMachine(100), facts(), killed(0, 1, 4, 20), "assumed", 20e9, 4e9, doubt.WarnAssumedEnd},
		{"the job's end", testMachine(100), noEnd, killed(0, 1, 4, 20), "assumed", 30e9, 4e9, doubt.WarnAssumedEnd},
		{"by hand, gone", testMachine(100), nil, inRecv, "assumed", 10.5e9, 4e9, doubt.WarnAssumedEnd},
		{"by hand, running", alive, nil, inRecv, "running", 40e9, 4e9 + 29.5e9, doubt.WarnRunning},
	}
	for _, tt := range tests {
		e := foldSlots(t, tt.machine, tt.facts, tt.slot).executions[0]
		n := e.Nodes[0]
		if e.Endings[tt.ending] != 1 || n.ElapsedMax != tt.elapsed || n.MPI != tt.mpi || n.Useful != tt.elapsed-tt.mpi || jobtest.Codes(e.Warnings) != tt.warn {
			t.Errorf("%s: %v, elapsed %v, MPI %v, warnings %v", tt.name, e.Endings, n.ElapsedMax, n.MPI, e.Warnings)
		}
	}
}

// A call that was never left is in the sums of its function and class.
func TestFoldCountsTheOpenCall(t *testing.T) {
	s := killed(0, 1, 4, 20)
	s.OpenCall, s.Open = 9, at(20.5).Ticks
	s.Timeline = &record.Timeline{First: job.BucketOf(int64(s.ClaimedAt.Real), 0)} // without it there are no places
	s.Places = &record.Places{Modules: []record.Module{{Program: true, BuildID: "ab"}}, Open: &record.Frame{Offset: 0x77}}
	facts := &attemptFacts{exits: map[int][]exitEvent{100: {{"0", 22 * sec, 9, 0}}}}
	e := foldSlots(t, testMachine(100), facts, s).executions[0]
	want := []job.Call{{Name: "MPI_Send", Count: 2, Time: 4e9, Sent: 100, Largest: 60}, {Name: "MPI_Recv", Time: 1.5e9}}
	if d := cmp.Diff(want, e.Calls); d != "" {
		t.Error(d)
	}
	place := job.Place{Function: "MPI_Recv", Calls: 1, Time: 1.5e9, Ranks: 1, Most: 1.5e9, Least: 1.5e9, Longest: 1.5e9, Frames: []job.Frame{{Offset: 0x77}}}
	if d := cmp.Diff([]job.Place{place}, e.Places.List); d != "" {
		t.Error(d)
	}
	if e.Classes[0].Time != 4e9 || e.Classes[1].Name != "receive" || e.Classes[1].Time != 1.5e9 {
		t.Errorf("classes: %+v", e.Classes)
	}
	if m := job.ExecutionMetrics(&e); m.WaitTime != 1.5 || m.MPITime != 5.5 || m.IOTime != 0 {
		t.Errorf("metrics: %+v", m)
	}
}

// Ranks are stuck since the last of them entered a call that it never left.
func TestFoldTellsSinceWhenRanksAreStuck(t *testing.T) {
	early, late, computes, done := killed(0, 2, 4, 20), killed(1, 2, 4, 20), killed(1, 2, 4, 20), killed(1, 2, 4, 20)
	early.OpenCall, early.Open = 9, at(20.5).Ticks
	late.OpenCall, late.Open = 9, at(21).Ticks
	done.State, done.FiniEnter = record.StateFinalized, at(21).Ticks
	facts := &attemptFacts{exits: map[int][]exitEvent{100: {{"0", 22 * sec, 15, 0}}, 101: {{"0", 22 * sec, 15, 0}}}}
	for _, tt := range []struct {
		name  string
		other record.Slot
		stuck time.Duration
	}{{"both in a call", late, 1e9}, {"one computes", computes, 0}, {"one is done", done, 0}} {
		e := foldSlots(t, testMachine(100), facts, early, tt.other).executions[0]
		if got := job.Stuck(&e); got != tt.stuck {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.stuck)
		}
	}
}

// Time in files is neither useful nor communication, also in a call that was never left.
func TestFoldKeepsFilesApart(t *testing.T) {
	s := killed(0, 1, 4, 20)
	s.IOTicks = 2 * sec
	s.OpenCall, s.Open = 168, at(20.5).Ticks
	facts := &attemptFacts{exits: map[int][]exitEvent{100: {{"0", 22 * sec, 9, 0}}}}
	n := foldSlots(t, testMachine(100), facts, s).executions[0].Nodes[0]
	if n.MPI != 4e9 || n.IO != 3.5e9 || n.Useful != n.ElapsedMax-7.5e9 {
		t.Errorf("elapsed %v, useful %v, MPI %v, files %v", n.ElapsedMax, n.Useful, n.MPI, n.IO)
	}
}

// The end of a rank that nobody saw is not later than the next mpirun of its step,
// unless the two are seen to overlap.
func TestFoldGuessesTheEndByTheNextWorld(t *testing.T) {
	next := func(claim float64) record.Slot {
		s := rankSlot(0, 1, 1, 1)
		shift := at(claim).Ticks - at(9).Ticks
		for _, p := range []*uint64{&s.InitLeft, &s.FiniEnter, &s.FiniLeft, &s.Last, &s.ClaimedAt.Ticks, &s.ClaimedAt.Mono,
			&s.ClaimedAt.Real, &s.FinishedAt.Ticks, &s.FinishedAt.Mono, &s.FinishedAt.Real} {
			*p += shift
		}
		s.World, s.PID = "job.1", 200
		return s
	}
	for claim, want := range map[float64]time.Duration{25: 15e9, 12: 20e9} {
		facts := &attemptFacts{end: 40 * sec, steps: map[string]uint64{"batch": 30 * sec}}
		f := foldSlots(t, testMachine(100), facts, killed(0, 1, 4, 20), next(claim))
		if len(f.executions) != 2 || f.executions[0].Nodes[0].ElapsedMax != want {
			t.Errorf("next world at %v s: %+v", claim, f.executions[0].Nodes)
		}
	}
}

func TestFoldGroupsWorlds(t *testing.T) {
	with := func(s record.Slot, change func(*record.Slot)) record.Slot {
		change(&s)
		return s
	}
	late := func(by float64) func(*record.Slot) {
		return func(s *record.Slot) {
			shift := uint64(by * 1e9)
			s.InitLeft, s.FiniEnter, s.FinishedAt = s.InitLeft+shift, s.FiniEnter+shift, record.Pair{}
		}
	}
	unnamed := func(ppid int) func(*record.Slot) {
		return func(s *record.Slot) { s.WorldFrom, s.World, s.PPID = record.WorldNone, "", ppid }
	}
	tests := []struct {
		name  string
		slots []record.Slot
		want  string // ranks of each world
	}{
		{"one world", []record.Slot{rankSlot(0, 2, 1, 1), rankSlot(1, 2, 1, 1)}, "0-1"},
		{"two names", []record.Slot{rankSlot(0, 1, 1, 1), with(rankSlot(0, 1, 1, 1), func(s *record.Slot) { s.World = "job.1" })}, "0 0"},
		{"a name that came round", []record.Slot{rankSlot(0, 2, 1, 1), rankSlot(1, 2, 1, 1),
			with(rankSlot(0, 2, 1, 1), late(20)), with(rankSlot(1, 2, 1, 1), late(20))}, "0-1 0-1"},
		{"a spawned world of the same size", []record.Slot{rankSlot(0, 2, 1, 1), with(rankSlot(1, 2, 1, 1), func(s *record.Slot) { s.Spawned = true })}, "0 1"},
		{"no name", []record.Slot{with(rankSlot(0, 2, 1, 1), unnamed(1)), with(rankSlot(1, 2, 1, 1), unnamed(2))}, "0-1"},
		{"no name, two at once", []record.Slot{with(rankSlot(0, 2, 1, 1), unnamed(1)), with(rankSlot(0, 2, 1, 1), unnamed(2)),
			with(rankSlot(1, 2, 1, 1), unnamed(1)), with(rankSlot(1, 2, 1, 1), unnamed(2))}, "0-1 0-1"},
		{"no name, 6 s apart", []record.Slot{with(rankSlot(0, 2, 1, 1), unnamed(1)),
			with(with(rankSlot(1, 2, 1, 1), unnamed(1)), late(6))}, "0 1"},
		{"no name, two sizes", []record.Slot{with(rankSlot(0, 2, 1, 1), unnamed(1)), with(rankSlot(1, 3, 1, 1), unnamed(1))}, "0 1"},
	}
	for _, tt := range tests {
		var got []string
		for _, e := range foldSlots(t, testMachine(100), nil, tt.slots...).executions {
			got = append(got, e.Nodes[0].RankIDs)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestFoldWarnsOfSingletons(t *testing.T) {
	alone := rankSlot(0, 1, 1, 1)
	alone.Claims.Step, alone.Claims.NTasks = 0, 4
	byMpirun := rankSlot(0, 1, 1, 1)
	byMpirun.Claims.NTasks = 4 // of the batch script that called mpirun -n 1
	for want, s := range map[string]record.Slot{doubt.WarnSingletons: alone, "": byMpirun} {
		e := foldSlots(t, testMachine(100), nil, s).executions[0]
		if jobtest.Codes(e.Warnings) != want {
			t.Errorf("got %v, want %q", e.Warnings, want)
		}
	}
}

func TestFoldOfThreads(t *testing.T) {
	main := rankSlot(0, 1, 8, 4)
	thread := record.Slot{Kind: record.KindThread, Parent: 0, State: record.StateRunning, OpenCall: -1, Clock: record.ClockMonotonic,
		ClaimedAt: at(11), Rank: -1, Size: -1, MPITicks: 7 * sec, Funcs: []record.Func{{Number: 5, Count: 5, Ticks: 7 * sec}}}
	e := foldSlots(t, testMachine(100), nil, main, thread).executions[0]
	if n := e.Nodes[0]; n.Useful != 8e9 || n.MPI != 4e9 || n.Ranks != 1 {
		t.Errorf("got %+v", n)
	}
	if c := e.Calls[0]; c.Count != 7 || c.Time != 11e9 {
		t.Errorf("got %+v", c)
	}
	if jobtest.Codes(e.Warnings) != doubt.WarnThreads {
		t.Errorf("got %v", e.Warnings)
	}
}

func TestFoldBoundsWhatCannotBe(t *testing.T) {
	s := rankSlot(0, 1, 8, 4)
	s.MPITicks, s.Funcs[0].Ticks = 1<<61, 1<<61
	early := rankSlot(0, 1, 8, 4)
	early.FiniEnter = at(5).Ticks
	future := rankSlot(0, 1, 8, 4)
	future.FiniEnter = at(1e6).Ticks
	tests := []struct {
		name    string
		slot    record.Slot
		elapsed time.Duration
		mpi     time.Duration
	}{
		{"more MPI than time", s, 12e9, 12e9},
		{"the end before the start", early, 0, 0},
		{"an end in the future", future, 90e9, 4e9},
	}
	for _, tt := range tests {
		e := foldSlots(t, testMachine(100), nil, tt.slot).executions[0]
		n := e.Nodes[0]
		if n.ElapsedMax != tt.elapsed || n.MPI != tt.mpi || n.Useful < 0 || !strings.Contains(jobtest.Codes(e.Warnings), doubt.WarnOdd) {
			t.Errorf("%s: %+v, %v", tt.name, n, e.Warnings)
		}
		if c := e.Calls[0]; c.Time > tt.elapsed {
			t.Errorf("%s: a call took %v", tt.name, c.Time)
		}
	}
}

func TestFoldLeavesOutWhatHasNoRegion(t *testing.T) {
	inInit := rankSlot(0, 1, 1, 1)
	inInit.InitLeft, inInit.FiniEnter, inInit.Rank, inInit.Size = 0, 0, -1, -1
	f := foldSlots(t, testMachine(100), nil, inInit)
	if len(f.executions) != 0 || f.processes != 1 || jobtest.Codes(f.warnings) != doubt.WarnInitOnly {
		t.Errorf("got %+v", f)
	}
}

// A program that only starts MPI, then ends without MPI_Finalize, leaves a rank without time.
func TestFoldWarnsOfRanksWithoutTime(t *testing.T) {
	short := rankSlot(0, 1, 1, 1)
	short.State, short.Ending = record.StateRunning, record.EndingNone
	short.FiniEnter, short.FiniLeft, short.Last, short.Open, short.OpenCall = 0, 0, short.InitLeft, 1, -1
	short.FinishedAt, short.MPITicks, short.IOTicks = record.Pair{}, 0, 0
	short.Funcs, short.Calls, short.Classes = nil, 0, nil
	f := foldSlots(t, testMachine(100), nil, short)
	if len(f.executions) != 1 {
		t.Fatalf("got %+v", f)
	}
	codes := jobtest.Codes(f.executions[0].Warnings)
	if !strings.Contains(codes, doubt.WarnNoTime) || strings.Contains(codes, doubt.WarnOdd) {
		t.Errorf("warns of %s", codes)
	}
}

func TestFoldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rec")
	if _, err := FoldFile(path, testMachine(100)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	b := recordtest.File(record.Head{BootID: testBoot, ByHand: true, LostFull: 3}, rankSlot(0, 1, 8, 4))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := FoldFile(path, testMachine(100))
	if err != nil {
		t.Fatal(err)
	}
	if r.Node != "n1" || r.LostFull != 3 || len(r.Executions) != 1 || r.OnlineCPUs != 2 || r.Processes != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestRateOf(t *testing.T) {
	tests := []struct {
		rate  rate
		ticks uint64
		want  uint64
	}{
		{rate{1, 3}, 9, 3},
		{rate{1, 0}, 9, latestMono},
		{rate{math.MaxUint64, 1}, math.MaxUint64, latestMono},
		{rate{1 << 50, 3 << 50}, 3 << 57, 1 << 57},
	}
	for _, tt := range tests {
		if got := tt.rate.of(tt.ticks); got != tt.want {
			t.Errorf("%+v of %d = %d, want %d", tt.rate, tt.ticks, got, tt.want)
		}
	}
}

func FuzzFold(f *testing.F) {
	whole := recordtest.File(record.Head{BootID: testBoot}, rankSlot(0, 2, 8, 4), killed(1, 2, 4, 20))
	f.Add([]byte{}, uint32(len(whole)))
	f.Add([]byte{0x40, 1, 1, 0, 0, 0, 255, 255, 255, 255, 0x41, 1, 0, 4, 0, 0, 1, 0, 0, 0}, uint32(len(whole)))
	f.Add([]byte{30, 0, 255, 255, 255, 255, 255, 255, 255, 255}, uint32(60_000))
	f.Fuzz(func(t *testing.T, edits []byte, size uint32) {
		file := bytes.Clone(whole[:min(int(size), len(whole))])
		recordtest.Edit(file, edits)
		rec, err := record.Read(bytes.NewReader(file), int64(len(file)), record.Options{})
		if err != nil {
			return
		}
		facts := &attemptFacts{end: 50 * sec, steps: map[string]uint64{"0": 30 * sec}}
		for _, facts := range []*attemptFacts{nil, facts} {
			for _, e := range assemble.Merge(foldRecord(rec, testMachine(100), facts).executions) {
				checkExecution(t, &e)
			}
		}
	})
}

// checkExecution fails on figures that no execution can have.
func checkExecution(t *testing.T, e *job.Execution) {
	t.Helper()
	for _, n := range e.Nodes {
		if n.Useful < 0 || n.MPI < 0 || n.UsefulMax > n.ElapsedMax || n.Useful+n.MPI != n.ElapsedSum || len(n.UsefulShare) != n.Ranks {
			t.Errorf("out of bounds: %+v", n)
		}
	}
	if len(e.Args) > wire.MostArgs || e.Inputs > 16 || (e.InputHash == "") == (e.InputNote == "") || cleanWorkload(e.Workload) != e.Workload {
		t.Errorf("out of bounds: %+v", e)
	}
	if err := e.Check(); err != nil && err.Error() != "its ranks cannot be" {
		t.Errorf("%v: %+v", err, e)
	}
	if m := job.ExecutionMetrics(e); m != nil && !(m.MPI.Parallel >= 0 && m.MPI.Parallel <= 1+1e-12) {
		t.Errorf("parallel efficiency %v", m.MPI.Parallel)
	}
}
