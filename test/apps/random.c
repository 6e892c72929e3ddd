/* random.c: a random sequence of calls, the same on all ranks and for the same seed.
 *
 *   random SEED CALLS
 *
 * Communicators and datatypes come and go, so that MPI gives their handles away again. It prints
 * what it called, and the bytes. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "tally.h"

/* CALL(name, sent, received, arguments) */
#define CALL(name, sent, received, ...)       \
	do {                                  \
		MPI_##name(__VA_ARGS__);      \
		tally(#name, sent, received); \
	} while (0)

enum { COMMS = 4, TYPES = 4, MOST = 8, RANKS = 8, LONGEST = 6 };

static uint64_t state;
static MPI_Comm comms[COMMS];
static MPI_Datatype types[TYPES];
static int lengths[TYPES]; /* integers in each */
static int a[MOST * RANKS * LONGEST], b[MOST * RANKS * LONGEST];

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static void make_comm(int i)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (below(2) == 0)
		CALL(Comm_dup, 0, 0, MPI_COMM_WORLD, &comms[i]);
	else
		CALL(Comm_split, 0, 0, MPI_COMM_WORLD, rank % 2, -rank, &comms[i]);
}

static void make_type(int i)
{
	lengths[i] = 1 + (int)below(LONGEST);
	MPI_Type_contiguous(lengths[i], MPI_INT, &types[i]);
	MPI_Type_commit(&types[i]);
}

static void change(void)
{
	int i;

	if (below(2) == 0) {
		i = (int)below(COMMS);
		CALL(Comm_free, 0, 0, &comms[i]);
		make_comm(i);
	} else {
		i = (int)below(TYPES);
		MPI_Type_free(&types[i]);
		make_type(i);
	}
}

/* What the calls below share. Root is rank 0, which each communicator has. */
static struct {
	MPI_Comm comm;
	MPI_Datatype type;
	int rank, size, n, counts[RANKS], places[RANKS];
	long each, all, mine, sum; /* bytes of n elements, for one rank and for all; of counts[] */
	long ints;		   /* bytes of n integers */
	void *from, *from_root, *to_root;
} now;

static void choose(void)
{
	int kind = (int)below(TYPES), in_place = (int)below(2);
	long one = lengths[kind] * (long)sizeof(int);

	now.comm = comms[below(COMMS)];
	now.type = types[kind];
	now.n = (int)below(MOST);
	MPI_Comm_rank(now.comm, &now.rank);
	MPI_Comm_size(now.comm, &now.size);
	now.sum = 0;
	for (int i = 0; i < RANKS; i++) {
		now.counts[i] = (int)below(MOST);
		now.places[i] = i * MOST;
		now.sum += i < now.size ? now.counts[i] * one : 0;
	}
	now.each = now.n * one;
	now.all = now.each * now.size;
	now.mine = now.counts[now.rank] * one;
	now.ints = now.n * (long)sizeof(int);
	now.from = in_place ? MPI_IN_PLACE : a;
	now.from_root = now.rank == 0 && in_place ? MPI_IN_PLACE : a;
	now.to_root = now.rank == 0 && in_place ? MPI_IN_PLACE : b;
}

static long at_root(long bytes)
{
	return now.rank == 0 ? bytes : 0;
}

static void rooted(void)
{
	int n = now.n;

	switch (below(6)) {
	case 0:
		CALL(Bcast, at_root(now.each), now.each - at_root(now.each), a, n, now.type, 0,
		     now.comm);
		break;
	case 1:
		CALL(Gather, now.each, at_root(now.all), now.from_root, n, now.type, b, n, now.type,
		     0, now.comm);
		break;
	case 2:
		CALL(Gatherv, now.mine, at_root(now.sum), now.from_root, now.counts[now.rank],
		     now.type, b, now.counts, now.places, now.type, 0, now.comm);
		break;
	case 3:
		CALL(Scatter, at_root(now.all), now.each, a, n, now.type, now.to_root, n, now.type,
		     0, now.comm);
		break;
	case 4:
		CALL(Scatterv, at_root(now.sum), now.mine, a, now.counts, now.places, now.type,
		     now.to_root, now.counts[now.rank], now.type, 0, now.comm);
		break;
	default:
		CALL(Reduce, now.ints, at_root(now.ints), now.from_root, b, n, MPI_INT, MPI_SUM, 0,
		     now.comm);
	}
}

