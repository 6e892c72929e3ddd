/* pair.c: transfers between a leader and its partner.
 *
 * Before each transfer, the receiver tells the sender by an empty message that it is ready. The
 * time of that is not counted. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ticks.h"
#include "overhead.h"

enum { ORDER_TAG = 1, READY_TAG, DATA_TAG, TIME_TAG, HOST_TAG, HOST_BYTES = 64 };

/* A rank that does not answer for PATIENCE_S, and 10 ms more for each iteration, is taken for dead:
 * SIGALRM ends the program. */
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

struct role {
	int32_t partner, leads;
};
static struct role role;

/* On rank 0: the ranks, node by node; its own node comes first. Number p leads pair p, and number
 * p + size/2 is its partner: on another node, unless one node has more than half of the ranks. */
static int *by_node;

static int half(void)
{
	return je_mpi.size / 2;
}

static void sort_by_node(char (*hosts)[HOST_BYTES])
{
	for (int rank = 0, n = 0; n < je_mpi.size; rank++) {
		bool seen = false;

		for (int before = 0; before < rank && !seen; before++)
			seen = strcmp(hosts[before], hosts[rank]) == 0;
		for (int other = rank; other < je_mpi.size && !seen; other++)
			if (strcmp(hosts[other], hosts[rank]) == 0)
				by_node[n++] = other;
	}
}

/* Tells a rank its role; rank 0 knows its own. */
static void give_role(int rank, int partner, bool leads)
{
	struct role given = { .partner = partner, .leads = leads };

	if (rank == 0)
		role = given;
	else
		send_bytes(&given, sizeof(given), rank, HOST_TAG);
}

static void make_pairs(const char *host)
{
	char(*hosts)[HOST_BYTES] = calloc((size_t)je_mpi.size, HOST_BYTES);

	by_node = calloc((size_t)je_mpi.size, sizeof(*by_node));
	if (hosts == NULL || by_node == NULL)
		je_fail(JE_FAILED, "there is no memory for the names of %d hosts", je_mpi.size);
	memcpy(hosts[0], host, HOST_BYTES);
	for (int rank = 1; rank < je_mpi.size; rank++)
		receive_bytes(hosts[rank], HOST_BYTES, rank, HOST_TAG);
	sort_by_node(hosts);
	for (int pair = 0; pair < half(); pair++) {
		int leader = by_node[pair], other = by_node[pair + half()];

		give_role(leader, other, true);
		give_role(other, leader, false);
	}
	nodes = strcmp(hosts[0], hosts[role.partner]) == 0 ? 1 : 2;
	free(hosts);
}

/* Rank 0 pairs the ranks by the names of their hosts. */
static void find_partner(void)
{
	char host[HOST_BYTES] = "";

	gethostname(host, sizeof(host) - 1);
	if (je_mpi.rank == 0) {
		make_pairs(host);
		return;
	}
	send_bytes(host, sizeof(host), 0, HOST_TAG);
	receive_bytes(&role, sizeof(role), 0, HOST_TAG);
}

void je_pairs_begin(bool all, const int *sizes, int n_sizes, int iterations)
{
	size_t largest = 0;

	pairs = all ? half() : 1;
	for (int i = 0; i < n_sizes; i++)
		if ((size_t)sizes[i] > largest)
			largest = (size_t)sizes[i];
	buffer = malloc(largest);
	times = calloc((size_t)iterations, sizeof(*times));
	if (buffer == NULL || times == NULL)
		je_fail(JE_FAILED, "there is no memory for a message of %zu bytes", largest);
	memset(buffer, 1, largest); /* its pages exist before the first transfer */
	find_partner();
}

static void ready(int to)
{
	send_bytes(buffer, 0, to, READY_TAG);
}

static void await_ready(int from)
{
	receive_bytes(buffer, 0, from, READY_TAG);
}

/* Reads the clock when all instructions before are done. Without the fence a processor begins to
 * work, or reads the clock, while it still starts a small transfer. */
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
	int other = role.partner;

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
	int other = role.partner;

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

/* Sends an order to the first pairs. */
static void tell(const struct je_order *order, int n)
{
	for (int pair = 0; pair < n; pair++) {
		if (pair > 0)
			send_bytes(order, sizeof(*order), by_node[pair], ORDER_TAG);
		send_bytes(order, sizeof(*order), by_node[pair + half()], ORDER_TAG);
	}
}

double je_pairs_do(const struct je_order *order)
{
	alarm(PATIENCE_S + (unsigned)(order->iterations / 100));
	tell(order, pairs);

	double us, sum = lead(order);

	for (int pair = 1; pair < pairs; pair++) {
		receive_bytes(&us, sizeof(us), by_node[pair], TIME_TAG);
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
		if (role.leads != 0) {
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

	tell(&end, half());
	alarm(0);
}
