! counts.F90: calls of known number and size from Fortran on two ranks, each noted as it is
! made. -DUSE_MPIFH, -DUSE_MPI or -DUSE_F08 chooses the binding, -DTHREADED MPI_Init_thread.
#if defined(USE_F08)
#define REQUEST type(MPI_Request)
#define COMM type(MPI_Comm)
#else
#define REQUEST integer
#define COMM integer
#endif
#if defined(USE_MPIFH)
#define STATUS_IGNORE status
#else
#define STATUS_IGNORE MPI_STATUS_IGNORE
#endif

module tallying
	implicit none
	integer :: used = 0
	character(len=32) :: names(64)
	integer :: counts(64), sent(64), received(64)
contains
	subroutine tally(name, s, r)
		character(len=*), intent(in) :: name
		integer, intent(in) :: s, r
		integer :: i
		do i = 1, used
			if (names(i) == name) exit
		end do
		if (i > used) then
			used = i
			names(i) = name
			counts(i) = 0
			sent(i) = 0
			received(i) = 0
		end if
		counts(i) = counts(i) + 1
		sent(i) = sent(i) + s
		received(i) = received(i) + r
	end subroutine

	subroutine tally_print()
		integer :: i
		do i = 1, used
			print '(A,A,3(1X,I0))', 'called MPI_', trim(names(i)), counts(i), sent(i), received(i)
		end do
	end subroutine
end module

program counting
#if defined(USE_F08)
	use mpi_f08
#elif defined(USE_MPI)
	use mpi
#endif
	use tallying
	implicit none
#if defined(USE_MPIFH)
	include 'mpif.h'
	integer :: status(MPI_STATUS_SIZE)
#endif
	integer, parameter :: n = 25, bytes = 100
	integer :: ierr, rank, other, root, i, provided
	integer :: a(2 * n), b(2 * n), parts(2), at(2)
	logical :: flag
	REQUEST :: requests(2)
	COMM :: copy

#if defined(THREADED)
	call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
#else
	call MPI_Init(ierr)
#endif
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
	other = 1 - rank
	root = 1 - rank
	a = rank
	b = 0

	do i = 1, 3
		if (rank == 0) then
			call MPI_Send(a, n, MPI_INTEGER, 1, i, MPI_COMM_WORLD, ierr)
			call tally('Send', bytes, 0)
		else
			call MPI_Recv(b, n, MPI_INTEGER, 0, i, MPI_COMM_WORLD, STATUS_IGNORE, ierr)
			call tally('Recv', 0, bytes)
		end if
	end do
	call MPI_Sendrecv(a, n, MPI_INTEGER, other, 4, b, n, MPI_INTEGER, other, 4, &
		MPI_COMM_WORLD, STATUS_IGNORE, ierr)
	call tally('Sendrecv', bytes, bytes)
	call MPI_Send(a, n, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, ierr)
	call tally('Send', 0, 0)
	call MPI_Irecv(b, n, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(1), ierr)
	call tally('Irecv', 0, bytes)
	call MPI_Isend(a, n, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(2), ierr)
	call tally('Isend', bytes, 0)
	call MPI_Wait(requests(1), STATUS_IGNORE, ierr)
	call tally('Wait', 0, 0)
	flag = .false.
	do while (.not. flag)
		call MPI_Test(requests(2), flag, STATUS_IGNORE, ierr)
		call tally('Test', 0, 0)
	end do
	call MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, flag, STATUS_IGNORE, ierr)
	call tally('Iprobe', 0, 0)

	call MPI_Barrier(MPI_COMM_WORLD, ierr)
	call tally('Barrier', 0, 0)
	call MPI_Bcast(a, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
	call tally('Bcast', root * bytes, (1 - root) * bytes)
	call MPI_Reduce(a, b, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
	call tally('Reduce', bytes, root * bytes)
	call MPI_Allreduce(a, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
	call tally('Allreduce', bytes, bytes)
	call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
	call tally('Allreduce', bytes, bytes)
	call MPI_Gather(a, n, MPI_INTEGER, b, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
	call tally('Gather', bytes, root * 2 * bytes)
	call MPI_Scatter(a, n, MPI_INTEGER, b, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
	call tally('Scatter', root * 2 * bytes, bytes)
	call MPI_Allgather(a, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
	call tally('Allgather', bytes, 2 * bytes)
	call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
	call tally('Allgather', bytes, 2 * bytes)
	call MPI_Alltoall(a, n, MPI_INTEGER, b, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
	call tally('Alltoall', 2 * bytes, 2 * bytes)
	parts = (/10, 20/)
	at = (/0, 10/)
	call MPI_Allgatherv(a, parts(rank + 1), MPI_INTEGER, b, parts, at, MPI_INTEGER, &
		MPI_COMM_WORLD, ierr)
	call tally('Allgatherv', 4 * parts(rank + 1), 120)
	call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierr)
	call tally('Ibarrier', 0, 0)
	call MPI_Wait(requests(1), STATUS_IGNORE, ierr)
	call tally('Wait', 0, 0)
	call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
	call tally('Comm_dup', 0, 0)
	call MPI_Comm_free(copy, ierr)
	call tally('Comm_free', 0, 0)

	call MPI_Finalize(ierr)
	call tally_print()
end program
