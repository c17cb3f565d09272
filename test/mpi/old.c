/* Every function that MPI 3.0 deleted, and every conversion of handles for Fortran, as old programs
 * call them. Compiled only. */
#include <mpi.h>

int old_types(void *location, MPI_Datatype types[2], MPI_Datatype *newtype);
int old_types(void *location, MPI_Datatype types[2], MPI_Datatype *newtype)
{
    int lengths[2] = {1, 1};
    MPI_Aint displacements[2] = {0, 8}, lb, ub, extent;
    return MPI_Address(location, displacements) ||
           MPI_Type_struct(2, lengths, displacements, types, newtype) ||
           MPI_Type_hindexed(2, lengths, displacements, types[0], newtype) ||
           MPI_Type_hvector(2, 1, displacements[1], types[0], newtype) ||
           MPI_Type_extent(types[0], &extent) || MPI_Type_lb(types[0], &lb) ||
           MPI_Type_ub(types[0], &ub);
}

int old_errors(MPI_Handler_function *function);
int old_errors(MPI_Handler_function *function)
{
    MPI_Errhandler errhandler;
    return MPI_Errhandler_create(function, &errhandler) ||
           MPI_Errhandler_set(MPI_COMM_WORLD, errhandler) ||
           MPI_Errhandler_get(MPI_COMM_WORLD, &errhandler);
}

int old_attributes(MPI_Comm comm);
int old_attributes(MPI_Comm comm)
{
    int key, found;
    void *value = &key;
    return MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, 0) ||
           MPI_Attr_put(comm, key, value) || MPI_Attr_get(comm, key, (void *)&value, &found) ||
           MPI_Attr_delete(comm, key) || MPI_Keyval_free(&key);
}

#define BOTH(type, name)                                                                           \
    type both_##name(type handle);                                                                 \
    type both_##name(type handle)                                                                  \
    {                                                                                              \
        MPI_Fint integer = MPI_##name##_c2f(handle);                                               \
        return MPI_##name##_f2c(integer);                                                          \
    }                                                                                              \
    struct both_##name
BOTH(MPI_Comm, Comm);
BOTH(MPI_Errhandler, Errhandler);
BOTH(MPI_File, File);
BOTH(MPI_Group, Group);
BOTH(MPI_Info, Info);
BOTH(MPI_Message, Message);
BOTH(MPI_Op, Op);
BOTH(MPI_Request, Request);
BOTH(MPI_Session, Session);
BOTH(MPI_Datatype, Type);
BOTH(MPI_Win, Win);
