package record

/*
#include "names.h"
*/
import "C"

import (
	"cmp"
	"slices"
	"unsafe"
)

// OpenMPRuntimes are the ways in which a process's OpenMP was measured, as bits.
type OpenMPRuntimes uint32

// OpenMPWhy says why the times of a process's OpenMP are not known, or not whole.
type OpenMPWhy uint32

// OpenMPState is what an OpenMP thread does.
type OpenMPState uint32

// The ways to measure.
const (
	OpenMPLibgomp OpenMPRuntimes = C.JE_OPENMP_LIBGOMP // gcc's runtime, its calls wrapped
	OpenMPOMPT    OpenMPRuntimes = C.JE_OPENMP_OMPT    // a runtime that reports by OMPT: clang's, Intel's
)

// The reasons.
const (
	OpenMPKnown     OpenMPWhy = C.JE_OPENMP_KNOWN
	OpenMPOldCode   OpenMPWhy = C.JE_OPENMP_OLD_CODE   // made by a compiler older than gcc 4.9
	OpenMPNoOMPT    OpenMPWhy = C.JE_OPENMP_NO_OMPT    // the runtime has no OMPT
	OpenMPOtherTool OpenMPWhy = C.JE_OPENMP_OTHER_TOOL // another OMPT tool has the runtime
	OpenMPTSan      OpenMPWhy = C.JE_OPENMP_TSAN       // ThreadSanitizer is in the process
	OpenMPNoRuntime OpenMPWhy = C.JE_OPENMP_NO_RUNTIME // it was not sure which runtime a caller wants
)

// What a thread does. Outside is in no region, or done with its part of one.
const (
	OpenMPOutside    OpenMPState = C.JE_OPENMP_OUTSIDE
	OpenMPUseful     OpenMPState = C.JE_OPENMP_USEFUL
	OpenMPWaiting    OpenMPState = C.JE_OPENMP_WAITING
	OpenMPScheduling OpenMPState = C.JE_OPENMP_SCHEDULING
	OpenMPLocked     OpenMPState = C.JE_OPENMP_LOCKED
)

// OpenMPBigTasks is the bit of OpenMPSlot.Untimed for tasks whose bodies were not seen, because
// their arguments are very large.
const OpenMPBigTasks = C.JE_OPENMP_BIG_TASKS

// OpenMPPerSlot is how many threads a slot holds.
const OpenMPPerSlot = C.JE_OPENMP_PER_SLOT

// OpenMPSlot is one slot of the OpenMP threads of a process. OpenMPOf adds up all of a process.
type OpenMPSlot struct {
	PID     int
	Process uint64 // ClaimedAt.Ticks of their process
	Order   int    // 0: the process's first slot of threads
	Threads []OpenMPThread

	// The rest is in the first slot only.
	Runtimes OpenMPRuntimes
	Why      OpenMPWhy
	Untimed  uint32 // OpenMPBigTasks
	Lost     uint64 // threads that found no entry: their time is missing
}

// OpenMPThread is what one OpenMP thread did, or several one after the other. All ticks are of
// the process's clock. Useful is without MPI and IO.
type OpenMPThread struct {
	TID   int // of the thread that has the entry, or had it last; 0: it was given back
	State OpenMPState
	Since uint64 // when State began

	Useful     uint64 // in the program's code inside regions, and in tasks
	Waiting    uint64 // in barriers, taskwaits and ends of taskgroups; not at a region's end
	Scheduling uint64 // from a region's beginning to that of its own part, in loops' dispatch, making tasks
	Locked     uint64 // waiting to enter critical, ordered and atomic
	MPI, IO    uint64 // in MPI inside regions, and in its files

	MPISeen, IOSeen uint64 // MPITicks and IOTicks of the thread's slot at Since

	Regions     uint64 // that it began
	Nested      uint64 // … inside another region
	RegionTicks uint64 // the time of those that were not nested
	TeamTicks   uint64 // the time of each region it began, times its threads; see record.h
	RegionSince uint64 // when the open outermost region began; 0: none is open
	Team        int    // threads of its last region that was not nested
	TeamMost    int    // … of its largest

	TasksMade, TasksRun uint64
	Dispatches          uint64 // loops and sections that it began, and chunks that it asked for
	Locks               uint64 // critical, ordered and atomic regions that it entered
	Waits               uint64
}

