/* fortran.h: what the Fortran functions for programs of Open MPI share: those that fortran.py makes
 * from mpi.h, and those in fortran.c that need more than a conversion of each argument.
 *
 * Conventions of mpif.h and `use mpi` (gfortran, x86-64): all arguments are references; handles,
 * LOGICAL (.true. is 1) and INTEGER are int; after the last argument, ierror, each character
 * argument has its length by value. The library of `use mpi_f08` calls the same functions under
 * their names ompi_x_f, and passes lengths as int, whose upper half is undefined: so they are int
 * here too.
 */
#ifndef HARK_MPI_FORTRAN_H
#define HARK_MPI_FORTRAN_H

#include <mpi.h>
#include <mpi-ext.h>
#include <stdlib.h>

/* Constants that are known by their addresses. They are common blocks: where a program has them,
 * the dynamic linker takes the program's. libmpi.so.40 defines them. */
extern MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_unweighted_,
    mpi_fortran_weights_empty_, mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];

/* Compilers and their options differ in underscores and case. Genuine names of MPI are weak: a
 * profiling tool may define them. */
#define FORTRAN_ALIAS(name, function)                                                              \
    extern __typeof__(function) name __attribute__((weak, alias(#function)))
#define FORTRAN_ALIASES(function, lower, upper, c_name)                                            \
    FORTRAN_ALIAS(lower, function);                                                                \
    FORTRAN_ALIAS(lower##_, function);                                                             \
    FORTRAN_ALIAS(lower##__, function);                                                            \
    FORTRAN_ALIAS(upper, function);                                                                \
    FORTRAN_ALIAS(c_name##_f, function);                                                           \
    FORTRAN_ALIAS(c_name##_f08, function)
#define FORTRAN_NAMES(lower, upper, c_name)                                                        \
    FORTRAN_ALIASES(ompi_##lower##_f, mpi_##lower, MPI_##upper, MPI_##c_name);                     \
    FORTRAN_ALIASES(ompi_##lower##_f, pmpi_##lower, PMPI_##upper, PMPI_##c_name)
#define FORTRAN_EXTENSION(lower, upper, c_name)                                                    \
    FORTRAN_ALIASES(ompix_##lower##_f, mpix_##lower, MPIX_##upper, MPIX_##c_name);                 \
    FORTRAN_ALIASES(ompix_##lower##_f, pmpix_##lower, PMPIX_##upper, PMPIX_##c_name)
/* The same with a type(C_PTR), which is the same memory as the integer. */
#define FORTRAN_POINTER(lower, upper, c_name)                                                      \
    FORTRAN_ALIASES(                                                                               \
        ompi_##lower##_f, mpi_##lower##_cptr, MPI_##upper##_CPTR, MPI_##c_name##_cptr);            \
    FORTRAN_ALIASES(                                                                               \
        ompi_##lower##_f, pmpi_##lower##_cptr, PMPI_##upper##_CPTR, PMPI_##c_name##_cptr)

static inline void *fortran_buffer(void *buffer)
{
    if (buffer == &mpi_fortran_bottom_) return MPI_BOTTOM;
    if (buffer == &mpi_fortran_in_place_) return MPI_IN_PLACE;
    return buffer;
}

static inline int *fortran_weights(MPI_Fint *weights)
{
    if (weights == &mpi_fortran_unweighted_) return MPI_UNWEIGHTED;
    if (weights == &mpi_fortran_weights_empty_) return MPI_WEIGHTS_EMPTY;
    return weights;
}

/* A status is the same 24 bytes in both languages. In Fortran it may be aligned to 4 bytes only,
 * which x86-64 permits. */
_Static_assert(sizeof(MPI_Status) == 6 * sizeof(MPI_Fint), "MPI_STATUS_SIZE is 6");
static inline MPI_Status *fortran_status(MPI_Fint *status)
{
    return status == mpi_fortran_status_ignore_ ? MPI_STATUS_IGNORE : (MPI_Status *)(void *)status;
}
static inline MPI_Status *fortran_statuses(MPI_Fint *statuses)
{
    if (statuses == mpi_fortran_statuses_ignore_) return MPI_STATUSES_IGNORE;
    return (MPI_Status *)(void *)statuses;
}

/* Attributes: attribute.c. A value of Fortran is a number: C gets a pointer to it, and of a value
 * that C has set Fortran gets the pointer as a number. The kinds are those of internal.h. */
enum { FORTRAN_ADDRESS = 1, FORTRAN_INTEGER = 2 };
#define FORTRAN_ATTRIBUTES(name, type)                                                             \
    int ompi_hark_##name##_set_attr(type handle, int keyval, int value_kind, MPI_Aint value);      \
    int ompi_hark_##name##_get_attr(                                                               \
        type handle, int keyval, int value_kind, void *value, int *found)
FORTRAN_ATTRIBUTES(Comm, MPI_Comm);
FORTRAN_ATTRIBUTES(Type, MPI_Datatype);
FORTRAN_ATTRIBUTES(Win, MPI_Win);
void ompi_hark_keyval_of_fortran(int keyval);

/* The functions below allocate what they return; the caller frees it. NULL: no memory. */

/* A string of C, without the blanks at both ends. */
char *hark_fortran_string(const char *string, int length);
/* The reverse: fills up with blanks, and cuts what is longer. Allocates nothing. */
void hark_fortran_fill(char *string, int length, const char *from);

MPI_Request *hark_fortran_requests(int count, const MPI_Fint *requests);
/* Writes the handles back and frees `from`. */
void hark_fortran_requests_back(int count, MPI_Fint *requests, MPI_Request *from);
MPI_Datatype *hark_fortran_types(int count, const MPI_Fint *types);
/* Writes those that are not MPI_DATATYPE_NULL back and frees `from`. */
void hark_fortran_types_back(int count, MPI_Fint *types, MPI_Datatype *from);

/* The number of datatypes that MPI_Alltoallw takes, and MPI_Neighbor_alltoallw to send and to
 * receive. */
int hark_fortran_peers(MPI_Comm comm);
int hark_fortran_destinations(MPI_Comm comm);
int hark_fortran_sources(MPI_Comm comm);

#endif
