! large.F90: mpi_f08 with counts of MPI_COUNT_KIND, which are the C functions MPI_X_c or like them.
program large
	use mpi_f08
	implicit none
	integer(MPI_COUNT_KIND) :: n, counts(2)
	integer(MPI_ADDRESS_KIND) :: places(2)
	integer :: rank
	integer :: a(25), b(50)
	n = 25
	counts = 25
	places = [0, 25]
	a = 1
	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Sendrecv(a, n, MPI_INTEGER, 1 - rank, 1, b, n, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
	call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
	call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
	call MPI_Allgather(MPI_IN_PLACE, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD)
	call MPI_Allgatherv(a, n, MPI_INTEGER, b, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
	call MPI_Bcast(a, n, MPI_INTEGER, 0, MPI_COMM_WORLD)
	call MPI_Finalize()
	print '(A)', 'called MPI_Sendrecv_c 1 100 100', 'called MPI_Allreduce_c 2 200 200', &
		'called MPI_Allgather_c 1 100 200', 'called MPI_Allgatherv_c 1 100 200'
	print '(A,I0,A,I0)', 'called MPI_Bcast_c 1 ', merge(100, 0, rank == 0), ' ', merge(0, 100, rank == 0)
end program
