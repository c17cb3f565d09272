/* hydee/checkpoint.h: what a process does at a checkpoint; garbage collection of Logs and RPP
 * (III.E); checks of images, of unpacked states and of the lengths of frames. A part of hydee.h. */
#ifndef HARK_HYDEE_CHECKPOINT_H
#define HARK_HYDEE_CHECKPOINT_H

#include "multicast.h"
#include "recluster.h"
#include "tree.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Stores, upon checkpoint, the positions of this image; GC notices after later commits need them.
 *                                                                                Alg. 1 l. 19-21 */
HARK_COLD void hark_hydee_captured(struct hark_hydee *s)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c) && !hark_hydee_becomes_intercluster(s, c)) continue;
        hark_position_add(&s->head, &s->positions, s->wave.wave, &c->channel, c->channel.sent);
    }
}

/* ---- garbage collection, III.E, by checkpoint-time positions and only after COMMIT (E3) ------ */

/* Drops, after a wave is over, the positions of images that are no longer kept. If the wave was
 * committed and all `generations` are kept, marks a GC notice to every peer with the positions of
 * the oldest image. */
HARK_COLD void hark_hydee_gc(struct hark_hydee *s, bool committed)
{
    const struct hark_wave *w = &s->wave;
    uint64_t oldest =
        w->kept.count ? ((const struct hark_image *)hark_row_of(&s->head, &w->kept, 0))->id : 0;
    uint64_t newest =
        w->kept.count
            ? ((const struct hark_image *)hark_row_of(&s->head, &w->kept, w->kept.count - 1))->id
            : 0;
    for (uint32_t i = s->positions.count; i-- > 0;) {
        const struct hark_position *x =
            (const struct hark_position *)hark_row(&s->head, &s->positions, i);
        if (x->id < oldest || x->id > newest) hark_remove(&s->head, &s->positions, i);
    }
    if (!committed || w->kept.count < w->generations) return;
    if (hark_gc_mark(&s->head, &s->endpoint, &s->positions, oldest)) s->busy = 1;
}

/* Returns, for the exact gate, the lowest number in the logs, or the number of posts if they are
 * empty. */
HARK_COLD uint64_t hark_hydee_oldest(struct hark_hydee *s)
{
    uint64_t oldest = s->past.posts;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const uint64_t *run = hark_queue_first(&s->head, &s->pool, &hark_hydee_at(s, i)->index);
        if (run && run[0] + run[1] < oldest) oldest = run[0] + run[1];
    }
    return oldest;
}

/* Takes GC from j: {recv u64, sent u64} of j's oldest kept image. Trims my log to j up to `recv`,
 * and RPP up to `sent`. */
static inline int hark_hydee_trim(
    struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    struct hark_hydee_channel *c = (struct hark_hydee_channel *)(void *)hark_channel_find(
        &s->head, &s->endpoint, h->src, h->ctx);
    if (c == NULL || !hark_hydee_inter(c)) return hark_emit_verdict(fx, HARK_DISCARD);
    uint64_t recv = hark_get64(b), sent = hark_get64(b + 8);
    hark_runs_trim(&s->head, &s->pool, &c->rpp, sent, c->channel.recv);
    hark_runs_trim(&s->head, &s->pool, &c->rpp_index, sent, c->channel.recv);
    if (recv > c->channel.sent) recv = c->channel.sent;
    if (recv < c->pos.first) return HARK_OK;
    hark_runs_trim(&s->head, &s->pool, &c->log, recv, c->channel.sent);
    hark_runs_trim(&s->head, &s->pool, &c->index, recv, c->channel.sent);
    for (; c->pos.first <= recv && c->pos.digests.count; c->pos.first++)
        hark_queue_pop(&s->head, &s->pool, &c->pos.digests);
    c->pos.first = recv + 1;
    if (s->flags & HARK_EXACT_GATE)
        hark_past_trim(&s->head, &s->pool, &s->past, hark_hydee_oldest(s));
    if (c->channel.flags & HARK_HYDEE_GROUP) hark_hydee_group_trim(s, c->channel.ctx, fx);
    else hark_emit_trim(fx, hark_name_of(HARK_OUT, &c->channel, recv));
    return HARK_OK;
}

/* ---- images ---------------------------------------------------------------------------------- */

/* False if the image is of a process with another gate (without the exact gate the numbers are
 * missing), other groups or other waves. True also for bytes that are no image, which unpacking
 * refuses. */
static inline bool hark_hydee_image_fits(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark_hydee was;
    if (event->u.restarted.checkpoint == 0 || event->u.restarted.image.at == NULL) return true;
    hark_zero(&was, sizeof was);
    bool whole = hark_unpack_fixed(&hark_hydee_shape, event->u.restarted.image, &was);
    return !whole ||
           (((was.flags ^ s->flags) & HARK_EXACT_GATE) == 0 &&
               was.groups_configured == s->groups_configured && was.waves_all == s->waves_all);
}

static inline bool hark_hydee_channel_ok(const struct hark_hydee_channel *c)
{
    return c->pos.transmitted <= c->channel.sent && c->pos.first > 0 &&
           c->pos.first <= c->channel.sent + 1 && c->log.width == 2 && c->rpp.width == 2 &&
           c->recorded.width == 2 && c->index.width == 2 && c->rpp_index.width == 2 &&
           c->pos.digests.width == 1;
}

/* True if neither a failure nor a checkpoint nor a fragment is on its way, so that a message has no
 * effects but its own. */
