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

typedef void among_power(
    struct call *k, struct sum *s, const struct pairs *p, struct elements result);

static void allreduce_with(struct call *k, among_power *reduce)
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
    struct sum s;
    hark_mpi_sum_begin(
        &s, own, k->in_place, result.at, hark_mpi_span_at(memory, own.type, own.count, 0));
    if (me < 2 * p.rest) hark_mpi_sum_take(k, &s, me - 1, true, 0, own.count);
    reduce(k, &s, &p, result);
    if (s.now.at != result.at) hark_mpi_copy(k, s.now, result);
    if (me < 2 * p.rest) hark_mpi_give(k, me - 1, result);
    free(memory);
}

/* Recursive doubling. */
static void double_sums(
    struct call *k, struct sum *s, const struct pairs *p, struct elements result)
{
    (void)result;
    for (int bit = 1; bit < p->power; bit <<= 1) {
        int peer = rank_of(p, p->me ^ bit);
        hark_mpi_give(k, peer, s->now);
        hark_mpi_sum_take(k, s, peer, peer < k->c->rank, 0, s->now.count);
    }
}

void hark_mpi_allreduce_by_doubling(struct call *k)
{
    allreduce_with(k, double_sums);
}

struct range {
    size_t first, end;
};

static struct range half_of(struct range r, bool upper)
{
    size_t middle = r.first + (r.end - r.first) / 2;
    return upper ? (struct range){middle, r.end} : (struct range){r.first, middle};
}

static void give_range(struct call *k, int peer, struct elements all, struct range r)
{
    hark_mpi_give(k, peer, block_part(all, r.first, r.end - r.first));
}

/* Rabenseifner: neighbours halve the vector between them, then those two apart ..., until each has
 * the sum of its part; then the same way back. */
static void halve_sums(struct call *k, struct sum *s, const struct pairs *p, struct elements result)
{
    struct range at[32] = {{0, s->now.count}};
    int level = 0;
    for (int bit = 1; bit < p->power; bit <<= 1, level++) {
        int peer = rank_of(p, p->me ^ bit);
        bool upper = p->me & bit;
        struct range mine = half_of(at[level], upper);
        give_range(k, peer, s->now, half_of(at[level], !upper));
        hark_mpi_sum_take(k, s, peer, peer < k->c->rank, mine.first, mine.end - mine.first);
        at[level + 1] = mine;
    }
    struct range mine = at[level];
    if (s->now.at != result.at)
        hark_mpi_copy(k, block_part(s->now, mine.first, mine.end - mine.first),
            block_part(result, mine.first, mine.end - mine.first));
    s->now = result;
    for (int bit = p->power >> 1; bit > 0; bit >>= 1) {
        int peer = rank_of(p, p->me ^ bit);
        struct range theirs = half_of(at[--level], !(p->me & bit));
        give_range(k, peer, result, at[level + 1]);
        hark_mpi_take(k, peer, block_part(result, theirs.first, theirs.end - theirs.first));
    }
}

void hark_mpi_allreduce_by_halving(struct call *k)
{
    allreduce_with(k, halve_sums);
}

/* ---- reduce_scatter ---------------------------------------------------------------------------
 */

/* To rank 0, which gives each its block. */
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
    free(memory);
}

/* ---- scan and exscan --------------------------------------------------------------------------
 */

/* From each rank to the next: what is below it, which an exscan has for its result. */
void hark_mpi_scan_by_chain(struct call *k)
{
    struct elements own = hark_mpi_block(&k->out, 0), result = hark_mpi_block(&k->in, 0);
    bool exclusive = k->family == &hark_mpi_exscan;
    int me = k->c->rank, n = k->c->size;
    uint8_t *memory = hark_mpi_span(own.type, own.count, 1);
    struct elements sum = {hark_mpi_span_at(memory, own.type, own.count, 0), own.count, own.type};
    hark_mpi_copy(k, own, sum);
    if (me > 0) {
        hark_mpi_take(k, me - 1, result);
        combine(k, result, sum);
    }
    if (me + 1 < n) hark_mpi_give(k, me + 1, sum);
    if (!exclusive) hark_mpi_copy(k, sum, result);
    free(memory);
}
