/* Collective calls: each with several counts, all roots, with MPI_IN_PLACE, blocking, non-blocking,
 * and between two groups. Rank 0 prints a number made of the bits of sums: it is the same whatever
 * happens to processes. */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { LONGEST = 70000, MOST = 32 };
static const int counts[] = {0, 1, 3, 100, 1021, 9000, LONGEST};
enum { COUNTS = sizeof counts / sizeof *counts };

/* The forms of a call: MPI_Bcast(ARGUMENTS), MPI_Ibcast(ARGUMENTS, &request). */
static int form;
#define CALL(name, i_name, ...)                                                                    \
    do {                                                                                           \
        if (form == 0) {                                                                           \
            MPI_##name(__VA_ARGS__);                                                               \
        } else {                                                                                   \
            MPI_Request request;                                                                   \
            MPI_##i_name(__VA_ARGS__, &request);                                                   \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        }                                                                                          \
    } while (0)

static int *ints(size_t n)
{
    int *a = malloc((n + 1) * sizeof *a);
    for (size_t i = 0; i <= n; i++) a[i] = -1;
    return a;
}

static int value(int from, int to, int i)
{
    return from * 100003 + to * 1009 + i;
}

static void fill(int *a, int n, int from, int to)
{
    for (int i = 0; i < n; i++) a[i] = value(from, to, i);
}

static int holds(const int *a, int n, int from, int to)
{
    for (int i = 0; i < n; i++)
        if (a[i] != value(from, to, i)) return 0;
    return 1;
}

/* ---- blocks that are passed on ----------------------------------------------------------------
 */

static void test_bcast(int n, int root)
{
    int *a = ints((size_t)n);
    if (rank == root) fill(a, n, root, 7);
    CALL(Bcast, Ibcast, a, n, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(holds(a, n, root, 7), "count %d root %d", n, root);
    CHECK(a[n] == -1, "count %d root %d", n, root);
    free(a);
}

static void test_gather(int n, int root, int in_place)
{
    int *all = ints((size_t)n * (size_t)size), *one = ints((size_t)n);
    int *own = in_place && rank == root ? all + n * root : one;
    fill(own, n, rank, root);
    CALL(Gather, Igather, in_place && rank == root ? MPI_IN_PLACE : own, n, MPI_INT, all, n,
        MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == root; i++)
        CHECK(holds(all + n * i, n, i, root), "from %d, count %d", i, n);
    if (rank == root)
        for (int i = 0; i < size; i++) fill(all + n * i, n, root, i);
    CALL(Scatter, Iscatter, all, n, MPI_INT, in_place && rank == root ? MPI_IN_PLACE : one, n,
        MPI_INT, root, MPI_COMM_WORLD);
    if (!in_place || rank != root) CHECK(holds(one, n, root, rank), "count %d root %d", n, root);
    free(all);
    free(one);
}

static void test_gatherv(int n, int root)
{
    int many[MOST], at[MOST], total = 0;
    for (int i = 0; i < size; i++) many[i] = n * i, at[i] = total + 1, total += n * i + 1;
    int *all = ints((size_t)total), *one = ints((size_t)(n * size));
    fill(one, many[rank], rank, root);
    CALL(Gatherv, Igatherv, one, many[rank], MPI_INT, all, many, at, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == root; i++) {
        CHECK(holds(all + at[i], many[i], i, root), "from %d, count %d", i, many[i]);
        CHECK(all[at[i] - 1] == -1, "the gap before %d", i);
        fill(all + at[i], many[i], root, i);
    }
    CALL(Scatterv, Iscatterv, all, many, at, MPI_INT, one, many[rank], MPI_INT, root,
        MPI_COMM_WORLD);
    CHECK(holds(one, many[rank], root, rank), "count %d root %d", many[rank], root);
    CHECK(one[many[rank]] == -1 || rank == size - 1, "behind the end");
    free(all);
    free(one);
}

static void test_allgather(int n, int in_place)
{
    int *all = ints((size_t)n * (size_t)size), *one = ints((size_t)n);
    fill(in_place ? all + n * rank : one, n, rank, 5);
    CALL(Allgather, Iallgather, in_place ? MPI_IN_PLACE : one, n, MPI_INT, all, n, MPI_INT,
        MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK(holds(all + n * i, n, i, 5), "from %d, count %d", i, n);
    CHECK(all[n * size] == -1, "behind the end");
    free(all);
    free(one);
}

static void test_allgatherv(int n, int in_place)
{
    int many[MOST], at[MOST], total = 0;
    for (int i = size - 1; i >= 0; i--) many[i] = n * (i % 3), at[i] = total, total += many[i];
    int *all = ints((size_t)total), *one = ints((size_t)many[rank]);
    fill(in_place ? all + at[rank] : one, many[rank], rank, 6);
    CALL(Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : one, many[rank], MPI_INT, all, many, at,
        MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK(holds(all + at[i], many[i], i, 6), "from %d", i);
    free(all);
    free(one);
}

static void test_alltoall(int n, int in_place)
{
    int *out = ints((size_t)n * (size_t)size), *in = ints((size_t)n * (size_t)size);
    int *from = in_place ? in : out;
    for (int i = 0; i < size; i++) fill(from + n * i, n, rank, i);
    CALL(Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT,
        MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(holds(in + n * i, n, i, rank), "from %d, count %d in place %d", i, n, in_place);
    free(out);
    free(in);
}

/* Process a sends n * ((a + b) % 4) elements to b. */
static void test_alltoallv(int n, int in_place, int typed)
{
    int many[MOST], at[MOST], bytes[MOST], total = 0;
    MPI_Datatype types[MOST];
    for (int i = 0; i < size; i++) {
        many[i] = n * ((rank + i) % 4);
        at[i] = total;
        bytes[i] = total * (int)sizeof(int);
        total += many[i];
        types[i] = MPI_INT;
    }
    int *out = ints((size_t)total), *in = ints((size_t)total), *from = in_place ? in : out;
    const void *place = in_place ? MPI_IN_PLACE : out;
    for (int i = 0; i < size; i++) fill(from + at[i], many[i], rank, i);
    if (typed)
        CALL(Alltoallw, Ialltoallw, place, many, bytes, types, in, many, bytes, types,
            MPI_COMM_WORLD);
    else
        CALL(
            Alltoallv, Ialltoallv, place, many, at, MPI_INT, in, many, at, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(holds(in + at[i], many[i], i, rank), "from %d, count %d", i, many[i]);
    free(out);
    free(in);
}

/* ---- reductions -------------------------------------------------------------------------------
 */

/* An affine map x -> a x + b in one number: composition is associative and does not commute. */
static uint64_t compose(uint64_t first, uint64_t second)
{
    uint32_t a = (uint32_t)(first >> 32), b = (uint32_t)first;
    uint32_t c = (uint32_t)(second >> 32), d = (uint32_t)second;
    return (uint64_t)(c * a) << 32 | (uint32_t)(c * b + d);
}

static void compose_all(void *from, void *into, int *count, MPI_Datatype *datatype)
{
    uint64_t *a = from, *b = into;
    (void)datatype;
    for (int i = 0; i < *count; i++) b[i] = compose(a[i], b[i]);
}

static MPI_Op composing;

static uint64_t map_of(int of, int i)
{
    return (uint64_t)(uint32_t)(of * 2 + 3 + i % 7) << 32 | (uint32_t)(of * 17 + i);
}

static uint64_t composed(int ranks, int i)
{
    uint64_t map = map_of(0, i);
    for (int r = 1; r < ranks; r++) map = compose(map, map_of(r, i));
    return map;
}

static uint64_t *maps(int n, int of)
{
    uint64_t *a = malloc(((size_t)n + 1) * sizeof *a);
    for (int i = 0; i < n; i++) a[i] = of < 0 ? 0 : map_of(of, i);
    return a;
}

static void check_maps(int line, const uint64_t *a, int n, int first, int ranks)
{
    for (int i = 0; i < n; i++)
        if (a[i] != composed(ranks, first + i))
            check_failed(line, "element %d of %d, of %d ranks", i, n, ranks);
}

static void test_composition(int n, int root, int in_place)
{
    uint64_t *out = maps(n, rank), *in = maps(n, in_place ? rank : -1);
    const void *place = in_place ? MPI_IN_PLACE : out;
    CALL(Allreduce, Iallreduce, place, in, n, MPI_UNSIGNED_LONG, composing, MPI_COMM_WORLD);
    check_maps(__LINE__, in, n, 0, size);
    memcpy(in, out, (size_t)n * sizeof *in);
    CALL(Reduce, Ireduce, rank == root ? place : out, in, n, MPI_UNSIGNED_LONG, composing, root,
        MPI_COMM_WORLD);
    if (rank == root) check_maps(__LINE__, in, n, 0, size);
    memcpy(in, out, (size_t)n * sizeof *in);
    CALL(Scan, Iscan, place, in, n, MPI_UNSIGNED_LONG, composing, MPI_COMM_WORLD);
    check_maps(__LINE__, in, n, 0, rank + 1);
    memcpy(in, out, (size_t)n * sizeof *in);
    CALL(Exscan, Iexscan, place, in, n, MPI_UNSIGNED_LONG, composing, MPI_COMM_WORLD);
    if (rank > 0) check_maps(__LINE__, in, n, 0, rank);
    free(out);
    free(in);
}

static void test_scattered_composition(int n, int in_place)
{
    int many[MOST], total = 0, before = 0;
    for (int i = 0; i < size; i++) many[i] = n * (i % 3);
    for (int i = 0; i < size; i++) before += i < rank ? many[i] : 0, total += many[i];
    uint64_t *out = maps(total, rank), *in = maps(total, in_place ? rank : -1);
    CALL(Reduce_scatter, Ireduce_scatter, in_place ? MPI_IN_PLACE : (void *)out, in, many,
        MPI_UNSIGNED_LONG, composing, MPI_COMM_WORLD);
    check_maps(__LINE__, in, many[rank], before, size);
    free(out);
    free(in);
    out = maps(n * size, rank);
    in = maps(n * size, in_place ? rank : -1);
    CALL(Reduce_scatter_block, Ireduce_scatter_block, in_place ? MPI_IN_PLACE : (void *)out, in, n,
        MPI_UNSIGNED_LONG, composing, MPI_COMM_WORLD);
    check_maps(__LINE__, in, n, n * rank, size);
    free(out);
    free(in);
}

/* The bits of sums, whose terms are of very different sizes: every order of summing has others. */
static uint64_t bits;

static void add_bits(const double *a, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t b;
        memcpy(&b, &a[i], sizeof b);
        bits = (bits ^ b) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    }
}

static void test_sums(int n, int root)
{
    double *out = malloc(((size_t)n + 1) * sizeof *out), *in = calloc((size_t)n + 1, sizeof *in);
    for (int i = 0; i < n; i++) out[i] = 1.0 / (rank * 7919 + i + 1);
    CALL(Allreduce, Iallreduce, out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double *theirs = malloc(((size_t)n + 1) * sizeof *theirs);
    memcpy(theirs, in, (size_t)n * sizeof *in);
    MPI_Bcast(theirs, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
    CHECK(memcmp(theirs, in, (size_t)n * sizeof *in) == 0, "ranks differ, count %d", n);
    for (int i = 0; i < n; i += 97) {
        double sum = 0;
        for (int r = 0; r < size; r++) sum += 1.0 / (r * 7919 + i + 1);
        CHECK(in[i] - sum < 1e-12 && sum - in[i] < 1e-12, "%g, not %g", in[i], sum);
    }
    add_bits(in, n);
    CALL(Reduce, Ireduce, out, in, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) memcpy(theirs, in, (size_t)n * sizeof *in);
    MPI_Bcast(theirs, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
    add_bits(theirs, n);
    free(out);
    free(in);
    free(theirs);
}

static void test_operations(void)
{
    int me = rank + 1, all = 0;
    const struct {
        MPI_Op op;
        int expected;
    } cases[] = {{MPI_MAX, size}, {MPI_MIN, 1}, {MPI_SUM, size * (size + 1) / 2}, {MPI_LAND, 1},
        {MPI_LOR, 1}, {MPI_LXOR, size & 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CALL(Allreduce, Iallreduce, &me, &all, 1, MPI_INT, cases[i].op, MPI_COMM_WORLD);
        CHECK(all == cases[i].expected, "operation %zu: %d, not %d", i, all, cases[i].expected);
    }
    unsigned char bit = (unsigned char)(1 << rank % 8), any = 0;
    CALL(Allreduce, Iallreduce, &bit, &any, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    CHECK(any == (size >= 8 ? 255 : (1 << size) - 1), "%d", any);
}

/* ---- several at once, and persistent ones -------------------------------------------------------
 */

static void test_many_at_once(int n)
{
    enum { MANY = 6 };
    MPI_Request requests[MANY];
    int *a = ints((size_t)n), *all = ints((size_t)(n * size)), *to = ints((size_t)(n * size));
    int *from = ints((size_t)(n * size)), one = rank, sum = 0, below = -1;
    if (rank == size - 1) fill(a, n, 1, 1);
    for (int i = 0; i < size; i++) fill(to + i * n, n, rank, i);
    MPI_Ibcast(a, n, MPI_INT, size - 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ialltoall(to, n, MPI_INT, from, n, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
    MPI_Iallgather(to, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD, &requests[4]);
    MPI_Iexscan(&one, &below, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]);
    MPI_Barrier(MPI_COMM_WORLD); /* passes those that are under way */
    for (int i = MANY; i-- > 0;) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    CHECK(holds(a, n, 1, 1), "count %d", n);
    CHECK(sum == size * (size - 1) / 2, "%d", sum);
    CHECK(below == (rank ? rank * (rank - 1) / 2 : -1), "%d", below);
    for (int i = 0; i < size; i++) {
        CHECK(holds(from + i * n, n, i, rank), "from %d", i);
        CHECK(holds(all + i * n, n, i, 0), "from %d", i);
    }
    free(a), free(all), free(to), free(from);
}

#if MPI_VERSION >= 4
static void test_persistent(int n)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int *a = ints((size_t)n), one = 0, sum = 0;
    MPI_Bcast_init(a, n, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(
        &one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    for (int round = 0; round < 5; round++) {
        if (rank == 0) fill(a, n, round, 3);
        one = rank + round;
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, statuses);
        CHECK(holds(a, n, round, 3), "round %d", round);
        CHECK(sum == size * (size - 1) / 2 + size * round, "round %d: %d", round, sum);
    }
    for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
    free(a);
}
#else
static void test_persistent(int n)
{
    (void)n;
}
#endif

/* ---- between two groups ------------------------------------------------------------------------
 */

static MPI_Comm between;
static int is_low, group_rank, group_size, others;

static void test_between_rooted(int n)
{
    int *a = ints((size_t)(n * size)), *b = ints((size_t)n);
    int i_am = !is_low ? 0 : group_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    if (i_am == MPI_ROOT) fill(b, n, 3, 4);
    CALL(Bcast, Ibcast, b, n, MPI_INT, i_am, between);
    if (!is_low) CHECK(holds(b, n, 3, 4), "count %d", n);
    fill(b, n, group_rank, 9);
    CALL(Gather, Igather, b, n, MPI_INT, a, n, MPI_INT, i_am, between);
    for (int i = 0; i_am == MPI_ROOT && i < others; i++)
        CHECK(holds(a + i * n, n, i, 9), "from %d", i);
    CALL(Scatter, Iscatter, a, n, MPI_INT, b, n, MPI_INT, i_am, between);
    if (!is_low) CHECK(holds(b, n, group_rank, 9), "count %d", n);
    int one = group_rank + 1, sum = -1;
    CALL(Reduce, Ireduce, &one, &sum, 1, MPI_INT, MPI_SUM, i_am, between);
    CHECK(sum == (i_am == MPI_ROOT ? others * (others + 1) / 2 : -1), "%d", sum);
    free(a), free(b);
}

static void test_between_all(int n)
{
    int *a = ints((size_t)(n * size)), *b = ints((size_t)(n * size));
    for (int i = 0; i < others; i++) fill(a + i * n, n, group_rank, i);
    CALL(Alltoall, Ialltoall, a, n, MPI_INT, b, n, MPI_INT, between);
    for (int i = 0; i < others; i++) CHECK(holds(b + i * n, n, i, group_rank), "from %d", i);
    fill(a, n, group_rank, 8);
    CALL(Allgather, Iallgather, a, n, MPI_INT, b, n, MPI_INT, between);
    for (int i = 0; i < others; i++) CHECK(holds(b + i * n, n, i, 8), "from %d", i);
    int one = group_rank + 1, sum = -1;
    CALL(Allreduce, Iallreduce, &one, &sum, 1, MPI_INT, MPI_SUM, between);
    CHECK(sum == others * (others + 1) / 2, "%d", sum);
    /* Both groups scatter a vector of the same length. */
    int each = n * others;
    int *vector = ints((size_t)(each * group_size)), *part = ints((size_t)each);
    fill(vector, each * group_size, group_rank, 0);
    CALL(
        Reduce_scatter_block, Ireduce_scatter_block, vector, part, each, MPI_INT, MPI_MAX, between);
    for (int i = 0; i < each; i++)
        CHECK(part[i] == value(others - 1, 0, each * group_rank + i), "element %d", i);
    MPI_Request request;
    MPI_Ibarrier(between, &request);
    MPI_Barrier(between);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(a), free(b), free(vector), free(part);
}

static void test_between(void)
{
    MPI_Comm half;
    is_low = rank < size / 3 + 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? size / 3 + 1 : 0, 3, &between);
    MPI_Comm_rank(between, &group_rank);
    MPI_Comm_size(between, &group_size);
    MPI_Comm_remote_size(between, &others);
    for (form = 0; form < 2; form++) {
        for (int n = 0; n < 2000; n = n * 9 + 1) {
            test_between_rooted(n);
            test_between_all(n);
        }
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void test_count(int n, int small)
{
    for (int root = 0; root<size; root += n> 2000 ? size - 1 + (size == 1) : 1) {
        test_bcast(n, root);
        test_gather(small, root, 0);
        test_gather(small, root, 1);
        test_gatherv(small / 4, root);
        test_composition(n, root, root & 1);
        test_sums(n, root);
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        test_allgather(small, in_place);
        test_allgatherv(small, in_place);
        test_alltoall(small, in_place);
        test_alltoallv(small / 2, in_place, 0);
        test_alltoallv(small / 2, in_place, 1);
        test_scattered_composition(small, in_place);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Op_create(compose_all, 0, &composing);
    for (form = 0; form < 2; form++) {
        test_operations();
        for (int i = 0; i < COUNTS; i++)
            test_count(counts[i], counts[i] > 10000 ? 10000 : counts[i]);
    }
    test_many_at_once(50);
    test_many_at_once(5000);
    test_persistent(300);
    if (size > 1) test_between();
    MPI_Op_free(&composing);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%016llx\n", (unsigned long long)bits);
    MPI_Finalize();
    return 0;
}
