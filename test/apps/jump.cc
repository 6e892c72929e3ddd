/* jump.cc: an error handler leaves an MPI call by an exception ("throw") or by longjmp ("jump").
 * Before it, 200 ms of sleep; after it, ten barriers with 10 ms of sleep each. Prints how long the
 * call took, ns. */
#include <mpi.h>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <unistd.h>

static jmp_buf back;
static bool jumps;

static void handler(MPI_Comm *, int *error, ...)
{
	if (jumps)
		longjmp(back, 1);
	throw *error;
}

static long long now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void fail()
{
	int x = 1;

	try {
		if (!jumps || setjmp(back) == 0)
			MPI_Send(&x, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD);
	} catch (int) {
	}
}

int main(int argc, char **argv)
{
	MPI_Errhandler errhandler;

	MPI_Init(&argc, &argv);
	jumps = strcmp(argv[1], "jump") == 0;
	MPI_Comm_create_errhandler(handler, &errhandler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
	usleep(200000);

	long long before = now();

	fail();

	long long took = now() - before;

	for (int i = 0; i < 10; i++) {
		usleep(10000);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	printf("%lld\n", took);
	return 0;
}
