/* places.h: where in the program's code its calls were made (struct je_place_table in record.h). */
#ifndef JOBEFF_PLACES_H
#define JOBEFF_PLACES_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

/* Whether the place of a call may have to be noted. `sum` is the time of all calls so far, with
 * this one. For a thread's first call it is always true. The mark is never further ahead than a
 * long call takes, so no long call misses it, and short ones pay for one comparison. */
JE_HOT bool je_place_may_be_due(const struct je_thread *me, uint64_t sum)
{
	return JE_UNLIKELY(sum >= me->mark);
}

/* The address of the last byte of a call that returns there. aarch64 may sign an address above its
 * 48 bits. */
JE_HOT uint64_t je_place_address(uintptr_t returns)
{
	return (returns & ((UINT64_C(1) << 48) - 1)) - 1;
}

/* The module whose code is at an address: index + 1 in the slot's modules; 0: not known. */
uint8_t je_place_module(struct je_thread *me, struct je_slot *slot, uint64_t address);

/* Returns how many objects were unloaded so far. If there are new ones, it forgets where modules
 * are: others may lie there. */
uint32_t je_place_unloaded(struct je_thread *me, struct je_slot *slot);

/* MPI begins: keeps the module of the caller. If the process is killed in a call before any place
 * was noted, the call's address can still be explained. */
void je_place_begin(struct je_slot *slot, const void *caller);

/* `frame` is the frame of the function that the stub jumped to. It holds the caller's frame
 * pointer, and behind it the address to which the stub returns. */
void je_place_note(struct je_thread *me, struct je_slot *slot, uint32_t number, uint64_t ticks,
		   const void *frame);

/* Does the same as the last step of that function, which jumps here. So no call has to keep a frame
 * pointer or its result for this. Returns the result. */
int je_place_note_here(uint32_t number, uint64_t ticks, int result);

#pragma GCC visibility pop

#endif
