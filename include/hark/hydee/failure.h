/* hydee/failure.h: Algorithms 2 and 3, with rollback, failure announcements, the exchange of
 * positions and orphans, and RELEASE. A part of hydee.h. These handlers mark frames as due;
 * hydee/pump.h sends them. */
#ifndef HARK_HYDEE_FAILURE_H
#define HARK_HYDEE_FAILURE_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* ---- Algorithms 2 and 3: every process plays both roles (E9) --------------------------------- */

/* Restarts from the last image on stable storage. From here on messages to other clusters wait for
 * RELEASE. The FAILED of the same epoch follows.                                   Alg. 2 l. 4-5 */
static inline int hark_hydee_rollback(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint32_t flags = s->flags, fan = s->tree.fan;
    if (!hark_hydee_image_fits(s, event)) return HARK_EIMAGE;
    int status = hark_member_restart(p, &hark_hydee_shape, &s->endpoint, &s->wave, event, fx);
    if (status < 0) return status;
    s->flags = flags;
    s->tree.fan = fan;
    s->recovering = 1;
    s->released_phase = 0;
    hark_past_close(p, &s->past);
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
        hark_hydee_at(s, i)->channel.flags &= (int)HARK_INTRA | HARK_HYDEE_MATE | HARK_HYDEE_GROUP;
    hark_hydee_reclustered(s);
    return HARK_OK;
}

/* Takes FAILED: drops the results of the previous epoch (E11), and exchanges positions on every
 * channel with an end in D. Other channels keep their positions; messages to other clusters wait
 * for RELEASE.                                                     Alg. 2 l. 4-8, Alg. 3 l. 6-18 */
static inline int hark_hydee_failed(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_endpoint *e = &s->endpoint;
    bool taken;
    int status = hark_reserve(p, &hark_hydee_shape, &s->pairs, e->channels.count);
    if (status < 0) return status;
    status = hark_member_failed(p, &hark_hydee_shape, e, &s->wave, event, &s->gone, &taken, fx);
    if (!taken) return status;
    hark_hydee_reclustered(s); /* FAILED may have committed the wave */
    hark_empty(p, &s->pairs);
    hark_past_close(p, &s->past);
    s->recovering = s->busy = 1;
    s->released_phase = 0;
    s->reported = s->drained = s->report_out = s->report_channel = 0;
    s->report_at = 0;
    hark_hydee_tree_clear(s);
    bool mine = hark_is_down(p, e, e->me);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c)) continue;
        hark_positions_clear(&c->channel, &c->pos, c->channel.sent);
        hark_queue_clear(p, &s->pool, &c->recorded);
        /* a failed process may have lost a multicast that it had to pass on */
        bool cast = (c->channel.flags & HARK_HYDEE_GROUP) != 0;
        if (mine || cast || hark_is_down(p, e, c->channel.peer))
            hark_pair(&s->head, &s->pairs, c->channel.peer)->flags = HARK_POS_DUE;
    }
    return HARK_OK;
}

/* Takes the row of one context from j's POS. */
static inline void hark_hydee_pos_channel(
    struct hark_hydee *s, struct hark_hydee_channel *c, const uint8_t *b, struct hark_effects *fx)
{
    struct hark_positions *o = &c->pos;
    struct hark_said said = hark_pos_said(&hark_hydee_exchange, b, c->channel.ctx);
    uint64_t sent = c->channel.sent;
    hark_pos_channel(&c->channel, o, &said);
    if (said.recv > o->sent_at_failure) {
        c->channel.flags |= HARK_ORPH_WAIT;
        if (sent > o->sent_at_failure)
            c->channel.flags |= HARK_NOTIFY_DUE; /* sent again before this POS arrived */
        if (sent >= said.recv && s->flags & HARK_DIGEST)
            hark_digest_compare(
                &c->channel, o, hark_digest_at(&s->head, &s->pool, o, said.recv), fx);
    }
    if (said.sent < c->channel.recv)
        hark_orph_ask(&c->channel, o, said.sent + 1); /* orphans from j to me */
}

