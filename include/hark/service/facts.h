/* service/facts.h: takes the facts that processes make durable, which are decisions of waves, the
 * recovery line, and the end of recovery. A part of service.h. */
#ifndef HARK_SERVICE_FACTS_H
#define HARK_SERVICE_FACTS_H

#include "back.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES
/* ---- facts ----------------------------------------------------------------------------------- */

HARK_COLD int hark_service_answer(struct hark_service *s, bool ok, struct hark_service_effects *fx)
{
    hark_service_emit(fx, HARK_SERVICE_ANSWER, 0, ok);
    s->stage = HARK_SERVICE_IDLE;
    return HARK_OK;
}

/* Brings the next map into force with wave `id`; room for the old map has been reserved. */
static inline void hark_service_map(struct hark_service *s, uint64_t id)
{
    for (uint32_t r = 0; r < s->ranks; r++) {
        struct hark_service_map *m =
            (struct hark_service_map *)hark_insert(&s->head, &s->maps, s->maps.count);
        m->until = id;
        m->since = s->since;
        m->rank = r;
        m->cluster = hark_service_at(s, r)->cluster;
        hark_service_row(s, r)->cluster = hark_service_at(s, r)->next;
    }
    hark_service_find_firsts(s);
    s->since = id;
    s->proposed = 0;
}

/* Takes HARK_FACT_WAVE: the wave is decided as soon as the record is durable. */
HARK_COLD int hark_service_decide(struct hark_service *s, struct hark_service_effects *fx)
{
    const uint64_t last = hark_service_wave(&s->head, s->peer, 0);
    if (s->id <= last)
        return hark_service_answer(s, s->id && s->id == last && (!s->map || s->since == s->id), fx);
    if (s->map && !s->proposed) return hark_service_answer(s, false, fx);
    int status = hark_pool_reserve(&s->head, &hark_service_shape, &s->pool, 2);
    if (status >= 0 && s->map)
        status = hark_reserve(&s->head, &hark_service_shape, &s->maps, s->ranks);
    if (status < 0) return status;
    (void)hark_service_add(s, hark_service_waves(s, s->peer), s->id);
    s->found = s->rolls == HARK_ROLLS_LINE &&
               hark_service_add(s, &hark_service_row(s, s->peer)->begun, s->id);
    struct hark_service_rank *leader = hark_service_row(s, hark_service_leader(&s->head, s->peer));
    s->counted = leader->decided < s->generations;
    leader->decided += s->counted;
    if (s->map) hark_service_map(s, s->id);
    hark_service_record(s, fx);
    return HARK_OK;
}

/* Takes DURABLE after hark_service_decide: `ok` confirms the decision; else it is undone. */
HARK_COLD int hark_service_decided_now(
    struct hark_service *s, bool ok, struct hark_service_effects *fx)
{
    struct hark_service_rank *leader = hark_service_row(s, hark_service_leader(&s->head, s->peer));
    struct hark_queue *begun = &hark_service_row(s, s->peer)->begun;
    if (!ok) {
        hark_service_forget(s, &leader->waves, s->id, s->id + 1);
        leader->decided -= s->counted;
        if (s->found) hark_service_forget(s, begun, s->id, s->id + 1);
        if (s->map) hark_service_unmap(s, s->id - 1);
        s->proposed |= s->map;
        return hark_service_answer(s, false, fx);
    }
    hark_service_trim(s, &leader->waves);
    if (s->oldest) hark_service_forget(s, begun, 0, s->oldest);
    return hark_service_answer(s, true, fx);
}

/* Takes HARK_FACT_BACK and HARK_FACT_LINE: a rank rolls back too, to its checkpoint s->id. Its
 * later decisions are undone, and remembered in `begun` (N-11). */
HARK_COLD int hark_service_back(struct hark_service *s, struct hark_service_effects *fx)
{
    int status = hark_pool_reserve(&s->head, &hark_service_shape, &s->pool, 1);
    if (status < 0) return status;
    struct hark_queue *waves = hark_service_waves(s, s->peer);
    hark_service_forget(s, waves, s->id + 1, UINT64_MAX);
    if (s->id && waves->count < s->generations)
        (void)hark_service_add(s, waves, s->id); /* older than the kept ones */
    hark_service_goes(s, s->peer);
    s->unit = s->peer;
    s->mate = s->nth = s->behind = s->recovery = 0;
    return hark_service_look(s, fx);
}

/* Takes HARK_FACT_DONE: recovery of s->peer, or of all, is over. When the recovery of all is over,
 * undone checkpoints are forgotten: the re-execution has passed them. */
HARK_COLD int hark_service_done(struct hark_service *s, struct hark_service_effects *fx)
{
    for (uint32_t r = hark_service_begins(s); r < hark_service_ends(s); r++) {
        struct hark_service_rank *x = hark_service_row(s, r);
        s->down -= hark_service_is_down(&s->head, r);
        x->flags &= (uint32_t)~HARK_SERVICE_DOWN;
        if (s->peer == HARK_RECOVERY && x->begun.count)
            hark_service_forget(s, &x->begun, hark_service_wave(&s->head, r, 0) + 1, UINT64_MAX);
    }
    hark_service_record(s, fx);
    return HARK_OK;
}

HARK_COLD int hark_service_fact(
    struct hark_service *s, const struct hark_service_event *e, struct hark_service_effects *fx)
{
    const bool line = e->u.fact.kind == HARK_FACT_BACK || e->u.fact.kind == HARK_FACT_LINE;
    const bool somebody = e->u.fact.rank < s->ranks ||
                          (e->u.fact.kind == HARK_FACT_DONE && e->u.fact.rank == HARK_RECOVERY);
    const bool known = e->u.fact.kind == HARK_FACT_WAVE || e->u.fact.kind == HARK_FACT_DONE ||
                       (line && s->rolls == HARK_ROLLS_LINE);
    s->fact = e->u.fact.kind;
    s->peer = e->u.fact.rank;
    s->id = e->u.fact.id;
    s->oldest = e->u.fact.oldest;
    s->map = e->u.fact.new_map;
    if (e->u.fact.re != s->re || !somebody || !known) return hark_service_answer(s, false, fx);
    if (s->fact == HARK_FACT_WAVE) return hark_service_decide(s, fx);
    return line ? hark_service_back(s, fx) : hark_service_done(s, fx);
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
