/* openmpplugin.c: OpenMP inside of what openmphost.c opens with RTLD_LOCAL. `inner` is another
 * plugin's function, or NULL; it is called inside a region. */
#include <omp.h>
#include <stddef.h>

int run(int threads, int (*inner)(int));
int sum(int threads);

/* A barrier that reaches another copy of libgomp holds nobody back, and the sum is wrong. */
int sum(int threads)
{
	int part[64] = { 0 }, total = 0;

#pragma omp parallel num_threads(threads)
	{
		int me = omp_get_thread_num(), team = omp_get_num_threads();

		for (int round = 0; round < 100; round++) {
			part[me] += round;
#pragma omp barrier
			int seen = 0;

			for (int i = 0; i < team; i++)
				seen += part[i];
#pragma omp critical
			total += seen == team * part[me];
#pragma omp barrier
		}
#pragma omp for schedule(dynamic)
		for (int i = 0; i < 1000; i++)
#pragma omp atomic
			total++;
	}
	return total;
}

int run(int threads, int (*inner)(int))
{
	int total = sum(threads);

	if (inner != NULL) {
#pragma omp parallel num_threads(threads)
#pragma omp single
		total += inner(threads);
	}
	return total;
}
