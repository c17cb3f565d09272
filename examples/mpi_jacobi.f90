! mpi_jacobi.f90: a solver in MPI that hark checkpoints, as mpi_jacobi.c, with `use mpi`. Columns are
! what Fortran keeps together, so each process has some columns.
!
!     mpif90 $(pkg-config --variable=fortran hark-app) mpi_jacobi.f90 \
!         $(pkg-config --libs hark-app) -o mpi_jacobi
!     hark run -n 4 --kill 2@300 -- ./mpi_jacobi [ROWS [COLUMNS [STEPS]]]
program mpi_jacobi
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use hark
  use mpi
  implicit none
  integer :: rank, size, rows, columns, steps, all_columns, error
  integer, target :: step = 0
  integer(c_int64_t) :: restarted
  double precision, target :: change = 0
  double precision :: mine
  double precision, allocatable, target :: plate(:, :, :)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  rows = number(1, 64)
  all_columns = number(2, 64)
  steps = number(3, 400)
  columns = all_columns / size + merge(1, 0, rank < mod(all_columns, size))
  allocate (plate(rows, 0:columns + 1, 0:1), source=0d0)
  if (rank == 0) plate(:, 0, :) = 100 ! a hot edge

  call hark_protect(1, step)
  call hark_protect(2, change)
  call hark_protect(3, plate)
  call hark_restarted(restarted)
  do while (step < steps)
    call exchange(plate(:, :, mod(step, 2)))
    mine = relaxed(plate(:, :, mod(step, 2)), plate(:, :, mod(step + 1, 2)))
    call MPI_Allreduce(mine, change, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    step = step + 1
    call hark_checkpoint()
  end do
  if (rank == 0) print '(i0, " processes, ", i0, " steps, last change ", es23.16)', size, step, change
  call MPI_Finalize(error)

contains

  integer function number(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(20) :: text
    integer :: bad
    number = otherwise
    if (command_argument_count() < place) return
    call get_command_argument(place, text)
    read (text, *, iostat=bad) number
    if (bad == 0 .and. number > 0) return
    write (0, '(3a)') 'mpi_jacobi: ', trim(text), ': a number of rows, columns or steps is at least 1'
    stop 2
  end function

  ! A column from and to each neighbour.
  subroutine exchange(half)
    double precision, intent(inout) :: half(rows, 0:columns + 1)
    integer :: left, right
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < size)
    call MPI_Sendrecv(half(:, 1), rows, MPI_DOUBLE_PRECISION, left, 1, half(:, columns + 1), rows, &
        MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(half(:, columns), rows, MPI_DOUBLE_PRECISION, right, 2, half(:, 0), rows, &
        MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  ! One step from `old` to `new`; the sum of squares of what has changed.
  double precision function relaxed(old, new)
    double precision, intent(in) :: old(rows, 0:columns + 1)
    double precision, intent(inout) :: new(rows, 0:columns + 1)
    integer :: i, j
    relaxed = 0
    do j = 1, columns
      do i = 2, rows - 1
        new(i, j) = (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)) / 4
        relaxed = relaxed + (new(i, j) - old(i, j))**2
      end do
    end do
  end function
end program
