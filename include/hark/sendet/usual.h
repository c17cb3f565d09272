/* sendet/usual.h: the entries for the usual message. They do what hark_sendet_step does when there
 * is no failure, no checkpoint and no gap. A part of sendet.h. */
#ifndef HARK_SENDET_USUAL_H
#define HARK_SENDET_USUAL_H

#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* True if nothing is on its way but messages, so that a message has no effects but its own. */
static inline bool hark_sendet_usual(const struct hark_sendet *s)
{
    const struct hark_endpoint *e = &s->endpoint;
    return !(s->gone | s->head.more | s->recovering | s->frozen | s->busy | e->awaiting | e->offer |
               e->waiting.count | e->beyond.count | s->wave.in_checkpoint_call) &&
           s->released_phase == HARK_INFINITY && s->wave.mode == HARK_W_RUN &&
           hark_step_rests(e, &s->wave);
}

/* Posts a usual message, as hark_sendet_send. */
HARK_FN int hark_sendet_post(
    struct hark *p, const struct hark_posting *m, uint8_t *header, struct hark_posted *posted)
{
    struct hark_sendet *s = (struct hark_sendet *)(void *)p;
    if (!s->usual || m->to != HARK_PROCESS) return HARK_UNUSUAL;
    if (hark_pool_reserve(p, &hark_sendet_shape, &s->pool, HARK_TRAIL_CHUNKS) < 0)
        return HARK_UNUSUAL;
    struct hark_sendet_channel *c = hark_sendet_find(s, m->peer, m->ctx);
    if (c == NULL || !hark_sendet_inter(c) || c->pos.transmitted != c->channel.sent ||
        c->pos.last_orphan > c->channel.sent)
        return HARK_UNUSUAL;
    const uint64_t ssn = ++c->channel.sent;
    c->pos.transmitted = ssn;
    if (s->flags & HARK_DIGEST)
        c->pos.sent_digest = hark_digest_mix(c->pos.sent_digest, ssn, m->length, m->digest);
    const struct hark_head h = {HARK_KIND_SENDET, HARK_APP, c->channel.ctx, s->endpoint.me,
        c->channel.peer, s->endpoint.inc, c->channel.inc, s->endpoint.re, ssn};
    hark_head_put(header, &h);
    hark_sendet_carry(s, c, s->phase, c->pos.sent_digest, s->epoch, header + HARK_WIRE_HEAD);
    hark_trail_add(p, &s->pool, &c->log, ssn, s->phase, s->epoch, 0);
    if (s->flags & HARK_DIGEST)
        *hark_queue_push_wide(p, &s->pool, &c->pos.digests, 1) = c->pos.sent_digest;
    const struct hark_posted x = {ssn, c->channel.inc, HARK_SENDET_HEADER, 0, true};
    *posted = x;
    return HARK_OK;
}

/* As hark_sendet_acked and then hark_sendet_forgotten where all that is retained was sent in one
 * epoch. */
static inline uint64_t hark_sendet_acked_one(
    struct hark_sendet *s, struct hark_sendet_channel *c, uint64_t last, uint64_t epoch)
{
    struct hark *p = &s->head;
    const uint64_t *sent = hark_queue_first(p, &s->pool, &c->log.sent);
    const bool counted = sent && epoch <= sent[1];
    if (counted) hark_sendet_count(s, sent[1], c->channel.peer, epoch);
    hark_runs_add(p, &s->pool, &c->log.recv, c->acked + 1, epoch);
    c->acked = last;
    if (!counted || c->log.recv.count > 1) return hark_sendet_forgotten(s, c, 0);
    hark_sendet_forget_to(s, c, last);
    return last;
}

/* Receives a usual message, as hark_sendet_arrive and then hark_sendet_deliver. All that it
 * acknowledges was sent in one epoch. */
HARK_FN int hark_sendet_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    struct hark_sendet *s = (struct hark_sendet *)(void *)p;
    struct hark_head h;
    if (!s->usual || header.length != HARK_SENDET_HEADER ||
        hark_head_get(&h, header, HARK_KIND_SENDET) < 0 || h.type != HARK_APP ||
        h.dst != s->endpoint.me || h.dst_inc != s->endpoint.inc)
        return HARK_UNUSUAL;
    if (hark_pool_reserve(p, &hark_sendet_shape, &s->pool, HARK_TRAIL_CHUNKS + 1) < 0 ||
        hark_reserve(p, &hark_sendet_shape, &s->spe, 1) < 0)
        return HARK_UNUSUAL; /* before a row is looked for: rows move */
    struct hark_sendet_channel *c = hark_sendet_find(s, h.src, h.ctx);
    if (c == NULL || h.src_inc != c->channel.inc || h.ssn != c->channel.recv + 1 ||
        c->channel.done != c->channel.recv ||
        c->channel.flags & (HARK_GAP | HARK_OWED | HARK_INTRA))
        return HARK_UNUSUAL;
    const uint8_t *b = header.at + HARK_WIRE_HEAD;
    const uint64_t phase = hark_get64(b), sent = hark_get64(b + 16), acked = hark_get64(b + 32);
    if (acked > c->channel.sent || hark_sendet_ahead(c, b + 24) ||
        (acked > c->acked && c->log.sent.count > 1))
        return HARK_UNUSUAL;
    c->channel.recv = c->channel.done = h.ssn;
    c->pos.recv_digest = hark_get64(b + 8);
    hark_trail_add(p, &s->pool, &c->rpp, h.ssn, phase, sent, s->epoch);
    received->logged = sent < s->epoch;
    if (acked > c->acked) received->trim = hark_sendet_acked_one(s, c, acked, hark_get64(b + 40));
    if (phase + received->logged > s->phase) s->phase = phase + received->logged;
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
