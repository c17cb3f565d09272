/* hydee/multicast.h: multicasts under HydEE. The root logs one copy, and members pass it on along a
 * tree. A part of hydee.h.
 *
 * E. Meneses, L. V. Kale: CAMEL: Collective-Aware Message Logging. The Journal of Supercomputing,
 * 2015, Algorithm 2, over HydEE in place of causal logging. A multicast is one message per member,
 * on the channel from the root to that member in the group's context, with the same number, phase
 * and payload on all of them. So the rules for phases, orphans, replay, notices and marks are those
 * of channels. Two things differ: the process that transmits, and the log, which holds the payload
 * once, under the group's name.
 *
 * When no recovery runs, the tree carries a multicast: the root transmits to its children and
 * counts it as transmitted to all, and a member that accepts it passes it on. Passing on moves no
 * phase, because the multicast depends on nothing that the member delivered. The member may die, or
 * may not pass the multicast on because it knows of a failure that the root does not know of yet.
 * The root finds such losses by positions, which it exchanges after every failure with all members
 * in other clusters. While recovery runs, the root sends directly, and the multicast waits at the
 * gate as any message.
 *
 * Inside the root's cluster there is no log. So a member there gets the multicast from the tree
 * only if all processes between are of that cluster, since these roll back together; otherwise from
 * the root directly.
 */
#ifndef HARK_HYDEE_MULTICAST_H
#define HARK_HYDEE_MULTICAST_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* Returns the group of a context; NULL: there is none, or I do not belong to it. */
static inline struct hark_hydee_group *hark_hydee_group(struct hark_hydee *s, uint16_t ctx)
{
    for (uint32_t i = 0; i < s->groups.count; i++) {
        struct hark_hydee_group *g = (struct hark_hydee_group *)hark_row(&s->head, &s->groups, i);
        if (g->ctx == ctx) return g;
    }
    return NULL;
}

static inline struct hark_hydee_branch *hark_hydee_branch(struct hark_hydee *s, uint32_t i)
{
    return (struct hark_hydee_branch *)hark_row(&s->head, &s->branches, i);
}

/* ---- groups of the configuration ------------------------------------------------------------- */

/* True if all processes on the path from the root to `rank` are of my cluster, both ends
 * included. */
static inline bool hark_hydee_among_mates(
    struct hark_hydee *s, const struct hark_group *t, uint32_t rank)
{
    for (uint32_t steps = 0; steps <= t->count; steps++) {
        uint32_t i = hark_tree_root(t->member, t->count, rank);
        if (i == t->count || !hark_ranges_hold(&s->head, hark_hydee_cluster(s), rank)) return false;
        if (rank == t->root) return true;
        rank = t->parent[i];
    }
    return false;
}

/* Adds a group that I belong to. Its branches are, at the root, all other members, each with a
 * channel; elsewhere they are my children. */
static inline int hark_hydee_add_group(struct hark_hydee *s, const struct hark_group *t)
{
    struct hark *p = &s->head;
    int status = hark_reserve(p, &hark_hydee_shape, &s->groups, 1);
    if (status >= 0) status = hark_reserve(p, &hark_hydee_shape, &s->branches, t->count);
    if (status >= 0) status = hark_reserve(p, &hark_hydee_shape, &s->endpoint.channels, t->count);
    if (status < 0) return status;
    struct hark_hydee_group *g =
        (struct hark_hydee_group *)hark_insert(p, &s->groups, s->groups.count);
    g->ctx = t->ctx;
    g->root = t->root;
    g->first = 1;
    for (uint32_t m = 0; m < t->count; m++) {
        uint32_t rank = t->member[m];
        bool child = t->parent[m] == s->endpoint.me, root = t->root == s->endpoint.me;
        if (rank == s->endpoint.me || (!child && !root)) continue;
        struct hark_hydee_branch *b =
            (struct hark_hydee_branch *)hark_insert(p, &s->branches, s->branches.count);
        b->ctx = t->ctx;
        b->rank = rank;
        b->child = child;
        b->mates = hark_hydee_among_mates(s, t, rank);
        if (!root) continue;
        struct hark_hydee_channel *c = hark_hydee_channel(s, rank, t->ctx);
        if (c == NULL) return HARK_EINVAL;
        c->channel.flags |= HARK_HYDEE_GROUP;
        g->logged |= hark_hydee_inter(c);
    }
    return HARK_OK;
}

/* Takes over the groups of the configuration. HARK_EINVAL: one is not a valid tree, or is for
 * reductions, or they do not ascend by context. */
static inline int hark_hydee_groups(struct hark_hydee *s, const struct hark_config *c)
{
    for (uint32_t i = 0; i < c->group_count; i++) {
        const struct hark_group *t = &c->groups[i];
        if (t->reduces || (i && t->ctx <= c->groups[i - 1].ctx) || !hark_tree_valid(t, c->ranks))
            return HARK_EINVAL;
        if (hark_tree_root(t->member, t->count, s->endpoint.me) == t->count) continue;
        int status = hark_hydee_add_group(s, t);
        if (status < 0) return status;
    }
    return HARK_OK;
}

/* ---- the root -------------------------------------------------------------------------------- */

/* SendMulticastMsg: begins a multicast. Only the root may: another member sends to the root, or has
 * a tree of its own.                                                         CAMEL Alg. 2 l. 1-9 */
