/* exec.c PRELOAD…: microseconds that one /bin/true takes with each preload ("" is none). The
 * preloads take turns. It prints the lower quartile: other programs disturb the upper ones. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "times.h"

enum { TIMES = 200, MOST = 8 };

static double us_of_one(const char *preload)
{
	char variable[4096], *environment[] = { variable, NULL }, *arguments[] = { "true", NULL };
	struct timespec start, end;
	pid_t pid;

	snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", preload);
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environment) != 0)
		exit(1);
	waitpid(pid, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) * 1e-3;
}

int main(int argc, char **argv)
{
	static double us[MOST][TIMES];

	for (int i = 0; i < TIMES; i++)
		for (int k = 1; k < argc && k < MOST; k++)
			us[k][i] = us_of_one(argv[k]);
	for (int k = 1; k < argc && k < MOST; k++) {
		qsort(us[k], TIMES, sizeof(us[k][0]), by_size);
		printf("%.1f\n", us[k][TIMES / 4]);
	}
	return 0;
}
