! Behind `program` or `subroutine`, before declarations.
#if defined F08
  use mpi_f08
  implicit none
#elif defined MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
