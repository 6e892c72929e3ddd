! large.F90: mpi_f08 with counts of MPI_COUNT_KIND, which ends in the C functions MPI_X_c.
program large
	use mpi_f08
	implicit none
	integer(MPI_COUNT_KIND) :: n
	integer :: rank
	integer :: a(25), b(25)
	n = 25
	a = 1
	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Sendrecv(a, n, MPI_INTEGER, 1 - rank, 1, b, n, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
	call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
	call MPI_Finalize()
	print '(A)', 'called MPI_Sendrecv_c 1 100 100', 'called MPI_Allreduce_c 1 100 100'
end program
