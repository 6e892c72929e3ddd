/* asknewer.c NAME...: says which functions dlsym() finds, as programs do that use what their MPI
 * has. With -DMPI4 it calls one of each kind, too, which it is linked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int i = 1; i < argc; i++)
		printf("%s %s\n", argv[i],
		       dlsym(RTLD_DEFAULT, argv[i]) != NULL ? "there" : "not there");
#ifdef MPI4
	int one = 1, sum;
	MPI_Request request;

	MPI_Allreduce_c(&one, &sum, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Isendrecv(&one, 1, MPI_INT, 0, 1, &sum, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
	MPI_Finalize();
	return 0;
}