// decodeOpenMP makes a Slot of a slot of OpenMP threads.
func (s *slotBuffer) decodeOpenMP(index, slots int) *Slot {
	c, k := (*C.struct_je_openmp)(unsafe.Pointer(&s.c)), &checker{}
	out := &OpenMPSlot{
		PID: k.within(int64(c.pid), 0, mostInt32, 0), Process: k.ticks(c.process_ticks),
		Order:    k.within(int64(c.order), 0, C.JE_OPENMP_SLOTS-1, 0),
		Runtimes: OpenMPRuntimes(k.within(int64(c.runtimes), 0, C.JE_OPENMP_LIBGOMP|C.JE_OPENMP_OMPT, 0)),
		Why:      OpenMPWhy(k.within(int64(c.why), 0, C.JE_OPENMP_WHYS-1, C.JE_OPENMP_NO_RUNTIME)),
		Untimed:  uint32(k.within(int64(c.untimed), 0, C.JE_OPENMP_BIG_TASKS, 0)),
		Lost:     uint64(c.lost),
	}
	for i := range min(uint32(c.used), OpenMPPerSlot) { // threads that find it full go on counting
		out.Threads = append(out.Threads, k.openMPThread(&c.threads[i]))
	}
	return &Slot{
		Index: index, Kind: KindOpenMP, Torn: s.torn(), Parent: k.within(int64(c.parent), 0, int64(slots), 0),
		State:    State(k.within(int64(c.state), 1, C.JE_STATE_DONE, C.JE_STATE_RUNNING)),
		OpenCall: -1, Rank: -1, Size: -1, OpenMP: out, Odd: k.odd,
	}
}

func (k *checker) openMPThread(c *C.struct_je_openmp_thread) OpenMPThread {
	return OpenMPThread{
		TID:   k.within(int64(c.tid), 0, mostInt32, 0),
		State: OpenMPState(k.within(int64(c.state), 0, C.JE_OPENMP_LOCKED, C.JE_OPENMP_OUTSIDE)),
		Since: k.ticks(c.since_ticks),

		Useful:     k.ticks(c.ticks[C.JE_OPENMP_USEFUL]),
		Waiting:    k.ticks(c.ticks[C.JE_OPENMP_WAITING]),
		Scheduling: k.ticks(c.ticks[C.JE_OPENMP_SCHEDULING]),
		Locked:     k.ticks(c.ticks[C.JE_OPENMP_LOCKED]),
		MPI:        k.ticks(c.mpi_ticks), IO: k.ticks(c.io_ticks),
		MPISeen: k.ticks(c.mpi_seen), IOSeen: k.ticks(c.io_seen),

		Regions: k.most(c.regions, mostCount), Nested: k.most(c.nested, mostCount),
		RegionTicks: k.ticks(c.region_ticks), TeamTicks: k.ticks(c.team_ticks), RegionSince: k.ticks(c.region_since),
		Team:     k.within(int64(c.team), 0, mostTasks, 0),
		TeamMost: k.within(int64(c.team_most), 0, mostTasks, 0),

		TasksMade: k.most(c.tasks_made, mostCount), TasksRun: k.most(c.tasks_run, mostCount),
		Dispatches: k.most(c.dispatches, mostCount), Locks: k.most(c.locks, mostCount), Waits: k.most(c.waits, mostCount),
	}
}

// OpenMP sums up the OpenMP of one process: over all its threads, inside parallel regions. All
// ticks are of the process's clock. METRICS 2 names the parts: u is Useful, m MPI, i Imbalance
// and s Scheduling; r follows from the process's time outside of regions. The process's main
// thread is the one that called MPI_Init, or began the first region where there is no MPI.
//
// TeamTicks = Useful + MPI + IO + Imbalance + Scheduling + Locked.
type OpenMP struct {
	Runtimes OpenMPRuntimes
	Why      OpenMPWhy // if not OpenMPKnown, times are missing
	Untimed  uint32    // OpenMPBigTasks
	Lost     uint64    // threads whose times are missing

	Threads  int // entries: the most threads that the process had at once
	Team     int // threads of the main thread's last region
	TeamMost int // … of the largest region, whoever began it

	Regions      uint64 // all
	Nested       uint64 // … inside another region
	OtherRegions uint64 // … begun by other threads than the main one, not nested

	RegionTicks uint64 // in regions that the main thread began
	OtherTicks  uint64 // … that other threads began; both may pass at once
	TeamTicks   uint64 // the time of each region, times its threads

	Useful     uint64 // u
	MPI, IO    uint64 // m, and in MPI's files
	Imbalance  uint64 // i: waiting in barriers, for tasks and at the end of regions
	Scheduling uint64 // s
	Locked     uint64 // waiting to enter critical, ordered and atomic
	UsefulMost uint64 // of the thread with the most, without the main thread
	UsefulMain uint64 // of the main thread
	MPIMain    uint64 // of the main thread, in regions
	IOMain     uint64

	TasksMade, TasksRun, Dispatches, Locks, Waits uint64

	Open bool   // a region was open at the end
	Last uint64 // last sign of life
}

