/* openmptour.c: uses each of OpenMP's constructs for which a compiler calls its runtime, and prints
 * results that do not depend on the number of threads. With OMP_CANCELLATION=true it cancels, too.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 1000 };

#define LOOP(name, clauses, type, from, to, step)                                      \
	do {                                                                           \
		long sum = 0;                                                          \
		_Pragma("omp parallel reduction(+ : sum)")                             \
		{                                                                      \
			_Pragma(clauses) for (type i = from; i < to; i += step) sum += \
				(long)(i % 17);                                        \
		}                                                                      \
		printf(name " %ld\n", sum);                                            \
	} while (0)

static unsigned long long from_ull = 3, to_ull = (1ull << 63) + 4000, step_ull = 1ull << 52;

static void loops(void)
{
	LOOP("static", "omp for schedule(static, 7)", int, 0, N, 1);
	LOOP("dynamic", "omp for schedule(dynamic)", int, 0, N, 1);
	LOOP("monotonic dynamic", "omp for schedule(monotonic : dynamic, 3)", int, 0, N, 1);
	LOOP("guided", "omp for schedule(guided)", int, 0, N, 1);
	LOOP("monotonic guided", "omp for schedule(monotonic : guided)", int, 0, N, 1);
	LOOP("runtime", "omp for schedule(runtime)", int, 0, N, 1);
	LOOP("nonmonotonic runtime", "omp for schedule(nonmonotonic : runtime)", int, 0, N, 1);
	LOOP("monotonic runtime", "omp for schedule(monotonic : runtime)", int, 0, N, 1);
	LOOP("auto", "omp for schedule(auto)", int, 0, N, 1);
	LOOP("nowait", "omp for schedule(dynamic) nowait", int, 0, N, 1);
	LOOP("ull dynamic", "omp for schedule(dynamic)", unsigned long long, from_ull, to_ull,
	     step_ull);
	LOOP("ull guided", "omp for schedule(guided)", unsigned long long, from_ull, to_ull,
	     step_ull);
	LOOP("ull monotonic", "omp for schedule(monotonic : dynamic)", unsigned long long, from_ull,
	     to_ull, step_ull);
	LOOP("ull runtime", "omp for schedule(runtime)", unsigned long long, from_ull, to_ull,
	     step_ull);
	LOOP("ull monotonic runtime", "omp for schedule(monotonic : runtime)", unsigned long long,
	     from_ull, to_ull, step_ull);
	LOOP("ull nonmonotonic runtime", "omp for schedule(nonmonotonic : runtime)",
	     unsigned long long, from_ull, to_ull, step_ull);
	LOOP("ull monotonic guided", "omp for schedule(monotonic : guided)", unsigned long long,
	     from_ull, to_ull, step_ull);
}

/* Without a reduction gcc calls one function for the region and its loop. */
#define COMBINED(clauses, type, from, to, step)                 \
	_Pragma(clauses) for (type i = from; i < to; i += step) \
		__atomic_add_fetch(&sum, (long)(i % 17), __ATOMIC_RELAXED)

static void combined(void)
{
	long sum = 0;

	COMBINED("omp parallel for schedule(static, 7)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(dynamic)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(monotonic : dynamic)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(guided)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(monotonic : guided)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(runtime)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(monotonic : runtime)", int, 0, N, 1);
	COMBINED("omp parallel for schedule(nonmonotonic : runtime)", int, 0, N, 1);
#pragma omp parallel sections
	{
#pragma omp section
		__atomic_add_fetch(&sum, 3, __ATOMIC_RELAXED);
#pragma omp section
		__atomic_add_fetch(&sum, 30, __ATOMIC_RELAXED);
	}
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(monotonic : dynamic) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(nonmonotonic : runtime) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel sections reduction(+ : sum)
	{
#pragma omp section
		sum += 1;
#pragma omp section
		sum += 10;
#pragma omp section
		sum += 100;
	}
	printf("combined %ld\n", sum);
}

#define ORDERED(clauses, type, from, to, step)                                        \
	do {                                                                          \
		_Pragma(clauses) for (type i = from; i < to; i += step)               \
		{                                                                     \
			_Pragma("omp ordered") hash = hash * 31 + (uint32_t)(i >> 3); \
		}                                                                     \
	} while (0)
