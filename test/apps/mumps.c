/* mumps.c: solves two equations with sequential MUMPS, which brings an MPI for one process. */
#include <dmumps_c.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	DMUMPS_STRUC_C id;
	int rows[] = { 1, 2 }, columns[] = { 1, 2 };
	double matrix[] = { 1, 2 }, sides[] = { 1, 4 };

	MPI_Init(&argc, &argv);
	id.comm_fortran = -987654; /* its MPI_COMM_WORLD */
	id.par = 1;
	id.sym = 0;
	id.job = -1;
	dmumps_c(&id);
	id.n = id.nz = 2;
	id.irn = rows;
	id.jcn = columns;
	id.a = matrix;
	id.rhs = sides;
	for (int i = 0; i < 4; i++)
		id.icntl[i] = i < 3 ? -1 : 0;
	id.job = 6;
	dmumps_c(&id);
	printf("%d: %g %g\n", id.infog[0], sides[0], sides[1]);
	id.job = -2;
	dmumps_c(&id);
	MPI_Finalize();
	return 0;
}
