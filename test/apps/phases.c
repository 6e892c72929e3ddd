/* phases.c ROUNDS [END]: ranks whose efficiency is known in each of three phases, of ROUNDS rounds
 * each. Work is sleep. A round takes 20 ms: in the first phase all ranks compute, in the second
 * rank 0 alone, in the third the others compute for 10 ms. END is "kill": each rank ends by a
 * signal halfway through the third.
 *
 * A rank says of each round "rank R phase P FROM TO FROM TO": its own clock before and after the
 * barrier, and right around the real one if inner.c is there. The first line, of phase -1, is of
 * MPI_Init. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "endmpi.h"

enum { PHASES = 3 };

const double *inner_barrier(void) __attribute__((weak));

static void say(int rank, int phase, double from, double to, const double *inner)
{
	printf("rank %d phase %d %.6f %.6f %.6f %.6f\n", rank, phase, from, to, inner[0], inner[1]);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int rank, rounds = atoi(argv[1]), all = PHASES * rounds;
	double from = now(), to;

	MPI_Init(&argc, &argv);
	to = now();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	setvbuf(stdout, NULL, _IOLBF, 0);
	say(rank, -1, from, to, (double[]){ from, to });
	if (argc > 2)
		all -= rounds / 2;
	for (int round = 0; round < all; round++) {
		const int others[PHASES] = { 20, 0, 10 };
		int ms = rank == 0 ? 20 : others[round / rounds];
		struct timespec work = { 0, ms * 1000000L };

		nanosleep(&work, NULL);
		from = now();
		MPI_Barrier(MPI_COMM_WORLD);
		to = now();
		say(rank, round / rounds, from, to,
		    inner_barrier != NULL ? inner_barrier() : (double[]){ from, to });
	}
	if (argc > 2)
		kill(getpid(), SIGKILL);
	end_mpi();
	return 0;
}
