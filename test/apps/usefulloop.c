/* usefulloop.c N: N rounds of a loop of three instructions between two MPI_Barrier. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;

	MPI_Init(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
#if defined(__x86_64__)
	__asm__ volatile("1: nop\n dec %0\n jnz 1b" : "+r"(n)::"cc");
#endif
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
