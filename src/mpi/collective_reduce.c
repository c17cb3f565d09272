/* Reductions whose results many processes get. All combine neighbouring ranks in their order, so
 * they suit operations that do not commute, and two processes that compute the same sum have the
 * same bits. */
#include "collective.h"

/* ---- a power of two of processes --------------------------------------------------------------
 * Beyond it, the first ranks go in pairs: the odd one has the sum of both, and gives the even one
 * the result. */

struct pairs {
    int power, rest; /* size is power + rest, and there are `rest` pairs */
    int me;          /* among `power`; negative: its partner stands for it */
};

static struct pairs pairs_of(const struct comm *c)
{
    struct pairs p = {.power = 1};
    while (p.power * 2 <= c->size) p.power *= 2;
    p.rest = c->size - p.power;
    if (c->rank >= 2 * p.rest) p.me = c->rank - p.rest;
    else p.me = c->rank & 1 ? c->rank / 2 : -1;
    return p;
}

static int rank_of(const struct pairs *p, int who)
{
    return who < p->rest ? 2 * who + 1 : who + p->rest;
}

/* ---- allreduce --------------------------------------------------------------------------------
 */

/* Recursive doubling. */
static void double_sums(struct call *k, struct sum *s, const struct pairs *p)
{
    for (int bit = 1; bit < p->power; bit <<= 1) {
        int peer = rank_of(p, p->me ^ bit);
        hark_mpi_give(k, peer, s->now);
        hark_mpi_sum_take(k, s, peer, peer < k->c->rank);
    }
}

void hark_mpi_allreduce_by_doubling(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0), result = hark_mpi_block(&k->in, 0);
    struct pairs p = pairs_of(k->c);
    int me = k->c->rank;
    if (p.me < 0) {
        hark_mpi_give(k, me + 1, own);
        hark_mpi_take(k, me + 1, result);
        return;
    }
    uint8_t *memory = hark_mpi_span(own.type, own.count, 1);
    uint8_t *spare = hark_mpi_span_at(memory, own.type, own.count, 0);
    struct sum s;
    hark_mpi_sum_begin(&s, own, k->in_place, result.at, spare);
    if (me < 2 * p.rest) hark_mpi_sum_take(k, &s, me - 1, true);
    double_sums(k, &s, &p);
    if (s.now.at != result.at) hark_mpi_copy(k, s.now, result);
    if (me < 2 * p.rest) hark_mpi_give(k, me - 1, result);
    hark_mpi_scratch_free(memory);
}

/* A reduction to rank 0, then a broadcast: the fewest messages, and segments that stay in the
 * caches. */
void hark_mpi_allreduce_by_tree(struct call *k)
{
    struct elements result = hark_mpi_block(&k->in, 0);
    hark_mpi_reduce_to(k, hark_mpi_block(&k->out, 0), result, 0);
    hark_mpi_bcast_from(k, result, 0);
}

/* ---- allreduce as a reduce-scatter and an allgather -------------------------------------------
 */

static struct elements part_of(const struct call *k, struct elements all, int i)
{
    const size_t n = (size_t)k->c->size, each = (all.count + n - 1) / n;
    const size_t first = least(all.count, (size_t)i * each);
    return block_part(all, first, least(all.count - first, each));
}

/* Sends each process its part of `out`, or all of it (`same`), and receives from each process a
 * part, into the place in `in` that `place` returns. */
static void exchange(struct call *k, struct arrival *arrivals, struct elements out, bool same,
    struct elements (*place)(const struct call *k, struct elements in, int i), struct elements in)
{
    const int n = k->c->size, me = k->c->rank;
    for (int i = 0; i < n; i++)
        if (i != me) hark_mpi_expect(k, &arrivals[i], i, place(k, in, i));
    for (int step = 1; step < n; step++) {
        const int to = (me + step) % n;
        hark_mpi_give(k, to, same ? out : part_of(k, out, to));
    }
    for (int i = 0; i < n; i++) {
        if (i == me) continue;
        hark_app_complete(&arrivals[i].r, k->name + 1);
        hark_mpi_arrived(k, &arrivals[i]);
    }
}

