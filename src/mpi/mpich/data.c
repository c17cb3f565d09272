/* Data symbols of MPICH's binary interface: what its mpi.h declares without a value. */
#pragma GCC visibility push(default)
#include <mpi.h>
extern int *MPIR_C_MPI_UNWEIGHTED, *MPIR_C_MPI_WEIGHTS_EMPTY;
#pragma GCC visibility pop

static int unweighted, weights_empty;
int *const MPI_UNWEIGHTED = &unweighted;
int *const MPI_WEIGHTS_EMPTY = &weights_empty;
/* The same for mpi_f08: MPICH's library of Fortran defines them too, and expects that the library
 * of C gives them their values. This library is loaded before it, so it uses these. */
int *MPIR_C_MPI_UNWEIGHTED = &unweighted, *MPIR_C_MPI_WEIGHTS_EMPTY = &weights_empty;

/* Never dereferenced: the address of one that is none. */
static char all_handles;
struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES =
    (struct MPIR_T_pvar_handle_s *)(void *)&all_handles;

/* Fortran's library sets them. */
MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ;
MPI_F08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
int MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BOTTOM;
MPI_F08_status *MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
MPI_F08_status *MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
