/* stub.c: the floor of `make bench`. Per call it reads the clock twice and adds twice, and it
 * reaches its thread-local sums in the cheapest way (initial-exec). A measuring library cannot do
 * less. -DNO_TSC: clock_gettime in place of rdtsc. -DFORTRAN, -DF08: that binding in place of C.
 * Only one at a time: a binding that calls another would be counted twice. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

#include "../lib/spell.h"

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

#define STUB(spelling, n)                                              \
	static int (*real_##spelling)(JE_P##n);                        \
	static __attribute__((constructor)) void find_##spelling(void) \
	{                                                              \
		real_##spelling = dlsym(RTLD_NEXT, #spelling);         \
	}                                                              \
	int spelling(JE_P##n);                                         \
	int spelling(JE_P##n)                                          \
	{                                                              \
		uint64_t entered = ticks();                            \
		int result = real_##spelling(JE_A##n);                 \
                                                                       \
		stub_ticks += ticks() - entered;                       \
		stub_calls++;                                          \
		return result;                                         \
	}

/* Fortran's functions have ierror, too. */
#if defined(F08)
#define STUBS(name, lower, n, more) STUB(mpi_##lower##_f08_, more) STUB(mpi_##lower##_f08ts_, more)
#elif defined(FORTRAN)
#define STUBS(name, lower, n, more) STUB(mpi_##lower##_, more)
#else
#define STUBS(name, lower, n, more) STUB(MPI_##name, n)
STUB(MPI_Pcontrol, 2)
#endif

STUBS(Iprobe, iprobe, 5, 6)
STUBS(Test, test, 3, 4)
STUBS(Barrier, barrier, 1, 2)
STUBS(Allreduce, allreduce, 6, 7)
STUBS(Sendrecv, sendrecv, 12, 13)
STUBS(Bcast, bcast, 5, 6)
STUBS(Reduce, reduce, 7, 8)
STUBS(Gather, gather, 8, 9)
STUBS(Scatter, scatter, 8, 9)
STUBS(Allgather, allgather, 7, 8)
STUBS(Allgatherv, allgatherv, 8, 9)
STUBS(Alltoall, alltoall, 7, 8)
STUBS(Alltoallv, alltoallv, 9, 10)
