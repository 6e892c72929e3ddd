/* workload.c: prints what the program itself can see of the files that its arguments name.
 * Before MPI_Init it does what its environment says: LOCK=FILE locks the file (POSIX), READ=FILE
 * reads 5 bytes of it, WRITE=FILE and CHANGE=FILE open it. After MPI_Init rank 0 prints
 * whether the lock is still held, where it is in the file, and its standard input. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_of(const char *variable, int flags)
{
	const char *name = getenv(variable);

	return name != NULL ? open(name, flags) : -1;
}

/* Another process sees whose lock it is. */
static void print_lock(const char *name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	fflush(stdout);
	if (fork() == 0) {
		fd = open(name, O_RDWR);
		fcntl(fd, F_GETLK, &lock);
		printf("lock %s\n", lock.l_type == F_WRLCK ? "held" : "lost");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int locked = open_of("LOCK", O_RDWR), reader = open_of("READ", O_RDONLY), rank, n;
	char text[64];

	open_of("WRITE", O_WRONLY);
	open_of("CHANGE", O_RDWR);
	fcntl(locked, F_SETLK, &lock);
	if (reader >= 0 && read(reader, text, 5) != 5)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		if (locked >= 0)
			print_lock(getenv("LOCK"));
		if (reader >= 0)
			printf("offset %ld\n", (long)lseek(reader, 0, SEEK_CUR));
		while ((n = read(STDIN_FILENO, text, sizeof(text))) > 0)
			printf("stdin %.*s\n", n, text);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
