/* sandbox.c: a program that forbids itself nearly every system call, as sandboxes do. The kernel
 * kills it at any other call, also while it exits. With -DWITH_MPI it has called MPI_Finalize, and
 * an MPI's own exit sets signals back. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name)                                      \
	{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_##name }, \
	{                                                \
		BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW \
	}

#ifdef WITH_MPI
#include <mpi.h>
#define ALLOW_MORE ALLOW(rt_sigaction)
#else
#define ALLOW_MORE ALLOW(brk), ALLOW(mmap), ALLOW(getrandom) /* dlsym may need memory */
#endif

int main(void)
{
	struct sock_filter steps[] = { { BPF_LD | BPF_W | BPF_ABS, 0, 0,
					 offsetof(struct seccomp_data, nr) },
				       ALLOW(write),
				       ALLOW(exit_group),
				       ALLOW_MORE,
				       { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS } };
	struct sock_fprog filter = { sizeof(steps) / sizeof(*steps), steps };

#ifdef WITH_MPI
	MPI_Init(NULL, NULL);
	MPI_Finalize();
#endif
	setvbuf(stdout, NULL, _IONBF, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return 77;
	puts("in the sandbox");
	return 4;
}
