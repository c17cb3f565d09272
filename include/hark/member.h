/* member.h: what the member protocols do alike: the frame of a step, the accept rule, delivery by positions,
 * taking over an image. */
#ifndef HARK_MEMBER_H
#define HARK_MEMBER_H

#include "wave.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* The frame of every step: nothing but CONTINUE after MORE, room for the effects; and an application that
 * has been restarted waits for the FAILED that explains it. */
HARK_HOT int hark_step_begin(struct hark *p, const struct hark_ends *e, const struct hark_event *event,
    struct hark_effects *fx, uint32_t gone)
{
    if (gone || (p->more != 0) != (event->type == HARK_CONTINUE)) return HARK_ESTATE;
    if (fx->room < HARK_EFFECTS_ROOM || fx->bytes_room < HARK_EFFECTS_BYTES) return HARK_ENOROOM;
    fx->count = fx->used = 0;
    if (!e->awaiting) return HARK_OK;
    bool app = event->type == HARK_SEND || event->type == HARK_DELIVER || event->type == HARK_MISS ||
               event->type == HARK_CHECKPOINT_POINT;
    return app ? HARK_WAIT : HARK_OK;
}

/* The end of most steps: neither wave nor OFFER has anything to send. */
static inline bool hark_step_rests(const struct hark_ends *e, const struct hark_wave *w)
{
    return (w->tell | w->marking | w->listing | e->offer) == 0;
}

/* The accept rule of every protocol here: exactly once and in ssn order, on any network. */
HARK_HOT int hark_accept(struct hark *p, struct hark_ends *e, struct hark_channel *c, const struct hark_head *h,
    struct hark_effects *fx)
{
    if (h->ssn <= c->recv) return hark_fate(fx, HARK_DISCARD);
    if (h->ssn > c->recv + 1) {
        c->flags |= HARK_GAP;
        return hark_fate(fx, HARK_HOLD);
    }
    c->recv++;
    hark_emit(fx, HARK_HANDUP);
    (void)p;
    (void)e;
    return HARK_OK;
}

/* After all other effects of an accepted message: what was held behind it. */
static inline void hark_offer_gap(struct hark_channel *c, struct hark_effects *fx)
{
    if (!(c->flags & HARK_GAP)) return;
    c->flags = (uint16_t)(c->flags & ~HARK_GAP);
    hark_emit(fx, HARK_OFFER)->peer = c->peer;
}

/* DELIVER by positions: of a message that has arrived, once. *channel is its row. */
static inline int hark_deliver_position(struct hark *p, const struct hark_shape *shape, struct hark_ends *e,
    const struct hark_event *event, struct hark_channel **channel)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, p->kind) < 0 || h.type != HARK_APP) return HARK_EFRAME;
    int status = hark_reserve(p, shape, &e->beyond, 1);
    if (status < 0) return status;
    struct hark_channel *c = hark_channel_find(p, e, h.src, h.ctx);
    if (c == NULL || h.ssn == 0 || h.ssn > c->recv || hark_delivered(p, e, c, h.ssn)) return HARK_EINVAL;
    hark_deliver_mark(p, e, c, h.ssn);
    *channel = c;
    return HARK_OK;
}

/* DELIVER, for protocols to which only the positions matter. */
static inline int hark_deliver_plain(struct hark *p, const struct hark_shape *shape, struct hark_ends *e,
    const struct hark_event *event)
{
    struct hark_channel *c;
    return hark_deliver_position(p, shape, e, event, &c);
}

/* How many arrived and undelivered messages a checked image names. */
static inline uint64_t hark_restart_undelivered(struct hark *p, const struct hark_shape *shape,
    const struct hark_ends *e, struct hark_bytes image)
{
    struct hark_reader r = {image.at, image.length, 0, false};
    union {
        struct hark_channel channel;
        uint64_t room[64]; /* a whole row of any protocol */
    } row;
    uint64_t n = 0;
    (void)hark_read(&r, 8);
    hark_unpack_fields(NULL, NULL, NULL, shape->field, shape->fields, &r);
    for (uint32_t i = 0; i < shape->tables; i++) {
        if (shape->rows[i].fields == 0) continue;
        bool channels = hark_shape_table(p, shape, i) == &e->channels;
        if (channels && shape->rows[i].width > sizeof row) HARK_TRAP();
        for (uint64_t left = hark_read(&r, 4); left > 0 && !r.bad; left--) {
            hark_unpack_fields(p, NULL, channels ? (uint8_t *)&row : NULL, shape->rows[i].field, shape->rows[i].fields, &r);
            if (channels && row.channel.recv > row.channel.done) n += row.channel.recv - row.channel.done;
        }
    }
    return n;
}

/* RESTARTED: unpacks the image into the fresh block. Room for what the event adds is there when it returns:
 * rows of `waiting`, and one of `kept`. */
static inline int hark_restart_take(struct hark *p, const struct hark_shape *shape, struct hark_ends *e,
    struct hark_wave *w, const struct hark_event *event)
{
    struct hark_bytes image = event->u.restarted.image;
    uint64_t chunks, bytes, n = 0;
    if (event->u.restarted.re == 0 || event->u.restarted.inc == 0) return HARK_EINVAL;
    if (e->re || e->inc) return HARK_ESTATE;
    if (event->u.restarted.checkpoint) {
        struct hark_reader r = {image.at, image.length, 0, false};
        /* me and ranks are the first fixed fields of every member's packed form */
        if (image.at == NULL || image.length < 16) return HARK_EIMAGE;
        if (hark_get32(image.at + 8) != e->me || hark_get32(image.at + 12) != e->ranks) return HARK_EIMAGE;
        int status = hark_unpack_check(p, shape, r, &chunks, &bytes);
        if (status < 0) return status;
        n = hark_restart_undelivered(p, shape, e, image);
        if (n > UINT32_MAX) return HARK_EIMAGE;
        bytes += (n + 4) * sizeof(struct hark_arrived) * 2 + 8 * sizeof(struct hark_image) * 2;
        if (bytes > p->bytes) {
            p->want = bytes * 2;
            return HARK_EFULL;
        }
        status = hark_unpack(p, shape, image);
        if (status < 0) return status;
    }
    int status = hark_reserve(p, shape, &e->waiting, (uint32_t)n);
    if (status >= 0) status = hark_reserve(p, shape, &w->kept, 1);
    if (status < 0) {
        if (event->u.restarted.checkpoint) HARK_TRAP();
        return status;
    }
    e->inc = event->u.restarted.inc;
    e->re = event->u.restarted.re - 1; /* the FAILED that explains me is still to come */
    e->offer = e->awaiting = 1;
    return HARK_OK;
}

static inline void hark_restart_wait(struct hark *p, struct hark_ends *e)
{
    hark_empty(p, &e->waiting);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        const struct hark_channel *c = hark_channel_at(p, e, i);
        for (uint64_t s = c->done + 1; s <= c->recv; s++)
            if (!hark_delivered(p, e, c, s)) hark_arrived_add(p, &e->waiting, c->peer, c->ctx, s);
    }
}

/* The undelivered of all channels, one run a call: cursor = channel << 40 | ssn, so that runs resume. */
static inline int hark_names_undelivered(const struct hark *p, const struct hark_ends *e, uint32_t *channel,
    uint64_t *ssn, struct hark_names *run)
{
    for (; *channel < e->channels.count; (*channel)++, *ssn = 0)
        if (hark_undelivered(p, e, (const struct hark_channel *)hark_row_of(p, &e->channels, *channel), ssn, run))
            return 1;
    return 0;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
