/* rewritten.c: a rank on whose record somebody writes again and again: each slot is filled with one
 * byte, or with numbers by chance. In between it does what makes the library go on from what it
 * wrote before: calls, short and long, windows, sections, parallel regions, edges of the timeline.
 *
 *   rewritten RECORD
 */
#include <fcntl.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 4096, SLOT = 32768, SLOTS = 24, LARGE = 1 << 20, ROUNDS = 12, SUMS = 1200 };

static unsigned char slots[SLOTS * SLOT];
static char from[LARGE], to[LARGE];

static void fill(int round)
{
	static const unsigned char bytes[] = { 0xff, 0x7f, 0x80, 0x01, 0x41, 0x00 };

	if (round < (int)sizeof(bytes)) {
		memset(slots, bytes[round], sizeof(slots));
		return;
	}
	srand48(round);
	for (size_t i = 0; i < sizeof(slots) / 4; i++) {
		unsigned int n = (unsigned int)mrand48();

		/* small numbers, too: those that nearly fit */
		n = round % 2 == 0 ? n : n >> (mrand48() & 31);
		memcpy(slots + 4 * i, &n, 4);
	}
}

static void rewrite(const char *record, int round)
{
	int fd = open(record, O_WRONLY);

	fill(round);
	if (fd < 0 || pwrite(fd, slots, sizeof(slots), HEAD) != sizeof(slots))
		abort();
	close(fd);
}

static void compute(void)
{
	static int sum;

#pragma omp parallel num_threads(3)
	{
#pragma omp critical
		sum++;
#pragma omp barrier
#pragma omp task
		sum++;
#pragma omp taskwait
	}
}

static void section(int n)
{
	char label[16];

	snprintf(label, sizeof(label), "part %d", n);
	MPI_Pcontrol(1, label);
	compute();
	MPI_Pcontrol(-1, label);
}

static void work(int round)
{
	MPI_Request request;

	for (int i = 0; i < SUMS; i++)
		MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < 20; i++) {
		MPI_Irecv(to, LARGE, MPI_CHAR, 0, 1, MPI_COMM_SELF, &request);
		MPI_Send(from, LARGE, MPI_CHAR, 0, 1, MPI_COMM_SELF);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		section(round * 10 + i);
		section(i);
		usleep(2000);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Pcontrol(1, "open");
	for (int round = 0; round <= ROUNDS; round++) {
		work(round);
		MPI_Pcontrol(1, "outer");
		if (round < ROUNDS)
			rewrite(argv[1], round);
		MPI_Pcontrol(-1, "outer");
	}
	MPI_Finalize();
	puts("done");
	return 0;
}
