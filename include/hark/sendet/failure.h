/* sendet/failure.h: rollback, failure announcements, the exchange of positions, and RELEASE. A part
 * of sendet.h. These handlers mark frames as due; sendet/pump.h sends them. */
#ifndef HARK_SENDET_FAILURE_H
#define HARK_SENDET_FAILURE_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* True if RESTARTED names undone epochs beyond the image, ascending. */
static inline bool hark_sendet_again_valid(const struct hark_event *event)
{
    if (event->u.restarted.undone == NULL) return event->u.restarted.undone_count == 0;
    for (uint32_t i = 0; i < event->u.restarted.undone_count; i++)
        if (event->u.restarted.undone[i] <=
            (i ? event->u.restarted.undone[i - 1] : event->u.restarted.checkpoint))
            return false;
    return true;
}

static inline void hark_sendet_again_take(struct hark_sendet *s, const struct hark_event *event)
{
    hark_empty(&s->head, &s->again);
    if (hark_reserve(&s->head, &hark_sendet_shape, &s->again, event->u.restarted.undone_count) < 0)
        HARK_TRAP();
    for (uint32_t i = 0; i < event->u.restarted.undone_count; i++)
        ((struct hark_image *)hark_insert(&s->head, &s->again, i))->id =
            event->u.restarted.undone[i];
}

/* Takes RESTARTED: begins from an image, after a failure of this process or because the line needs
 * it. */
HARK_COLD int hark_sendet_restarted(
    struct hark_sendet *s, const struct hark_event *event, struct hark_effects *fx)
{
    uint32_t flags = s->flags, generations = s->generations;
    if (!hark_sendet_again_valid(event)) return HARK_EINVAL;
    int status =
        hark_reserve(&s->head, &hark_sendet_shape, &s->again, event->u.restarted.undone_count);
    if (status >= 0)
        status =
            hark_member_restart(&s->head, &hark_sendet_shape, &s->endpoint, &s->wave, event, fx);
    if (status < 0) return status;
    hark_sendet_again_take(s, event);
    s->flags = flags;
    s->generations = generations;
    s->recovering = s->frozen = 1;
    s->released_phase = 0;
    s->taken = s->epoch_due = s->gone = 0;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        c->channel.flags &= HARK_INTRA;
        if (!hark_sendet_inter(c)) continue;
        /* j's receipt may have been undone since, and repeated in another epoch (N-2, N-10) */
        c->acked = c->pos.first - 1;
        hark_queue_clear(&s->head, &s->pool, &c->log.recv);
    }
    return HARK_OK;
}

/* Takes FAILED: freezes this process, and exchanges positions on every channel with an end in D. */
HARK_COLD int hark_sendet_failed(
    struct hark_sendet *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_endpoint *e = &s->endpoint;
    bool taken;
    int status = hark_reserve(p, &hark_sendet_shape, &s->pairs, e->channels.count);
    if (status >= 0) status = hark_sendet_reserve_image(s);
    if (status < 0) return status;
    status = hark_member_failed(p, &hark_sendet_shape, e, &s->wave, event, &s->gone, &taken, fx);
    if (!taken) return status;
    hark_empty(p, &s->pairs);
    s->recovering = s->frozen = s->busy = 1;
    s->released_phase = 0;
    s->reported = s->drained = s->report_list = s->report_row = s->report_out = s->ack_due = 0;
    s->report_at = 0;
    s->is_down = hark_is_down(p, e, e->me);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        if (!hark_sendet_inter(c)) continue;
        hark_positions_clear(&c->channel, &c->pos, c->channel.sent);
        hark_trail_clear(p, &s->pool, &c->recorded);
        if (s->is_down || hark_is_down(p, e, c->channel.peer))
            hark_pair(&s->head, &s->pairs, c->channel.peer)->flags = HARK_POS_DUE;
    }
    return HARK_OK;
}

/* Takes the row of one context from j's POS. The row also names the last of j's messages to me that
 * j knows as acknowledged. */
static inline void hark_sendet_pos_channel(struct hark_sendet_channel *c, const uint8_t *b)
{
    struct hark_said said = hark_pos_said(&hark_sendet_exchange, b, c->channel.ctx);
    hark_pos_channel(&c->channel, &c->pos, &said);
    if (said.recv > c->acked) c->channel.flags |= HARK_ORPH_WAIT;
    if (said.also < c->channel.recv) /* orphans, and NonAck of a restored image (N-2) */
        hark_orph_ask(&c->channel, &c->pos, said.also + 1);
    c->acks_sent = c->channel.recv;
}

