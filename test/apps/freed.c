/* freed.c: a thread frees a datatype with which another thread's MPI_Ssend is still under way. The
 * standard allows it: what uses the datatype already completes normally. Two ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Datatype pair;
static int data[2] = { 1, 2 };

static void *send(void *nothing)
{
	MPI_Ssend(data, 1, pair, 1, 1, MPI_COMM_WORLD);
	return nothing;
}

/* Rank 1 says when the MPI_Ssend has begun, and takes it up after the datatype was freed. */
static void free_under_way(void)
{
	pthread_t sender;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	pthread_create(&sender, NULL, send, NULL);
	MPI_Recv(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Type_free(&pair);
	MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
	pthread_join(sender, NULL);
}

static void take_late(void)
{
	MPI_Message message;

	MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
	MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Mrecv(data, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int level, rank;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		free_under_way();
	else
		take_late();
	MPI_Finalize();
	if (rank == 0) /* both at once would mix their lines */
		puts("done");
	return 0;
}
