/* causal/usual.h: the entries for the usual message. They do what hark_scmel_step does when there
 * is no recovery, no checkpoint and no gap, in fewer instructions. A part of scmel.h. */
#ifndef HARK_CAUSAL_USUAL_H
#define HARK_CAUSAL_USUAL_H

#include "arrival.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES

/* True if nothing is on its way but messages, so that a message has no effects but its own. */
static inline bool hark_scmel_usual(const struct hark_scmel *s)
{
    const struct hark_endpoint *e = &s->endpoint;
    return !(s->gone | s->head.more | s->recovering | s->late | s->busy | s->offer_peer |
               e->awaiting | e->offer | e->waiting.count | e->beyond.count | e->down.count |
               s->wave.in_checkpoint_call) &&
           s->mode == HARK_SCMEL_NORMAL && hark_wave_calm(&s->wave) && hark_step_rests(e, &s->wave);
}

/* True if one copy of a determinant is enough and none is forwarded. Then a message brings only
 * choices of its sender, whose rows here need no holders. */
static inline bool hark_scmel_plain(const struct hark_scmel *s)
{
    return s->k == 1 && s->teams != HARK_SCMEL_TEAM_LOST;
}

/* ---- one is posted --------------------------------------------------------------------------- */

/* Writes the loose determinants with rsn > `carried`, as hark_scmel_carry where determinants are
 * plain. Returns where they end. */
HARK_HOT uint8_t *hark_scmel_carry_plain(
    struct hark_scmel *s, uint64_t carried, uint8_t *b, uint32_t *number)
{
    struct hark_dets *d = &s->own;
    uint32_t n = 0, left = d->loose;
    *number = 0;
    if (left == 0 || carried >= s->rsn) return b;
    struct hark_dets_place at = d->low.chunk ? d->low : hark_dets_begin(d);
    for (; left > 0 && at.chunk; hark_dets_pass(&s->head, &s->pool, hark_dets_width(1), &at)) {
        const uint64_t *row = hark_dets_words(&s->head, &s->pool, at);
        if (row[0] - 1 >= s->rsn) break; /* or none */
        if (row[3]) continue;            /* its holder */
        left--;
        if (row[0] <= carried) continue;
        hark_put32(b, s->endpoint.me);
        hark_put64(b + 4, row[2]);
        hark_put64(b + 12, row[1]);
        hark_put64(b + 20, row[0]);
        b += hark_det_bytes(1);
        n++;
    }
    *number = n;
    return b;
}

/* Posts a usual message, as hark_scmel_send.                                              l. 1-9 */
HARK_HOT int hark_scmel_post_as(struct hark *p, const struct hark_posting *m, uint8_t *header,
    struct hark_posted *posted, const bool plain)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    if (!s->usual || m->to != HARK_PROCESS || (m->ctx && s->groups.count)) return HARK_UNUSUAL;
    struct hark_scmel_channel *c =
        (struct hark_scmel_channel *)(void *)hark_channel_find(p, &s->endpoint, m->peer, m->ctx);
    if (c == NULL || m->peer == s->endpoint.me || c->transmitted != c->channel.sent)
        return HARK_UNUSUAL;
    const uint32_t acks_most = s->owed.count < HARK_SCMEL_ACKS ? s->owed.count : HARK_SCMEL_ACKS,
                   bytes = hark_det_bytes(plain ? 1 : s->k);
    const uint64_t dets_most = (plain ? s->own.loose : hark_scmel_unstable(p)) * bytes;
    if (dets_most > HARK_SCMEL_ROOM ||
        HARK_SCMEL_HEADER + dets_most + acks_most * HARK_ACK_BYTES > HARK_POSTED_BYTES)
        return HARK_UNUSUAL;
    uint8_t *b = header + HARK_SCMEL_HEADER;
    uint32_t n;
    if (plain) {
        b = hark_scmel_carry_plain(s, c->carried, b, &n);
    } else {
        hark_scmel_carry(s, m->peer, c->carried, b, HARK_SCMEL_ROOM, &n);
        b += n * bytes;
    }
    const uint32_t acks = hark_owed_write(p, &s->owed, m->peer, b, HARK_SCMEL_ACKS);
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
    posted->ssn = ssn;
    posted->inc = c->channel.inc;
    posted->header_length = (uint32_t)(b - header) + acks * HARK_ACK_BYTES;
    posted->determinants = n;
    posted->retain = !hark_scmel_unlogged(c);
    return HARK_OK;
}

