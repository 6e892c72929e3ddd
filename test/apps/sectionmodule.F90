! sectionmodule.F90: the module jobeff_section, with an integer or a type(MPI_Comm):
! outer { inner inner }. The second inner of mpi_f08 goes without ierror.
#include "jobeff_section.f90"
program sectionmodule
#ifdef USE_F08
  use mpi_f08
#else
  use mpi
#endif
  use jobeff_section
  implicit none
  integer :: ierror

  call MPI_Init(ierror)
  call nested(ierror)
  if (ierror /= MPI_SUCCESS) stop 2
  call MPIX_Section_exit(MPI_COMM_WORLD, 'never entered', ierror)
  if (ierror == MPI_SUCCESS) stop 3
  call MPI_Finalize(ierror)

contains

  subroutine nested(ierror)
    integer, intent(out) :: ierror

    call MPIX_Section_enter(MPI_COMM_WORLD, 'outer', ierror)
    call MPIX_Section_enter(MPI_COMM_WORLD, 'inner', ierror)
    call MPIX_Section_exit(MPI_COMM_WORLD, 'inner', ierror)
#ifdef USE_F08
    call MPIX_Section_enter(MPI_COMM_WORLD, 'inner')
    call MPIX_Section_exit(MPI_COMM_WORLD, 'inner')
#else
    call MPIX_Section_enter(MPI_COMM_WORLD, 'inner', ierror)
    call MPIX_Section_exit(MPI_COMM_WORLD, 'inner', ierror)
#endif
    call MPIX_Section_exit(MPI_COMM_WORLD, 'outer', ierror)
  end subroutine
end program
