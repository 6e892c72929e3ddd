/* manglings.c: one barrier by each name that Fortran compilers give MPI_Barrier by default.
 * From 4.2 on MPICH's library has one of them only. */
#include <mpi.h>
#include <stdio.h>

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40200000
#define mpi_barrier__ mpi_barrier_
#endif

void mpi_barrier_(int *comm, int *error);
void mpi_barrier__(int *comm, int *error);

int main(int argc, char **argv)
{
	int comm, error;

	MPI_Init(&argc, &argv);
	comm = MPI_Comm_c2f(MPI_COMM_WORLD);
	mpi_barrier_(&comm, &error);
	mpi_barrier__(&comm, &error);
	MPI_Finalize();
	printf("called MPI_Barrier 2 0 0\n");
	return error;
}
