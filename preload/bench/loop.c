/* loop.c ROUNDS [SECONDS]: the loop {compute 1 us, Allreduce, Barrier} on all ranks.
 *
 * Rank 0 prints the ns per iteration, as the median over blocks of about 200 us. A mean would say
 * nothing if ranks share cores with other programs. With SECONDS, blocks without windows and with
 * them alternate as 0110 (switch.c). Each second then gets a line: the ns with windows, and
 * without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "times.h"

enum { BLOCKS = 1500, BLOCK_NS = 200000, PER_SECOND = 1000000000 / BLOCK_NS };

static double compute(double x, long rounds)
{
	for (long i = 0; i < rounds; i++)
		x = x * 0.999999 + 1e-9;
	return x;
}

static double iterate(int times, long rounds)
{
	double in = 1, out = 0;

	for (int i = 0; i < times; i++) {
		in = compute(in, rounds);
		MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	return out;
}

static double median(double *ns, int n)
{
	qsort(ns, (size_t)n, sizeof(*ns), by_size);
	return ns[n / 2];
}

static double alternate(int times, long rounds, int seconds, int rank)
{
	static double ns[2][PER_SECOND];
	void (*windows)(int on) = (void (*)(int))dlsym(RTLD_DEFAULT, "bench_windows");
	double sum = 0;

	for (int s = 0; s < seconds; s++) {
		int n[2] = { 0, 0 };

		for (int b = 0; b < PER_SECOND; b++) {
			int on = (b ^ b >> 1) & 1;

			windows(on);

			double start = now_ns();

			sum += iterate(times, rounds);
			ns[on][n[on]++] = (now_ns() - start) / times;
		}
		if (rank == 0)
			printf("%.2f %.2f\n", median(ns[1], n[1]), median(ns[0], n[0]));
	}
	return sum;
}

int main(int argc, char **argv)
{
	static double ns[BLOCKS];
	long rounds;
	int rank, times = 1000;
	double start, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	rounds = atol(argv[1]);
	sum += iterate(times, rounds);
	start = now_ns();
	sum += iterate(times, rounds);
	times = (int)(BLOCK_NS / ((now_ns() - start) / times));
	times = times < 10 ? 10 : times;
	MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (argc > 2)
		sum += alternate(times, rounds, atoi(argv[2]), rank);
	for (int b = 0; b < BLOCKS && argc == 2; b++) {
		start = now_ns();
		sum += iterate(times, rounds);
		ns[b] = (now_ns() - start) / times;
	}
	if (rank == 0 && argc == 2)
		printf("%.1f\n", median(ns, BLOCKS) + 0 * sum);
	MPI_Finalize();
	return 0;
}
