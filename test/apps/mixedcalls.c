/* mixedcalls.c MILLISECONDS: for so long, calls of MPI_Iprobe, one right after the other, and now
 * and then one that takes 5 ms. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "copylate.h"
#include "endmpi.h"

int main(int argc, char **argv)
{
	int found, key;
	double late = 5e-3, end;
	MPI_Comm copy;

	MPI_Init(&argc, &argv);
	MPI_Comm_create_keyval(copy_late, MPI_COMM_NULL_DELETE_FN, &key, &late);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	end = MPI_Wtime() + 1e-3 * atof(argv[1]);
	while (MPI_Wtime() < end) {
		for (int i = 0; i < 3000; i++)
			MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
		MPI_Comm_dup(MPI_COMM_SELF, &copy);
		MPI_Comm_free(&copy);
	}
	end_mpi();
	return 0;
}
