/* openmp.c: ns per parallel region and per call inside one, on two threads. Each is the median over
 * blocks: a mean would say nothing if threads share cores with other programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "times.h"

enum { BLOCKS = 200, THREADS = 2, REGIONS = 200, CALLS = 2000, TASKS = 200, TASK_NS = 1000 };

#define NOTHING() __asm__ volatile("" ::: "memory")

static void regions(int n)
{
	for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(THREADS)
		NOTHING();
	}
}

static void loops(int n)
{
	for (int i = 0; i < n; i++) {
#pragma omp parallel for num_threads(THREADS)
		for (int j = 0; j < 16; j++)
			NOTHING();
	}
}

static void chunks(int n)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(THREADS)
	for (int i = 0; i < n; i++)
		NOTHING();
}

/* One thread: two would wait for each other, and that is not what a call costs. */
static void criticals(int n)
{
#pragma omp parallel num_threads(1)
	for (int i = 0; i < n; i++) {
#pragma omp critical
		NOTHING();
	}
}

static void singles(int n)
{
#pragma omp parallel num_threads(THREADS)
	for (int i = 0; i < n; i++) {
#pragma omp single nowait
		NOTHING();
	}
}

static void tasks(int n)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
	for (int i = 0; i < n; i++) {
#pragma omp task
		for (double end = now_ns() + TASK_NS; now_ns() < end;)
			NOTHING();
	}
}

static void measure(const char *name, void (*work)(int), int n)
{
	double ns[BLOCKS];

	work(n);
	for (int b = 0; b < BLOCKS; b++) {
		double start = now_ns();

		work(n);
		ns[b] = (now_ns() - start) / n;
	}
	qsort(ns, BLOCKS, sizeof(ns[0]), by_size);
	printf("%s %.2f\n", name, ns[BLOCKS / 2]);
}

int main(void)
{
	measure("parallel", regions, REGIONS);
	measure("parallel-for", loops, REGIONS);
	measure("dynamic-1", chunks, CALLS);
	measure("critical", criticals, CALLS);
	measure("single", singles, CALLS);
	measure("task-1us", tasks, TASKS);
	return 0;
}
