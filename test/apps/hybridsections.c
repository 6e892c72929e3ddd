/* hybridsections.c: sections with known loads of two threads per rank. Work is sleep, so that a
 * busy machine does as well. */
#include <jobeff_section.h>
#include <omp.h>
#include <time.h>

enum { UNIT_MS = 40, TURNS = 3 };

static void work(int units)
{
	struct timespec t = { 0, units * UNIT_MS * 1000000L };

	nanosleep(&t, NULL);
}

/* Thread t works loads[t] units in a region. */
static void region(const int loads[2])
{
#pragma omp parallel num_threads(2)
	work(loads[omp_get_thread_num()]);
}

static void in_section(const char *label, int serial, const int loads[2])
{
	MPIX_Section_enter(MPI_COMM_WORLD, label);
	if (serial > 0)
		work(serial);
	if (loads[0] > 0)
		region(loads);
	MPIX_Section_exit(MPI_COMM_WORLD, label);
}

/* A section inside itself; the longest is another thread in each. */
static void again(int turns)
{
	if (turns == 0)
		return;
	MPIX_Section_enter(MPI_COMM_WORLD, "again");
	region(turns % 2 == 1 ? (int[2]){ 4, 2 } : (int[2]){ 2, 4 });
	again(turns - 1);
	MPIX_Section_exit(MPI_COMM_WORLD, "again");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	in_section("before", 2, (int[2]){ 0, 0 });
	in_section("other", 0, (int[2]){ 2, 4 });
	for (int i = 0; i < TURNS; i++)
		in_section("in turns", 0, i % 2 == 0 ? (int[2]){ 4, 2 } : (int[2]){ 2, 4 });
	again(TURNS);
	MPIX_Section_enter(MPI_COMM_WORLD, "outer");
	for (int i = 0; i < TURNS; i++) {
		in_section("balanced", 0, (int[2]){ 4, 4 });
		region((int[2]){ 1, 1 });
		in_section("imbalanced", 0, (int[2]){ 4, 2 });
		in_section("serial", 4, (int[2]){ 0, 0 });
		in_section("mixed", 2, (int[2]){ 4, 2 });
	}
	MPIX_Section_exit(MPI_COMM_WORLD, "outer");
#pragma omp parallel num_threads(2)
	{
#pragma omp master
		in_section("inside a region", 1, (int[2]){ 0, 0 });
	}
	MPI_Finalize();
	return 0;
}