HARK_FN int hark_scmel_post(
    struct hark *p, const struct hark_posting *m, uint8_t *header, struct hark_posted *posted)
{
    return hark_scmel_plain((struct hark_scmel *)(void *)p)
               ? hark_scmel_post_as(p, m, header, posted, true)
               : hark_scmel_post_as(p, m, header, posted, false);
}

/* ---- one is received ------------------------------------------------------------------------- */

/* Returns the determinants of the channel's peer; NULL if there are none yet. */
static inline struct hark_scmel_log *hark_scmel_log_of(
    struct hark_scmel *s, struct hark_scmel_channel *c)
{
    struct hark_scmel_log *log = c->log < s->logs.count ? hark_scmel_log_at(s, c->log) : NULL;
    if (log && log->rank == c->channel.peer) return log;
    return (struct hark_scmel_log *)hark_scmel_ranked(&s->head, &s->logs, c->channel.peer, &c->log);
}

/* True if the determinants are choices of `src` alone, each a delivery, one behind the other, and
 * behind all that are known of it. Their number is not 0. */
static inline bool hark_scmel_new_of(const struct hark_scmel *s, const struct hark_scmel_log *log,
    uint32_t src, const uint8_t *b, uint32_t dets)
{
    uint64_t rsn = hark_get64(b + 20);
    if (rsn <= log->dets.top || rsn > UINT64_MAX - dets) return false;
    for (; dets > 0; dets--, b += hark_det_bytes(1), rsn++)
        if (hark_get32(b) != src || hark_get32(b + 4) >= s->endpoint.ranks ||
            hark_get32(b + 8) > UINT16_MAX || hark_get64(b + 12) - 1 >= HARK_SSN_MOST ||
            hark_get64(b + 20) != rsn)
            return false;
    return true;
}

/* Stores them, as hark_scmel_absorb_all. */
static inline void hark_scmel_absorb_plain(
    struct hark_scmel *s, struct hark_scmel_log *log, const uint8_t *b, uint32_t dets)
{
    struct hark *p = &s->head;
    const uint64_t first = hark_get64(b + 20), last = first + dets - 1;
    for (uint64_t rsn = first; dets > 0; dets--, rsn++, b += hark_det_bytes(1))
        hark_dets_append_one(
            p, &s->pool, &log->dets, 0, rsn, hark_get64(b + 12), hark_get64(b + 4));
    hark_owed_add(p, &s->owed, log->rank, log->rank, first, last);
    if (last > log->acked) log->acked = last;
}

/* ReceiveDetAck, as hark_scmel_acks, of choices of mine: others' rows have no holders. l. 19-21 */
static inline void hark_scmel_acks_plain(
    struct hark_scmel *s, uint32_t src, const uint8_t *b, uint32_t n)
{
    if (s->awaited && n) s->awaited--;
    for (; n > 0; n--, b += HARK_ACK_BYTES) {
        const uint64_t first = hark_get64(b + 8);
        if (hark_get32(b) == s->endpoint.me)
            hark_dets_hold_one(
                &s->head, &s->pool, &s->own, first, first + hark_get32(b + 4) - 1, src);
    }
}

/* True if these plain determinants are new, there is room for them and one more, and they make no
 * frame of acknowledgements due. *log: where they belong. */
static inline bool hark_scmel_takes_plain(struct hark_scmel *s, struct hark_scmel_channel **c,
    const struct hark_head *h, const uint8_t *b, uint32_t dets, struct hark_scmel_log **log)
{
    struct hark *p = &s->head;
    if (hark_pool_reserve(p, &hark_scmel_shape, &s->pool, dets + 1) < 0 ||
        hark_reserve(p, &hark_scmel_shape, &s->owed, 1) < 0)
        return false;
    *c = (struct hark_scmel_channel *)(void *)hark_channel_find(p, &s->endpoint, h->src, h->ctx);
    if (*c == NULL) return false;
    if (dets == 0) return true;
    *log = hark_scmel_log_of(s, *c);
    return *log && hark_scmel_new_of(s, *log, h->src, b, dets) &&
           (s->owed.count == 0 ? 0 : hark_owed_count(p, &s->owed, h->src)) + dets < HARK_SCMEL_OWED;
}

