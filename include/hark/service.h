/* service.h: the failure service, which decides who rolls back after a failure, and keeps what must
 * be durable for that. Like a protocol it is a state machine in one block of memory.
 *
 * It keeps the incarnations, the recovery epoch `re`, the set D of ranks that roll back (cumulative
 * until recovery is over), the decided checkpoint waves, the checkpoints that a recovery line has
 * undone (N-11), and the maps of clusters where these change. When a process dies it decides which
 * ranks roll back: the process, its cluster, all, or those that the recovery line names. It does no
 * I/O, starts no process and kills none: an event goes in, effects come out, and the embedder adds
 * the disk and the processes.
 *
 *   event                                 effects, in this order
 *   DIED: these ranks are dead            VERIFY images, one at a time; RECORD; then ANNOUNCE, and
 *                                         RESTART for each rank that rolls back
 *   VERIFIED: answers VERIFY              the next VERIFY, or FELL_BACK, or LOST (then no rank
 *                                         rolls back), or RECORD
 *   DURABLE: answers RECORD               ANSWER to a fact; ANNOUNCE and RESTARTs
 *   FACT: PERSIST of a process            VERIFY if a rank rolls back by the line; RECORD, or
 *                                         ANSWER if the fact is refused
 *   PROPOSED: the next map of clusters    none: the first wave whose fact has `new_map` brings it
 *                                         into force
 *   FINISHED: all processes have ended    RECORD, then ANSWER
 *   RESUMED: this state comes from the    as DIED of all ranks; of the recovery process too if
 *     record of a service that died       u.died.recovery is set
 *   CONTINUE                              the effects that did not fit
 *
 * Changes are made one at a time: between VERIFY and its VERIFIED, and between RECORD and its
 * DURABLE, every other event gets HARK_WAIT; give it again later. RECORD asks to make hark_pack()
 * of this block durable, in place of the previous record. The service may die between any two
 * effects: make a new one by hark_service_init(), hark_unpack() of the last durable record, and
 * RESUMED. Nothing is announced or answered before DURABLE, so no process has acted on what is
 * lost. DURABLE without `ok` refuses a wave; other changes hold in memory, and only a new service
 * would not know them.
 *
 * The time of a fact about one rank does not depend on the number of ranks; a death, and the end of
 * a recovery, take a few walks over all ranks.
 */
#ifndef HARK_SERVICE_H
#define HARK_SERVICE_H

#include "service/facts.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

/* Returns the bytes that a block needs at first; 0: the configuration is invalid. */
HARK_FN uint64_t hark_service_size(const struct hark_service_config *config);
/* Makes the initial state in `bytes` bytes at `p` (8-aligned). HARK_EINVAL; HARK_EFULL: see
 * hark_wants(). */
HARK_FN int hark_service_init(
    struct hark *p, uint64_t bytes, const struct hark_service_config *config);
/* Makes a step: HARK_OK, HARK_MORE (give CONTINUE), HARK_WAIT, HARK_EINVAL, HARK_EFULL,
 * HARK_ENOROOM. The last four leave the state unchanged. */
HARK_FN int hark_service_step(
    struct hark *p, const struct hark_service_event *event, struct hark_service_effects *effects);

#if HARK_BODIES

/* ---- the interface --------------------------------------------------------------------------- */

/* Emits RESTART for each rank that rolls back, in as many steps as it takes. */
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

/* Takes DURABLE: the record is durable, or could not be written. */
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

/* Begins a change. */
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
