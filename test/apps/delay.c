/* delay.c: a library behind libjobeff.so in LD_PRELOAD that makes the network slow. What a rank
 * receives comes DELAY_MS later than the MPI below says. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int late(int result)
{
	long ms = atol(getenv("DELAY_MS"));
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
	return result;
}

int MPI_Recv(void *to, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	return late(PMPI_Recv(to, n, type, from, tag, comm, status));
}

int MPI_Sendrecv(const void *from, int n, MPI_Datatype type, int dest, int tag, void *to, int m,
		 MPI_Datatype other, int source, int othertag, MPI_Comm comm, MPI_Status *status)
{
	return late(PMPI_Sendrecv(from, n, type, dest, tag, to, m, other, source, othertag, comm,
				  status));
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	return late(PMPI_Waitall(n, requests, statuses));
}
