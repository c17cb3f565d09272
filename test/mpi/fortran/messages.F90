! Messages between neighbours, blocking and not, persistent, buffered, probed.
#include "binding.inc"
program messages
  use, intrinsic :: iso_c_binding, only: c_ptr
  use checks
#include "use.inc"
  integer, parameter :: rounds = 25
  integer :: error, round
  integer, target :: buffer(1000)
  REQUEST :: persistent(2)
  integer :: sent_again(4), received_again(4)
  integer :: total
#if defined F08
  type(c_ptr) :: detached
#else
  integer :: detached(1000)
#endif

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_job()
  call MPI_Buffer_attach(buffer, 4000, error)
  call MPI_Send_init(sent_again, 4, MPI_INTEGER, next_of(rank), 9, MPI_COMM_WORLD, persistent(1), error)
  call MPI_Recv_init(received_again, 4, MPI_INTEGER, last_of(rank), 9, MPI_COMM_WORLD, persistent(2), error)
  do round = 1, rounds
    call blocking(round)
    call non_blocking(round)
    call probed(round)
    call again(round)
  end do
  call MPI_Request_free(persistent(1), error)
  call MPI_Request_free(persistent(2), error)
  call MPI_Buffer_detach(detached, total, error)
  call check('the buffer has its size', total == 4000)
  call MPI_Reduce(own_digest(), total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(z8.8)', total
  call MPI_Finalize(error)

contains

  subroutine blocking(round)
    integer, intent(in) :: round
    double precision :: out(3), in(3)
    STATUS :: s
    integer :: count
    out = [round * 1d0, rank * 2d0, 0.5d0]
    call MPI_Sendrecv(out, 3, MPI_DOUBLE_PRECISION, next_of(rank), 1, in, 3, MPI_DOUBLE_PRECISION, &
        MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, s, error)
    call check('sendrecv', all(in == [round * 1d0, last_of(rank) * 2d0, 0.5d0]))
    call MPI_Get_count(s, MPI_DOUBLE_PRECISION, count, error)
    call check('its status', SOURCE_OF(s) == last_of(rank) .and. TAG_OF(s) == 1 .and. count == 3)
    call MPI_Bsend(out, 2, MPI_DOUBLE_PRECISION, last_of(rank), 2, MPI_COMM_WORLD, error)
    call MPI_Recv(in, 3, MPI_DOUBLE_PRECISION, next_of(rank), MPI_ANY_TAG, MPI_COMM_WORLD, s, error)
    call MPI_Get_count(s, MPI_DOUBLE_PRECISION, count, error)
    call check('bsend', in(2) == next_of(rank) * 2d0 .and. count == 2 .and. TAG_OF(s) == 2)
    call mix(int(in(2)))
  end subroutine

  subroutine non_blocking(round)
    integer, intent(in) :: round
    integer :: out(2), in(2, 2), which
    REQUEST :: r(4)
    STATUSES(4) :: s
    out = [round, rank * 100]
    call MPI_Irecv(in(:, 1), 2, MPI_INTEGER, last_of(rank), 3, MPI_COMM_WORLD, r(1), error)
    call MPI_Irecv(in(:, 2), 2, MPI_INTEGER, next_of(rank), 4, MPI_COMM_WORLD, r(2), error)
    call MPI_Isend(out, 2, MPI_INTEGER, next_of(rank), 3, MPI_COMM_WORLD, r(3), error)
    call MPI_Issend(out, 2, MPI_INTEGER, last_of(rank), 4, MPI_COMM_WORLD, r(4), error)
    call MPI_Waitany(2, r, which, MPI_STATUS_IGNORE, error)
    call check('waitany', which >= 0 .and. which <= 2) ! MPICH 4.0.2 counts from 0 in mpi_f08
    call MPI_Waitall(4, r, s, error)
    call check('irecv', all(in(1, :) == round) .and. in(2, 1) == last_of(rank) * 100 .and. &
        in(2, 2) == next_of(rank) * 100)
    call mix(in(2, 1) + in(2, 2))
  end subroutine

  subroutine probed(round)
    integer, intent(in) :: round
    integer :: in(20), length
    STATUS :: s
    MESSAGE :: m
    in = rank
    call MPI_Send(in, 1 + mod(round + rank, 5), MPI_INTEGER, next_of(rank), 5, MPI_COMM_WORLD, error)
    call MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, s, error)
    call MPI_Get_count(s, MPI_INTEGER, length, error)
    call check('probe', length == 1 + mod(round + last_of(rank), 5))
    call MPI_Mprobe(last_of(rank), 5, MPI_COMM_WORLD, m, s, error)
    call MPI_Mrecv(in, length, MPI_INTEGER, m, MPI_STATUS_IGNORE, error)
    call check('mrecv', all(in(1:length) == last_of(rank)))
    call mix(length)
  end subroutine

  subroutine again(round)
    integer, intent(in) :: round
    sent_again = [round, rank, round * rank, 7]
    received_again = 0
    call MPI_Startall(2, persistent, error)
    call MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE, error)
    call check('persistent', all(received_again == [round, last_of(rank), round * last_of(rank), 7]))
    call mix(received_again(3))
  end subroutine
end program
