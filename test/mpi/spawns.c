/* A program that refers to a function which hark refuses, and never calls it. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Comm others;
    MPI_Init(&argc, &argv);
    if (argc > 1)
        MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &others,
            MPI_ERRCODES_IGNORE);
    return MPI_Finalize();
}
