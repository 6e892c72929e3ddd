/* sessions.c TIMES: a program that never calls MPI_Init: TIMES sessions, each with a
 * communicator of all ranks, the first one around the others (MPICH 4.0.2 crashes where one
 * begins after the last was closed). Prints the lines that tally.h prints. */
#include <mpi.h>
#include <stdlib.h>

#include "tally.h"

static void sessions(int times)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int in = 1, out;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "jobeff", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	tally("Comm_create_from_group", 0, 0);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
	tally("Allreduce", 4, 4);
	for (int i = 1; i < times; i++) {
		sessions(1);
		tally("Session_init", 0, 0);
		tally("Session_finalize", 0, 0);
	}
	MPI_Comm_free(&comm);
	tally("Comm_free", 0, 0);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
	sessions(atoi(argv[1]));
	tally_print();
	return argc - 2;
}
