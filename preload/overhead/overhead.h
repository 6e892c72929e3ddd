/* overhead.h: what the parts of jobeff-overhead share.
 *
 * The program measures what a message costs its host (METRICS 5). Half of the ranks lead: they
 * start a transfer, work, and wait for its end. The other half are their partners. What it prints
 * is read by `jobeff admin overhead`, the next stage of the flow.
 *
 * Each file uses only files above it:
 *
 *   ../record/make.c, ../lib/ticks.c   the clock that libjobeff.so uses
 *   figures.c                          the arithmetic of METRICS 5
 *   mpi.c                              opens the MPI that the program was started under
 *   options.c                          the command line
 *   work.c                             work of a known length
 *   pair.c                             transfers between a leader and its partner
 *   print.c                            the table and the JSON, and how they end at a signal
 *   main.c                             sizes and repetitions
 */
#ifndef JOBEFF_OVERHEAD_H
#define JOBEFF_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* figures.c */

/* The flat part of the curve of loop time over work, and its end. Times are in us. */
struct je_knee {
	double thresh;	/* times base_t: the curve has risen, and the loop stops */
	double bthresh; /* times base_t: the work begins to show */
	double base_t;	/* mean of the loop times below that; 0: none yet */
	double sum;
	int taken;
};

/* Takes the loop time of the next amount of work; true: the loop stops here. */
bool je_knee_rises(struct je_knee *knee, double iter_t);

struct je_sample {
	double iter_t; /* one iteration with work and message */
	double work_t; /* the same work without a message */
	double base_t;
};

double je_overhead(const struct je_sample *sample);
double je_availability(const struct je_sample *sample); /* a fraction */

struct je_interval {
	double low, high;
};

enum { JE_REPETITIONS = 5 };

/* All repetitions of one size. `sample` is the one with the median overhead; the intervals span all
 * repetitions, and the doubt about the clock. */
struct je_result {
	struct je_sample sample;
	struct je_interval overhead, base_t, availability;
};

/* Sorts the samples; doubt is how far the clock may err, us. */
void je_result_make(struct je_result *result, struct je_sample *samples, int n, double doubt);

/* Why the availability is impossible; NULL: it is possible. */
const char *je_refused(const struct je_result *result);

double je_median(double *values, int n); /* sorts them */

/* The mean without iterations during which the processor was taken away: they took 100 us more
 * than 1.5 times the median. Sorts the times, us. */
double je_mean_undisturbed(double *times, int64_t n);

/* The threshold for base_t that noise of the loop time does not reach. Sorts the times. */
double je_bthresh_of(double *times, int n);

/* mpi.c. A handle fits into one register in every MPI; constants differ. */
struct je_mpi_calls {
	int (*init)(int *, char ***);
	int (*finalize)(void);
	int (*comm_rank)(uintptr_t comm, int *rank);
	int (*comm_size)(uintptr_t comm, int *size);
	int (*send)(const void *, int n, uintptr_t type, int to, int tag, uintptr_t comm);
	int (*recv)(void *, int n, uintptr_t type, int from, int tag, uintptr_t comm, void *status);
	int (*isend)(const void *, int n, uintptr_t type, int to, int tag, uintptr_t comm,
		     uintptr_t *request);
	int (*irecv)(void *, int n, uintptr_t type, int from, int tag, uintptr_t comm,
		     uintptr_t *request);
	int (*wait)(uintptr_t *request, void *status);
	uintptr_t world, byte;
	char version[256]; /* first line of MPI_Get_library_version */
	int rank, size;	   /* in MPI_COMM_WORLD */
};
extern struct je_mpi_calls je_mpi;

/* Opens `library`, or the MPI of the launcher where it is NULL, and calls MPI_Init. */
void je_mpi_open(const char *library);

int je_launched_rank(void); /* as the launcher says it, before MPI_Init; 0: unknown */

/* Prints why the program cannot go on, once for all ranks, and ends it. */
__attribute__((format(printf, 2, 3), noreturn)) void je_fail(int code, const char *format, ...);

enum { JE_FAILED = 1, JE_MISUSED = 2 };

/* options.c */
enum { JE_MOST_SIZES = 64 };

struct je_options {
	const char *mpi; /* library; NULL: find it */
	bool receive, nohdr, verbose, json, all_pairs;
	int iterations;		/* per amount of work; 0: chosen by the time they take */
	double thresh, bthresh; /* bthresh 0: found from the noise */
	int sizes[JE_MOST_SIZES], n_sizes;
};

void je_options_read(struct je_options *options, int argc, char **argv);

/* work.c */
void je_work(int64_t units);
void je_work_calibrate(void);
double je_us_of_ticks(uint64_t ticks);
double je_us_of_units(int64_t units);

/* pair.c */

/* What rank 0 asks of all leaders and partners. */
struct je_order {
	int32_t goes_on; /* 0: the end */
	int32_t receive; /* the leader receives */
	int32_t message; /* 0: work only */
	int32_t bytes;
	int64_t iterations, work;
};

/* iterations is the most that an order has. */
void je_pairs_begin(bool all, const int *sizes, int n_sizes, int iterations);
int je_pairs(void);
int je_pairs_nodes(void); /* of rank 0 and its partner: 1 or 2 */

/* On rank 0: mean time of an iteration over iterations and pairs, us. */
double je_pairs_do(const struct je_order *order);
void je_pairs_end(void);

/* On all others: does what rank 0 orders, until the end. */
void je_pairs_obey(void);

/* print.c */

/* Before MPI_Init: starts a process that prints the end if rank 0 is killed. */
void je_print_witness(const struct je_options *options);
void je_print_begin(const struct je_options *options, int pairs, int nodes);
void je_print_step(int64_t work, double iter_t, double base_t);
void je_print_size(const struct je_options *options, int bytes, double bthresh);
void je_print_result(const struct je_options *options, int bytes, int iterations, int repetitions,
		     const struct je_result *result);
void je_print_end(const struct je_options *options);
void je_print_nothing(void); /* on all ranks but 0 */

#endif