#define DOACROSS(clauses, type)                                                                  \
	do {                                                                                     \
		_Pragma(clauses) for (type i = 1; i < 20; i++) for (type j = 1; j < 20; j++)     \
		{                                                                                \
			_Pragma("omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)")   \
				grid[i][j] =                                                     \
					(grid[i - 1][j] + grid[i][j - 1] + (int)(i * j)) % 1009; \
			_Pragma("omp ordered depend(source)")                                    \
		}                                                                                \
	} while (0)

static void order(void)
{
	uint32_t hash = 1;
	int grid[20][20] = { { 0 } };

	ORDERED("omp parallel for ordered schedule(dynamic)", int, 0, 200, 1);
	ORDERED("omp parallel for ordered schedule(static, 2)", int, 0, 200, 1);
	ORDERED("omp parallel for ordered schedule(guided)", int, 0, 200, 1);
	ORDERED("omp parallel for ordered schedule(runtime)", int, 0, 200, 1);
	ORDERED("omp parallel for ordered schedule(dynamic)", unsigned long long, from_ull, to_ull,
		step_ull);
	ORDERED("omp parallel for ordered schedule(static)", unsigned long long, from_ull, to_ull,
		step_ull);
	ORDERED("omp parallel for ordered schedule(guided)", unsigned long long, from_ull, to_ull,
		step_ull);
	ORDERED("omp parallel for ordered schedule(runtime)", unsigned long long, from_ull, to_ull,
		step_ull);
	DOACROSS("omp parallel for ordered(2) schedule(dynamic)", int);
	DOACROSS("omp parallel for ordered(2) schedule(static)", int);
	DOACROSS("omp parallel for ordered(2) schedule(guided)", int);
	DOACROSS("omp parallel for ordered(2) schedule(runtime)", int);
	DOACROSS("omp parallel for ordered(2) schedule(dynamic)", unsigned long long);
	DOACROSS("omp parallel for ordered(2) schedule(static)", unsigned long long);
	DOACROSS("omp parallel for ordered(2) schedule(guided)", unsigned long long);
	DOACROSS("omp parallel for ordered(2) schedule(runtime)", unsigned long long);
	printf("ordered %u, doacross %d\n", hash, grid[19][19]);
}

static void shares(void)
{
	int seen = 0, copies = 0;
	long double sum = 0;
	long long locked = 0;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel reduction(+ : copies)
	{
		int value = 0;

#pragma omp single copyprivate(value)
		{
			value = 42;
			seen++;
		}
		copies += value == 42;
#pragma omp single
		seen++;
#pragma omp sections
		{
#pragma omp section
#pragma omp atomic
			seen += 10;
#pragma omp section
#pragma omp atomic
			seen += 100;
		}
#pragma omp barrier
#pragma omp master
		seen += 1000;
#pragma omp for
		for (int i = 0; i < N; i++) {
#pragma omp critical
			locked += i;
#pragma omp critical(named)
			locked += 0;
#pragma omp atomic
			sum += i;
			omp_set_lock(&lock);
			omp_unset_lock(&lock);
		}
#ifndef __clang__ /* clang 14 does not know it */
#pragma omp scope
		copies += 0;
#endif
	}
	omp_destroy_lock(&lock);
	printf("shares %d %d %lld %.0f\n", seen, copies == omp_get_max_threads(), locked,
	       (double)sum);
}

struct aligned {
	_Alignas(64) int value;
};

static long deep(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) final(n < 10)
	a = deep(n - 1);
#pragma omp task shared(b) mergeable
	b = deep(n - 2);
#pragma omp taskwait
	return a + b;
}

static int firstprivates(int n)
{
#ifdef __clang__ /* it copies no array whose length is not constant */
	int array[64], good = 0;
#else
	int array[n], good = 0;
#endif
	struct aligned aligned = { 5 };
	char large[10000];

	memset(large, 3, sizeof(large));
	for (int i = 0; i < n; i++)
		array[i] = i;
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 50; i++) {
#pragma omp task firstprivate(array, aligned) shared(good) priority(i % 3)
#pragma omp atomic
		good += array[n - 1] == n - 1 && aligned.value == 5 &&
			(uintptr_t)&aligned % 64 == 0;
#pragma omp task firstprivate(large) shared(good)
#pragma omp atomic
		good += large[9999] == 3;
#pragma omp task firstprivate(i) shared(good) if (i % 2)
#pragma omp atomic
		good += i < 50;
	}
	return good;
}

