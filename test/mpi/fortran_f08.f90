! The library of `use mpi_f08` above hark's Fortran library: one function of each kind of argument.
module f08_callbacks
  use mpi_f08
  implicit none
  integer :: notes = 0

contains

  subroutine times_plus(in, inout, length, type)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: type
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    if (type == MPI_INTEGER) b = 2 * a + b / 2
  end subroutine

  subroutine note(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm /= MPI_COMM_NULL .and. code /= MPI_SUCCESS) notes = notes + 1
  end subroutine

  subroutine increase(comm, key, extra, in, out, flag, ierr)
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    out = in + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine
end module

program fortran_f08
  use mpi_f08
  use f08_callbacks
  implicit none
  integer :: failed = 0, passed = 0
  integer :: n, ierr, x(4), y(4), which, key
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: request, requests(2)
  type(MPI_Comm) :: comm
  type(MPI_Op) :: op
  type(MPI_Info) :: info
  type(MPI_Datatype) :: made
  type(MPI_Errhandler) :: handler

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call is('size', 1, n)
  x = [1, 2, 3, 4]
  y = 0
  call MPI_Isend(x, 4, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, request)
  call MPI_Recv(y, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  call is('tag', 7, status%MPI_TAG)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call is('count', 4, n)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call holds('waited', request == MPI_REQUEST_NULL .and. all(x == y))
  call MPI_Irecv(y(1), 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(y(2), 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Send(x(3), 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD)
  call MPI_Waitany(2, requests, which, status)
  call is('MPI_Waitany counts from 1', 2, which)
  call MPI_Testany(2, requests, which, flag, status)
  call holds('nothing is completed', .not. flag)
  call MPI_Send(x(4), 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD)
  call MPI_Waitall(2, requests, statuses)
  call holds('MPI_Waitall', all(y(1:2) == [4, 3]))
  call MPI_Allreduce(MPI_IN_PLACE, x, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call is('MPI_IN_PLACE', 0, ierr)
  call MPI_Get_processor_name(name, n)
  call is('blanks after a string', n, len_trim(name))
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'key', 'value')
  call MPI_Info_get(info, 'key', len(name), name, flag)
  call holds('info', flag .and. name == 'value')
  call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], &
    [MPI_INTEGER, MPI_DOUBLE_PRECISION], made)
  call MPI_Type_size(made, n)
  call is('size of a structure', 12, n)
  call MPI_Op_create(times_plus, .true., op)
  y = 2
  call MPI_Reduce_local(x, y, 4, MPI_INTEGER, op)
  call holds('an operation of Fortran', all(y == [3, 5, 7, 9]))
  call MPI_Comm_create_keyval(increase, MPI_COMM_NULL_DELETE_FN, key, 10_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_get_attr(comm, key, value, flag)
  call holds('copied by a function of Fortran', flag .and. value == 15)
  call MPI_Comm_get_attr(comm, MPI_TAG_UB, value, flag)
  call holds('MPI_TAG_UB', flag .and. value >= 32767 .and. value <= huge(0))
  call MPI_Comm_create_errhandler(note, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Isend(x, 1, MPI_INTEGER, 4711, 1, comm, request, ierr)
  call is('noted by a function of Fortran', 1, notes)
  call MPI_Comm_free(comm)
  call holds('freed', comm == MPI_COMM_NULL)
  call holds('MPI_Wtime', MPI_Wtime() >= 0 .and. MPI_Wtick() > 0)
  call MPI_Finalize()
  print '(i0,a,i0,a)', passed, ' passed, ', failed, ' failed'
  if (failed /= 0) stop 1

contains

  subroutine is(what, expected, found)
    character(len=*), intent(in) :: what
    integer, intent(in) :: expected, found
    if (expected == found) then
      passed = passed + 1
    else
      failed = failed + 1
      print '(3a,i0,a,i0)', 'FAILED ', what, ': expected ', expected, ', found ', found
    end if
  end subroutine

  subroutine holds(what, true)
    character(len=*), intent(in) :: what
    logical, intent(in) :: true
    call is(what, 1, merge(1, 0, true))
  end subroutine
end program
