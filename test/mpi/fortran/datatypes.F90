! Datatypes: columns and rows of arrays, structures, packing, other extents.
#include "binding.inc"
program datatypes
  use checks
#include "use.inc"
  integer, parameter :: rounds = 15, n = 6
  integer :: error, round, total
  DATATYPE :: row, block, scattered, record, narrow

  type particle
    sequence
    double precision :: x(2)
    integer :: id, kind
  end type

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_job()
  call make()
  do round = 1, rounds
    call arrays(round)
    call records(round)
    call packed(round)
  end do
  call MPI_Type_free(row, error)
  call MPI_Type_free(record, error)
  call MPI_Reduce(own_digest(), total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(z8.8)', total
  call MPI_Finalize(error)

contains

  subroutine make()
    type(particle) :: p(2)
    integer(MPI_ADDRESS_KIND) :: at(3), lower, extent
    integer :: bytes
    call MPI_Type_vector(n, 1, n, MPI_INTEGER, row, error)
    call MPI_Type_create_subarray(2, [n, n], [2, 3], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, block, error)
    call MPI_Type_indexed(3, [1, 2, 1], [0, 7, 20], MPI_INTEGER, scattered, error)
    call MPI_Get_address(p(1)%x, at(1), error)
    call MPI_Get_address(p(1)%id, at(2), error)
    call MPI_Get_address(p(2)%x, at(3), error)
    call MPI_Type_create_struct(2, [2, 2], at(1:2) - at(1), [MPI_DOUBLE_PRECISION, MPI_INTEGER], record, error)
    call MPI_Type_create_resized(row, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, narrow, error)
    call MPI_Type_commit(row, error)
    call MPI_Type_commit(block, error)
    call MPI_Type_commit(scattered, error)
    call MPI_Type_commit(record, error)
    call MPI_Type_commit(narrow, error)
    call MPI_Type_size(block, bytes, error)
    call check('size of a block', bytes == 24)
    call MPI_Type_get_extent(record, lower, extent, error)
    call check('extent of a record', lower == 0 .and. extent == at(3) - at(1))
  end subroutine

  subroutine fill(a, by)
    integer, intent(out) :: a(n, n)
    integer, intent(in) :: by
    integer :: i
    a = reshape([(i * by, i = 1, n * n)], [n, n])
  end subroutine

  subroutine arrays(round)
    integer, intent(in) :: round
    integer :: a(n, n), b(n, n), theirs(n, n), few(6)
    call fill(a, round + rank)
    call fill(theirs, round + last_of(rank))
    b = 0
    call MPI_Sendrecv(a(2, 1), 1, row, next_of(rank), 1, b(1, 3), n, MPI_INTEGER, last_of(rank), 1, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check('a row becomes a column', all(b(:, 3) == theirs(2, :)))
    call MPI_Sendrecv(a, 1, block, next_of(rank), 2, few, 6, MPI_INTEGER, last_of(rank), 2, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check('subarray', all(few == reshape(theirs(2:3, 3:5), [6])))
    call MPI_Sendrecv(a, 1, scattered, next_of(rank), 3, few, 4, MPI_INTEGER, last_of(rank), 3, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check('indexed', all(few(1:4) == [theirs(1, 1), theirs(2, 2), theirs(3, 2), theirs(3, 4)]))
    call MPI_Sendrecv(a, 2, narrow, next_of(rank), 4, b, 2 * n, MPI_INTEGER, last_of(rank), 4, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check('resized', all(b(:, 1) == theirs(1, :)) .and. all(b(:, 2) == theirs(2, :)))
    call mix(sum(b))
  end subroutine

  subroutine records(round)
    integer, intent(in) :: round
    type(particle) :: out(3), in(3)
    integer :: i
    out = [(particle([i * 1d0, rank * 1d0], round, i + rank), i = 1, 3)]
    call MPI_Sendrecv(out(1)%x, 3, record, next_of(rank), 4, in(1)%x, 3, record, last_of(rank), 4, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    do i = 1, 3
      call check('record', in(i)%x(1) == i .and. in(i)%x(2) == last_of(rank) .and. in(i)%id == round .and. &
          in(i)%kind == i + last_of(rank))
      call mix(in(i)%kind)
    end do
  end subroutine

  subroutine packed(round)
    integer, intent(in) :: round
    character :: bytes(200)
    character(7) :: text
    integer :: at, number
    double precision :: x
    bytes = ' ' ! all are sent, also those that nothing is packed into
    at = 0
    call MPI_Pack(rank * round, 1, MPI_INTEGER, bytes, 200, at, MPI_COMM_WORLD, error)
    call MPI_Pack(1d0 / (1 + rank), 1, MPI_DOUBLE_PRECISION, bytes, 200, at, MPI_COMM_WORLD, error)
    call MPI_Pack('fortran', 7, MPI_CHARACTER, bytes, 200, at, MPI_COMM_WORLD, error)
    call MPI_Sendrecv_replace(bytes, 200, MPI_PACKED, next_of(rank), 5, last_of(rank), 5, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, error)
    at = 0
    call MPI_Unpack(bytes, 200, at, number, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call MPI_Unpack(bytes, 200, at, x, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    call MPI_Unpack(bytes, 200, at, text, 7, MPI_CHARACTER, MPI_COMM_WORLD, error)
    call check('pack', number == last_of(rank) * round .and. x == 1d0 / (1 + last_of(rank)) .and. text == 'fortran')
    call mix(number)
  end subroutine
end program
