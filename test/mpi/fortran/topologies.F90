! Grids and graphs of processes, and what neighbours exchange.
#include "binding.inc"
program topologies
  use checks
#include "use.inc"
  integer, parameter :: rounds = 15
  integer :: error, round, total, dimensions(2)
  COMM :: grid, graph

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check_job()
  dimensions = 0
  call MPI_Dims_create(ranks, 2, dimensions, error)
  call check('dims', product(dimensions) == ranks)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, [.true., .false.], .false., grid, error)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [last_of(rank)], MPI_UNWEIGHTED, 2, &
      [next_of(rank), next_of(rank)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, error)
  call MPI_Comm_free(graph, error)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [last_of(rank), next_of(rank)], [1, 2], 2, &
      [next_of(rank), last_of(rank)], [1, 2], MPI_INFO_NULL, .false., graph, error)
  do round = 1, rounds
    call on_grid(round)
    call on_graph(round)
  end do
  call MPI_Comm_free(grid, error)
  call MPI_Comm_free(graph, error)
  call MPI_Reduce(own_digest(), total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(z8.8)', total
  call MPI_Finalize(error)

contains

  subroutine on_grid(round)
    integer, intent(in) :: round
    COMM :: row
    integer :: at(2), from, to, in, here, total, kind, all_in(4)
    logical :: periods(2)
    call MPI_Topo_test(grid, kind, error)
    call check('topo_test', kind == MPI_CART)
    call MPI_Cart_get(grid, 2, dimensions, periods, at, error)
    call check('periods', periods(1) .and. .not. periods(2))
    call MPI_Cart_rank(grid, at, here, error)
    call check('cart_rank', here == rank)
    call MPI_Cart_shift(grid, 0, 1, from, to, error)
    call MPI_Sendrecv(rank * round, 1, MPI_INTEGER, to, 1, in, 1, MPI_INTEGER, from, 1, grid, &
        MPI_STATUS_IGNORE, error)
    call check('a ring', in == from * round)
    call MPI_Cart_shift(grid, 1, 1, from, to, error)
    call check('an edge', (from == MPI_PROC_NULL) .eqv. (at(2) == 0))
    in = -1
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, to, 2, in, 1, MPI_INTEGER, from, 2, grid, MPI_STATUS_IGNORE, error)
    call check('a line', in == merge(-1, from, from == MPI_PROC_NULL))
    call MPI_Cart_sub(grid, [.false., .true.], row, error)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, row, error)
    call MPI_Comm_free(row, error)
    all_in = -1
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, all_in, 1, MPI_INTEGER, grid, error)
    call check('neighbours in the line', all_in(3) == merge(-1, from, from == MPI_PROC_NULL))
    call mix(total + sum(all_in))
  end subroutine

  subroutine on_graph(round)
    integer, intent(in) :: round
    integer :: in_degree, out_degree, from(2), to(2), weights(2), out_weights(2), in(2)
    logical :: weighted
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, weighted, error)
    call check('degrees', in_degree == 2 .and. out_degree == 2 .and. weighted)
    call MPI_Dist_graph_neighbors(graph, 2, from, weights, 2, to, out_weights, error)
    call check('neighbours', all(from == [last_of(rank), next_of(rank)]) .and. all(weights == [1, 2]))
    call MPI_Neighbor_alltoall([rank * 10 + round, rank * 100 + round], 1, MPI_INTEGER, in, 1, MPI_INTEGER, &
        graph, error)
    if (ranks > 2) call check('neighbor_alltoall', in(1) == last_of(rank) * 10 + round .and. &
        in(2) == next_of(rank) * 100 + round)
    call mix(sum(in))
  end subroutine
end program
