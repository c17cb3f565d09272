/* sendet/messages.h: sending, receiving, delivering and acknowledging messages. A part of
 * sendet.h. */
#ifndef HARK_SENDET_MESSAGES_H
#define HARK_SENDET_MESSAGES_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* True if the gate, which delays messages in a recovery until RELEASE covers their phase, lets
 * message ssn leave now. Messages that a rolled-back process sends anew (beyond sent_at_failure)
 * may have the released phase; all others must be below it. The others may depend on an orphan of
 * their own phase, because an unlogged orphan does not raise the phase of its receiver (U-6). */
static inline bool hark_sendet_may(
    const struct hark_sendet *s, const struct hark_sendet_channel *c, uint64_t ssn, uint64_t phase)
{
    if (s->released_phase == HARK_INFINITY) return true;
    return s->is_down && ssn > c->pos.sent_at_failure ? phase <= s->released_phase
                                                      : phase < s->released_phase;
}

/* Suppresses an orphan that the program sends again: nothing is transmitted. Returns the phase and
 * the epochs that its receiver recorded: they replace the present ones, and the acknowledgement,
 * which will not come again (U-2). */
HARK_COLD struct hark_mark hark_sendet_suppress(
    struct hark_sendet *s, struct hark_sendet_channel *c, uint64_t ssn, struct hark_effects *fx)
{
    struct hark_mark m = hark_trail_at(&s->head, &s->pool, &c->recorded, ssn, ssn);
    if (m.phase == 0) m.phase = s->phase;
    if (m.sent == 0) m.sent = s->epoch;
    if (m.recv == 0) /* its receiver has forgotten it: it is logged, to be safe */
        m.recv = HARK_INFINITY;
    hark_suppress(&c->channel, &c->pos, ssn, m.phase, (s->flags & HARK_DIGEST) != 0, fx);
    s->busy = 1;
    return m;
}

/* Sends msg to P_j. Its ssn, phase and epoch are fixed when it is posted, not when it leaves. */
static inline int hark_sendet_send(
    struct hark_sendet *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint32_t peer = event->u.send.peer;
    if (event->u.send.to != HARK_PROCESS || peer >= s->endpoint.ranks) return HARK_EINVAL;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE; /* no sends inside a checkpoint call */
    int status = hark_sendet_reserve(s, 1, HARK_TRAIL_CHUNKS + 1);
    if (status >= 0) status = hark_reserve(p, &hark_sendet_shape, &s->spe, 1);
    if (status < 0) return status;
    struct hark_sendet_channel *c = hark_sendet_channel(s, peer, event->u.send.ctx);
    if (c == NULL) return HARK_EINVAL;
    struct hark_mark m = {0, 0, s->phase, s->epoch, 0};
    uint64_t ssn = ++c->channel.sent;
    if (s->flags & HARK_DIGEST)
        c->pos.sent_digest =
            hark_digest_mix(c->pos.sent_digest, ssn, event->u.send.length, event->u.send.digest);
    if (!hark_sendet_inter(c)) {
        c->pos.transmitted = ssn;
        hark_sendet_transmit(s, c, ssn, m.phase, m.sent, c->pos.sent_digest, fx);
        return HARK_OK;
    }
    if (ssn <= c->pos.last_orphan) {
        m = hark_sendet_suppress(s, c, ssn, fx);
    } else if (c->pos.transmitted + 1 == ssn && hark_sendet_may(s, c, ssn, m.phase)) {
        c->pos.transmitted = ssn;
        hark_sendet_transmit(s, c, ssn, m.phase, m.sent, c->pos.sent_digest, fx);
    }
    hark_trail_add(p, &s->pool, &c->log, ssn, m.phase, m.sent, 0);
    if (s->flags & HARK_DIGEST) *hark_queue_push(p, &s->pool, &c->pos.digests) = c->pos.sent_digest;
    hark_emit_retain(fx, hark_name_of(HARK_OUT, &c->channel, ssn));
    if (m.recv) {
        hark_sendet_acked(s, c, ssn, m.recv);
        hark_sendet_forget(s, c, 0, fx);
    }
    return HARK_OK;
}

/* True if an acknowledgement leaves a gap after the last one. The missing acknowledgement is on its
 * way (channels need not be FIFO), so this one must wait: otherwise its epoch would be taken for
 * the missing messages too. */
static inline bool hark_sendet_ahead(const struct hark_sendet_channel *c, const uint8_t *b)
{
    return hark_get64(b + 8) > c->acked && hark_get64(b) > c->acked + 1;
}

