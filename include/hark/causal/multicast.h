/* causal/multicast.h: multicasts, lines 1-20 of CAMEL's Algorithm 2. The root logs one copy, and
 * members forward it.
 *
 * A multicast is a message on a channel from the root to each member, with the group's context. It
 * has the same number on all these channels, and one payload, which is logged under the group's
 * name. So positions, replay, marks and DETS work as on other channels; only the transmitter
 * differs. A member that is not a child of the root receives a multicast along the tree, and the
 * root counts it as transmitted. Where the tree cannot be relied on, the root sends directly, with
 * determinants (C-1, C-5): the multicasts that a member lacks after its rollback; and after a
 * rollback of the root, those that one member lacks and another has (C-4), because members drop
 * duplicates and do not forward them.
 *
 * A member forwards a multicast once, when it accepts it, and without determinants: the root's
 * children have stored them before (C-5), and one copy suffices. If more copies are needed, or
 * copies at mates do not count, it forwards the determinants that the root sent along, which are
 * all that were loose at the root. It does not add its own: the multicast does not depend on its
 * deliveries (C-6). Copies from an earlier incarnation of the root are dropped as soon as the
 * failure of the root is known (C-3).
 */
#ifndef HARK_CAUSAL_MULTICAST_H
#define HARK_CAUSAL_MULTICAST_H

#include "../parts/group.h"
#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* Makes the channels of a reduction at the start, so that no later frame has to make one. */
static inline int hark_scmel_reduction_channels(
    struct hark_scmel *s, const struct hark_group *t, uint32_t parent)
{
    int status = hark_reserve(&s->head, &hark_scmel_shape, &s->endpoint.channels, t->count);
    if (status < 0) return status;
    for (uint32_t m = 0; m < t->count; m++)
        if (t->member[m] == parent || t->parent[m] == s->endpoint.me)
            hark_scmel_channel(s, t->member[m], t->ctx);
    return HARK_OK;
}

/* True if this group may reduce. The wholes are kept by processes that roll back with the root, and
 * by processes outside that contribute to these. So each team must be one connected piece of the
 * tree, and of the root's team only the root may have children outside. Each process checks its own
 * team.                                                                                      8.3 */
static inline bool hark_scmel_may_reduce(const struct hark_scmel *s, const struct hark_group *t)
{
    uint32_t pieces = 0;
    if (s->k > 1) return false;
    for (uint32_t m = 0; m < t->count && s->teams; m++) {
        bool mine = hark_scmel_mate(s, t->member[m]), above = hark_scmel_mate(s, t->parent[m]);
        pieces += mine && (!above || t->member[m] == t->root);
        if (!mine && above && t->parent[m] != t->root && hark_scmel_mate(s, t->root)) return false;
    }
    return pieces <= 1;
}

/* Stores the groups of the configuration that I belong to. HARK_EINVAL if a tree is invalid. */
static inline int hark_scmel_trees(struct hark_scmel *s, const struct hark_config *c)
{
    /* No TRIM exists of the log of a group, which the images of members outside a team may need. */
    if (c->group_count && s->team_checkpoints_alone) return HARK_EINVAL;
    for (uint32_t i = 0; i < c->group_count; i++) {
        const struct hark_group *t = &c->groups[i];
        uint32_t branches = t->count - 1,
                 mine = hark_tree_root(t->member, t->count, s->endpoint.me);
        if (!hark_tree_valid(t, c->ranks) || (i && t->ctx <= c->groups[i - 1].ctx))
            return HARK_EINVAL;
        if (t->reduces && !hark_scmel_may_reduce(s, t)) return HARK_EINVAL;
        if (mine == t->count) continue;
        int status = hark_reserve(&s->head, &hark_scmel_shape, &s->groups, 1);
        if (status >= 0) status = hark_reserve(&s->head, &hark_scmel_shape, &s->branches, branches);
        if (status < 0) return status;
        struct hark_scmel_group *g =
            (struct hark_scmel_group *)hark_insert(&s->head, &s->groups, s->groups.count);
        g->ctx = t->ctx;
        g->reduces = t->reduces != 0;
        g->whole_first = 1;
        g->root = t->root;
        g->parent = t->parent[mine];
        g->first = 1;
        for (uint32_t m = 0; m < t->count; m++) {
            bool child = t->parent[m] == s->endpoint.me;
            if (t->member[m] == s->endpoint.me || (!child && t->root != s->endpoint.me)) continue;
            struct hark_scmel_branch *b =
                (struct hark_scmel_branch *)hark_insert(&s->head, &s->branches, s->branches.count);
            b->ctx = t->ctx;
            b->rank = t->member[m];
            b->child = child;
        }
        if (t->reduces && (status = hark_scmel_reduction_channels(s, t, t->parent[mine])) < 0)
            return status;
    }
    return HARK_OK;
}

