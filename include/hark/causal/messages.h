/* causal/messages.h: the failure-free part of the algorithm without checkpoints, lines 1-21; the
 * second part of scmel.h. */
#ifndef HARK_CAUSAL_MESSAGES_H
#define HARK_CAUSAL_MESSAGES_H

#include "contribution.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES

/* ---- lines 1-9 and 19-21: determinants are sent until they are stable ------------------------ */

/* Returns the next determinant for `to`, or NULL; *d is its list, *creator its creator. A walk over
 * all determinants starts at list 0, over the loose ones at list 1. */
static inline const uint64_t *hark_scmel_walk(struct hark_scmel *s, struct hark_scmel_walk *w,
    uint32_t to, struct hark_dets **d, uint32_t *creator)
{
    struct hark *p = &s->head;
    for (;; w->list++, w->open = 0) {
        struct hark_scmel_log *log = NULL;
        if (w->list == 0) log = hark_scmel_log(s, to, false);
        if (w->list > 1 && (!hark_scmel_forwards(s) || w->list - 2 >= s->logs.count)) return NULL;
        if (w->list > 1) log = hark_scmel_log_at(s, w->list - 2);
        if (w->list != 1 && (log == NULL || (w->list && log->rank == to))) continue;
        *d = w->list == 1 ? &s->own : &log->dets;
        *creator = w->list == 1 ? s->endpoint.me : log->rank;
        if (!w->open) w->at = w->list ? hark_dets_loose(p, &s->pool, *d) : hark_dets_begin(*d);
        w->open = 1;
        for (const uint64_t *row; (row = hark_dets_next(p, &s->pool, *d, &w->at)) != NULL;) {
            /* The processes that sent these to me hold them; tickets that a mate kept through a
             * rollback may be held nowhere else. */
            if (w->list == 1 && row[0] > s->rsn && !s->teams) break;
            if (w->list == 0 || hark_dets_goes(*d, row, to)) return row;
        }
    }
}

/* Returns the number of loose determinants here. An own determinant is stable when k others hold
 * it, another's when k - 1 hold it besides me. A determinant that is not here is stable; otherwise
 * it would have come with the message that depends on it. */
HARK_FN uint64_t hark_scmel_unstable(const struct hark *p)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    uint64_t loose = s->own.loose;
    for (uint32_t i = 0; hark_scmel_forwards(s) && i < s->logs.count; i++)
        loose += ((const struct hark_scmel_log *)hark_row_of(p, &s->logs, i))->dets.loose;
    return loose;
}

/* Appends to the *n determinants at b those of a list that a message to `to` carries, with rsn >
 * `carried` and <= `last`. False if they do not fit. b NULL: only counts. */
static inline bool hark_scmel_carry_list(struct hark_scmel *s, struct hark_dets *d,
    uint32_t creator, uint32_t to, uint64_t carried, uint64_t last, uint8_t *b, uint32_t room,
    uint32_t *n)
{
    const uint32_t bytes = hark_det_bytes(s->k);
    struct hark_dets_place at = hark_dets_loose(&s->head, &s->pool, d);
    for (const uint64_t *row;
         (row = hark_dets_next(&s->head, &s->pool, d, &at)) != NULL && row[0] <= last;) {
        if (row[0] <= carried || !hark_dets_goes(d, row, to)) continue;
        if ((*n + 1) * bytes > room) return false;
        if (b) hark_det_write(b + *n * bytes, d, row, creator, s->endpoint.me, s->k);
        ++*n;
    }
    return true;
}

/* Writes the *n determinants that a message to `to` carries. False if they do not fit. b NULL: only
 * counts. */
