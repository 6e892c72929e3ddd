/* bypass.c: makes and frees communicators past the library, so that MPI uses a handle again for
 * another one: of fewer ranks, in another order, an intercommunicator, a graph. Each array ends
 * where the program's memory ends, and what a call ignores is garbage. Four ranks.
 *
 * With an argument it sleeps between calls.
 *
 *   -DTOOL    a PMPI tool for LD_PRELOAD, in front of the library
 *   -DLINKED  the same tool linked into the program
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(TOOL) || defined(LINKED)
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *new)
{
	return PMPI_Comm_split(comm, color, key, new);
}

int MPI_Comm_free(MPI_Comm *comm)
{
	return PMPI_Comm_free(comm);
}

int MPI_Intercomm_create(MPI_Comm own, int leader, MPI_Comm peers, int other, int tag,
			 MPI_Comm *new)
{
	return PMPI_Intercomm_create(own, leader, peers, other, tag, new);
}

int MPI_Graph_create(MPI_Comm comm, int n, const int *index, const int *edges, int reorder,
		     MPI_Comm *new)
{
	return PMPI_Graph_create(comm, n, index, edges, reorder, new);
}
#endif

#ifndef TOOL
#include "tally.h"

enum { RANKS = 4, INT = sizeof(int) };

static int rank; /* of MPI_COMM_WORLD */
static MPI_Datatype wild;

/* n numbers before memory that may not be touched */
static int *at_end(int n, int value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *first = (int *)(pages + page) - n;

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
		exit(3);
	for (int i = 0; i < n; i++)
		first[i] = value < 0 ? i : value;
	return first;
}

static MPI_Datatype *types_at_end(int n)
{
	MPI_Datatype *types =
		(MPI_Datatype *)at_end(n * (int)(sizeof(MPI_Datatype) / sizeof(int)), 0);

	for (int i = 0; i < n; i++)
		types[i] = MPI_INT;
	return types;
}

static void wait_for(MPI_Request request)
{
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	tally("Wait", 0, 0);
}

static useconds_t nap; /* before each call: so long that it is due to note the sums of a moment */

/* `own` ranks on this side, `n` on the side with which it exchanges data */
static void use_flat(MPI_Comm comm, int n, int own)
{
	int from[RANKS] = { 0 }, to[RANKS], *ones = at_end(n, 1), *at = at_end(n, -1);
	MPI_Request request;

	usleep(nap);
	MPI_Allgatherv(from, 1, MPI_INT, to, ones, at, MPI_INT, comm);
	tally("Allgatherv", INT, n * INT);
	usleep(nap);
	MPI_Alltoallv(from, ones, at, MPI_INT, to, ones, at, MPI_INT, comm);
	tally("Alltoallv", n * INT, n * INT);
	usleep(nap);
	MPI_Alltoallw(from, ones, at_end(n, 0), types_at_end(n), to, ones, at_end(n, 0),
		      types_at_end(n), comm);
	tally("Alltoallw", n * INT, n * INT);
	usleep(nap);
	MPI_Ialltoallv(from, ones, at, MPI_INT, to, ones, at, MPI_INT, comm, &request);
	tally("Ialltoallv", n * INT, n * INT);
	wait_for(request);
	if (own != n)
		return;
	MPI_Reduce_scatter(from, to, ones, MPI_INT, MPI_SUM, comm);
	tally("Reduce_scatter", n * INT, INT);
	MPI_Allgatherv(MPI_IN_PLACE, 0, wild, to, ones, at, MPI_INT, comm);
	tally("Allgatherv", INT, n * INT);
}

/* What only the root's call reads, other ranks do not have. */
static void use_rooted(MPI_Comm comm, int n, int me)
{
	int from[RANKS] = { 0 }, to[RANKS], one;
	int *ones = me == 0 ? at_end(n, 1) : NULL, *at = me == 0 ? at_end(n, -1) : NULL;
	MPI_Datatype type = me == 0 ? MPI_INT : wild;
	MPI_Request request;
	long all = me == 0 ? n * INT : 0;

	MPI_Gatherv(&one, 1, MPI_INT, to, ones, at, type, 0, comm);
	tally("Gatherv", INT, all);
	MPI_Igatherv(&one, 1, MPI_INT, to, ones, at, type, 0, comm, &request);
	tally("Igatherv", INT, all);
	wait_for(request);
	MPI_Scatterv(from, ones, at, type, &one, 1, MPI_INT, 0, comm);
	tally("Scatterv", all, INT);
	MPI_Gather(&one, 1, MPI_INT, to, me == 0 ? 1 : 77, type, 0, comm);
	tally("Gather", INT, all);
	MPI_Scatter(from, me == 0 ? 1 : 77, type, &one, 1, MPI_INT, 0, comm);
	tally("Scatter", all, INT);
}

static void use_flat_and_rooted(MPI_Comm comm)
{
	int n, me;

	PMPI_Comm_size(comm, &n);
	PMPI_Comm_rank(comm, &me);
	use_flat(comm, n, n);
	use_rooted(comm, n, me);
}

static int reused;

/* Notes the handle of a communicator, and whether the one before had it. */
static void note(MPI_Comm comm)
{
	static uintptr_t last;

	reused += last == (uintptr_t)comm;
	last = (uintptr_t)comm;
}

/* Uses a communicator of all ranks, in reverse order, and frees it. */
static void use_all(void)
{
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
	note(comm);
	use_flat_and_rooted(comm);
	MPI_Comm_free(&comm);
}

static void use_half(void)
{
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comm);
	note(comm);
	use_flat_and_rooted(comm);
	MPI_Comm_free(&comm);
}

/* Ranks 0 and 1 .. 3 face each other. */
static void use_inter(MPI_Comm side)
{
	MPI_Comm comm;
	int others = rank == 0 ? RANKS - 1 : 1, from[RANKS] = { 0 };
	int *ones = at_end(RANKS - 1, 1), *at = at_end(RANKS - 1, -1);

	MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &comm);
	note(comm);
	use_flat(comm, others, RANKS - others);
	if (rank == 0)
		MPI_Gatherv(NULL, 0, wild, from, ones, at, MPI_INT, MPI_ROOT, comm);
	else
		MPI_Gatherv(from, 1, MPI_INT, NULL, NULL, NULL, wild, 0, comm);
	tally("Gatherv", 0, 0);
	MPI_Comm_free(&comm);
}

/* Ranks 0 and 1 are neighbours. */
static void use_graph(void)
{
	static const int index[] = { 1, 2 }, edges[] = { 1, 0 };
	int from = 0, to, *one = at_end(1, 1), *at = at_end(1, 0);
	MPI_Comm comm;

	MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm);
	if (comm == MPI_COMM_NULL)
		return;
	note(comm);
	MPI_Neighbor_alltoallv(&from, one, at, MPI_INT, &to, one, at, MPI_INT, comm);
	tally("Neighbor_alltoallv", INT, INT);
	MPI_Neighbor_allgatherv(&from, 1, MPI_INT, &to, one, at, MPI_INT, comm);
	tally("Neighbor_allgatherv", INT, INT);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	MPI_Comm side;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	nap = argc > 1 ? 40000 : 0;
	wild = (MPI_Datatype)(sizeof(wild) == sizeof(int) ? 0x12345678 : (uintptr_t)at_end(0, 0));
	PMPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &side);
	use_all();
	use_half();
	use_all();
	use_inter(side);
	use_all();
	use_graph();
	PMPI_Comm_free(&side);
	tally_print();
	MPI_Finalize();
	return reused > 0 ? 0 : 4; /* else the run shows nothing */
}
#endif
