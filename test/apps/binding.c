/* binding.c: each thread of each rank prints its rank, how many ranks there are, and the CPUs that
 * it may run on, "0/2 4,5".
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, size, level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
#pragma omp parallel
	{
		char line[256];
		cpu_set_t cpus;
		int n = snprintf(line, sizeof(line), "%d/%d ", rank, size);

		sched_getaffinity(0, sizeof(cpus), &cpus);
		for (int i = 0; i < 32; i++)
			if (CPU_ISSET(i, &cpus))
				n += snprintf(line + n, sizeof(line) - (size_t)n, "%d,", i);
		printf("%.*s\n", n - 1, line);
	}
	MPI_Finalize();
	return 0;
}
