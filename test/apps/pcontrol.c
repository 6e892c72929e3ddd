/* pcontrol.c: with TOOL, a library whose MPI_Pcontrol reads more arguments than registers have room
 * for. Without, a program that calls it. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef TOOL
int MPI_Pcontrol(const int level, ...)
{
	va_list all;

	va_start(all, level);
	printf("%d:", level);
	for (int i = 0; i < 12; i++) {
		printf(" %d", va_arg(all, int));
		printf(" %.2f", va_arg(all, double));
	}
	printf(" %s\n", va_arg(all, const char *));
	va_end(all);
	return 7;
}
#else
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int level = 1; level < 4; level++)
		printf("%d\n",
		       MPI_Pcontrol(level, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5,
				    8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12, 12.5, "end"));
	MPI_Finalize();
	return 0;
}
#endif
