/* figures.c: the arithmetic of METRICS 5. It knows no clock and no MPI. */
#include <math.h>
#include <stdlib.h>

#include "overhead.h"

bool je_knee_rises(struct je_knee *knee, double iter_t)
{
	if (knee->taken == 0)
		knee->base_t = iter_t;
	if (iter_t > knee->thresh * knee->base_t)
		return true;
	if (iter_t < knee->bthresh * knee->base_t) {
		knee->sum += iter_t;
		knee->taken++;
		knee->base_t = knee->sum / knee->taken;
	}
	return false;
}

double je_overhead(const struct je_sample *sample)
{
	return sample->iter_t - sample->work_t;
}

double je_availability(const struct je_sample *sample)
{
	return 1 - je_overhead(sample) / sample->base_t;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double je_median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static int by_overhead(const void *a, const void *b)
{
	double x = je_overhead(a), y = je_overhead(b);

	return (x > y) - (x < y);
}

static void widen(struct je_interval *interval, double value, double doubt)
{
	interval->low = fmin(interval->low, value - doubt);
	interval->high = fmax(interval->high, value + doubt);
}

void je_result_make(struct je_result *result, struct je_sample *samples, int n, double doubt)
{
	result->overhead = result->base_t = result->availability =
		(struct je_interval){ INFINITY, -INFINITY };
	for (int i = 0; i < n; i++) {
		struct je_sample *s = &samples[i];

		widen(&result->overhead, je_overhead(s), doubt);
		widen(&result->base_t, s->base_t, doubt);
		widen(&result->availability, je_availability(s), doubt / s->base_t);
	}
	qsort(samples, (size_t)n, sizeof(*samples), by_overhead);
	result->sample = samples[(n - 1) / 2];
}

double je_mean_undisturbed(double *times, int64_t n)
{
	double most = 1.5 * je_median(times, (int)n) + 100, sum = 0;
	int64_t taken = 0;

	while (taken < n && times[taken] <= most)
		sum += times[taken++];
	return sum / (double)taken;
}

const char *je_refused(const struct je_result *result)
{
	if (result->availability.high < 0)
		return "the overhead is larger than the transfer time";
	if (result->availability.low > 1)
		return "the overhead is negative: work takes longer without a message";
	return NULL;
}

double je_bthresh_of(double *times, int n)
{
	double median = je_median(times, n), away[16];

	for (int i = 0; i < n && i < 16; i++)
		away[i] = fabs(times[i] - median);

	/* 1.4826 times the median deviation estimates a standard deviation. Noise is three of
	 * them. */
	double noise = 3 * 1.4826 * je_median(away, n < 16 ? n : 16) / median;

	return 1 + fmin(fmax(noise, 0.02), 0.25);
}