static inline bool hark_scmel_carry(
    struct hark_scmel *s, uint32_t to, uint64_t carried, uint8_t *b, uint32_t room, uint32_t *n)
{
    *n = 0;
    if (!hark_scmel_carry_list(s, &s->own, s->endpoint.me, to, carried, s->rsn, b, room, n))
        return false;
    for (uint32_t i = 0; hark_scmel_forwards(s) && i < s->logs.count; i++) {
        struct hark_scmel_log *log = hark_scmel_log_at(s, i);
        if (log->rank == to) continue;
        if (!hark_scmel_carry_list(s, &log->dets, log->rank, to, 0, UINT64_MAX, b, room, n))
            return false;
    }
    return true;
}

/* True if the determinants of a message fit. If all loose ones fit, there is no need to count.
 * Those that do not fit must not be written: the bytes behind a shorter header are the
 * embedder's. */
static inline bool hark_scmel_fits(struct hark_scmel *s, uint32_t to, uint64_t carried)
{
    uint32_t n;
    return hark_scmel_unstable(&s->head) * hark_det_bytes(s->k) <= HARK_SCMEL_ROOM ||
           hark_scmel_carry(s, to, carried, NULL, HARK_SCMEL_ROOM, &n);
}

/* Sends the determinants of a message ahead when they do not fit into it: to the receiver; or, with
 * `all` or if the receiver is no valid holder, to the next k ranks, because then a copy at the
 * receiver is not enough. Returns false. */
HARK_COLD bool hark_scmel_spread_ahead(struct hark_scmel *s, struct hark_scmel_channel *c, bool all)
{
    all = all || !hark_scmel_is_valid_holder(s, c->channel.peer); /* v23 */
    if (all && !s->awaited) s->spread = 1;
    else if (!all && !(c->channel.flags & HARK_SCMEL_WENT)) c->channel.flags |= HARK_SCMEL_AHEAD;
    s->busy = 1;
    return false;
}

/* NetSendMsg: transmits a message with determinants and acknowledgements; HARK_FRAGMENT bytes are
 * free. False if the determinants do not fit: they go ahead, and the message waits. A message to
 * myself carries none: I am no second holder (S-4). A multicast whose determinants are to be
 * forwarded carries all loose ones, whoever holds them. A contribution also carries those that
 * earlier ones carried, because these may be passed over while in flight (v25).      l. 6, 16, 8 */
static inline bool hark_scmel_transmit(
    struct hark_scmel *s, struct hark_scmel_channel *c, uint64_t ssn, struct hark_effects *fx)
{
    struct hark_head h = {(uint8_t)s->head.kind, HARK_APP, c->channel.ctx, s->endpoint.me,
        c->channel.peer, s->endpoint.inc, c->channel.inc, s->endpoint.re, ssn};
    uint8_t *b = fx->bytes + fx->used + HARK_SCMEL_HEADER;
    uint32_t n = 0, acks = 0;
    if (c->channel.peer != s->endpoint.me) {
        const bool cast = c->channel.flags & HARK_SCMEL_GROUP,
                   passed_on = cast && hark_scmel_is_passed_on(s, c);
        const bool all = passed_on && hark_scmel_forwards(s);
        const uint32_t to = all ? HARK_SCMEL_NOBODY : c->channel.peer;
        const uint64_t carried = all || (cast && !passed_on) ? 0 : c->carried;
        if (!hark_scmel_fits(s, to, carried)) return hark_scmel_spread_ahead(s, c, all);
        hark_scmel_carry(s, to, carried, b, HARK_SCMEL_ROOM, &n);
        acks = hark_owed_write(
            &s->head, &s->owed, c->channel.peer, b + n * hark_det_bytes(s->k), HARK_SCMEL_ACKS);
        c->carried = s->published_rsn = s->rsn;
    }
    struct hark_transmit *x = hark_emit_frame(
        fx, &h, HARK_SCMEL_HEADER + n * hark_det_bytes(s->k) + acks * HARK_ACK_BYTES, &b);
    hark_put16(b, (uint16_t)n);
    hark_put16(b + 2, (uint16_t)(acks | hark_scmel_whole(s, c, ssn)));
    hark_put32(b + 4, s->k);
    x->determinants = n;
    x->name = hark_scmel_name(s, c, ssn);
    c->channel.flags &= (uint16_t)~HARK_SCMEL_WENT;
    c->transmitted = ssn;
    return true;
}

