/* causal/recovery.h: failures, lines 28-51 of the algorithm, and the frames that a step still has
 * to send; the last part of scmel.h. */
#ifndef HARK_CAUSAL_RECOVERY_H
#define HARK_CAUSAL_RECOVERY_H

#include "reduction.h"
#include "team.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* ---- lines 28-51: failures ------------------------------------------------------------------- */

/* Forgets the copies at `rank`, which has a new incarnation and has lost them, and the
 * acknowledgements owed to it.                                                       erratum S-5 */
static inline void hark_scmel_lost(struct hark_scmel *s, uint32_t rank)
{
    struct hark *p = &s->head;
    hark_dets_release(p, &s->pool, &s->own, rank);
    for (uint32_t i = 0; i < s->logs.count; i++)
        hark_dets_release(p, &s->pool, &hark_scmel_log_at(s, i)->dets, rank);
    if (hark_scmel_log(s, rank, false)) hark_scmel_log(s, rank, false)->acked = 0;
    hark_scmel_kept_lost(s, rank);
    hark_owed_forget(p, &s->owed, rank);
}

/* Begins the replay if DETS of all have come: Y knows its order, and requests its messages.
 *                                                                                  l. 48-49, S-6 */
static inline void hark_scmel_collected(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_COLLECT || s->determinants_from + 1 < s->endpoint.ranks) return;
    s->mode = HARK_SCMEL_REPLAY;
    hark_scmel_group_collected(s);
    hark_scmel_reductions_collected(s, fx);
    s->ready = s->endpoint.ranks > 1;
    s->busy = s->endpoint.offer = 1;
    hark_scmel_try_normal(s, fx);
}

static inline void hark_scmel_recovered(struct hark_scmel *s, struct hark_effects *fx)
{
    if (!s->recovering || s->endpoint.down.count) return;
    s->recovering = 0;
    hark_empty(&s->head, &s->pairs);
    s->fresh = (uint32_t)hark_scmel_unstable(&s->head);
    hark_scmel_grown(s, s->k);
    s->endpoint.offer = s->busy = 1; /* an ASK of the next wave may be held */
    hark_emit(fx, HARK_RECOVERED);
}

/* Failure(Y), for every Y of D: takes FAILED. Determinants go to Y at once, because the next
 * message to it may never come (S-5). A member of D that is collecting begins again.    l. 28-36 */
HARK_COLD int hark_scmel_failed(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_endpoint *e = &s->endpoint;
    if (!hark_failed_valid(e->ranks, event)) return HARK_EINVAL;
    if (event->u.failed.re <= e->re) return HARK_OK;
    if (hark_failed_mine(e, event) > e->inc) {
        s->gone = 1;
        hark_emit_checkpoint(fx, HARK_ROLLBACK, hark_failed_wave(event, hark_wave_leader(p, e)));
        return HARK_OK;
    }
    int status = hark_failed_reserve(p, &hark_scmel_shape, e, event);
    if (status >= 0) status = hark_reserve(p, &hark_scmel_shape, &s->wave.kept, 1);
    if (status >= 0)
        status = hark_reserve(p, &hark_scmel_shape, &s->pairs, event->u.failed.down_count);
    if (status < 0) return status;
    for (uint32_t i = 0; i < event->u.failed.inc_count; i++) {
        const struct hark_incarnation *x = &event->u.failed.inc[i];
        if (x->rank != e->me && x->inc > hark_inc_of(p, e, x->rank))
            hark_scmel_lost(s, x->rank); /* l. 30 */
    }
    hark_wave_failed(p, e, &s->wave, event, fx);
    hark_failed_take(p, e, event);
    hark_empty(p, &s->pairs);
    s->determinants_from = s->persisting = s->awaited = 0;
    s->recovering = s->busy = 1;
    s->trim_broadcasts_left = s->wave.generations;
    for (uint32_t i = 0; i < event->u.failed.down_count; i++) {
        uint32_t rank = event->u.failed.down[i];
        if (rank != e->me) hark_scmel_pair(s, rank, true)->flags = HARK_SCMEL_DUE;
        else s->mode = HARK_SCMEL_COLLECT;
    }
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        /* carried: a precaution; as DETS go at once, no program shows the need. */
        c->carried = c->peer_sent = 0;
        c->channel.flags &= (uint16_t) ~(HARK_SCMEL_AHEAD | HARK_SCMEL_WENT);
        if (c->channel.peer != e->me && hark_is_down(p, e, c->channel.peer))
            c->transmitted = c->channel.sent; /* until its READY (v15) */
    }
    hark_scmel_collected(s, fx);
    hark_scmel_recovered(s, fx);
    return HARK_OK;
}