// OpenMPOf sums up the OpenMP of a process from the record's slots of OpenMP, nil if it has none.
// threads are the slots of its other threads that called MPI. end is when the process ended, in
// its ticks: what was still open is counted up to then.
func OpenMPOf(process *Slot, threads, openmp []*Slot, end uint64) *OpenMP {
	own := openMPSlots(process, openmp)
	if len(own) == 0 {
		return nil
	}
	first := own[0].OpenMP
	sum := &OpenMP{Runtimes: first.Runtimes, Why: first.Why, Untimed: first.Untimed, Lost: first.Lost}
	for _, s := range own {
		for _, t := range s.OpenMP.Threads {
			slot := slotOf(t.TID, process, threads)
			sum.add(t.closed(slot, end), t.TID == process.TID)
			sum.Open = sum.Open || t.RegionSince != 0
			sum.Last = max(sum.Last, t.Since)
		}
	}
	known := sum.Useful + sum.MPI + sum.IO + sum.Scheduling + sum.Locked
	sum.Imbalance = sum.TeamTicks - min(sum.TeamTicks, known)
	return sum
}

// openMPSlots are the process's own slots in their order. Slots after a gap are lost.
func openMPSlots(process *Slot, all []*Slot) []*Slot {
	var own []*Slot
	for _, s := range all {
		if s.OpenMP.PID == process.PID && s.OpenMP.Process == process.ClaimedAt.Ticks {
			own = append(own, s)
		}
	}
	slices.SortStableFunc(own, func(a, b *Slot) int { return cmp.Compare(a.OpenMP.Order, b.OpenMP.Order) })
	for i, s := range own {
		if s.OpenMP.Order != i {
			return own[:i]
		}
	}
	return own
}

// slotOf is the slot in which a thread's MPI calls were counted, nil if it never called MPI.
func slotOf(tid int, process *Slot, threads []*Slot) *Slot {
	if tid == process.TID {
		return process
	}
	for _, s := range threads {
		if s.TID == tid && tid != 0 {
			return s
		}
	}
	return nil
}

// closed ends at `end` whatever the thread had left open. An MPI call that it never left counts
// as MPI.
func (t OpenMPThread) closed(slot *Slot, end uint64) OpenMPThread {
	open := end - min(t.Since, end)
	switch t.State {
	case OpenMPUseful:
		mpi, io := mpiSince(t, slot, end)
		mpi = min(mpi, open)
		io = min(io, open-mpi)
		grow(&t.MPI, mpi)
		grow(&t.IO, io)
		grow(&t.Useful, open-mpi-io)
	case OpenMPScheduling:
		grow(&t.Scheduling, open)
	case OpenMPLocked:
		grow(&t.Locked, open)
	}
	if t.RegionSince != 0 {
		region := end - min(t.RegionSince, end)
		grow(&t.RegionTicks, region)
		grow(&t.TeamTicks, min(region, mostTicks/uint64(max(t.Team, 1)))*uint64(t.Team))
	}
	return t
}

// grow adds to a sum, which stays within mostTicks.
func grow(sum *uint64, by uint64) { *sum = min(*sum+min(by, mostTicks), mostTicks) }

// mpiSince is how long the thread was in MPI, and in its files, since t.Since.
func mpiSince(t OpenMPThread, slot *Slot, end uint64) (mpi, io uint64) {
	if slot == nil {
		return 0, 0
	}
	mpi, io = slot.MPITicks-min(t.MPISeen, slot.MPITicks), slot.IOTicks-min(t.IOSeen, slot.IOTicks)
	if slot.OpenCall < 0 {
		return mpi, io
	}
	open := end - min(max(slot.Open, t.Since), end)
	if FuncClass(slot.OpenCall) == ClassIO {
		return mpi, io + open
	}
	return mpi + open, io
}

func (o *OpenMP) add(t OpenMPThread, main bool) {
	grow(&o.Regions, t.Regions)
	grow(&o.Nested, t.Nested)
	o.TeamMost = max(o.TeamMost, t.TeamMost)
	grow(&o.TeamTicks, t.TeamTicks)
	grow(&o.Useful, t.Useful)
	grow(&o.MPI, t.MPI)
	grow(&o.IO, t.IO)
	grow(&o.Scheduling, t.Scheduling)
	grow(&o.Locked, t.Locked)
	grow(&o.TasksMade, t.TasksMade)
	grow(&o.TasksRun, t.TasksRun)
	grow(&o.Dispatches, t.Dispatches)
	grow(&o.Locks, t.Locks)
	grow(&o.Waits, t.Waits)
	o.Threads++
	if main {
		o.Team = t.Team
		grow(&o.RegionTicks, t.RegionTicks)
		grow(&o.UsefulMain, t.Useful)
		grow(&o.MPIMain, t.MPI)
		grow(&o.IOMain, t.IO)
		return
	}
	grow(&o.OtherRegions, t.Regions-min(t.Nested, t.Regions))
	grow(&o.OtherTicks, t.RegionTicks)
	o.UsefulMost = max(o.UsefulMost, t.Useful)
}
