/* service/back.h: decides after a death which ranks roll back, and to which images. A part of
 * service.h. */
#ifndef HARK_SERVICE_BACK_H
#define HARK_SERVICE_BACK_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES
/* ---- which ranks roll back, and to which image ----------------------------------------------- */

static inline void hark_service_emit(
    struct hark_service_effects *fx, uint32_t type, uint32_t rank, uint64_t id)
{
    const struct hark_service_effect x = {type, rank, id};
    fx->at[fx->count++] = x;
}

static inline void hark_service_goes(struct hark_service *s, uint32_t rank)
{
    hark_service_row(s, rank)->flags |= HARK_SERVICE_GOES;
}

/* True if the unit `s->unit` needs r's image `id` when it rolls back to that wave. If the wave is
 * older than the current map, all ranks roll back. */
static inline bool hark_service_needs(const struct hark_service *s, uint32_t r, uint64_t id)
{
    return id < s->since || s->behind || hark_service_mates(&s->head, r, s->unit);
}

/* True if a unit can fall back to an older image while other ranks of the same wave do not. */
static inline bool hark_service_apart(const struct hark_service *s)
{
    return s->rolls == HARK_ROLLS_PROCESS || s->waves_all;
}

/* Rolls the map back to the one that was in force at wave `id`. */
static inline void hark_service_unmap(struct hark_service *s, uint64_t id)
{
    const uint64_t since = s->since;
    while (id < s->since && s->maps.count) { /* a damaged record may have fewer maps */
        const uint32_t first = s->maps.count - s->ranks;
        for (uint32_t r = s->ranks; r-- > 0;) {
            const struct hark_service_map *m =
                (const struct hark_service_map *)hark_row_of(&s->head, &s->maps, first + r);
            hark_service_row(s, r)->cluster = m->cluster;
            if (r == 0) s->since = m->since;
            hark_remove(&s->head, &s->maps, first + r);
        }
    }
    if (s->since != since) hark_service_find_firsts(s);
}

/* Returns the lowest rank of its unit, which stands for the unit. */
static inline uint32_t hark_service_head(const struct hark_service *s, uint32_t rank)
{
    switch (s->rolls) {
    case HARK_ROLLS_CLUSTER: return hark_service_first(s, rank);
    case HARK_ROLLS_ALL: return 0;
    default: return rank;
    }
}

/* Chooses the wave s->found, the unit's s->nth newest, for the unit to roll back to. */
HARK_COLD void hark_service_chosen(struct hark_service *s, struct hark_service_effects *fx)
{
    if (s->nth) hark_service_emit(fx, HARK_SERVICE_FELL_BACK, s->unit, s->found);
    if (s->found < s->since) s->behind = 1;
    hark_service_unmap(s, s->found);
    if (s->nth && (s->behind || !hark_service_apart(s)))
        hark_service_forget(s, hark_service_waves(s, s->unit), s->found + 1, UINT64_MAX);
    hark_service_row(s, s->unit)->from = s->found; /* the unit's other ranks: hark_service_apply */
    for (uint32_t r = 0; s->behind && r < s->ranks; r++) hark_service_goes(s, r);
}

HARK_COLD int hark_service_lost(struct hark_service *s, struct hark_service_effects *fx)
{
    hark_service_emit(fx, HARK_SERVICE_LOST, s->unit, 0);
    for (uint32_t r = 0; r < s->ranks; r++) hark_service_row(s, r)->flags &= HARK_SERVICE_DOWN;
    s->stage = HARK_SERVICE_IDLE;
    return HARK_OK;
}

/* Returns the first of the ranks that the change concerns: all, or the one that a fact names.
 * hark_service_ends returns the rank after the last of them. */
static inline uint32_t hark_service_begins(const struct hark_service *s)
{
    return s->change == HARK_SERVICE_FACT && s->peer != HARK_RECOVERY ? s->peer : 0;
}

static inline uint32_t hark_service_ends(const struct hark_service *s)
{
    return s->change == HARK_SERVICE_FACT && s->peer != HARK_RECOVERY ? s->peer + 1 : s->ranks;
}

