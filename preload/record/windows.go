package record

/*
#include "names.h"
*/
import "C"

// WindowsWhy says why the calls of a process were not logged, or no longer.
type WindowsWhy uint32

// The reasons.
const (
	WindowsLogged   WindowsWhy = C.JE_WINDOWS_LOGGED
	WindowsThreads  WindowsWhy = C.JE_WINDOWS_THREADS  // a second thread calls MPI
	WindowsSpawn    WindowsWhy = C.JE_WINDOWS_SPAWN    // it starts or joins other processes
	WindowsSessions WindowsWhy = C.JE_WINDOWS_SESSIONS // it uses MPI sessions
	WindowsNoRoom   WindowsWhy = C.JE_WINDOWS_NO_ROOM
	WindowsNoGroups WindowsWhy = C.JE_WINDOWS_NO_GROUPS // it is not known who is in a communicator
)

// LogsPerSlot is how many entries a slot holds.
const LogsPerSlot = C.JE_LOGS_PER_SLOT

// WindowSlot is one slot of the windows that a process logged. The entries of a process's slots,
// in their order, are one stream.
type WindowSlot struct {
	PID     int
	Process uint64 // ClaimedAt.Ticks of their process
	Order   int    // 0: the process's first slot of windows
	Entries []LogEntry

	// The rest is in the first slot only.
	K    int // windows were sampled 1 in 2^K in the end
	Why  WindowsWhy
	Lost uint64 // communicators and persistent requests that found no room
}

// LogEntry is struct je_log, as it stands in the record. Op and Flags are numbers of enum
// je_log_op and enum je_log_flag, which package replay names.
type LogEntry struct {
	Enter, Leave uint64 // ticks; not bounded
	Bytes        uint64
	Request      uint64
	Peer, Tag    int32
	Comm         uint32
	Call         uint16
	Op, Flags    uint8
}
