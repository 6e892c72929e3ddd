/* rounds.c: ROUNDS times MS milliseconds of work and an MPI_Allreduce, so that a
 * test knows how often each rank calls MPI and about how long it takes. Rank 0
 * prints "size N" once. With a third argument the ranks wait then until that file is there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "endmpi.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, ms = argc > 2 ? atoi(argv[2]) : 10, rank, size,
	    sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 0) {
		printf("size %d\n", size);
		fflush(stdout);
	}
	for (int i = 0; i < rounds; i++) {
		double end = now() + 1e-3 * ms;

		while (now() < end)
			usleep(500);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	while (argc > 3 && access(argv[3], F_OK) != 0)
		usleep(10000);
	MPI_Barrier(MPI_COMM_WORLD);
	usleep(200000); /* MPICH 4.0's MPI_Finalize hangs seldom after that */
	end_mpi();
	return 0;
}
