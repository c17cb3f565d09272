/* causal/contribution.h: the arrival of a reduction's messages, lines 28-38 of CAMEL's Algorithm 2.
 * A part of scmel.h. causal/reduction.h has the rest, and explains wholes and the keeper. */
#ifndef HARK_CAUSAL_CONTRIBUTION_H
#define HARK_CAUSAL_CONTRIBUTION_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES

/* Returns HARK_SCMEL_WHOLE if the message is a whole that I keep for the root, else 0.
 *                                                                                   erratum C-12 */
static inline uint32_t hark_scmel_whole(
    struct hark_scmel *s, const struct hark_scmel_channel *c, uint64_t ssn)
{
    if (!(c->channel.flags & HARK_SCMEL_GROUP)) return 0;
    const struct hark_scmel_group *g = hark_scmel_group(s, c->channel.ctx);
    return g->keeps && ssn <= g->whole_keeper ? HARK_SCMEL_WHOLE : 0;
}

/* Skips my contributions behind the wholes that I keep, up to those that the root has in its oldest
 * image: these contributions are in no log. */
static inline void hark_scmel_pass_over(struct hark_scmel *s, struct hark_scmel_channel *c)
{
    const struct hark_scmel_group *g =
        c->channel.flags & HARK_SCMEL_GROUP ? hark_scmel_group(s, c->channel.ctx) : NULL;
    if (g && g->keeps && c->transmitted >= g->whole_keeper && c->transmitted + 1 < g->first)
        c->transmitted = g->first - 1;
}

static inline struct hark_scmel_branch *hark_scmel_branch(struct hark_scmel *s, uint32_t i)
{
    return (struct hark_scmel_branch *)hark_row(&s->head, &s->branches, i);
}

static inline bool hark_scmel_is_child(
    const struct hark_scmel_group *g, const struct hark_scmel_branch *b)
{
    return b->ctx == g->ctx && b->child;
}

/* Takes note that recv of a channel has grown without an arrival: a wave may have waited for that,
 * and frames held behind a gap are old. */
static inline void hark_scmel_passed_over(
    struct hark_scmel *s, struct hark_channel *c, struct hark_effects *fx)
{
    hark_wave_arrived(&s->head, &s->endpoint, &s->wave, c, fx);
    if (c->flags & HARK_GAP) s->endpoint.offer = 1;
    c->flags = (uint16_t)(c->flags & ~HARK_GAP);
}

/* Drops the contributions of my children to reductions up to n, which are no longer needed: those
 * in the log are trimmed, the others are not requested. */
static inline void hark_scmel_children_at(
    struct hark_scmel *s, const struct hark_scmel_group *g, uint64_t n, struct hark_effects *fx)
{
    const uint16_t ctx = (uint16_t)g->ctx;
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const struct hark_scmel_branch *b = hark_scmel_branch(s, i);
        if (b->ctx != ctx || !b->child) continue;
        struct hark_channel *c = &hark_scmel_channel(s, b->rank, ctx)->channel;
        if (c->done < n) { /* used in order: none beyond n */
            if (c->recv < n) c->recv = n;
            c->done = n;
            c->flags |= HARK_SCMEL_TRIM;
            s->busy = 1;
        }
        hark_scmel_passed_over(s, c, fx);
    }
}

/* Returns, at the root, the keeper: the first child that does not roll back with me; NULL if all
 * children do. */
static inline const struct hark_scmel_branch *hark_scmel_keeper(
    struct hark_scmel *s, const struct hark_scmel_group *g)
{
    for (uint32_t i = 0; g->reduces && g->root == s->endpoint.me && i < s->branches.count; i++) {
        const struct hark_scmel_branch *b = hark_scmel_branch(s, i);
        if (hark_scmel_is_child(g, b) && !hark_scmel_mate(s, b->rank)) return b;
    }
    return NULL;
}

static inline bool hark_scmel_is_keeper(
    struct hark_scmel *s, const struct hark_scmel_group *g, uint32_t rank)
{
    const struct hark_scmel_branch *b = hark_scmel_keeper(s, g);
    return b && b->rank == rank;
}

/* Returns the number of reductions to which members below me need not contribute again. Root and
 * keeper count only wholes that they have themselves: one that a process lost in its rollback does
 * not count until the other has given it back, because the other may die before that (v16). */
