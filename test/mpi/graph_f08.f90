! A graph without weights in Fortran 2008: each process sends to the next one, and to the one after that. And what a
! window tells: its attributes have other keys in Fortran, and are numbers there.
! What MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are in C, MPICH's library for Fortran takes from variables of the C library.
program graph_f08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: ring, alone
  integer :: rank, size, sources(2), targets(2), weights(2), ins, outs, sent(2), received(2), step
  logical :: weighted, found
  integer(MPI_ADDRESS_KIND) :: value
  type(MPI_Win) :: window

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  targets = modulo([rank + 1, rank + 2], size)
  sources = modulo([rank - 1, rank - 2], size)

  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [2], targets, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring)
  call MPI_Dist_graph_neighbors_count(ring, ins, outs, weighted)
  call check('edges of the whole graph', ins == 2 .and. outs == 2 .and. .not. weighted)
  call MPI_Comm_free(ring)

  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, [0], MPI_WEIGHTS_EMPTY, 0, [0], MPI_WEIGHTS_EMPTY, &
    MPI_INFO_NULL, .false., alone)
  call MPI_Dist_graph_neighbors_count(alone, ins, outs, weighted)
  call check('no edges, with weights', ins == 0 .and. outs == 0 .and. weighted)

  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, &
    MPI_INFO_NULL, .false., ring)
  sources = -1
  call MPI_Dist_graph_neighbors(ring, 2, sources, MPI_UNWEIGHTED, 2, targets, weights)
  call check('neighbours', all(sources == modulo([rank - 1, rank - 2], size)))
  sent = rank
  do step = 1, 200
    call MPI_Neighbor_alltoall(sent, 1, MPI_INTEGER, received, 1, MPI_INTEGER, ring)
    sent = modulo(received + step, 1000)
  end do

  call MPI_Win_create(received, 8_MPI_ADDRESS_KIND, 2, MPI_INFO_NULL, MPI_COMM_WORLD, window)
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, found)
  call check('bytes of the window', found .and. value == 8)
  call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, found)
  call check('unit of the window', found .and. value == 2)
  call MPI_Win_get_attr(window, MPI_WIN_MODEL, value, found)
  call check('model of the window', found .and. value == MPI_WIN_UNIFIED)
  call MPI_Win_free(window)

  call MPI_Allreduce(MPI_IN_PLACE, sent, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a,2(1x,i0))', 'sums', sent
  call MPI_Finalize()

contains

  subroutine check(what, true)
    character(len=*), intent(in) :: what
    logical, intent(in) :: true
    if (true) return
    print '(a,i0,2a)', 'rank ', rank, ', wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
