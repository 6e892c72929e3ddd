/* overflow.c [overflow]: writes behind a block of memory, if asked. -DDEFAULTS: it has defaults of
 * its own for AddressSanitizer. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef DEFAULTS
const char *__asan_default_options(void)
{
	return "exitcode=77";
}
#endif

int main(int argc, char **argv)
{
	volatile char *room = malloc(10);
	volatile int at = argc > 1 ? 10 : 9;

	MPI_Init(&argc, &argv);
	room[at] = 1;
	MPI_Finalize();
	puts("done");
	free((void *)room);
	return 0;
}
