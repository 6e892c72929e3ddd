/* knee.c: asks the arithmetic of jobeff-overhead. Its input is THRESH BTHRESH, then loop times
 * until the loop stops, then samples ITER_T WORK_T BASE_T of repetitions. */
#include <stdio.h>

#include "../../preload/overhead/overhead.h"

int main(void)
{
	struct je_knee knee = { 0 };
	struct je_sample samples[JE_REPETITIONS];
	struct je_result result;
	double iter_t;
	int n = 0;

	if (scanf("%lf %lf", &knee.thresh, &knee.bthresh) != 2)
		return 1;
	do {
		if (scanf("%lf", &iter_t) != 1)
			return 1;
	} while (!je_knee_rises(&knee, iter_t));
	printf("%.3f %.3f\n", iter_t, knee.base_t);
	while (n < JE_REPETITIONS && scanf("%lf %lf %lf", &samples[n].iter_t, &samples[n].work_t,
					   &samples[n].base_t) == 3)
		n++;
	je_result_make(&result, samples, n, 0);
	printf("%.3f %.1f\n%.3f to %.3f\n%.1f to %.1f\n%s\n", je_overhead(&result.sample),
	       100 * je_availability(&result.sample), result.overhead.low, result.overhead.high,
	       100 * result.availability.low, 100 * result.availability.high,
	       je_refused(&result) == NULL ? "" : je_refused(&result));
	return 0;
}