/* The contribution of rank i, in memory that has room for one of each rank. */
static struct elements contribution(const struct call *k, struct elements all, int i)
{
    (void)k;
    return (struct elements){
        hark_mpi_span_at(all.at, all.type, all.count, (size_t)i), all.count, all.type};
}

/* Each process combines one part of all contributions, by rank, and gives it to all: the work is
 * shared, and no message is longer than a part. */
void hark_mpi_allreduce_by_parts(struct call *k)
{
    const int n = k->c->size, me = k->c->rank;
    struct elements own = hark_mpi_block(&k->out, 0), result = hark_mpi_block(&k->in, 0);
    struct elements mine = part_of(k, own, me), all = mine;
    struct arrival *arrivals = hark_mpi_scratch((size_t)n * sizeof *arrivals);
    memset(arrivals, 0, (size_t)n * sizeof *arrivals);
    all.at = hark_mpi_span(own.type, mine.count, (size_t)n);
    hark_mpi_copy(k, mine, contribution(k, all, me));
    exchange(k, arrivals, own, false, contribution, all);
    for (int i = 1; i < n; i++) combine(k, contribution(k, all, i - 1), contribution(k, all, i));
    struct elements sum = contribution(k, all, n - 1);
    hark_mpi_copy(k, sum, part_of(k, result, me));
    memset(arrivals, 0, (size_t)n * sizeof *arrivals);
    exchange(k, arrivals, sum, true, part_of, result);
    hark_mpi_scratch_free(all.at);
    hark_mpi_scratch_free(arrivals);
}

/* ---- reduce_scatter ---------------------------------------------------------------------------
 */

/* Reduces to rank 0, which sends each process its block. */
void hark_mpi_reduce_scatter_by_tree(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0), all = own;
    int me = k->c->rank;
    uint8_t *memory = me == 0 ? hark_mpi_span(own.type, own.count, 1) : NULL;
    all.at = me == 0 ? hark_mpi_span_at(memory, own.type, own.count, 0) : NULL;
    hark_mpi_reduce_to(k, own, all, 0);
    struct elements mine = {
        (uint8_t *)(uintptr_t)k->in.data, (size_t)hark_mpi_block_count(&k->in, me), own.type};
    size_t first = 0;
    for (int i = 0; i < k->c->size && me == 0; i++) {
        struct elements part = block_part(all, first, (size_t)hark_mpi_block_count(&k->in, i));
        if (i == 0) hark_mpi_copy(k, part, mine);
        else hark_mpi_give(k, i, part);
        first += part.count;
    }
    if (me != 0) hark_mpi_take(k, 0, mine);
    hark_mpi_scratch_free(memory);
}

/* ---- scan and exscan --------------------------------------------------------------------------
 */

/* Scans one segment: each rank receives the sum of all lower ranks, which is the result of an
 * exscan, and sends the next rank the sum that includes its own. */
static void scan_segment(
    struct call *k, struct elements own, struct elements result, struct elements sum)
{
    int me = k->c->rank;
    hark_mpi_copy(k, own, sum);
    if (me > 0) {
        hark_mpi_take(k, me - 1, result);
        combine(k, result, sum);
    }
    if (me + 1 < k->c->size) hark_mpi_give(k, me + 1, sum);
    if (k->family == &hark_mpi_scan) hark_mpi_copy(k, sum, result);
}

void hark_mpi_scan_by_chain(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0), result = hark_mpi_block(&k->in, 0);
    size_t most = segment_elements(own);
    uint8_t *memory = hark_mpi_span(own.type, most, 1);
    uint8_t *sum = hark_mpi_span_at(memory, own.type, most, 0);
    for (size_t at = 0; at < own.count; at += most) {
        size_t count = own.count - at < most ? own.count - at : most;
        scan_segment(k, block_part(own, at, count), block_part(result, at, count),
            (struct elements){sum, count, own.type});
    }
    hark_mpi_scratch_free(memory);
}
