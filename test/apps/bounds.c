/* bounds.c TOTAL LABEL=MILLISECONDS…: each rank spends this time in each of these sections. All
 * ranks together sleep for TOTAL milliseconds, which counts as useful. The rest of their time is
 * time in MPI (copylate.h). So a section may take any time on any number of ranks and on any
 * machine, for the same work. */
#include <jobeff_section.h>
#include <stdlib.h>
#include <string.h>

#include "copylate.h"

static void section(const char *label, double useful)
{
	MPI_Comm copy;

	MPIX_Section_enter(MPI_COMM_WORLD, label);
	pause_for(useful);
	MPI_Comm_dup(MPI_COMM_SELF, &copy);
	MPI_Comm_free(&copy);
	MPIX_Section_exit(MPI_COMM_WORLD, label);
}

int main(int argc, char **argv)
{
	double all = 0, useful, late = 0; /* seconds of a rank; the useful part of them */
	int size, key;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_create_keyval(copy_late, MPI_COMM_NULL_DELETE_FN, &key, &late);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	for (int i = 2; i < argc; i++)
		all += 1e-3 * atof(strchr(argv[i], '=') + 1);
	useful = 1e-3 * atof(argv[1]) / size / all;
	if (useful > 1)
		useful = 1;
	for (int i = 2; i < argc; i++) {
		char *end = strchr(argv[i], '=');
		double seconds = 1e-3 * atof(end + 1);

		*end = '\0';
		late = seconds * (1 - useful);
		section(argv[i], seconds * useful);
	}
	return MPI_Finalize();
}
