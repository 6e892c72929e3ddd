/* places.c [END | PLUGIN...]: rank 0 works, so that rank 1 waits at lines of this file that are
 * marked with HERE: 400 ms in MPI_Barrier, 100 ms in MPI_Allreduce. END is "kill", or "hang": then
 * each rank is killed in a call, once it has computed for 300 ms in it. In place of the barriers, a
 * function of each PLUGIN is called, and the plugin is closed again, after a look for messages.
 *
 * -DLIBRARY: a library, or such a plugin, whose function waits. -DLINKED: the program that calls
 * it. */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "endmpi.h"

#ifdef LIBRARY
__attribute__((noinline)) int wait_in_library(int n)
{
	int result = MPI_Barrier(MPI_COMM_WORLD); /* HERE library */

	return result + n; /* so that the call is none of a tail */
}
#else
int wait_in_library(int n);

static void work(int rank, int ms)
{
	struct timespec t = { 0, ms * 1000000L };

	if (rank == 0)
		nanosleep(&t, NULL);
}

__attribute__((noinline)) int exchange_halo(int n)
{
#ifdef LINKED
	int result = wait_in_library(n); /* HERE linked */
#else
	int result = MPI_Barrier(MPI_COMM_WORLD); /* HERE barrier */
#endif
	return result + n;
}

__attribute__((noinline)) int step(int n)
{
	int result = exchange_halo(n); /* HERE step */

	return result + n;
}

static int plugged(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*wait)(int) = (int (*)(int))dlsym(plugin, "wait_in_library");
	int result = wait(1), flag;

	MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	return result + dlclose(plugin);
}

/* CPU time, so that each rank is in the call by then. */
static void hang(int rank)
{
	struct itimerval t = { .it_value = { .tv_usec = 300000 } };
	int none;

	setitimer(ITIMER_PROF, &t, NULL);
	MPI_Recv(&none, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* HERE hang */
}

int main(int argc, char **argv)
{
	int rank, one = 1, sum;
	const char *end = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 10; i++) {
		work(rank, 40);
		if (strchr(end, '/') != NULL)
			plugged(argv[1 + i % (argc - 1)]);
		else
			step(i); /* HERE main */
		work(rank, 10);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* HERE allreduce */
	}
	if (strcmp(end, "hang") == 0)
		hang(rank);
	if (strcmp(end, "kill") == 0)
		kill(getpid(), SIGKILL);
	end_mpi();
	return 0;
}
#endif
