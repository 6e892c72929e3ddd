/* work.c: work of a known length, which nothing can shorten or move. */
#include <time.h>

#include "../lib/ticks.h"
#include "overhead.h"

static double us_per_tick, us_per_unit;

/* One unit is a multiplication that waits for the one before. Weak: tests replace it by work on a
 * clock of their own. */
__attribute__((weak)) void je_work(int64_t units)
{
	uint64_t x = 1;

	for (int64_t i = 0; i < units; i++) {
		x *= 3;
		__asm__ volatile("" : "+r"(x));
	}
}

double je_us_of_ticks(uint64_t ticks)
{
	return (double)ticks * us_per_tick;
}

double je_us_of_units(int64_t units)
{
	return (double)units * us_per_unit;
}

/* Compares the clock with the system's for 20 ms, and takes the fastest of some works: nothing
 * but an interruption makes one slower. */
void je_work_calibrate(void)
{
	enum { UNITS = 100000 };
	uint64_t fastest = UINT64_MAX;

	je_clock_choose();

	uint64_t ticks = je_ticks(), begin_ns = je_clock_ns(CLOCK_MONOTONIC), ns;

	do {
		uint64_t before = je_ticks();

		je_work(UNITS);

		uint64_t took = je_ticks() - before;

		if (took < fastest)
			fastest = took;
		ns = je_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	} while (ns < 20000000);
	us_per_tick = (double)ns / 1000 / (double)(je_ticks() - ticks);
	us_per_unit = je_us_of_ticks(fastest) / UNITS;
}
