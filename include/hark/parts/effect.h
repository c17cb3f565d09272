/* parts/effect.h: functions that write effects, among them the frames of TRANSMIT. */
#ifndef HARK_PARTS_EFFECT_H
#define HARK_PARTS_EFFECT_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_EFFECTS_ROOM  16u   /* the smallest `room` of hark_effects */
#define HARK_FRAGMENT      1024u /* longer control frames are split; bytes, header included */
#define HARK_EFFECTS_BYTES (HARK_FRAGMENT * 4)
#define HARK_SPARE_MAX     64u /* of hark_effects.spare */

#if HARK_BODIES

static inline bool hark_effects_fit(const struct hark_effects *fx, uint32_t effects, uint32_t bytes)
{
    return fx->room - fx->count >= effects && fx->bytes_room - fx->used >= bytes + fx->spare;
}

/* Begins a step. HARK_ENOROOM if the effects have less room than a step may need. */
static inline int hark_effects_begin(struct hark_effects *fx)
{
    if (fx->at == NULL || fx->bytes == NULL || fx->room < HARK_EFFECTS_ROOM ||
        fx->spare > HARK_SPARE_MAX ||
        fx->bytes_room < HARK_EFFECTS_BYTES + HARK_EFFECTS_ROOM * fx->spare)
        return HARK_ENOROOM;
    fx->count = fx->used = 0;
    return HARK_OK;
}

HARK_HOT struct hark_effect *hark_emit(struct hark_effects *fx, uint32_t type)
{
    if (fx->count >= fx->room) HARK_TRAP();
    struct hark_effect *e = &fx->at[fx->count++];
    hark_zero(e, sizeof *e);
    e->type = type;
    return e;
}

static inline void hark_emit_checkpoint(struct hark_effects *fx, uint32_t type, uint64_t id)
{
    hark_emit(fx, type)->u.checkpoint.id = id;
}

static inline void hark_emit_retain(struct hark_effects *fx, struct hark_name name)
{
    hark_emit(fx, HARK_RETAIN)->u.retain.name = name;
}

static inline void hark_emit_trim(struct hark_effects *fx, struct hark_name name)
{
    hark_emit(fx, HARK_TRIM)->u.trim.name = name;
}

static inline void hark_emit_combine(struct hark_effects *fx, struct hark_name name, uint32_t part)
{
    struct hark_effect *x = hark_emit(fx, HARK_COMBINE);
    x->u.combine.name = name;
    x->u.combine.part = part;
}

static inline struct hark_effect *hark_emit_offer(struct hark_effects *fx, uint32_t peer)
{
    struct hark_effect *x = hark_emit(fx, HARK_OFFER);
    x->u.offer.peer = peer;
    return x;
}

static inline void hark_emit_fact(struct hark_effects *fx, struct hark_fact fact)
{
    hark_emit(fx, HARK_PERSIST)->u.persist = fact;
}

/* Emits the fact that recovery of `rank` is over. */
static inline void hark_emit_done(struct hark_effects *fx, uint32_t rank, uint32_t re)
{
    struct hark_fact fact = {HARK_FACT_DONE, rank, re, 0, re, 0};
    hark_emit_fact(fx, fact);
}

/* Emits TRANSMIT with a header of `length` bytes. The common part is written; the caller writes the
 * rest at *body. */
HARK_HOT struct hark_transmit *hark_emit_frame(
    struct hark_effects *fx, const struct hark_head *h, uint32_t length, uint8_t **body)
{
    if (fx->bytes_room - fx->used < length + fx->spare) HARK_TRAP();
    uint8_t *b = fx->bytes + fx->used;
    fx->used += length + fx->spare;
    hark_head_put(b, h);
    *body = b + HARK_WIRE_HEAD;
    struct hark_transmit *x = &hark_emit(fx, HARK_TRANSMIT)->u.transmit;
    x->peer = h->dst;
    x->inc = h->dst_inc;
    x->header.at = b;
    x->header.length = length;
    return x;
}

/* True if a STORED answers CAPTURE or PERSIST. */
static inline bool hark_stored_valid(const struct hark_event *event)
{
    const bool fact =
        event->u.stored.fact >= HARK_FACT_WAVE && event->u.stored.fact <= HARK_FACT_LINE;
    return event->u.stored.of == HARK_CAPTURE || (event->u.stored.of == HARK_PERSIST && fact);
}

/* True if a STORED answers this fact. The kind belongs to it: the number of a recovery may be that
 * of a checkpoint. */
static inline bool hark_stored_answers(const struct hark_event *event, uint32_t fact, uint64_t id)
{
    return event->u.stored.of == HARK_PERSIST && event->u.stored.fact == fact &&
           event->u.stored.id == id;
}

/* Ends a step for an arrived frame, whose only effect is HOLD, HANDUP or DISCARD. */
static inline int hark_emit_verdict(struct hark_effects *fx, uint32_t type)
{
    hark_emit(fx, type);
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
