/* hydee/failure.h: Algorithms 2 and 3: rollback, failure announcements, the exchange of positions and orphans, RELEASE.
 * A part of hydee.h. What these handlers mark as due, hydee/pump.h sends. */
#ifndef HARK_HYDEE_FAILURE_H
#define HARK_HYDEE_FAILURE_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* ---- Algorithms 2 and 3, as every process's own part -------------------------------------------------------- */

/* Restart from the last image on stable storage; sends wait for the FAILED that explains it.   Alg. 2 l. 4-5 */
static inline int hark_hydee_rollback(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint32_t flags = s->flags, fan = s->tree.fan;
    if (!hark_hydee_image_fits(s, event)) return HARK_EIMAGE;
    int status = hark_member_restart(p, &hark_hydee_shape, &s->ends, &s->wave, event, fx);
    if (status < 0) return status;
    s->flags = flags;
    s->tree.fan = fan;
    s->recovering = 1;
    s->rel = 0;
    hark_past_close(p, &s->past);
    for (uint32_t i = 0; i < s->ends.channels.count; i++)
        hark_hydee_at(s, i)->channel.flags &= (int)HARK_INTRA | HARK_HYDEE_MATE | HARK_HYDEE_CAST;
    hark_hydee_regrouped(s);
    return HARK_OK;
}

/* Upon failure: forget what the last epoch worked out (E11) and exchange positions on every channel with an
 * end in D. Those without one stay as they are, gated.                              Alg. 2 l. 4-8, Alg. 3 l. 6-18 */
static inline int hark_hydee_failed(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_ends *e = &s->ends;
    bool taken;
    int status = hark_reserve(p, &hark_hydee_shape, &s->pairs, e->channels.count);
    if (status < 0) return status;
    status = hark_member_failed(p, &hark_hydee_shape, e, &s->wave, event, &s->gone, &taken, fx);
    if (!taken) return status;
    hark_hydee_regrouped(s); /* the wave may have been decided */
    hark_empty(p, &s->pairs);
    hark_past_close(p, &s->past);
    s->recovering = s->busy = 1;
    s->rel = 0;
    s->reported = s->drained = s->report_out = s->report_channel = 0;
    s->report_at = 0;
    hark_hydee_tree_clear(s);
    bool mine = hark_is_down(p, e, e->me);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c)) continue;
        c->channel.flags &= (uint16_t) ~(HARK_HYDEE_NOTIFY | HARK_HYDEE_ORPH_DUE | HARK_HYDEE_ORPH_WAIT);
        c->base = c->channel.sent;
        c->orph = c->orph_digest = c->orph_at = 0;
        c->theirs = HARK_INFINITY; /* only a POS says otherwise: nothing on other channels is an orphan */
        c->orph_in = c->orph_out = 0;
        hark_queue_clear(p, &s->pool, &c->recorded);
        bool cast = (c->channel.flags & HARK_HYDEE_CAST) != 0; /* who died may have had it to pass on */
        if (mine || cast || hark_is_down(p, e, c->channel.peer))
            hark_hydee_pair(s, c->channel.peer)->flags = HARK_HYDEE_POS_DUE;
    }
    return HARK_OK;
}

/* What j's POS says of one context. */
static inline void hark_hydee_pos_channel(struct hark_hydee *s, struct hark_hydee_channel *c, uint64_t their_sent,
    uint64_t their_recv, uint64_t digest, struct hark_effects *fx)
{
    uint64_t sent = c->channel.sent;
    c->orph = their_recv;
    c->orph_digest = digest;
    c->theirs = their_sent;
    c->tx = their_recv < sent ? their_recv : sent; /* replay: recv_j < ssn <= sent (E2, E4) */
    if (their_recv > c->base) {
        c->channel.flags |= HARK_HYDEE_ORPH_WAIT;
        if (sent > c->base) c->channel.flags |= HARK_HYDEE_NOTIFY; /* posted before this POS came */
        if (sent >= their_recv) hark_hydee_compare(s, c, hark_hydee_digest_at(s, c, their_recv), fx);
    }
    if (their_sent < c->channel.recv) { /* orphans j -> i */
        c->channel.flags |= HARK_HYDEE_ORPH_DUE;
        c->orph_at = their_sent + 1;
    }
}

/* POS from j: u32 contexts, u32 0, then {ctx u16, 0 u16, 0 u32, sent u64, recv u64, digest u64}; LastDate and
 * Rollback of the paper in one, in both directions.                        Alg. 2 l. 9-10, Alg. 3 l. 7-14, 20-21 */
