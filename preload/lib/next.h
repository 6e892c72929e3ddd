/* next.h: the real functions behind the wrappers. */
#ifndef JOBEFF_NEXT_H
#define JOBEFF_NEXT_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

extern void *je_next[JE_BINDINGS * JE_STRIDE];

/* The function behind a wrapper for this caller; *passes: its call is not measured. */
void *je_find_next(uint32_t index, const void *caller, bool *passes);

/* Finds all functions of the binding of this index. */
void je_find_all(uint32_t index, const void *caller);

/* From now on the MPI that this caller reaches is the one that is measured. */
void je_measure_mpi(uint32_t index, const void *caller);

/* A function of the MPI that is measured; NULL: it has none. */
void *je_symbol(const char *name);

/* The function behind a wrapper. NULL: nobody has looked for it yet, or it depends on the
 * caller. */
JE_HOT void *je_next_of(uint32_t index)
{
	return __atomic_load_n(&je_next[index], __ATOMIC_RELAXED);
}

#pragma GCC visibility pop

#endif