/* SendMulticastMsg: takes a multicast, at the root only: another member sends to the root, or has a
 * tree of its own (C-7).                                                                  l. 1-9 */
static inline int hark_scmel_multicast(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel_group *g =
        event->u.send.peer <= UINT16_MAX ? hark_scmel_group(s, (uint16_t)event->u.send.peer) : NULL;
    if (g == NULL || g->reduces || g->root != s->endpoint.me || event->u.send.ctx != g->ctx)
        return HARK_EINVAL;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    int status =
        hark_reserve(&s->head, &hark_scmel_shape, &s->endpoint.channels, s->branches.count);
    if (status < 0) return status;
    g = hark_scmel_group(s, (uint16_t)event->u.send.peer); /* tables may have moved */
    uint64_t ssn = ++g->sent, again = g->again;            /* l. 4 */
    uint16_t ctx = (uint16_t)g->ctx;
    /* Among mates a multicast that is transmitted at once needs no log: see hark_scmel_unlogged. */
    bool goes =
        s->teams && s->mode == HARK_SCMEL_NORMAL && hark_scmel_fits(s, HARK_SCMEL_NOBODY, 0);
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const struct hark_scmel_branch *b = hark_scmel_branch(s, i);
        if (b->ctx != ctx) continue;
        struct hark_scmel_channel *c = hark_scmel_channel(s, b->rank, ctx);
        c->channel.flags |= HARK_SCMEL_GROUP;
        c->channel.sent = ssn;
        /* A member that forwards may not know a new incarnation yet; and while DETS are collected
         * it is not known which multicasts the tree has brought. */
        bool tree = !b->child && ssn > again && s->mode != HARK_SCMEL_COLLECT &&
                    !hark_scmel_sends_gated(s, b->rank);
        goes = goes && c->channel.flags & HARK_SCMEL_MATE && c->transmitted + 1 == ssn;
        if (tree && c->transmitted + 1 == ssn) c->transmitted = ssn;
        if (c->transmitted < ssn) s->late = s->busy = 1; /* l. 8 */
    }
    if (goes) g->first = ssn + 1;
    else hark_emit_retain(fx, hark_name_of_group(ctx, ssn)); /* l. 7 */
    s->posting = ctx;
    return HARK_OK;
}

/* SendMsgToChildren: a member forwards a multicast.               Alg. 2 l. 18-19, Alg. 3 l. 1-6 */
static inline int hark_scmel_pump_forward(struct hark_scmel *s, struct hark_effects *fx)
{
    for (; s->forward && s->forward <= s->branches.count; s->forward++) {
        const struct hark_scmel_branch *to = hark_scmel_branch(s, s->forward - 1);
        if (to->ctx != s->passes.ctx) continue;
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        struct hark_head h = s->passes;
        uint32_t bytes = s->forwarded_determinants * hark_det_bytes(s->k);
        uint8_t *b;
        h.dst = to->rank;
        h.dst_inc = hark_inc_of(&s->head, &s->endpoint, to->rank);
        struct hark_transmit *x = hark_emit_frame(fx, &h, HARK_SCMEL_HEADER + bytes, &b);
        hark_put32(b, s->forwarded_determinants); /* and no acknowledgements */
        hark_put32(b + 4, s->k);
        if (bytes) hark_copy(b + 8, hark_row(&s->head, &s->along, 0), bytes);
        x->determinants = s->forwarded_determinants;
        x->name = hark_name_in(h.src, h.ctx, h.ssn);
    }
    s->forward = s->forwarded_determinants = 0;
    if (s->along.count) hark_empty(&s->head, &s->along);
    return HARK_OK;
}

/* Prepares the multicasts of a root that has rolled back, when DETS of all have come: up to the
 * highest ssn that any member has, the root sends directly what a member lacks (C-4). */
static inline void hark_scmel_group_collected(struct hark_scmel *s)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, i);
        struct hark_scmel_group *g =
            c->channel.flags & HARK_SCMEL_GROUP ? hark_scmel_group(s, c->channel.ctx) : NULL;
        if (g && !g->reduces && g->again < c->transmitted) g->again = c->transmitted;
    }
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
