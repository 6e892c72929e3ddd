/* pair.c: transfers between a leader and its partner.
 *
 * Rank r of the lower half leads, rank r + size/2 is its partner. Before each transfer one tells
 * the other with a message without bytes that it is ready. The time of that is not counted. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ticks.h"
#include "overhead.h"

enum { ORDER_TAG = 1, READY_TAG, DATA_TAG, TIME_TAG, HOST_TAG, HOST_BYTES = 64 };

/* A rank that does not answer for so long, and 10 ms for each iteration, is dead: SIGALRM ends the
 * program. */
enum { PATIENCE_S = 60 };

static int pairs, nodes;
static char *buffer;
static double *times;	 /* of a leader's iterations, us */
static char status[256]; /* longer than every MPI_Status */

int je_pairs(void)
{
	return pairs;
}

int je_pairs_nodes(void)
{
	return nodes;
}

static void send_bytes(const void *bytes, size_t n, int to, int tag)
{
	je_mpi.send(bytes, (int)n, je_mpi.byte, to, tag, je_mpi.world);
}

static void receive_bytes(void *bytes, size_t n, int from, int tag)
{
	je_mpi.recv(bytes, (int)n, je_mpi.byte, from, tag, je_mpi.world, status);
}

static int partner(void)
{
	return (je_mpi.rank + je_mpi.size / 2) % je_mpi.size;
}

static bool leads(void)
{
	return je_mpi.rank < je_mpi.size / 2;
}

/* Tells rank 0 on how many nodes its pair is. */
static void compare_hosts(void)
{
	char host[HOST_BYTES] = "", other[HOST_BYTES] = "";

	gethostname(host, sizeof(host) - 1);
	if (je_mpi.rank == je_mpi.size / 2)
		send_bytes(host, sizeof(host), 0, HOST_TAG);
	if (je_mpi.rank != 0)
		return;
	receive_bytes(other, sizeof(other), partner(), HOST_TAG);
	nodes = strcmp(host, other) == 0 ? 1 : 2;
}

void je_pairs_begin(bool all, const int *sizes, int n_sizes, int iterations)
{
	size_t largest = 0;

	pairs = all ? je_mpi.size / 2 : 1;
	for (int i = 0; i < n_sizes; i++)
		if ((size_t)sizes[i] > largest)
			largest = (size_t)sizes[i];
	buffer = malloc(largest);
	times = calloc((size_t)iterations, sizeof(*times));
	if (buffer == NULL || times == NULL)
		je_fail(JE_FAILED, "there is no memory for a message of %zu bytes", largest);
	memset(buffer, 1, largest); /* its pages exist before the first transfer */
	compare_hosts();
}

static void ready(int to)
{
	send_bytes(buffer, 0, to, READY_TAG);
}

static void await_ready(int from)
{
	receive_bytes(buffer, 0, from, READY_TAG);
}

/* The clock when all before is done. Without the fence a processor begins to work, or reads the
 * clock, while it still starts a small transfer. */
static uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
	return je_ticks();
}

/* A leader's iteration: how long the transfer and the work took, ticks. */
static uint64_t lead_once(const struct je_order *order)
{
	uint64_t begin, before = 0;
	uintptr_t request = 0;
	int other = partner();

	if (order->receive != 0) {
		begin = ticks_now();
		if (order->message != 0)
			je_mpi.irecv(buffer, order->bytes, je_mpi.byte, other, DATA_TAG,
				     je_mpi.world, &request);
		before = ticks_now() - begin;
		ready(other);
	} else {
		await_ready(other);
	}
	begin = ticks_now();
	if (order->receive == 0 && order->message != 0)
		je_mpi.isend(buffer, order->bytes, je_mpi.byte, other, DATA_TAG, je_mpi.world,
			     &request);
	je_work(order->work);
	if (order->message != 0)
		je_mpi.wait(&request, status);
	return before + ticks_now() - begin;
}

static double lead(const struct je_order *order)
{
	for (int64_t i = 0; i < order->iterations; i++)
		times[i] = je_us_of_ticks(lead_once(order));
	return je_mean_undisturbed(times, order->iterations);
}

static void follow_once(const struct je_order *order)
{
	uintptr_t request = 0;
	int other = partner();

	if (order->receive != 0) {
		await_ready(other);
		if (order->message != 0)
			send_bytes(buffer, (size_t)order->bytes, other, DATA_TAG);
		return;
	}
	if (order->message != 0) /* before the leader sends: no message is unexpected */
		je_mpi.irecv(buffer, order->bytes, je_mpi.byte, other, DATA_TAG, je_mpi.world,
			     &request);
	ready(other);
	if (order->message != 0)
		je_mpi.wait(&request, status);
}

static void tell(const struct je_order *order, bool everybody)
{
	for (int rank = 1; rank < je_mpi.size; rank++)
		if (everybody || rank % (je_mpi.size / 2) < pairs)
			send_bytes(order, sizeof(*order), rank, ORDER_TAG);
}

double je_pairs_do(const struct je_order *order)
{
	alarm(PATIENCE_S + (unsigned)(order->iterations / 100));
	tell(order, false);

	double us, sum = lead(order);

	for (int rank = 1; rank < pairs; rank++) {
		receive_bytes(&us, sizeof(us), rank, TIME_TAG);
		sum += us;
	}
	return sum / pairs;
}

void je_pairs_obey(void)
{
	struct je_order order = { 0 };

	for (;;) {
		receive_bytes(&order, sizeof(order), 0, ORDER_TAG);
		if (order.goes_on == 0)
			return;
		if (leads()) {
			double us = lead(&order);

			send_bytes(&us, sizeof(us), 0, TIME_TAG);
			continue;
		}
		for (int64_t i = 0; i < order.iterations; i++)
			follow_once(&order);
	}
}

void je_pairs_end(void)
{
	struct je_order end = { .goes_on = 0 };

	tell(&end, true);
	alarm(0);
}
