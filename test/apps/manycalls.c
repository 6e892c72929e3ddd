/* manycalls.c N: N calls of MPI_Iprobe, one right after the other. */
#include <mpi.h>
#include <stdlib.h>

#include "endmpi.h"

int main(int argc, char **argv)
{
	int found;

	MPI_Init(&argc, &argv);
	for (long i = atol(argv[1]); i > 0; i--)
		MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
	end_mpi();
	return 0;
}
