package record

/*
#include "names.h"
*/
import "C"

// OpenMPRuntimes are the ways in which a process's OpenMP was measured, as bits.
type OpenMPRuntimes uint32

// OpenMPWhy says why the times of a process's OpenMP are not known, or not whole.
type OpenMPWhy uint32

// OpenMPState is what an OpenMP thread does.
type OpenMPState uint32

// The ways to measure.
const (
	OpenMPLibgomp OpenMPRuntimes = C.JE_OPENMP_LIBGOMP // gcc's runtime, its calls wrapped
	OpenMPOMPT    OpenMPRuntimes = C.JE_OPENMP_OMPT    // a runtime that tells by OMPT: clang's, Intel's
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
	Scheduling uint64 // from a region's begin to its own, in loops' dispatch, making tasks
	Locked     uint64 // waiting to enter critical, ordered and atomic
	MPI, IO    uint64 // in MPI inside regions, and in its files

	MPISeen, IOSeen uint64 // MPITicks and IOTicks of the thread's slot at Since

	Regions     uint64 // that it began
	Nested      uint64 // … inside another region
	RegionTicks uint64 // the time of those that were not nested
	TeamTicks   uint64 // the time of each region it began, times its threads; see record.h
	RegionSince uint64 // begin of the open outermost region; 0: none is open
	Team        int    // threads of its last region that was not nested
	TeamMost    int    // … of its largest

	TasksMade, TasksRun uint64
	Dispatches          uint64 // begins of loops and sections, and chunks that it asked for
	Locks               uint64 // critical, ordered and atomic regions that it entered
	Waits               uint64
}
