/* fakeapp.c: calls of known number, size and time on fakempi.c: 5 barriers of 20 ms and
 * 50 ms of sleep, which is useful time here. With an argument it calls nothing. With -fopenmp it
 * begins a parallel region, too. */
#include <stdio.h>
#include <unistd.h>

enum { COMM = 0x44000000, INT = 0x4c000405, SUM = 0x58000003, NOWHERE = -1 };

int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Barrier(int);
int MPI_Allreduce(const void *, void *, int, int, int, int);
int MPI_Sendrecv(const void *, int, int, int, int, void *, int, int, int, int, int, void *);

int main(int argc, char **argv)
{
	int in[25] = { 1 }, out[25];

	if (argc > 1)
		return 0;
	MPI_Init(&argc, &argv);
#pragma omp parallel num_threads(2)
	in[1] = 1;
	for (int i = 0; i < 5; i++)
		MPI_Barrier(COMM); /* HERE barrier */
	usleep(50000);
	for (int i = 0; i < 1000; i++)
		MPI_Allreduce(in, out, 25, INT, SUM, COMM);
	for (int i = 0; i < 1000; i++)
		MPI_Sendrecv(in, 5, INT, 0, 1, out, 25, INT, NOWHERE, 1, COMM, NULL);
	MPI_Finalize();
	printf("called MPI_Barrier 5 0 0\n"
	       "called MPI_Allreduce 1000 100000 100000\n"
	       "called MPI_Sendrecv 1000 20000 0\n");
	return 0;
}
