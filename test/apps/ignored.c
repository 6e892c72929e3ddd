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
		AWAITED(Iscatterv, RANKS * BYTES, BYTES, a, counts, at, MPI_INT, b, INTS, MPI_INT,
			0, W);
	} else {
		NOTED(Gather, BYTES, 0, a, INTS, MPI_INT, nowhere, -3, bad, 0, W);
		NOTED(Gatherv, BYTES, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, 0,
		      W);
		NOTED(Scatter, 0, BYTES, nowhere, 7, bad, b, INTS, MPI_INT, 0, W);
		NOTED(Scatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT, 0,
		      W);
		NOTED(Reduce, BYTES, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, 0, W);
		AWAITED(Igather, BYTES, 0, a, INTS, MPI_INT, nowhere, 7, bad, 0, W);
		AWAITED(Iscatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT,
			0, W);
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
	} else {
		NOTED(Gather, BYTES, 0, a, INTS, MPI_INT, nowhere, 7, bad, 0, W);
		NOTED(Gatherv, BYTES, 0, a, INTS, MPI_INT, nowhere, no_counts, no_counts, bad, 0,
		      W);
		NOTED(Scatter, 0, BYTES, nowhere, 7, bad, b, INTS, MPI_INT, 0, W);
		NOTED(Scatterv, 0, BYTES, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT, 0,
		      W);
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
	NOTED(Allreduce, BYTES, BYTES, MPI_IN_PLACE, b, INTS, MPI_INT, MPI_SUM, W);
}

/* Ranks 0 and 1 against rank 2. No bytes are counted of calls with a root there. */
static void between_groups(void)
{
	MPI_Comm local, inter;
	int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;

	NOTED(Comm_split, 0, 0, W, rank == 2, 0, &local);
	NOTED(Intercomm_create, 0, 0, local, 0, W, rank == 2 ? 0 : 2, 1, &inter);
	if (rank == 1) {
		NOTED(Bcast, 0, 0, nowhere, 7, MPI_INT, root, inter); /* both MPIs look */
		NOTED(Gather, 0, 0, nowhere, 7, bad, nowhere, 7, bad, root, inter);
		NOTED(Scatterv, 0, 0, nowhere, no_counts, no_counts, bad, nowhere, 7, bad, root,
		      inter);
		NOTED(Reduce, 0, 0, nowhere, nowhere, 7, MPI_INT, MPI_SUM, root, inter);
	} else if (rank == 0) {
		NOTED(Bcast, 0, 0, a, INTS, MPI_INT, root, inter);
		NOTED(Gather, 0, 0, nowhere, 7, bad, b, INTS, MPI_INT, root, inter);
		NOTED(Scatterv, 0, 0, a, counts, at, MPI_INT, nowhere, 7, bad, root, inter);
		NOTED(Reduce, 0, 0, nowhere, b, INTS, MPI_INT, MPI_SUM, root, inter);
	} else {
		NOTED(Bcast, 0, 0, b, INTS, MPI_INT, root, inter);
		NOTED(Gather, 0, 0, a, INTS, MPI_INT, nowhere, 7, bad, root, inter);
		NOTED(Scatterv, 0, 0, nowhere, no_counts, no_counts, bad, b, INTS, MPI_INT, root,
		      inter);
		NOTED(Reduce, 0, 0, a, nowhere, INTS, MPI_INT, MPI_SUM, root, inter);
	}
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
	NOTED(Comm_free, 0, 0, &grid);
}

/* MPI_PROC_NULL, and a count of 0: nothing moves. */
static void nobody(void)
{
	const int null = MPI_PROC_NULL;

	NOTED(Send, 0, 0, nowhere, INTS, MPI_INT, null, 1, W);
	NOTED(Recv, 0, 0, nowhere, INTS, MPI_INT, null, 1, W, MPI_STATUS_IGNORE);
	NOTED(Sendrecv, 0, 0, nowhere, INTS, MPI_INT, null, 1, nowhere, INTS, MPI_INT, null, 1, W,
	      MPI_STATUS_IGNORE);
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
	nobody();
	MPI_Finalize();
	tally_print();
	return 0;
}
