/* pending.c: asks dlerror() for a text that the program itself left: at its start there is none.
 * With -DWITH_MPI, dlopen() fails, and then MPI functions are called for the first time. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

static void ask(const char *when)
{
	const char *text = dlerror();

	printf("%s: %s\n", when, text != NULL ? text : "nothing");
}

int main(int argc, char **argv)
{
	ask("start");
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	ask("MPI_Init");
	if (dlopen("libnothere.so", RTLD_NOW) != NULL)
		return 1;
	MPI_Barrier(MPI_COMM_WORLD);
	ask("MPI_Barrier");
	if (dlopen("libnothere.so", RTLD_NOW) != NULL)
		return 1;
	MPI_Finalize();
	ask("MPI_Finalize");
#else
	(void)argc, (void)argv;
#endif
	return 0;
}
