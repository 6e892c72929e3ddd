/* manglings.c: one barrier by each name that a Fortran compiler may give MPI_Barrier. */
#include <mpi.h>
#include <stdio.h>

void mpi_barrier_(int *comm, int *error);
void mpi_barrier__(int *comm, int *error);
void mpi_barrier(int *comm, int *error);
void MPI_BARRIER(int *comm, int *error);

int main(int argc, char **argv)
{
	int comm, error;

	MPI_Init(&argc, &argv);
	comm = MPI_Comm_c2f(MPI_COMM_WORLD);
	mpi_barrier_(&comm, &error);
	mpi_barrier__(&comm, &error);
	mpi_barrier(&comm, &error);
	MPI_BARRIER(&comm, &error);
	MPI_Finalize();
	printf("called MPI_Barrier 4 0 0\n");
	return error;
}
