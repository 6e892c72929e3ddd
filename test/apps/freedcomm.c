/* freedcomm.c: frees a communicator while messages on it are under way. The standard allows it:
 * they complete normally. Each rank sends to the next one and receives from any, in 20 rings. */
#include <mpi.h>

static void ring(void)
{
	int rank, size, from = 1, to;
	MPI_Comm comm;
	MPI_Request both[2];
	MPI_Status statuses[2];

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Irecv(&to, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &both[0]);
	MPI_Isend(&from, 1, MPI_INT, (rank + 1) % size, 3, comm, &both[1]);
	MPI_Comm_free(&comm);
	MPI_Waitall(2, both, statuses);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 20; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		ring();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
