! Collective calls, blocking and not, with operations of MPI and one of the program.
#include "binding.inc"
module of_program
contains

  ! The larger absolute value.
#if defined F08
  subroutine largest(in, inout, length, type)
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr
    use mpi_f08
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: type
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    if (type == MPI_INTEGER) b = merge(a, b, abs(a) > abs(b))
  end subroutine
#else
  subroutine largest(in, inout, length, type)
    integer :: length, type
    integer :: in(length), inout(length)
    if (type /= 0) inout = merge(in, inout, abs(in) > abs(inout))
  end subroutine
#endif
end module

program collectives
  use checks
  use of_program
#include "use.inc"
  integer, parameter :: rounds = 12
  integer :: error, round, i, total
  OPERATION :: op

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_job()
  call MPI_Op_create(largest, .true., op, error)
  do round = 1, rounds
    call reductions(round)
    call parts(round)
    call later(round)
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Op_free(op, error)
  call MPI_Reduce(own_digest(), total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(z8.8)', total
  call MPI_Finalize(error)

contains

  subroutine reductions(round)
    integer, intent(in) :: round
    integer :: a(2), b(2), pair(2), where(2)
    logical :: truth
    double precision :: x
    complex :: z
    a = [rank + round, -rank]
    call MPI_Allreduce(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check('sum', b(1) == ranks * round + ranks * (ranks - 1) / 2)
    call MPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INTEGER, op, MPI_COMM_WORLD, error)
    call check('own operation', a(1) == ranks - 1 + round .and. a(2) == 1 - ranks)
    call MPI_Allreduce(rank == round, truth, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call check('logical', truth .eqv. round < ranks)
    pair = [mod(rank + round, ranks), rank]
    call MPI_Allreduce(pair, where, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call check('maxloc', where(1) == ranks - 1 .and. mod(where(2) + round, ranks) == ranks - 1)
    z = cmplx(rank, 1)
    call MPI_Bcast(z, 1, MPI_COMPLEX, mod(round, ranks), MPI_COMM_WORLD, error)
    call check('bcast', z == cmplx(mod(round, ranks), 1))
    call MPI_Scan(1d0 * rank, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check('scan', x == rank * (rank + 1) / 2d0)
    call mix(b(1) + where(2))
  end subroutine

  subroutine parts(round)
    integer, intent(in) :: round
    integer :: mine(2), all_of(2, ranks), back(2), lengths(ranks), starts(ranks)
    integer, allocatable :: pieces(:)
    mine = [rank, round]
    call MPI_Gather(mine, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check('gather', rank /= 0 .or. all(all_of(1, :) == [(i, i = 0, ranks - 1)]))
    call MPI_Scatter(all_of, 2, MPI_INTEGER, back, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call check('scatter', all(back == mine))
    call MPI_Alltoall(spread(mine, 2, ranks), 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check('alltoall', all(all_of(1, :) == [(i, i = 0, ranks - 1)]) .and. all(all_of(2, :) == round))
    lengths = [(1 + mod(i, 3), i = 0, ranks - 1)]
    starts = [(sum(lengths(1:i)), i = 0, ranks - 1)]
    allocate (pieces(sum(lengths)), source=-1)
    call MPI_Allgatherv(spread(rank, 1, 3), lengths(rank + 1), MPI_INTEGER, pieces, lengths, starts, &
        MPI_INTEGER, MPI_COMM_WORLD, error)
    call check('allgatherv', all([(pieces(starts(i) + 1) == i - 1, i = 1, ranks)]))
    call mix(sum(pieces))
  end subroutine

  subroutine later(round)
    integer, intent(in) :: round
    integer, asynchronous :: in(2), out, everyone
    REQUEST :: r(2)
    in = [rank * round, round]
    call MPI_Iallreduce(in, everyone, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(1), error)
    out = merge(round, -1, rank == ranks - 1)
    call MPI_Ibcast(out, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, r(2), error)
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, error)
    call check('iallreduce', everyone == round * ranks * (ranks - 1) / 2)
    call check('ibcast', out == round)
    call mix(everyone)
  end subroutine
end program