/* True, with the start of the log moved past it, if the message needs no log: one inside a team
 * that is transmitted at once, because the sender rolls back whenever the receiver does. */
static inline bool hark_scmel_unlogged(struct hark_scmel_channel *c)
{
    if (!(c->channel.flags & HARK_SCMEL_MATE)) return false;
    c->first = c->channel.sent + 1;
    return true;
}

/* SendMsg: takes SEND of a message to a process.                                          l. 1-9 */
static inline int hark_scmel_send(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    uint32_t peer = event->u.send.peer;
    if (event->u.send.to != HARK_PROCESS || peer >= s->endpoint.ranks) return HARK_EINVAL;
    if (s->groups.count && event->u.send.ctx && hark_scmel_group(s, event->u.send.ctx))
        return HARK_EINVAL;                             /* the context is a group's */
    if (s->wave.in_checkpoint_call) return HARK_ESTATE; /* no sends inside a checkpoint call */
    int status = hark_reserve(&s->head, &hark_scmel_shape, &s->endpoint.channels, 1);
    if (status < 0) return status;
    struct hark_scmel_channel *c = hark_scmel_channel(s, peer, event->u.send.ctx);
    uint64_t ssn = ++c->channel.sent; /* l. 4 */
    if (peer == s->endpoint.me) {     /* lost with me, and sent again by re-execution */
        c->first = ssn + 1;
        hark_scmel_transmit(s, c, ssn, fx);
        return HARK_OK;
    }
    bool late = c->transmitted + 1 != ssn || hark_scmel_sends_gated(s, peer) ||
                !hark_scmel_transmit(s, c, ssn, fx);
    if (late) s->late = 1;
    else if (hark_scmel_unlogged(c)) return HARK_OK;
    hark_emit_retain(fx, hark_name_of(HARK_OUT, &c->channel, ssn)); /* l. 7 */
    return HARK_OK;
}

/* ReceiveDetAck: takes {creator u32, count u32, first rsn u64} each; the sender is a holder.
 *                                                                                       l. 19-21 */
static inline void hark_scmel_acks(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, uint32_t n)
{
    for (uint32_t left = hark_scmel_is_valid_holder(s, h->src) ? n : 0; left > 0;
         left--, b += HARK_ACK_BYTES) {
        uint32_t creator = hark_get32(b);
        uint64_t first = hark_get64(b + 8), last = first + hark_get32(b + 4) - 1;
        struct hark_dets *d = &s->own;
        if (creator != s->endpoint.me) {
            struct hark_scmel_log *log =
                creator == h->src ? NULL : hark_scmel_log(s, creator, false);
            if (log == NULL) continue;
            d = &log->dets;
        }
        hark_dets_hold(&s->head, &s->pool, d, first, last, h->src);
    }
    if (n && s->awaited) s->awaited--; /* may be of other determinants: then too early */
    for (uint32_t i = n && s->late ? hark_channel_search(&s->head, &s->endpoint, h->src, 0)
                                   : UINT32_MAX;
         i < s->endpoint.channels.count && hark_scmel_at(s, i)->channel.peer == h->src; i++)
        hark_scmel_at(s, i)->channel.flags &= (uint16_t)~HARK_SCMEL_WENT; /* they may fit now */
    if (s->late) s->busy = 1;
}

/* True if there are enough loose determinants for a SPREAD to the next ranks; by default half of
 * the number that fits. It does not divide, because every message passes here. */
static inline bool hark_scmel_many(uint32_t k, uint64_t loose)
{
    return HARK_SCMEL_LOOSE ? loose + 1 > HARK_SCMEL_LOOSE
                            : (loose + 1) * 2 * hark_det_bytes(k) > HARK_SCMEL_ROOM;
}

