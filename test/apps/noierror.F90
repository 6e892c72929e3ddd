! noierror.F90: calls of mpi_f08 without ierror that fail. The communicator's errors return, those
! of MPI_COMM_WORLD end the job: whoever asks MPI about the datatype of a failed call ends it.
! -DWILD: a datatype that is no handle at all.
program noierror
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: none
  integer :: buffer(4), code

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  none = MPI_INTEGER
#ifdef WILD
  none%MPI_VAL = MPI_DATATYPE_NULL%MPI_VAL + 12345
#endif
  buffer = 0
  call MPI_Send(buffer, 4, none, 99, 1, comm)
  call MPI_Send(buffer, 4, none, 99, 1, comm, code)
  if (code == MPI_SUCCESS) error stop 'the call did not fail'
  call MPI_Bcast(buffer, 4, MPI_INTEGER, 0, MPI_COMM_SELF)
  print '(a)', 'done'
  call MPI_Finalize()
end program noierror
