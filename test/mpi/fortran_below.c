/* What hark's library of C functions has for its Fortran library, above another one: a number that
 * Fortran caches is in the place of C's pointer. */
#include <mpi.h>

#define ACCESS(name, type)                                                                         \
    int ompi_hark_##name##_set_attr(type handle, int keyval, int value_kind, MPI_Aint value);      \
    int ompi_hark_##name##_set_attr(type handle, int keyval, int value_kind, MPI_Aint value)       \
    {                                                                                              \
        (void)value_kind;                                                                          \
        return PMPI_##name##_set_attr(handle, keyval, (void *)value);                              \
    }                                                                                              \
    int ompi_hark_##name##_get_attr(                                                               \
        type handle, int keyval, int value_kind, void *value, int *found);                         \
    int ompi_hark_##name##_get_attr(                                                               \
        type handle, int keyval, int value_kind, void *value, int *found)                          \
    {                                                                                              \
        void *at = NULL;                                                                           \
        int code = PMPI_##name##_get_attr(handle, keyval, &at, found);                             \
        if (code == MPI_SUCCESS && *found) give(keyval, at, value_kind, value);                    \
        return code;                                                                               \
    }

/* Predefined values are what a pointer of C points to. */
static void give(int keyval, void *at, int value_kind, void *value)
{
    MPI_Aint number = (MPI_Aint)at;
    if (keyval == MPI_WIN_SIZE) number = *(MPI_Aint *)at;
    else if (keyval >= MPI_TAG_UB && keyval <= MPI_WIN_MODEL && keyval != MPI_WIN_BASE)
        number = *(int *)at;
    if (value_kind == 2) *(MPI_Fint *)value = (MPI_Fint)number;
    else *(MPI_Aint *)value = number;
}

ACCESS(Comm, MPI_Comm)
ACCESS(Type, MPI_Datatype)
ACCESS(Win, MPI_Win)

void ompi_hark_keyval_of_fortran(int keyval);
void ompi_hark_keyval_of_fortran(int keyval)
{
    (void)keyval;
}
