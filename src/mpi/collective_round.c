/* Collective calls in one round: each process sends at once all that it ever sends in the call, so
 * nothing has to be sent while the program is elsewhere. That is how non-blocking and persistent
 * calls work, and all calls on intercommunicators. Contributions to reductions are combined in the
 * order of ranks. */
#include "collective.h"

static void expect(struct collective *x, int peer, struct elements to)
{
    to.type->o.references++;
    hark_mpi_expect(&x->k, &x->arrivals[x->count++], peer, to);
}

static void give(struct collective *x, int peer, struct elements b)
{
    hark_mpi_give(&x->k, peer, b);
}

/* Is `peer` this process itself? */
static bool self(const struct collective *x, int peer)
{
    return x->k.c->remote == NULL && peer == x->k.c->rank;
}

/* ---- blocks that are passed on as they are ----------------------------------------------------
 */

static void barrier(struct collective *x)
{
    const struct elements nothing = {NULL, 0, TYPE(MPI_BYTE)};
    for (int i = 0; i < peers_of(&x->k); i++) {
        if (self(x, i)) continue;
        give(x, i, nothing);
        expect(x, i, nothing);
    }
}

/* From the root to all: the same block, or one for each. */
static void from_root(struct collective *x, const struct blocks *out, const struct blocks *in)
{
    struct call *k = &x->k;
    if (k->root == MPI_PROC_NULL) return;
    if (!is_root(k)) {
        expect(x, k->root, hark_mpi_block(in, 0));
        return;
    }
    for (int i = 0; i < peers_of(k); i++) {
        struct elements b = hark_mpi_block(out, k->family->out_for_each ? i : 0);
        if (!self(x, i)) give(x, i, b);
        else if (!k->in_place && out != in) hark_mpi_copy(k, b, hark_mpi_block(in, 0));
    }
}

static void bcast(struct collective *x)
{
    from_root(x, &x->k.in, &x->k.in);
}

static void scatter(struct collective *x)
{
    from_root(x, &x->k.out, &x->k.in);
}

static void gather(struct collective *x)
{
    struct call *k = &x->k;
    if (k->root == MPI_PROC_NULL) return;
    if (!is_root(k)) {
        give(x, k->root, hark_mpi_block(&k->out, 0));
        return;
    }
    for (int i = 0; i < peers_of(k); i++) {
        if (!self(x, i)) expect(x, i, hark_mpi_block(&k->in, i));
        else if (!k->in_place)
            hark_mpi_copy(k, hark_mpi_block(&k->out, 0), hark_mpi_block(&k->in, i));
    }
}

static void from_each(struct collective *x)
{
    for (int from = 0; from < peers_of(&x->k); from++)
        if (!self(x, from)) expect(x, from, hark_mpi_block(&x->k.in, from));
}

/* Allgather and alltoall: to each, and from each. Receives are posted first, so that what comes
 * finds its place; in place that memory still has what is to be sent. Each process sends first to
 * the rank behind its own, so that not all send to the same process at once. */
static void all_to_all(struct collective *x)
{
    struct call *k = &x->k;
    int n = peers_of(k);
    if (!k->in_place) from_each(x);
    for (int step = 0; step < n; step++) {
        int to = (k->c->rank + step) % n;
        struct elements b = hark_mpi_block(&k->out, k->family->out_for_each ? to : 0);
        if (!self(x, to)) give(x, to, b);
        else if (!k->in_place) hark_mpi_copy(k, b, hark_mpi_block(&k->in, to));
    }
    if (k->in_place) from_each(x);
}

/* ---- reductions -------------------------------------------------------------------------------
 */

/* The block that rank i contributes: the i-th place in x->memory. */
static struct elements contribution(const struct collective *x, int i)
{
    struct elements b = {NULL, x->each, x->k.out.type};
    b.at = hark_mpi_span_at(x->memory, b.type, b.count, (size_t)i);
    return b;
}

static void remember(struct collective *x, int contributions, size_t each)
{
    x->each = each;
    x->memory = hark_mpi_span(x->k.out.type, each, (size_t)contributions);
}

