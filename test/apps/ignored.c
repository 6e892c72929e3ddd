/* ignored.c TYPE: calls whose arguments MPI ignores in part, made by three ranks with garbage
 * there. TYPE says which garbage a datatype is: "null" MPI_DATATYPE_NULL, "wild" no handle at all,
 * "freed" a datatype that was freed. Whoever asks MPI about such an argument ends the job. The
 * calls are noted as they are made, with the bytes that truly move. -DMPI4: also the forms with
 * MPI_Count. */
#include <mpi.h>
#include <stdlib.h>

#include "tally.h"

enum { RANKS = 3, INTS = 25, BYTES = INTS * 4 };

#define W MPI_COMM_WORLD
#define NOTED(name, sent, received, ...)      \
	do {                                  \
		MPI_##name(__VA_ARGS__);      \
		tally(#name, sent, received); \
	} while (0)
#define AWAITED(name, sent, received, ...)                          \
	do {                                                        \
		NOTED(name, sent, received, __VA_ARGS__, &request); \
		NOTED(Wait, 0, 0, &request, MPI_STATUS_IGNORE);     \
	} while (0)

static int rank, next, a[INTS * RANKS], b[INTS * RANKS];
static int counts[RANKS] = { INTS, INTS, INTS }, at[RANKS] = { 0, INTS, 2 * INTS };
static int at_bytes[RANKS] = { 0, BYTES, 2 * BYTES };
static MPI_Datatype ints[RANKS] = { MPI_INT, MPI_INT, MPI_INT };
static MPI_Datatype bad;
static void *const nowhere = (void *)64; /* an address that nobody may read */
static int *const no_counts = (int *)64;
static MPI_Datatype *const no_types = (MPI_Datatype *)64;
static MPI_Request request;

/* Fortran's names, called from C: with these, every argument is an address. */
void mpi_get_accumulate_(void *, int *, int *, void *, int *, int *, int *, MPI_Aint *, int *,
			 int *, int *, int *, int *);

static void fortran_no_op(MPI_Win win)
{
	int n = INTS, type = MPI_Type_c2f(MPI_INT), op = MPI_Op_c2f(MPI_NO_OP), error;
	int handle = MPI_Win_c2f(win), nothing = MPI_Type_c2f(MPI_DATATYPE_NULL);
	MPI_Aint zero = 0;

	mpi_get_accumulate_(a, &n, &nothing, b, &n, &type, &next, &zero, &n, &type, &op, &handle,
			    &error);
	tally("Get_accumulate", 0, BYTES);
}

/* One-sided, to MPI_PROC_NULL: nothing moves. */
static void to_nobody(MPI_Win win)
{
	const int null = MPI_PROC_NULL;

	NOTED(Put, 0, 0, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT, win);
	NOTED(Get, 0, 0, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT, win);
	NOTED(Accumulate, 0, 0, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT, MPI_SUM, win);
	NOTED(Get_accumulate, 0, 0, nowhere, INTS, MPI_INT, nowhere, INTS, MPI_INT, null, 0, INTS,
	      MPI_INT, MPI_SUM, win);
	NOTED(Get_accumulate, 0, 0, NULL, 7, bad, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT,
	      MPI_NO_OP, win);
	NOTED(Fetch_and_op, 0, 0, nowhere, nowhere, MPI_INT, null, 0, MPI_SUM, win);
	NOTED(Compare_and_swap, 0, 0, nowhere, nowhere, nowhere, MPI_INT, null, 0, win);
	AWAITED(Rput, 0, 0, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT, win);
	AWAITED(Rget, 0, 0, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT, win);
	AWAITED(Raccumulate, 0, 0, nowhere, INTS, MPI_INT, null, 0, INTS, MPI_INT, MPI_SUM, win);
	AWAITED(Rget_accumulate, 0, 0, nowhere, INTS, MPI_INT, nowhere, INTS, MPI_INT, null, 0,
		INTS, MPI_INT, MPI_SUM, win);
}

/* MPI_NO_OP: origin address, count and datatype. */
static void no_op(void)
{
	static int room[INTS];
	MPI_Win win;
	int old;

	NOTED(Win_create, 0, 0, room, sizeof(room), 4, MPI_INFO_NULL, W, &win);
	NOTED(Win_lock_all, 0, 0, 0, win);
	NOTED(Get_accumulate, 0, BYTES, NULL, 7, bad, b, INTS, MPI_INT, next, 0, INTS, MPI_INT,
	      MPI_NO_OP, win);
	AWAITED(Rget_accumulate, 0, BYTES, NULL, 7, bad, b, INTS, MPI_INT, next, 0, INTS, MPI_INT,
		MPI_NO_OP, win);
	NOTED(Get_accumulate, BYTES, BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, next, 0, INTS,
	      MPI_INT, MPI_REPLACE, win);
	NOTED(Fetch_and_op, 0, 4, NULL, &old, MPI_INT, next, 0, MPI_NO_OP, win);
	NOTED(Fetch_and_op, 4, 4, a, &old, MPI_INT, next, 0, MPI_SUM, win);
	fortran_no_op(win);
#ifdef MPI4
	NOTED(Get_accumulate_c, 0, BYTES, NULL, 7, bad, b, INTS, MPI_INT, next, 0, INTS, MPI_INT,
	      MPI_NO_OP, win);
	AWAITED(Rget_accumulate_c, 0, BYTES, NULL, 7, bad, b, INTS, MPI_INT, next, 0, INTS, MPI_INT,
		MPI_NO_OP, win);
#endif
	to_nobody(win);
	NOTED(Win_unlock_all, 0, 0, win);
	NOTED(Win_free, 0, 0, &win);
}

/* Significant only at the root. */
static void off_root(void)
{
	if (rank == 0) {
		NOTED(Gather, BYTES, RANKS * BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, 0, W);
		NOTED(Gatherv, BYTES, RANKS * BYTES, a, INTS, MPI_INT, b, counts, at, MPI_INT, 0,
		      W);
		NOTED(Scatter, RANKS * BYTES, BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, 0, W);
		NOTED(Scatterv, RANKS * BYTES, BYTES, a, counts, at, MPI_INT, b, INTS, MPI_INT, 0,
		      W);
		NOTED(Reduce, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, 0, W);
		AWAITED(Igather, BYTES, RANKS * BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, 0, W);
		AWAITED(Igatherv, BYTES, RANKS * BYTES, a, INTS, MPI_INT, b, counts, at, MPI_INT, 0,
			W);
		AWAITED(Iscatter, RANKS * BYTES, BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, 0, W);
		AWAITED(Iscatterv, RANKS * BYTES, BYTES, a, counts, at, MPI_INT, b, INTS, MPI_INT,
			0, W);
		AWAITED(Ireduce, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, 0, W);
	} else {
		NOTED(Gather, BYTES, 0, a, INTS, MPI_INT, nowhere, -3, bad, 0, W);
		NOTED(Gatherv, BYTES, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, 0,
		      W);
		NOTED(Scatter, 0, BYTES, nowhere, 7, bad, b, INTS, MPI_INT, 0, W);
		NOTED(Scatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT, 0,
		      W);
		NOTED(Reduce, BYTES, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, 0, W);
		AWAITED(Igather, BYTES, 0, a, INTS, MPI_INT, nowhere, 7, bad, 0, W);
		AWAITED(Igatherv, BYTES, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, 0,
			W);
		AWAITED(Iscatter, 0, BYTES, nowhere, 7, bad, b, INTS, MPI_INT, 0, W);
		AWAITED(Iscatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT,
			0, W);
		AWAITED(Ireduce, BYTES, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, 0, W);
	}
}

/* MPI_IN_PLACE: count and datatype beside it, at the root. */
static void in_place_at_root(void)
{
	if (rank == 0) {
		NOTED(Gather, BYTES, RANKS * BYTES, MPI_IN_PLACE, 7, bad, b, INTS, MPI_INT, 0, W);
		NOTED(Gatherv, BYTES, RANKS * BYTES, MPI_IN_PLACE, 7, bad, b, counts, at, MPI_INT,
		      0, W);
		NOTED(Scatter, RANKS * BYTES, BYTES, a, INTS, MPI_INT, MPI_IN_PLACE, 7, bad, 0, W);
		NOTED(Scatterv, RANKS * BYTES, BYTES, a, counts, at, MPI_INT, MPI_IN_PLACE, 7, bad,
		      0, W);
		NOTED(Reduce, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, 0, W);
		AWAITED(Igather, BYTES, RANKS * BYTES, MPI_IN_PLACE, 7, bad, b, INTS, MPI_INT, 0,
			W);
		AWAITED(Igatherv, BYTES, RANKS * BYTES, MPI_IN_PLACE, 7, bad, b, counts, at,
			MPI_INT, 0, W);
		AWAITED(Iscatter, RANKS * BYTES, BYTES, a, INTS, MPI_INT, MPI_IN_PLACE, 7, bad, 0,
			W);
		AWAITED(Iscatterv, RANKS * BYTES, BYTES, a, counts, at, MPI_INT, MPI_IN_PLACE, 7,
			bad, 0, W);
		AWAITED(Ireduce, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, 0, W);
	} else {
		NOTED(Gather, BYTES, 0, a, INTS, MPI_INT, nowhere, 7, bad, 0, W);
		NOTED(Gatherv, BYTES, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, 0,
		      W);
		NOTED(Scatter, 0, BYTES, nowhere, 7, bad, b, INTS, MPI_INT, 0, W);
		NOTED(Scatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT, 0,
		      W);
		NOTED(Reduce, BYTES, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, 0, W);
		AWAITED(Igather, BYTES, 0, a, INTS, MPI_INT, nowhere, 7, bad, 0, W);
		AWAITED(Igatherv, BYTES, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, 0,
			W);
		AWAITED(Iscatter, 0, BYTES, nowhere, 7, bad, b, INTS, MPI_INT, 0, W);
		AWAITED(Iscatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT,
			0, W);
		AWAITED(Ireduce, BYTES, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, 0, W);
	}
}

/* MPI_IN_PLACE where every rank may say it. */
static void in_place(void)
{
	const int all = RANKS * BYTES;

	NOTED(Allgather, BYTES, all, MPI_IN_PLACE, 7, bad, b, INTS, MPI_INT, W);
	NOTED(Allgatherv, BYTES, all, MPI_IN_PLACE, 7, bad, b, counts, at, MPI_INT, W);
	NOTED(Alltoall, all, all, MPI_IN_PLACE, 7, bad, b, INTS, MPI_INT, W);
	NOTED(Alltoallv, all, all, MPI_IN_PLACE, no_counts, no_counts, bad, b, counts, at, MPI_INT,
	      W);
	NOTED(Alltoallw, all, all, MPI_IN_PLACE, no_counts, no_counts, no_types, b, counts,
	      at_bytes, ints, W);
	AWAITED(Iallgather, BYTES, all, MPI_IN_PLACE, 7, bad, b, INTS, MPI_INT, W);
	AWAITED(Ialltoallw, all, all, MPI_IN_PLACE, no_counts, no_counts, no_types, b, counts,
		at_bytes, ints, W);
	AWAITED(Iallgatherv, BYTES, all, MPI_IN_PLACE, 7, bad, b, counts, at, MPI_INT, W);
	/* Open MPI looks at the type */
	AWAITED(Ialltoall, all, all, MPI_IN_PLACE, 7, MPI_INT, b, INTS, MPI_INT, W);
	AWAITED(Ialltoallv, all, all, MPI_IN_PLACE, no_counts, no_counts, bad, b, counts, at,
		MPI_INT, W);
	NOTED(Allreduce, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	NOTED(Reduce_scatter, all, BYTES, MPI_IN_PLACE, b, counts, MPI_INT, MPI_SUM, W);
	NOTED(Reduce_scatter_block, all, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	NOTED(Scan, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	NOTED(Exscan, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	AWAITED(Iallreduce, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	AWAITED(Ireduce_scatter, all, BYTES, MPI_IN_PLACE, b, counts, MPI_INT, MPI_SUM, W);
	AWAITED(Ireduce_scatter_block, all, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	AWAITED(Iscan, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
	AWAITED(Iexscan, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
}

/* A root in rank 0's group. No bytes are counted of such calls. */
static void rooted(MPI_Comm inter, int root)
{
	if (rank == 1) {
		NOTED(Bcast, 0, 0, nowhere, 7, MPI_INT, root, inter); /* both MPIs look */
		NOTED(Gather, 0, 0, nowhere, 7, bad, nowhere, 7, bad, root, inter);
		NOTED(Scatterv, 0, 0, nowhere, no_counts, no_counts, bad, nowhere, 7, bad, root,
		      inter);
		NOTED(Reduce, 0, 0, nowhere, nowhere, 7, MPI_INT, MPI_SUM, root, inter);
		AWAITED(Igatherv, 0, 0, nowhere, 7, bad, nowhere, no_counts, no_counts, bad, root,
			inter);
		AWAITED(Iscatter, 0, 0, nowhere, 7, bad, nowhere, 7, bad, root, inter);
	} else if (rank == 0) {
		NOTED(Bcast, 0, 0, a, INTS, MPI_INT, root, inter);
		NOTED(Gather, 0, 0, nowhere, 7, bad, b, INTS, MPI_INT, root, inter);
		NOTED(Scatterv, 0, 0, a, counts, at, MPI_INT, nowhere, 7, bad, root, inter);
		NOTED(Reduce, 0, 0, nowhere, b, INTS, MPI_INT, MPI_SUM, root, inter);
		AWAITED(Igatherv, 0, 0, nowhere, 7, bad, b, counts, at, MPI_INT, root, inter);
		AWAITED(Iscatter, 0, 0, a, INTS, MPI_INT, nowhere, 7, bad, root, inter);
	} else {
		NOTED(Bcast, 0, 0, b, INTS, MPI_INT, root, inter);
		NOTED(Gather, 0, 0, a, INTS, MPI_INT, nowhere, 7, bad, root, inter);
		NOTED(Scatterv, 0, 0, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT, root,
		      inter);
		NOTED(Reduce, 0, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, root, inter);
		AWAITED(Igatherv, 0, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, root,
			inter);
		AWAITED(Iscatter, 0, 0, nowhere, 7, bad, b, INTS, MPI_INT, root, inter);
	}
}

/* Both groups give and take. Each rank of a reduction gives a vector for all of its own group. */
static void unrooted(MPI_Comm inter)
{
	const int mine = rank == 2 ? 2 * INTS : INTS;
	const int others = rank == 2 ? 2 : 1; /* ranks of the other group */
	int parts[2] = { mine, mine };

	NOTED(Allgather, BYTES, others * BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, inter);
	NOTED(Alltoall, others * BYTES, others * BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, inter);
	NOTED(Allreduce, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, inter);
	NOTED(Reduce_scatter, 2 * BYTES, mine * 4, a, b, parts, MPI_INT, MPI_SUM, inter);
	NOTED(Reduce_scatter_block, 2 * BYTES, mine * 4, a, b, mine, MPI_INT, MPI_SUM, inter);
	AWAITED(Ireduce_scatter_block, 2 * BYTES, mine * 4, a, b, mine, MPI_INT, MPI_SUM, inter);
}

/* Ranks 0 and 1 against rank 2. */
static void between_groups(void)
{
	MPI_Comm local, inter;
	int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;

	NOTED(Comm_split, 0, 0, W, rank == 2, 0, &local);
	NOTED(Intercomm_create, 0, 0, local, 0, W, rank == 2 ? 0 : 2, 1, &inter);
	rooted(inter, root);
	unrooted(inter);
	NOTED(Comm_free, 0, 0, &inter);
	NOTED(Comm_free, 0, 0, &local);
}

/* A line of ranks: those at its ends have one neighbour, the other place is MPI_PROC_NULL. */
static void at_edges(void)
{
	int line[2] = { INTS, INTS }, from[2] = { 0, INTS }, dims = RANKS, open = 0;
	MPI_Aint apart[2] = { 0, BYTES };
	MPI_Datatype types[2] = { MPI_INT, MPI_INT };
	int moved = rank == 1 ? 2 * BYTES : BYTES;
	MPI_Comm grid;

	if (rank == 0)
		line[0] = 0;
	if (rank == RANKS - 1)
		line[1] = 0;
	NOTED(Cart_create, 0, 0, W, 1, &dims, &open, 0, &grid);
	NOTED(Neighbor_allgather, moved, moved, a, INTS, MPI_INT, b, INTS, MPI_INT, grid);
	NOTED(Neighbor_alltoallv, moved, moved, a, line, from, MPI_INT, b, line, from, MPI_INT,
	      grid);
	line[0] = line[1] = INTS; /* the counts of MPI_PROC_NULL's places are ignored */
	NOTED(Neighbor_alltoallv, moved, moved, a, line, from, MPI_INT, b, line, from, MPI_INT,
	      grid);
	NOTED(Neighbor_alltoallw, moved, moved, a, line, apart, types, b, line, apart, types, grid);
	NOTED(Neighbor_allgatherv, moved, moved, a, INTS, MPI_INT, b, line, from, MPI_INT, grid);
	NOTED(Neighbor_alltoall, moved, moved, a, INTS, MPI_INT, b, INTS, MPI_INT, grid);
	AWAITED(Ineighbor_allgather, moved, moved, a, INTS, MPI_INT, b, INTS, MPI_INT, grid);
	AWAITED(Ineighbor_allgatherv, moved, moved, a, INTS, MPI_INT, b, line, from, MPI_INT, grid);
	AWAITED(Ineighbor_alltoall, moved, moved, a, INTS, MPI_INT, b, INTS, MPI_INT, grid);
	AWAITED(Ineighbor_alltoallv, moved, moved, a, line, from, MPI_INT, b, line, from, MPI_INT,
		grid);
	AWAITED(Ineighbor_alltoallw, moved, moved, a, line, apart, types, b, line, apart, types,
		grid);
	NOTED(Comm_free, 0, 0, &grid);
}

/* One dimension is closed and one rank wide: the rank is its own neighbour there. The other
 * dimension is open. */
static void half_open(void)
{
	int dims[2] = { 1, RANKS }, closed[2] = { 1, 0 };
	int moved = rank == 1 ? 4 * 4 : 3 * 4;
	MPI_Comm grid;

	NOTED(Cart_create, 0, 0, W, 2, dims, closed, 0, &grid);
	NOTED(Neighbor_allgather, moved, moved, a, 1, MPI_INT, b, 1, MPI_INT, grid);
	NOTED(Comm_free, 0, 0, &grid);
}

/* Ranks 1 and 2 give to rank 0. Who has no neighbours on a side has no counts there. */
static void in_a_graph(void)
{
	int givers[2] = { 1, 2 }, zero = 0, in = rank == 0 ? 2 : 0, out = rank == 0 ? 0 : 1;
	int sent = out * BYTES, received = in * BYTES;
	MPI_Comm graph;

	NOTED(Dist_graph_create_adjacent, 0, 0, W, in, givers, MPI_UNWEIGHTED, out, &zero,
	      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
	NOTED(Neighbor_allgather, sent, received, a, INTS, MPI_INT, b, INTS, MPI_INT, graph);
	NOTED(Neighbor_alltoallv, sent, received, a, out > 0 ? counts : no_counts,
	      out > 0 ? at : no_counts, MPI_INT, b, in > 0 ? counts : no_counts,
	      in > 0 ? at : no_counts, MPI_INT, graph);
	NOTED(Comm_free, 0, 0, &graph);
}

/* MPI_PROC_NULL, and a count of 0: nothing moves. */
static void nobody(void)
{
	const int null = MPI_PROC_NULL;

	NOTED(Send, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	NOTED(Recv, 0, 0, nowhere, INTS, MPI_INT, null, 1, W, MPI_STATUS_IGNORE);
	NOTED(Sendrecv, 0, 0, nowhere, INTS, MPI_INT, null, 1, nowhere, INTS, MPI_INT, null, 1, W,
	      MPI_STATUS_IGNORE);
	NOTED(Bsend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	NOTED(Ssend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	NOTED(Rsend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	NOTED(Sendrecv_replace, 0, 0, nowhere, INTS, MPI_INT, null, 1, null, 1, W,
	      MPI_STATUS_IGNORE);
	AWAITED(Isend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	AWAITED(Ibsend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	AWAITED(Issend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	AWAITED(Irsend, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	AWAITED(Irecv, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	NOTED(Bcast, 0, 0, nowhere, 0, MPI_INT, 0, W);
	NOTED(Allreduce, 0, 0, nowhere, nowhere, 0, MPI_INT, MPI_SUM, W);
}

static void choose_garbage(const char *kind)
{
	bad = MPI_DATATYPE_NULL;
	if (strcmp(kind, "wild") == 0) {
		bad = (MPI_Datatype)0x4c00fff1;
	} else if (strcmp(kind, "freed") == 0) {
		MPI_Datatype copy;

		MPI_Type_contiguous(3, MPI_INT, &copy);
		MPI_Type_commit(&copy);
		bad = copy;
		MPI_Type_free(&copy);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(W, &rank);
	next = (rank + 1) % RANKS;
	choose_garbage(argv[1]);
	no_op();
	off_root();
	in_place_at_root();
	in_place();
	between_groups();
	at_edges();
	half_open();
	in_a_graph();
	nobody();
	MPI_Finalize();
	tally_print();
	return 0;
}
