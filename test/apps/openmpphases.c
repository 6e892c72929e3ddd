/* openmpphases.c ROUNDS: threads whose efficiency is known in each of three phases, of ROUNDS
 * rounds each. Work is sleep, and a round takes 20 ms: both of two threads compute, the first
 * alone, and both for half of it after the first alone. No MPI. */
#include <stdlib.h>
#include <time.h>

static void work(int ms)
{
	struct timespec t = { 0, ms * 1000000L };

	nanosleep(&t, NULL);
}

static void region(int first, int second)
{
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		work(first);
#pragma omp section
		if (second > 0)
			work(second);
	}
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[argc - 1]);

	for (int i = 0; i < rounds; i++)
		region(20, 20);
	for (int i = 0; i < rounds; i++)
		region(20, 0);
	for (int i = 0; i < rounds; i++) {
		work(10);
		region(10, 10);
	}
	return 0;
}
