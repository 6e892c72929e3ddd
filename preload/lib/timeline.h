/* timeline.h: how the region was spent over time. */
#ifndef JOBEFF_TIMELINE_H
#define JOBEFF_TIMELINE_H

#include "jobeff.h"

#pragma GCC visibility push(hidden)

/* The region begins, in the thread of the process's slot. */
void je_timeline_start(struct je_thread *me, struct je_slot *slot);

/* Notes the edges up to `now`, if this is the process's thread. The thread must be outside calls.
 * `io`: its last call was one of files. */
void je_timeline_cut(struct je_thread *me, struct je_slot *slot, uint64_t now, bool io);

#pragma GCC visibility pop

#endif
