package record

/*
#include "names.h"
*/
import "C"

import "unsafe"

// WindowsWhy says why the calls of a process were not logged, or no longer.
type WindowsWhy uint32

// The reasons.
const (
	WindowsLogged   WindowsWhy = C.JE_WINDOWS_LOGGED
	WindowsThreads  WindowsWhy = C.JE_WINDOWS_THREADS  // a second thread calls MPI
	WindowsSpawn    WindowsWhy = C.JE_WINDOWS_SPAWN    // it starts or joins other processes
	WindowsSessions WindowsWhy = C.JE_WINDOWS_SESSIONS // it uses MPI sessions
	WindowsNoRoom   WindowsWhy = C.JE_WINDOWS_NO_ROOM
	WindowsNoGroups WindowsWhy = C.JE_WINDOWS_NO_GROUPS // it is not known which ranks are in a communicator
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

	Sites []Site // that the process's entries name, up to the last one
}

// Site is a place in the code where logged calls were made.
type Site struct {
	Module  int    // in Places.Modules of the process
	Address uint64 // in its memory; 0: there is no such site
}

// LogEntry is struct je_log, as the record has it. Op and Flags are numbers of enum je_log_op
// and enum je_log_flag, which package replay names.
type LogEntry struct {
	Enter, Leave uint64 // ticks; not bounded
	Bytes        uint64
	Request      uint64
	Peer, Tag    int32
	Comm         uint32
	Call         uint16
	Op, Flags    uint8
	Site         uint8 // in Sites of the process's first slot, + 1; 0: not known
}

// mostK bounds how thinly windows are sampled.
const mostK = 62

// decodeWindows makes a Slot of a slot of windows. An unknown entry becomes one that makes its
// window unusable.
func (s *slotBuffer) decodeWindows(index, slots int) *Slot {
	c, k := (*C.struct_je_windows)(unsafe.Pointer(&s.c)), &checker{}
	out := &WindowSlot{
		PID: k.within(int64(c.pid), 0, mostInt32, 0), Process: k.ticks(c.process_ticks),
		Order: k.within(int64(c.order), 0, C.JE_WINDOWS_SLOTS-1, 0),
		K:     k.within(int64(c.k), 0, mostK, mostK),
		Why:   WindowsWhy(k.within(int64(c.why), 0, C.JE_WINDOWS_WHYS-1, C.JE_WINDOWS_NO_ROOM)),
		Lost:  uint64(c.lost),
	}
	for i := range k.within(int64(c.used), 0, LogsPerSlot, 0) {
		out.Entries = append(out.Entries, logEntry(&c.entries[i]))
		out.Entries[i].Site = uint8(k.within(int64(c.site[i]), 0, C.JE_SITES, 0))
	}
	out.Sites = sites(&c.sites)
	return &Slot{
		Index: index, Kind: KindWindows, Torn: s.torn(), Parent: k.within(int64(c.parent), 0, int64(slots), 0),
		State:    State(k.within(int64(c.state), 1, C.JE_STATE_DONE, C.JE_STATE_RUNNING)),
		OpenCall: -1, Rank: -1, Size: -1, Windows: out, Odd: k.odd,
	}
}

func sites(c *[C.JE_SITES]C.uint64_t) (out []Site) {
	for i, site := range c {
		if site == 0 {
			continue
		}
		out = append(out, make([]Site, i-len(out))...)
		out = append(out, Site{int(site>>C.JE_SITE_MODULE) - 1, uint64(site) & (1<<C.JE_SITE_MODULE - 1)})
	}
	return out
}

func logEntry(c *C.struct_je_log) LogEntry {
	e := LogEntry{Enter: uint64(c.enter_ticks), Leave: uint64(c.leave_ticks), Bytes: uint64(c.bytes), Request: uint64(c.request),
		Peer: int32(c.peer), Tag: int32(c.tag), Comm: uint32(c.comm), Call: uint16(c.call), Op: uint8(c.op), Flags: uint8(c.flags)}
	if e.Op == C.JE_LOG_NONE || e.Op >= C.JE_LOG_OPS {
		e.Op, e.Tag = C.JE_LOG_UNSUPPORTED, C.JE_LOG_OTHER
	}
	return e
}
