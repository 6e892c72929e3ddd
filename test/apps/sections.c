/* sections.c WAY [N]: enters and leaves sections in known ways; prints "section LABEL
 * COUNT SECONDS OWN_SECONDS MPI_SECONDS" by its own clock, one line per label and rank. */
#include <jobeff_section.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_TOOL
/* The callbacks of a tool: `data` holds the same bytes in both calls. */
static int entered, left, kept;

int MPIX_Section_enter_cb(MPI_Comm comm, const char *label, char data[32])
{
	kept += comm == MPI_COMM_WORLD && data[0] == 0 && data[31] == 0;
	entered++;
	snprintf(data, 32, "%d %s", entered, label);
	data[31] = 'x';
	return 0;
}

int MPIX_Section_leave_cb(MPI_Comm comm, const char *label, char data[32])
{
	const char *blank = strchr(data, ' ');

	kept += comm == MPI_COMM_WORLD && data[31] == 'x' && blank != NULL &&
		strcmp(blank + 1, label) == 0;
	left++;
	return 0;
}
#endif

static MPI_Comm world;

static void enter(const char *label)
{
	MPIX_Section_enter(world, label);
}

static void leave(const char *label)
{
	MPIX_Section_exit(world, label);
}

static void compute(double seconds)
{
	struct timespec t = { 0, (long)(seconds * 1e9) };

	nanosleep(&t, NULL);
}

static double barrier(void)
{
	double start = MPI_Wtime();

	MPI_Barrier(world);
	return MPI_Wtime() - start;
}

/* outer { compute 20 ms, inner { compute 10 ms, rank 1 20 ms, barrier } } five times; inner alone
 * once. */
static void nested(int rank)
{
	double outer = 0, inner = 0, mpi = 0, alone, start;

	for (int i = 0; i < 5; i++) {
		start = MPI_Wtime();
		enter("outer");
		compute(0.02);
		double in = MPI_Wtime();
		enter("inner");
		compute(0.01 + 0.01 * rank);
		mpi += barrier();
		leave("inner");
		inner += MPI_Wtime() - in;
		leave("outer");
		outer += MPI_Wtime() - start;
	}
	start = MPI_Wtime();
	enter("inner");
	compute(0.01);
	leave("inner");
	alone = MPI_Wtime() - start;
	printf("section outer 5 %.9f %.9f %.9f\n", outer, outer - inner, mpi);
	printf("section inner 6 %.9f %.9f %.9f\n", inner + alone, inner + alone, mpi);
}

/* The same label inside itself is one time, two counts. */
static void recursive(void)
{
	double start = MPI_Wtime();

	enter("again");
	enter("again");
	compute(0.05);
	leave("again");
	leave("again");
	double took = MPI_Wtime() - start;

	printf("section again 2 %.9f %.9f 0\n", took, took);
}

static void many(int labels)
{
	char label[32];

	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < labels; i++) {
			snprintf(label, sizeof(label), "label %d", i);
			enter(label);
			leave(label);
		}
}

static void deep(int levels)
{
	char label[32];

	for (int i = 0; i < levels; i++) {
		snprintf(label, sizeof(label), "level %d", i);
		enter(label);
	}
	for (int i = levels - 1; i >= 0; i--) {
		snprintf(label, sizeof(label), "level %d", i);
		leave(label);
	}
}

/* Leaves what was never entered, the outer before the inner, and one twice; leaves one open. */
static void wrong(void)
{
	leave("never entered");
	enter("outer");
	enter("inner");
	leave("outer");
	leave("inner");
	enter("left open");
	compute(0.05);
}

static void hostile(void)
{
	enter("\x1b[31mred\n<b>&\xff");
	leave("\x1b[31mred\n<b>&\xff");
	enter(NULL);
	leave(NULL);
	enter("0123456789012345678901234567890123456789012345678901234567890123456789 long");
	leave("0123456789012345678901234567890123456789012345678901234567890123456789 long");
}