/* Sends loose determinants to the next ranks if they have become many, before a message has to wait
 * for them (I10). */
HARK_COLD void hark_scmel_grown_much(struct hark_scmel *s)
{
    s->fresh = 0;
    if (!hark_scmel_many(s->k, hark_scmel_unstable(&s->head)) || s->endpoint.ranks < 2) return;
    s->spread = s->busy = 1;
}

HARK_HOT void hark_scmel_grown(struct hark_scmel *s, uint32_t k)
{
    if (hark_scmel_many(k, s->fresh) && !s->awaited) hark_scmel_grown_much(s);
}

/* ---- lines 10-18: what comes in -------------------------------------------------------------- */

/* Stores a determinant that came from h->src, which therefore holds it. `forced`: acknowledge it in
 * any case. If the sender does not know of the last failure, the holders that it names are ignored:
 * they may have lost their copies.                                                      l. 15-16 */
static inline void hark_scmel_absorb(
    struct hark_scmel *s, const struct hark_head *h, const struct hark_det *x, bool forced)
{
    struct hark *p = &s->head;
    bool made = false, mine = x->creator == s->endpoint.me;
    struct hark_scmel_log *log = mine ? NULL : hark_scmel_log(s, x->creator, true);
    struct hark_dets *d = mine ? &s->own : &log->dets;
    uint64_t end = x->rsn + hark_det_run(hark_det_channel(x->src, x->ctx), x->ssn) - 1, *row;
    if (mine && (h->type != HARK_S_DETS || end <= s->rsn))
        row = hark_dets_find(p, &s->pool, d, x->rsn);
    else row = hark_dets_put(p, &s->pool, d, x, &made);
    if (row == NULL || row[0] != x->rsn || !hark_det_is(row, x->src, x->ctx, x->ssn)) return;
    if (h->src != x->creator && hark_scmel_is_valid_holder(s, h->src))
        hark_det_hold(d, row, h->src);
    for (uint32_t i = 0; i < x->holders && h->re >= s->endpoint.re; i++)
        if (x->holder[i] != s->endpoint.me && x->holder[i] != x->creator)
            hark_det_hold(d, row, x->holder[i]);
    if (mine) return;
    if (made && hark_det_loose(d, row)) s->fresh++;
    if (made || forced || h->src != x->creator || end > log->acked)
        hark_owed_add(p, &s->owed, h->src, x->creator, x->rsn, end);
    if (h->src == x->creator && end > log->acked) log->acked = end;
}

/* Stores n determinants at b. They are well-formed, and room for them is reserved. */
static inline void hark_scmel_absorb_all(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, uint32_t n, bool forced)
{
    struct hark_det x;
    if (n == 0) return;
    for (; n > 0; n--, b += hark_det_bytes(s->k))
        if (hark_det_read(&x, b, s->endpoint.ranks, s->k)) hark_scmel_absorb(s, h, &x, forced);
    if (forced || hark_owed_count(&s->head, &s->owed, h->src) >= HARK_SCMEL_OWED) {
        s->ack_peer = h->src + 1;
        s->busy = 1;
    }
    if (hark_scmel_forwards(s)) hark_scmel_grown(s, s->k);
}

/* True if no later determinant names this message, where that of rsn + 1 is lost and later ones are
 * not. */
HARK_COLD bool hark_scmel_left_over(struct hark_scmel *s, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    struct hark_dets_place at = hark_dets_begin(&s->own);
    for (const uint64_t *row; (row = hark_dets_next(&s->head, &s->pool, &s->own, &at)) != NULL;)
        if (row[0] > s->rsn && hark_det_names(row, src, ctx, ssn)) return false;
    return true;
}

/* True if in a replay the next choice may be to take this message or (`look`: HARK_DET_LOOK) to see
 * it. The determinant of rsn + 1 must name the message. If that determinant is lost, any message
 * may be taken that no later one names, and any message here may be seen.        errata S-3, v26 */
