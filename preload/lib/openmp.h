/* openmp.h: what each OpenMP thread does: its entry in the record, and the changes of its state.
 *
 * A thread has one clock. Each change of its state adds the time since the last change to the state
 * that ends, so nothing is counted twice and nothing is left out. gomp.c and ompt.c see what a
 * runtime does, and report the changes.
 */
#ifndef JOBEFF_OPENMP_H
#define JOBEFF_OPENMP_H

#include "ticks.h"

#pragma GCC visibility push(hidden)

/* An open region, on the stack of the thread that began it. Its other threads read it, so it does
 * not change. */
struct je_region {
	uint64_t began;
	struct je_thread *beginner;
	uint32_t outer; /* the beginner's state outside: JE_OPENMP_USEFUL in a nested region */
};

/* Claims the first slot of the process's OpenMP threads; false: there is none. */
bool je_openmp_start(void);

/* Forgets what was measured. */
void je_openmp_forget(void);

/* The process exits: marks its OpenMP slots as done, so that they can be packed. False: a thread
 * may still write to them. */
bool je_openmp_done(void);

/* What the process's OpenMP threads did in parallel regions. */
struct je_openmp_sum {
	uint64_t parts[JE_SECTION_PARTS]; /* enum je_part */
	uint64_t regions, tasks;
	uint32_t team; /* of the main thread's last region; 0: there was none */
};

/* Adds up the entries. What is open is counted up to `end`. */
void je_openmp_sum(struct je_openmp_sum *sum, uint64_t end);

/* Notes how OpenMP is measured, why it is not whole (unless there is a reason already), or what is
 * not timed. Nothing happens before je_openmp_start. */
void je_openmp_note(uint32_t runtimes, uint32_t why, uint32_t untimed);

enum { JE_TOLD_APART = 256 };

/* What this process's OpenMP threads did up to now. */
struct je_threads {
	uint64_t parts[JE_SECTION_PARTS];
	const uint64_t *useful; /* of each entry, 0 for the main thread's; until the next call */
	uint32_t entries;	/* at most JE_TOLD_APART are in `useful` */
	bool any; /* false: this thread was in no region yet, and the rest means nothing */
	bool whole;
};

/* Adds up what all threads did, if this thread began or ended a region since the last call. The
 * sums are whole between the regions that this thread began, unless other threads began some. */
void je_openmp_threads(struct je_threads *threads);

/* Gives the thread an entry; false: there is none. */
bool je_openmp_join(struct je_thread *me);

/* Gives the thread's entry to others. */
void je_openmp_part(struct je_thread *me);

/* Ends an interval of useful time, less the time in MPI and its files, and begins `state`. */
JE_HOT void je_openmp_pause(struct je_thread *me, uint32_t state, uint64_t now)
{
	struct je_openmp_thread *entry = me->openmp;
	const struct je_slot *slot = me->slot;
	uint64_t ticks = now - entry->since_ticks;

	entry->state = state;
	entry->since_ticks = now;
	if (slot != NULL) {
		uint64_t mpi = slot->mpi_ticks - entry->mpi_seen;
		uint64_t io = slot->io_ticks - entry->io_seen;

		entry->mpi_ticks += mpi;
		entry->io_ticks += io;
		entry->mpi_seen += mpi;
		entry->io_seen += io;
		ticks -= mpi + io;
	}
	entry->ticks[JE_OPENMP_USEFUL] += ticks;
}

/* Ends an interval that was not useful, and begins `state`. Any process of the user may have
 * changed the old state meanwhile, so it is kept in range. */
JE_HOT void je_openmp_resume(struct je_openmp_thread *entry, uint32_t state, uint64_t now)
{
	uint64_t since = entry->since_ticks;

	entry->since_ticks = now;
	entry->ticks[entry->state % JE_OPENMP_STATES] += now - since;
	entry->state = state;
}

/* Whether the thread is inside a measured region, or a task, and not in the runtime. */
JE_HOT bool je_openmp_useful(const struct je_thread *me)
{
	return me->openmp != NULL && me->openmp->state == JE_OPENMP_USEFUL;
}

/* Marks the thread's time in MPI and its files so far as seen: it belongs to no region. */
JE_HOT void je_openmp_see_mpi(struct je_thread *me)
{
	if (me->slot != NULL) {
		me->openmp->mpi_seen = me->slot->mpi_ticks;
		me->openmp->io_seen = me->slot->io_ticks;
	}
}

/* The thread begins its part of a region. */
JE_HOT void je_openmp_begin_part(struct je_thread *me, const struct je_region *region)
{
	struct je_openmp_thread *entry = me->openmp;
	uint64_t now = je_ticks();

	if (now > region->began)
		entry->ticks[JE_OPENMP_SCHEDULING] += now - region->began;
	je_openmp_see_mpi(me);
	entry->since_ticks = now;
	entry->state = JE_OPENMP_USEFUL;
}

/* The beginner has learnt how many threads the region has. */
JE_HOT void je_openmp_size(struct je_thread *me, const struct je_region *region, uint32_t team)
{
	struct je_openmp_thread *entry = me->openmp;

	if (region->outer != JE_OPENMP_USEFUL)
		entry->team = team;
	if (team > entry->team_most)
		entry->team_most = team;
}

#pragma GCC visibility pop

#endif
