/* ticks.c: choosing the clock, and reading it together with the system's clocks. */
#include "ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum je_clock je_clock;

uint64_t je_clock_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__) && !defined(JE_NO_TSC) /* the bench has it defined */
/* The TSC counts at one rate through all frequencies and sleep states. */
static bool je_tsc_is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
#endif

void je_clock_choose(void)
{
#if defined(__x86_64__) && !defined(JE_NO_TSC)
	je_clock = je_tsc_is_invariant() ? JE_CLOCK_TSC : JE_CLOCK_MONOTONIC_NS;
#elif defined(__aarch64__)
	je_clock = JE_CLOCK_CNTVCT;
#else
	je_clock = JE_CLOCK_MONOTONIC_NS;
#endif
}

/* The narrowest of a few readings: a preemption between two clocks would else stand in
 * the rate that the fold computes. */
void je_pair_read(struct je_pair *pair)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = je_clock_ns(CLOCK_MONOTONIC);
		uint64_t ticks = je_ticks();
		uint64_t real = je_clock_ns(CLOCK_REALTIME);
		uint64_t width = je_clock_ns(CLOCK_MONOTONIC) - before;

		if (width >= best)
			continue;
		best = width;
		pair->mono_ns = je_clock == JE_CLOCK_MONOTONIC_NS ? ticks : before + width / 2;
		pair->ticks = ticks;
		pair->real_ns = real;
	}
}
