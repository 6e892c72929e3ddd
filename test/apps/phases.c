/* phases.c ROUNDS [END]: ranks whose efficiency is known in each of three phases, of ROUNDS rounds
 * each. Work is sleep. A round takes 20 ms: in the first phase all ranks compute, in the second
 * rank 0 alone, in the third the others compute for 10 ms. END is "kill": each rank ends by a
 * signal. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "endmpi.h"

enum { PHASES = 3 };

int main(int argc, char **argv)
{
	int rank, rounds = atoi(argv[1]);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < PHASES * rounds; round++) {
		const int others[PHASES] = { 20, 0, 10 };
		int ms = rank == 0 ? 20 : others[round / rounds];
		struct timespec work = { 0, ms * 1000000L };

		nanosleep(&work, NULL);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (argc > 2)
		kill(getpid(), SIGKILL);
	end_mpi();
	return 0;
}
