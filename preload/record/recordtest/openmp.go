package recordtest

/*
#include "../record.h"
*/
import "C"

import "jobeff/preload/record"

// openmp are the bytes of a slot of OpenMP threads.
func openmp(s *record.Slot) []byte {
	from := s.OpenMP
	c := &C.struct_je_openmp{
		magic: C.JE_SLOT_MAGIC, kind: C.JE_KIND_OPENMP, bytes: C.JE_SLOT_BYTES, state: C.uint32_t(s.State),
		parent: C.uint32_t(s.Parent), pid: C.int32_t(from.PID), order: C.uint32_t(from.Order),
		process_ticks: C.uint64_t(from.Process), used: C.uint32_t(len(from.Threads)),
		runtimes: C.uint32_t(from.Runtimes), why: C.uint32_t(from.Why), untimed: C.uint32_t(from.Untimed), lost: C.uint32_t(from.Lost),
	}
	if s.Torn {
		c.seq = 1
	}
	for i, t := range from.Threads {
		c.threads[i] = openMPThread(t)
	}
	return raw(c)
}

func openMPThread(t record.OpenMPThread) C.struct_je_openmp_thread {
	c := C.struct_je_openmp_thread{
		tid: C.int32_t(t.TID), state: C.uint32_t(t.State), since_ticks: C.uint64_t(t.Since),
		mpi_ticks: C.uint64_t(t.MPI), io_ticks: C.uint64_t(t.IO), mpi_seen: C.uint64_t(t.MPISeen), io_seen: C.uint64_t(t.IOSeen),
		regions: C.uint64_t(t.Regions), nested: C.uint64_t(t.Nested),
		region_ticks: C.uint64_t(t.RegionTicks), team_ticks: C.uint64_t(t.TeamTicks), region_since: C.uint64_t(t.RegionSince),
		team: C.uint32_t(t.Team), team_most: C.uint32_t(t.TeamMost),
		tasks_made: C.uint64_t(t.TasksMade), tasks_run: C.uint64_t(t.TasksRun),
		dispatches: C.uint64_t(t.Dispatches), locks: C.uint64_t(t.Locks), waits: C.uint64_t(t.Waits),
	}
	for state, ticks := range map[record.OpenMPState]uint64{
		record.OpenMPUseful: t.Useful, record.OpenMPWaiting: t.Waiting,
		record.OpenMPScheduling: t.Scheduling, record.OpenMPLocked: t.Locked,
	} {
		c.ticks[state] = C.uint64_t(ticks)
	}
	return c
}
