/* recovery/orphans.h: the orphans that the recovery process knows, in one queue per channel, which
 * is emptied at its front. So the time for a notification does not depend on the number of orphans.
 * A part of recovery.h. */
#ifndef HARK_RECOVERY_ORPHANS_H
#define HARK_RECOVERY_ORPHANS_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

static inline struct hark_orphans *hark_orphans_at(struct hark_recovery *s, uint32_t i)
{
    return (struct hark_orphans *)hark_row(&s->head, &s->orphans, i);
}

/* Returns the first run of orphans of the i-th channel. */
static inline struct hark_orphan *hark_orphans_first(struct hark_recovery *s, uint32_t i)
{
    return (struct hark_orphan *)(void *)hark_queue_first(
        &s->head, &s->pool, &hark_orphans_at(s, i)->runs);
}

/* True if the channel of row `x` is before (src, dst, ctx). */
static inline bool hark_orphans_before(
    const struct hark_orphans *x, uint32_t src, uint32_t dst, uint16_t ctx)
{
    if (x->src != src) return x->src < src;
    return x->dst != dst ? x->dst < dst : x->ctx < ctx;
}

/* Returns the index of the first channel that is not before (src, dst, ctx). */
static inline uint32_t hark_orphans_search(
    struct hark_recovery *s, uint32_t src, uint32_t dst, uint16_t ctx)
{
    uint32_t low = 0, high = s->orphans.count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (hark_orphans_before(hark_orphans_at(s, mid), src, dst, ctx)) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* True if row i is the channel (src, dst, ctx). */
static inline bool hark_orphans_are(
    struct hark_recovery *s, uint32_t i, uint32_t src, uint32_t dst, uint16_t ctx)
{
    const struct hark_orphans *x = i < s->orphans.count ? hark_orphans_at(s, i) : NULL;
    return x && x->src == src && x->dst == dst && x->ctx == ctx;
}

/* Makes room for `runs` more runs, each on a channel of its own. */
static inline int hark_recovery_room(struct hark_recovery *s, uint32_t runs)
{
    struct hark *p = &s->head;
    int status = hark_reserve(p, &hark_recovery_shape, &s->orphans, runs);
    if (status >= 0) status = hark_pool_reserve(p, &hark_recovery_shape, &s->pool, runs + 2);
    if (status < 0 || s->phases.ready) return status;
    return hark_reserve(p, &hark_recovery_shape, &s->phases.rows, s->runs + runs);
}

static inline void hark_recovery_forget(struct hark_recovery *s)
{
    for (uint32_t i = 0; i < s->orphans.count; i++)
        hark_queue_clear(&s->head, &s->pool, &hark_orphans_at(s, i)->runs);
    hark_empty(&s->head, &s->orphans);
    hark_phases_clear(&s->head, &s->phases);
    s->runs = 0;
}

static inline void hark_orphans_push(
    struct hark_recovery *s, struct hark_queue *runs, const struct hark_orphan *o)
{
    *(struct hark_orphan *)(void *)hark_queue_push(&s->head, &s->pool, runs) = *o;
}

/* Inserts a run whose fragment a later one has overtaken, where it belongs in the order: all runs
 * pass through the queue once. */
HARK_COLD void hark_orphans_insert(
    struct hark_recovery *s, struct hark_queue *runs, const struct hark_orphan *o)
{
    bool in = false;
    for (uint32_t left = runs->count; left > 0; left--) {
        struct hark_orphan x =
            *(struct hark_orphan *)(void *)hark_queue_first(&s->head, &s->pool, runs);
        hark_queue_pop(&s->head, &s->pool, runs);
        if (!in && x.first >= o->first) {
            hark_orphans_push(s, runs, o);
            in = true;
        }
        hark_orphans_push(s, runs, &x);
    }
}

/* Adds a run to a channel; the order of runs does not depend on the order of arrival. */
static inline void hark_recovery_add(
    struct hark_recovery *s, uint32_t src, uint32_t dst, uint16_t ctx, const struct hark_orphan *o)
{
    uint32_t i = hark_orphans_search(s, src, dst, ctx);
    if (!hark_orphans_are(s, i, src, dst, ctx)) {
        struct hark_orphans *x = (struct hark_orphans *)hark_insert(&s->head, &s->orphans, i);
        x->src = src;
        x->dst = dst;
        x->ctx = ctx;
        x->runs.width = HARK_ORPHAN_WORDS;
    }
    struct hark_queue *runs = &hark_orphans_at(s, i)->runs;
    const struct hark_orphan *last =
        (const struct hark_orphan *)(void *)hark_queue_last(&s->head, &s->pool, runs);
    s->runs++;
    if (last == NULL || last->first < o->first) hark_orphans_push(s, runs, o);
    else hark_orphans_insert(s, runs, o);
}

/* Computes the phases of all runs, if they are not known yet. Room has been reserved. */
static inline void hark_recovery_phases(struct hark_recovery *s)
{
    if (s->phases.ready) return;
    for (uint32_t i = 0; i < s->orphans.count; i++) {
        const struct hark_queue *runs = &hark_orphans_at(s, i)->runs;
        struct hark_place at = hark_queue_begin(runs);
        for (const uint64_t *row; (row = hark_queue_next(&s->head, &s->pool, runs, &at)) != NULL;)
            hark_phases_add(
                &s->head, &s->phases, ((const struct hark_orphan *)(const void *)row)->phase);
    }
    hark_phases_sort(&s->head, &s->phases);
}

/* Removes the channel's orphans up to `upto`, which have been sent again. */
static inline void hark_recovery_take(
    struct hark_recovery *s, uint32_t src, uint32_t dst, uint16_t ctx, uint64_t upto)
{
    uint32_t i = hark_orphans_search(s, src, dst, ctx);
    if (!hark_orphans_are(s, i, src, dst, ctx)) return;
    struct hark_queue *runs = &hark_orphans_at(s, i)->runs;
    while (runs->count && hark_orphans_first(s, i)->last <= upto) {
        hark_phases_take(&s->head, &s->phases, hark_orphans_first(s, i)->phase);
        hark_queue_pop(&s->head, &s->pool, runs);
        s->runs--;
    }
    if (runs->count == 0) {
        hark_remove(&s->head, &s->orphans, i);
        return;
    }
    struct hark_orphan *o = hark_orphans_first(s, i);
    if (o->first > upto) return;
    o->number += upto + 1 - o->first;
    o->first = upto + 1;
}

/* True if in an unpacked state every channel occurs once and has runs. Counts `runs`, which is not
 * packed. */
static inline bool hark_recovery_orphans_ok(struct hark_recovery *s)
{
    s->runs = 0;
    for (uint32_t i = 0; i < s->orphans.count; i++) {
        const struct hark_orphans *x = hark_orphans_at(s, i);
        if (x->runs.width != HARK_ORPHAN_WORDS || x->runs.count == 0) return false;
        if (i && !hark_orphans_before(hark_orphans_at(s, i - 1), x->src, x->dst, x->ctx))
            return false;
        s->runs += x->runs.count;
    }
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
