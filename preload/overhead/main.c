/* main.c: jobeff-overhead. Sizes and repetitions. */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "../record/make.h"
#include "overhead.h"

/* A step is one amount of work. Its time is the median of batches, so that an interruption of the
 * processor does not count. */
enum { BATCHES = 5, COMPARISONS = 9, NOISE_BATCHES = 10, TRIES = 4 };

/* Without --iterations, a step lasts about this long, us. */
#define STEP_US 20000.0
#define MOST_ITERATIONS 1000

/* Seconds from the start after which no further repetition begins. The last one may take longer. */
#define BUDGET_S 45.0

/* A pause between the last messages and MPI_Finalize, us: without it MPICH before 4.2 often hangs
 * there over TCP (pmodels/mpich, pull request 6596). */
#define PAUSE_US 200000

static struct je_options options;
static double begin_s;
static double empty_us; /* an iteration without message and work: the clock's readings */

/* What some transfers without work show about a size. */
struct size {
	struct je_order order; /* of its first step */
	double transfer_us, bthresh;
};

static double seconds(void)
{
	return (double)je_clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static struct je_order order_of(int bytes, int64_t work)
{
	return (struct je_order){
		.goes_on = 1, .receive = options.receive, .message = 1, .bytes = bytes, .work = work
	};
}

static double batch(const struct je_order *order)
{
	return je_pairs_do(order) - empty_us;
}

static double step(const struct je_order *order)
{
	double times[BATCHES];

	for (int i = 0; i < BATCHES; i++)
		times[i] = batch(order);
	return je_median(times, BATCHES);
}

/* A loop cannot take longer than the transfer and the work one after the other. A step that did
 * was interrupted, and is measured again. */
static double undisturbed_step(const struct je_order *order, const struct size *size)
{
	double most = size->bthresh * (size->transfer_us + je_us_of_units(order->work));
	double iter_t = step(order);

	for (int i = 1; i < TRIES && iter_t > most; i++)
		iter_t = fmin(iter_t, step(order));
	return iter_t;
}

/* Times the same work with and without messages in turn, so that both see the same machine. It
 * takes the median of what messages add. */
static struct je_sample compare(struct je_order order)
{
	struct je_sample pairs[COMPARISONS] = { 0 };
	struct je_result result;

	for (int i = 0; i < COMPARISONS; i++) {
		order.message = 1;
		pairs[i].iter_t = batch(&order);
		order.message = 0;
		pairs[i].work_t = batch(&order);
		pairs[i].base_t = 1; /* not known here */
	}
	je_result_make(&result, pairs, COMPARISONS, 0);
	return result.sample;
}

/* Doubles the work until it has covered the transfer for sure. */
static struct je_sample repetition(const struct size *size)
{
	struct je_knee knee = { .thresh = options.thresh, .bthresh = size->bthresh };
	struct je_order order = size->order;
	struct je_sample last;

	for (bool rises = false; !rises;) {
		double iter_t = undisturbed_step(&order, size);

		rises = je_knee_rises(&knee, iter_t);
		if (options.verbose)
			je_print_step(order.work, iter_t, knee.base_t);
		if (!rises)
			order.work *= 2;
	}
	while ((last = compare(order)).iter_t <= knee.thresh * knee.base_t)
		order.work *= 2;
	last.base_t = knee.base_t;
	return last;
}

/* Finds what the clock's readings take. */
static void time_nothing(void)
{
	struct je_order nothing = order_of(0, 0);

	nothing.message = 0;
	nothing.iterations = MOST_ITERATIONS;
	empty_us = step(&nothing);
}

/* Finds the iterations of a batch, the first work and the noise from transfers without work. */
static struct size prepare(int bytes)
{
	struct size size = { .order = order_of(bytes, 0), .bthresh = options.bthresh };
	struct je_order *order = &size.order;
	double times[NOISE_BATCHES], n = options.iterations;

	order->iterations = 2;
	je_pairs_do(order); /* connections, and pages of the MPI's buffers */
	if (n == 0)
		n = fmin(STEP_US / step(order), MOST_ITERATIONS);
	order->iterations = (int64_t)fmax(n / BATCHES, 1);
	for (int i = 0; i < NOISE_BATCHES; i++)
		times[i] = batch(order);
	size.transfer_us = je_median(times, NOISE_BATCHES);
	for (order->work = 1; 64 * je_us_of_units(order->work) < size.transfer_us;)
		order->work *= 2;
	if (size.bthresh == 0)
		size.bthresh = fmin(je_bthresh_of(times, NOISE_BATCHES), (1 + options.thresh) / 2);
	return size;
}

/* Measures the size number `at`. Each size has its share of the time, and what the sizes before it
 * left. */
static void measure(int at)
{
	struct je_sample samples[JE_REPETITIONS];
	struct je_result result;
	struct size size = prepare(options.sizes[at]);
	double until = begin_s + BUDGET_S * (at + 1) / options.n_sizes;
	int n = 0;

	je_print_size(&options, size.order.bytes, size.bthresh);
	do
		samples[n++] = repetition(&size);
	while (n < JE_REPETITIONS && seconds() < until);
	je_result_make(&result, samples, n, empty_us / 2);
	je_print_result(&options, size.order.bytes, (int)size.order.iterations * BATCHES, n,
			&result);
}

int main(int argc, char **argv)
{
	je_options_read(&options, argc, argv);
	je_print_witness(&options);
	je_mpi_open(options.mpi);
	je_work_calibrate();
	je_pairs_begin(options.all_pairs, options.sizes, options.n_sizes,
		       options.iterations > MOST_ITERATIONS ? options.iterations : MOST_ITERATIONS);
	if (je_mpi.rank == 0) {
		begin_s = seconds();
		je_print_begin(&options, je_pairs(), je_pairs_nodes());
		time_nothing();
		for (int i = 0; i < options.n_sizes; i++)
			measure(i);
		je_pairs_end();
		je_print_end(&options);
	} else {
		je_print_nothing();
		je_pairs_obey();
	}
	usleep(PAUSE_US);
	je_mpi.finalize();
	return 0;
}
