/* stub.c: the yardstick of `make bench`. Per call it reads the clock twice and adds twice: a
 * measuring library cannot do less. -DNO_TSC: clock_gettime in place of rdtsc. */
#include <stdint.h>
#include <time.h>

static __thread uint64_t stub_calls, stub_ticks;

static inline uint64_t ticks(void)
{
#ifdef NO_TSC
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#else
	return __builtin_ia32_rdtsc();
#endif
}

#define STUB(name, params, args)                 \
	extern int PMPI_##name params;           \
	int MPI_##name params;                   \
	int MPI_##name params                    \
	{                                        \
		uint64_t entered = ticks();      \
		int result = PMPI_##name args;   \
                                                 \
		stub_ticks += ticks() - entered; \
		stub_calls++;                    \
		return result;                   \
	}

#define P(n) intptr_t a##n
STUB(Iprobe, (P(0), P(1), P(2), P(3), P(4)), (a0, a1, a2, a3, a4))
STUB(Test, (P(0), P(1), P(2)), (a0, a1, a2))
STUB(Barrier, (P(0)), (a0))
STUB(Allreduce, (P(0), P(1), P(2), P(3), P(4), P(5)), (a0, a1, a2, a3, a4, a5))
STUB(Sendrecv, (P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11)),
     (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
