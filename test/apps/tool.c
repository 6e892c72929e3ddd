/* tool.c: two small PMPI tools for LD_PRELOAD. What each saw it prints at MPI_Finalize.
 *
 *   -DWRAPS    as mpiP: it replaces MPI_X, counts and times it, and calls PMPI_X
 *   -DBORDERS  as IPM: it replaces MPI_Init, MPI_Finalize and MPI_Pcontrol
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

static int calls, regions, began;
static double seconds;

int MPI_Init(int *argc, char ***argv)
{
	began++;
	return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Barrier(MPI_COMM_WORLD);
	fprintf(stderr, "tool: rank %d, %d begun, %d calls, %d regions, time %s\n", rank, began,
		calls, regions, seconds < 0 ? "negative" : "sound");
	return PMPI_Finalize();
}

#ifdef WRAPS
static int timed(double from, int result)
{
	seconds += PMPI_Wtime() - from;
	calls++;
	return result;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	return timed(PMPI_Wtime(), PMPI_Allreduce(from, to, n, type, op, comm));
}

int MPI_Barrier(MPI_Comm comm)
{
	return timed(PMPI_Wtime(), PMPI_Barrier(comm));
}
#endif

#ifdef BORDERS
int MPI_Pcontrol(const int level, ...)
{
	regions += level == 1;
	return 0;
}
#endif
