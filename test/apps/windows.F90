! windows.F90: an exchange of halos, a wildcard receive with a status, collectives on a duplicate,
! in six rounds. Built with -DUSE_F08, -DUSE_MPI or neither (mpif.h).
program windows
#if defined(USE_F08)
   use mpi_f08
#elif defined(USE_MPI)
   use mpi
#endif
   implicit none
#if defined(USE_F08)
   type(MPI_Comm) :: twin
   type(MPI_Request) :: requests(4)
   type(MPI_Status) :: status, statuses(4)
#define SOURCE_OF(s) s%MPI_SOURCE
#else
#if !defined(USE_MPI)
   include 'mpif.h'
#endif
   integer :: twin, requests(4), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4)
#define SOURCE_OF(s) s(MPI_SOURCE)
#endif
   integer :: rank, ranks, left, right, round, ierror, got(2), total, i
#if !defined(USE_F08)
   integer :: which
#endif

   call MPI_Init(ierror)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
   call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
   left = modulo(rank - 1, ranks)
   right = modulo(rank + 1, ranks)
   call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
   do round = 1, 6
      call MPI_Irecv(got(1), 1, MPI_INTEGER, left, 1, twin, requests(1), ierror)
      call MPI_Irecv(got(2), 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_Isend(rank, 1, MPI_INTEGER, right, 1, twin, requests(3), ierror)
      call MPI_Isend(rank, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(4), ierror)
#if defined(USE_F08)
      ! MPICH 4.0's MPI_Waitany counts from 0 here, so such windows are dropped
      call MPI_Waitall(4, requests, statuses, ierror)
#else
      if (modulo(round, 2) == 0) then
         call MPI_Waitall(4, requests, statuses, ierror)
      else
         do i = 1, 4
            call MPI_Waitany(4, requests, which, status, ierror)
         end do
      end if
#endif
      if (rank > 0) call MPI_Send(rank, 1, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, ierror)
      if (rank == 0) then
         do i = 2, ranks
            call MPI_Recv(got(1), 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, status, ierror)
            if (SOURCE_OF(status) /= got(1)) stop 3
         end do
      end if
      call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 4, got(1), 1, MPI_INTEGER, left, 4, twin, MPI_STATUS_IGNORE, ierror)
      call MPI_Barrier(twin, ierror)
      call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
   end do
   call MPI_Finalize(ierror)
end program windows
