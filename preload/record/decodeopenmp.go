package record

/*
#include "names.h"
*/
import "C"

import "unsafe"

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
	for i := range min(uint32(c.used), OpenMPPerSlot) { // threads that find it full count beyond
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
