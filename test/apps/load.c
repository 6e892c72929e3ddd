/* load.c A B UNIT_US SECONDS: two ranks with A and B units of work between barriers, and how long
 * that took by their own readings of the library's clock. Work is spinning until the system's clock
 * has advanced.
 *
 * Built with -DINSIDE it is a library behind libjobeff.so, which reads the clock inside of the same
 * calls. What the record says lies between the readings of the two. Each prints "outside RANK
 * ELAPSED MPI" or "inside …", in ticks. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A reading between all before it and all after it. */
static long long ticks(void)
{
	long long now;

#if defined(__x86_64__)
	__builtin_ia32_lfence();
	now = (long long)__builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
#else
	__asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(now)::"memory");
#endif
	return now;
}

static long long begin, mpi;

static void print(const char *where, long long end)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	printf("%s %d %lld %lld\n", where, rank, end - begin, mpi);
}

#ifdef INSIDE
int MPI_Init(int *argc, char ***argv)
{
	int result = PMPI_Init(argc, argv);

	begin = ticks();
	return result;
}

int MPI_Barrier(MPI_Comm comm)
{
	long long before = ticks();
	int result = PMPI_Barrier(comm);

	mpi += ticks() - before;
	return result;
}

int MPI_Finalize(void)
{
	print("inside", ticks());
	return PMPI_Finalize();
}
#else
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	double units[2] = { atof(argv[1]), atof(argv[2]) };
	double unit = 1e-6 * atof(argv[3]), seconds = atof(argv[4]);
	int rounds = (int)(seconds / ((units[0] > units[1] ? units[0] : units[1]) * unit));
	int rank;

	MPI_Init(&argc, &argv);
	begin = ticks();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < rounds; i++) {
		double end = now() + units[rank] * unit;

		while (now() < end)
			;
		long long before = ticks();

		MPI_Barrier(MPI_COMM_WORLD);
		mpi += ticks() - before;
	}
	print("outside", ticks());
	MPI_Finalize();
	return 0;
}
#endif
