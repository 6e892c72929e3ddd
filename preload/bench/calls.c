/* calls.c: nanoseconds per call of MPI functions on one rank, in C.
 *
 * It prints one line per function: its name and the lower quartile of blocks of calls, at 3 GHz
 * (steady.c). bench.sh runs it with different preloads in turn, and compares.
 */
#include <mpi.h>
#include <stdio.h>

#include "steady.h"

#define MEASURE(name, call)                                         \
	do {                                                        \
		for (int n; (n = block_begin_()) > 0; block_end_()) \
			for (int i = 0; i < n; i++)                 \
				call;                               \
		printf("%s %.2f\n", name, blocks_quick_());         \
	} while (0)

int main(int argc, char **argv)
{
	int flag, in = 1, out = 0, one = 1, zero = 0;
	double from = 1, to = 0;
	MPI_Request request = MPI_REQUEST_NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm comm = MPI_COMM_SELF;

	MEASURE("Iprobe", MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, MPI_STATUS_IGNORE));
	MEASURE("Test", MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
	MEASURE("Barrier", MPI_Barrier(comm));
	MEASURE("Allreduce", MPI_Allreduce(&from, &to, 1, MPI_DOUBLE, MPI_SUM, comm));
	MEASURE("Sendrecv", MPI_Sendrecv(&in, 1, MPI_INT, 0, 0, &out, 1, MPI_INT, 0, 0, comm,
					 MPI_STATUS_IGNORE));
	MEASURE("Bcast", MPI_Bcast(&in, 1, MPI_INT, 0, comm));
	MEASURE("Reduce", MPI_Reduce(&from, &to, 1, MPI_DOUBLE, MPI_SUM, 0, comm));
	MEASURE("Gather", MPI_Gather(&in, 1, MPI_INT, &out, 1, MPI_INT, 0, comm));
	MEASURE("Scatter", MPI_Scatter(&in, 1, MPI_INT, &out, 1, MPI_INT, 0, comm));
	MEASURE("Allgather", MPI_Allgather(&in, 1, MPI_INT, &out, 1, MPI_INT, comm));
	MEASURE("Allgatherv", MPI_Allgatherv(&in, 1, MPI_INT, &out, &one, &zero, MPI_INT, comm));
	MEASURE("Alltoall", MPI_Alltoall(&in, 1, MPI_INT, &out, 1, MPI_INT, comm));
	MEASURE("Alltoallv",
		MPI_Alltoallv(&in, &one, &zero, MPI_INT, &out, &one, &zero, MPI_INT, comm));
	MEASURE("Pcontrol", MPI_Pcontrol(i % 2 == 0 ? 1 : -1, "a section of the program"));
	MPI_Finalize();
	return 0;
}
