/* counts.c: calls of known number and size in C on two ranks, each noted as it is made. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include "endmpi.h"
#include "tally.h"

enum { RANKS = 2, INTS = 25, BYTES = INTS * 4 };

#define W MPI_COMM_WORLD
#define NOWHERE MPI_PROC_NULL
#define IGNORE MPI_STATUS_IGNORE
/* CALL(name, sent, received, arguments) */
#define CALL(name, sent, received, ...)       \
	do {                                  \
		MPI_##name(__VA_ARGS__);      \
		tally(#name, sent, received); \
	} while (0)

static int rank, other, a[INTS * RANKS], b[INTS * RANKS];

static void blocking(void)
{
	MPI_Message message;
	MPI_Status status;
	static char room[4096];

	if (rank == 0) {
		CALL(Send, BYTES, 0, a, INTS, MPI_INT, 1, 1, W);
		CALL(Ssend, BYTES, 0, a, INTS, MPI_INT, 1, 2, W);
		MPI_Buffer_attach(room, sizeof(room));
		CALL(Bsend, BYTES, 0, a, INTS, MPI_INT, 1, 3, W);
		void *back;
		int bytes;
		CALL(Buffer_detach, 0, 0, &back, &bytes);
		CALL(Send, 8, 0, a, 1, MPI_DOUBLE, 1, 4, W);
	} else {
		CALL(Recv, 0, BYTES, b, INTS, MPI_INT, 0, 1, W, IGNORE);
		CALL(Probe, 0, 0, 0, 2, W, &status);
		CALL(Recv, 0, BYTES, b, INTS, MPI_INT, 0, 2, W, IGNORE);
		CALL(Recv, 0, BYTES, b, INTS, MPI_INT, 0, 3, W, IGNORE);
		CALL(Mprobe, 0, 0, 0, 4, W, &message, &status);
		CALL(Mrecv, 0, 8, b, 1, MPI_DOUBLE, &message, IGNORE);
	}
	CALL(Sendrecv, BYTES, BYTES, a, INTS, MPI_INT, other, 5, b, INTS, MPI_INT, other, 5, W,
	     IGNORE);
	CALL(Sendrecv, rank ? BYTES : 0, rank ? 0 : BYTES, a, INTS, MPI_INT, rank ? 0 : NOWHERE, 6,
	     b, INTS, MPI_INT, rank ? NOWHERE : 1, 6, W, IGNORE);
	CALL(Sendrecv_replace, BYTES, BYTES, a, INTS, MPI_INT, other, 7, other, 7, W, IGNORE);
	CALL(Send, 0, 0, a, INTS, MPI_INT, NOWHERE, 8, W);
	CALL(Recv, 0, 0, a, INTS, MPI_INT, NOWHERE, 8, W, IGNORE);
	CALL(Send, 0, 0, a, 0, MPI_INT, NOWHERE, 8, W);
}

static void nonblocking(void)
{
	MPI_Request requests[2];
	MPI_Message message;
	int flag = 0, index;

	CALL(Irecv, 0, BYTES, b, INTS, MPI_INT, other, 1, W, &requests[0]);
	CALL(Isend, BYTES, 0, a, INTS, MPI_INT, other, 1, W, &requests[1]);
	CALL(Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
	CALL(Isend, BYTES, 0, a, INTS, MPI_INT, other, 2, W, &requests[0]);
	while (!flag)
		CALL(Improbe, 0, 0, other, 2, W, &flag, &message, IGNORE);
	CALL(Imrecv, 0, BYTES, b, INTS, MPI_INT, &message, &requests[1]);
	CALL(Waitany, 0, 0, 2, requests, &index, IGNORE);
	for (flag = 0; !flag;)
		CALL(Testall, 0, 0, 2, requests, &flag, MPI_STATUSES_IGNORE);
	CALL(Issend, BYTES, 0, a, INTS, MPI_INT, other, 3, W, &requests[0]);
	for (flag = 0; !flag;)
		CALL(Iprobe, 0, 0, other, 3, W, &flag, IGNORE);
	CALL(Recv, 0, BYTES, b, INTS, MPI_INT, other, 3, W, IGNORE);
	for (flag = 0; !flag;)
		CALL(Test, 0, 0, &requests[0], &flag, IGNORE);
	CALL(Send_init, 0, 0, a, INTS, MPI_INT, other, 4, W, &requests[0]);
	CALL(Recv_init, 0, 0, b, INTS, MPI_INT, other, 4, W, &requests[1]);
	CALL(Startall, 0, 0, 2, requests);
	CALL(Wait, 0, 0, &requests[0], IGNORE);
	CALL(Wait, 0, 0, &requests[1], IGNORE);
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

static void collective(void)
{
	int counts[RANKS] = { 10, 20 }, at[RANKS] = { 0, 10 };
	int mine = counts[rank], root = rank == 0;

	CALL(Barrier, 0, 0, W);
	CALL(Bcast, root ? BYTES : 0, root ? 0 : BYTES, a, INTS, MPI_INT, 0, W);
	CALL(Reduce, BYTES, root ? BYTES : 0, a, b, INTS, MPI_INT, MPI_SUM, 0, W);
	CALL(Allreduce, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, W);
	CALL(Allreduce, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	CALL(Scan, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, W);
	CALL(Exscan, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, W);
	CALL(Gather, BYTES, root ? 2 * BYTES : 0, a, INTS, MPI_INT, b, root ? INTS : -7,
	     root ? MPI_INT : MPI_DATATYPE_NULL, 0, W);
	CALL(Gatherv, 4 * mine, root ? 120 : 0, a, mine, MPI_INT, b, counts, at, MPI_INT, 0, W);
	CALL(Scatter, root ? 2 * BYTES : 0, BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, 0, W);
	CALL(Scatterv, root ? 120 : 0, 4 * mine, a, counts, at, MPI_INT, b, mine, MPI_INT, 0, W);
	CALL(Allgather, BYTES, 2 * BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, W);
	CALL(Allgather, BYTES, 2 * BYTES, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, INTS, MPI_INT, W);
	CALL(Allgatherv, 4 * mine, 120, a, mine, MPI_INT, b, counts, at, MPI_INT, W);
	CALL(Allgatherv, 4 * mine, 120, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, at, MPI_INT,
	     W);
	CALL(Alltoall, 2 * BYTES, 2 * BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, W);
	CALL(Reduce_scatter, 120, 4 * mine, a, b, counts, MPI_INT, MPI_SUM, W);
	CALL(Reduce_scatter_block, 2 * BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, W);
	if (root) {
		CALL(Gather, BYTES, 2 * BYTES, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, b, INTS,
		     MPI_INT, 0, W);
		CALL(Scatter, 2 * BYTES, BYTES, a, INTS, MPI_INT, MPI_IN_PLACE, -7, MPI_INT, 0, W);
	} else {
		CALL(Gather, BYTES, 0, a, INTS, MPI_INT, NULL, -7, MPI_DATATYPE_NULL, 0, W);
		CALL(Scatter, 0, BYTES, NULL, -7, MPI_DATATYPE_NULL, b, INTS, MPI_INT, 0, W);
	}
}

static void vectors(void)
{
	int give[RANKS] = { 3, 5 }, take[RANKS], at[RANKS] = { 0, 40 };
	MPI_Datatype ints[RANKS] = { MPI_INT, MPI_INT };
	MPI_Request request;
	int sent = 4 * 8, received;

	take[0] = take[1] = give[rank];
	received = 8 * give[rank];
	CALL(Alltoallv, sent, received, a, give, at, MPI_INT, b, take, at, MPI_INT, W);
	CALL(Alltoallw, sent, received, a, give, at, ints, b, take, at, ints, W);
	CALL(Ialltoallv, sent, received, a, give, at, MPI_INT, b, take, at, MPI_INT, W, &request);
	CALL(Wait, 0, 0, &request, IGNORE);
	CALL(Ibarrier, 0, 0, W, &request);
	CALL(Wait, 0, 0, &request, IGNORE);
	CALL(Iallreduce, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, W, &request);
	CALL(Wait, 0, 0, &request, IGNORE);
	CALL(Ibcast, rank ? 0 : BYTES, rank ? BYTES : 0, a, INTS, MPI_INT, 0, W, &request);
	CALL(Wait, 0, 0, &request, IGNORE);
}

/* A datatype's handle may be used again for another one after it was freed. */
static void datatypes(void)
{
	for (int n = 1; n <= 5; n++) {
		MPI_Datatype type;

		MPI_Type_contiguous(n, MPI_INT, &type);
		MPI_Type_commit(&type);
		CALL(Sendrecv, 8 * n, 8 * n, a, 2, type, other, 1, b, 2, type, other, 1, W, IGNORE);
		MPI_Type_free(&type);
	}
	CALL(Sendrecv, 3 * 8, 5 * 8, a, 3, MPI_DOUBLE, other, 1, b, 5, MPI_DOUBLE, other, 1, W,
	     IGNORE);
}

static void communicators(void)
{
	MPI_Comm ring, copy, half;
	int dims = RANKS, periodic = 1;

	CALL(Cart_create, 0, 0, W, 1, &dims, &periodic, 0, &ring);
	CALL(Neighbor_allgather, 2 * 4, 2 * 4, a, 1, MPI_INT, b, 1, MPI_INT, ring);
	CALL(Neighbor_alltoall, 2 * 4, 2 * 4, a, 1, MPI_INT, b, 1, MPI_INT, ring);
	CALL(Comm_dup, 0, 0, W, &copy);
	CALL(Comm_split, 0, 0, W, rank, 0, &half);
	CALL(Allreduce, 8, 8, a, b, 1, MPI_DOUBLE, MPI_SUM, half);
	CALL(Comm_free, 0, 0, &half);
	CALL(Comm_free, 0, 0, &copy);
	CALL(Comm_free, 0, 0, &ring);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(W, &rank);
	other = 1 - rank;
	blocking();
	nonblocking();
	collective();
	vectors();
	datatypes();
	communicators();
	CALL(Barrier, 0, 0, W);
	tally_print(); /* before MPI_Finalize, which may hang */
	fflush(stdout);
	usleep(200000); /* MPICH 4.0's MPI_Finalize hangs seldom after that */
	end_mpi();
	return 0;
}
