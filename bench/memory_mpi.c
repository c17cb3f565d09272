/* What memory a process takes, by an MPI's own mpicc: memory_mpi MESSAGES BYTES. Each process sends
 * so many messages to its right neighbour, in windows of 64. Prints the memory that a process has
 * had at most, in MiB: at the start, and the largest and the mean at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { WINDOW = 64 };

static double mebibytes(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
    MPI_Request request[2 * WINDOW];
    int me, n;
    if (argc < 3) return 2;
    long messages = atol(argv[1]);
    int bytes = atoi(argv[2]);
    char *out = calloc(1, (size_t)bytes + 1), *in = calloc(WINDOW, (size_t)bytes + 1);
    if (out == NULL || in == NULL) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double start = mebibytes(), end, most, sum;
    for (long done = 0; done < messages; done += WINDOW) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, (me + n - 1) % n, 0,
                MPI_COMM_WORLD, &request[i]);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(out, bytes, MPI_BYTE, (me + 1) % n, 0, MPI_COMM_WORLD, &request[WINDOW + i]);
        MPI_Waitall(2 * WINDOW, request, MPI_STATUSES_IGNORE);
    }
    end = mebibytes();
    MPI_Reduce(&end, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) printf("at the start %.1f, most %.1f, mean %.1f MiB\n", start, most, sum / n);
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