/* IPM's regions, and what else may stand behind a level. */
static void regions(void)
{
	MPI_Pcontrol(1, "region");
	compute(0.05);
	MPI_Pcontrol(0, "event");
	MPI_Pcontrol(-1, "region");
	MPI_Pcontrol(1, (void *)8);
	MPI_Pcontrol(-1, (void *)-16);
	MPI_Pcontrol(1, (void *)0);
	MPI_Pcontrol(1, "bell\a");
	MPI_Pcontrol(2);
	MPI_Pcontrol(0);
	printf("section region 1 0.05 0.05 0\n");
}

/* A section of half of the ranks. */
static void half(int rank)
{
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
	if (rank % 2 == 1) {
		MPIX_Section_enter(comm, "odd ranks");
		compute(0.03);
		MPIX_Section_exit(comm, "odd ranks");
	}
	MPI_Comm_free(&comm);
}

static void *elsewhere(void *turns)
{
	for (int i = 0; i < *(int *)turns; i++) {
		enter("of another thread");
		leave("of another thread");
	}
	return NULL;
}

static void threads(int turns)
{
	pthread_t thread;

	enter("of the first thread");
	pthread_create(&thread, NULL, elsewhere, &turns);
	pthread_join(thread, NULL);
	leave("of the first thread");
}

static void price(int turns)
{
	double start = MPI_Wtime();

	for (int i = 0; i < turns; i++) {
		enter("an empty section");
		leave("an empty section");
	}
	printf("price %.1f ns\n", (MPI_Wtime() - start) / turns * 1e9);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* After a barrier, rank r enters after 20 ms times r, and stays 40 ms less 10 ms times r. Prints
 * "stay INSTANCE T_IN T_OUT" by its own clock. */
static void late(int rank, int turns)
{
	for (int i = 1; i <= turns; i++) {
		MPI_Barrier(world);
		compute(0.02 * rank);
		enter("late");
		double in = now();
		compute(0.04 - 0.01 * rank);
		printf("stay %d %.9f %.9f\n", i, in, now());
		leave("late");
	}
}

static void many_instances(int turns)
{
	for (int i = 0; i < turns; i++) {
		enter("one");
		leave("one");
		if (i % 2 == 0) {
			enter("every second");
			leave("every second");
		}
	}
}

/* Ends without a word in a section, computing (or in a call), once both ranks are in it: the
   launcher kills the other rank as soon as one is dead. */
static void killed(int in_call)
{
	int x;

	enter("outer");
	compute(0.1);
	enter("the last one");
	barrier();
	if (in_call) {
		alarm(3);
		MPI_Recv(&x, 1, MPI_INT, 0, 99, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	}
	compute(0.5);
	raise(SIGKILL);
}

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

int main(int argc, char **argv)
{
	const char *way = argv[1];
	int n = argc > 2 ? atoi(argv[2]) : 0, rank;

	MPIX_Section_enter(MPI_COMM_WORLD, "before MPI_Init");
	MPIX_Section_exit(MPI_COMM_WORLD, "before MPI_Init");
	MPI_Init(&argc, &argv);
	world = MPI_COMM_WORLD;
	MPI_Comm_rank(world, &rank);
	MPI_Barrier(world);
	if (is(way, "nested"))
		nested(rank);
	else if (is(way, "recursive"))
		recursive();
	else if (is(way, "many"))
		many(n);
	else if (is(way, "deep"))
		deep(n);
	else if (is(way, "wrong"))
		wrong();
	else if (is(way, "hostile"))
		hostile();
	else if (is(way, "regions"))
		regions();
	else if (is(way, "half"))
		half(rank);
	else if (is(way, "threads"))
		threads(n);
	else if (is(way, "price"))
		price(n);
	else if (is(way, "late"))
		late(rank, n);
	else if (is(way, "instances"))
		many_instances(n);
	else if (is(way, "killed"))
		killed(0);
	else if (is(way, "killed_in_call"))
		killed(1);
	MPI_Finalize();
	MPIX_Section_enter(MPI_COMM_WORLD, "after MPI_Finalize");
#ifdef WITH_TOOL
	printf("tool %d %d %d\n", entered, left, kept);
#endif
	return 0;
}
