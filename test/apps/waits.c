/* waits.c PROGRAM ROUNDS: programs of which it is known why their ranks wait. Work is sleep, on the
 * clock of virtualclock.c, which also makes the network slow. Each round ends with an Allreduce.
 * The names stand at the end; test/trial/waits.go has what each must come to. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "endmpi.h"

static int rank, size;

static void work(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static int left(void)
{
	return (rank + size - 1) % size;
}

static int right(void)
{
	return (rank + 1) % size;
}

static void send(int to, int tag)
{
	MPI_Send(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static int receive(int from, int tag)
{
	MPI_Status status;
	int got;

	MPI_Recv(&got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
	return got;
}

/* Rank 0 is late, and each rank begins when the one before is done. Before it, none waits. */
static void chain(int round)
{
	MPI_Sendrecv(&rank, 1, MPI_INT, right(), 2, &round, 1, MPI_INT, left(), 2, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	if (rank > 0)
		MPI_Recv(&round, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, /* HERE waits */
			 MPI_STATUS_IGNORE);
	work(rank == 0 ? 100 : 50);
	if (rank < size - 1)
		MPI_Send(&round, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD); /* HERE late */
}

static void turns(int round)
{
	work((round + rank) % 2 ? 50 : 100);
}

static void sendrecv(int round)
{
	int got;

	(void)round;
	work(50);
	MPI_Sendrecv(&rank, 1, MPI_INT, right(), 2, &got, 1, MPI_INT, left(), 2, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

static void pingpong(int round)
{
	(void)round;
	for (int turn = 0; turn < 2; turn++) {
		if (turn == rank) {
			work(50);
			send(1 - rank, turn);
		} else {
			receive(1 - rank, turn);
		}
	}
}

/* Begins an exchange of halos with both neighbours. */
static void halo(MPI_Request requests[4], int got[2])
{
	MPI_Irecv(&got[0], 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&got[1], 1, MPI_INT, right(), 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(&rank, 1, MPI_INT, right(), 1, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(&rank, 1, MPI_INT, left(), 2, MPI_COMM_WORLD, &requests[3]);
}

static void stencil(int round)
{
	MPI_Request requests[4];
	int got[2];

	(void)round;
	halo(requests, got);
	work(100);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Who receives works on. */
static void tree(int round)
{
	(void)round;
	work(50);
	for (int step = 1; step < size; step *= 2) {
		if (rank & step) {
			send(rank - step, step);
			return;
		}
		receive(rank + step, step);
		work(50);
	}
}

static void wildcard(int round)
{
	(void)round;
	if (rank > 0) {
		work(50 * rank);
		send(0, rank);
		return;
	}
	for (int i = 1; i < size; i++)
		receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
	work(50);
}

/* Four ranks: rows reduce, and then columns. */
static void subcomm(int round)
{
	static MPI_Comm row, column;

	if (round == 0) {
		MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
	}
	work(50 * (rank + 1));
	MPI_Barrier(row);
	work(50 * (4 - rank));
	MPI_Barrier(column);
}

static void persistent(int round)
{
	static MPI_Request requests[2];
	static int got;

	if (round == 0) {
		MPI_Send_init(&rank, 1, MPI_INT, right(), 3, MPI_COMM_WORLD, &requests[0]);
		MPI_Recv_init(&got, 1, MPI_INT, left(), 3, MPI_COMM_WORLD, &requests[1]);
	}
	MPI_Startall(2, requests);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	work(100);
}

/* Rank 0 works on what comes first; the last rank is the first. */
static void some(int all)
{
	MPI_Request requests[3];
	int got[3], which[3], done = 0, n;

	if (rank > 0) {
		work(200 - 50 * rank);
		send(0, 1);
		return;
	}
	for (int i = 0; i < 3; i++)
		MPI_Irecv(&got[i], 1, MPI_INT, i + 1, 1, MPI_COMM_WORLD, &requests[i]);
	while (done < 3) {
		n = 1;
		if (all)
			MPI_Waitsome(3, requests, &n, which, MPI_STATUSES_IGNORE);
		else
			MPI_Waitany(3, requests, which, MPI_STATUS_IGNORE);
		done += n;
		work(50 * n);
	}
}

static void waitany(int round)
{
	(void)round;
	some(0);
}

static void waitsome(int round)
{
	(void)round;
	some(1);
}

/* Each rank sends before the Allreduce what its peer receives after it. */
static void across(int round)
{
	if (round > 0)
		receive(left(), 1);
	work(50);
	send(right(), 1);
}

static const struct {
	const char *name;
	void (*run)(int round);
} programs[] = {
	{ "chain", chain },	  { "turns", turns },	    { "sendrecv", sendrecv },
	{ "pingpong", pingpong }, { "stencil", stencil },   { "tree", tree },
	{ "wildcard", wildcard }, { "subcomm", subcomm },   { "persistent", persistent },
	{ "waitany", waitany },	  { "waitsome", waitsome }, { "across", across },
};

int main(int argc, char **argv)
{
	void (*run)(int) = NULL;
	int one = 1, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (unsigned i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (strcmp(programs[i].name, argv[1]) == 0)
			run = programs[i].run;
	if (run == NULL)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int round = 0; round < atoi(argv[2]); round++) {
		run(round);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	if (run == across)
		receive(left(), 1);
	end_mpi();
	return 0;
}
