/* sleepscale.c MILLISECONDS ROUNDS: work that scales on any machine, since it is none: in
 * each round every rank sleeps for its part of MILLISECONDS / ROUNDS, then all meet. The
 * sleep counts as useful time, which is all that is not in MPI. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Whether the ranks are on several nodes. */
static int several_nodes(int size)
{
	MPI_Comm node;
	int here;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &here);
	MPI_Comm_free(&node);
	return here < size;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 10, size;
	double seconds = argc > 1 ? 1e-3 * atoi(argv[1]) : 1;
	struct timespec part;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	seconds /= (double)rounds * size;
	part.tv_sec = (time_t)seconds;
	part.tv_nsec = (long)(1e9 * (seconds - (double)part.tv_sec));
	for (int i = 0; i < rounds; i++) {
		nanosleep(&part, NULL);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (several_nodes(size)) {
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(200000); /* MPICH 4.0's MPI_Finalize hangs at times over several nodes else
				 */
	}
	return MPI_Finalize();
}
