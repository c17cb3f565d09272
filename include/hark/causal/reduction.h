/* causal/reduction.h: reductions, lines 21-38 of CAMEL's Algorithm 2 and lines 8-39 of Algorithm 3.
 *
 * A contribution goes from child to parent on a channel with the group's context; the n-th message
 * on it is of reduction n (C-8, C-11). The parent logs it until it is combined. A member logs,
 * under the group's name, what it sends to its parent. When the root has all contributions and the
 * whole (see below) is kept, RACK goes down the tree, cumulative (C-10), and all members drop their
 * contributions. Contributions are combined in the order of the tree, so arrivals need no
 * determinants, not even at the root (C-15). The result is a message of the root to itself, and its
 * delivery has a determinant.
 *
 * The paper leaves contributions that have arrived at the root with the root's children. But a
 * child that rolls back has lost them, and the members below it have dropped the parts (C-12). So
 * hark keeps two copies of the whole, which is the combined contribution of all children of the
 * root: at the root and at the keeper, the first of these children that does not roll back with the
 * root. The whole is without the root's own contribution, which may depend on the root's
 * deliveries: the printed RACK with the result would carry an effect of deliveries without their
 * determinants.
 *
 * When a reduction is complete the root sends its whole to the keeper, as the n-th message of the
 * channel between them. The keeper logs the whole in place of its own contribution, and reports
 * that to the root (RACK, upwards); only then may the others drop theirs. A keeper that rolls back
 * gets the wholes again from the root. A root that rolls back gets them from the keeper in place of
 * all contributions, and continues when it has all of them, because contributors may have dropped
 * theirs. If all children roll back with the root no keeper is needed.
 *
 * A process that rolls back learns from its parent alone which reductions are complete. The keeper
 * names only those of which it has the whole: until it has got back the wholes that it lacks,
 * contributions from below may be needed again (v16).
 *
 * In a checkpoint call contributions still go to the parent, because the root may need them to
 * reach its own checkpoint call; but they count as sent behind the image, so they stay in the log
 * (v17). The root combines nothing there: its result would be in flight when its image is taken.
 */
#ifndef HARK_CAUSAL_REDUCTION_H
#define HARK_CAUSAL_REDUCTION_H

#include "multicast.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* SendReductionMsg: takes my contribution. HARK_WAIT after a rollback, until it is known which
 * reductions are complete; at the root and the keeper, until they have got the wholes back.
 * HARK_ESTATE in a checkpoint call.                                                     l. 21-27 */
static inline int hark_scmel_contribute(
    struct hark_scmel *s, struct hark_scmel_group *g, struct hark_effects *fx)
{
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    if (s->mode == HARK_SCMEL_COLLECT) return HARK_WAIT;
    if (!hark_scmel_given_back(s, g)) return HARK_WAIT;
    if (++g->made <= g->sent) return HARK_OK; /* complete already */
    hark_emit_retain(fx, hark_name_of_group((uint16_t)g->ctx, g->made));
    s->combine = s->busy = 1;
    return HARK_OK;
}

/* Takes SEND to a group: the root's multicast, or a member's contribution. */
static inline int hark_scmel_group_send(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel_group *g =
        event->u.send.peer <= UINT16_MAX ? hark_scmel_group(s, (uint16_t)event->u.send.peer) : NULL;
    if (g == NULL || !g->reduces || event->u.send.ctx != g->ctx)
        return hark_scmel_multicast(s, event, fx);
    return hark_scmel_contribute(s, g, fx);
}

/* ReductionReady: true if all children and I have contributed to the next reduction.
 *                                                                                    Alg. 3 l. 9 */
static inline bool hark_scmel_ready_to_combine(
    struct hark_scmel *s, const struct hark_scmel_group *g)
{
    if (g->combining || g->made <= g->sent || s->mode == HARK_SCMEL_COLLECT ||
        !hark_scmel_given_back(s, g))
        return false;
    if (s->wave.mode == HARK_W_CAPTURED ||
        (g->root == s->endpoint.me && s->wave.mode >= HARK_W_IS_FROZEN &&
            !hark_wave_calm(&s->wave)))
        return false;
    for (uint32_t i = 0; g->whole_root <= g->sent && i < s->branches.count; i++) {
        const struct hark_scmel_branch *b = hark_scmel_branch(s, i);
        if (!hark_scmel_is_child(g, b)) continue;
        const struct hark_channel *c =
            hark_channel_find(&s->head, &s->endpoint, b->rank, (uint16_t)g->ctx);
        if (c == NULL || c->recv <= g->sent) return false;
    }
    return true;
}

