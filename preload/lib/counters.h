/* counters.h: useful instructions and cycles of the thread that called MPI_Init, in user mode.
 * They are read from the CPU without a system call, and only with JOBEFF_COUNTERS=1. */
#ifndef JOBEFF_COUNTERS_H
#define JOBEFF_COUNTERS_H

#include <linux/perf_event.h>

#include "jobeff.h"

#pragma GCC visibility push(hidden)

#ifndef JE_RDPMC /* a test defines its own */
#if defined(__x86_64__)
#define JE_RDPMC(counter) __builtin_ia32_rdpmc(counter)
#else
#define JE_RDPMC(counter) ((void)(counter), 0ull)
#endif
#endif

struct je_counters {
	/* mapped; the kernel writes there whenever the thread gets or loses a CPU */
	const volatile struct perf_event_mmap_page *instructions, *cycles;
	uint64_t left_instructions, left_cycles; /* when the last MPI call returned */
};

/* Reads an event from its page and the CPU, as <linux/perf_event.h> describes. False: the event
 * is not on the CPU any more, and counts nothing. */
JE_HOT bool je_counter_read(const volatile struct perf_event_mmap_page *page, uint64_t *value)
{
	uint32_t lock, index;
	uint64_t count;

	do {
		lock = page->lock;
		JE_IN_ORDER();
		index = page->index;
		count = (uint64_t)page->offset;
		if (JE_UNLIKELY(index == 0 || !page->cap_user_rdpmc))
			return false;

		unsigned unused = 64u - page->pmc_width;
		uint64_t pmc = (uint64_t)JE_RDPMC((int)(index - 1)) << (unused & 63u);

		count += (uint64_t)((int64_t)pmc >> (unused & 63u));
		JE_IN_ORDER();
	} while (JE_UNLIKELY(page->lock != lock || (lock & 1u)));
	*value = count;
	return true;
}

void je_counters_start(struct je_thread *me, struct je_slot *slot);
void je_counters_enter(struct je_thread *me, struct je_slot *slot);
void je_counters_leave(struct je_thread *me, struct je_slot *slot);
void je_counters_end(struct je_thread *me, struct je_slot *slot);

#pragma GCC visibility pop

#endif
