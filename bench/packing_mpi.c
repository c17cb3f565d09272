/* What MPI_Pack and MPI_Unpack cost: packing_mpi, by an MPI's own mpicc, in one process. A line for
 * each datatype: bytes, and nanoseconds of packing and of unpacking, each the best of several
 * batches. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 130, INNER = EDGE - 2, LIST = 10000, BATCHES = 15 };
static char *grid, *packed;
static const size_t room = (size_t)EDGE * EDGE * EDGE * sizeof(double);

static void once(int unpack, int count, MPI_Datatype t, int bytes)
{
    int position = 0;
    if (unpack) MPI_Unpack(packed, bytes, &position, grid, count, t, MPI_COMM_WORLD);
    else MPI_Pack(grid, count, t, packed, bytes, &position, MPI_COMM_WORLD);
}

static double best(int unpack, int count, MPI_Datatype t, int bytes)
{
    int calls = 10000000 / (bytes + 2000) + 1;
    double least = 1e9;
    for (int i = 0; i < BATCHES; i++) {
        double begin = MPI_Wtime();
        for (int k = 0; k < calls; k++) once(unpack, count, t, bytes);
        double each = (MPI_Wtime() - begin) / calls;
        if (each < least) least = each;
    }
    return least * 1e9;
}

static void measure(const char *name, int count, MPI_Datatype t)
{
    int bytes;
    MPI_Type_commit(&t);
    MPI_Pack_size(count, t, MPI_COMM_WORLD, &bytes);
    printf("%-36s %9d %12.1f %12.1f\n", name, bytes, best(0, count, t, bytes),
        best(1, count, t, bytes));
    MPI_Type_free(&t);
}

static void vector(const char *name, int count, int length, int stride)
{
    MPI_Datatype t;
    MPI_Type_vector(count, length, stride, MPI_DOUBLE, &t);
    measure(name, 1, t);
}

/* Inside a halo of one element. */
static void part_of_grid(const char *name, int x, int y, int z)
{
    const int sizes[] = {EDGE, EDGE, EDGE}, subsizes[] = {z, y, x}, starts[] = {1, 1, 1};
    MPI_Datatype t;
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &t);
    measure(name, 1, t);
}

static void structure(const char *name, int fields)
{
    const int ones[] = {1, 1, 1};
    const MPI_Aint places[] = {0, 8, 16};
    const MPI_Datatype two[] = {MPI_DOUBLE, MPI_INT}, three[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Datatype t;
    MPI_Type_create_struct(fields, ones, places, fields == 2 ? two : three, &t);
    measure(name, LIST, t);
}

static void list(const char *name, int longest)
{
    static int places[LIST], lengths[LIST];
    MPI_Datatype t;
    srand(1);
    for (int i = 0, at = 0; i < LIST; i++) {
        places[i] = at;
        lengths[i] = 1 + rand() % longest;
        at += lengths[i] + rand() % 12;
    }
    MPI_Type_indexed(LIST, lengths, places, MPI_DOUBLE, &t);
    measure(name, 1, t);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    grid = malloc(room);
    packed = malloc(room);
    if (grid == NULL || packed == NULL) return 2;
    memset(grid, 1, room);
    memset(packed, 2, room);
    printf("%-36s %9s %12s %12s\n", "doubles, if not said", "bytes", "pack, ns", "unpack, ns");
    vector("vector 1000 x 1 of 130", 1000, 1, 130);
    vector("vector 100000 x 1 of 2", 100000, 1, 2);
    vector("vector 10000 x 3 of 5", 10000, 3, 5);
    vector("vector 1000 x 16 of 32", 1000, 16, 32);
    vector("vector 4 x 1 of 3", 4, 1, 3);
    part_of_grid("subarray, face x", 1, INNER, INNER);
    part_of_grid("subarray, face y", INNER, 1, INNER);
    part_of_grid("subarray, face z", INNER, INNER, 1);
    part_of_grid("subarray, inside", INNER, INNER, INNER);
    structure("10000 x {double, int}", 2);
    structure("10000 x {char, double, int}", 3);
    list("indexed, 10000 x 1", 1);
    list("indexed, 10000 x 1 .. 6", 6);
    MPI_Finalize();
    return 0;
}
