/* clock.c: one moment on a slot's clock and on the two system clocks, read by the fold. */
#include <time.h>

#include "names.h"

enum { JE_TRIES = 8 };

static uint64_t je_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int je_ticks(uint32_t kind, uint64_t *ticks)
{
	switch (kind) {
	case JE_CLOCK_MONOTONIC_NS:
		*ticks = je_ns(CLOCK_MONOTONIC);
		return 0;
#if defined(__x86_64__)
	case JE_CLOCK_TSC:
		*ticks = __builtin_ia32_rdtsc();
		return 0;
#elif defined(__aarch64__)
	case JE_CLOCK_CNTVCT:
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(*ticks));
		return 0;
#endif
	default:
		return -1;
	}
}

/* The narrowest of several readings: a preemption between two clocks would else
 * stand in the rate. */
int je_read_pair(uint32_t kind, struct je_pair *pair)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < JE_TRIES; i++) {
		uint64_t ticks, before = je_ns(CLOCK_MONOTONIC);

		if (je_ticks(kind, &ticks) != 0)
			return -1;

		uint64_t real = je_ns(CLOCK_REALTIME);
		uint64_t after = je_ns(CLOCK_MONOTONIC);

		if (after - before >= best)
			continue;
		best = after - before;
		pair->mono_ns = before + best / 2;
		pair->real_ns = real;
		pair->ticks = kind == JE_CLOCK_MONOTONIC_NS ? pair->mono_ns : ticks;
	}
	return 0;
}
