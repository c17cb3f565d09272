/* sendet/pump.h: sends the frames that a step has marked as due, in batches: POS, ORPH, REPORT,
 * NOTIFY, replays, acknowledgements, EPOCH, images to drop, GC, DRAINED. A part of sendet.h. */
#ifndef HARK_SENDET_PUMP_H
#define HARK_SENDET_PUMP_H

#include "messages.h"
#include "report.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Each of these functions returns HARK_MORE when the effects are full. */

static inline int hark_sendet_pump_pos(struct hark_sendet *s, struct hark_effects *fx)
{
    return hark_pos_pump(&s->head, &s->endpoint, &hark_sendet_exchange, &s->pairs, fx);
}

/* Sends ORPH to j: j's messages that I have and that j does not know as acknowledged. */
static inline int hark_sendet_pump_orph(struct hark_sendet *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        while (c->channel.flags & HARK_ORPH_DUE) {
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            uint8_t *b = hark_emit_control(p, &s->endpoint, fx, HARK_H_ORPH, c->channel.peer, 8);
            uint32_t at = 8;
            for (; at + 40 <= HARK_FRAGMENT - HARK_WIRE_HEAD &&
                   c->pos.orphan_next <= c->channel.recv;) {
                struct hark_mark m =
                    hark_trail_at(p, &s->pool, &c->rpp, c->pos.orphan_next, c->channel.recv);
                c->pos.orphan_next = m.last + 1;
                if (m.phase == 0) continue; /* j's own GC has trimmed them, and yet j asks */
                hark_put64(b + at, m.first);
                hark_put64(b + at + 8, m.last);
                hark_put64(b + at + 16, m.phase);
                hark_put64(b + at + 24, m.sent);
                hark_put64(b + at + 32, m.recv);
                at += 40;
            }
            hark_orph_end(&c->channel, &c->pos, b, at, c->pos.orphan_next > c->channel.recv, fx);
        }
    }
    return HARK_OK;
}

/* Sends NOTIFY to the recovery process: orphans that were sent again. */
static inline int hark_sendet_pump_notify(struct hark_sendet *s, struct hark_effects *fx)
{
    return s->frozen ? HARK_OK
                     : hark_notify_pump(&s->head, &s->endpoint, &hark_sendet_exchange, false, fx);
}

/* Sends the messages of channel c that the gate releases, ssn ascending: replays of Logs and
 * NonAck, and delayed sends. */
static inline int hark_sendet_replay(
    struct hark_sendet *s, struct hark_sendet_channel *c, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    while (c->pos.transmitted < c->channel.sent) {
        struct hark_mark m =
            hark_trail_at(p, &s->pool, &c->log, c->pos.transmitted + 1, c->channel.sent);
        for (uint64_t ssn = m.first; ssn <= m.last; ssn++) {
            if (!hark_sendet_may(s, c, ssn, m.phase)) return HARK_OK;
            if (!hark_effects_fit(fx, 1, HARK_SENDET_HEADER)) return HARK_MORE;
            uint64_t digest = hark_digest_at(p, &s->pool, &c->pos, ssn);
            hark_sendet_transmit(s, c, ssn, m.phase, m.sent, digest, fx)->replay = true;
            c->pos.transmitted = ssn;
        }
    }
    return HARK_OK;
}

static inline int hark_sendet_pump_replay(struct hark_sendet *s, struct hark_effects *fx)
{
    int status = HARK_OK;
    for (uint32_t i = 0; i < s->endpoint.channels.count && !s->frozen && status == HARK_OK; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        if (hark_sendet_inter(c)) status = hark_sendet_replay(s, c, fx);
    }
    return status;
}

/* Sends ACK of all messages that no header has acknowledged: one run for each of my epochs
 * (N-5). */
