/* Packing and unpacking in pieces: whatever bytes a piece begins and ends with, the pieces together
 * are the whole. Looks inside the library: of random datatypes it cuts the packed form at every
 * byte, walks it, and copies between two of them. */
#include <stdio.h>

#include "../../src/mpi/internal.h"

enum { REACH = 1 << 18, MIDDLE = REACH / 2, LONGEST = 3000 };

static unsigned long long seed;
static int chance(int below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((seed >> 33) % (unsigned)below);
}

static int number;
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "datatype %d, line %d: " #condition ": ", number, __LINE__);           \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- random datatypes without overlaps --------------------------------------------------------
 */

enum { MOST = 12 };

static MPI_Datatype make_vector(MPI_Datatype of)
{
    MPI_Datatype t;
    int length = 1 + chance(3);
    PMPI_Type_vector(1 + chance(4), length, length + chance(3), of, &t);
    return t;
}

static MPI_Datatype make_indexed(MPI_Datatype of)
{
    int n = 1 + chance(MOST), lengths[MOST], places[MOST], at = 0, same = chance(2);
    MPI_Datatype t;
    for (int i = 0; i < n; i++) {
        at += chance(3);
        lengths[i] = same ? 2 : chance(4);
        places[i] = at;
        at += lengths[i];
    }
    PMPI_Type_indexed(n, lengths, places, of, &t);
    return t;
}

static MPI_Datatype make_struct(MPI_Datatype of)
{
    const MPI_Datatype more[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT_INT, MPI_INT};
    MPI_Datatype types[MOST], t;
    int n = 1 + chance(4), lengths[MOST];
    MPI_Aint at[MOST], end = 0, lower, extent;
    for (int i = 0; i < n; i++) {
        types[i] = chance(2) ? of : more[chance(4)];
        lengths[i] = 1 + chance(2);
        PMPI_Type_get_extent(types[i], &lower, &extent);
        at[i] = end + chance(3) * 8 - lower;
        end = at[i] + lower + (extent * lengths[i] + 7) / 8 * 8;
    }
    PMPI_Type_create_struct(n, lengths, at, types, &t);
    return t;
}

static MPI_Datatype make_subarray(MPI_Datatype of)
{
    int sizes[3], subsizes[3], starts[3];
    MPI_Datatype t;
    for (int d = 0; d < 3; d++) {
        sizes[d] = 1 + chance(4);
        subsizes[d] = 1 + chance(sizes[d]);
        starts[d] = chance(sizes[d] - subsizes[d] + 1);
    }
    PMPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, of, &t);
    return t;
}

static struct type *make_random(void)
{
    const MPI_Datatype basic[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT, MPI_SHORT};
    MPI_Datatype (*const make[])(MPI_Datatype) = {
        make_vector, make_indexed, make_struct, make_subarray};
    MPI_Datatype t = basic[chance(5)];
    for (int depth = 1 + chance(4); depth && TYPE(t)->size < LONGEST / 150; depth--) {
        MPI_Datatype of = t;
        t = make[chance(4)](of);
        hark_mpi_type_release(TYPE(of));
    }
    return TYPE(t);
}

/* ---- pieces -----------------------------------------------------------------------------------
 */

static uint8_t full[REACH], packed[LONGEST], piece[LONGEST], into[REACH], wanted[REACH];

static void check_cut(const struct type *t, size_t count, size_t size, size_t cut, size_t end)
{
    memset(piece, 0, size);
    hark_mpi_pack(t, count, full + MIDDLE, 0, piece, cut);
    hark_mpi_pack(t, count, full + MIDDLE, cut, piece + cut, end - cut);
    hark_mpi_pack(t, count, full + MIDDLE, end, piece + end, size - end);
    CHECK(memcmp(packed, piece, size) == 0, "packed, cut at %zu and %zu of %zu", cut, end, size);
    memset(into, 9, sizeof into);
    hark_mpi_unpack(t, count, into + MIDDLE, cut, packed + cut, end - cut);
    hark_mpi_unpack(t, count, into + MIDDLE, end, packed + end, size - end);
    hark_mpi_unpack(t, count, into + MIDDLE, 0, packed, cut);
    CHECK(memcmp(into, wanted, sizeof into) == 0, "unpacked, cut at %zu and %zu of %zu", cut, end,
        size);
}

/* The walk gives the bytes in the order of packing. */
struct walked {
    size_t bytes;
};
static void visit(void *argument, ptrdiff_t at, size_t length)
{
    struct walked *w = argument;
    memcpy(piece + w->bytes, full + MIDDLE + at, length);
    w->bytes += length;
}

static void check_walk(const struct type *t, size_t count, size_t size)
{
    struct walked w = {0};
    hark_mpi_type_walk(t, count, 0, size / 3, visit, &w);
    hark_mpi_type_walk(t, count, size / 3, size - size / 3, visit, &w);
    CHECK(w.bytes == size && memcmp(piece, packed, size) == 0, "%zu of %zu bytes", w.bytes, size);
}

/* Between two datatypes: the bytes that both have. */
static void check_copy(const struct type *t, size_t count, const struct type *other)
{
    size_t size = count * t->size, most = other->size * 2, n = size < most ? size : most;
    memset(into, 9, sizeof into);
    memset(wanted, 9, sizeof wanted);
    hark_mpi_type_copy(full + MIDDLE, count, t, into + MIDDLE, 2, other);
    hark_mpi_unpack(other, 2, wanted + MIDDLE, 0, packed, n);
    CHECK(memcmp(into, wanted, sizeof into) == 0, "%zu bytes", n);
}

static void check(const struct type *t, const struct type *other)
{
    size_t count = (size_t)chance(4), size = count * t->size;
    CHECK(size < LONGEST, "%zu", size);
    hark_mpi_pack(t, count, full + MIDDLE, 0, packed, size);
    memset(wanted, 9, sizeof wanted);
    hark_mpi_unpack(t, count, wanted + MIDDLE, 0, packed, size);
    for (size_t cut = 0; cut <= size; cut += 1 + size / 40)
        check_cut(t, count, size, cut, cut + (size_t)chance((int)(size - cut) + 1));
    check_walk(t, count, size);
    check_copy(t, count, other);
}

int main(void)
{
    hark_mpi_open = true;
    hark_mpi_predefine_types();
    for (int i = 0; i < REACH; i++) full[i] = (uint8_t)(i * 7 + i / 251);
    for (number = 0; number < 2000; number++) {
        seed = (unsigned long long)number * 77777 + 1;
        struct type *t = make_random(), *other = make_random();
        check(t, other);
        hark_mpi_type_release(t);
        hark_mpi_type_release(other);
    }
    return 0;
}
