/* recovery/frontier.h: the frontier, which RELEASE carries with the exact gate: for each process
 * its first orphan that it has not sent again yet. A part of recovery.h. */
#ifndef HARK_RECOVERY_FRONTIER_H
#define HARK_RECOVERY_FRONTIER_H

#include "orphans.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Computes the frontier of all processes. Room has been reserved with the orphans. */
static inline void hark_recovery_frontier(struct hark_recovery *s)
{
    hark_empty(&s->head, &s->frontier);
    for (uint32_t i = 0; i < s->orphans.count; i++) {
        uint32_t src = hark_orphans_at(s, i)->src;
        uint64_t number = hark_orphans_first(s, i)->number;
        uint32_t k = s->frontier.count;
        struct hark_entry *x = k ? hark_entry_at(&s->head, &s->frontier, k - 1) : NULL;
        if (x && x->rank == src) {
            if (number < x->number) x->number = number;
            continue;
        }
        x = (struct hark_entry *)hark_insert(&s->head, &s->frontier, k);
        x->rank = src;
        x->number = number;
    }
}

/* Computes the frontier of one process, which has sent some of its orphans again. True if it has
 * moved. */
static inline bool hark_recovery_frontier_of(struct hark_recovery *s, uint32_t rank)
{
    uint64_t number = HARK_INFINITY;
    uint32_t i = hark_orphans_search(s, rank, 0, 0);
    for (; i < s->orphans.count && hark_orphans_at(s, i)->src == rank; i++)
        if (hark_orphans_first(s, i)->number < number) number = hark_orphans_first(s, i)->number;
    uint32_t k = hark_entry_search(&s->head, &s->frontier, rank);
    if (k == s->frontier.count) return false;
    struct hark_entry *x = hark_entry_at(&s->head, &s->frontier, k);
    bool moved = x->rank == rank && x->number != number;
    if (moved) x->number = number;
    return moved;
}

/* Returns the number of frontier rows in the next fragment of a RELEASE; *from: the first of them,
 * *control: the fragment's control word, 0 if it is not the last fragment. */
static inline uint32_t hark_recovery_part(
    struct hark_recovery *s, uint32_t *from, uint32_t *control)
{
    const uint32_t most = (HARK_FRAGMENT - HARK_WIRE_HEAD - 16) / 16;
    *from = s->listing;
    *control = 1 << 16; /* a change is complete in itself, so its order with the list does not
                           matter */
    if (s->change) *from = hark_entry_search(&s->head, &s->frontier, s->change - 1);
    if (s->change) return 1;
    uint32_t left = s->frontier.count - s->listing;
    *control = left > most ? 0 : (s->listing / most + 1) << 16 | 1;
    return left > most ? most : left;
}

/* Writes the content of a RELEASE to one process: the released phase (u64), and with the exact gate
 * a fragment of the frontier. True if it was the last fragment for this process. */
static inline bool hark_recovery_release(
    struct hark_recovery *s, uint8_t *b, struct hark_effects *fx)
{
    uint32_t from = 0, control = 0, rows = s->exact ? hark_recovery_part(s, &from, &control) : 0;
    hark_put64(b, s->released_phase);
    if (!s->exact) return true;
    hark_put32(b + 8, control);
    hark_put32(b + 12, 0);
    for (uint32_t i = 0; i < rows; i++) {
        const struct hark_entry *x = hark_entry_at(&s->head, &s->frontier, from + i);
        hark_put32(b + 16 + 16 * i, x->rank);
        hark_put32(b + 20 + 16 * i, 0);
        hark_put64(b + 24 + 16 * i, x->number);
    }
    fx->used += 8 + 16 * rows;
    fx->at[fx->count - 1].u.transmit.header.length += 8 + 16 * rows;
    s->listing = control ? 0 : s->listing + rows;
    return control != 0;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
