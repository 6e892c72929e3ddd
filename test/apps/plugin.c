/* plugin.c: MPI inside of what host.c opens with RTLD_LOCAL. */
#include <mpi.h>
#include <stdio.h>

int run(void);
int end(void);

__attribute__((destructor)) static void unloaded(void)
{
	fprintf(stderr, "the plugin is unloaded\n");
}

int run(void)
{
	MPI_Init(NULL, NULL);
	for (int i = 0; i < 7; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	printf("called MPI_Barrier 7 0 0\n");
	return 0;
}

/* Ends in a jump to MPI_Finalize, which then returns to the host. */
__attribute__((optimize("O2"))) int end(void)
{
	return MPI_Finalize();
}