static inline uint64_t hark_scmel_done_below(
    const struct hark_scmel *s, const struct hark_scmel_group *g)
{
    if (g->root == s->endpoint.me)
        return g->whole_keeper < g->whole_root ? g->whole_keeper : g->whole_root;
    return g->keeps ? g->whole_keeper : g->done;
}

/* True if the root or the keeper, after a rollback, has got back all wholes that are kept. The
 * keeper needs them for another failure of the root. The root needs them because contributors have
 * dropped their contributions, and may know that a reduction is complete before the root has the
 * whole. */
static inline bool hark_scmel_given_back(
    const struct hark_scmel *s, const struct hark_scmel_group *g)
{
    return g->root == s->endpoint.me ? g->whole_root >= g->whole_keeper
                                     : !g->keeps || g->whole_keeper >= g->done;
}

/* Moves my channel to the parent past reduction n, which is in the log or needs no log. */
static inline void hark_scmel_skip(struct hark_scmel *s, struct hark_scmel_group *g, uint64_t n)
{
    struct hark_scmel_channel *up = hark_scmel_channel(s, g->parent, (uint16_t)g->ctx);
    up->channel.flags |= HARK_SCMEL_GROUP;
    if (g->sent < n) g->sent = n;
    if (up->channel.sent < n) up->channel.sent = n;
    if (up->transmitted < n) up->transmitted = n;
}

/* True if this is the channel on which a child contributes. */
static inline bool hark_scmel_from_child(struct hark_scmel *s, const struct hark_channel *c)
{
    const struct hark_scmel_group *g = c->ctx ? hark_scmel_group(s, c->ctx) : NULL;
    return g && g->reduces && c->peer != g->parent && c->peer != s->endpoint.me;
}

/* True if the message is part of a reduction: a child's contribution or a whole. The result itself
 * is a message to myself. */
static inline bool hark_scmel_contributes(struct hark_scmel *s, const struct hark_head *h)
{
    const struct hark_scmel_group *g =
        h->ctx && h->src != s->endpoint.me ? hark_scmel_group(s, h->ctx) : NULL;
    return g && g->reduces;
}

/* False if the context is a reduction's and the sender has no channel in it. The channels in it are
 * from a child, from the root to its children, and from the root to itself. */
static inline bool hark_scmel_belongs(struct hark_scmel *s, const struct hark_head *h)
{
    const struct hark_scmel_group *g =
        s->groups.count && h->ctx ? hark_scmel_group(s, h->ctx) : NULL;
    if (g == NULL || !g->reduces) return true;
    if (h->src == s->endpoint.me || h->src == g->parent) return h->src == g->root;
    return hark_channel_find(&s->head, &s->endpoint, h->src, h->ctx) != NULL;
}

/* Keeps a whole from the root, in place of my own contribution.                     erratum C-12 */
static inline void hark_scmel_keep(struct hark_scmel *s, struct hark_scmel_group *g,
    struct hark_channel *c, uint64_t n, struct hark_effects *fx)
{
    struct hark_name name = hark_name_of_group((uint16_t)g->ctx, n);
    name.way = HARK_IN;
    hark_emit_retain(fx, name);
    if (c->done < n) c->done = n; /* used on arrival, in order: none beyond n */
    g->keeps = 1;
    g->whole_keeper = n;
    if (g->done < n) g->done = n;
    hark_scmel_skip(s, g, n);
    hark_scmel_children_at(s, g, n, fx);
    if (g->first <= n) {
        g->first = n + 1;
        g->trim |= HARK_SCMEL_TRIM_OWN;
    }
    g->rack_due = g->report_due = 1;
}

/* ReceiveReductionMsg: logs the message until all contributions have arrived, without determinant
 * (l. 31).                                                                       Alg. 2 l. 28-38 */
HARK_COLD void hark_scmel_contributed(
    struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    struct hark_scmel_group *g = hark_scmel_group(s, h->ctx);
    if (h->src != g->root) hark_emit_retain(fx, hark_name_in(h->src, h->ctx, h->ssn));
    else
        hark_scmel_keep(
            s, g, hark_channel_find(&s->head, &s->endpoint, h->src, h->ctx), h->ssn, fx);
    s->combine = s->busy = 1;
}

#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
