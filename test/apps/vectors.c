/* vectors.c VECTOR UNIT_MS: programs whose ranks and threads have the loads of doc/METRICS.md,
 * section 2. Work is sleep, so that threads that share a core have it, too. Built with -DALONE
 * they use no MPI, and those of one rank may run without one.
 *
 *   multiplicative  3 ranks x 2 threads: 10 and 9 | 8 and 7 | 6 and 5 units of 12; MPI has 2, 4, 6
 *   dlb             2 ranks x 2 threads, each: useful 60, MPI 10 (alone: 0), imbalance 10,
 *                   scheduling 5, serial 15
 *   process         2 ranks x 2 threads: 8 and 6 units of 12, the rest in MPI
 *   threads         1 rank x 3 threads: useful 9, 9 and 6 in regions that take 12 units, and 4
 *                   units outside of them
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef ALONE
static int rank;

static void begin(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
}

static void meet(void)
{
}

static void end(void)
{
}
#else
#include <mpi.h>

static int rank;

static void begin(int *argc, char ***argv)
{
	int level;

	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void meet(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void end(void)
{
	MPI_Finalize();
}
#endif

static double unit_ns;

static void work(double units)
{
	long long ns = (long long)(units * unit_ns);
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

/* A region whose threads work so long each. */
static void region(int threads, const double *units)
{
#pragma omp parallel num_threads(threads)
	work(units[omp_get_thread_num()]);
}

/* All ranks wait for the last one after each part. */
static void multiplicative(void)
{
	static const double first[3][2] = { { 10, 9 }, { 6, 5 }, { 4, 3 } };
	static const double second[3][2] = { { 0, 0 }, { 2, 2 }, { 2, 2 } };

	region(2, first[rank]);
	meet();
	region(2, second[rank]);
	meet();
}

static void dlb(void)
{
	static const double uneven[2] = { 20, 15 };
	static const double none[2] = { 0, 0 };

	region(2, none); /* a program without MPI is measured from its first region on */
	work(rank == 0 ? 5 : 10);
	meet();
	work(rank == 0 ? 10 : 5);
	meet();
#pragma omp parallel num_threads(2)
#pragma omp critical
	work(5);
	region(2, uneven);
}

static void process(void)
{
	static const double first[2][2] = { { 8, 8 }, { 2, 2 } },
			    second[2][2] = { { 0, 0 }, { 4, 4 } };

	region(2, first[rank]);
	meet();
	region(2, second[rank]);
	meet();
}

static void threads(void)
{
	static const double first[3] = { 6, 4.5, 0 }, second[3] = { 3, 4.5, 6 };

	region(3, first);
	work(4);
	region(3, second);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	unit_ns = atof(argv[2]) * 1e6;
	begin(&argc, &argv);
	if (strcmp(argv[1], "multiplicative") == 0)
		multiplicative();
	else if (strcmp(argv[1], "dlb") == 0)
		dlb();
	else if (strcmp(argv[1], "process") == 0)
		process();
	else
		threads();
	end();
	return 0;
}
