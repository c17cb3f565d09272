! Communicators and groups: made, used, between two halves, and freed again.
#include "binding.inc"
program communicators
  use checks
#include "use.inc"
  integer, parameter :: rounds = 10
  integer :: error, round, total

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_job()
  do round = 1, rounds
    call split(round)
    call of_group(round)
    if (ranks > 1) call between(round)
  end do
  call MPI_Reduce(own_digest(), total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(z8.8)', total
  call MPI_Finalize(error)

contains

  subroutine split(round)
    integer, intent(in) :: round
    COMM :: half, copy, none
    integer :: me, members, total, relation
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank + round, 2), -rank, half, error)
    call MPI_Comm_rank(half, me, error)
    call MPI_Comm_size(half, members, error)
    call MPI_Comm_dup(half, copy, error)
    call MPI_Comm_compare(half, copy, relation, error)
    call check('a copy is congruent', relation == MPI_CONGRUENT)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_MAX, copy, error)
    call check('the order is reversed', (me == 0) .eqv. (total == rank))
    call mix(total + 10 * members)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(MPI_UNDEFINED, 1, rank == 0), 0, none, error)
    call check('undefined', (none == MPI_COMM_NULL) .eqv. (rank == 0))
    if (rank /= 0) call MPI_Comm_free(none, error)
    call MPI_Comm_free(half, error)
    call MPI_Comm_free(copy, error)
    call check('freed', half == MPI_COMM_NULL)
  end subroutine

  subroutine of_group(round)
    integer, intent(in) :: round
    GROUP :: world, some, others, nobody
    COMM :: made
    integer :: i, members, numbers(2), total
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    call MPI_Group_incl(world, (ranks + 1) / 2, [(i, i = ranks - 1, 0, -2)], some, error)
    call MPI_Group_difference(world, some, others, error)
    call MPI_Group_intersection(some, others, nobody, error)
    call MPI_Group_size(nobody, members, error)
    call check('nobody', members == 0)
    call MPI_Group_translate_ranks(some, 1, [0], world, numbers(1:1), error)
    call check('translated', numbers(1) == ranks - 1)
    call MPI_Comm_create(MPI_COMM_WORLD, some, made, error)
    if (made /= MPI_COMM_NULL) then
      call MPI_Allreduce(rank * round, total, 1, MPI_INTEGER, MPI_SUM, made, error)
      call mix(total)
      call MPI_Comm_free(made, error)
    end if
    call MPI_Group_free(world, error)
    call MPI_Group_free(some, error)
    call MPI_Group_free(others, error)
    call MPI_Group_free(nobody, error)
  end subroutine

  ! Two halves, which talk to each other and become one.
  subroutine between(round)
    integer, intent(in) :: round
    COMM :: half, both, whole
    integer :: low, theirs, members
    logical :: is_inter
    low = merge(0, 1, rank < ranks / 2)
    call MPI_Comm_split(MPI_COMM_WORLD, low, 0, half, error)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, merge(ranks / 2, 0, low == 0), round, both, error)
    call MPI_Comm_test_inter(both, is_inter, error)
    call MPI_Comm_remote_size(both, members, error)
    call check('between', is_inter .and. members == merge(ranks - ranks / 2, ranks / 2, low == 0))
    call MPI_Allreduce(rank + round, theirs, 1, MPI_INTEGER, MPI_MAX, both, error)
    call check('the sum of the others', theirs == merge(ranks - 1, ranks / 2 - 1, low == 0) + round)
    call MPI_Intercomm_merge(both, low == 0, whole, error)
    call MPI_Comm_rank(whole, members, error)
    call check('the high half comes last', low /= 0 .or. members == rank + ranks - ranks / 2)
    call mix(theirs + members)
    call MPI_Comm_free(whole, error)
    call MPI_Comm_free(both, error)
    call MPI_Comm_free(half, error)
  end subroutine
end program