HARK_COLD bool hark_scmel_choice(
    struct hark_scmel *s, uint32_t look, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    if (s->mode == HARK_SCMEL_COLLECT || s->own.top <= s->rsn) return false;
    const uint64_t *row = hark_dets_find(&s->head, &s->pool, &s->own, s->rsn + 1);
    if (row) return row[2] == hark_det_channel(src, ctx | look) && hark_det_ssn(row) == ssn;
    return look || hark_scmel_left_over(s, src, ctx, ssn);
}

/* True if an earlier message of the channel is held for its turn. */
HARK_COLD bool hark_scmel_waits_below(
    struct hark_scmel *s, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    const uint64_t first = hark_arrived_from(&s->head, &s->endpoint.waiting, src, ctx, 1);
    return first && first < ssn;
}

/* True if all earlier messages of the channel have been handed up; otherwise this message would be
 * found before them. When a replay ends in the middle of an OFFER, some messages of the channel
 * have been passed over already (v27). */
static inline bool hark_scmel_in_order(
    struct hark_scmel *s, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    return s->endpoint.waiting.count == 0 || !hark_scmel_waits_below(s, src, ctx, ssn);
}

/* True if this arrived message may be handed up in a replay. If the next choice takes a message,
 * only that one may, whatever else of its channel is held (v7). If the next choice sees a message,
 * that one and the earlier ones of its channel may, because they were there too. If the next
 * determinant is lost, any message may; DELIVER waits for its turn. */
HARK_COLD bool hark_scmel_turn_replayed(
    struct hark_scmel *s, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    if (s->mode == HARK_SCMEL_COLLECT || s->own.top <= s->rsn) return false;
    const uint64_t *row = hark_dets_find(&s->head, &s->pool, &s->own, s->rsn + 1);
    if (row && hark_det_is(row, src, ctx, ssn)) return true;
    if (row && (row[2] != hark_det_channel(src, ctx | HARK_DET_LOOK) || ssn > hark_det_ssn(row)))
        return false;
    return hark_scmel_in_order(s, src, ctx, ssn);
}

static inline bool hark_scmel_turn(struct hark_scmel *s, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    return s->mode == HARK_SCMEL_NORMAL ? hark_scmel_in_order(s, src, ctx, ssn)
                                        : hark_scmel_turn_replayed(s, src, ctx, ssn);
}

/* Requests an OFFER behind the other effects of this step: of one message, or (ssn 0) of all
 * messages of one process. */
static inline void hark_scmel_offer(struct hark_scmel *s, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    if (s->offer_peer && s->offer_peer != peer + 1) s->endpoint.offer = 1;
    if (s->offer_peer && (s->offer_ctx != ctx || s->offer_ssn != ssn)) ssn = 0;
    s->offer_peer = peer + 1;
    s->offer_ctx = ctx;
    s->offer_ssn = ssn;
}

/* Ends the replay if no determinant is left and every replayed message has arrived. A process
 * without determinants waits for the messages too: one of them may bring a determinant of another
 * process that no other process receives (v6). */
HARK_COLD void hark_scmel_try_normal(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_REPLAY || s->own.top > s->rsn) return;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
        if (hark_scmel_at(s, i)->channel.recv < hark_scmel_at(s, i)->peer_sent) return;
    for (uint32_t i = 0; i < s->groups.count; i++)
        if (!hark_scmel_given_back(
                s, (const struct hark_scmel_group *)hark_row(&s->head, &s->groups, i)))
            return;
    s->mode = HARK_SCMEL_NORMAL;
    /* Others may hold the determinants replayed: a run of looks among them must not grow. */
    s->published_rsn = s->rsn;
    s->persisting = s->endpoint.offer = 1;
    hark_emit_done(fx, s->endpoint.me, s->endpoint.re);
}

/* Takes a message that has arrived before: it is held for its turn, or is a duplicate.
 * Contributions are not handed up. */
