! sections.F90: sections in Fortran, for each binding: three times outer { inner }, and
! inner once more. mpif.h also has regions of MPI_Pcontrol, the second as for IPM.
program sections
#ifdef USE_F08
  use mpi_f08
#define WORLD MPI_COMM_WORLD%MPI_VAL
#else
#ifdef USE_MPI
  use mpi
#endif
#define WORLD MPI_COMM_WORLD
#endif
  implicit none
#ifdef USE_MPIFH
  include 'mpif.h'
#endif
  include 'jobeff_section.inc'
  integer :: ierror, i

  call MPI_Init(ierror)
  do i = 1, 3
    call MPIX_Section_enter(WORLD, 'outer', ierror)
    if (ierror /= MPI_SUCCESS) stop 2
    call MPIX_Section_enter(WORLD, 'inner   ', ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPIX_Section_exit(WORLD, 'inner', ierror)
    if (ierror /= MPI_SUCCESS) stop 3
    call MPIX_Section_exit(WORLD, 'outer', ierror)
  end do
  call MPIX_Section_enter(WORLD, 'inner', ierror)
  call MPIX_Section_exit(WORLD, 'inner', ierror)
#ifdef USE_MPIFH
  call MPI_Pcontrol(1, 'region')
  call MPI_Pcontrol(-1, 'region')
  call MPI_Pcontrol(1, "in C's way"//char(0))
  call MPI_Pcontrol(-1, "in C's way"//char(0))
#endif
  call MPI_Pcontrol(2)
  call MPI_Finalize(ierror)
end program
