/* sleeper.c MILLISECONDS ROUNDS LATE: work that scales and messages that do not. Both are sleeps,
 * so they take as long on any machine, however busy it is. In each round every rank sleeps for its
 * part of MILLISECONDS / ROUNDS, which counts as useful, as in sleepscale.c. Then it sleeps in MPI,
 * LATE milliseconds for each other rank, as on a network that all of them share. No rank waits for
 * another one before MPI_Finalize. Each prints what it measured itself. */
#include <dirent.h>
#include <jobeff_section.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "copylate.h"

/* What the clock says, and how long this process's threads have waited for a CPU, seconds. */
struct reading {
	double at, waited;
	int threads;
};

static struct reading reading(void)
{
	struct reading r = { 0 };
	struct timespec now;
	char name[300];
	DIR *tasks = opendir("/proc/self/task");

	for (struct dirent *d; tasks != NULL && (d = readdir(tasks)) != NULL;) {
		unsigned long long ns = 0;
		FILE *f;

		if (d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/self/task/%s/schedstat", d->d_name);
		f = fopen(name, "r");
		if (f != NULL && fscanf(f, "%*u %llu", &ns) == 1) {
			r.waited += 1e-9 * (double)ns;
			r.threads++;
		}
		if (f != NULL)
			fclose(f);
	}
	closedir(tasks);
	clock_gettime(CLOCK_MONOTONIC, &now);
	r.at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	return r;
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[2]), size, key;
	double part = 1e-3 * atof(argv[1]) / rounds, late;
	struct reading first = reading(), begin, end, last;
	MPI_Comm copy;

	MPI_Init(&argc, &argv);
	begin = reading();
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	late = 1e-3 * atof(argv[3]) * (size - 1);
	MPI_Comm_create_keyval(copy_late, MPI_COMM_NULL_DELETE_FN, &key, &late);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	for (int i = 0; i < rounds; i++) {
		pause_for(part / size);
		MPIX_Section_enter(MPI_COMM_WORLD, "MESSAGES");
		MPI_Comm_dup(MPI_COMM_SELF, &copy);
		MPIX_Section_exit(MPI_COMM_WORLD, "MESSAGES");
		MPI_Comm_free(&copy);
	}
	end = reading();
	MPI_Finalize();
	last = reading(); /* without MPI's threads */
	printf("ran %.9f to %.9f s, waited %.9f to %.9f s\n", end.at - begin.at, last.at - first.at,
	       end.waited - begin.waited, end.waited + end.threads * (last.at - end.at));
	return 0;
}
