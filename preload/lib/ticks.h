/* ticks.h: the clock of the hot path. */
#ifndef JOBEFF_TICKS_H
#define JOBEFF_TICKS_H

#include "../record/make.h"
#include "jobeff.h"

#pragma GCC visibility push(hidden)

#if defined(JE_TEST_CLOCK) /* all readings are test/apps/virtualclock.c's */
#elif defined(__x86_64__)
#define JE_HAS_TSC
#elif defined(__aarch64__)
#define JE_HAS_CNTVCT
#endif

extern enum je_clock je_clock; /* chosen at MPI_Init */

/* There is no fence: out-of-order execution shifts a reading by some ns, and a fence would cost
 * more than that. */
JE_HOT uint64_t je_ticks(void)
{
#if defined(JE_HAS_TSC)
	if (JE_LIKELY(je_clock == JE_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
	return je_clock_ns(CLOCK_MONOTONIC);
#elif defined(JE_HAS_CNTVCT)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return je_clock_ns(CLOCK_MONOTONIC);
#endif
}

/* Whether the usual way of a call may read the clock with je_inline_ticks. je_inline_ticks itself
 * does not check: with another clock, no call takes the usual way. */
JE_HOT bool je_clock_is_inline(void)
{
#if defined(JE_HAS_TSC)
	return je_clock == JE_CLOCK_TSC;
#else
	return true;
#endif
}

JE_HOT uint64_t je_inline_ticks(void)
{
#if defined(JE_HAS_TSC)
	return __builtin_ia32_rdtsc();
#else
	return je_ticks();
#endif
}

void je_clock_choose(void);

/* The clock's rate, measured since a moment; 0: it is not known. */
double je_ticks_per_ns(const struct je_pair *since);

#pragma GCC visibility pop

#endif
