/* What C sees of an attribute that Fortran has set, and one that C sets: called by attributes.F90.
 */
#include <mpi.h>

void seen_in_c_(MPI_Fint *comm, MPI_Fint *key, MPI_Aint *seen);
void set_in_c_(MPI_Fint *comm, MPI_Fint *key, MPI_Aint *pointer);
void touch_(MPI_Aint *variable);

void seen_in_c_(MPI_Fint *comm, MPI_Fint *key, MPI_Aint *seen)
{
    MPI_Aint *value;
    int found;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *key, &value, &found);
    *seen = found ? *value : -1;
}

/* A pointer, of which Fortran is to get the bits. */
void set_in_c_(MPI_Fint *comm, MPI_Fint *key, MPI_Aint *pointer)
{
    static int variable;
    *pointer = (MPI_Aint)&variable;
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *key, &variable);
}

/* The compiler can not know what is in the variable after that. */
void touch_(MPI_Aint *variable)
{
    *variable += 0;
}
