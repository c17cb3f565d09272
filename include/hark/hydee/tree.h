/* hydee/tree.h: reports by a tree (config.fan), in place of frames between the recovery process and
 * every other process. A part of hydee.h. docs/recovery-tree.md shows why it is right.
 *
 * The tree has the ranks in heap order: below rank i are fan * i + 1 .. fan * i + fan, above rank 0
 * is the recovery process. Reports go up, to the process above.
 *
 *   without the tree                          with the tree
 *   REPORT, NOTIFY to the recovery process    NOTIFY to the receiver of an orphan, which keeps the
 *                                             lowest recorded phase of those not sent again
 *   rel, the minimum over all                 UP: the minimum over a subtree, once all of it is
 *                                             known (E10), and whenever it rises
 *   DRAINED of all                            DRAINED of a subtree
 *   RELEASE, RECDONE to all                   to rank 0, and from each process to those below it
 */
#ifndef HARK_HYDEE_TREE_H
#define HARK_HYDEE_TREE_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* ---- neighbours in the tree ------------------------------------------------------------------ */

static inline uint32_t hark_hydee_above(const struct hark_hydee *s)
{
    return s->endpoint.me ? (s->endpoint.me - 1) / s->tree.fan : HARK_RECOVERY;
}

static inline bool hark_hydee_is_below(const struct hark_hydee *s, uint32_t rank)
{
    return rank > 0 && rank < s->endpoint.ranks && (rank - 1) / s->tree.fan == s->endpoint.me;
}

/* Returns the number of processes directly below me. */
static inline uint32_t hark_hydee_below(const struct hark_hydee *s)
{
    uint64_t first = (uint64_t)s->tree.fan * s->endpoint.me + 1;
    if (first >= s->endpoint.ranks) return 0;
    return s->endpoint.ranks - first < s->tree.fan ? (uint32_t)(s->endpoint.ranks - first)
                                                   : s->tree.fan;
}

/* True if a frame of the tree comes from the right neighbour and has the right length. */
static inline bool hark_hydee_tree_ok(
    const struct hark_hydee *s, const struct hark_head *h, uint32_t length)
{
    switch (h->type) {
    case HARK_H_RELEASE: return h->src == hark_hydee_above(s) && length == 8;
    case HARK_H_RECDONE: return h->src == hark_hydee_above(s) && length == 0;
    case HARK_H_UP: return hark_hydee_is_below(s, h->src) && length == 8;
    case HARK_H_DRAINED: return hark_hydee_is_below(s, h->src) && length == 0;
    default: return h->type == HARK_H_NOTIFY && h->src < s->endpoint.ranks && length == 8;
    }
}

/* Forgets the tree's state, which belongs to one epoch (E11). */
static inline void hark_hydee_tree_clear(struct hark_hydee *s)
{
    s->tree.least_phase = s->tree.last_up = 0;
    hark_empty(&s->head, &s->tree.below);
    hark_phases_clear(&s->head, &s->tree.waits);
}

/* Returns an upper limit of the runs of all orphans that I have received, including those from
 * `peer`, whose POS may be arriving. */
static inline uint32_t hark_hydee_tree_runs(struct hark_hydee *s, uint32_t peer)
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (hark_hydee_inter(c) && (c->pos.peer_sent != HARK_INFINITY || c->channel.peer == peer))
            runs += c->rpp.count;
    }
    return runs;
}

/* Makes room for what a frame from `peer` may add. */
static inline int hark_hydee_tree_room(struct hark_hydee *s, uint32_t peer)
{
    int status = hark_reserve(&s->head, &hark_hydee_shape, &s->tree.below, 1);
    if (status < 0 || s->tree.waits.ready) return status;
    return hark_reserve(
        &s->head, &hark_hydee_shape, &s->tree.waits.rows, hark_hydee_tree_runs(s, peer));
}

/* ---- frames that arrive ---------------------------------------------------------------------- */

/* Counts the channel's orphans up to `upto` as sent again. Infinite peer_sent: the channel has no
 * orphans of this epoch. */
static inline void hark_hydee_sent_again(
    struct hark_hydee *s, struct hark_hydee_channel *c, uint64_t upto)
{
    uint64_t first, last, phase, end = c->pos.orphan_next ? c->pos.orphan_next - 1 : 0;
    if (upto <= c->pos.peer_sent) return;
    struct hark_runs r = hark_runs_begin(&s->head, &s->pool, &c->rpp, c->pos.peer_sent + 1, end);
    c->pos.peer_sent = upto;
    while (s->tree.waits.ready &&
           hark_runs_next(&s->head, &s->pool, &c->rpp, &r, &first, &last, &phase) && last <= upto)
        hark_phases_take(&s->head, &s->tree.waits, phase);
}

/* Takes NOTIFY: the sender has sent again its orphans that I have, up to an ssn u64. NOTIFY is held
 * until the sender's POS is in, by which I know these orphans; so it cannot overtake a report of
 * them (v3). */
static inline int hark_hydee_notified(
    struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    struct hark_hydee_channel *c = hark_hydee_find(s, h->src, h->ctx);
    if (!s->recovering || c == NULL || !hark_hydee_inter(c))
        return hark_emit_verdict(fx, HARK_DISCARD);
    if (!(hark_pair(&s->head, &s->pairs, h->src)->flags & HARK_POS_GOT))
        return hark_emit_verdict(fx, HARK_HOLD);
    hark_hydee_sent_again(s, c, hark_get64(b));
    s->tree.stale = s->busy = 1;
    return HARK_OK;
}

