/* logged.c: ns per call on one rank, in windows that are logged and in windows that are not. A run
 * keeps all of its first windows, and at most one in 32 of its last ones.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "times.h"

enum { WINDOWS = 8192, SOME = 100, CALLS = 16 };

static double median(double *ns)
{
	qsort(ns, SOME, sizeof(*ns), by_size);
	return ns[SOME / 2];
}

int main(int argc, char **argv)
{
	static double ns[WINDOWS];
	int in = 1, out = 0;

	MPI_Init(&argc, &argv);
	for (int w = 0; w < WINDOWS; w++) {
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

		double start = now_ns();

		for (int i = 0; i < CALLS; i++)
			MPI_Sendrecv(&in, 1, MPI_INT, 0, 0, &out, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		ns[w] = (now_ns() - start) / CALLS;
	}
	printf("%.1f %.1f\n", median(ns), median(ns + WINDOWS - SOME));
	MPI_Finalize();
	return 0;
}