/* True if the root is the only member. */
static inline bool hark_scmel_alone(struct hark_scmel *s, const struct hark_scmel_group *g)
{
    for (uint32_t i = 0; i < s->branches.count; i++)
        if (hark_scmel_is_child(g, hark_scmel_branch(s, i))) return false;
    return g->root == s->endpoint.me;
}

/* Agglomerate: combines contributions in the order of the tree, mine first; at the root mine comes
 * last, onto the whole.                                                             Alg. 3 l. 10 */
static inline int hark_scmel_combine(
    struct hark_scmel *s, struct hark_scmel_group *g, struct hark_effects *fx)
{
    bool root = g->root == s->endpoint.me;
    uint64_t n = g->sent + 1;
    struct hark_name own = hark_name_of_group((uint16_t)g->ctx, n), all = own;
    const bool given = root && g->whole_root >= n;
    all.way = HARK_IN;
    g->combining = n;
    if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
    if (!s->combine_next && !root) hark_emit_combine(fx, own, HARK_COMBINE_OPERAND);
    if (!s->combine_next) s->combine_next = 1;
    for (; !given && s->combine_next <= s->branches.count; s->combine_next++) {
        const struct hark_scmel_branch *b = hark_scmel_branch(s, s->combine_next - 1);
        if (!hark_scmel_is_child(g, b)) continue;
        struct hark_channel *c =
            hark_channel_find(&s->head, &s->endpoint, b->rank, (uint16_t)g->ctx);
        if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
        hark_emit_combine(fx, hark_name_in(b->rank, (uint16_t)g->ctx, n), HARK_COMBINE_OPERAND);
        if (c->done < n) c->done = n; /* used in order: none beyond n */
    }
    if (!hark_effects_fit(fx, 4, 0)) return HARK_MORE;
    if (root) {
        bool alone = hark_scmel_alone(s, g);
        if (alone) hark_emit_combine(fx, own, HARK_COMBINE_OPERAND);
        if (!given) hark_emit_combine(fx, all, HARK_COMBINE_RESULT);
        if (!alone) hark_emit_combine(fx, own, HARK_COMBINE_OPERAND);
        hark_emit_combine(fx, all, HARK_COMBINE_OPERAND);
    }
    hark_emit_combine(fx, own, HARK_COMBINE_REPLY);
    s->combine_next = 0;
    return HARK_OK;
}

static inline int hark_scmel_pump_combine(struct hark_scmel *s, struct hark_effects *fx)
{
    if (!s->combine) return HARK_OK;
    if (!s->combine_at) s->combine_at = 1;
    for (; s->combine_at <= s->groups.count; s->combine_at++) {
        struct hark_scmel_group *g =
            (struct hark_scmel_group *)hark_row(&s->head, &s->groups, s->combine_at - 1);
        if (!s->combine_next && (!g->reduces || !hark_scmel_ready_to_combine(s, g))) continue;
        if (hark_scmel_combine(s, g, fx) == HARK_MORE) return HARK_MORE;
        break; /* one COMBINED at a time, which looks for the next */
    }
    s->combine = s->combine_at = 0;
    return HARK_OK;
}

/* Sends the result to myself when the root has everything, and the whole to the keeper, unless I
 * have it from the keeper. */
static inline void hark_scmel_complete(struct hark_scmel *s, struct hark_scmel_group *g, uint64_t n)
{
    uint16_t ctx = (uint16_t)g->ctx;
    const struct hark_scmel_branch *keeper = hark_scmel_keeper(s, g);
    struct hark_scmel_channel *self = hark_scmel_channel(s, s->endpoint.me, ctx);
    self->channel.flags |= HARK_SCMEL_GROUP;
    self->channel.sent = n;
    g->done = n;
    if (g->whole_root < n) g->whole_root = n;
    if (keeper) {
        struct hark_scmel_channel *c = hark_scmel_channel(s, keeper->rank, ctx);
        c->channel.flags |= HARK_SCMEL_GROUP;
        if (c->channel.sent < n) c->channel.sent = n;
    } else { /* there is no keeper */
        g->whole_keeper = n;
        g->whole_first = n + 1;
        g->trim |= HARK_SCMEL_TRIM_ALL;
    }
    if (g->whole_keeper >= n) g->rack_due = 1;
}

