! places.F90: as places.c, through each of Fortran's bindings: -DHEADER mpif.h, -DMODULE use mpi, else mpi_f08.
subroutine exchange_halo()
#ifdef HEADER
  implicit none
  include 'mpif.h'
#elif defined(MODULE)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: ierror, one, total
  one = 1
  call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror) ! HERE halo
  if (ierror /= 0) print *, ierror
end subroutine

program places
  use, intrinsic :: iso_c_binding
#ifdef HEADER
  implicit none
  include 'mpif.h'
#elif defined(MODULE)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  type, bind(c) :: timespec
    integer(c_int64_t) :: s, ns
  end type
  interface
    integer(c_int) function nanosleep(t, left) bind(c)
      import
      type(timespec), intent(in) :: t
      type(c_ptr), value :: left
    end function
  end interface
  integer :: i, rank, ierror, one, total
  one = 1
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  do i = 1, 10
    if (rank == 0) ierror = nanosleep(timespec(0, 40000000), c_null_ptr)
    call exchange_halo()
    if (rank == 0) ierror = nanosleep(timespec(0, 10000000), c_null_ptr)
    call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror) ! HERE allreduce
  end do
  call MPI_Finalize(ierror)
end program
