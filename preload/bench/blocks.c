/* blocks.c SECONDS BLOCKS: the loop {compute 1 ms, Allreduce} on all ranks, in blocks. A block ends
 * when the clock reaches a multiple of SECONDS. For each whole block, rank 0 prints its number and
 * two times per iteration, in us: elapsed, and CPU as the mean over the ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double compute(double x, long rounds)
{
	for (long i = 0; i < rounds; i++)
		x = x * 0.999999 + 1e-9;
	return x;
}

/* How many rounds take 1 ms of CPU time. */
static long calibrate(void)
{
	const long many = 20000000;
	double start = now(CLOCK_PROCESS_CPUTIME_ID), x = compute(1, many);

	return (long)(1e-3 * (double)many / (now(CLOCK_PROCESS_CPUTIME_ID) - start) + 0 * x);
}

int main(int argc, char **argv)
{
	long seconds = atol(argv[1]), blocks = atol(argv[2]), rounds, block, done = 0;
	double x = 1, from, cpu;
	int rank, size, first = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	rounds = calibrate();
	MPI_Bcast(&rounds, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	block = time(NULL) / seconds;
	from = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	while (blocks >= 0) {
		double over = rank == 0 && time(NULL) / seconds != block, any;

		x = compute(x, rounds);
		MPI_Allreduce(&over, &any, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		done++;
		if (any == 0)
			continue;
		double used = now(CLOCK_PROCESS_CPUTIME_ID) - cpu, all;

		MPI_Reduce(&used, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (rank == 0 && !first)
			printf("%ld %.2f %.2f\n", block,
			       1e6 * (now(CLOCK_MONOTONIC) - from) / (double)done,
			       1e6 * all / size / (double)done);
		fflush(stdout);
		first = 0;
		blocks--;
		done = 0;
		block = time(NULL) / seconds;
		from = now(CLOCK_MONOTONIC);
		cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	}
	MPI_Finalize();
	return x == 0;
}
