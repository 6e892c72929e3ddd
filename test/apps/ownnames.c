/* ownnames.c: with LIBRARY, a library that has nothing to do with MPI, but functions of its own
 * that bear MPI's Fortran names as few compilers spell them. Without, a program that uses it. */
#include <stdio.h>

#ifdef LIBRARY
int mpi_init(int *to, int n);
int mpi_init(int *to, int n)
{
	*to = n;
	return 7;
}

double mpi_barrier(double a);
double mpi_barrier(double a)
{
	return a + 1;
}

const char *MPI_WAIT(void);
const char *MPI_WAIT(void)
{
	return "waited";
}

int mpix_section_enter(int a);
int mpix_section_enter(int a)
{
	return a + 2;
}

int mpi_pcontrol(int a);
int mpi_pcontrol(int a)
{
	return a + 3;
}

int mpi_isendrecv(int a); /* of MPI 4 */
int mpi_isendrecv(int a)
{
	return a + 4;
}

void own(void);
void own(void)
{
	int n = 0, result = mpi_init(&n, 3);

	printf("%d %d %.1f %s %d %d %d\n", n, result, mpi_barrier(40.5), MPI_WAIT(),
	       mpix_section_enter(1), mpi_pcontrol(1), mpi_isendrecv(1));
}
#else
void own(void);

int main(void)
{
	own();
	return 0;
}
#endif
