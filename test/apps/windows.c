/* windows.c PROGRAM ROUNDS: what a log of sampled windows must understand, or leave out. Each round
 * ends with an Allreduce. The names stand at the end; windows_test.go has what each comes to. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank, size, left, right;
static MPI_Comm comm; /* made in round 0 */

static void send(int to)
{
	MPI_Send(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
}

static void receive(int from)
{
	MPI_Status status;
	int got;

	MPI_Recv(&got, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &status);
}

static void replace(int round)
{
	int value = round;

	MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
}

static void halo(MPI_Request requests[4], MPI_Comm on, int from, int to)
{
	static int got[2];

	MPI_Irecv(&got[0], 1, MPI_INT, from, 1, on, &requests[0]);
	MPI_Irecv(&got[1], 1, MPI_INT, to, 2, on, &requests[1]);
	MPI_Isend(&rank, 1, MPI_INT, to, 1, on, &requests[2]);
	MPI_Isend(&rank, 1, MPI_INT, from, 2, on, &requests[3]);
}

static void testsome(int round)
{
	MPI_Request requests[4];
	MPI_Status statuses[4];
	int which[4], n = 0;

	halo(requests, MPI_COMM_WORLD, left, right);
	while (n != MPI_UNDEFINED)
		MPI_Testsome(4, requests, &n, which, round % 2 ? statuses : MPI_STATUSES_IGNORE);
}

static void testany(int round)
{
	MPI_Request requests[4];
	int flag = 0, which = 0;

	(void)round;
	halo(requests, MPI_COMM_WORLD, left, right);
	while (!flag || which != MPI_UNDEFINED)
		MPI_Testany(4, requests, &which, &flag, MPI_STATUS_IGNORE);
}

static void testall(int round)
{
	MPI_Request requests[4];
	int flag = 0;

	(void)round;
	halo(requests, MPI_COMM_WORLD, left, right);
	while (!flag)
		MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
}

/* Not periodic: the first and the last rank exchange with MPI_PROC_NULL. */
static void cart(int round)
{
	MPI_Request requests[4];
	int periods[] = { 0 }, from, to, sum;

	if (round == 0)
		MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &comm);
	MPI_Cart_shift(comm, 0, 1, &from, &to);
	halo(requests, comm, from, to);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void duplicate(int round)
{
	if (round == 0)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	if (rank == 0)
		MPI_Send(&rank, 1, MPI_INT, 1, 1, comm);
	if (rank == 1)
		MPI_Recv(&left, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
	MPI_Barrier(comm);
}

/* Communicators that come and go; MPIs use their handles again. */
static void split(int round)
{
	MPI_Comm half;
	int sum;

	MPI_Comm_split(MPI_COMM_WORLD, (rank + round) % 2, rank, &half);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
	MPI_Comm_free(&half);
}

static void probe(int round)
{
	MPI_Status status;
	int flag = round % 2;

	send(right);
	if (round % 2)
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	while (!flag)
		MPI_Iprobe(left, 1, MPI_COMM_WORLD, &flag, &status);
	receive(left);
}

static void nonblocking(int round)
{
	MPI_Request requests[2];
	int sum;

	(void)round;
	MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void rooted(int round)
{
	int all[64], got, root = round % size;

	MPI_Bcast(&got, 1, MPI_INT, root, MPI_COMM_WORLD);
	MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
	MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
	MPI_Reduce(&rank, &got, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	MPI_Scan(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Children call MPI, or run this program again, which then does nothing. */
static void forks(int round)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (round % 2)
			execl("/proc/self/exe", "windows", NULL);
		MPI_Barrier(MPI_COMM_SELF);
		_exit(0);
	}
	waitpid(child, &status, 0);
	send(right);
	receive(left);
}

/* Errors after which the program goes on: in the first window. */
static void error(int round)
{
	if (round > 0)
		return;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Send(&rank, 1, MPI_INT, size + 7, 1, MPI_COMM_WORLD);
	MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE);
}

/* More calls than fit, in each second window. */
static void much(int round)
{
	for (int i = 0; i < 1500 * (round % 2); i++)
		MPI_Sendrecv_replace(&round, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
}

static void barrier(int round)
{
	(void)round;
	MPI_Barrier(MPI_COMM_WORLD);
}

static void wildcard(int round)
{
	int got;

	(void)round;
	send(right);
	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void mprobe(int round)
{
	MPI_Message message;
	MPI_Status status;
	int got;

	(void)round;
	send(right);
	MPI_Mprobe(left, 1, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
}

static void inter(int round)
{
	static MPI_Comm half;

	if (round == 0) {
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
		MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &comm);
	}
	MPI_Barrier(comm);
}

static void rma(int round)
{
	static MPI_Win win;
	static int memory;

	if (round == 0)
		MPI_Win_create(&memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
			       &win);
	MPI_Win_fence(0, win);
	MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	if (round == 5)
		MPI_Win_free(&win);
}

static void neighbour(int round)
{
	int periods[] = { 1 }, got[2];

	if (round == 0)
		MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &comm);
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm);
}

static void cancel(int round)
{
	MPI_Request request;
	int got;

	(void)round;
	MPI_Irecv(&got, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A request that stays open over a border, in each third window: two windows are touched. */
static void open(int round)
{
	static MPI_Request request;
	static int got;

	if (round % 3 == 0) {
		MPI_Irecv(&got, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &request);
	} else if (round % 3 == 1) {
		MPI_Send(&rank, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void *other_thread(void *nothing)
{
	int provided;

	(void)nothing;
	MPI_Query_thread(&provided);
	send(right);
	receive(left);
	return NULL;
}

static void threads(int round)
{
	pthread_t thread;

	(void)round;
	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
}

/* Rank 1 dies in its sixth window. */
static void killed(int round)
{
	if (round == 5 && rank == 1) {
		usleep(300000);
		raise(SIGKILL);
	}
}

/* Counts of 64 bits, and both parts of one request. */
static void large(int round)
{
	int got;

	(void)round;
#if MPI_VERSION >= 4
	MPI_Request request;

	MPI_Isendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
		      &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI_Send_c(&rank, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Recv_c(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Allreduce_c(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#else
	MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
}

/* Collectives of which five are borders. The others are of fewer ranks, or not all ranks give
 * something. */
static void kinds(int round)
{
	static MPI_Comm half;
	int counts[64], at[64], all[64], some[64], got;

	if (round == 0) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	}
	for (int i = 0; i < size; i++) {
		counts[i] = some[i] = 1;
		at[i] = all[i] = i;
	}
	some[0] = 0;
	MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(comm);
	MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, at, MPI_INT, MPI_COMM_WORLD);
	MPI_Allgatherv(&rank, some[rank], MPI_INT, all, some, at, MPI_INT, MPI_COMM_WORLD);
	MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, half);
	MPI_Reduce_scatter(all, &got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, at, MPI_INT, half);
	MPI_Allreduce(&rank, &got, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Alltoall(at, 1, MPI_INT, all, 1, MPI_INT, comm);
}

static void work(long us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

/* Looks for a message a thousand times while it works for 5 ms. */
static void looks(int round)
{
	int flag;

	(void)round;
	for (int i = 0; i < 1000; i++) {
		work(5);
		MPI_Iprobe(left, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	}
}

/* … and without work between the looks. */
static void spins(int round)
{
	int flag;

	(void)round;
	work(5000);
	for (int i = 0; i < 1000; i++)
		MPI_Iprobe(left, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void slow(int round)
{
	(void)round;
	work(1000000);
}

/* The first rounds call from more places than a log has room for. */
static void places(int round)
{
	int flag = round;

#define TEN(calls) calls calls calls calls calls calls calls calls calls calls
#define LOOK MPI_Iprobe(left, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	if (round < 2) {
		TEN(TEN(TEN(LOOK)))
	}
	MPI_Sendrecv_replace(&flag, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
}

static const struct {
	const char *name;
	void (*run)(int round);
} programs[] = {
	{ "replace", replace }, { "testsome", testsome },   { "testany", testany },
	{ "testall", testall }, { "cart", cart },	    { "dup", duplicate },
	{ "split", split },	{ "probe", probe },	    { "nonblocking", nonblocking },
	{ "rooted", rooted },	{ "forks", forks },	    { "error", error },
	{ "much", much },	{ "barrier", barrier },	    { "wildcard", wildcard },
	{ "mprobe", mprobe },	{ "inter", inter },	    { "rma", rma },
	{ "cancel", cancel },	{ "neighbour", neighbour }, { "open", open },
	{ "threads", threads }, { "killed", killed },	    { "large", large },
	{ "looks", looks },	{ "spins", spins },	    { "slow", slow },
	{ "kinds", kinds },	{ "places", places },
};

int main(int argc, char **argv)
{
	void (*run)(int) = NULL;
	int provided, one = 1, sum;

	for (unsigned i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (argc > 2 && strcmp(programs[i].name, argv[1]) == 0)
			run = programs[i].run;
	if (run == NULL)
		return 2;
	MPI_Init_thread(&argc, &argv, run == threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
			&provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int round = 0; round < atoi(argv[2]); round++) {
		run(round);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
