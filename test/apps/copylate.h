/* copylate.h: time in MPI, as long as a program likes. MPI_Comm_dup copies an attribute, and the
 * function that copies it sleeps. */
#ifndef COPYLATE_H
#define COPYLATE_H

#include <mpi.h>
#include <time.h>

static void pause_for(double seconds)
{
	struct timespec part = { .tv_sec = (time_t)seconds };

	part.tv_nsec = (long)(1e9 * (seconds - (double)part.tv_sec));
	nanosleep(&part, NULL);
}

/* An MPI_Comm_copy_attr_function. */
static int copy_late(MPI_Comm comm, int key, void *extra, void *in, void *out, int *copied)
{
	(void)comm, (void)key, (void)in, (void)out;
	pause_for(*(double *)extra);
	*copied = 0;
	return MPI_SUCCESS;
}

#endif
