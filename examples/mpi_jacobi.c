/* mpi_jacobi.c: a solver in MPI that hark checkpoints. Jacobi's iteration for the temperature of a
 * plate, of which each process has some rows; the three calls of hark/app.h are all that hark asks
 * for. mpi_jacobi.f90 is the same in Fortran.
 *
 *     mpicc mpi_jacobi.c $(pkg-config --cflags --libs hark-app) -o mpi_jacobi
 *     hark run -n 4 --kill 2@300 -- ./mpi_jacobi [ROWS [COLUMNS [STEPS]]] */
#include <hark/app.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, rows, columns = 64, steps = 400;

static int number(int argc, char *argv[], int i, int otherwise)
{
    int n = argc > i ? atoi(argv[i]) : otherwise;
    if (n > 0) return n;
    fprintf(stderr, "mpi_jacobi: %s: a number of rows, columns or steps is at least 1\n", argv[i]);
    exit(2);
}

/* A row from and to each neighbour. */
static void exchange(double *plate)
{
    const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    const int down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    double *first = plate + columns, *last = plate + rows * columns;
    MPI_Sendrecv(first, columns, MPI_DOUBLE, up, 1, last + columns, columns, MPI_DOUBLE, down, 1,
        MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, columns, MPI_DOUBLE, down, 2, plate, columns, MPI_DOUBLE, up, 2,
        MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One step from `old` to `new`; the sum of squares of what has changed. */
static double relax(const double *old, double *new)
{
    double change = 0;
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < columns - 1; j++) {
            const double *at = old + i * columns + j;
            double mean = (at[-columns] + at[columns] + at[-1] + at[1]) / 4;
            change += (mean - *at) * (mean - *at);
            new[i * columns + j] = mean;
        }
    return change;
}

int main(int argc, char *argv[])
{
    int step = 0;
    double change = 0;
    uint64_t restarted;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int all_rows = number(argc, argv, 1, 64);
    columns = number(argc, argv, 2, columns);
    steps = number(argc, argv, 3, steps);
    rows = all_rows / size + (rank < all_rows % size);
    const size_t cells = (size_t)(rows + 2) * (size_t)columns;
    double *plate[2] = {calloc(cells, sizeof(double)), calloc(cells, sizeof(double))};
    for (int j = 0; rank == 0 && j < columns; j++) plate[0][j] = plate[1][j] = 100; /* a hot edge */

    hark_protect(1, &step, sizeof step);
    hark_protect(2, &change, sizeof change);
    hark_protect(3, plate[0], cells * sizeof(double));
    hark_protect(4, plate[1], cells * sizeof(double));
    hark_restarted(&restarted);
    while (step < steps) {
        exchange(plate[step % 2]);
        double mine = relax(plate[step % 2], plate[(step + 1) % 2]);
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        step++;
        hark_checkpoint();
    }
    if (rank == 0) printf("%d processes, %d steps, last change %.17g\n", size, step, change);
    free(plate[0]);
    free(plate[1]);
    MPI_Finalize();
    return 0;
}
