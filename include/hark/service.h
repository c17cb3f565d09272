/* service.h: the failure service: what must not be forgotten about failures, as a value like the
 * protocols.
 *
 * It knows who goes back when a process dies (the process, its group, all, or whom the recovery
 * line names), the incarnations, the recovery epoch `re`, the set D of ranks that roll back
 * (cumulative until recovery is over), the decisions of checkpoint waves, the checkpoints that a
 * recovery line has undone (N-11), and the maps of clusters where those change. It does no I/O,
 * starts nothing and kills nobody: it is told what happened (an event) and says what must be done
 * (effects). Who embeds it adds the disk and the processes.
 *
 *   event                                 what comes of it, in this order
 *   DIED: these ranks are dead            VERIFY images, one at a time; RECORD; then ANNOUNCE, and
 *                                         RESTART for each rank that goes back
 *   VERIFIED: answers VERIFY              the next VERIFY, or FELL_BACK, or LOST (then nobody goes
 *                                         back), or RECORD
 *   DURABLE: answers RECORD               ANSWER to a fact; ANNOUNCE and RESTARTs
 *   FACT: PERSIST of a process            VERIFY if a rank goes back by the line; RECORD, or ANSWER
 *                                         if it is refused
 *   PROPOSED: the next map of clusters    none: it is in force with the first wave whose fact says
 *                                         so
 *   FINISHED: all processes have ended    RECORD, then ANSWER
 *   RESUMED: the state is a record's,     as DIED of all ranks and of the recovery process
 *     of a service that is gone
 *   CONTINUE                              what did not fit
 *
 * One change at a time: between VERIFY and its VERIFIED, and between RECORD and its DURABLE, every
 * other event gets HARK_WAIT, and is to be given again later. RECORD means: make hark_pack() of
 * this block durable, in place of the record before. The service may die between any two effects: a
 * new one is made by hark_service_init(), hark_unpack() of the last durable record, and RESUMED.
 * What was not durable has not been told to anybody, so nobody has acted on it.
 *
 * A fact about one rank takes as long with a million ranks as with two; a death, and what ends a
 * recovery, walks over all ranks a few times.
 */
#ifndef HARK_SERVICE_H
#define HARK_SERVICE_H

#include "service/facts.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

/* Bytes of a block that is large enough to begin with; 0: no such configuration. */
HARK_FN uint64_t hark_service_size(const struct hark_service_config *config);
/* HARK_EINVAL; HARK_EFULL: hark_wants() says how much. */
HARK_FN int hark_service_init(
    struct hark *p, uint64_t bytes, const struct hark_service_config *config);
/* HARK_OK, HARK_MORE (give CONTINUE), HARK_WAIT, HARK_EINVAL, HARK_EFULL, HARK_ENOROOM. In the last
 * four cases nothing has changed. */
HARK_FN int hark_service_step(
    struct hark *p, const struct hark_service_event *event, struct hark_service_effects *effects);

#if HARK_BODIES

/* ---- the door -------------------------------------------------------------------------------- */

/* Who goes back is told so, in as many steps as it takes. */
HARK_COLD int hark_service_tell(struct hark_service *s, struct hark_service_effects *fx)
{
    s->stage = HARK_SERVICE_TELLING;
    for (; s->telling < s->ranks; s->telling++) {
        if (!hark_service_goes_back(&s->head, s->telling)) continue;
        if (fx->count == fx->room) return HARK_MORE;
        hark_service_emit(
            fx, HARK_SERVICE_RESTART, s->telling, hark_service_at(s, s->telling)->from);
        hark_service_row(s, s->telling)->flags &= (uint32_t)~HARK_SERVICE_GOES;
    }
    s->stage = HARK_SERVICE_IDLE;
    return HARK_OK;
}

/* The record is durable, or it could not be written. */
HARK_COLD int hark_service_durable(struct hark_service *s, bool ok, struct hark_service_effects *fx)
{
    if (s->change == HARK_SERVICE_FACT && s->fact == HARK_FACT_WAVE)
        return hark_service_decided_now(s, ok, fx);
    if (s->change == HARK_SERVICE_FACT || s->change == HARK_SERVICE_FINISHED)
        (void)hark_service_answer(s, ok, fx);
    if (s->change == HARK_SERVICE_FINISHED ||
        (s->change == HARK_SERVICE_FACT && s->fact != HARK_FACT_LINE))
        return HARK_OK;
    hark_service_emit(fx, HARK_SERVICE_ANNOUNCE, 0, 0);
    if (s->recovery) hark_service_emit(fx, HARK_SERVICE_RESTART_RECOVERY, HARK_RECOVERY, 0);
    s->recovery = s->telling = 0;
    return hark_service_tell(s, fx);
}

static inline bool hark_service_ranks_ok(
    const struct hark_service *s, const uint32_t *rank, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (rank[i] >= s->ranks || (i && rank[i] <= rank[i - 1])) return false;
    return true;
}

HARK_COLD int hark_service_propose(struct hark_service *s, const uint32_t *cluster)
{
    if (s->proposed || !s->waves_all || s->rolls != HARK_ROLLS_CLUSTER) return HARK_EINVAL;
    for (uint32_t r = 0; r < s->ranks; r++)
        if (cluster[r] >= s->ranks) return HARK_EINVAL;
    for (uint32_t r = 0; r < s->ranks; r++) hark_service_row(s, r)->next = cluster[r];
    s->proposed = 1;
    return HARK_OK;
}

/* A change begins. */
HARK_COLD int hark_service_begin(
    struct hark_service *s, const struct hark_service_event *e, struct hark_service_effects *fx)
{
    s->change = e->type;
    switch (e->type) {
    case HARK_SERVICE_DIED:
    case HARK_SERVICE_RESUMED: hark_service_died(s, e); return hark_service_look(s, fx);
    case HARK_SERVICE_FACT: return hark_service_fact(s, e, fx);
    case HARK_SERVICE_FINISHED:
        s->finished = 1;
        hark_service_record(s, fx);
        return HARK_OK;
    default: return HARK_EINVAL;
    }
}

HARK_FN int hark_service_step(
    struct hark *p, const struct hark_service_event *e, struct hark_service_effects *fx)
{
    struct hark_service *s = (struct hark_service *)(void *)p;
    if (fx->room < 4) return HARK_ENOROOM;
    if (p->magic != HARK_MAGIC || p->kind != HARK_KIND_SERVICE) return HARK_EINVAL;
    fx->count = 0;
    switch (e->type) {
    case HARK_SERVICE_VERIFIED:
        if (s->stage != HARK_SERVICE_VERIFYING) return HARK_EINVAL;
        if (e->u.verified.whole) s->mate++;
        else s->nth++, s->mate = 0;
        return hark_service_look(s, fx);
    case HARK_SERVICE_DURABLE:
        return s->stage == HARK_SERVICE_RECORDING ? hark_service_durable(s, e->u.durable.ok, fx)
                                                  : HARK_EINVAL;
    case HARK_SERVICE_CONTINUE:
        if (s->stage == HARK_SERVICE_LOOKING) return hark_service_look(s, fx);
        return s->stage == HARK_SERVICE_TELLING ? hark_service_tell(s, fx) : HARK_EINVAL;
    default: break;
    }
    if (s->stage != HARK_SERVICE_IDLE) return HARK_WAIT;
    if (e->type == HARK_SERVICE_DIED && !hark_service_ranks_ok(s, e->u.died.rank, e->u.died.count))
        return HARK_EINVAL;
    if (e->type == HARK_SERVICE_PROPOSED) return hark_service_propose(s, e->u.proposed.cluster);
    return hark_service_begin(s, e, fx);
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