static void among_all(void)
{
	int n = now.n;

	switch (below(8)) {
	case 0:
		CALL(Allgather, now.each, now.all, now.from, n, now.type, b, n, now.type, now.comm);
		break;
	case 1:
		CALL(Allgatherv, now.mine, now.sum, now.from, now.counts[now.rank], now.type, b,
		     now.counts, now.places, now.type, now.comm);
		break;
	case 2:
		CALL(Alltoall, now.all, now.all, now.from, n, now.type, b, n, now.type, now.comm);
		break;
	case 3:
		for (int i = 0; i < RANKS; i++)
			now.counts[i] = n;
		CALL(Alltoallv, now.all, now.all, now.from, now.counts, now.places, now.type, b,
		     now.counts, now.places, now.type, now.comm);
		break;
	case 4:
		CALL(Allreduce, now.ints, now.ints, now.from, b, n, MPI_INT, MPI_SUM, now.comm);
		break;
	case 5:
		CALL(Reduce_scatter_block, now.ints * now.size, now.ints, now.from, b, n, MPI_INT,
		     MPI_SUM, now.comm);
		break;
	case 6:
		CALL(Scan, now.ints, now.ints, now.from, b, n, MPI_INT, MPI_SUM, now.comm);
		break;
	default:
		CALL(Barrier, 0, 0, now.comm);
	}
}

static void begun(void)
{
	MPI_Request request;

	switch (below(3)) {
	case 0:
		CALL(Ibcast, at_root(now.each), now.each - at_root(now.each), a, now.n, now.type, 0,
		     now.comm, &request);
		break;
	case 1:
		CALL(Ialltoall, now.all, now.all, now.from, now.n, now.type, b, now.n, now.type,
		     now.comm, &request);
		break;
	default:
		CALL(Iallgatherv, now.mine, now.sum, now.from, now.counts[now.rank], now.type, b,
		     now.counts, now.places, now.type, now.comm, &request);
	}
	CALL(Wait, 0, 0, &request, MPI_STATUS_IGNORE);
}

/* A ring of the communicator; its ends may be open. */
static void ring(void)
{
	int open = (int)below(2), size = now.size, rank = now.rank;
	int next = rank + 1 < size ? rank + 1 : open ? MPI_PROC_NULL : 0;
	int last = rank > 0 ? rank - 1 : open ? MPI_PROC_NULL : size - 1;
	long sent = next == MPI_PROC_NULL ? 0 : now.each,
	     got = last == MPI_PROC_NULL ? 0 : now.each;
	MPI_Request requests[2];

	if (below(2) == 0) {
		CALL(Sendrecv, sent, got, a, now.n, now.type, next, 0, b, now.n, now.type, last, 0,
		     now.comm, MPI_STATUS_IGNORE);
		return;
	}
	CALL(Irecv, 0, got, b, now.n, now.type, last, 0, now.comm, &requests[0]);
	CALL(Isend, sent, 0, a, now.n, now.type, next, 0, now.comm, &requests[1]);
	CALL(Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	static void (*const what[])(void) = { rooted, among_all, begun, ring };

	MPI_Init(&argc, &argv);
	state = strtoull(argv[1], NULL, 10);
	for (int i = 0; i < COMMS; i++)
		make_comm(i);
	for (int i = 0; i < TYPES; i++)
		make_type(i);
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
		if (below(10) == 0)
			change();
		choose();
		what[below(4)]();
	}
	MPI_Finalize();
	tally_print();
	return 0;
}
