/* latesums.c MILLISECONDS ROUNDS LATE: sleeps that scale and messages that do not, the
 * same on any machine. In each round every rank sleeps for its part of MILLISECONDS /
 * ROUNDS, which counts as useful, as in sleepscale.c. Then all ranks sum up a number, and
 * each addition is LATE milliseconds late for every rank there is, as on a network that all
 * of them share. MPI does the additions, so those sleeps are time in MPI. */
#include <jobeff_section.h>
#include <stdlib.h>
#include <time.h>

static double late; /* seconds an addition takes */

static void pause_for(double seconds)
{
	struct timespec part = { .tv_sec = (time_t)seconds };

	part.tv_nsec = (long)(1e9 * (seconds - (double)part.tv_sec));
	nanosleep(&part, NULL);
}

/* An MPI_User_function. */
static void add_late(void *in, void *sum, int *n, MPI_Datatype *type)
{
	(void)type;
	pause_for(late);
	for (int i = 0; i < *n; i++)
		((int *)sum)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[2]), size, one = 1, sum = 0;
	double part = 1e-3 * atof(argv[1]) / rounds;
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Op_create(add_late, 1, &op);
	late = 1e-3 * atof(argv[3]) * size;
	for (int i = 0; i < rounds; i++) {
		pause_for(part / size);
		MPIX_Section_enter(MPI_COMM_WORLD, "LATE_SUM");
		MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
		MPIX_Section_exit(MPI_COMM_WORLD, "LATE_SUM");
	}
	MPI_Op_free(&op);
	MPI_Finalize();
	return sum != size;
}