/* Takes an arrival: RPP records what has arrived, with the epoch of arrival. */
static inline int hark_sendet_arrive(
    struct hark_sendet *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool waited = false;
    int status = s->endpoint.waiting.count
                     ? hark_waited(p, &hark_sendet_shape, &s->endpoint, h, &waited)
                     : HARK_OK;
    if (status < 0) return status;
    if (waited) return hark_emit_verdict(fx, HARK_HANDUP);
    struct hark_sendet_channel *c = hark_sendet_find(s, h->src, h->ctx);
    int age =
        hark_age_by(&s->endpoint, h, c ? c->channel.inc : hark_inc_of(p, &s->endpoint, h->src));
    if (age != HARK_CURRENT)
        return hark_emit_verdict(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    if (hark_get64(b + 32) > (c ? c->channel.sent : 0)) return HARK_EFRAME;
    /* Between the capture of an image and its decision the epoch of this arrival is not known. */
    if (s->frozen || s->wave.mode >= HARK_W_CAPTURED) return hark_emit_verdict(fx, HARK_HOLD);
    status = hark_sendet_reserve(s, 1, HARK_TRAIL_CHUNKS + 1);
    if (status >= 0)
        status = hark_reserve(p, &hark_sendet_shape, &s->spe, c ? c->log.sent.count + 1 : 1);
    if (status >= 0) status = hark_sendet_reserve_image(s);
    if (status < 0) return status;
    c = hark_sendet_channel(s, h->src, h->ctx); /* rows may have moved */
    if (c == NULL) return HARK_EFRAME;
    if (h->ssn > c->channel.recv && hark_sendet_ahead(c, b + 24)) {
        c->channel.flags |= HARK_GAP;
        return hark_emit_verdict(fx, HARK_HOLD);
    }
    hark_accept(p, &s->endpoint, &c->channel, h, fx);
    if (fx->at[fx->count - 1].type != HARK_HANDUP) return HARK_OK;
    fx->at[fx->count - 1].u.handup.logged = hark_get64(b + 16) < s->epoch;
    c->pos.recv_digest = hark_get64(b + 8);
    if (hark_sendet_inter(c)) {
        hark_trail_add(p, &s->pool, &c->rpp, h->ssn, hark_get64(b), hark_get64(b + 16), s->epoch);
        hark_sendet_acked(s, c, hark_get64(b + 32), hark_get64(b + 40));
        hark_sendet_forget(s, c, 0, fx);
    }
    hark_wave_arrived(p, &s->endpoint, &s->wave, &c->channel, fx);
    hark_offer_gap(&c->channel, fx);
    return HARK_OK;
}

/* Takes ACK: {first, last, epoch: u64 each}: runs of messages, each of which arrived in one
 * epoch. */
static inline int hark_sendet_acks(struct hark_sendet *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    struct hark_sendet_channel *c = hark_sendet_find(s, h->src, h->ctx);
    if (c == NULL || !hark_sendet_inter(c) || hark_get64(b + length - 16) > c->channel.sent)
        return HARK_EFRAME;
    if (s->frozen) return hark_emit_verdict(fx, HARK_HOLD);
    if (hark_sendet_ahead(c, b)) {
        c->channel.flags |= HARK_GAP;
        return hark_emit_verdict(fx, HARK_HOLD);
    }
    for (uint32_t at = 0; at < length; at += 24) {
        uint64_t last = hark_get64(b + at + 8);
        hark_sendet_acked(
            s, c, last < c->channel.sent ? last : c->channel.sent, hark_get64(b + at + 16));
    }
    hark_sendet_forget(s, c, 0, fx);
    hark_offer_gap(&c->channel, fx);
    return HARK_OK;
}

/* Delivers msg. A message of an earlier epoch raises the phase: if it is logged, it is replayed
 * when its receiver rolls back, and messages that depend on it must wait. Any other message only
 * passes its phase on (U-7). */
static inline int hark_sendet_deliver(struct hark_sendet *s, const struct hark_event *event)
{
    struct hark_bytes header = event->u.frame.header;
    struct hark_channel *channel;
    if (header.length != HARK_SENDET_HEADER || header.at == NULL) return HARK_EFRAME;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    int status = hark_deliver_position(&s->head, &hark_sendet_shape, &s->endpoint, event, &channel);
    if (status < 0) return status;
    const struct hark_sendet_channel *c = (const struct hark_sendet_channel *)(const void *)channel;
    uint64_t phase = hark_get64(header.at + HARK_WIRE_HEAD),
             sent = hark_get64(header.at + HARK_WIRE_HEAD + 16);
    if (hark_sendet_inter(c) && sent < s->epoch)
        /* not by the epoch of arrival, which may differ in a re-execution (N-12) */
        phase++;
    if (phase > s->phase) s->phase = phase;
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