HARK_COLD int hark_hydee_multicast(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_hydee_group *g =
        event->u.send.peer <= UINT16_MAX ? hark_hydee_group(s, (uint16_t)event->u.send.peer) : NULL;
    if (g == NULL || g->root != s->endpoint.me || event->u.send.ctx != g->ctx) return HARK_EINVAL;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    int status = hark_hydee_reserve(s, 0, 2 * s->branches.count + 1);
    if (status < 0) return status;
    s->date++;
    s->multicast = g->ctx;
    s->multicast_next = 0;
    s->multicast_length = event->u.send.length;
    s->multicast_digest = event->u.send.digest;
    s->busy = 1;
    if (g->logged) hark_emit_retain(fx, hark_name_of_group((uint16_t)g->ctx, g->sent + 1));
    g->sent++;
    return HARK_OK;
}

/* Sends the multicast to one member, as hark_hydee_send does, except that the tree may carry it. */
static inline void hark_hydee_multicast_one(
    struct hark_hydee *s, const struct hark_hydee_branch *b, struct hark_effects *fx)
{
    struct hark_hydee_channel *c = hark_hydee_find(s, b->rank, (uint16_t)b->ctx);
    uint64_t ssn = ++c->channel.sent, phase = s->phase;
    bool direct = b->child || (hark_hydee_inter(c) ? s->recovering : !b->mates);
    if (s->flags & HARK_DIGEST)
        c->pos.sent_digest =
            hark_digest_mix(c->pos.sent_digest, ssn, s->multicast_length, s->multicast_digest);
    if (!hark_hydee_inter(c)) {
        c->pos.transmitted = ssn;
        if (direct) hark_hydee_transmit(s, c, ssn, phase, c->pos.sent_digest, fx);
        return;
    }
    if (ssn <= c->pos.last_orphan) {
        phase = hark_hydee_suppress(s, c, ssn, fx);
    } else if (phase <= s->released_phase && c->pos.transmitted + 1 == ssn) {
        c->pos.transmitted = ssn;
        if (direct) hark_hydee_transmit(s, c, ssn, phase, c->pos.sent_digest, fx);
    }
    hark_runs_add(&s->head, &s->pool, &c->log, ssn, phase);
    if (s->flags & HARK_DIGEST)
        *hark_queue_push(&s->head, &s->pool, &c->pos.digests) = c->pos.sent_digest;
}

static inline int hark_hydee_pump_multicast(struct hark_hydee *s, struct hark_effects *fx)
{
    for (; s->multicast && s->multicast_next < s->branches.count; s->multicast_next++) {
        const struct hark_hydee_branch *b = hark_hydee_branch(s, s->multicast_next);
        if (b->ctx != s->multicast) continue;
        if (!hark_effects_fit(fx, 2, HARK_HYDEE_HEADER)) return HARK_MORE;
        hark_hydee_multicast_one(s, b, fx);
    }
    s->multicast = 0;
    return HARK_OK;
}

/* Trims the payloads of a group up to the last one that the oldest images of all members in other
 * clusters contain. */
static inline void hark_hydee_group_trim(
    struct hark_hydee *s, uint16_t ctx, struct hark_effects *fx)
{
    struct hark_hydee_group *g = hark_hydee_group(s, ctx);
    uint64_t first = g->sent + 1;
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const struct hark_hydee_branch *b = hark_hydee_branch(s, i);
        const struct hark_hydee_channel *c =
            b->ctx == ctx ? hark_hydee_find(s, b->rank, ctx) : NULL;
        if (c && hark_hydee_inter(c) && c->pos.first < first) first = c->pos.first;
    }
    if (first <= g->first) return;
    g->first = first;
    hark_emit_trim(fx, hark_name_of_group(ctx, first - 1));
}

/* ---- passing on ------------------------------------------------------------------------------ */

/* Passes an accepted multicast on to my children. If it is of another epoch, only to those that
 * roll back together with the root and me; the root exchanges positions with the others. A
 * multicast that the root sends directly while recovery runs has no epoch, so it counts as of
 * another epoch: the gate that let it go to me may still be closed for my children. */
static inline void hark_hydee_pass_on(
    struct hark_hydee *s, const struct hark_head *h, const uint8_t *b)
{
    const struct hark_hydee_group *g = hark_hydee_group(s, h->ctx);
    if (g == NULL || g->root != h->src || g->root == s->endpoint.me) return;
    s->passes = *h;
    s->passes_phase = hark_get64(b);
    s->passes_digest = hark_get64(b + 8);
    s->passes_far = h->re == s->endpoint.re;
    if (!s->passes_far) s->passes.re = HARK_HYDEE_DIRECT; /* nor may the next process: v28 */
    s->pass_next = 0;
    s->pass = s->busy = 1;
}

/* SendMsgToChildren: sends to my children.                  CAMEL Alg. 2 l. 18-19, Alg. 3 l. 1-6 */
static inline int hark_hydee_pump_pass(struct hark_hydee *s, struct hark_effects *fx)
{
    for (; s->pass && s->pass_next < s->branches.count; s->pass_next++) {
        const struct hark_hydee_branch *to = hark_hydee_branch(s, s->pass_next);
        if (to->ctx != s->passes.ctx || !(to->mates || s->passes_far)) continue;
        if (!hark_effects_fit(fx, 1, HARK_HYDEE_HEADER)) return HARK_MORE;
        struct hark_head h = s->passes;
        uint8_t *b;
        h.dst = to->rank;
        h.dst_inc = hark_inc_of(&s->head, &s->endpoint, to->rank);
        struct hark_transmit *x = hark_emit_frame(fx, &h, HARK_HYDEE_HEADER, &b);
        hark_put64(b, s->passes_phase);
        hark_put64(b + 8, s->passes_digest);
        x->phase = s->passes_phase;
        x->name = hark_name_in(h.src, h.ctx, h.ssn);
    }
    s->pass = 0;
    return HARK_OK;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
