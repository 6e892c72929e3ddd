/* region.c: 10 sums and 5 barriers, the sums in a region that MPI_Pcontrol names. */
#include <mpi.h>

#include "tally.h"

int main(int argc, char **argv)
{
	int from = 1, to;

	MPI_Init(&argc, &argv);
	MPI_Pcontrol(1, "sums");
	for (int i = 0; i < 10; i++) {
		MPI_Allreduce(&from, &to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		tally("Allreduce", 4, 4);
	}
	MPI_Pcontrol(-1, "sums");
	for (int i = 0; i < 5; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		tally("Barrier", 0, 0);
	}
	MPI_Finalize();
	tally_print();
	return 0;
}