/* Takes UP and DRAINED from a process below me. An UP may have overtaken another, so the highest
 * counts. */
static inline int hark_hydee_up(
    struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_table *t = &s->tree.below;
    uint32_t i = 0;
    if (!s->recovering) return hark_emit_verdict(fx, HARK_DISCARD);
    while (i < t->count && ((struct hark_hydee_below *)hark_row(p, t, i))->rank < h->src) i++;
    struct hark_hydee_below *x = i < t->count ? (struct hark_hydee_below *)hark_row(p, t, i) : NULL;
    if (x == NULL || x->rank != h->src) {
        x = (struct hark_hydee_below *)hark_insert(p, t, i);
        x->rank = h->src;
    }
    if (h->type == HARK_H_DRAINED) x->drained = 1;
    else if (hark_get64(b) > x->phase) x->phase = hark_get64(b);
    s->busy = 1;
    return HARK_OK;
}

/* ---- frames that go; each returns HARK_MORE when the effects are full ------------------------ */

/* Sends RELEASE or RECDONE to all processes directly below me. */
static inline int hark_hydee_pump_tell(struct hark_hydee *s, struct hark_effects *fx)
{
    uint32_t below = s->tree.fanout ? hark_hydee_below(s) : 0;
    for (; s->tree.fanout_sent < below; s->tree.fanout_sent++) {
        uint32_t to = s->tree.fan * s->endpoint.me + 1 + s->tree.fanout_sent,
                 length = s->tree.fanout == HARK_H_RELEASE ? 8 : 0;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 8)) return HARK_MORE;
        uint8_t *b =
            hark_emit_control(&s->head, &s->endpoint, fx, (uint8_t)s->tree.fanout, to, length);
        if (length) hark_put64(b, s->released_phase);
    }
    s->tree.fanout = s->tree.fanout_sent = 0;
    return HARK_OK;
}

/* Computes, once, the phases of the orphans that I have received and that are not sent again. The
 * orphans of a channel end before orphan_next: once all ORPH are sent, later arrivals are no
 * orphans. False: there is no room, as after unpacking an image; frames reserve it. */
static inline bool hark_hydee_waits(struct hark_hydee *s)
{
    uint64_t first, last, phase;
    if (s->tree.waits.ready) return true;
    if (hark_hydee_tree_runs(s, HARK_RECOVERY) > s->tree.waits.rows.room) return false;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c) || c->pos.peer_sent == HARK_INFINITY || c->pos.orphan_next == 0)
            continue;
        struct hark_runs r = hark_runs_begin(
            &s->head, &s->pool, &c->rpp, c->pos.peer_sent + 1, c->pos.orphan_next - 1);
        while (hark_runs_next(&s->head, &s->pool, &c->rpp, &r, &first, &last, &phase))
            hark_phases_add(&s->head, &s->tree.waits, phase);
    }
    hark_phases_sort(&s->head, &s->tree.waits);
    return true;
}

/* Returns the lowest phase that my subtree waits for; 0: not all of the subtree is known. */
static inline uint64_t hark_hydee_least(const struct hark_hydee *s)
{
    uint64_t least = s->tree.least_phase;
    if (s->tree.below.count < hark_hydee_below(s)) return 0;
    for (uint32_t i = 0; i < s->tree.below.count; i++) {
        const struct hark_hydee_below *x =
            (const struct hark_hydee_below *)hark_row_of(&s->head, &s->tree.below, i);
        if (x->phase < least) least = x->phase;
    }
    return least;
}

/* Sends UP: the lowest phase that my subtree waits for, once the answers to all POS in the subtree
 * are in, and whenever that phase rises.                                         Alg. 3 l. 13-16 */
static inline int hark_hydee_pump_up(struct hark_hydee *s, struct hark_effects *fx)
{
    if (!s->recovering) return HARK_OK;
    if (!s->reported) {
        if (!hark_pairs_answered(&s->head, &s->pairs)) return HARK_OK;
        s->reported = s->tree.stale = 1;
    }
    if (s->tree.stale) {
        if (!hark_hydee_waits(s)) return HARK_OK;
        s->tree.least_phase = hark_phases_least(&s->head, &s->tree.waits);
    }
    s->tree.stale = 0;
    uint64_t least = hark_hydee_least(s);
    if (least <= s->tree.last_up) return HARK_OK;
    if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 8)) return HARK_MORE;
    hark_put64(
        hark_emit_control(&s->head, &s->endpoint, fx, HARK_H_UP, hark_hydee_above(s), 8), least);
    s->tree.last_up = least;
    return HARK_OK;
}

/* True if all processes directly below me have sent DRAINED, each for its subtree. */
static inline bool hark_hydee_below_drained(const struct hark_hydee *s)
{
    if (s->tree.below.count < hark_hydee_below(s)) return false;
    for (uint32_t i = 0; i < s->tree.below.count; i++)
        if (!((const struct hark_hydee_below *)hark_row_of(&s->head, &s->tree.below, i))->drained)
            return false;
    return true;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
