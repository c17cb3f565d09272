/* recovery/line.h: computes the recovery line of processes that checkpoint alone: the processes
 * that must roll back, and for each of them the image.
 *
 * A. Guermouche, T. Ropars, E. Brunet, M. Snir, F. Cappello: Uncoordinated Checkpointing Without
 * Domino Effect for Send-Deterministic MPI Applications. IPDPS 2011. The input is facts of all
 * processes, the result is the least rollback:
 *
 *   RL[f] = the epoch of f's image, for all processes that have rolled back already (N-7); infinite
 *   for the others; then, until nothing changes, for each message i -> j of epoch e:
 *   if it is not logged and was received in an epoch >= RL[j], i rolls back to the image that began
 *   e;
 *   if it is not acknowledged, e >= RL[j] and j's image lacks it, i rolls back likewise (N-1).
 *
 * An unlogged message was received in no later epoch than it was sent in. So no step leads below
 * the lowest RL[f]: there is no domino effect.
 */
#ifndef HARK_RECOVERY_LINE_H
#define HARK_RECOVERY_LINE_H

#include "../parts/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {                /* facts about process `src`, as in rows of a REPORT, where 0 is an orphan */
    HARK_L_EPOCH = 1, /* epoch: the present one; value: the epoch of the oldest image that it may
                         need */
    HARK_L_IMAGE,     /* epoch: the one that an image began; value: the image's id */
    HARK_L_RECV,      /* epoch: of an image; value: the last message from `peer` on `ctx` in it */
    HARK_L_SPE, /* epoch: of unlogged sends to `peer`; value: the latest epoch in which one of them
                   was received */
    HARK_L_NONACK /* epoch: of unacknowledged sends to `peer` on `ctx`; value: the ssn of the last
                     of them */
};

struct hark_line_row { /* a row of `facts` */
    uint32_t src, peer;
    uint16_t what, ctx;
    uint32_t pad;
    uint64_t epoch, value;
};

struct hark_back { /* a row of `line`: a process that has reported its epoch */
    uint32_t rank;
    /* 1: it must roll back, and the failure service must get it; 2: the service has got it */
    uint32_t goes;
    uint64_t epoch; /* the epoch that it is in */
    uint64_t oldest;
    uint64_t rl; /* RL; infinite: it does not roll back */
    uint64_t id; /* of the image to which it rolls back */
};

struct hark_line {
    struct hark_table facts;
    struct hark_table line;
    uint32_t low; /* 1: RL fell below all failed epochs: a domino effect, which is impossible */
    uint32_t pad;
    uint64_t min; /* the minimum of `oldest` over all processes, as last sent (MIN) */
};

static const struct hark_field hark_line_row_fields[] = {HARK_FIELD(struct hark_line_row, src, "i"),
    HARK_FIELD(struct hark_line_row, peer, "j"), HARK_FIELD(struct hark_line_row, what, ""),
    HARK_FIELD(struct hark_line_row, ctx, "ctx"), HARK_FIELD(struct hark_line_row, epoch, "e"),
    HARK_FIELD(struct hark_line_row, value, "")};
static const struct hark_field hark_back_fields[] = {HARK_FIELD(struct hark_back, rank, "i"),
    HARK_FIELD(struct hark_back, goes, ""), HARK_FIELD(struct hark_back, epoch, "Epoch"),
    HARK_FIELD(struct hark_back, oldest, ""), HARK_FIELD(struct hark_back, rl, "RL"),
    HARK_FIELD(struct hark_back, id, "ckptNo")};

#define HARK_LINE_FIELDS(type) HARK_FIELD(type, line.low, ""), HARK_FIELD(type, line.min, "E")
#define HARK_LINE_TABLES(type)                                                                     \
    {"facts", "SPE", (uint16_t)offsetof(type, line.facts), sizeof(struct hark_line_row), 6,        \
        hark_line_row_fields},                                                                     \
    {                                                                                              \
        "line", "RL", (uint16_t)offsetof(type, line.line), sizeof(struct hark_back), 6,            \
            hark_back_fields                                                                       \
    }

#if HARK_BODIES

static inline const struct hark_line_row *hark_line_row_at(
    const struct hark *p, const struct hark_line *l, uint32_t i)
{
    return (const struct hark_line_row *)hark_row_of(p, &l->facts, i);
}

static inline bool hark_line_row_before(
    const struct hark_line_row *a, const struct hark_line_row *b)
{
    if (a->src != b->src) return a->src < b->src;
    if (a->what != b->what) return a->what < b->what;
    if (a->peer != b->peer) return a->peer < b->peer;
    if (a->ctx != b->ctx) return a->ctx < b->ctx;
    return a->epoch != b->epoch ? a->epoch < b->epoch : a->value < b->value;
}