/* True if positions in a DETS are well-formed: {ctx u64, sent u64, recv u64} each. */
static inline bool hark_scmel_sents_ok(const uint8_t *b, uint32_t n)
{
    for (; n > 0; n--, b += 24)
        if ((hark_get64(b + 8) | hark_get64(b + 16)) >> HARK_SSN_BITS) return false;
    return true;
}

/* Reads the positions of a channel: how much `rank` has sent to me and received from me. The
 * process `rank` may lack the last messages that I posted before my image; they then come from the
 * log in the image (E4). */
static inline void hark_scmel_read_positions(struct hark_scmel *s, uint32_t rank, const uint8_t *b)
{
    struct hark_scmel_channel *c = hark_scmel_channel(s, rank, hark_get16(b));
    uint64_t recv = hark_get64(b + 16);
    struct hark_scmel_group *g = c->channel.ctx ? hark_scmel_group(s, c->channel.ctx) : NULL;
    c->peer_sent = hark_get64(b + 8);
    /* From the parent in a reduction: the number of complete reductions. The keeper gets their
     * wholes back. */
    if (g && g->reduces && g->root != s->endpoint.me && rank == g->parent) {
        if (hark_get32(b) & HARK_SCMEL_KEEPS && rank == g->root) g->keeps = 1;
        if (g->done < c->peer_sent) g->done = c->peer_sent;
        if (!g->keeps) c->peer_sent = 0;
    }
    if (g && hark_scmel_is_keeper(s, g, rank)) hark_scmel_known_kept(s, g, recv);
    if (g && g->root == s->endpoint.me) /* It may have more than I have sent by now. */
        c->channel.flags |= HARK_SCMEL_GROUP;
    else if (recv > c->channel.sent) recv = c->channel.sent;
    if (c->transmitted < recv) c->transmitted = recv;
}

/* ReceiveDets: takes u32 fragment << 1 | last, u16 channels, u16 determinants; {ctx u64, sent u64,
 * recv u64} each; the determinants. My own are to be replayed; I hold the others from now on.
 * Fragments are taken in order (v10).                                                   l. 44-51 */
HARK_COLD int hark_scmel_dets(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    struct hark_scmel_pair *pair = hark_scmel_pair(s, h->src, true);
    uint32_t fragment = hark_get32(b), sents = hark_get16(b + 4), dets = hark_get16(b + 6);
    if (s->mode != HARK_SCMEL_COLLECT || fragment >> 1 < pair->next)
        return hark_emit_verdict(fx, HARK_DISCARD);
    if (fragment >> 1 > pair->next) {
        pair->flags |= HARK_SCMEL_HELD;
        return hark_emit_verdict(fx, HARK_HOLD);
    }
    b += 8;
    for (uint32_t i = 0; i < sents; i++, b += 24) hark_scmel_read_positions(s, h->src, b);
    hark_scmel_absorb_all(s, h, b, dets, true);
    pair->next++;
    if (pair->flags & HARK_SCMEL_HELD) hark_scmel_offer(s, h->src, 0, 0);
    pair->flags &= ~(uint32_t)HARK_SCMEL_HELD;
    if (!(fragment & 1)) return HARK_OK;
    s->determinants_from++;
    pair->flags |= HARK_SCMEL_KNOWN;
    s->late = s->busy = 1;
    hark_scmel_collected(s, fx);
    return HARK_OK;
}

/* Takes READY from Y: u32 n, u32 0, {ctx u64, recv u64} each: the positions from which Y needs my
 * messages.                                                                             l. 38-42 */
HARK_COLD int hark_scmel_ready(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    uint32_t n = hark_get32(b);
    if (!hark_is_down(&s->head, &s->endpoint, h->src)) return hark_emit_verdict(fx, HARK_DISCARD);
    hark_scmel_pair(s, h->src, true)->flags |= HARK_SCMEL_READY;
    for (uint32_t i = hark_channel_search(&s->head, &s->endpoint, h->src, 0);
         i < s->endpoint.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        uint64_t recv = 0;
        if (c->channel.peer != h->src) break;
        for (uint32_t k = 0; k < n; k++)
            if (hark_get16(b + 8 + 16 * k) == c->channel.ctx) recv = hark_get64(b + 16 + 16 * k);
        struct hark_scmel_group *g =
            c->channel.flags & HARK_SCMEL_GROUP ? hark_scmel_group(s, c->channel.ctx) : NULL;
        if (g && hark_scmel_is_keeper(s, g, h->src)) hark_scmel_known_kept(s, g, recv);
        uint64_t first = hark_scmel_first(s, c);
        if (recv + 1 < first) recv = first - 1;
        bool again = g && g->root == s->endpoint.me; /* I rolled back too (v20) */
        c->transmitted = again || recv < c->channel.sent ? recv : c->channel.sent;
    }
    s->late = s->busy = 1;
    return HARK_OK;
}