/* Expects the contributions of ranks 0 .. count - 1; this process's own is there. */
static void collect(struct collective *x, int count)
{
    remember(x, count, (size_t)x->k.out.count);
    for (int i = 0; i < count; i++) {
        if (!self(x, i)) expect(x, i, contribution(x, i));
        else hark_mpi_copy(&x->k, hark_mpi_block(&x->k.out, 0), contribution(x, i));
    }
}

/* All ranks' contributions are there: elements `first` .. `first + count` of them, in rank order.
 */
static void combine_ranks(struct collective *x, int ranks, size_t first, struct elements result)
{
    struct elements sum = block_part(contribution(x, 0), first, result.count);
    for (int i = 1; i < ranks; i++) {
        struct elements next = block_part(contribution(x, i), first, result.count);
        combine(&x->k, sum, next);
        sum = next;
    }
    hark_mpi_copy(&x->k, sum, result);
}

static void combine_all(struct collective *x)
{
    combine_ranks(x, peers_of(&x->k), 0, hark_mpi_block(&x->k.in, 0));
}

static void reduce(struct collective *x)
{
    struct call *k = &x->k;
    if (k->root == MPI_PROC_NULL) return;
    if (!is_root(k)) {
        give(x, k->root, hark_mpi_block(&k->out, 0));
        return;
    }
    collect(x, peers_of(k));
    x->last = combine_all;
}

static void allreduce(struct collective *x)
{
    for (int i = 0; i < peers_of(&x->k); i++)
        if (!self(x, i)) give(x, i, hark_mpi_block(&x->k.out, 0));
    collect(x, peers_of(&x->k));
    x->last = combine_all;
}

/* Elements before block i of the result. */
static size_t elements_before(const struct blocks *in, int i)
{
    size_t before = 0;
    for (int j = 0; j < i; j++) before += (size_t)hark_mpi_block_count(in, j);
    return before;
}

/* This process's own block lies where the program's buffer begins. */
static struct elements own_block(const struct call *k)
{
    return (struct elements){(uint8_t *)(uintptr_t)k->in.data,
        (size_t)hark_mpi_block_count(&k->in, k->c->rank), k->in.type};
}

static void combine_own_block(struct collective *x)
{
    combine_ranks(x, peers_of(&x->k), 0, own_block(&x->k));
}

static void combine_own_part(struct collective *x)
{
    combine_ranks(x, peers_of(&x->k), elements_before(&x->k.in, x->k.c->rank), own_block(&x->k));
}

/* Another group has blocks of its own lengths, which this one does not know: it gets everything. */
static void reduce_scatter_between(struct collective *x)
{
    for (int i = 0; i < peers_of(&x->k); i++) give(x, i, hark_mpi_block(&x->k.out, 0));
    collect(x, peers_of(&x->k));
    x->last = combine_own_part;
}

static void reduce_scatter(struct collective *x)
{
    struct call *k = &x->k;
    if (k->c->remote) {
        reduce_scatter_between(x);
        return;
    }
    struct elements all = hark_mpi_block(&k->out, 0), mine = own_block(k);
    size_t first = 0;
    remember(x, k->c->size, mine.count);
    for (int i = 0; i < k->c->size; i++) {
        size_t count = (size_t)hark_mpi_block_count(&k->in, i);
        if (i != k->c->rank) give(x, i, block_part(all, first, count));
        else hark_mpi_copy(k, block_part(all, first, count), contribution(x, i));
        if (i != k->c->rank) expect(x, i, contribution(x, i));
        first += count;
    }
    x->last = combine_own_block;
}

static void combine_to_own_rank(struct collective *x)
{
    combine_ranks(x, x->k.c->rank + 1, 0, hark_mpi_block(&x->k.in, 0));
}

static void combine_below_own_rank(struct collective *x)
{
    combine_ranks(x, x->k.c->rank, 0, hark_mpi_block(&x->k.in, 0));
}

static void give_to_higher_ranks(struct collective *x)
{
    for (int i = x->k.c->rank + 1; i < x->k.c->size; i++) give(x, i, hark_mpi_block(&x->k.out, 0));
}

