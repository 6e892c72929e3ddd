/* surroundings.c: prints what a process can see of itself, so that two runs compare:
 * environment, signal mask and dispositions, limits, open files, umask, directory and
 * errno. With -DWITH_MPI between MPI_Init and MPI_Finalize, and once more after it. */
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void print_signals(void)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction action;

		if (sigaction(s, NULL, &action) == 0)
			printf("signal %d blocked %d %s flags %x\n", s, sigismember(&mask, s),
			       action.sa_handler == SIG_DFL   ? "default"
			       : action.sa_handler == SIG_IGN ? "ignored"
							      : "handled",
			       action.sa_flags);
	}
}

static void print_limits(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit) == 0)
			printf("limit %d %lx %lx\n", i, (long)limit.rlim_cur, (long)limit.rlim_max);
	}
}

/* The numbers and kinds: names of sockets and pipes differ between any two runs. */
static void print_files(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0)
			printf("file %d kind %o\n", fd, st.st_mode & S_IFMT);
	}
}

static void print_surroundings(void)
{
	char directory[4096];
	mode_t mask = umask(022);

	for (char **e = environ; *e != NULL; e++)
		printf("environment %s\n", *e);
	print_signals();
	print_limits();
	print_files();
	printf("umask %o directory %s errno %d\n", mask, getcwd(directory, sizeof(directory)),
	       errno);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("argument %s\n", argv[i]);
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	errno = 77;
	MPI_Barrier(MPI_COMM_WORLD);
#else
	errno = 77;
#endif
	print_surroundings();
#ifdef WITH_MPI
	MPI_Finalize();
	print_files();
	print_signals();
#endif
	fprintf(stderr, "on standard error\n");
	return 7;
}
