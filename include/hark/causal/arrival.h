/* causal/arrival.h: checks whether a message is well-formed, makes room for what it brings, and has
 * the entries for the usual message, which do what hark_scmel_step does when there is no recovery,
 * no checkpoint and no gap, in fewer instructions. A part of scmel.h. */
#ifndef HARK_CAUSAL_ARRIVAL_H
#define HARK_CAUSAL_ARRIVAL_H

#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES

/* ---- what a message brings ------------------------------------------------------------------- */

static inline bool hark_scmel_dets_ok(struct hark_scmel *s, const uint8_t *b, uint32_t n)
{
    struct hark_det x;
    for (; n > 0; n--, b += hark_det_bytes(s->k))
        if (!hark_det_read(&x, b, s->endpoint.ranks, s->k)) return false;
    return true;
}

/* True if the message is well-formed but for its determinants. *dets: the number of these. */
static inline bool hark_scmel_outside_ok(struct hark_scmel *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, uint32_t *dets)
{
    if (length < 8 || hark_get32(b + 4) != s->k || !hark_scmel_belongs(s, h)) return false;
    *dets = hark_get16(b);
    if (h->src == s->endpoint.me && length != 8) return false;
    return length == 8 + *dets * hark_det_bytes(s->k) +
                         (hark_get16(b + 2) & ~HARK_SCMEL_WHOLE) * HARK_ACK_BYTES;
}

/* True if the message is well-formed. */
static inline bool hark_scmel_message_ok(struct hark_scmel *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, uint32_t *dets)
{
    return hark_scmel_outside_ok(s, h, b, length, dets) && hark_scmel_dets_ok(s, b + 8, *dets);
}

/* Reserves room for all that a frame with `channels` channels and `dets` determinants may add,
 * before any state changes. */
static inline int hark_scmel_room(struct hark_scmel *s, uint32_t channels, uint32_t dets)
{
    struct hark *p = &s->head;
    const struct hark_shape *shape = &hark_scmel_shape;
    int status = hark_reserve(p, shape, &s->endpoint.channels, channels);
    if (status >= 0 && dets) status = hark_pool_reserve(p, shape, &s->pool, dets);
    if (status >= 0 && dets) status = hark_reserve(p, shape, &s->logs, dets);
    if (status >= 0 && dets) status = hark_reserve(p, shape, &s->owed, dets);
    if (status >= 0 && s->wave.mode != HARK_W_RUN)
        status = hark_reserve(p, shape, &s->positions,
            s->endpoint.channels.count + channels + s->logs.count + dets + 2 * s->groups.count + 1);
    return status;
}

/* ---- the usual message ----------------------------------------------------------------------- */

/* True if nothing is on its way but messages, so that a message has no effects but its own. */
static inline bool hark_scmel_usual(const struct hark_scmel *s)
{
    const struct hark_endpoint *e = &s->endpoint;
    return !(s->gone | s->head.more | s->recovering | s->late | s->busy | s->offer_peer |
               e->awaiting | e->offer | e->waiting.count | e->beyond.count | e->down.count |
               s->wave.in_checkpoint_call) &&
           s->mode == HARK_SCMEL_NORMAL && hark_wave_calm(&s->wave) && hark_step_rests(e, &s->wave);
}