HARK_COLD int hark_scmel_again(
    struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    bool found;
    int status = hark_reserve(&s->head, &hark_scmel_shape, &s->endpoint.waiting, 1);
    if (status < 0) return status;
    if (s->groups.count && h->ctx && hark_scmel_contributes(s, h))
        return hark_emit_verdict(fx, HARK_DISCARD);
    hark_arrived_search(&s->head, &s->endpoint.waiting, h->src, h->ctx, h->ssn, &found);
    struct hark_channel *c = hark_channel_find(&s->head, &s->endpoint, h->src, h->ctx);
    if (!found || c == NULL) return hark_emit_verdict(fx, HARK_DISCARD);
    if (!hark_scmel_turn(s, h->src, h->ctx, h->ssn)) return hark_emit_verdict(fx, HARK_HOLD);
    hark_arrived_take(&s->head, &s->endpoint.waiting, h->src, h->ctx, h->ssn);
    hark_emit(fx, HARK_HANDUP);
    /* The next message of the channel may have been passed over because this one comes before
     * it.                                                                            erratum v27 */
    const uint64_t next =
        hark_arrived_from(&s->head, &s->endpoint.waiting, h->src, h->ctx, h->ssn + 1);
    if (next && hark_scmel_turn(s, h->src, h->ctx, next)) hark_scmel_offer(s, h->src, h->ctx, next);
    return HARK_OK;
}

/* True if the message is a multicast. Its source is the root, whichever process forwarded it. */
static inline bool hark_scmel_is_multicast(struct hark_scmel *s, const struct hark_head *h)
{
    const struct hark_scmel_group *g =
        s->branches.count && h->ctx ? hark_scmel_group(s, h->ctx) : NULL;
    return g && !g->reduces && g->root == h->src && g->root != s->endpoint.me;
}

/* Starts to forward an accepted multicast to my children, with the determinants that the root sent
 * along if one copy of these is not enough. If the root did not know of the last failure, the
 * holders named in them are cleared: these may have lost their copies, and receivers trust the
 * holders that I name, because I know of the failure.                               Alg. 2 l. 19 */
HARK_COLD void hark_scmel_pass_on(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *dets, uint32_t n)
{
    const uint32_t bytes = hark_det_bytes(s->k);
    s->passes = *h;
    s->passes.re = s->endpoint.re;
    s->forward = s->busy = 1;
    s->forwarded_determinants = hark_scmel_forwards(s) ? n : 0;
    if (s->forwarded_determinants == 0) return;
    for (uint32_t i = 0; i < hark_scmel_along_rows(n * bytes); i++)
        hark_insert(&s->head, &s->along, i);
    uint8_t *b = (uint8_t *)hark_row(&s->head, &s->along, 0);
    hark_copy(b, dets, n * bytes);
    for (uint32_t i = 0; h->re < s->endpoint.re && i < n; i++)
        hark_zero(b + i * bytes + 28, bytes - 28);
}

/* ReceiveMsg, OutOfOrder: takes a message whose determinants are stored.            l. 11-12, 17 */
static inline int hark_scmel_arrive(struct hark_scmel *s, struct hark_scmel_channel *c,
    const struct hark_head *h, struct hark_effects *fx)
{
    if (h->ssn <= c->channel.recv) return hark_scmel_again(s, h, fx);
    if (h->ssn > c->channel.recv + 1) {
        c->channel.flags |= HARK_GAP;
        return hark_emit_verdict(fx, HARK_HOLD);
    }
    c->channel.recv++;
    if (c->accepted != h->src_inc) {
        c->accepted = h->src_inc;
        c->from = h->ssn;
    }
    if (s->groups.count && h->ctx && hark_scmel_contributes(s, h)) {
        hark_scmel_contributed(s, h, fx);
    } else if (hark_scmel_turn(s, h->src, h->ctx, h->ssn)) {
        hark_emit(fx, HARK_HANDUP);
    } else {
        hark_arrived_add(&s->head, &s->endpoint.waiting, h->src, h->ctx, h->ssn);
        hark_emit(fx, HARK_HOLD);
    }
    hark_wave_arrived(&s->head, &s->endpoint, &s->wave, &c->channel, fx);
    if (c->channel.flags & HARK_GAP) {
        c->channel.flags = (uint16_t)(c->channel.flags & ~HARK_GAP);
        hark_scmel_offer(s, h->src, 0, 0);
    }
    if (s->mode != HARK_SCMEL_NORMAL) hark_scmel_try_normal(s, fx);
    return HARK_OK;
}

