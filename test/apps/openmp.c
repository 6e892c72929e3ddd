/* openmp.c MODE: OpenMP programs whose figures are known. Work is sleep, so that threads that share
 * a core have it, too. One unit is 50 ms, and teams have four threads unless they say else.
 *
 *   loads     a region in which thread t works t + 1 units
 *   barrier   the same before a barrier, and 1 unit after it
 *   critical  each thread works 1 unit in a critical region
 *   ordered   each thread works 1 unit in an ordered loop
 *   dynamic   16 iterations of 1 unit, handed out one by one
 *   tasks     one thread makes 17 tasks of 1 unit, and waits for them: in the last unit most
 *             threads have none
 *   taskloop  the same as a taskloop
 *   serial    2 units outside of regions, then a region of 1 unit each
 *   nested    2 threads, each with a region of 2 threads of 1 unit each
 *   teams     regions of 1, 4, 2 and 4 threads of 1 unit each, 20 times with half a millisecond
 *   threads   two POSIX threads with a region of 2 threads of 2 units each
 *   killed    a region that SIGKILL ends after 2 units; one thread was done after 1
 *   forked    a region in which each thread forks a child that works
 *   children  a process that forks before its first region; parent and child then have one each
 *   exits     exit(3) inside a region
 *   many      a region of 300 threads of 1 unit each, twice
 *   none      no region at all
 */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(double units)
{
	long long ns = (long long)(units * 50e6);
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

static int made;

static void loads(int barrier)
{
#pragma omp parallel num_threads(4)
	{
		work(omp_get_thread_num() + 1);
		if (barrier) {
#pragma omp barrier
			work(1);
		}
	}
}

static void locks(int ordered)
{
	if (ordered) {
#pragma omp parallel for ordered schedule(static, 1) num_threads(4)
		for (int i = 0; i < 4; i++) {
#pragma omp ordered
			work(1);
		}
		return;
	}
#pragma omp parallel num_threads(4)
#pragma omp critical
	work(1);
}

static void tasks(int loop)
{
#pragma omp parallel num_threads(4)
#pragma omp single
	{
		if (loop) {
#pragma omp taskloop grainsize(1)
			for (int i = 0; i < 17; i++) {
				work(1);
				__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
			}
		} else {
			for (int i = 0; i < 17; i++) {
#pragma omp task
				{
					work(1);
					__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
				}
			}
#pragma omp taskwait
		}
	}
	printf("%d tasks\n", made);
}

static void team(int threads, double units)
{
#pragma omp parallel num_threads(threads)
	work(units);
}

static void nested(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	team(2, 1);
}

static void teams(void)
{
	static const int sizes[] = { 1, 4, 2, 4 };

	for (int i = 0; i < 4; i++)
		team(sizes[i], 1);
	for (int i = 0; i < 80; i++)
		team(sizes[i % 4], 0.01);
}

static void *one_thread(void *nothing)
{
	team(2, 2);
	return nothing;
}

static void threads(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, one_thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

static void forked(void)
{
	int good = 0;

#pragma omp parallel num_threads(4) reduction(+ : good)
	{
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			work(1);
			_exit(7);
		}
		waitpid(child, &status, 0);
		good += WEXITSTATUS(status) == 7;
		work(1);
	}
	printf("%d children\n", good);
}

static void children(void)
{
	int status = 0;
	pid_t child = fork();

	tasks(0);
	if (child == 0) {
		fflush(stdout);
		_exit(made == 17 ? 7 : 8);
	}
	waitpid(child, &status, 0);
	printf("the child ended with %d\n", WEXITSTATUS(status));
}

static void ends(int kill_it)
{
#pragma omp parallel num_threads(4)
	{
		if (omp_get_thread_num() != 3)
			work(kill_it && omp_get_thread_num() == 1 ? 2 : 40);
		else
			work(1);
		if (omp_get_thread_num() == 1) {
			if (kill_it)
				kill(getpid(), SIGKILL);
		} else if (omp_get_thread_num() == 3 && !kill_it) {
			exit(3);
		}
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	printf("%s\n", mode);
	fflush(stdout);
	if (strcmp(mode, "loads") == 0 || strcmp(mode, "barrier") == 0)
		loads(mode[0] == 'b');
	else if (strcmp(mode, "critical") == 0 || strcmp(mode, "ordered") == 0)
		locks(mode[0] == 'o');
	else if (strcmp(mode, "tasks") == 0 || strcmp(mode, "taskloop") == 0)
		tasks(mode[4] == 'l');
	else if (strcmp(mode, "nested") == 0)
		nested();
	else if (strcmp(mode, "teams") == 0)
		teams();
	else if (strcmp(mode, "threads") == 0)
		threads();
	else if (strcmp(mode, "forked") == 0)
		forked();
	else if (strcmp(mode, "children") == 0)
		children();
	else if (strcmp(mode, "killed") == 0 || strcmp(mode, "exits") == 0)
		ends(mode[0] == 'k');
	else if (strcmp(mode, "many") == 0) {
		team(300, 1);
		team(300, 1);
	} else if (strcmp(mode, "serial") == 0) {
		team(4, 0);
		work(2);
		team(4, 1);
	} else if (strcmp(mode, "dynamic") == 0) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(4)
		for (int i = 0; i < 16; i++)
			work(1);
	}
	printf("done\n");
	return 0;
}
