/* sendet/channel.h: rows of channels, headers of messages, and the effects of an acknowledgement. A
 * part of sendet.h. */
#ifndef HARK_SENDET_CHANNEL_H
#define HARK_SENDET_CHANNEL_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* ---- rows ------------------------------------------------------------------------------------ */

static inline struct hark_sendet_channel *hark_sendet_at(struct hark_sendet *s, uint32_t i)
{
    return (struct hark_sendet_channel *)hark_row(&s->head, &s->endpoint.channels, i);
}

/* False for messages to myself: an image contains them, because its wave drains that channel. */
static inline bool hark_sendet_inter(const struct hark_sendet_channel *c)
{
    return !(c->channel.flags & HARK_INTRA);
}

static inline int hark_sendet_reserve(struct hark_sendet *s, uint32_t channels, uint32_t chunks)
{
    int status = hark_reserve(&s->head, &hark_sendet_shape, &s->endpoint.channels, channels);
    if (status >= 0) status = hark_pool_reserve(&s->head, &hark_sendet_shape, &s->pool, chunks);
    return status;
}

/* Makes room for hark_sendet_captured: this step may capture an image, and may have made a
 * channel. */
static inline int hark_sendet_reserve_image(struct hark_sendet *s)
{
    int status =
        hark_reserve(&s->head, &hark_sendet_shape, &s->positions, s->endpoint.channels.count + 1);
    return status >= 0 ? hark_reserve(&s->head, &hark_sendet_shape, &s->images, 1) : status;
}

static inline struct hark_sendet_channel *hark_sendet_find(
    struct hark_sendet *s, uint32_t peer, uint16_t ctx)
{
    return (struct hark_sendet_channel *)(void *)hark_channel_find(
        &s->head, &s->endpoint, peer, ctx);
}

/* Returns the row of (peer, ctx), and makes it if it is new. NULL: the pair already uses
 * HARK_SENDET_CTX_MAX contexts. */