/* Takes a frame from or to an old incarnation. A message that had arrived at that time, and is
 * held, is taken. All others are dropped: a process that no other depended on may have sent a
 * different message under the same ssn when it re-executed. */
HARK_COLD int hark_scmel_older(
    struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    const struct hark_scmel_channel *c =
        (const struct hark_scmel_channel *)(const void *)hark_channel_find(
            &s->head, &s->endpoint, h->src, h->ctx);
    if (c == NULL || (h->ssn >= c->from ? h->src_inc != c->accepted : h->src_inc >= c->accepted))
        return hark_emit_verdict(fx, HARK_DISCARD);
    return hark_scmel_again(s, h, fx);
}

/* Requests the OFFER for the next choice, after rsn has grown in a replay. If the determinant of
 * that choice is lost, all messages that may be next have been handed up, except those held for
 * another choice: all are offered. Otherwise one message is offered; for a look it is the first of
 * its channel, which requests those behind it. */
HARK_COLD void hark_scmel_next(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_REPLAY) return;
    hark_scmel_try_normal(s, fx);
    if (s->own.top <= s->rsn) return;
    const uint64_t *row = hark_dets_find(&s->head, &s->pool, &s->own, s->rsn + 1);
    if (row == NULL) {
        s->endpoint.offer |= s->endpoint.waiting.count > 0;
    } else if ((uint32_t)row[2] != HARK_DET_MISS) {
        const uint16_t ctx = (uint16_t)(row[2] >> 32);
        const uint64_t ssn = hark_det_ssn(row), from = hark_det_is_look(row[2]) ? 1 : ssn;
        const uint64_t next =
            hark_arrived_from(&s->head, &s->endpoint.waiting, (uint32_t)row[2], ctx, from);
        if (next && next <= ssn) hark_scmel_offer(s, (uint32_t)row[2], ctx, next);
    }
}

/* Gives a choice the next rsn, which no determinant has yet, and a determinant. `k`: of `s`. */
HARK_HOT void hark_scmel_record_new(
    struct hark_scmel *s, uint32_t k, uint64_t channel, uint64_t ssn)
{
    hark_dets_append_one(&s->head, &s->pool, &s->own, k, ++s->rsn, ssn, channel);
    if (s->own.loose) s->fresh++;
    hark_scmel_grown(s, k);
}

/* Gives a choice the next rsn and a determinant. In a replay the choice has one already, or gets a
 * new one if that was lost. */
static inline void hark_scmel_record_choice(
    struct hark_scmel *s, uint64_t channel, uint64_t ssn, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    if (s->rsn >= s->own.top) {
        hark_scmel_record_new(s, s->k, channel, ssn);
        return;
    }
    struct hark_det x = {
        s->endpoint.me, (uint32_t)channel, (uint32_t)(channel >> 32), 0, ssn, ++s->rsn, {0}};
    bool made;
    hark_dets_put(p, &s->pool, &s->own, &x, &made);
    hark_scmel_next(s, fx);
    if (s->own.loose) s->fresh++;
    hark_scmel_grown(s, s->k);
}

/* Checks a message that the application takes, or (`look`) sees. HARK_OK if the message was handed
 * up and, in a replay, is the next choice. HARK_WAIT if it is not the next choice. */
