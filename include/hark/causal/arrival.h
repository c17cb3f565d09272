/* causal/arrival.h: checks whether a message is well-formed, and makes room for what it brings. A
 * part of scmel.h. */
#ifndef HARK_CAUSAL_ARRIVAL_H
#define HARK_CAUSAL_ARRIVAL_H

#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#if HARK_BODIES

/* ---- what a message brings ------------------------------------------------------------------- */

static inline bool hark_scmel_dets_ok(struct hark_scmel *s, const uint8_t *b, uint32_t n)
{
    struct hark_det x;
    for (; n > 0; n--, b += hark_det_bytes(s->k))
        if (!hark_det_read(&x, b, s->endpoint.ranks, s->k)) return false;
    return true;
}

/* True if the message is well-formed but for its determinants. *dets: the number of these. */
static inline bool hark_scmel_outside_ok(struct hark_scmel *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, uint32_t *dets)
{
    if (length < 8 || hark_get32(b + 4) != s->k || !hark_scmel_belongs(s, h)) return false;
    *dets = hark_get16(b);
    if (h->src == s->endpoint.me && length != 8) return false;
    return length == 8 + *dets * hark_det_bytes(s->k) +
                         (hark_get16(b + 2) & ~HARK_SCMEL_WHOLE) * HARK_ACK_BYTES;
}

/* True if the message is well-formed. */
static inline bool hark_scmel_message_ok(struct hark_scmel *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, uint32_t *dets)
{
    return hark_scmel_outside_ok(s, h, b, length, dets) && hark_scmel_dets_ok(s, b + 8, *dets);
}

/* Reserves room for all that a frame with `channels` channels and `dets` determinants may add,
 * before any state changes. */
static inline int hark_scmel_room(struct hark_scmel *s, uint32_t channels, uint32_t dets)
{
    struct hark *p = &s->head;
    const struct hark_shape *shape = &hark_scmel_shape;
    int status = hark_reserve(p, shape, &s->endpoint.channels, channels);
    if (status >= 0 && dets) status = hark_pool_reserve(p, shape, &s->pool, dets);
    if (status >= 0 && dets) status = hark_reserve(p, shape, &s->logs, dets);
    if (status >= 0 && dets) status = hark_reserve(p, shape, &s->owed, dets);
    if (status >= 0 && s->wave.mode != HARK_W_RUN)
        status = hark_reserve(p, shape, &s->positions,
            s->endpoint.channels.count + channels + s->logs.count + dets + 2 * s->groups.count + 1);
    return status;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
