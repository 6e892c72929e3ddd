/* tsc.c: prints how often a thousandth of a second the processor's time stamp counter ticks. A
 * kernel that boots in QEMU beside load measures that wrong, and then its clock is wrong. */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(void)
{
	const struct timespec second = { .tv_sec = 1 };
	double ms = now_ms();
	unsigned long long ticks = __rdtsc();

	nanosleep(&second, NULL);
	ms = now_ms() - ms;
	printf("%.0f\n", (double)(__rdtsc() - ticks) / ms);
	return 0;
}