HARK_HOT int hark_scmel_handed(struct hark_scmel *s, const struct hark_event *event, uint32_t look,
    struct hark_head *h, struct hark_channel **c)
{
    struct hark *p = &s->head;
    struct hark_endpoint *e = &s->endpoint;
    bool waits;
    if (hark_head_get(h, event->u.frame.header, p->kind) < 0 || h->type != HARK_APP)
        return HARK_EFRAME;
    if (event->u.frame.header.length < HARK_SCMEL_HEADER) return HARK_EFRAME;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    int status = hark_reserve(p, &hark_scmel_shape, &e->beyond, 1);
    if (status >= 0) status = hark_pool_reserve(p, &hark_scmel_shape, &s->pool, 1);
    if (status < 0) return status;
    *c = hark_channel_find(p, e, h->src, h->ctx);
    if (*c == NULL || h->ssn == 0 || h->ssn > (*c)->recv || hark_delivered(p, e, *c, h->ssn))
        return HARK_EINVAL;
    if (s->mode == HARK_SCMEL_NORMAL) return HARK_OK;
    if (!hark_scmel_choice(s, look, h->src, h->ctx, h->ssn)) return HARK_WAIT;
    hark_arrived_search(p, &e->waiting, h->src, h->ctx, h->ssn, &waits);
    return waits ? HARK_EINVAL : HARK_OK;
}

/* Takes DELIVER: the application takes the message.                                     l. 13-14 */
static inline int hark_scmel_deliver(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_head h;
    struct hark_channel *c;
    int status = hark_scmel_handed(s, event, 0, &h, &c);
    if (status != HARK_OK) return status;
    hark_deliver_mark(&s->head, &s->endpoint, c, h.ssn);
    hark_scmel_record_choice(s, hark_det_channel(h.src, h.ctx), h.ssn, fx);
    return HARK_OK;
}

/* Joins a look to the last row, if that row is a look at the same message, or a miss like this one,
 * and has not left this process. False if not. */
static inline bool hark_scmel_extend_look_run(struct hark_scmel *s, uint64_t channel, uint64_t ssn)
{
    if (s->mode != HARK_SCMEL_NORMAL || s->own.top != s->rsn || s->rsn <= s->published_rsn)
        return false;
    uint64_t *last = hark_queue_last(&s->head, &s->pool, &s->own.rows);
    if (last == NULL || last[2] != channel || (ssn && hark_det_ssn(last) != ssn) ||
        !hark_det_extend(last))
        return false;
    s->own.top = ++s->rsn;
    return true;
}

/* Takes LOOK: seeing a message without taking it is a choice too.                    erratum v26 */
HARK_COLD int hark_scmel_look(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_head h;
    struct hark_channel *c;
    int status = hark_scmel_handed(s, event, HARK_DET_LOOK, &h, &c);
    if (status != HARK_OK) return status;
    const uint64_t channel = hark_det_channel(h.src, h.ctx | HARK_DET_LOOK);
    if (!hark_scmel_extend_look_run(s, channel, h.ssn))
        hark_scmel_record_choice(s, channel, h.ssn, fx);
    return HARK_OK;
}

/* Takes MISS: finding nothing is a choice too.                                       erratum S-3 */
HARK_COLD int hark_scmel_miss(struct hark_scmel *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    int status = hark_pool_reserve(p, &hark_scmel_shape, &s->pool, 1);
    if (status < 0) return status;
    if (s->mode != HARK_SCMEL_NORMAL) {
        if (s->mode == HARK_SCMEL_COLLECT || s->own.top <= s->rsn) return HARK_WAIT;
        const uint64_t *row = hark_dets_find(p, &s->pool, &s->own, s->rsn + 1);
        if (row && (uint32_t)row[2] != HARK_DET_MISS) return HARK_WAIT; /* it saw a message */
    }
    if (!hark_scmel_extend_look_run(s, HARK_DET_MISSED, 0))
        hark_scmel_record_choice(s, HARK_DET_MISSED, 1, fx);
    return HARK_OK;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
