/* openmpold.c: a parallel region as compilers before gcc 4.9 made it: the program calls the
 * region's function itself. */
#include <stdio.h>

void GOMP_parallel_start(void (*body)(void *), void *data, unsigned threads);
void GOMP_parallel_end(void);
void GOMP_barrier(void);

static void body(void *count)
{
	__atomic_add_fetch((int *)count, 1, __ATOMIC_RELAXED);
	GOMP_barrier();
}

int main(void)
{
	int count = 0;

	for (int i = 0; i < 3; i++) {
		GOMP_parallel_start(body, &count, 4);
		body(&count);
		GOMP_parallel_end();
	}
	printf("%d\n", count);
	return 0;
}