/* Posts a usual message, as hark_scmel_send.                                              l. 1-9 */
HARK_FN int hark_scmel_post(
    struct hark *p, const struct hark_posting *m, uint8_t *header, struct hark_posted *posted)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    if (!s->usual || m->to != HARK_PROCESS || (m->ctx && s->groups.count)) return HARK_UNUSUAL;
    struct hark_scmel_channel *c =
        (struct hark_scmel_channel *)(void *)hark_channel_find(p, &s->endpoint, m->peer, m->ctx);
    if (c == NULL || m->peer == s->endpoint.me || c->transmitted != c->channel.sent)
        return HARK_UNUSUAL;
    const uint32_t acks_most = s->owed.count < HARK_SCMEL_ACKS ? s->owed.count : HARK_SCMEL_ACKS;
    const uint64_t dets_most = hark_scmel_unstable(p) * hark_det_bytes(s->k);
    if (dets_most > HARK_SCMEL_ROOM ||
        HARK_SCMEL_HEADER + dets_most + acks_most * HARK_ACK_BYTES > HARK_POSTED_BYTES)
        return HARK_UNUSUAL;
    uint8_t *b = header + HARK_SCMEL_HEADER;
    uint32_t n;
    hark_scmel_carry(s, m->peer, c->carried, b, HARK_SCMEL_ROOM, &n);
    const uint32_t dets = n * hark_det_bytes(s->k);
    const uint32_t acks = hark_owed_write(p, &s->owed, m->peer, b + dets, HARK_SCMEL_ACKS);
    c->carried = s->published_rsn = s->rsn;
    const uint64_t ssn = ++c->channel.sent;
    c->transmitted = ssn;
    c->channel.flags &= (uint16_t)~HARK_SCMEL_WENT;
    const struct hark_head h = {(uint8_t)p->kind, HARK_APP, c->channel.ctx, s->endpoint.me, m->peer,
        s->endpoint.inc, c->channel.inc, s->endpoint.re, ssn};
    hark_head_put(header, &h);
    hark_put16(header + HARK_WIRE_HEAD, (uint16_t)n);
    hark_put16(header + HARK_WIRE_HEAD + 2, (uint16_t)acks);
    hark_put32(header + HARK_WIRE_HEAD + 4, s->k);
    const struct hark_posted x = {ssn, c->channel.inc,
        HARK_SCMEL_HEADER + dets + acks * HARK_ACK_BYTES, n, !hark_scmel_unlogged(c)};
    *posted = x;
    return HARK_OK;
}

/* True if the determinants are well-formed and make nothing due: neither a frame of
 * acknowledgements nor a SPREAD. */
static inline bool hark_scmel_brings_little(
    const struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, uint32_t dets)
{
    struct hark_det x;
    uint64_t owed = hark_owed_count(&s->head, &s->owed, h->src);
    if (hark_scmel_many(s, (uint64_t)s->fresh + dets + 1) &&
        hark_scmel_many(s, hark_scmel_unstable(&s->head) + dets + 1))
        return false; /* see hark_scmel_grown */
    for (; dets > 0; dets--, b += hark_det_bytes(s->k)) {
        if (!hark_det_read(&x, b, s->endpoint.ranks, s->k)) return false;
        owed += hark_det_run(hark_det_channel(x.src, x.ctx), x.ssn);
    }
    return owed < HARK_SCMEL_OWED;
}

/* Receives a usual message, as hark_scmel_message and then hark_scmel_deliver.          l. 10-21 */
HARK_FN int hark_scmel_receive(struct hark *p, struct hark_bytes header)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    struct hark_head h;
    uint32_t dets;
    if (!s->usual || header.length < HARK_SCMEL_HEADER || hark_head_get(&h, header, p->kind) < 0 ||
        h.type != HARK_APP || !hark_head_valid(&s->endpoint, &h) || h.src == s->endpoint.me ||
        (h.ctx && s->groups.count))
        return HARK_UNUSUAL;
    const uint8_t *b = header.at + HARK_WIRE_HEAD;
    if (!hark_scmel_outside_ok(s, &h, b, header.length - HARK_WIRE_HEAD, &dets) ||
        hark_age_by(&s->endpoint, &h, hark_inc_of(p, &s->endpoint, h.src)) != HARK_CURRENT ||
        !hark_scmel_brings_little(s, &h, b + 8, dets))
        return HARK_UNUSUAL;
    if (hark_scmel_room(s, 0, dets) < 0 ||
        hark_pool_reserve(p, &hark_scmel_shape, &s->pool, dets + 1) < 0)
        return HARK_UNUSUAL;
    struct hark_scmel_channel *c =
        (struct hark_scmel_channel *)(void *)hark_channel_find(p, &s->endpoint, h.src, h.ctx);
    if (c == NULL || h.ssn != c->channel.recv + 1 || c->channel.done != c->channel.recv ||
        c->channel.flags & (HARK_GAP | HARK_OWED))
        return HARK_UNUSUAL;
    hark_scmel_absorb_all(s, &h, b + 8, dets, false);
    hark_scmel_acks(
        s, &h, b + 8 + dets * hark_det_bytes(s->k), hark_get16(b + 2) & ~HARK_SCMEL_WHOLE);
    c->channel.recv = c->channel.done = h.ssn;
    if (c->accepted != h.src_inc) {
        c->accepted = h.src_inc;
        c->from = h.ssn;
    }
    hark_scmel_record_choice(s, hark_det_channel(h.src, h.ctx), h.ssn, NULL);
    return HARK_OK;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