/* Takes DONE from Y, which leaves D. DONE may overtake READY, which then is dropped: Y is done when
 * all messages posted before its failure have arrived, and later ones have not been transmitted
 * yet. */
HARK_COLD int hark_scmel_done(
    struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    if (!hark_is_down(&s->head, &s->endpoint, h->src)) return hark_emit_verdict(fx, HARK_DISCARD);
    int status = hark_reserve(&s->head, &hark_scmel_shape, &s->endpoint.down, 1);
    if (status < 0) return status;
    hark_ranges_remove(&s->head, &s->endpoint.down, h->src);
    s->busy = 1; /* messages put off for Y may go */
    hark_scmel_recovered(s, fx);
    return HARK_OK;
}

/* Takes STORED: my own DONE is durable, or it is an answer to the wave. */
HARK_COLD void hark_scmel_stored(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    if (!s->persisting || !hark_stored_answers(event, HARK_FACT_DONE, s->endpoint.re)) {
        hark_wave_stored(&s->head, &s->endpoint, &s->wave, event, fx);
        return;
    }
    s->persisting = 0;
    if (!event->u.stored.ok) return; /* a newer epoch is about to be announced */
    hark_ranges_remove(&s->head, &s->endpoint.down, s->endpoint.me);
    s->done = s->endpoint.ranks > 1;
    s->busy = 1;
    hark_scmel_recovered(s, fx);
}

/* Takes QUIET. If everything has been replayed and the application does not take the message that
 * its next determinant names, the application is not piecewise deterministic: a divergence is
 * reported, so that the job does not hang. */
HARK_COLD int hark_scmel_quiet(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_REPLAY || s->own.top <= s->rsn) return HARK_OK;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
        if (hark_scmel_at(s, i)->channel.recv < hark_scmel_at(s, i)->peer_sent) return HARK_OK;
    const uint64_t *row = hark_dets_find(&s->head, &s->pool, &s->own, s->rsn + 1);
    struct hark_divergence *what = &hark_emit(fx, HARK_DIVERGED)->u.diverged;
    if (row && (uint32_t)row[2] != HARK_DET_MISS) {
        what->name.peer = (uint32_t)row[2];
        what->name.ctx = (uint16_t)(row[2] >> 32);
        what->name.ssn = what->last = hark_det_ssn(row);
    }
    what->name.way = HARK_IN;
    return HARK_OK;
}

/* ---- frames that a step still has to send; each returns HARK_MORE when the effects are full -- */

/* Writes the context of a channel and how much I have sent on it. For a child in a reduction that
 * is how many reductions are complete and kept; for the keeper, how many are complete. */
static inline void hark_scmel_write_positions(
    struct hark_scmel *s, const struct hark_scmel_channel *c, uint8_t *b)
{
    const struct hark_scmel_group *g = c->channel.ctx ? hark_scmel_group(s, c->channel.ctx) : NULL;
    bool below = g && g->reduces && c->channel.peer != g->parent,
         keeper = below && hark_scmel_is_keeper(s, g, c->channel.peer);
    hark_put64(b, c->channel.ctx | (keeper ? HARK_SCMEL_KEEPS : 0));
    hark_put64(b + 8, below && !keeper ? hark_scmel_done_below(s, g) : c->channel.sent);
}