static inline void hark_service_record(struct hark_service *s, struct hark_service_effects *fx)
{
    s->stage = HARK_SERVICE_RECORDING;
    hark_service_emit(fx, HARK_SERVICE_RECORD, 0, 0);
}

/* Applies the change when every unit has its image: the ranks that roll back get new incarnations,
 * and enter D. */
HARK_COLD int hark_service_apply(struct hark_service *s, struct hark_service_effects *fx)
{
    for (uint32_t r = hark_service_begins(s); r < hark_service_ends(s); r++) {
        struct hark_service_rank *x = hark_service_row(s, r);
        if (!hark_service_goes_back(&s->head, r)) continue;
        x->from = s->behind ? s->found : hark_service_at(s, hark_service_head(s, r))->from;
        x->inc++;
        s->down += !hark_service_is_down(&s->head, r);
        x->flags |= HARK_SERVICE_DOWN;
    }
    s->recovery_inc += s->recovery;
    s->re += s->change != HARK_SERVICE_FACT || s->fact == HARK_FACT_LINE;
    hark_service_record(s, fx);
    return HARK_OK;
}

/* Asks for the next image (VERIFY); when all units have theirs, applies the change. */
HARK_COLD int hark_service_look(struct hark_service *s, struct hark_service_effects *fx)
{
    for (; s->unit < hark_service_ends(s) && !s->behind; s->unit++, s->mate = s->nth = 0) {
        if (!hark_service_goes_back(&s->head, s->unit) || hark_service_head(s, s->unit) != s->unit)
            continue;
        if (fx->count + 3 > fx->room) {
            s->stage = HARK_SERVICE_LOOKING;
            return HARK_MORE;
        }
        s->found = hark_service_wave(&s->head, s->unit, s->nth);
        while (!s->unverified && s->mate < s->ranks && !hark_service_needs(s, s->mate, s->found))
            s->mate++;
        if (s->found && s->mate < s->ranks && !s->unverified) {
            hark_service_emit(fx, HARK_SERVICE_VERIFY, s->mate, s->found);
            s->stage = HARK_SERVICE_VERIFYING;
            return HARK_OK;
        }
        if (s->found == 0 && s->nth && hark_service_decided(&s->head, s->unit) >= s->generations)
            return hark_service_lost(s, fx);
        hark_service_chosen(s, fx);
    }
    return hark_service_apply(s, fx);
}

/* Forgets checkpoints and maps that no rank can roll back to any more. */
HARK_COLD void hark_service_trim(struct hark_service *s, struct hark_queue *waves)
{
    while (waves->count > s->generations) hark_queue_pop(&s->head, &s->pool, waves);
    const uint64_t oldest = hark_service_nth(s, waves, s->generations - 1);
    while (oldest && s->maps.count &&
           ((const struct hark_service_map *)hark_row(&s->head, &s->maps, 0))->until <= oldest)
        for (uint32_t r = 0; r < s->ranks; r++) hark_remove(&s->head, &s->maps, 0);
}

/* Marks who rolls back after DIED: the unit of each dead rank; under HARK_ROLLS_LINE also every
 * rank whose recovery is not over (N-7). After RESUMED all ranks roll back. */
HARK_COLD void hark_service_died(struct hark_service *s, const struct hark_service_event *e)
{
    const bool all = e->type == HARK_SERVICE_RESUMED;
    for (uint32_t r = 0; all && r < s->ranks; r++) /* the record was written before this trim */
        hark_service_trim(s, &hark_service_row(s, r)->waves);
    for (uint32_t i = 0; !all && i < e->u.died.count; i++)
        hark_service_goes(s, hark_service_head(s, e->u.died.rank[i]));
    for (uint32_t r = 0; r < s->ranks; r++) {
        const bool again = s->rolls == HARK_ROLLS_LINE && hark_service_is_down(&s->head, r);
        if (all || again || hark_service_goes_back(&s->head, hark_service_head(s, r)))
            hark_service_goes(s, r);
    }
    s->recovery = e->u.died.recovery;
    s->unit = s->mate = s->nth = s->behind = 0;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