static inline int hark_sendet_pump_ack(struct hark_sendet *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count && s->ack_due && !s->frozen; i++) {
        struct hark_sendet_channel *c = hark_sendet_at(s, i);
        while (hark_sendet_inter(c) && c->acks_sent < c->channel.recv) {
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            uint8_t *b =
                hark_emit_control(&s->head, &s->endpoint, fx, HARK_H_ACK, c->channel.peer, 0);
            uint32_t at = 0;
            hark_put16(b - HARK_WIRE_HEAD + 2, c->channel.ctx);
            for (; at + 24 <= HARK_FRAGMENT - HARK_WIRE_HEAD && c->acks_sent < c->channel.recv;
                 at += 24) {
                uint64_t last = c->channel.recv;
                uint64_t epoch =
                    hark_runs_at(&s->head, &s->pool, &c->rpp.recv, c->acks_sent + 1, &last);
                hark_put64(b + at, c->acks_sent + 1);
                hark_put64(b + at + 8, last);
                hark_put64(b + at + 16, epoch);
                c->acks_sent = last;
            }
            fx->used += at;
            fx->at[fx->count - 1].u.transmit.header.length = HARK_WIRE_HEAD + at;
        }
    }
    s->ack_due = 0;
    return HARK_OK;
}

/* Sends EPOCH: I have taken a checkpoint; with the epoch of the oldest image that I may need. */
static inline int hark_sendet_pump_epoch(struct hark_sendet *s, struct hark_effects *fx)
{
    if (!s->epoch_due) return HARK_OK;
    if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
    uint8_t *b = hark_emit_control(&s->head, &s->endpoint, fx, HARK_H_EPOCH, HARK_RECOVERY, 16);
    hark_put64(b, s->epoch);
    hark_put64(b + 8, hark_sendet_oldest(s));
    s->epoch_due = 0;
    return HARK_OK;
}

static inline uint64_t hark_sendet_oldest_image(struct hark_sendet *s)
{
    return ((const struct hark_sendet_image *)hark_row(&s->head, &s->images, 0))->id;
}

/* Emits DROP of images of epochs below E. If any was dropped, GC is due to the peers of the oldest
 * image that is left. */
static inline int hark_sendet_pump_drop(struct hark_sendet *s, struct hark_effects *fx)
{
    bool any = false;
    for (;;) {
        struct hark_sendet_image *x = (struct hark_sendet_image *)hark_row(&s->head, &s->images, 0);
        if (s->images.count <= s->generations || s->taken || x->epoch >= s->oldest_epoch) break;
        if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
        if (x->id) hark_emit_checkpoint(fx, HARK_DROP, x->id);
        hark_sendet_forget_image(s, 0);
        any = true;
    }
    if (any) hark_gc_mark(&s->head, &s->endpoint, &s->positions, hark_sendet_oldest_image(s));
    return HARK_OK;
}

static inline int hark_sendet_pump_gc(struct hark_sendet *s, struct hark_effects *fx)
{
    return hark_gc_pump(&s->head, &s->endpoint, &s->positions, hark_sendet_oldest_image(s), fx);
}

/* Sends DRAINED when everything is released and sent. Only then may D shrink (v4). */
static inline int hark_sendet_pump_drained(struct hark_sendet *s, struct hark_effects *fx)
{
    if (!s->recovering || s->drained || s->released_phase != HARK_INFINITY) return HARK_OK;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
        if (hark_sendet_at(s, i)->pos.transmitted < hark_sendet_at(s, i)->channel.sent)
            return HARK_OK;
    if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD)) return HARK_MORE;
    s->drained = 1;
    hark_emit_control(&s->head, &s->endpoint, fx, HARK_H_DRAINED, HARK_RECOVERY, 0);
    return HARK_OK;
}

HARK_COLD int hark_sendet_pump(struct hark_sendet *s, struct hark_effects *fx)
{
    static int (*const part[])(struct hark_sendet *, struct hark_effects *) = {hark_sendet_pump_pos,
        hark_sendet_pump_orph, hark_sendet_pump_report, hark_sendet_pump_notify,
        hark_sendet_pump_replay, hark_sendet_pump_ack, hark_sendet_pump_epoch,
        hark_sendet_pump_drop, hark_sendet_pump_gc, hark_sendet_pump_drained};
    for (uint32_t i = 0; i < HARK_COUNT(part) && s->busy; i++) {
        int status = part[i](s, fx);
        if (status != HARK_OK) return status;
    }
    s->busy = 0;
    int status = hark_wave_pump(&s->head, &s->endpoint, &s->wave, fx);
    return status == HARK_OK ? hark_offer_all(&s->endpoint, fx) : status;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
