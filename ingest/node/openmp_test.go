package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jobeff/ingest/job"
	"jobeff/ingest/job/jobtest"
	"jobeff/preload/record"
)

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
