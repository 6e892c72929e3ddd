/* forks.c: each rank starts N short processes, every second of which runs /bin/true. Between
 * hundreds of them the ranks call MPI_Allreduce. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, rank, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == 0) {
			if (i % 2 == 0)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		if (i % 100 == 99)
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
