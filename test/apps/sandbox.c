/* sandbox.c: a program that forbids itself nearly every system call, as sandboxes do. The kernel
 * kills it at any other call, also while it exits. */
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

int main(void)
{
	struct sock_filter steps[] = { { BPF_LD | BPF_W | BPF_ABS, 0, 0,
					 offsetof(struct seccomp_data, nr) },
				       ALLOW(write),
				       ALLOW(brk), /* dlsym may need memory */
				       ALLOW(mmap),
				       ALLOW(getrandom),
				       ALLOW(exit_group),
				       { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS } };
	struct sock_fprog filter = { sizeof(steps) / sizeof(*steps), steps };

	setvbuf(stdout, NULL, _IONBF, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return 77;
	puts("in the sandbox");
	return 4;
}
