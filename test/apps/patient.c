/* patient.c: linked into a program, this lets MPICH give away its CPU where it waits, as Open MPI
 * does with --oversubscribe. On fewer CPUs than ranks, each rank would else ask for messages until
 * the kernel takes its CPU away. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned (*next)(void *);

__attribute__((constructor)) static void begin(void)
{
	next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
}

/* UCX's. It is the kernel's sched_yield: that of virtualclock.c is for threads of OpenMP. */
unsigned ucp_worker_progress(void *worker)
{
	unsigned done = next(worker);

	if (done == 0)
		syscall(SYS_sched_yield);
	return done;
}