static inline int hark_hydee_pos(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    struct hark_effects *fx)
{
    uint32_t n = hark_get32(b), first = hark_channel_search(&s->head, &s->ends, h->src, 0), all = n;
    for (uint32_t i = first; i < s->ends.channels.count && hark_hydee_at(s, i)->channel.peer == h->src; i++) {
        all++;
        for (uint32_t k = 0; k < n; k++)
            if (hark_get16(b + 8 + 32 * k) == hark_hydee_at(s, i)->channel.ctx) all--;
    }
    if (all > HARK_HYDEE_CTX_MAX) return HARK_EFRAME;
    struct hark_hydee_pair *pair = hark_hydee_pair(s, h->src);
    if (pair->flags & HARK_HYDEE_POS_GOT) return hark_fate(fx, HARK_DISCARD);
    pair->flags |= HARK_HYDEE_POS_GOT;
    if (!(pair->flags & HARK_HYDEE_POS_SENT)) pair->flags |= HARK_HYDEE_POS_DUE; /* v2: who knows none answers */
    s->busy = 1;
    for (uint32_t i = 0; i < n; i++) hark_hydee_channel(s, h->src, hark_get16(b + 8 + 32 * i));
    for (uint32_t i = first; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        const uint8_t *row = NULL;
        if (c->channel.peer != h->src) break;
        for (uint32_t k = 0; k < n; k++)
            if (hark_get16(b + 8 + 32 * k) == c->channel.ctx) row = b + 8 + 32 * k;
        if (row) hark_hydee_pos_channel(s, c, hark_get64(row + 8), hark_get64(row + 16), hark_get64(row + 24), fx);
        else hark_hydee_pos_channel(s, c, 0, 0, 0, fx);
    }
    s->ends.offer = 1; /* an ORPH may have overtaken it */
    return HARK_OK;
}

/* ORPH from j: u32 (fragment << 16 | last), u32 0, then runs {first u64, last u64, phase u64} of my messages
 * that j has: their recorded phases go into the log, also of those already posted again (E6). */
static inline int hark_hydee_orph(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, uint32_t length,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_hydee_channel *c = (struct hark_hydee_channel *)(void *)hark_channel_find(p, &s->ends, h->src, h->ctx);
    if (c && !hark_hydee_inter(c)) return hark_fate(fx, HARK_DISCARD);
    if (!(hark_hydee_pair(s, h->src)->flags & HARK_HYDEE_POS_GOT)) return hark_fate(fx, HARK_HOLD); /* it has overtaken j's POS */
    if (c == NULL) return hark_fate(fx, HARK_DISCARD);
    if (hark_get32(b) >> 16 != (uint16_t)c->orph_in) return hark_fate(fx, HARK_HOLD); /* or another fragment */
    for (uint32_t at = 8; at < length; at += 24) {
        uint64_t first = hark_get64(b + at), last = hark_get64(b + at + 8), phase = hark_get64(b + at + 16);
        if (first == 0 || first > last) continue;
        if (first <= c->channel.sent)
            hark_runs_write(p, &s->pool, &c->log, first, last, phase, c->channel.sent);
        if (last <= c->channel.sent) continue;
        uint64_t *row = hark_queue_push(p, &s->pool, &c->recorded);
        row[0] = first;
        row[1] = phase;
    }
    c->orph_in++;
    if (hark_get32(b) & 1) c->channel.flags &= (uint16_t)~HARK_HYDEE_ORPH_WAIT;
    s->busy = s->ends.offer = 1;
    return HARK_OK;
}

/* RELEASE: the gate opens up to a phase, and never closes again in this epoch.     Alg. 2 l. 8, Alg. 3 l. 18, 22 */
static inline int hark_hydee_release(struct hark_hydee *s, const uint8_t *b, uint32_t length)
{
    uint64_t rel = hark_get64(b);
    if (rel > s->rel && s->tree.fan) s->tree.tell = HARK_H_RELEASE;
    if (rel > s->rel) s->rel = rel;
    if (length > 8) hark_past_release(&s->head, &s->pool, &s->past, b + 8, length - 8);
    s->busy = 1;
    return HARK_OK;
}

/* RECDONE: failure-free functions again.                                              Alg. 2 l. 22, Alg. 3 l. 19 */
static inline int hark_hydee_recdone(struct hark_hydee *s, struct hark_effects *fx)
{
    if (s->recovering && s->tree.fan) s->tree.tell = HARK_H_RECDONE;
    if (s->tree.tell) s->busy = 1;
    s->recovering = 0;
    s->rel = HARK_INFINITY;
    hark_hydee_tree_clear(s);
    hark_past_close(&s->head, &s->past);
    hark_empty(&s->head, &s->pairs);
    hark_empty(&s->head, &s->ends.down);
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        c->orph = c->base = c->orph_digest = c->orph_at = 0;
        c->theirs = HARK_INFINITY;
        c->orph_in = c->orph_out = 0;
        hark_queue_clear(&s->head, &s->pool, &c->recorded);
    }
    s->ends.offer = 1; /* the next wave's ASK may have been held */
    hark_emit(fx, HARK_RECOVERED);
    return HARK_OK;
}

/* QUIET: orphans that nobody will send again are a divergence, not a hang. */
static inline int hark_hydee_quiet(struct hark_hydee *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->ends.channels.count && s->recovering; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c) || c->channel.sent >= c->orph || !hark_effects_fit(fx, 1, 0)) continue;
        hark_hydee_diverged(c, 0, 0, fx);
        fx->at[fx->count - 1].name.ssn = c->channel.sent + 1;
    }
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
