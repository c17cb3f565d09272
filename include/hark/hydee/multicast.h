/* hydee/multicast.h: multicasts under HydEE: one copy in the root's log, and others pass it on. A
 * part of hydee.h.
 *
 * E. Meneses, L. V. Kale: CAMEL: Collective-Aware Message Logging. The Journal of Supercomputing,
 * 2015, Algorithm 2, over HydEE in place of causal logging. A multicast is a message on a channel
 * from the root to each member, of the group's context: the same number, phase and payload on all
 * of them. So phases, orphans, replay, notices and marks are those of channels; what differs is who
 * transmits, and that the payload is in the log once, under the group's name.
 *
 * Without a recovery the tree carries it: the root counts as transmitted what goes to its children,
 * and who accepts a multicast passes it on. That moves no phase: nothing that the one in between
 * delivered is in it. What a process in between takes with it when it dies, or does not pass on
 * because it knows of a failure that the root did not know of, the root finds by positions: upon
 * every failure it exchanges them with all members in other clusters. While recovery runs it sends
 * directly, gated as any message. A member of its own cluster has it from the tree only where all
 * between them are of that cluster, for then they go back together: there is no log.
 */
#ifndef HARK_HYDEE_MULTICAST_H
#define HARK_HYDEE_MULTICAST_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* The group of that context; NULL: there is none, or I do not belong to it. */
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

/* Are all on the way from the root to `rank` of my cluster, both included? */
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

/* One that I belong to: at the root all members are branches, with a channel each; else my children
 * are. */
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

/* Takes over the trees of the configuration; HARK_EINVAL if one is none. */
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

/* SendMulticastMsg: another than the root sends to the root, or has a tree of its own.
 *                                                                            CAMEL Alg. 2 l. 1-9 */
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

/* To one member: what hark_hydee_send does, but for the tree. */
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

/* The payload is needed by nobody any more up to what all members' images have. */
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

/* ---- who passes it on ------------------------------------------------------------------------ */

/* A multicast has been accepted: those below me get it. Of another epoch only those who go back
 * with the root and me: the others the root asks what they have. One that it sends itself while
 * recovery runs is of no epoch: what may go to me need not be let go to them. */
static inline void hark_hydee_pass_on(
    struct hark_hydee *s, const struct hark_head *h, const uint8_t *b)
{
    const struct hark_hydee_group *g = hark_hydee_group(s, h->ctx);
    if (g == NULL || g->root != h->src || g->root == s->endpoint.me) return;
    s->passes = *h;
    s->passes_phase = hark_get64(b);
    s->passes_digest = hark_get64(b + 8);
    s->passes_far = h->re == s->endpoint.re;
    s->passes.re = s->endpoint.re;
    s->pass_next = 0;
    s->pass = s->busy = 1;
}

/* SendMsgToChildren.                                        CAMEL Alg. 2 l. 18-19, Alg. 3 l. 1-6 */
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