/* Takes COMBINED: sends the combined contribution up; at the root it is the result.
 *                                                                                Alg. 3 l. 11-20 */
static inline int hark_scmel_combined(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    const struct hark_name *name = &event->u.combined.name;
    struct hark_scmel_group *g = name->to == HARK_GROUP ? hark_scmel_group(s, name->ctx) : NULL;
    if (g == NULL || g->combining == 0 || name->ssn != g->combining) return HARK_EINVAL;
    uint64_t n = g->combining;
    g->combining = 0;
    g->sent = n;
    if (g->root == s->endpoint.me) {
        hark_scmel_complete(s, g, n);
    } else {
        struct hark_scmel_channel *up = hark_scmel_channel(s, g->parent, (uint16_t)g->ctx);
        up->channel.flags |= HARK_SCMEL_GROUP;
        up->channel.sent = n;
        if (g->done >= n) g->rack_due = 1;
        if (g->first > n) g->trim |= HARK_SCMEL_TRIM_OWN; /* it became complete meanwhile */
    }
    s->combine = s->late = s->busy = 1;
    s->posting = g->ctx;
    hark_scmel_try_normal(s, fx);
    return HARK_OK;
}

/* True if a RACK is well-formed: u64 ctx, u64 n; from my parent, or from the keeper to the root. */
static inline bool hark_scmel_rack_ok(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *b)
{
    const struct hark_scmel_group *g =
        hark_get64(b) <= UINT16_MAX ? hark_scmel_group(s, hark_get16(b)) : NULL;
    if (g == NULL || !g->reduces || hark_get64(b + 8) >> HARK_SSN_BITS) return false;
    return g->root == s->endpoint.me ? hark_scmel_is_keeper(s, g, h->src) : g->parent == h->src;
}

/* Takes note that the keeper has the wholes up to n: the others may drop their contributions. */
static inline void hark_scmel_known_kept(
    struct hark_scmel *s, struct hark_scmel_group *g, uint64_t n)
{
    if (g->whole_keeper >= n) return;
    g->whole_keeper = n;
    g->rack_due = s->busy = 1;
}

/* Takes note that reductions up to n are complete and kept: my log for them is no longer needed.
 *                                                                                Alg. 3 l. 30-39 */
static inline void hark_scmel_known_done(
    struct hark_scmel *s, struct hark_scmel_group *g, uint64_t n, struct hark_effects *fx)
{
    if (g->root == s->endpoint.me) {
        hark_scmel_known_kept(s, g, n);
        return;
    }
    if (g->keeps) return; /* a keeper counts only what it has */
    if (n > g->done) g->done = n;
    g->rack_due = s->busy = 1;
    if (g->first <= n) {
        bool behind = g->sent < n; /* my earlier incarnation contributed to n, this one did not */
        hark_scmel_skip(s, g, n);
        if (behind) hark_scmel_children_at(s, g, n, fx);
        g->first = n + 1;
        g->trim |= HARK_SCMEL_TRIM_OWN;
    }
    hark_scmel_try_normal(s, fx);
}

/* True if the message is a whole that the keeper gives back to me, the root, after my rollback. */
static inline bool hark_scmel_is_whole(
    struct hark_scmel *s, const struct hark_head *h, const uint8_t *b)
{
    const struct hark_scmel_group *g =
        hark_get16(b + 2) & HARK_SCMEL_WHOLE && h->ctx ? hark_scmel_group(s, h->ctx) : NULL;
    return g && hark_scmel_is_keeper(s, g, h->src);
}

/* Takes a whole from the keeper, and logs it here too. Contributions to its reduction are not
 * needed, and may exist no longer. My image may have the keeper's own contribution and lack others;
 * so wholes are counted from what I completed, not from what I received.            erratum C-12 */
