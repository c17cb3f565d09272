/* What collective calls cost, by an MPI's own mpicc: collectives_mpi MILLISECONDS [CALL...]. A line
 * for each call and size: processes, bytes of each process's part, microseconds (the median of
 * batches, of the slowest process). */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "measure.h"

enum { LONGEST = 4 << 20 };
static char *out, *in;
static int me, n;

static void call_barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_bcast(int bytes)
{
    MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_reduce(int bytes)
{
    MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void call_allreduce(int bytes)
{
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_reduce_scatter(int bytes)
{
    MPI_Reduce_scatter_block(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_scan(int bytes)
{
    MPI_Scan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_gather(int bytes)
{
    MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_scatter(int bytes)
{
    MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_allgather(int bytes)
{
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void call_alltoall(int bytes)
{
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* Parts: a block for each process, so the sizes that are tried end earlier. */
static const struct call {
    const char *name;
    void (*make)(int bytes);
    bool empty, parts;
} calls[] = {{"barrier", call_barrier, true, false}, {"bcast", call_bcast, false, false},
    {"reduce", call_reduce, false, false}, {"allreduce", call_allreduce, false, false},
    {"scan", call_scan, false, false}, {"reduce_scatter", call_reduce_scatter, false, true},
    {"gather", call_gather, false, true}, {"scatter", call_scatter, false, true},
    {"allgather", call_allgather, false, true}, {"alltoall", call_alltoall, false, true}};

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Microseconds of a call, and of processor. */
static double batch(const struct call *c, int bytes, long count, double *processor)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), worked = processor_seconds();
    for (long i = 0; i < count; i++) c->make(bytes);
    double took = (MPI_Wtime() - begin) / (double)count * 1e6, slowest;
    worked = (processor_seconds() - worked) / (double)count * 1e6;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&worked, processor, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return slowest;
}

/* How often in a batch is what rank 0 says, from a first one. */
static long count_for(const struct call *c, int bytes, double limit)
{
    double processor;
    batch(c, bytes, 2, &processor);
    long count = (long)(limit * 1000 / 8 / batch(c, bytes, 2, &processor)) + 1;
    MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return count;
}

static void measure(const struct call *c, int bytes, double limit)
{
    enum { BATCHES = 7 };
    double each[BATCHES], processor[BATCHES];
    long count = count_for(c, bytes, limit);
    for (int i = 0; i < BATCHES; i++) each[i] = batch(c, bytes, count, &processor[i]);
    if (me == 0)
        printf("%-15s %3d %9d %12.2f %12.2f\n", c->name, n, bytes, median_of(each, BATCHES),
            median_of(processor, BATCHES));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    out = malloc(LONGEST);
    in = malloc(LONGEST);
    if (out == NULL || in == NULL) return 2;
    memset(out, 1, LONGEST); /* what was never written is one page of zeros, and read fast */
    memset(in, 1, LONGEST);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        bool chosen = argc == 2;
        for (int j = 2; j < argc; j++) chosen = chosen || strcmp(argv[j], calls[i].name) == 0;
        int longest = calls[i].empty ? 8 : calls[i].parts ? LONGEST / n : LONGEST;
        for (int bytes = 8; chosen && bytes <= longest; bytes *= 8)
            measure(&calls[i], bytes, atof(argv[1]));
    }
    MPI_Finalize();
    return 0;
}
