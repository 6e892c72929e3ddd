/* ticks.c: chooses the clock, and measures it. */
#include "ticks.h"

#if defined(JE_HAS_TSC)
#include <cpuid.h>
#endif

enum je_clock je_clock;

#if defined(JE_HAS_TSC) && !defined(JE_NO_TSC) /* the bench defines JE_NO_TSC */
/* Whether the TSC counts at one rate in all frequencies and sleep states. */
static bool tsc_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
#endif

void je_clock_choose(void)
{
#if defined(JE_HAS_TSC) && !defined(JE_NO_TSC)
	je_clock = tsc_is_invariant() ? JE_CLOCK_TSC : JE_CLOCK_MONOTONIC_NS;
#elif defined(JE_HAS_CNTVCT)
	je_clock = JE_CLOCK_CNTVCT;
#else
	je_clock = JE_CLOCK_MONOTONIC_NS;
#endif
}

double je_ticks_per_ns(const struct je_pair *since)
{
	struct je_pair now;

	if (je_clock == JE_CLOCK_MONOTONIC_NS)
		return 1;
	if (!je_pair_read(je_clock, &now) || now.ticks <= since->ticks ||
	    now.mono_ns <= since->mono_ns)
		return 0;
	return (double)(now.ticks - since->ticks) / (double)(now.mono_ns - since->mono_ns);
}