static void scan(struct collective *x)
{
    give_to_higher_ranks(x);
    collect(x, x->k.c->rank + 1);
    x->last = combine_to_own_rank;
}

/* The result of rank 0 is not defined: its buffer stays as it is. */
static void exscan(struct collective *x)
{
    give_to_higher_ranks(x);
    if (x->k.c->rank == 0) return;
    collect(x, x->k.c->rank);
    x->last = combine_below_own_rank;
}

/* ---- neighbourhoods ---------------------------------------------------------------------------
 */

/* Two processes may be neighbours several times: their messages are told apart by their order. In a
 * Cartesian grid what one sends down in a dimension the other receives from above, so each pair of
 * directions is received in the reverse order. */
static void to_neighbours(struct collective *x)
{
    struct call *k = &x->k;
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(HANDLE(MPI_Comm, k->c), &kind);
    for (int i = 0; i < k->destinations_count; i++)
        if (k->destinations[i] != MPI_PROC_NULL)
            give(x, k->destinations[i], hark_mpi_block(&k->out, k->family->out_for_each ? i : 0));
    for (int i = 0; i < k->sources_count; i++) {
        int j = kind == MPI_CART ? i ^ 1 : i;
        if (k->sources[j] != MPI_PROC_NULL) expect(x, k->sources[j], hark_mpi_block(&k->in, j));
    }
}

/* ---- families ---------------------------------------------------------------------------------
 */

#define FAMILY(name, function, ...)                                                                \
    const struct family hark_mpi_##name = {.start = function, __VA_ARGS__};

FAMILY(barrier, barrier, .block = hark_mpi_choose_barrier, .out = NOBODY, .in = NOBODY)
FAMILY(bcast, bcast, .block = hark_mpi_bcast_by_tree, .in = EVERYBODY, .rooted = true)
FAMILY(gather, gather, .out = LEAVES, .in = ROOT, .rooted = true, .in_place = PLACE_OUT,
    .in_for_each = true)
FAMILY(scatter, scatter, .out = ROOT, .in = LEAVES, .rooted = true, .in_place = PLACE_IN,
    .out_for_each = true)
FAMILY(allgather, all_to_all, .block = hark_mpi_choose_allgather, .out = EVERYBODY, .in = EVERYBODY,
    .in_place = PLACE_OUT, .in_for_each = true)
FAMILY(alltoall, all_to_all, .block = hark_mpi_choose_alltoall, .out = EVERYBODY, .in = EVERYBODY,
    .in_place = PLACE_OUT, .out_for_each = true, .in_for_each = true)
FAMILY(reduce, reduce, .block = hark_mpi_reduce_by_tree, .out = LEAVES, .in = ROOT, .rooted = true,
    .reduces = true, .in_place = PLACE_OUT)
FAMILY(allreduce, allreduce, .block = hark_mpi_choose_allreduce, .out = EVERYBODY, .in = EVERYBODY,
    .reduces = true, .in_place = PLACE_OUT)
FAMILY(reduce_scatter, reduce_scatter, .block = hark_mpi_choose_reduce_scatter, .out = EVERYBODY,
    .in = EVERYBODY, .reduces = true, .in_place = PLACE_OUT, .in_for_each = true)
FAMILY(scan, scan, .block = hark_mpi_scan_by_chain, .out = EVERYBODY, .in = EVERYBODY,
    .reduces = true, .in_place = PLACE_OUT)
FAMILY(exscan, exscan, .block = hark_mpi_scan_by_chain, .out = EVERYBODY, .in = EVERYBODY,
    .reduces = true, .in_place = PLACE_OUT)
FAMILY(neighbor_allgather, to_neighbours, .out = EVERYBODY, .in = EVERYBODY, .in_for_each = true,
    .neighbours = true)
FAMILY(neighbor_alltoall, to_neighbours, .out = EVERYBODY, .in = EVERYBODY, .out_for_each = true,
    .in_for_each = true, .neighbours = true)
