! calls.F90: nanoseconds per call of MPI functions on one rank, in Fortran: as calls.c. -DUSE_F08
! for mpi_f08, else `use mpi`. Each macro is one long line: -ffree-line-length-none.
program calls
#ifdef USE_F08
	use mpi_f08
#else
	use mpi
#endif
	implicit none
	integer, external :: block_begin
	double precision, external :: blocks_quick
	integer :: in, out(2), one(1), zero(1), error, i, n
	double precision :: from, to

	in = 1
	one = 1
	zero = 0
	from = 1
	call MPI_Init(error)

#define SELF MPI_COMM_SELF
#define MEASURE(name, arguments) \
	do; n = block_begin(); if (n == 0) exit; \
	do i = 1, n; call name arguments; end do; call block_end(); end do; \
	call show('name')

	MEASURE(MPI_Barrier, (SELF, error))
	MEASURE(MPI_Allreduce, (from, to, 1, MPI_DOUBLE_PRECISION, MPI_SUM, SELF, error))
	MEASURE(MPI_Sendrecv, (in, 1, MPI_INTEGER, 0, 0, out, 1, MPI_INTEGER, 0, 0, SELF, MPI_STATUS_IGNORE, error))
	MEASURE(MPI_Bcast, (in, 1, MPI_INTEGER, 0, SELF, error))
	MEASURE(MPI_Reduce, (from, to, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, SELF, error))
	MEASURE(MPI_Gather, (in, 1, MPI_INTEGER, out, 1, MPI_INTEGER, 0, SELF, error))
	MEASURE(MPI_Scatter, (in, 1, MPI_INTEGER, out, 1, MPI_INTEGER, 0, SELF, error))
	MEASURE(MPI_Allgather, (in, 1, MPI_INTEGER, out, 1, MPI_INTEGER, SELF, error))
	MEASURE(MPI_Allgatherv, (in, 1, MPI_INTEGER, out, one, zero, MPI_INTEGER, SELF, error))
	MEASURE(MPI_Alltoall, (in, 1, MPI_INTEGER, out, 1, MPI_INTEGER, SELF, error))
	MEASURE(MPI_Alltoallv, (in, one, zero, MPI_INTEGER, out, one, zero, MPI_INTEGER, SELF, error))
	call MPI_Finalize(error)
contains
	subroutine show(name)
		character(*), intent(in) :: name

		print '(A, 1X, F0.2)', name(5:), blocks_quick()
	end subroutine
end program
