/* The same over MPI, nothing logged: pingpong_mpi ping|stream SIZE MILLISECONDS WINDOW. By an MPI's
 * own mpicc. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

static char *out, *in;
static int me;

static double batch(bool stream, int size, long count)
{
    double begin = nanoseconds();
    for (long i = 0; i < count; i++) {
        if (me == 0) MPI_Send(out, size, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD);
        else MPI_Recv(in, size, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (stream && i + 1 < count) continue;
        if (me == 0)
            MPI_Recv(in, stream ? 8 : size, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(out, stream ? 8 : size, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD);
    }
    return (nanoseconds() - begin) / (double)count / (stream ? 1 : 2);
}

int main(int argc, char **argv)
{
    static double each[BATCHES_MAX];
    size_t n = 0;
    if (argc < 5) return 2;
    bool stream = argv[1][0] == 's';
    int size = atoi(argv[2]);
    double limit = atof(argv[3]) * 1e6;
    long count = batch_of((size_t)size, (size_t)atol(argv[4]), 0, 1);
    out = aligned_alloc(4096, ((size_t)size + 4096) & ~(size_t)4095);
    in = aligned_alloc(4096, ((size_t)size + 4096) & ~(size_t)4095);
    if (out == NULL || in == NULL) return 2;
    memset(out, 1, (size_t)size); /* memory that was never written is one page of zeros, read fast
                                   */
    memset(in, 1, (size_t)size);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    stay_on(me);
    for (double begin = 0; count > 0;) {
        double x = batch(stream, size, count);
        if (n == WARM) begin = nanoseconds();
        each[n++] = x;
        count = next_batch(
            n, count, (size_t)size, (size_t)atol(argv[4]), limit, nanoseconds() - begin, x);
        MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    if (me == 0) printf("%.1f\n", median_of(each + WARM, n - WARM));
    MPI_Finalize();
    return 0;
}
