/* openmpweak.c: uses OpenMP where the process has it. It is linked to no OpenMP, and looks by weak
 * symbols and by dlsym(). */
#include <dlfcn.h>
#include <stdio.h>

void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned) __attribute__((weak));
int omp_get_num_threads(void) __attribute__((weak));

typedef void (*parallel_fn)(void (*)(void *), void *, unsigned, unsigned);

static void body(void *calls)
{
	int threads = omp_get_num_threads != NULL ? omp_get_num_threads() : 1;

	__atomic_fetch_add((int *)calls, threads, __ATOMIC_RELAXED);
}

static void call(parallel_fn parallel)
{
	int calls = 0;

	if (parallel != NULL)
		parallel(body, &calls, 2, 0);
	else
		body(&calls);
	printf("%d\n", calls);
}

int main(void)
{
	call(GOMP_parallel);
	call((parallel_fn)dlsym(RTLD_DEFAULT, "GOMP_parallel"));
	return 0;
}
