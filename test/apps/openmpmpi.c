/* openmpmpi.c: ranks with two threads. A region before MPI_Init and one after MPI_Finalize do not
 * count. In the second region between them the main
 * thread of rank 0 waits in MPI for 2 units, because that of rank 1 works so long.
 * One unit is 50 ms. */
#include <mpi.h>
#include <omp.h>
#include <time.h>

static void work(int units)
{
	long long ns = units * 50000000ll;
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

static void team(int units)
{
#pragma omp parallel num_threads(2)
	work(units);
}

int main(int argc, char **argv)
{
	int rank, level;

	team(1);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	team(1);
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0) {
			work(rank == 0 ? 0 : 2);
			MPI_Barrier(MPI_COMM_WORLD);
		} else {
			work(2);
		}
	}
	MPI_Finalize();
	team(1);
	return 0;
}