/* Takes POS from j: positions in both directions. */
static inline int hark_sendet_pos(
    struct hark_sendet *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    const struct hark_exchange *x = &hark_sendet_exchange;
    int status;
    if (!hark_pos_take(&s->head, &s->endpoint, x, &s->pairs, h, b, &status, fx)) return status;
    for (uint32_t i = 0; i < hark_get32(b); i++)
        hark_sendet_channel(s, h->src, hark_pos_ctx(x, b, i));
    for (uint32_t i = hark_channel_search(&s->head, &s->endpoint, h->src, 0);
         i < s->endpoint.channels.count; i++) {
        if (hark_sendet_at(s, i)->channel.peer != h->src) break;
        hark_sendet_pos_channel(hark_sendet_at(s, i), b);
    }
    s->busy = 1;
    return HARK_OK;
}

static inline bool hark_sendet_waits(struct hark_sendet *s)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
        if (hark_sendet_at(s, i)->channel.flags & HARK_ORPH_WAIT) return true;
    return false;
}

/* Ends the freeze, once the line is known and all ORPH that I wait for are in. An ORPH may come
 * after the first RELEASE, because a process that restarts from the initial state knows no peers
 * and reports at once. My messages that j no longer has count as unacknowledged again (N-3). */
static inline void hark_sendet_go_on(struct hark_sendet *s)
{
    if (!s->frozen || s->released_phase == 0 || hark_sendet_waits(s)) return;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        if (!hark_sendet_inter(c) || c->pos.peer_sent == HARK_INFINITY ||
            c->acked <= c->pos.transmitted)
            continue;
        c->acked = c->pos.transmitted;
        hark_runs_cut(&s->head, &s->pool, &c->log.recv, c->pos.transmitted);
    }
    s->frozen = 0;
    s->busy = s->endpoint.offer = 1;
}

/* Takes one run of an ORPH. It acknowledges messages that I have posted; the others are orphans,
 * which I must post again. */
static inline void hark_sendet_orph_run(
    struct hark_sendet *s, struct hark_sendet_channel *c, const uint8_t *b)
{
    struct hark_mark m = {hark_get64(b), hark_get64(b + 8), hark_get64(b + 16), hark_get64(b + 24),
        hark_get64(b + 32)};
    uint64_t posted = m.last < c->channel.sent ? m.last : c->channel.sent;
    if (m.first == 0 || m.first > m.last) return;
    /* j has forgotten the messages between: they are logged, to be safe */
    if (m.first > c->acked + 1 && m.first <= c->channel.sent)
        hark_sendet_acked(s, c, m.first - 1, HARK_INFINITY);
    hark_sendet_acked(s, c, posted, m.recv);
    if (m.last > c->channel.sent)
        hark_trail_add(&s->head, &s->pool, &c->recorded,
            m.first > c->channel.sent ? m.first : c->channel.sent + 1, m.phase, m.sent, m.recv);
}

/* Takes ORPH from j: u32 (fragment << 16 | last), u32 0, then runs {first, last, phase, epochSend,
 * epochRecv: u64 each} of my messages that j has, beyond those that my POS gave as acknowledged:
 * orphans (U-2), and messages in my image (N-2). */
static inline int hark_sendet_orph(struct hark_sendet *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    struct hark_sendet_channel *c = hark_sendet_find(s, h->src, h->ctx);
    if (c && !hark_sendet_inter(c)) return hark_emit_verdict(fx, HARK_DISCARD);
    if (hark_orph_early(&s->head, &s->pairs, c ? &c->pos : NULL, h->src, b))
        return hark_emit_verdict(fx, HARK_HOLD);
    if (c == NULL) return hark_emit_verdict(fx, HARK_DISCARD);
    for (uint32_t at = 8; at < length; at += 40) hark_sendet_orph_run(s, c, b + at);
    if (hark_orph_took(&c->channel, &c->pos, b))
        /* j has forgotten the messages that are missing: they are logged, to be safe */
        hark_sendet_acked(s, c, c->pos.transmitted, HARK_INFINITY);
    hark_sendet_forget(s, c, 0, fx);
    hark_sendet_go_on(s);
    s->busy = s->endpoint.offer = 1;
    return HARK_OK;
}

/* Takes RELEASE: the gate opens up to a phase. After the first RELEASE the line is known. */
static inline int hark_sendet_release(struct hark_sendet *s, const uint8_t *b)
{
    uint64_t rel = hark_get64(b);
    if (rel > s->released_phase) s->released_phase = rel;
    hark_sendet_go_on(s);
    s->busy = 1;
    return HARK_OK;
}

/* Takes RECDONE: the failure-free rules apply again. */
static inline int hark_sendet_recdone(struct hark_sendet *s, struct hark_effects *fx)
{
    s->recovering = s->frozen = s->is_down = 0;
    s->released_phase = HARK_INFINITY;
    hark_empty(&s->head, &s->pairs);
    hark_empty(&s->head, &s->again);
    hark_empty(&s->head, &s->endpoint.down);
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        hark_positions_clear(&c->channel, &c->pos, 0);
        hark_trail_clear(&s->head, &s->pool, &c->recorded);
    }
    s->endpoint.offer = 1;
    hark_emit(fx, HARK_RECOVERED);
    return HARK_OK;
}

#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