HARK_COLD int hark_scmel_given(struct hark_scmel *s, struct hark_scmel_channel *c,
    const struct hark_head *h, struct hark_effects *fx)
{
    struct hark_scmel_group *g = hark_scmel_group(s, h->ctx);
    struct hark_name name = hark_name_of_group(h->ctx, h->ssn);
    if (h->ssn <= g->whole_root) return hark_emit_verdict(fx, HARK_DISCARD);
    if (h->ssn > g->whole_root + 1) {
        c->channel.flags |= HARK_GAP;
        return hark_emit_verdict(fx, HARK_HOLD);
    }
    name.way = HARK_IN;
    hark_emit_retain(fx, name);
    g->whole_root = h->ssn;
    g->rack_due = 1;
    if (c->accepted != h->src_inc) {
        c->accepted = h->src_inc;
        c->from = h->ssn;
    }
    c->channel.flags |= HARK_SCMEL_GROUP;
    if (c->channel.sent < h->ssn) c->channel.sent = h->ssn; /* the keeper has what it sent */
    if (c->transmitted < h->ssn) c->transmitted = h->ssn;
    /* Messages held behind it, or behind contributions of others, are next. */
    c->channel.flags |= HARK_GAP;
    hark_scmel_children_at(s, g, h->ssn, fx);
    s->combine = s->busy = 1;
    if (s->mode != HARK_SCMEL_NORMAL) hark_scmel_try_normal(s, fx);
    return HARK_OK;
}

/* Lowers the number of complete reductions when a root or a keeper has rolled back: what it was to
 * send to the other is lost, so only wholes that the other has are sure to be complete. */
static inline void hark_scmel_kept_lost(struct hark_scmel *s, uint32_t rank)
{
    for (uint32_t k = 0; k < s->groups.count; k++) {
        struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(&s->head, &s->groups, k);
        if (g->keeps && g->root == rank && g->done > g->whole_keeper) g->done = g->whole_keeper;
        if (hark_scmel_is_keeper(s, g, rank) && g->whole_keeper > g->whole_root)
            g->whole_keeper = g->whole_root;
    }
    if (s->groups.count) s->combine = s->busy = 1; /* wholes that were awaited may not come */
}

static inline void hark_scmel_rack(
    struct hark_scmel *s, const struct hark_scmel_group *g, uint32_t to, struct hark_effects *fx)
{
    uint8_t *body = hark_emit_control(&s->head, &s->endpoint, fx, HARK_S_RACK, to, 16);
    hark_put64(body, g->ctx);
    hark_put64(body + 8, hark_scmel_done_below(s, g));
}

/* SendMsgAckToChildren: sends RACK, u64 ctx, u64 n; the keeper reports to the root.
 *                                                                                Alg. 3 l. 25-29 */
static inline int hark_scmel_pump_rack(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t k = 0; k < s->groups.count; k++) {
        struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(&s->head, &s->groups, k);
        for (; g->rack_due && g->rack_due <= s->branches.count; g->rack_due++) {
            const struct hark_scmel_branch *b = hark_scmel_branch(s, g->rack_due - 1);
            if (!hark_scmel_is_child(g, b) || hark_scmel_is_keeper(s, g, b->rank)) continue;
            if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
            hark_scmel_rack(s, g, b->rank, fx);
        }
        g->rack_due = 0;
        if (!g->report_due) continue;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
        hark_scmel_rack(s, g, g->root, fx);
        g->report_due = 0;
    }
    return HARK_OK;
}

/* Passes over complete reductions when DETS of all have come: they need nothing of me, unless I am
 * the keeper (C-10, C-12). */
static inline void hark_scmel_reductions_collected(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t k = 0; k < s->groups.count; k++) {
        struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(&s->head, &s->groups, k);
        if (!g->reduces) continue;
        g->rack_due = hark_scmel_done_below(s, g) != 0;
        if (g->root == s->endpoint.me) continue;
        uint64_t done = g->done;
        hark_scmel_children_at(s, g, done, fx);
        if (!g->keeps) {
            hark_scmel_skip(s, g, done);
            if (g->first <= done) g->trim |= HARK_SCMEL_TRIM_OWN;
            if (g->first <= done) g->first = done + 1;
        }
        s->combine = s->busy = 1;
    }
    if (s->groups.count) s->combine = s->busy = 1;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
