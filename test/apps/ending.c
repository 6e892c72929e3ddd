/* ending.c WAY: three MPI_Barrier and then an end in one of many ways. The ways killed_in_…
 * print what the rank was doing until its last KILLED_AFTER seconds began. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "outofmemory.h"

enum { KILLED_AFTER = 2 };

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static void receive_for_ever(void)
{
	int x;

	MPI_Recv(&x, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void compute_for_ever(void)
{
	for (volatile long i = 0;; i++)
		;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The kernel kills this process KILLED_AFTER seconds from now. */
static void be_killed(void)
{
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value.tv_sec = KILLED_AFTER };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &how, &timer) != 0 ||
	    timer_settime(timer, 0, &when, NULL) != 0)
		abort();
}

/* The last rank is killed while the others wait for it. */
static void kill_one(void)
{
	int rank, size;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == size - 1)
		raise(SIGKILL);
	receive_for_ever();
}

/* A child that ends by exit() runs the destructors of every library. */
static void fork_a_child(void)
{
	if (fork() == 0)
		exit(0);
	wait(NULL);
}

/* One that the C library knows nothing of runs no handlers of fork(). */
static void clone_a_child(void)
{
	if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0)
		exit(9);
	wait(NULL);
}

static void end(const char *way)
{
	if (is(way, "clone_return"))
		clone_a_child();
	if (is(way, "exit"))
		exit(3);
	if (is(way, "_exit"))
		_exit(3);
	if (is(way, "abort"))
		abort();
	if (is(way, "segv"))
		raise(SIGSEGV);
	if (is(way, "term"))
		raise(SIGTERM);
	if (is(way, "int"))
		raise(SIGINT);
	if (is(way, "kill"))
		raise(SIGKILL);
	if (is(way, "kill_one"))
		kill_one();
	if (is(way, "oom"))
		take_all_memory();
	if (is(way, "mpi_abort"))
		MPI_Abort(MPI_COMM_WORLD, 5);
	if (is(way, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	if (is(way, "in_recv") || is(way, "killed_in_recv"))
		receive_for_ever();
	if (is(way, "in_computing") || is(way, "killed_in_computing"))
		compute_for_ever();
	if (is(way, "fork"))
		fork_a_child();
	if (!is(way, "return") && !is(way, "clone_return"))
		MPI_Finalize();
	if (is(way, "finalize_clone")) {
		clone_a_child();
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	double start, mpi = 0, entered, so_far;
	int rank;

	MPI_Init(&argc, &argv);
	start = now();
	for (int i = 0; i < 3; i++) {
		entered = now();
		MPI_Barrier(MPI_COMM_WORLD);
		mpi += now() - entered;
	}
	usleep(200000); /* whoever ends first has the others killed: let them leave the barrier */
	signal(SIGALRM, SIG_DFL);
	if (strncmp(argv[1], "in_", 3) == 0)
		alarm(1);
	if (strncmp(argv[1], "killed_", 7) == 0) {
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		so_far = now() - start; /* before the timer, which ends it so much later, or more */
		be_killed();
		printf("rank %d from %.9f useful %.9f mpi %.9f\n", rank, start, so_far - mpi, mpi);
		fflush(stdout);
	}
	end(argv[1]);
	return 0;
}
