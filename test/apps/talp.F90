! talp.F90: a Fortran program that was built for TALP. Its interface has the form of DLB's: each
! function is bound to the name in C. outer { inner inner }, the second one left as the last open.
module talp
  use iso_c_binding
  implicit none
  type, bind(c) :: dlb_monitor_t
    type(c_ptr) :: name_
    integer(c_int) :: num_cpus
    real(c_float) :: avg_cpus
    integer(c_int64_t) :: cycles, instructions
    integer(c_int) :: num_measurements, num_resets
    integer(c_int64_t) :: num_mpi_calls, num_omp_parallels, num_omp_tasks
#ifndef TALP_35
    integer(c_int64_t) :: num_gpu_runtime_calls
#endif
    integer(c_int64_t) :: start_time, stop_time, elapsed_time, useful_time, mpi_time
    integer(c_int64_t) :: omp_load_imbalance_time, omp_scheduling_time, omp_serialization_time
#ifndef TALP_35
    integer(c_int64_t) :: gpu_runtime_time, gpu_useful_time, gpu_communication_time, gpu_inactive_time
#endif
    type(c_ptr) :: data_
  end type
  interface
    function register_region(name) result(handle) bind(c, name='DLB_MonitoringRegionRegister')
      import :: c_ptr, c_char
      type(c_ptr) :: handle
      character(kind=c_char), intent(in) :: name(*)
    end function
    function start_region(handle) result(ierr) bind(c, name='DLB_MonitoringRegionStart')
      import :: c_ptr, c_int
      integer(c_int) :: ierr
      type(c_ptr), value, intent(in) :: handle
    end function
    function stop_region(handle) result(ierr) bind(c, name='DLB_MonitoringRegionStop')
      import :: c_ptr, c_int
      integer(c_int) :: ierr
      type(c_ptr), value, intent(in) :: handle
    end function
    ! as newer DLBs compile it, not bound to C
    function dlb_monitoringregionregister(name) result(handle)
      import :: c_ptr
      type(c_ptr) :: handle
      character(len=*), intent(in) :: name
    end function
  end interface
end module

program main
  use mpi
  use talp
  implicit none
  type(c_ptr) :: outer, inner
  type(dlb_monitor_t), pointer :: told
  integer :: ierror, i
  integer(c_intptr_t), parameter :: last_open = 1

  call MPI_Init(ierror)
  outer = register_region('outer'//c_null_char)
  inner = register_region('inner'//c_null_char)
  if (.not. c_associated(inner)) stop 2
  if (.not. c_associated(dlb_monitoringregionregister('inner  '), inner)) stop 3
  if (start_region(outer) /= 0) stop 4
  do i = 1, 2
    if (start_region(inner) /= 0) stop 5
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (stop_region(transfer(last_open, c_null_ptr)) /= 0) stop 6
  end do
  if (stop_region(inner) /= 2) stop 7
  if (stop_region(outer) /= 0) stop 8
  call c_f_pointer(inner, told)
  if (told%num_measurements /= 2 .or. told%num_mpi_calls /= 2) stop 9
  if (told%mpi_time <= 0 .or. told%mpi_time > told%elapsed_time) stop 10
  if (told%mpi_time + told%useful_time > told%elapsed_time + 2) stop 11
  if (told%start_time <= 0 .or. told%stop_time < told%start_time) stop 12
  if (told%omp_serialization_time /= 0 .or. c_associated(told%data_)) stop 13
  call MPI_Finalize(ierror)
end program
