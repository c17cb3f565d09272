! Each kind of argument that Fortran functions convert, by one process: run with hark's Fortran
! library above an MPI library.
! What MPI calls.
module callbacks
  use mpi
  implicit none
  integer :: deleted = 0, notes = 0, noted_comm = 0, releases = 0

contains

  subroutine twice(comm, key, extra, in, out, flag, ierr)
    integer :: comm, key, ierr
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    out = 2 * in + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine

  subroutine forget(comm, key, value, extra, ierr)
    integer :: comm, key, ierr
    integer(MPI_ADDRESS_KIND) :: value, extra
    if (extra == 1000) deleted = deleted + 1
    ierr = MPI_SUCCESS
  end subroutine

  subroutine times_plus(in, inout, length, type)
    integer :: length, type
    integer :: in(length), inout(length)
    if (type == MPI_INTEGER) inout = 2 * in + inout / 2
  end subroutine

  subroutine largest(in, inout, length, type)
    integer :: length, type
    integer :: in(length), inout(length)
    inout = max(in, inout)
  end subroutine

  subroutine note(comm, code)
    integer :: comm, code
    if (comm == noted_comm .and. code /= MPI_SUCCESS) notes = notes + 1
  end subroutine

  subroutine query(extra, status, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierr
    status(MPI_TAG) = int(extra)
    ierr = MPI_SUCCESS
  end subroutine

  subroutine release(extra, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    if (extra == 5) releases = releases + 1
    ierr = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    ierr = MPI_SUCCESS
  end subroutine
end module

program fortran
  use mpi
  use callbacks
  implicit none
  integer :: failed = 0, passed = 0
  integer :: ierr, rank, size, n, i

  call MPI_Init(ierr)
  call is('MPI_Init', 0, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call is('rank', 0, rank)
  call is('size', 1, size)
  call messages
  call many_requests
  call addresses
  call strings
  call datatypes
  call attributes
  call operations
  call handlers
  call generalized
  call topologies
  call files
  call MPI_Finalize(ierr)
  call is('MPI_Finalize', 0, ierr)
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

  subroutine messages
    integer :: status(MPI_STATUS_SIZE), request, a(4), b(4)
    logical :: flag
    a = [1, 2, 3, 4]
    b = 0
    call MPI_Isend(a, 4, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, request, ierr)
    call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call is('probed tag', 7, status(MPI_TAG))
    call MPI_Recv(b, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    call is('count', 4, n)
    call is('source', 0, status(MPI_SOURCE))
    call holds('received', all(a == b))
    flag = .false.
    do while (.not. flag)
      call MPI_Test(request, flag, status, ierr)
    end do
    call is('tested request', MPI_REQUEST_NULL, request)
    call MPI_Sendrecv(a(2), 1, MPI_INTEGER, 0, 1, b, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call is('MPI_Sendrecv without status', 2, b(1))
    call MPI_Iprobe(0, 3, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierr)
    call holds('nothing to probe', .not. flag)
    call MPI_Recv_init(b, 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, request, ierr)
    call MPI_Start(request, ierr)
    call MPI_Send(a(3), 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call is('persistent receive', 3, b(1))
    call holds('a persistent request stays', request /= MPI_REQUEST_NULL)
    call MPI_Request_free(request, ierr)
    call is('freed request', MPI_REQUEST_NULL, request)
  end subroutine

  subroutine many_requests
    integer :: requests(3), statuses(MPI_STATUS_SIZE, 3), status(MPI_STATUS_SIZE), indices(3), b(3), which
    logical :: flag
    do i = 1, 3
      call MPI_Irecv(b(i), 1, MPI_INTEGER, 0, i, MPI_COMM_WORLD, requests(i), ierr)
    end do
    call MPI_Testany(3, requests, which, flag, status, ierr)
    call holds('none is completed', .not. flag .and. which == MPI_UNDEFINED)
    call MPI_Send(20, 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(3, requests, which, status, ierr)
    call is('MPI_Waitany counts from 1', 2, which)
    call is('its request', MPI_REQUEST_NULL, requests(2))
    call MPI_Send(30, 1, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, ierr)
    call MPI_Waitsome(3, requests, n, indices, statuses, ierr)
    call is('MPI_Waitsome', 1, n)
    call is('MPI_Waitsome counts from 1', 3, indices(1))
    call is('status of MPI_Waitsome', 3, statuses(MPI_TAG, 1))
    call MPI_Send(10, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
    call holds('MPI_Waitall', all(requests == MPI_REQUEST_NULL) .and. all(b == [10, 20, 30]))
    call MPI_Waitany(3, requests, which, status, ierr)
    call is('MPI_Waitany of none', MPI_UNDEFINED, which)
  end subroutine

  subroutine addresses
    integer :: x(2), whole, request
    integer(MPI_ADDRESS_KIND) :: where, other
    x = [5, 6]
    call MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call is('MPI_IN_PLACE', 0, ierr)
    call MPI_Get_address(x(2), where, ierr)
    call MPI_Get_address(x(1), other, ierr)
    call is('MPI_Get_address', 4, int(where - other))
    call is('MPI_Aint_diff', 4, int(MPI_Aint_diff(where, other)))
    call holds('MPI_Aint_add', MPI_Aint_add(other, 4_MPI_ADDRESS_KIND) == where)
    call MPI_Type_create_hindexed(1, [1], [where], MPI_INTEGER, whole, ierr)
    call MPI_Type_commit(whole, ierr)
    call MPI_Isend(17, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, request, ierr)
    call MPI_Recv(MPI_BOTTOM, 1, whole, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call is('MPI_BOTTOM', 17, x(2))
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Type_free(whole, ierr)
    call is('freed type', MPI_DATATYPE_NULL, whole)
    call holds('MPI_Wtime', MPI_Wtime() >= 0 .and. MPI_Wtick() > 0)
  end subroutine

  subroutine strings
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=12) :: short
    integer :: info, comm
    logical :: flag
    name = repeat('x', len(name))
    call MPI_Get_processor_name(name, n, ierr)
    call is('blanks after a string', n, len_trim(name))
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_set_name(comm, '  twelve and more  ', ierr)
    call MPI_Comm_get_name(comm, short, n, ierr)
    call holds('a string that is too long is cut', short == 'twelve and m')
    call MPI_Comm_get_name(comm, name, n, ierr)
    call holds('a string', name == 'twelve and more')
    call MPI_Comm_free(comm, ierr)
    call is('freed communicator', MPI_COMM_NULL, comm)
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, ' key ', 'some value ', ierr)
    short = 'unchanged'
    call MPI_Info_get(info, 'other', 12, short, flag, ierr)
    call holds('no value', .not. flag .and. short == 'unchanged')
    call MPI_Info_get(info, 'key', 12, short, flag, ierr)
    call holds('a value', flag .and. short == 'some value')
    call MPI_Info_get_nthkey(info, 0, short, ierr)
    call holds('a key', short == 'key')
    call MPI_Info_free(info, ierr)
    call MPI_Error_string(MPI_ERR_TRUNCATE, name, n, ierr)
    call holds('an error', n > 0 .and. len_trim(name) == n)
  end subroutine

  subroutine datatypes
    integer :: made, subs(2), ints(10), handles(10), counts(4)
    integer(MPI_ADDRESS_KIND) :: displacements(10), lb, extent
    call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], &
      [MPI_INTEGER, MPI_DOUBLE_PRECISION], made, ierr)
    call MPI_Type_commit(made, ierr)
    call MPI_Type_size(made, n, ierr)
    call is('size of a structure', 20, n)
    call MPI_Type_get_extent(made, lb, extent, ierr)
    call is('extent of a structure', 24, int(extent))
    call MPI_Type_get_envelope(made, counts(1), counts(2), counts(3), counts(4), ierr)
    call is('types in a structure', 2, counts(3))
    handles = -1
    call MPI_Type_get_contents(made, counts(1), counts(2), counts(3), ints, displacements, handles, ierr)
    call MPI_Type_size(handles(2), n, ierr)
    call is('a type of a structure', 8, n)
    call is('no more types than there are', -1, handles(3))
    call MPI_Type_free(made, ierr)
    subs = [3, 4]
    call MPI_Alltoallw(subs, [1], [0], [MPI_INTEGER], ints, [1], [0], [MPI_INTEGER], MPI_COMM_WORLD, ierr)
    call is('MPI_Alltoallw', 3, ints(1))
  end subroutine

  subroutine attributes
    integer :: key, comm
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call holds('MPI_TAG_UB', flag .and. value >= 32767 .and. value <= huge(0))
    call MPI_Comm_create_keyval(twice, forget, key, 1000_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierr)
    call holds('no attribute', .not. flag)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 2_MPI_ADDRESS_KIND**40, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierr)
    call holds('an attribute of 64 bits', flag .and. value == 2_MPI_ADDRESS_KIND**40)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_get_attr(comm, key, value, flag, ierr)
    call holds('copied by a function of Fortran', flag .and. value == 2_MPI_ADDRESS_KIND**41 + 1000)
    call MPI_Comm_free(comm, ierr)
    call is('deleted by a function of Fortran', 1, deleted)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
    call is('deleted again', 2, deleted)
    call MPI_Comm_free_keyval(key, ierr)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 77_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_get_attr(comm, key, value, flag, ierr)
    call holds('MPI_COMM_DUP_FN', flag .and. value == 77)
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine operations
    integer :: op, other, x(3), y(3)
    logical :: commutes
    x = [3, 4, 5]
    y = [2, 2, 2]
    call MPI_Op_create(times_plus, .false., op, ierr)
    call MPI_Op_commutative(op, commutes, ierr)
    call holds('an operation that does not commute', .not. commutes)
    call MPI_Reduce_local(x, y, 3, MPI_INTEGER, op, ierr)
    call holds('an operation of Fortran', all(y == [7, 9, 11]))
    call MPI_Op_create(largest, .true., other, ierr)
    x = [10, 2, 30]
    call MPI_Reduce_local(x, y, 3, MPI_INTEGER, other, ierr)
    call holds('another operation', all(y == [10, 9, 30]))
    call MPI_Reduce_local(x, y, 3, MPI_INTEGER, op, ierr)
    call holds('the first one again', all(y == [25, 8, 75]))
    call MPI_Op_free(other, ierr)
    call MPI_Op_free(op, ierr)
    call is('freed operation', MPI_OP_NULL, op)
    do i = 1, 100
      call MPI_Op_create(times_plus, .true., op, ierr)
      if (ierr /= 0) exit
      call MPI_Op_free(op, ierr)
    end do
    call is('an operation made a hundred times', 0, ierr)
  end subroutine

  subroutine handlers
    integer :: handler, comm, request
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_create_errhandler(note, handler, ierr)
    call MPI_Comm_set_errhandler(comm, handler, ierr)
    noted_comm = comm
    call MPI_Isend(1, 1, MPI_INTEGER, 4711, 1, comm, request, ierr)
    call holds('an error', ierr /= MPI_SUCCESS)
    call is('noted by a function of Fortran', 1, notes)
    call MPI_Errhandler_free(handler, ierr)
    call is('freed error handler', MPI_ERRHANDLER_NULL, handler)
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine generalized
    integer :: request, status(MPI_STATUS_SIZE)
    call MPI_Grequest_start(query, release, cancel, 5_MPI_ADDRESS_KIND, request, ierr)
    call MPI_Grequest_complete(request, ierr)
    call MPI_Wait(request, status, ierr)
    call is('status of a generalized request', 5, status(MPI_TAG))
    call is('it is released once', 1, releases)
  end subroutine

  subroutine topologies
    integer :: comm, dims(2), coords(2)
    logical :: periods(2)
    dims = 0
    call MPI_Dims_create(1, 2, dims, ierr)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .true., comm, ierr)
    call MPI_Cart_get(comm, 2, dims, periods, coords, ierr)
    call holds('periods', periods(1) .and. .not. periods(2))
    call MPI_Comm_free(comm, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [0], MPI_UNWEIGHTED, 1, [0], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm, ierr)
    call MPI_Dist_graph_neighbors_count(comm, dims(1), dims(2), periods(1), ierr)
    call holds('an unweighted graph', all(dims == 1) .and. .not. periods(1))
    call MPI_Neighbor_alltoallw([9], [1], [0_MPI_ADDRESS_KIND], [MPI_INTEGER], coords, [1], &
      [0_MPI_ADDRESS_KIND], [MPI_INTEGER], comm, ierr)
    call is('MPI_Neighbor_alltoallw', 9, coords(1))
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine files
    integer :: file, etype, filetype
    integer(MPI_OFFSET_KIND) :: offset
    character(len=20) :: representation
    call MPI_File_open(MPI_COMM_SELF, 'file.dat   ', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    call is('MPI_File_open', 0, ierr)
    call MPI_File_write_at(file, 8_MPI_OFFSET_KIND, [1, 2], 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_File_get_size(file, offset, ierr)
    call is('size of a file', 16, int(offset))
    call MPI_File_get_view(file, offset, etype, filetype, representation, ierr)
    call holds('view of a file', representation == 'native' .and. etype == MPI_BYTE)
    call MPI_File_close(file, ierr)
    call is('closed file', MPI_FILE_NULL, file)
  end subroutine
end program