static void tasks(void)
{
	int chain[3] = { 0 }, events = 0;
	long sum = 0, group = 0, fib = 0;

#pragma omp parallel
#pragma omp single
	fib = deep(20);
	printf("fib %ld, firstprivates %d\n", fib, firstprivates(13));
#pragma omp parallel
#pragma omp single
	{
		for (int i = 0; i < 100; i++) {
#pragma omp task depend(inout : chain[0]) shared(chain)
			chain[0] = chain[0] * 3 % 1000 + 1;
#pragma omp task depend(in : chain[0]) depend(out : chain[1]) shared(chain)
			chain[1] += chain[0];
		}
#pragma omp taskwait depend(in : chain[1])
		chain[2] = chain[1];
#pragma omp taskgroup task_reduction(+ : group)
		for (int i = 0; i < 100; i++)
#pragma omp task in_reduction(+ : group)
			group += i;
#pragma omp taskloop reduction(+ : sum) grainsize(3)
		for (int i = 0; i < N; i++)
			sum += i;
#pragma omp taskloop num_tasks(7) shared(events) nogroup
		for (unsigned long long i = from_ull; i < to_ull; i += step_ull)
#pragma omp atomic
			events++;
#pragma omp taskyield
	}
	printf("depend %d, group %ld, taskloop %ld %d\n", chain[2], group, sum, events);
	sum = 0;
#pragma omp parallel reduction(task, + : sum)
#pragma omp single
	for (int i = 0; i < 100; i++)
#pragma omp task in_reduction(+ : sum)
		sum += i;
#pragma omp parallel
#pragma omp for reduction(task, + : sum)
	for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : sum)
		sum += i;
#pragma omp parallel
#pragma omp for reduction(task, + : sum) schedule(dynamic)
	for (unsigned long long i = from_ull; i < to_ull; i += step_ull)
#pragma omp task in_reduction(+ : sum)
		sum += 1;
#pragma omp parallel
#pragma omp for reduction(task, + : sum) ordered schedule(dynamic)
	for (int i = 0; i < 10; i++)
#pragma omp ordered
		sum += i;
#pragma omp parallel
#pragma omp sections reduction(task, + : sum)
	{
#pragma omp section
		sum += 5;
#pragma omp section
		sum += 6;
	}
	printf("task reduction %ld\n", sum);
}

static void detached(void)
{
	int done = 0;

#pragma omp parallel
#pragma omp single
	{
		omp_event_handle_t event;

#pragma omp task detach(event) shared(done)
		{
#pragma omp atomic
			done++;
			omp_fulfill_event(event);
		}
#pragma omp taskwait
#pragma omp atomic
		done += 10;
	}
	printf("detached %d\n", done);
}

static void cancelled(void)
{
	int found = 0;

#pragma omp parallel
	{
#pragma omp for schedule(dynamic)
		for (int i = 0; i < N; i++) {
			if (i == 500) {
				found = 1;
#pragma omp cancel for
			}
#pragma omp cancellation point for
		}
#pragma omp sections
		{
#pragma omp section
			{
#pragma omp cancel sections
			}
#pragma omp section
			{
#pragma omp cancellation point sections
			}
		}
#pragma omp single
#pragma omp taskgroup
		for (int i = 0; i < 100; i++)
#pragma omp task
		{
#pragma omp cancel taskgroup
		}
#pragma omp barrier
		if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
		}
#pragma omp barrier
	}
	printf("cancelled %d\n", found);
}

static void levels(void)
{
	int inner = 0, teams = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
#pragma omp parallel num_threads(3)
#pragma omp atomic
		inner++;
#pragma omp parallel num_threads(1)
#pragma omp atomic
		inner += 100;
	}
#pragma omp teams num_teams(2) thread_limit(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
	teams++;
#pragma omp target map(tofrom : teams)
	teams++;
	omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
	inner += 1000;
	printf("levels %d, teams %d\n", inner > 0 && omp_get_max_threads() > 1 ? 1 : inner > 0,
	       teams > 0);
}

static void orphans(void)
{
	int n = 0;

#pragma omp barrier
#pragma omp critical
	n++;
#pragma omp for schedule(dynamic)
	for (int i = 0; i < 10; i++)
		n++;
#pragma omp single
	n++;
#pragma omp task shared(n)
	n++;
#pragma omp taskwait
#pragma omp taskloop shared(n)
	for (int i = 0; i < 10; i++)
		n++;
	printf("orphans %d\n", n);
}

int main(void)
{
	for (int round = 0; round < 3; round++) {
		loops();
		combined();
		order();
		shares();
		tasks();
		detached();
		cancelled();
		levels();
		orphans();
	}
	return 5;
}
