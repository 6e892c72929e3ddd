/* load.c A B UNIT_US SECONDS: two ranks with A and B units of work between barriers, and
 * what the program measures of that with its own clock.
 *
 * Work is spinning until the clock has advanced. Time that another process took meanwhile
 * is in the program's own figures as it is in the record's, so the test needs no quiet
 * machine. Prints one line per rank: useful SECONDS mpi SECONDS.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	double units[2] = { atof(argv[1]), atof(argv[2]) };
	double unit = 1e-6 * atof(argv[3]), seconds = atof(argv[4]);
	int rounds = (int)(seconds / ((units[0] > units[1] ? units[0] : units[1]) * unit));
	int rank;
	double mpi = 0;

	MPI_Init(&argc, &argv);
	double start = now();

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < rounds; i++) {
		double end = now() + units[rank] * unit;

		while (now() < end)
			;
		double before = now();

		MPI_Barrier(MPI_COMM_WORLD);
		mpi += now() - before;
	}
	double elapsed = now() - start;

	MPI_Finalize();
	printf("useful %.9f mpi %.9f\n", elapsed - mpi, mpi);
	return 0;
}