/* Returns the row of a process; NULL: it has not reported its epoch. */
static inline struct hark_back *hark_back_of(struct hark *p, struct hark_line *l, uint32_t rank)
{
    uint32_t low = 0, high = l->line.count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        struct hark_back *x = (struct hark_back *)hark_row(p, &l->line, mid);
        if (x->rank == rank) return x;
        if (x->rank < rank) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

/* Stores a process's epoch, and the epoch of the oldest image it may need. A row has been
 * reserved. */
static inline void hark_line_epoch(
    struct hark *p, struct hark_line *l, uint32_t rank, uint64_t epoch, uint64_t oldest)
{
    struct hark_back *x = hark_back_of(p, l, rank);
    uint32_t i = 0;
    if (x == NULL) {
        while (i < l->line.count && ((struct hark_back *)hark_row(p, &l->line, i))->rank < rank)
            i++;
        x = (struct hark_back *)hark_insert(p, &l->line, i);
        x->rank = rank;
        x->rl = HARK_INFINITY;
    }
    x->epoch = epoch;
    x->oldest = oldest;
}

/* Adds a fact; rows have the same order whatever the order of arrival. A row of each table has been
 * reserved. */
static inline void hark_line_add(struct hark *p, struct hark_line *l, const struct hark_line_row *f)
{
    uint32_t i = l->facts.count;
    if (f->what == HARK_L_EPOCH) {
        hark_line_epoch(p, l, f->src, f->epoch, f->value);
        return;
    }
    while (i > 0 && hark_line_row_before(f, hark_line_row_at(p, l, i - 1))) i--;
    *(struct hark_line_row *)hark_insert(p, &l->facts, i) = *f;
}

/* Returns E: no line will ever need an image of an earlier epoch. 0: some process has not reported
 * its epoch. */
static inline uint64_t hark_line_oldest(struct hark *p, struct hark_line *l, uint32_t ranks)
{
    uint64_t oldest = l->line.count == ranks ? HARK_INFINITY : 0;
    for (uint32_t i = 0; i < l->line.count; i++) {
        const struct hark_back *x = (const struct hark_back *)hark_row_of(p, &l->line, i);
        if (x->oldest < oldest) oldest = x->oldest;
    }
    return oldest;
}

/* Returns the last message from `peer` on `ctx` that the image of process `rank` of `epoch` has
 * received. */
static inline uint64_t hark_line_received(const struct hark *p, const struct hark_line *l,
    uint32_t rank, uint64_t epoch, uint32_t peer, uint16_t ctx)
{
    for (uint32_t i = 0; i < l->facts.count; i++) {
        const struct hark_line_row *f = hark_line_row_at(p, l, i);
        if (f->src == rank && f->what == HARK_L_RECV && f->peer == peer && f->ctx == ctx &&
            f->epoch == epoch)
            return f->value;
    }
    return 0;
}

/* Applies one fact: true if its process must roll back further. */
static inline bool hark_line_step(
    struct hark *p, struct hark_line *l, const struct hark_line_row *f)
{
    struct hark_back *i = hark_back_of(p, l, f->src), *j = hark_back_of(p, l, f->peer);
    if (i == NULL || j == NULL || j->rl == HARK_INFINITY || f->epoch >= i->rl) return false;
    if (f->what == HARK_L_SPE) {
        if (f->value < j->rl) return false;
    } else if (f->what == HARK_L_NONACK) { /* N-1 */
        if (f->epoch < j->rl ||
            f->value <= hark_line_received(p, l, j->rank, j->rl, i->rank, f->ctx))
            return false;
    } else {
        return false;
    }
    i->rl = f->epoch;
    return true;
}

/* Returns the id of the image that began `epoch`, or if none was reported for it, of the newest
 * image before it; 0: the initial state. */
static inline uint64_t hark_line_image(
    const struct hark *p, const struct hark_line *l, uint32_t rank, uint64_t epoch)
{
    uint64_t id = 0;
    for (uint32_t i = 0; i < l->facts.count; i++) { /* in the order of epochs */
        const struct hark_line_row *f = hark_line_row_at(p, l, i);
        if (f->src == rank && f->what == HARK_L_IMAGE && f->epoch <= epoch) id = f->value;
    }
    return id;
}

/* Computes the fixed point of all facts. True if processes outside D (`down`) must roll back, or
 * processes of D must roll back further. */
HARK_COLD bool hark_line_solve(struct hark *p, struct hark_line *l, const struct hark_table *down)
{
    uint64_t lowest = HARK_INFINITY;
    bool moved = true, others = false;
    for (uint32_t i = 0; i < l->line.count; i++) { /* all of D, not only the processes that failed
                                                      now (N-7) */
        struct hark_back *x = (struct hark_back *)hark_row(p, &l->line, i);
        x->rl = hark_ranges_hold(p, down, x->rank) ? x->epoch : HARK_INFINITY;
        if (x->rl < lowest) lowest = x->rl;
    }
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < l->facts.count; i++)
            moved |= hark_line_step(p, l, hark_line_row_at(p, l, i));
    }
    for (uint32_t i = 0; i < l->line.count; i++) {
        struct hark_back *x = (struct hark_back *)hark_row(p, &l->line, i);
        bool mine = hark_ranges_hold(p, down, x->rank);
        if (x->rl < lowest) l->low = 1;
        x->goes = x->rl != HARK_INFINITY && !(mine && x->rl == x->epoch);
        x->id = x->goes ? hark_line_image(p, l, x->rank, x->rl) : 0;
        others |= x->goes != 0;
    }
    return others;
}

/* Returns the next process that must roll back and that the failure service has not got; NULL: none
 * is left. *more: there are others after it. */
static inline struct hark_back *hark_line_next(struct hark *p, struct hark_line *l, bool *more)
{
    struct hark_back *next = NULL;
    *more = false;
    for (uint32_t i = 0; i < l->line.count; i++) {
        struct hark_back *x = (struct hark_back *)hark_row(p, &l->line, i);
        if (x->goes != 1) continue;
        if (next) *more = true;
        else next = x;
    }
    return next;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
