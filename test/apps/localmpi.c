/* localmpi.c: a plugin on an MPI, or on sequential MUMPS' stub (STUB), for hosts.c. It calls MPI by
 * Fortran's names. */
#include <stdio.h>

#ifdef STUB
enum { WORLD = 9, INTEGER = 13, SUM = 26 }; /* as in its mpif.h */
#else
#include <mpi.h>
#define WORLD MPI_Comm_c2f(MPI_COMM_WORLD)
#define INTEGER MPI_Type_c2f(MPI_INT)
#define SUM MPI_Op_c2f(MPI_SUM)
#endif

void mpi_init_(int *error);
void mpi_barrier_(int *comm, int *error);
void mpi_allreduce_(int *in, int *out, int *n, int *type, int *op, int *comm, int *error);
void mpi_finalize_(int *error);

static int world;

void begin(int *error);
void work(int *error);
void jump(int *error);
void finish(int *error);

void begin(int *error)
{
	mpi_init_(error);
	fflush(stdout);
}

/* Prints what the processes have together: their number. */
void work(int *error)
{
	int one = 1, sum = 0, type = INTEGER, op = SUM;

	world = WORLD;
	for (int i = 0; i < 5; i++)
		mpi_barrier_(&world, error);
	mpi_allreduce_(&one, &sum, &one, &type, &op, &world, error);
	printf("%s %d %d\n", NAME, sum, *error);
}

/* Ends in a jump to MPI_Barrier, which then returns to the host. */
void jump(int *error)
{
	mpi_barrier_(&world, error);
}

void finish(int *error)
{
	mpi_finalize_(error);
	fflush(stdout);
}
