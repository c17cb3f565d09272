/* recovery/phases.h: the number of runs of orphans in each phase, and the lowest of these phases.
 *
 * NotifyPhase (HydEE Alg. 4 l. 16-24) needs the lowest phase after every notification. If every
 * message of a program has a phase of its own, there are as many phases as replayed messages. So
 * the phases are sorted once, and later only counted down. The table is scratch, not part of the
 * state: it is computed from the state's orphans when it is first needed.
 */
#ifndef HARK_RECOVERY_PHASES_H
#define HARK_RECOVERY_PHASES_H

#include "../parts/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hark_phase {
    uint64_t phase;
    uint64_t runs;
};

struct hark_phases {
    struct hark_table rows; /* hark_phase; ascending when `ready` */
    uint32_t least;         /* the rows before this one have no runs left */
    uint32_t ready;
};

#define HARK_PHASES_TABLE(type, member)                                                            \
    {                                                                                              \
        "phases", "", (uint16_t)offsetof(type, member.rows), sizeof(struct hark_phase), 0, NULL    \
    }

#if HARK_BODIES

static inline struct hark_phase *hark_phase_at(struct hark *p, struct hark_phases *t, uint32_t i)
{
    return (struct hark_phase *)hark_row(p, &t->rows, i);
}

static inline void hark_phases_clear(struct hark *p, struct hark_phases *t)
{
    hark_empty(p, &t->rows);
    t->least = t->ready = 0;
}

/* Adds a run; only before hark_phases_sort. A row has been reserved. */
static inline void hark_phases_add(struct hark *p, struct hark_phases *t, uint64_t phase)
{
    struct hark_phase *last = t->rows.count ? hark_phase_at(p, t, t->rows.count - 1) : NULL;
    if (last == NULL || last->phase != phase) {
        last = (struct hark_phase *)hark_insert(p, &t->rows, t->rows.count);
        last->phase = phase;
    }
    last->runs++;
}

/* Moves row i of the first `count` down the heap until no row below it, at 2i + 1 and 2i + 2, is
 * greater. */
static inline void hark_phases_sift(
    struct hark *p, struct hark_phases *t, uint32_t i, uint32_t count)
{
    struct hark_phase x = *hark_phase_at(p, t, i);
    for (uint32_t below; i < count / 2; i = below) {
        below = 2 * i + 1;
        if (below + 1 < count &&
            hark_phase_at(p, t, below + 1)->phase > hark_phase_at(p, t, below)->phase)
            below++;
        if (hark_phase_at(p, t, below)->phase <= x.phase) break;
        *hark_phase_at(p, t, i) = *hark_phase_at(p, t, below);
    }
    *hark_phase_at(p, t, i) = x;
}

/* Sorts by heapsort, which needs no extra memory and is never quadratic. */
static inline void hark_phases_order(struct hark *p, struct hark_phases *t)
{
    for (uint32_t i = t->rows.count / 2; i-- > 0;) hark_phases_sift(p, t, i, t->rows.count);
    for (uint32_t i = t->rows.count; i-- > 1;) {
        struct hark_phase greatest = *hark_phase_at(p, t, 0);
        *hark_phase_at(p, t, 0) = *hark_phase_at(p, t, i);
        *hark_phase_at(p, t, i) = greatest;
        hark_phases_sift(p, t, 0, i);
    }
}

/* Makes one row per phase, ascending, after all runs have been added. */
static inline void hark_phases_sort(struct hark *p, struct hark_phases *t)
{
    bool ascends = true; /* the phases of one channel ascend if a program's receives do not vary */
    uint32_t kept = 0, all = t->rows.count;
    for (uint32_t i = 1; i < all && ascends; i++)
        ascends = hark_phase_at(p, t, i - 1)->phase < hark_phase_at(p, t, i)->phase;
    t->ready = 1;
    if (ascends) return;
    hark_phases_order(p, t);
    for (uint32_t i = 1; i < all; i++) {
        struct hark_phase *x = hark_phase_at(p, t, i), *last = hark_phase_at(p, t, kept);
        if (x->phase == last->phase) last->runs += x->runs;
        else *hark_phase_at(p, t, ++kept) = *x;
    }
    t->rows.count = kept + 1;
    hark_zero(
        hark_row(p, &t->rows, t->rows.count), (uint64_t)(all - t->rows.count) * t->rows.width);
}

/* Counts a run of this phase, which has been sent again, as no longer left. */
static inline void hark_phases_take(struct hark *p, struct hark_phases *t, uint64_t phase)
{
    uint32_t low = t->least, high = t->rows.count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (hark_phase_at(p, t, mid)->phase < phase) low = mid + 1;
        else high = mid;
    }
    struct hark_phase *x = low < t->rows.count ? hark_phase_at(p, t, low) : NULL;
    if (x == NULL || x->phase != phase || x->runs == 0) return;
    x->runs--;
    while (t->least < t->rows.count && hark_phase_at(p, t, t->least)->runs == 0) t->least++;
}

/* Returns the lowest phase that has runs left; HARK_INFINITY if no phase has any. */
static inline uint64_t hark_phases_least(struct hark *p, struct hark_phases *t)
{
    return t->least < t->rows.count ? hark_phase_at(p, t, t->least)->phase : HARK_INFINITY;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
