/* hang.c KIND: ranks that hang, for one of twenty reasons. They first do what takes a moment, all
 * together. Before a rank goes to where it stays, it says "rank R pid P SECONDS CALL". CALL is "-"
 * outside of MPI, and "gone" if the rank ends. Something else has to end the rest. Build it with
 * -pthread -fopenmp. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BIG = 4 << 20, SEEN_MS = 500 };

static int rank, size, last; /* last: the last rank */

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* One write of a whole line: lines of several ranks do not mix. */
static void say(const char *call)
{
	char line[128];
	struct timespec t;
	int bytes;

	clock_gettime(CLOCK_REALTIME, &t);
	bytes = snprintf(line, sizeof(line), "rank %d pid %d %lld.%06ld %s\n", rank, (int)getpid(),
			 (long long)t.tv_sec, t.tv_nsec / 1000, call);
	if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
		abort();
}

static void stay(void)
{
	for (;;)
		pause();
}

static void receive(int from, int tag)
{
	int x;

	say("MPI_Recv");
	MPI_Recv(&x, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_to(int to, int tag)
{
	say("MPI_Ssend");
	MPI_Ssend(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void barrier(void)
{
	say("MPI_Barrier");
	MPI_Barrier(MPI_COMM_WORLD);
}

static void missing_send(void)
{
	if (rank == 0)
		receive(1, 7);
	barrier();
}

static void missing_receive(void)
{
	if (rank == 0)
		send_to(1, 7);
	barrier();
}

static void outside(void)
{
	int sum;

	if (rank == last) {
		say("-");
		stay();
	}
	say("MPI_Allreduce");
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void tags(void)
{
	if (rank == 0)
		send_to(1, 1);
	receive(0, 2);
}

/* Too much for any MPI to keep for a receiver. */
static void circle(void)
{
	char *all = calloc(2, BIG);
	int next = (rank + 1) % size;

	say("MPI_Send");
	MPI_Send(all, BIG, MPI_CHAR, next, 0, MPI_COMM_WORLD);
	MPI_Recv(all + BIG, BIG, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void dead_peer(void)
{
	if (rank == last) {
		sleep_ms(SEEN_MS); /* the others wait for it by then */
		say("gone");
		raise(SIGKILL);
	}
	receive(last, 0);
}

static void exits_early(void)
{
	if (rank == last) {
		say("gone");
		_exit(0);
	}
	receive(last, 0); /* who sends may notice */
}

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *take(void *other_way)
{
	pthread_mutex_lock(other_way != NULL ? &two : &one);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(other_way != NULL ? &one : &two);
	return NULL;
}

static void lock(void)
{
	pthread_t other;

	if (rank == 0) {
		say("-");
		pthread_barrier_init(&both, NULL, 2);
		pthread_create(&other, NULL, take, &both);
		take(NULL);
	}
	barrier();
}

/* Nobody reads what rank 0 writes: so does a file system that stops. */
static void full_pipe(void)
{
	static char block[1 << 16];
	int ends[2];

	if (rank == 0) {
		if (pipe(ends) != 0)
			abort();
		say("-");
		for (;;)
			if (write(ends[1], block, sizeof(block)) < 0)
				abort();
	}
	barrier();
}

static void finalize(void)
{
	if (rank == last)
		receive(0, 7);
	say("MPI_Finalize");
	MPI_Finalize();
	say("gone"); /* Open MPI's need not wait */
	_exit(0);
}

static void wait_for_ever(void)
{
	MPI_Request request;
	int x;

	if (rank == 0) {
		MPI_Irecv(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
		say("MPI_Wait");
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	barrier();
}

static void probe(void)
{
	if (rank == 0) {
		say("MPI_Probe");
		MPI_Probe(1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	barrier();
}

/* Rank 1 keeps rank 0's window, and the last rank wants it, too. An MPI may wait for the lock in
 * the call that gives it back. */
static void window(void)
{
	MPI_Win win;
	int *memory, value = rank;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	if (rank == 1) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_flush(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == last) {
		say("MPI_Win_lock");
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		say("MPI_Win_unlock");
		MPI_Win_unlock(0, win);
	}
	barrier();
}

static void split(void)
{
	MPI_Comm part;

	if (rank == last)
		receive(0, 7);
	say("MPI_Comm_split");
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part);
}

static void test(void)
{
	MPI_Request request;
	int x, done = 0;

	if (rank == 0) {
		MPI_Irecv(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
		say("MPI_Test");
		while (done == 0)
			MPI_Test(&request, &done, MPI_STATUS_IGNORE);
	}
	barrier();
}

static void iprobe(void)
{
	int found = 0;

	if (rank == 0) {
		say("MPI_Iprobe");
		while (found == 0) {
			MPI_Iprobe(1, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
			sleep_ms(1);
		}
	}
	barrier();
}

static void openmp(void)
{
	if (rank == 0) {
		say("-");
#pragma omp parallel num_threads(2)
		{
#pragma omp single nowait
			stay();
#pragma omp barrier
		}
	}
	barrier();
}

static void child(void)
{
	if (rank == 0) {
		say("-");
		if (fork() == 0)
			execlp("sleep", "sleep", "infinity", (char *)NULL);
		wait(NULL);
	}
	barrier();
}

/* Rank 0 is one side, and does not come. */
static void intercomm(void)
{
	MPI_Comm side, between;

	MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &side);
	if (rank == 0)
		receive(1, 7);
	say("MPI_Intercomm_create");
	MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 0, 3, &between);
}

/* Before MPI_Init only the launcher tells who a rank is. */
static void init(void)
{
	const char *id = getenv("SLURM_PROCID"), *all = getenv("SLURM_NTASKS");

	if (id == NULL || all == NULL)
		abort();
	rank = atoi(id);
	if (rank == atoi(all) - 1) {
		say("-");
		stay();
	}
	say("MPI_Init");
	MPI_Init(NULL, NULL);
}

static const struct {
	const char *name;
	void (*hang)(void);
} kinds[] = {
	{ "missing_send", missing_send },
	{ "missing_receive", missing_receive },
	{ "outside", outside },
	{ "tags", tags },
	{ "circle", circle },
	{ "dead_peer", dead_peer },
	{ "exits_early", exits_early },
	{ "lock", lock },
	{ "full_pipe", full_pipe },
	{ "finalize", finalize },
	{ "wait", wait_for_ever },
	{ "probe", probe },
	{ "window", window },
	{ "split", split },
	{ "test", test },
	{ "iprobe", iprobe },
	{ "openmp", openmp },
	{ "child", child },
	{ "intercomm", intercomm },
	{ "init", init },
};

int main(int argc, char **argv)
{
	void (*hang)(void) = NULL;

	for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			hang = kinds[i].hang;
	if (hang == NULL || nice(19) == -1) /* who waits in MPI spins: others come first */
		return 2;
	if (hang == init) {
		init();
		return 1;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	last = size - 1;
	for (int i = 0; i < 10; i++) {
		sleep_ms(20);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	hang();
	return 1; /* it went on */
}
