/* cgroup.c: what the plugin reads of a step's cgroups, for tests without Slurm.
 *
 *   cgroup OWN TREE    takes OWN for /proc/self/cgroup and TREE for /sys/fs/cgroup; prints the
 *                      path of the job's cgroup, waits for a line, and prints what was
 *                      counted by then
 *   cgroup OWN TREE N  prints the CPU time of a reading, us: the median of N
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../../preload/record/make.h"
#include "../../jobeff_spank.h"

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(const struct je_cgroup *c, size_t n)
{
	uint64_t *took = calloc(n, sizeof(*took));
	char text[768];

	for (size_t i = 0; i < n; i++) {
		uint64_t begin = je_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		je_cgroup_tell(c, text, sizeof(text));
		took[i] = je_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	}
	qsort(took, n, sizeof(*took), by_size);
	printf("%.1f\n", (double)took[n / 2] / 1e3);
	free(took);
}

int main(int argc, char **argv)
{
	static struct je_cgroup c;
	char text[768];

	if (argc < 3)
		return 2;
	je_cgroup_find(&c, argv[1], argv[2]);
	if (argc > 3) {
		measure(&c, strtoul(argv[3], NULL, 10));
		return 0;
	}
	puts(c.job);
	fflush(stdout);
	getchar();
	je_cgroup_tell(&c, text, sizeof(text));
	puts(text);
	return 0;
}
