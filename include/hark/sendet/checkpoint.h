/* sendet/checkpoint.h: checkpoints of one process alone, and garbage collection. A part of
 * sendet.h. */
#ifndef HARK_SENDET_CHECKPOINT_H
#define HARK_SENDET_CHECKPOINT_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* True if an epoch began at this call and was undone. Then it must begin here again, and during a
 * recovery no other epoch may begin: re-executed messages must have the same epochs and phases as
 * before, because orphans are waited for at the phases that were recorded (N-8, N-11). */
static inline bool hark_sendet_again(const struct hark_sendet *s, uint64_t call)
{
    for (uint32_t i = 0; i < s->again.count; i++)
        if (((const struct hark_image *)hark_row_of(&s->head, &s->again, i))->id == call)
            return true;
    return false;
}

/* Takes CHECKPOINT_POINT and STORED. The id of an image is the number of its checkpoint call. */
static inline int hark_sendet_checkpoint(
    struct hark_sendet *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    if (event->type == HARK_CHECKPOINT_POINT && s->wave.in_checkpoint_call) return HARK_ESTATE;
    if (event->type == HARK_STORED && !hark_stored_valid(event)) return HARK_EINVAL;
    int status = hark_sendet_reserve_image(s);
    if (status >= 0) status = hark_wave_reserve(p, &hark_sendet_shape, &s->endpoint, &s->wave, 0);
    if (status < 0) return status;
    if (event->type == HARK_STORED) {
        hark_wave_stored(p, &s->endpoint, &s->wave, event, fx);
        return HARK_OK;
    }
    bool again = hark_sendet_again(s, s->wave.calls + 1);
    if (s->wave.mode == HARK_W_RUN) s->wave.wave = s->wave.calls;
    hark_wave_point(
        p, &s->endpoint, &s->wave, event->u.point.due || again, s->recovering && !again, fx);
    return HARK_OK;
}

/* Begins a new epoch, when an image is captured. The phase rises too, so that in a recovery
 * messages sent after the checkpoint cannot be released before messages received before it. */
HARK_COLD void hark_sendet_captured(struct hark_sendet *s)
{
    struct hark *p = &s->head;
    s->epoch++;
    s->phase++;
    s->taken = 1;
    struct hark_sendet_image *image =
        (struct hark_sendet_image *)hark_insert(p, &s->images, s->images.count);
    image->id = s->wave.wave;
    image->epoch = s->epoch;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_sendet_channel *c = hark_sendet_at(s, i);
        if (!hark_sendet_inter(c)) continue;
        hark_position_add(p, &s->positions, s->wave.wave, &c->channel, c->pos.first);
    }
}

static inline void hark_sendet_forget_image(struct hark_sendet *s, uint32_t k)
{
    uint64_t id = ((const struct hark_sendet_image *)hark_row(&s->head, &s->images, k))->id;
    hark_remove(&s->head, &s->images, k);
    for (uint32_t i = s->positions.count; i-- > 0;)
        if (((const struct hark_position *)hark_row(&s->head, &s->positions, i))->id == id)
            hark_remove(&s->head, &s->positions, i);
    for (uint32_t i = s->wave.kept.count; i-- > 0;)
        if (((const struct hark_image *)hark_row(&s->head, &s->wave.kept, i))->id == id)
            hark_remove(&s->head, &s->wave.kept, i);
}

/* Ends a checkpoint. If it was not committed, its epoch is undone, because nothing has happened in
 * it; an epoch that must begin again (N-11) stays, without an image. */
HARK_COLD void hark_sendet_over(struct hark_sendet *s, bool committed)
{
    if (s->taken && !committed) {
        if (!hark_sendet_again(s, s->wave.wave)) {
            s->epoch--;
            s->phase--;
        }
        hark_sendet_forget_image(s, s->images.count - 1);
    }
    s->taken = 0;
    if (committed) s->epoch_due = s->busy = 1;
}

/* ---- garbage collection ---------------------------------------------------------------------- */

/* Returns the epoch of the oldest image that I may need when I fail. */
static inline uint64_t hark_sendet_oldest(const struct hark_sendet *s)
{
    uint32_t i = s->images.count > s->generations ? s->images.count - s->generations : 0;
    return ((const struct hark_sendet_image *)hark_row_of(&s->head, &s->images, i))->epoch;
}

/* Takes MIN: E, from the recovery process. Removes the SPE of earlier epochs; hark_sendet_pump_drop
 * removes their images. */
static inline int hark_sendet_min(struct hark_sendet *s, const uint8_t *b)
{
    if (hark_get64(b) > s->oldest_epoch) s->oldest_epoch = hark_get64(b);
    while (s->spe.count && ((const struct hark_sendet_spe *)hark_row(&s->head, &s->spe, 0))->epoch <
                               s->oldest_epoch)
        hark_remove(&s->head, &s->spe, 0);
    s->busy = 1;
    return HARK_OK;
}

/* Takes GC from j: {recv u64, first u64} of j's oldest kept image. The log is trimmed by the
 * messages which that image has received, not by epochs, because a replayed message may be received
 * in a later epoch (N-3). RPP is trimmed by the messages that the image no longer retains, because
 * a restored j asks for all messages that its image retains (N-2). These include messages that the
 * image knows as acknowledged, because they may have been received again since (N-10). */
static inline int hark_sendet_gc(
    struct hark_sendet *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    struct hark_sendet_channel *c = hark_sendet_find(s, h->src, h->ctx);
    if (c == NULL || !hark_sendet_inter(c)) return hark_emit_verdict(fx, HARK_DISCARD);
    uint64_t upto = hark_get64(b + 8) ? hark_get64(b + 8) - 1 : 0;
    if (upto > c->channel.done) upto = c->channel.done;
    if (upto > c->acks_sent) upto = c->acks_sent;
    hark_trail_trim(&s->head, &s->pool, &c->rpp, upto, c->channel.recv, c->channel.recv);
    hark_sendet_forget(s, c, hark_get64(b), fx);
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
