/* more.c FILE: one-sided communication and files, calls of known number and size on two
 * ranks, each noted as it is made. -DMPI4: also what MPI 4.0 brought. */
#include <mpi.h>

#include "tally.h"

enum { RANKS = 2, INTS = 25, BYTES = INTS * 4 };

#define W MPI_COMM_WORLD
#define NOWHERE MPI_PROC_NULL
#define IGNORE MPI_STATUS_IGNORE
#define NOTED(name, sent, received, ...)      \
	do {                                  \
		MPI_##name(__VA_ARGS__);      \
		tally(#name, sent, received); \
	} while (0)

static int rank, other, a[INTS * RANKS], b[INTS * RANKS];

static void passive(MPI_Win win)
{
	MPI_Request request;
	int one = 1, old;

	NOTED(Win_lock, 0, 0, MPI_LOCK_SHARED, other, 0, win);
	NOTED(Rput, BYTES, 0, a, INTS, MPI_INT, other, 0, INTS, MPI_INT, win, &request);
	NOTED(Wait, 0, 0, &request, IGNORE);
	NOTED(Fetch_and_op, 4, 4, &one, &old, MPI_INT, other, 0, MPI_SUM, win);
	NOTED(Compare_and_swap, 4, 4, &one, &old, &old, MPI_INT, other, 0, win);
	NOTED(Get_accumulate, BYTES, BYTES, a, INTS, MPI_INT, b, INTS, MPI_INT, other, 0, INTS,
	      MPI_INT, MPI_SUM, win);
	NOTED(Win_flush, 0, 0, other, win);
	NOTED(Win_unlock, 0, 0, other, win);
}

static void one_sided(void)
{
	static int room[INTS];
	MPI_Win win;

	NOTED(Win_create, 0, 0, room, sizeof(room), 4, MPI_INFO_NULL, W, &win);
	NOTED(Win_fence, 0, 0, 0, win);
	NOTED(Put, BYTES, 0, a, INTS, MPI_INT, other, 0, INTS, MPI_INT, win);
	NOTED(Put, 0, 0, a, INTS, MPI_INT, NOWHERE, 0, INTS, MPI_INT, win);
	NOTED(Win_fence, 0, 0, 0, win);
	NOTED(Get, 0, BYTES, b, INTS, MPI_INT, other, 0, INTS, MPI_INT, win);
	NOTED(Accumulate, 0, 0, a, 0, MPI_INT, other, 0, 0, MPI_INT, MPI_SUM, win);
	NOTED(Win_fence, 0, 0, 0, win);
	passive(win);
	NOTED(Win_free, 0, 0, &win);
}

static void files(const char *name)
{
	MPI_File file;
	MPI_Request request;
	MPI_Offset size;

	NOTED(File_open, 0, 0, W, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	NOTED(File_write_at_all, BYTES, 0, file, BYTES * rank, a, INTS, MPI_INT, IGNORE);
	NOTED(File_write_at, 40, 0, file, BYTES * rank, a, 10, MPI_INT, IGNORE);
	NOTED(File_sync, 0, 0, file);
	NOTED(File_get_size, 0, 0, file, &size);
	NOTED(File_seek, 0, 0, file, 0, MPI_SEEK_SET);
	NOTED(File_read, 0, 80, file, b, 20, MPI_INT, IGNORE);
	NOTED(File_read_at_all, 0, BYTES, file, 0, b, INTS, MPI_INT, IGNORE);
	NOTED(File_iread_at, 0, BYTES, file, 0, b, INTS, MPI_INT, &request);
	NOTED(Wait, 0, 0, &request, IGNORE);
	NOTED(File_write_all_begin, 4, 0, file, a, 1, MPI_INT);
	NOTED(File_write_all_end, 0, 0, file, a, IGNORE);
	NOTED(File_close, 0, 0, &file);
}

#ifdef MPI4
static void partitioned(void)
{
	MPI_Request request;
	int arrived = 0;

	if (rank == 0) {
		NOTED(Psend_init, 0, 0, a, 2, 10, MPI_INT, 1, 1, W, MPI_INFO_NULL, &request);
		NOTED(Start, 0, 0, &request);
		NOTED(Pready, 0, 0, 0, request);
		NOTED(Pready_range, 0, 0, 1, 1, request);
	} else {
		NOTED(Precv_init, 0, 0, b, 2, 10, MPI_INT, 0, 1, W, MPI_INFO_NULL, &request);
		NOTED(Start, 0, 0, &request);
		NOTED(Parrived, 0, 0, request, 0, &arrived);
	}
	NOTED(Wait, 0, 0, &request, IGNORE);
	MPI_Request_free(&request);
}

static void large(const char *name)
{
	MPI_Count counts[RANKS] = { 10, 20 };
	MPI_Aint at[RANKS] = { 0, 10 };
	MPI_File file;
	MPI_Request request;

	if (rank == 0) {
		NOTED(Send_c, BYTES, 0, a, INTS, MPI_INT, 1, 1, W);
	} else {
		NOTED(Recv_c, 0, BYTES, b, INTS, MPI_INT, 0, 1, W, IGNORE);
	}
	NOTED(Sendrecv_c, 0, 0, a, INTS, MPI_INT, NOWHERE, 1, b, INTS, MPI_INT, NOWHERE, 1, W,
	      IGNORE);
	NOTED(Allreduce_c, BYTES, BYTES, a, b, INTS, MPI_INT, MPI_SUM, W);
	NOTED(Allgatherv_c, 4 * counts[rank], 120, a, counts[rank], MPI_INT, b, counts, at, MPI_INT,
	      W);
	NOTED(Allreduce_init, 0, 0, a, b, INTS, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &request);
	NOTED(Start, 0, 0, &request);
	NOTED(Wait, 0, 0, &request, IGNORE);
	MPI_Request_free(&request);
	NOTED(File_open, 0, 0, W, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	NOTED(File_write_at_c, BYTES, 0, file, 0, a, INTS, MPI_INT, IGNORE);
	NOTED(File_close, 0, 0, &file);
}
#endif

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(W, &rank);
	other = 1 - rank;
	one_sided();
	files(argv[1]);
#ifdef MPI4
	partitioned();
	large(argv[1]);
#endif
	MPI_Finalize();
	tally_print();
	return 0;
}
