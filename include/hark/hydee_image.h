/* hydee_image.h: what an image must say so that steps can go on from it; what frames may look like. A part of hydee.h, which
 * has the state; read that first. */
#include "hydee.h"
#ifndef HARK_HYDEE_IMAGE_H
#define HARK_HYDEE_IMAGE_H

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Is the image, if it is one, of a process with the same gate, groups and waves? Without the gate the numbers are not there. */
static inline bool hark_hydee_image_fits(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark_hydee was;
    if (event->u.restarted.checkpoint == 0 || event->u.restarted.image.at == NULL) return true;
    hark_zero(&was, sizeof was);
    bool whole = hark_unpack_fixed(&hark_hydee_shape, event->u.restarted.image, &was);
    return !whole || (((was.flags ^ s->flags) & HARK_EXACT_GATE) == 0 && was.groups == s->groups && was.together == s->together);
}

static inline bool hark_hydee_channel_ok(const struct hark_hydee_channel *c)
{
    return c->tx <= c->channel.sent && c->first > 0 && c->first <= c->channel.sent + 1 && c->log.width == 2 &&
           c->rpp.width == 2 && c->recorded.width == 2 && c->index.width == 2 && c->rpp_index.width == 2 &&
           c->digests.width == 1;
}

/* Numbers of the log are looked up by steps and found or not; what steps have no answer to is looked for here. */
HARK_FN bool hark_hydee_accept(struct hark *p)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    if (!hark_ends_ok(p, &s->ends) || !hark_wave_ok(p, &s->ends, &s->wave)) return false;
    if (s->plain != (s->flags & HARK_EXACT_GATE ? 0 : HARK_HYDEE_HEADER)) return false;
    if (s->tree.fan == 1 || !hark_rows_ascend(p, &s->tree.below, s->ends.ranks)) return false;
    if (!hark_rows_ascend(p, &s->pairs, s->ends.ranks) || !hark_past_ok(p, &s->pool, &s->past, s->ends.ranks)) return false;
    if (s->groups != s->casts.count || !hark_hydee_maps_ok(s)) return false;
    for (uint32_t i = 0; i < s->casts.count; i++) {
        const struct hark_hydee_cast *g = (const struct hark_hydee_cast *)hark_row(p, &s->casts, i);
        if (g->root >= s->ends.ranks || g->first == 0 || g->first > g->sent + 1) return false;
    }
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const struct hark_hydee_branch *b = hark_hydee_branch(s, i);
        const struct hark_hydee_cast *g = b->ctx <= UINT16_MAX ? hark_hydee_cast(s, (uint16_t)b->ctx) : NULL;
        if (b->rank >= s->ends.ranks || g == NULL) return false;
        if (g->root == s->ends.me && hark_hydee_find(s, b->rank, (uint16_t)b->ctx) == NULL) return false;
    }
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_channel_ok(c)) return false;
        if (c->channel.flags & HARK_HYDEE_CAST && hark_hydee_cast(s, c->channel.ctx) == NULL) return false;
        if (i >= HARK_HYDEE_CTX_MAX && hark_hydee_at(s, i - HARK_HYDEE_CTX_MAX)->channel.peer == c->channel.peer) return false;
    }
    return true;
}
/* ---- frames ------------------------------------------------------------------------------------------------------------- */

static inline bool hark_hydee_length_ok(const struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    uint32_t length)
{
    bool exact = (s->flags & HARK_EXACT_GATE) != 0;
    if (h->type != HARK_APP && h->src == s->ends.me) return false;
    bool of_tree = (h->type >= HARK_H_RELEASE && h->type <= HARK_H_RECDONE) || h->type == HARK_H_UP;
    if (s->tree.fan && (of_tree || h->src == HARK_RECOVERY)) return hark_hydee_tree_ok(s, h, length);
    if (h->src == HARK_RECOVERY) /* it has no channels */
        return h->type == HARK_H_RECDONE ? length == 0
                                         : h->type == HARK_H_RELEASE && (exact ? length >= 16 && length % 16 == 0 : length == 8);
    switch (h->type) {
    case HARK_APP:
        return exact && length >= HARK_HYDEE_HEADER - HARK_WIRE_HEAD &&
               hark_past_valid(b + 16, length - 16, s->ends.ranks);
    case HARK_H_POS:
        return length >= 8 && hark_get32(b) <= HARK_HYDEE_CTX_MAX && length == 8 + 32 * hark_get32(b);
    case HARK_H_ORPH: return length >= 8 && (length - 8) % 24 == 0;
    case HARK_H_GC: return length == 16;
    default: return hark_wave_length_ok(h->type, length);
    }
}

/* Room for whatever a control frame of this length may add, before anything moves. */
static inline int hark_hydee_room(struct hark_hydee *s, const struct hark_head *h, uint32_t length)
{
    struct hark *p = &s->head;
    uint32_t chunks = 2, channels = h->type == HARK_H_POS ? length / 32 + 1 : 1;
    if (h->type == HARK_H_ORPH) {
        const struct hark_hydee_channel *c =
            (const struct hark_hydee_channel *)(void *)hark_channel_find(p, &s->ends, h->src, h->ctx);
        chunks += length / 24 + (c ? hark_runs_write_needs(&c->log) : 0);
    }
    int status = hark_hydee_reserve(s, channels, chunks);
    if (status >= 0 && h->type >= HARK_H_POS) status = hark_reserve(p, &hark_hydee_shape, &s->pairs, 1);
    if (status >= 0 && h->type < HARK_H_POS)
        status = hark_wave_reserve(p, &hark_hydee_shape, &s->ends, &s->wave, length);
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
