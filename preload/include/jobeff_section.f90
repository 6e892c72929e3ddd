! jobeff_section.f90: sections as a Fortran module. jobeff_section.h says what sections are.
! Compile it with your program, as the file of a module fits one compiler and one MPI only:
!
!     mpif90 -c /usr/include/jobeff_section.f90
!     mpif90 -o program program.f90 jobeff_section.o -ljobeff_section
!
! The communicator is an integer (mpif.h, use mpi) or a type(MPI_Comm) (use mpi_f08, where ierror
! is optional). An MPI without mpi_f08 has jobeff_section.inc instead.
module jobeff_section
  use mpi_f08, only: MPI_Comm
  implicit none
  private
  public :: MPIX_Section_enter, MPIX_Section_exit

  interface MPIX_Section_enter
    subroutine MPIX_Section_enter(comm, label, ierror)
      integer, intent(in) :: comm
      character(len=*), intent(in) :: label
      integer, intent(out) :: ierror
    end subroutine
    module procedure enter_f08
  end interface

  interface MPIX_Section_exit
    subroutine MPIX_Section_exit(comm, label, ierror)
      integer, intent(in) :: comm
      character(len=*), intent(in) :: label
      integer, intent(out) :: ierror
    end subroutine
    module procedure exit_f08
  end interface

contains

  subroutine enter_f08(comm, label, ierror)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: label
    integer, optional, intent(out) :: ierror
    integer :: code

    call MPIX_Section_enter(comm%MPI_VAL, label, code)
    if (present(ierror)) ierror = code
  end subroutine

  subroutine exit_f08(comm, label, ierror)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: label
    integer, optional, intent(out) :: ierror
    integer :: code

    call MPIX_Section_exit(comm%MPI_VAL, label, code)
    if (present(ierror)) ierror = code
  end subroutine
end module