/* Takes POS from j: LastDate and Rollback of the paper in one frame, in both directions.
 *                                                          Alg. 2 l. 9-10, Alg. 3 l. 7-14, 20-21 */
static inline int hark_hydee_pos(
    struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    const struct hark_exchange *x = &hark_hydee_exchange;
    int status;
    if (!hark_pos_take(&s->head, &s->endpoint, x, &s->pairs, h, b, &status, fx)) return status;
    for (uint32_t i = 0; i < hark_get32(b); i++)
        hark_hydee_channel(s, h->src, hark_pos_ctx(x, b, i));
    for (uint32_t i = hark_channel_search(&s->head, &s->endpoint, h->src, 0);
         i < s->endpoint.channels.count; i++) {
        if (hark_hydee_at(s, i)->channel.peer != h->src) break;
        hark_hydee_pos_channel(s, hark_hydee_at(s, i), b, fx);
    }
    s->busy = 1;
    return HARK_OK;
}

/* Takes ORPH from j: u32 (fragment << 16 | last), u32 0, then runs {first u64, last u64, phase u64}
 * of my messages that j has. The recorded phases replace those in the log, and are kept for the
 * orphans that are still to be sent again (E6). */
static inline int hark_hydee_orph(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    uint32_t length, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_hydee_channel *c =
        (struct hark_hydee_channel *)(void *)hark_channel_find(p, &s->endpoint, h->src, h->ctx);
    if (c && !hark_hydee_inter(c)) return hark_emit_verdict(fx, HARK_DISCARD);
    if (hark_orph_early(p, &s->pairs, c ? &c->pos : NULL, h->src, b))
        return hark_emit_verdict(fx, HARK_HOLD);
    if (c == NULL) return hark_emit_verdict(fx, HARK_DISCARD);
    for (uint32_t at = 8; at < length; at += 24) {
        uint64_t first = hark_get64(b + at), last = hark_get64(b + at + 8),
                 phase = hark_get64(b + at + 16);
        if (first == 0 || first > last) continue;
        if (first <= c->channel.sent)
            hark_runs_write(p, &s->pool, &c->log, first, last, phase, c->channel.sent);
        if (last <= c->channel.sent) continue;
        uint64_t *row = hark_queue_push(p, &s->pool, &c->recorded);
        row[0] = first;
        row[1] = phase;
    }
    hark_orph_took(&c->channel, &c->pos, b);
    s->busy = s->endpoint.offer = 1;
    return HARK_OK;
}

/* Takes RELEASE: the gate opens up to a phase; within an epoch it never closes again.
 *                                                                  Alg. 2 l. 8, Alg. 3 l. 18, 22 */
static inline int hark_hydee_release(struct hark_hydee *s, const uint8_t *b, uint32_t length)
{
    uint64_t rel = hark_get64(b);
    if (rel > s->released_phase && s->tree.fan) s->tree.fanout = HARK_H_RELEASE;
    if (rel > s->released_phase) s->released_phase = rel;
    if (length > 8) hark_past_release(&s->head, &s->pool, &s->past, b + 8, length - 8);
    s->busy = 1;
    return HARK_OK;
}

/* Takes RECDONE: the failure-free functions apply again.              Alg. 2 l. 22, Alg. 3 l. 19 */
static inline int hark_hydee_recdone(struct hark_hydee *s, struct hark_effects *fx)
{
    if (s->recovering && s->tree.fan) s->tree.fanout = HARK_H_RECDONE;
    if (s->tree.fanout) s->busy = 1;
    s->recovering = 0;
    s->released_phase = HARK_INFINITY;
    hark_hydee_tree_clear(s);
    hark_past_close(&s->head, &s->past);
    hark_empty(&s->head, &s->pairs);
    hark_empty(&s->head, &s->endpoint.down);
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        hark_positions_clear(&c->channel, &c->pos, 0);
        hark_queue_clear(&s->head, &s->pool, &c->recorded);
    }
    s->endpoint.offer = 1; /* the ASK of the next wave may have been held */
    hark_emit(fx, HARK_RECOVERED);
    return HARK_OK;
}

#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
