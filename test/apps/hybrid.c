/* hybrid.c: OpenMP threads add up numbers, MPI adds up the ranks' sums. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int level, rank;
	double sum, total = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < 10; round++) {
		sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
		for (int i = 0; i < 1000000; i++)
			sum += (i % 7) * (rank + 1);
		MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("total %.0f, level %d\n", total, level);
	MPI_Finalize();
	return 0;
}
