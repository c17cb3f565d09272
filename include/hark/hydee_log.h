/* hydee_log.h: Upon checkpoint, and garbage collection of Logs and RPP (III.E). A part of hydee.h, which has the state;
 * read that first. */
#include "hydee.h"
#ifndef HARK_HYDEE_LOG_H
#define HARK_HYDEE_LOG_H

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Upon checkpoint: remembers the positions of this image, for the notices after later commits.  Alg. 1 l. 19-21 */
HARK_COLD void hark_hydee_captured(struct hark_hydee *s)
{
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c) && !hark_hydee_parts(s, c)) continue;
        struct hark_hydee_position *x =
            (struct hark_hydee_position *)hark_insert(&s->head, &s->positions, s->positions.count);
        x->id = s->wave.wave;
        x->peer = c->channel.peer;
        x->ctx = c->channel.ctx;
        x->sent = c->channel.sent;
        x->recv = c->channel.recv;
    }
}

/* ---- garbage collection, III.E, by checkpoint-time positions and only after COMMIT (E3) ----------------------- */

static inline struct hark_hydee_position *hark_hydee_position_of(struct hark_hydee *s, uint64_t id, uint32_t peer,
    uint16_t ctx)
{
    for (uint32_t i = 0; i < s->positions.count; i++) {
        struct hark_hydee_position *x = (struct hark_hydee_position *)hark_row(&s->head, &s->positions, i);
        if (x->id == id && x->peer == peer && x->ctx == ctx) return x;
    }
    return NULL;
}

/* After a wave is over: positions of images that are gone go, and if one was committed and as many
 * generations are kept as there should be, every peer hears the positions of the oldest. */
HARK_COLD void hark_hydee_gc(struct hark_hydee *s, bool committed)
{
    const struct hark_wave *w = &s->wave;
    uint64_t oldest = w->kept.count ? ((const struct hark_image *)hark_row_of(&s->head, &w->kept, 0))->id : 0;
    uint64_t newest =
        w->kept.count ? ((const struct hark_image *)hark_row_of(&s->head, &w->kept, w->kept.count - 1))->id : 0;
    for (uint32_t i = s->positions.count; i-- > 0;) {
        const struct hark_hydee_position *x = (const struct hark_hydee_position *)hark_row(&s->head, &s->positions, i);
        if (x->id < oldest || x->id > newest) hark_remove(&s->head, &s->positions, i);
    }
    if (!committed || w->kept.count < w->generations) return;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_position_of(s, oldest, c->channel.peer, c->channel.ctx)) continue;
        c->channel.flags |= HARK_HYDEE_GC;
        s->busy = 1;
    }
}

/* Exact gate: the lowest number in the log, or of all that I have posted. */
HARK_COLD uint64_t hark_hydee_oldest(struct hark_hydee *s)
{
    uint64_t oldest = s->past.posts;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const uint64_t *run = hark_queue_first(&s->head, &s->pool, &hark_hydee_at(s, i)->index);
        if (run && run[0] + run[1] < oldest) oldest = run[0] + run[1];
    }
    return oldest;
}

/* GC from j: {recv u64, sent u64} of j's oldest kept image. */
static inline int hark_hydee_trim(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    struct hark_effects *fx)
{
    struct hark_hydee_channel *c =
        (struct hark_hydee_channel *)(void *)hark_channel_find(&s->head, &s->ends, h->src, h->ctx);
    if (c == NULL || !hark_hydee_inter(c)) return hark_fate(fx, HARK_DISCARD);
    uint64_t recv = hark_get64(b), sent = hark_get64(b + 8);
    hark_runs_trim(&s->head, &s->pool, &c->rpp, sent, c->channel.recv);
    hark_runs_trim(&s->head, &s->pool, &c->rpp_index, sent, c->channel.recv);
    if (recv > c->channel.sent) recv = c->channel.sent;
    if (recv < c->first) return HARK_OK;
    hark_runs_trim(&s->head, &s->pool, &c->log, recv, c->channel.sent);
    hark_runs_trim(&s->head, &s->pool, &c->index, recv, c->channel.sent);
    for (; c->first <= recv && c->digests.count; c->first++) hark_queue_pop(&s->head, &s->pool, &c->digests);
    c->first = recv + 1;
    if (s->flags & HARK_EXACT_GATE) hark_past_trim(&s->head, &s->pool, &s->past, hark_hydee_oldest(s));
    if (c->channel.flags & HARK_HYDEE_CAST) hark_hydee_cast_trim(s, c->channel.ctx, fx);
    else hark_emit(fx, HARK_TRIM)->name = hark_name_of(HARK_OUT, &c->channel, recv);
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
