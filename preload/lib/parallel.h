/* parallel.h: an OpenMP region begins and ends, in the thread that begins it. */
#ifndef JOBEFF_PARALLEL_H
#define JOBEFF_PARALLEL_H

#include "openmp.h"
#include "timeline.h"

#pragma GCC visibility push(hidden)

/* Whether the region that this thread begins is measured. `noted` is atomic: the record says that
 * this runtime was used. */
JE_HOT bool je_openmp_measures(struct je_thread *me, uint32_t runtime, bool *noted)
{
	if (JE_UNLIKELY(!__atomic_load_n(noted, __ATOMIC_RELAXED) ||
			__atomic_load_n(&je_process.openmp, __ATOMIC_ACQUIRE) != JE_OPENMP_ON)) {
		if (!je_process_openmp(me, runtime, JE_OPENMP_KNOWN))
			return false;
		__atomic_store_n(noted, true, __ATOMIC_RELAXED);
	}
	if (JE_UNLIKELY(!__atomic_load_n(&je_process.running, __ATOMIC_RELAXED)) ||
	    JE_UNLIKELY(me->openmp == NULL && !je_openmp_join(me)))
		return false;
	return me->slot == NULL || me->slot->open_call == 0; /* an MPI call has its own time */
}

/* Notes an edge of the timeline that has passed. An edge of 0 never has. */
JE_HOT void je_openmp_edge(struct je_thread *me, uint64_t now)
{
	if (JE_UNLIKELY(now > me->edge - 1))
		je_timeline_cut(me, me->slot, now, false);
}

/* A region begins: the beginner has an entry. */
JE_HOT void je_openmp_fork(struct je_thread *me, struct je_region *region)
{
	struct je_openmp_thread *entry = me->openmp;

	region->began = je_ticks();
	region->beginner = me;
	region->outer = entry->state;
	je_openmp_edge(me, region->began);
	entry->regions++;
	if (entry->state == JE_OPENMP_USEFUL) {
		entry->nested++;
		je_openmp_pause(me, JE_OPENMP_SCHEDULING, region->began);
	} else {
		entry->region_since = region->began;
		entry->since_ticks = region->began;
		entry->state = JE_OPENMP_SCHEDULING;
	}
}

/* The region of `team` threads ended, in the thread that began it. */
JE_HOT void je_openmp_end(struct je_thread *me, const struct je_region *region, uint32_t team)
{
	struct je_openmp_thread *entry = me->openmp;
	uint64_t now = je_ticks(), ticks = now - region->began;

	je_openmp_edge(me, now);
	if (region->outer == JE_OPENMP_USEFUL) {
		entry->team_ticks += ticks * (team - 1);
	} else if (entry->region_since != 0) {
		entry->region_ticks += ticks;
		entry->team_ticks += ticks * team;
		entry->region_since = 0;
	}
	entry->since_ticks = now;
	entry->state = region->outer;
}

#pragma GCC visibility pop

#endif