/* Sends one frame of DETS to walk_rank. */
static inline void hark_scmel_dets_frame(struct hark_scmel *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint32_t to = s->walk_rank - 1, bytes = hark_det_bytes(s->k), at = 8, sents = 0, dets = 0,
             creator;
    uint8_t *b = fx->bytes + fx->used + HARK_WIRE_HEAD;
    struct hark_dets *d;
    bool end = false;
    uint32_t first = hark_channel_search(p, &s->endpoint, to, 0);
    for (; first + s->walk_sent < s->endpoint.channels.count &&
           at + 24 <= HARK_FRAGMENT - HARK_WIRE_HEAD;
         at += 24) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, first + s->walk_sent);
        if (c->channel.peer != to) break;
        hark_scmel_write_positions(s, c, b + at);
        hark_put64(b + at + 16, c->channel.recv);
        s->walk_sent++;
        sents++;
    }
    while (!end && at + bytes <= HARK_FRAGMENT - HARK_WIRE_HEAD) {
        const uint64_t *row = hark_scmel_walk(s, &s->walk, to, &d, &creator);
        if (row) hark_det_write(b + at, d, row, creator, s->endpoint.me, s->k), at += bytes, dets++;
        else end = true;
    }
    b = hark_emit_control(p, &s->endpoint, fx, HARK_S_DETS, to, at);
    hark_put32(b, s->fragment++ << 1 | end);
    hark_put16(b + 4, (uint16_t)sents);
    hark_put16(b + 6, (uint16_t)dets);
    if (end) s->walk_rank = 0;
}

/* NetSendDets: sends to Y all known determinants of Y's own, and all loose ones.        l. 31-36 */
static inline int hark_scmel_pump_dets(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->pairs.count; i++) {
        struct hark_scmel_pair *pair = (struct hark_scmel_pair *)hark_row(&s->head, &s->pairs, i);
        if (!(pair->flags & HARK_SCMEL_DUE)) continue;
        if (!s->walk_rank) {
            s->walk_rank = pair->rank + 1;
            s->walk_sent = s->fragment = 0;
            hark_zero(&s->walk, sizeof s->walk);
        }
        while (s->walk_rank) {
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            hark_scmel_dets_frame(s, fx);
        }
        pair->flags &= ~(uint32_t)HARK_SCMEL_DUE;
        s->published_rsn = s->rsn;
    }
    return HARK_OK;
}

/* Sends READY or DONE, as `type` says, to all others. */
static inline int hark_scmel_pump_all(
    struct hark_scmel *s, uint8_t type, uint32_t *next, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    for (; *next && *next <= s->endpoint.ranks; ++*next) {
        uint32_t to = *next - 1, first = hark_channel_search(p, &s->endpoint, to, 0), n = 0;
        if (to == s->endpoint.me) continue;
        while (type == HARK_S_READY && n < HARK_SCMEL_CTX_MAX &&
               first + n < s->endpoint.channels.count &&
               hark_scmel_at(s, first + n)->channel.peer == to)
            n++;
        uint32_t length = type == HARK_S_READY ? 8 + 16 * n : 0;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + length)) return HARK_MORE;
        uint8_t *b = hark_emit_control(p, &s->endpoint, fx, type, to, length);
        if (length) hark_put64(b, n);
        for (uint32_t i = 0; i < n; i++) {
            const struct hark_scmel_channel *c = hark_scmel_at(s, first + i);
            const struct hark_scmel_group *g =
                c->channel.ctx ? hark_scmel_group(s, c->channel.ctx) : NULL;
            hark_put64(b + 8 + 16 * i, c->channel.ctx);
            hark_put64(b + 16 + 16 * i,
                g && hark_scmel_is_keeper(s, g, to) ? g->whole_root : c->channel.recv);
        }
    }
    *next = 0;
    return HARK_OK;
}

/* True if all processes that get a group's message from me have been sent it, and all of them roll
 * back with me. These are the parent in a reduction, or all members at the root of a multicast.
 * Contributions made while images are taken are excluded: the image of the parent may lack them
 * (v17). */
static inline bool hark_scmel_stays_inside(struct hark_scmel *s, const struct hark_scmel_channel *c)
{
    const struct hark_scmel_group *g = hark_scmel_group(s, c->channel.ctx);
    if (g->reduces)
        return c->channel.peer == g->parent && g->root != s->endpoint.me &&
               (s->wave.mode < HARK_W_IS_FROZEN || hark_wave_calm(&s->wave));
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *other = hark_scmel_at(s, i);
        if (other->channel.ctx != c->channel.ctx || !(other->channel.flags & HARK_SCMEL_GROUP))
            continue;
        if (!(other->channel.flags & HARK_SCMEL_MATE) || other->transmitted < g->sent) return false;
    }
    return true;
}

/* Drops from the log a message that waited there and has been sent to a process that always rolls
 * back with me, because it will not be needed again: the result of a reduction to myself, or,
 * between mates, a message whose determinants had to go ahead. */
