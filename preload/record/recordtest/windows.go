package recordtest

/*
#include "../record.h"
*/
import "C"

import "jobeff/preload/record"

// windows are the bytes of a slot of windows.
func windows(s *record.Slot) []byte {
	from := s.Windows
	c := &C.struct_je_windows{
		magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_WINDOWS, bytes: C.JE_SLOT_BYTES, state: C.uint32_t(s.State),
		parent: C.uint32_t(s.Parent), pid: C.int32_t(from.PID), order: C.uint32_t(from.Order),
		process_ticks: C.uint64_t(from.Process), used: C.uint32_t(len(from.Entries)),
		k: C.uint32_t(from.K), why: C.uint32_t(from.Why), lost: C.uint32_t(from.Lost),
	}
	if s.Torn {
		c.seq = 1
	}
	for i, e := range from.Entries {
		c.entries[i] = C.struct_je_log{enter_ticks: C.uint64_t(e.Enter), leave_ticks: C.uint64_t(e.Leave), bytes: C.uint64_t(e.Bytes),
			request: C.uint64_t(e.Request), peer: C.int32_t(e.Peer), tag: C.int32_t(e.Tag), comm: C.uint32_t(e.Comm),
			call: C.uint16_t(e.Call), op: C.uint8_t(e.Op), flags: C.uint8_t(e.Flags)}
	}
	return raw(c)
}