static inline struct hark_sendet_channel *hark_sendet_channel(
    struct hark_sendet *s, uint32_t peer, uint16_t ctx)
{
    struct hark_sendet_channel *c = hark_sendet_find(s, peer, ctx);
    if (c) return c;
    if (hark_contexts_full(&s->head, &s->endpoint, &hark_sendet_exchange, peer)) return NULL;
    c = (struct hark_sendet_channel *)(void *)hark_channel_add(&s->head, &s->endpoint, peer, ctx);
    hark_positions_begin(&c->pos);
    hark_trail_begin(&c->log);
    hark_trail_begin(&c->rpp);
    hark_trail_begin(&c->recorded);
    return c;
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

/* Returns the index of SPE[epoch][j], or where its row belongs. */
static inline uint32_t hark_sendet_spe_search(
    const struct hark_sendet *s, uint64_t epoch, uint32_t peer)
{
    uint32_t low = 0, high = s->spe.count;
    while (low < high) {
        const uint32_t mid = (low + high) / 2;
        const struct hark_sendet_spe *x =
            (const struct hark_sendet_spe *)hark_row_of(&s->head, &s->spe, mid);
        if (x->epoch < epoch || (x->epoch == epoch && x->peer < peer)) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* Raises SPE[epoch][j] to `latest`. A row has been reserved. */
static inline void hark_sendet_count(
    struct hark_sendet *s, uint64_t epoch, uint32_t peer, uint64_t latest)
{
    const uint32_t i = hark_sendet_spe_search(s, epoch, peer);
    struct hark_sendet_spe *x =
        i < s->spe.count ? (struct hark_sendet_spe *)hark_row(&s->head, &s->spe, i) : NULL;
    if (x == NULL || x->epoch != epoch || x->peer != peer) {
        x = (struct hark_sendet_spe *)hark_insert(&s->head, &s->spe, i);
        x->epoch = epoch;
        x->peer = peer;
    }
    if (latest > x->latest) x->latest = latest; /* U-4 */
}

/* Takes note that j has received my messages up to `last` in j's epoch `epoch`. Those sent in an
 * earlier epoch are logged, the others only counted. Needs room for a chunk, and for a row of SPE
 * for each run of epochs. */
static inline void hark_sendet_acked(
    struct hark_sendet *s, struct hark_sendet_channel *c, uint64_t last, uint64_t epoch)
{
    struct hark *p = &s->head;
    struct hark_mark m;
    if (last <= c->acked) return;
    for (uint64_t ssn = c->acked + 1; ssn <= last; ssn = m.last + 1) {
        m = hark_trail_at(p, &s->pool, &c->log, ssn, last);
        if (epoch <= m.sent) hark_sendet_count(s, m.sent, c->channel.peer, epoch);
    }
    hark_runs_add(p, &s->pool, &c->log.recv, c->acked + 1, epoch);
    c->acked = last;
}

/* Forgets the messages up to `last`. */
static inline void hark_sendet_forget_to(
    struct hark_sendet *s, struct hark_sendet_channel *c, uint64_t last)
{
    struct hark *p = &s->head;
    hark_trail_trim(p, &s->pool, &c->log, last, c->channel.sent, c->acked);
    if (last == c->channel.sent) hark_queue_empty(p, &s->pool, &c->pos.digests);
    for (; c->pos.first <= last && c->pos.digests.count; c->pos.first++)
        hark_queue_pop(p, &s->pool, &c->pos.digests);
    c->pos.first = last + 1;
}

/* Forgets, from the first retained message on, messages that are acknowledged and not logged, and
 * all acknowledged messages up to `safe`. Returns the last one that is forgotten now; 0: none. */
static inline uint64_t hark_sendet_forgotten(
    struct hark_sendet *s, struct hark_sendet_channel *c, uint64_t safe)
{
    struct hark *p = &s->head;
    uint64_t from = c->pos.first;
    if (safe > c->acked) safe = c->acked;
    if (safe >= from) from = safe + 1;
    while (from <= c->acked) {
        struct hark_mark m = hark_trail_at(p, &s->pool, &c->log, from, c->acked);
        if (m.recv > m.sent) break; /* logged */
        from = m.last + 1;
    }
    if (from == c->pos.first) return 0;
    hark_sendet_forget_to(s, c, from - 1);
    return from - 1;
}

static inline void hark_sendet_forget(
    struct hark_sendet *s, struct hark_sendet_channel *c, uint64_t safe, struct hark_effects *fx)
{
    const uint64_t last = hark_sendet_forgotten(s, c, safe);
    if (last) hark_emit_trim(fx, hark_name_of(HARK_OUT, &c->channel, last));
}

/* ---- headers and digests --------------------------------------------------------------------- */

/* Writes what the header of a message has after the common part. It acknowledges j's messages that
 * arrived in one epoch only: an acknowledgement never crosses a checkpoint of its sender (N-5). */
static inline void hark_sendet_carry(struct hark_sendet *s, struct hark_sendet_channel *c,
    uint64_t phase, uint64_t digest, uint64_t epoch, uint8_t *b)
{
    uint64_t first = c->acks_sent + 1, last = c->channel.recv, received = 0;
    if (first <= last && hark_sendet_inter(c)) {
        const uint64_t *run = hark_queue_last(&s->head, &s->pool, &c->rpp.recv);
        received = run && run[0] <= first
                       ? run[1]
                       : hark_runs_at(&s->head, &s->pool, &c->rpp.recv, first, &last);
    }
    hark_put64(b, phase);
    hark_put64(b + 8, digest);
    hark_put64(b + 16, epoch);
    hark_put64(b + 24, received ? first : 0);
    hark_put64(b + 32, received ? last : 0);
    hark_put64(b + 40, received);
    if (received) c->acks_sent = last;
}

/* Emits TRANSMIT of message ssn. */
static inline struct hark_transmit *hark_sendet_transmit(struct hark_sendet *s,
    struct hark_sendet_channel *c, uint64_t ssn, uint64_t phase, uint64_t epoch, uint64_t digest,
    struct hark_effects *fx)
{
    uint8_t *b;
    struct hark_head h = {HARK_KIND_SENDET, HARK_APP, c->channel.ctx, s->endpoint.me,
        c->channel.peer, s->endpoint.inc, c->channel.inc, s->endpoint.re, ssn};
    struct hark_transmit *x = hark_emit_frame(fx, &h, HARK_SENDET_HEADER, &b);
    hark_sendet_carry(s, c, phase, digest, epoch, b);
    x->name = hark_name_of(HARK_OUT, &c->channel, ssn);
    x->phase = phase;
    return x;
}

#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