/* True if the determinants are well-formed and make no frame of acknowledgements due, and there is
 * room for them. */
static inline bool hark_scmel_takes(struct hark_scmel *s, struct hark_scmel_channel **c,
    const struct hark_head *h, const uint8_t *b, uint32_t dets)
{
    struct hark *p = &s->head;
    struct hark_det x;
    uint64_t owed = hark_owed_count(p, &s->owed, h->src);
    for (uint32_t i = 0; i < dets; i++) {
        if (!hark_det_read(&x, b + i * hark_det_bytes(s->k), s->endpoint.ranks, s->k)) return false;
        owed += hark_det_run(hark_det_channel(x.src, x.ctx), x.ssn);
    }
    if (owed >= HARK_SCMEL_OWED || hark_scmel_room(s, 0, dets) < 0 ||
        hark_pool_reserve(p, &hark_scmel_shape, &s->pool, dets + 1) < 0)
        return false;
    *c = (struct hark_scmel_channel *)(void *)hark_channel_find(p, &s->endpoint, h->src, h->ctx);
    return *c != NULL;
}

/* True if so many determinants make no SPREAD due, see hark_scmel_grown. */
HARK_HOT bool hark_scmel_stays_few(const struct hark_scmel *s, uint32_t k, uint32_t dets)
{
    return !hark_scmel_many(k, (uint64_t)s->fresh + dets + 1) ||
           !hark_scmel_many(k, hark_scmel_unstable(&s->head) + dets + 1);
}

/* Receives a usual message, as hark_scmel_message and then hark_scmel_deliver.          l. 10-21 */
HARK_HOT int hark_scmel_receive_as(struct hark *p, struct hark_bytes header, const bool plain)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    struct hark_scmel_channel *c;
    struct hark_scmel_log *log = NULL;
    struct hark_head h;
    if (!s->usual || header.length < HARK_SCMEL_HEADER || hark_head_get(&h, header, p->kind) < 0 ||
        h.type != HARK_APP || h.dst != s->endpoint.me || h.dst_inc != s->endpoint.inc ||
        h.src == s->endpoint.me || (h.ctx && s->groups.count) || s->rsn < s->own.top)
        return HARK_UNUSUAL;
    const uint8_t *b = header.at + HARK_WIRE_HEAD;
    const uint32_t dets = hark_get16(b), acks = hark_get16(b + 2) & ~HARK_SCMEL_WHOLE,
                   k = plain ? 1 : s->k, bytes = dets * hark_det_bytes(k);
    if (hark_get32(b + 4) != s->k ||
        header.length != HARK_SCMEL_HEADER + bytes + acks * HARK_ACK_BYTES ||
        !hark_scmel_stays_few(s, k, plain ? 0 : dets))
        return HARK_UNUSUAL;
    if (plain ? !hark_scmel_takes_plain(s, &c, &h, b + 8, dets, &log)
              : !hark_scmel_takes(s, &c, &h, b + 8, dets))
        return HARK_UNUSUAL;
    if (h.src_inc != c->channel.inc || h.ssn != c->channel.recv + 1 ||
        c->channel.done != c->channel.recv || c->channel.flags & (HARK_GAP | HARK_OWED))
        return HARK_UNUSUAL;
    if (plain && dets) hark_scmel_absorb_plain(s, log, b + 8, dets);
    else if (!plain) hark_scmel_absorb_all(s, &h, b + 8, dets, false);
    if (plain) hark_scmel_acks_plain(s, h.src, b + 8 + bytes, acks);
    else hark_scmel_acks(s, &h, b + 8 + bytes, acks);
    c->channel.recv = c->channel.done = h.ssn;
    if (c->accepted != h.src_inc) {
        c->accepted = h.src_inc;
        c->from = h.ssn;
    }
    hark_scmel_record_new(s, k, hark_det_channel(h.src, h.ctx), h.ssn);
    return HARK_OK;
}

HARK_FN int hark_scmel_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    (void)received;
    return hark_scmel_plain((struct hark_scmel *)(void *)p)
               ? hark_scmel_receive_as(p, header, true)
               : hark_scmel_receive_as(p, header, false);
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