static inline bool hark_hydee_usual(const struct hark_hydee *s)
{
    const struct hark_endpoint *e = &s->endpoint;
    return !(s->gone | s->head.more | s->recovering | s->busy | e->awaiting | e->offer |
               e->waiting.count | e->beyond.count | (s->flags & HARK_EXACT_GATE) |
               s->wave.in_checkpoint_call) &&
           hark_wave_calm(&s->wave) && hark_step_rests(e, &s->wave);
}

/* True if steps can use an unpacked state. Missing numbers of the log need no check: steps look
 * them up and handle an absent one. */
HARK_FN bool hark_hydee_accept(struct hark *p)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    if (!hark_ends_ok(p, &s->endpoint) || !hark_wave_ok(p, &s->endpoint, &s->wave)) return false;
    if (s->fixed_header_bytes != (s->flags & HARK_EXACT_GATE ? 0 : HARK_HYDEE_HEADER)) return false;
    if (s->tree.fan == 1 || !hark_rows_ascend(p, &s->tree.below, s->endpoint.ranks)) return false;
    if (!hark_rows_ascend(p, &s->pairs, s->endpoint.ranks) ||
        !hark_past_ok(p, &s->pool, &s->past, s->endpoint.ranks))
        return false;
    if (s->groups_configured != s->groups.count || !hark_hydee_maps_ok(s)) return false;
    for (uint32_t i = 0; i < s->groups.count; i++) {
        const struct hark_hydee_group *g =
            (const struct hark_hydee_group *)hark_row(p, &s->groups, i);
        if (g->root >= s->endpoint.ranks || g->first == 0 || g->first > g->sent + 1) return false;
    }
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const struct hark_hydee_branch *b = hark_hydee_branch(s, i);
        const struct hark_hydee_group *g =
            b->ctx <= UINT16_MAX ? hark_hydee_group(s, (uint16_t)b->ctx) : NULL;
        if (b->rank >= s->endpoint.ranks || g == NULL) return false;
        if (g->root == s->endpoint.me && hark_hydee_find(s, b->rank, (uint16_t)b->ctx) == NULL)
            return false;
    }
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_channel_ok(c)) return false;
        if (c->channel.flags & HARK_HYDEE_GROUP && hark_hydee_group(s, c->channel.ctx) == NULL)
            return false;
    }
    s->usual = hark_hydee_usual(s);
    return hark_contexts_ok(p, &s->endpoint, &hark_hydee_exchange);
}
/* ---- frames ---------------------------------------------------------------------------------- */

static inline bool hark_hydee_length_ok(
    const struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, uint32_t length)
{
    bool exact = (s->flags & HARK_EXACT_GATE) != 0;
    if (h->type != HARK_APP && h->src == s->endpoint.me) return false;
    bool of_tree = (h->type >= HARK_H_RELEASE && h->type <= HARK_H_RECDONE) || h->type == HARK_H_UP;
    if (s->tree.fan && (of_tree || h->src == HARK_RECOVERY))
        return hark_hydee_tree_ok(s, h, length);
    /* the recovery process has no channels: only RECDONE and RELEASE come from it */
    if (h->src == HARK_RECOVERY)
        return h->type == HARK_H_RECDONE
                   ? length == 0
                   : h->type == HARK_H_RELEASE &&
                         (exact ? length >= 16 && length % 16 == 0 : length == 8);
    switch (h->type) {
    case HARK_APP:
        return exact && length >= HARK_HYDEE_HEADER - HARK_WIRE_HEAD &&
               hark_past_valid(b + 16, length - 16, s->endpoint.ranks);
    case HARK_H_POS: return hark_pos_length_ok(&hark_hydee_exchange, b, length);
    case HARK_H_ORPH: return length >= 8 && (length - 8) % 24 == 0;
    case HARK_H_GC: return length == 16;
    default: return hark_wave_length_ok(h->type, length);
    }
}

/* Makes room for whatever a control frame of this length may add, before the state changes. */
static inline int hark_hydee_room(struct hark_hydee *s, const struct hark_head *h, uint32_t length)
{
    struct hark *p = &s->head;
    uint32_t chunks = 2, channels = h->type == HARK_H_POS ? length / 32 + 1 : 1;
    if (h->type == HARK_H_ORPH) {
        const struct hark_hydee_channel *c =
            (const struct hark_hydee_channel *)(void *)hark_channel_find(
                p, &s->endpoint, h->src, h->ctx);
        chunks += length / 24 + (c ? hark_runs_write_needs(&c->log) : 0);
    }
    int status = hark_hydee_reserve(s, channels, chunks);
    if (status >= 0 && h->type >= HARK_H_POS)
        status = hark_reserve(p, &hark_hydee_shape, &s->pairs, 1);
    if (status >= 0 && h->type < HARK_H_POS)
        status = hark_wave_reserve(p, &hark_hydee_shape, &s->endpoint, &s->wave, length);
    if (status >= 0 && s->wave.mode != HARK_W_RUN) status = hark_hydee_reserve_positions(s);
    if (status >= 0 && s->tree.fan) status = hark_hydee_tree_room(s, h->src);
    if (status >= 0 && h->type == HARK_H_RELEASE)
        status = hark_reserve(p, &hark_hydee_shape, &s->past.frontier, length / 16);
    return status >= 0 ? hark_past_reserve(p, &hark_hydee_shape, &s->past, 0) : status;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
