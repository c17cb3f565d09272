/* hydee_image.h: what an image must say so that steps can go on from it. A part of hydee.h, which has the state; read that
 * first. */
#include "hydee.h"
#ifndef HARK_HYDEE_IMAGE_H
#define HARK_HYDEE_IMAGE_H

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Is the image, if it is one, of a process with the same gate? Without it the numbers are not there. */
static inline bool hark_hydee_image_fits(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark_bytes image = event->u.restarted.image;
    struct hark_reader r = {image.at, image.length, 0, false};
    struct hark_hydee was;
    if (event->u.restarted.checkpoint == 0 || image.at == NULL) return true;
    (void)hark_read(&r, 8);
    hark_zero(&was, sizeof was);
    hark_unpack_fields(&s->head, NULL, (uint8_t *)&was, hark_hydee_shape.field, hark_hydee_shape.fields, &r);
    return r.bad || ((was.flags ^ s->flags) & HARK_EXACT_GATE) == 0;
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
    if (!hark_rows_ascend(p, &s->pairs, s->ends.ranks) || !hark_past_ok(p, &s->pool, &s->past, s->ends.ranks)) return false;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_channel_ok(c)) return false;
        if (i >= HARK_HYDEE_CTX_MAX && hark_hydee_at(s, i - HARK_HYDEE_CTX_MAX)->channel.peer == c->channel.peer) return false;
    }
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
