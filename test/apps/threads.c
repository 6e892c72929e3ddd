/* threads.c THREADS ROUNDS: each thread sends ROUNDS messages to itself at once with the
 * others, under MPI_THREAD_MULTIPLE. Prints the lines that tally.h prints. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rounds;
static volatile int everybodys; /* -DRACY: so that a race detector has one to find */

static void *send_to_self(void *arg)
{
	int tag = (int)(long)arg, in = 1, out, flag;

	for (int i = 0; i < rounds; i++) {
		MPI_Sendrecv(&in, 1, MPI_INT, 0, tag, &out, 1, MPI_INT, 0, tag, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		MPI_Iprobe(0, 1000 + tag, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
#ifdef RACY
		everybodys++;
#endif
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = atoi(argv[1]), level;
	pthread_t ids[64];

	rounds = atoi(argv[2]);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level < MPI_THREAD_MULTIPLE)
		return 77;
	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, send_to_self, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	MPI_Finalize();
	printf("called MPI_Sendrecv %d %d %d\n", threads * rounds, 4 * threads * rounds,
	       4 * threads * rounds);
	printf("called MPI_Iprobe %d 0 0\n", threads * rounds);
	return 0;
}
