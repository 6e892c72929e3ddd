/* fakeoverhead.c: an MPI of one process that says it is rank 0 of 2, for jobeff-overhead. It ends
 * where it is given other handles than COMM and BYTE, MPICH's by default. To start a transfer of n
 * bytes costs 10,000 + n/1000 ns of the processor; the transfer itself takes 3,000 + n/5 ns more,
 * whatever the processor does.
 *
 * With -DJE_TEST_CLOCK, and linked to the program, these times and work alone move the clock that
 * the program reads. A unit of work is a nanosecond. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef COMM
#define COMM 0x44000000
#define BYTE 0x4c00010d
#endif

static void check(int type, int comm)
{
	if (type != BYTE || comm != COMM)
		exit(3);
}

#ifdef JE_TEST_CLOCK
static long long clock_ns = 1;

int clock_gettime(clockid_t id, struct timespec *t)
{
	*t = (struct timespec){ clock_ns / 1000000000, clock_ns % 1000000000 };
	return 0;
}

void je_work(long units)
{
	clock_ns += units;
}

static void wait_until(long long ns)
{
	if (clock_ns < ns)
		clock_ns = ns;
}
#endif

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#ifndef JE_TEST_CLOCK
static void wait_until(long long ns)
{
	while (now() < ns)
		;
}
#endif

static long long done; /* when the transfer ends, ns */

static int start(int n)
{
	long long ready = now() + 10000 + n / 1000;

	wait_until(ready);
	done = ready + 3000 + n / 5;
	return 0;
}

int PMPI_Init(int *argc, char ***argv)
{
	return 0;
}

int PMPI_Finalize(void)
{
	return 0;
}

int PMPI_Get_library_version(char *text, int *n)
{
	strcpy(text, "MPICH, a \"fake\"\nsecond line");
	return 0;
}

int PMPI_Comm_rank(int comm, int *rank)
{
	*rank = 0;
	return 0;
}

int PMPI_Comm_size(int comm, int *size)
{
	check(BYTE, comm);
	*size = 2;
	return 0;
}

int PMPI_Send(const void *bytes, int n, int type, int to, int tag, int comm)
{
	check(type, comm);
	return 0;
}

int PMPI_Recv(void *bytes, int n, int type, int from, int tag, int comm, void *status)
{
	check(type, comm);
	return 0;
}

int PMPI_Isend(const void *bytes, int n, int type, int to, int tag, int comm, int *request)
{
	check(type, comm);
	return start(n);
}

int PMPI_Irecv(void *bytes, int n, int type, int from, int tag, int comm, int *request)
{
	check(type, comm);
	return start(n);
}

int PMPI_Wait(int *request, void *status)
{
	wait_until(done);
	return 0;
}
