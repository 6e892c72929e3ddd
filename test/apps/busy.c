/* busy.c SECONDS WHERE: a rank that computes for so long, in one of these ways.
 *
 * alone: its own thread. openmp: all threads of libgomp, whose number nobody sets. idle: the first
 * of them sleeps in a region, while the others wait. thread: a second thread that never calls MPI.
 * sleep: nobody computes. write: it sleeps, and wrote 3 MiB to a file before. hang: a call of MPI
 * sleeps for ever. memory: it sleeps, and then takes memory until it is killed. Rank 0 prints "size
 * N", and at the end how many threads OpenMP has.
 */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outofmemory.h"

static volatile int stop;

static void *spin(void *arg)
{
	while (!stop)
		;
	return arg;
}

static void compute_until(double end)
{
	while (MPI_Wtime() < end)
		;
}

/* An MPI_Comm_copy_attr_function. */
static int copy_never(MPI_Comm comm, int key, void *extra, void *in, void *out, int *copied)
{
	(void)comm, (void)key, (void)extra, (void)in, (void)out, (void)copied;
	for (;;)
		pause();
}

static void hang(void)
{
	MPI_Comm copy;
	int key;

	MPI_Comm_create_keyval(copy_never, MPI_COMM_NULL_DELETE_FN, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	MPI_Comm_dup(MPI_COMM_SELF, &copy);
}

static void write_file(void)
{
	char block[1 << 20] = { 1 };
	FILE *file = tmpfile();

	setvbuf(file, NULL, _IONBF, 0);
	for (int i = 0; i < 3; i++)
		fwrite(block, sizeof(block), 1, file);
	fclose(file);
}

static void take_memory(double seconds)
{
	usleep((useconds_t)(1e6 * seconds));
	take_all_memory();
}

int main(int argc, char **argv)
{
	double seconds, end;
	int rank, size, threads = 1, idle;
	pthread_t second;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 0) {
		printf("size %d\n", size);
		fflush(stdout);
	}
	seconds = atof(argv[1]);
	idle = strcmp(argv[2], "idle") == 0;
	if (strcmp(argv[2], "hang") == 0)
		hang();
	if (strcmp(argv[2], "memory") == 0)
		take_memory(seconds);
	if (strcmp(argv[2], "write") == 0)
		write_file();
	if (strcmp(argv[2], "thread") == 0)
		pthread_create(&second, NULL, spin, NULL);
	for (end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
		if (strcmp(argv[2], "sleep") == 0 || strcmp(argv[2], "write") == 0) {
			usleep(500000); /* seldom: each time it may wait for a CPU */
		} else if (idle || strcmp(argv[2], "openmp") == 0) {
#pragma omp parallel
			{
				if (!idle)
					compute_until(end);
				else if (omp_get_thread_num() == 0)
					usleep(500000);
#pragma omp single
				threads = omp_get_num_threads();
			}
		} else {
			compute_until(MPI_Wtime() + 0.05);
		}
		MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &(int){ 0 }, MPI_STATUS_IGNORE);
	}
	stop = 1;
	if (strcmp(argv[2], "thread") == 0)
		pthread_join(second, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d\n", threads);
	MPI_Finalize();
	return 0;
}
