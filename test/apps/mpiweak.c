/* mpiweak.c: uses MPI where the process has it. It is linked to no MPI, and looks by weak symbols.
 * It goes on alone where MPI_Init is not there or fails. */
#include <stdio.h>

int MPI_Init(int *, char ***) __attribute__((weak));
int MPI_Initialized(int *) __attribute__((weak));
int MPI_Comm_rank(int, int *) __attribute__((weak));

int main(void)
{
	printf("queries %d %d\n", MPI_Initialized != NULL, MPI_Comm_rank != NULL);
	printf("begins %d\n", MPI_Init != NULL && MPI_Init(NULL, NULL) == 0);
	return 0;
}