static inline void hark_scmel_needs_no_log(
    struct hark_scmel *s, struct hark_scmel_channel *c, struct hark_effects *fx)
{
    const bool cast = (c->channel.flags & HARK_SCMEL_GROUP) != 0,
               mate = (c->channel.flags & HARK_SCMEL_MATE) != 0;
    if (c->channel.peer == s->endpoint.me || (cast && mate && hark_scmel_stays_inside(s, c))) {
        struct hark_scmel_group *g = hark_scmel_group(s, c->channel.ctx);
        if (g->first > c->transmitted) return;
        g->first = c->transmitted + 1;
        hark_emit_trim(fx, hark_name_of_group(c->channel.ctx, c->transmitted));
    } else if (mate && !cast) {
        c->first = c->transmitted + 1;
        hark_emit_trim(fx, hark_name_of(HARK_OUT, &c->channel, c->transmitted));
    }
}

/* True if the message just transmitted is the multicast that this step posts. */
static inline bool hark_scmel_posting(
    const struct hark_scmel *s, const struct hark_scmel_channel *c)
{
    return s->posting && s->posting == c->channel.ctx && c->channel.flags & HARK_SCMEL_GROUP &&
           c->transmitted == c->channel.sent;
}

/* Transmits replayed messages and those put off, in each channel by ascending ssn.      l. 38-42 */
static inline int hark_scmel_pump_late(struct hark_scmel *s, struct hark_effects *fx)
{
    uint32_t late = 0;
    for (uint32_t i = 0; s->late && i < s->endpoint.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        /* Also if the peer has reported that it has all: no SPREAD for this channel is in flight
         * (v21). */
        if (c->transmitted >= c->channel.sent) {
            c->channel.flags &= (uint16_t) ~(HARK_SCMEL_AHEAD | HARK_SCMEL_WENT);
            continue;
        }
        bool go = !hark_scmel_sends_gated(s, c->channel.peer) && !hark_scmel_unknown(s, c);
        while (go && c->transmitted < c->channel.sent) {
            hark_scmel_pass_over(s, c);
            if (c->transmitted >= c->channel.sent) break;
            if (!hark_effects_fit(fx, 2, HARK_FRAGMENT)) return HARK_MORE;
            go = hark_scmel_transmit(s, c, c->transmitted + 1, fx);
            if (go && !hark_scmel_posting(s, c)) fx->at[fx->count - 1].u.transmit.replay = true;
            if (go) hark_scmel_needs_no_log(s, c, fx);
        }
        if (c->transmitted < c->channel.sent) late = 1;
    }
    s->late = late;
    return HARK_OK;
}

static inline int hark_scmel_pump_acks(struct hark_scmel *s, struct hark_effects *fx)
{
    const uint32_t most = (HARK_FRAGMENT - HARK_WIRE_HEAD) / HARK_ACK_BYTES;
    while (s->ack_all || s->ack_peer) {
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        uint32_t to = s->ack_peer - 1;
        if (s->ack_all)
            to = s->owed.count ? ((const struct hark_owed *)hark_row(&s->head, &s->owed, 0))->peer
                               : 0;
        uint32_t n =
            hark_owed_write(&s->head, &s->owed, to, fx->bytes + fx->used + HARK_WIRE_HEAD, most);
        if (n) hark_emit_control(&s->head, &s->endpoint, fx, HARK_S_ACK, to, n * HARK_ACK_BYTES);
        else s->ack_all = s->ack_peer = 0;
    }
    return HARK_OK;
}

/* Sends one SPREAD to one process, of loose determinants, the oldest first. The rest goes when this
 * SPREAD has been acknowledged: of two frames in flight the later might be the only one to arrive,
 * and leave a hole (v10). */
static inline void hark_scmel_spread_to(struct hark_scmel *s, uint32_t to, struct hark_effects *fx)
{
    const uint32_t bytes = hark_det_bytes(s->k), most = (HARK_FRAGMENT - HARK_WIRE_HEAD) / bytes;
    struct hark_scmel_walk w = {1, 0, {0, 0}};
    uint8_t *b = fx->bytes + fx->used + HARK_WIRE_HEAD;
    uint32_t creator, n = 0;
    struct hark_dets *d;
    for (const uint64_t *row; n < most && (row = hark_scmel_walk(s, &w, to, &d, &creator)) != NULL;
         n++)
        hark_det_write(b + n * bytes, d, row, creator, s->endpoint.me, s->k);
    if (n == 0) return;
    hark_emit_control(&s->head, &s->endpoint, fx, HARK_S_SPREAD, to, n * bytes);
    s->published_rsn = s->rsn;
    s->awaited++;
}

