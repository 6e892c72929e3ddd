/* trivial.c: the smallest MPI program. After MPI_Finalize it prints four figures: ms since its
 * start, ms of CPU time, ms of CPU time that MPI_Init took outside the MPI (inner.c), and anonymous
 * memory in KiB. Elapsed time alone would not do: an MPI waits for its launcher, and that may take
 * any time. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

extern double inner_ms;

static double now_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec * 1e-6;
}

static long anonymous_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *status = fopen("/proc/self/status", "r");

	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (status != NULL)
		fclose(status);
	return kib;
}

int main(int argc, char **argv)
{
	double start = now_ms(CLOCK_MONOTONIC), outer_ms = -now_ms(CLOCK_PROCESS_CPUTIME_ID);
	int in = 1, out;

	MPI_Init(&argc, &argv);
	outer_ms += now_ms(CLOCK_PROCESS_CPUTIME_ID);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	printf("%.3f %.3f %.3f %ld\n", now_ms(CLOCK_MONOTONIC) - start,
	       now_ms(CLOCK_PROCESS_CPUTIME_ID), outer_ms - inner_ms, anonymous_kib());
	return 0;
}
