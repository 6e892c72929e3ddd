/* wrongcounts.c behind|odd: MPI_Alltoallv with counts behind the end of a block of memory, or at an
 * odd address. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int sent = 0, received = 0, at = 0;
	char *room = calloc(1, 52);
	int *counts = (int *)(strcmp(argv[1], "behind") == 0 ? room + 52 : room + 1);

	*(volatile int *)counts = 0;
	MPI_Init(&argc, &argv);
	MPI_Alltoallv(&sent, counts, &at, MPI_INT, &received, counts, &at, MPI_INT, MPI_COMM_SELF);
	MPI_Finalize();
	free(room);
	return 0;
}