/* True if a SPREAD to this process, for any of its channels, is not acknowledged yet. Another one
 * now would be acknowledged too, and each acknowledgement lets all channels send again: with two
 * channels the SPREADs double each time (v22). */
static inline bool hark_scmel_went(struct hark_scmel *s, uint32_t to)
{
    for (uint32_t i = hark_channel_search(&s->head, &s->endpoint, to, 0);
         i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (c->channel.peer != to) break;
        if (c->channel.flags & HARK_SCMEL_WENT) return true;
    }
    return false;
}

/* Sends SPREAD to the receivers of messages that wait for it (v9), and to the next k ranks that are
 * not in D, or whose READY has come: a replaying process stays in D until it gets a message that
 * may wait for this SPREAD (v24). */
static inline int hark_scmel_pump_spread(struct hark_scmel *s, struct hark_effects *fx)
{
    uint32_t targets = 0;
    for (uint32_t i = 0; s->late && i < s->endpoint.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (!(c->channel.flags & HARK_SCMEL_AHEAD)) continue;
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        if (!hark_scmel_went(s, c->channel.peer)) hark_scmel_spread_to(s, c->channel.peer, fx);
        c->channel.flags = (uint16_t)((c->channel.flags & ~HARK_SCMEL_AHEAD) | HARK_SCMEL_WENT);
    }
    for (uint32_t step = 1; s->spread && step < s->endpoint.ranks && targets < s->k; step++) {
        uint32_t to = (uint32_t)(((uint64_t)s->endpoint.me + step) % s->endpoint.ranks);
        if (!hark_scmel_is_valid_holder(s, to) || hark_scmel_sends_gated(s, to)) continue;
        s->trim_broadcasts_left = s->wave.generations;
        if (++targets < s->spread) continue;
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        hark_scmel_spread_to(s, to, fx);
        s->spread = targets + 1;
    }
    s->spread = 0;
    return HARK_OK;
}

static inline int hark_scmel_pump_trim(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (!(c->channel.flags & HARK_SCMEL_TRIM)) continue;
        if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
        c->channel.flags &= (uint16_t)~HARK_SCMEL_TRIM;
        bool child = hark_scmel_from_child(s, &c->channel);
        hark_emit_trim(fx, hark_name_of(child ? HARK_IN : HARK_OUT, &c->channel,
                               child ? c->channel.done : c->first - 1));
    }
    for (uint32_t i = 0; i < s->groups.count; i++) {
        struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(&s->head, &s->groups, i);
        if (g->trim && !hark_effects_fit(fx, 2, 0)) return HARK_MORE;
        if (g->trim & HARK_SCMEL_TRIM_OWN)
            hark_emit_trim(fx, hark_name_of_group((uint16_t)g->ctx, g->first - 1));
        if (g->trim & HARK_SCMEL_TRIM_ALL) {
            struct hark_name whole = hark_name_of_group((uint16_t)g->ctx, g->whole_first - 1);
            whole.way = HARK_IN;
            hark_emit_trim(fx, whole);
        }
        g->trim = 0;
    }
    return HARK_OK;
}

HARK_COLD int hark_scmel_pump(struct hark_scmel *s, struct hark_effects *fx)
{
    int status = HARK_OK;
    if (s->busy) {
        status = hark_scmel_pump_dets(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_all(s, HARK_S_READY, &s->ready, fx);
        if (status == HARK_OK) status = hark_scmel_pump_forward(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_combine(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_rack(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_late(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_acks(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_spread(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_all(s, HARK_S_DONE, &s->done, fx);
        if (status == HARK_OK) status = hark_scmel_pump_tell(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_trim(s, fx);
        if (status != HARK_OK) return status;
        s->busy = 0;
    }
    status = hark_wave_pump(&s->head, &s->endpoint, &s->wave, fx);
    if (status != HARK_OK || (!s->endpoint.offer && !s->offer_peer)) return status;
    if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
    const uint32_t peer = s->endpoint.offer ? HARK_RECOVERY : s->offer_peer - 1;
    struct hark_effect *x = hark_emit_offer(fx, peer);
    if (!s->endpoint.offer && s->offer_ssn)
        x->u.offer.name = hark_name_in(peer, (uint16_t)s->offer_ctx, s->offer_ssn);
    s->endpoint.offer = s->offer_peer = s->offer_ctx = 0;
    s->offer_ssn = 0;
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
