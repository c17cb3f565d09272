/* whole.c: numbers from standard input, which rank 0 has, are added up by all; the sum ends the
 * program: it is printed, or, behind the argument `abort`, the status of MPI_Abort. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, number, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (;;) {
        if (rank == 0 && scanf("%d", &number) != 1) number = -1;
        MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (number < 0) break;
        int mine = number * (rank + 1), all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    if (rank == 1 && argc > 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, sum);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%d\n", sum);
    MPI_Finalize();
    return 0;
}
