/* parts/member.h: the parts that all member protocols have in common, from the start of a step, the
 * accept rule and delivery by positions to failure announcements and restart from an image. Line
 * numbers are those of HydEE (IPDPS 2012), Algorithms 1-3.
 */
#ifndef HARK_PARTS_MEMBER_H
#define HARK_PARTS_MEMBER_H

#include "wave.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* ---- the beginning: Algorithm 1 lines 1-4 ---------------------------------------------------- */

/* Returns the bytes of a new member: `fixed`, its cluster, and `more` for the first peers. 0: the
 * configuration is invalid. */
static inline uint64_t hark_member_size(const struct hark_config *c, uint64_t fixed, uint64_t more)
{
    return hark_config_valid(c)
               ? fixed + (uint64_t)(c->cluster_count + 4) * sizeof(struct hark_range) + more
               : 0;
}

/* Makes the initial state of the common parts. `all`: the default cluster is everybody.
 * HARK_EINVAL, HARK_EFULL. */
static inline int hark_member_init(struct hark *p, uint64_t bytes, const struct hark_shape *shape,
    uint16_t kind, struct hark_endpoint *e, struct hark_wave *w, const struct hark_config *c,
    bool all)
{
    if (!hark_config_valid(c)) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, shape, kind);
    if (status < 0) return status;
    e->me = c->me;
    e->ranks = c->ranks;
    hark_wave_set(w, c);
    return hark_group_init(p, shape, &e->cluster, c, all);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Begins every step. HARK_ESTATE: after ROLLBACK, or an event other than CONTINUE after MORE, or
 * CONTINUE without MORE. HARK_ENOROOM. HARK_WAIT: an event of the application between RESTARTED and
 * its FAILED. */
HARK_HOT int hark_step_begin(struct hark *p, const struct hark_endpoint *e,
    const struct hark_event *event, struct hark_effects *fx, uint32_t gone)
{
    if (gone || (p->more != 0) != (event->type == HARK_CONTINUE)) return HARK_ESTATE;
    if (hark_effects_begin(fx) < 0) return HARK_ENOROOM;
    if (!e->awaiting) return HARK_OK;
    bool app = event->type == HARK_SEND || event->type == HARK_DELIVER ||
               event->type == HARK_MISS || event->type == HARK_LOOK ||
               event->type == HARK_CHECKPOINT_POINT;
    return app ? HARK_WAIT : HARK_OK;
}

/* True if neither the wave nor OFFER has anything to send, as at the end of most steps. */
static inline bool hark_step_rests(const struct hark_endpoint *e, const struct hark_wave *w)
{
    return (w->fanout | w->marking | w->listing | e->offer) == 0;
}

/* Takes CHECKPOINT_POINT and STORED. `quiet`: no wave may start.                 Alg. 1 l. 19-21 */
static inline int hark_member_checkpoint(struct hark *p, const struct hark_shape *shape,
    struct hark_endpoint *e, struct hark_wave *w, const struct hark_event *event, bool quiet,
    struct hark_effects *fx)
{
    if (event->type == HARK_CHECKPOINT_POINT && w->in_checkpoint_call) return HARK_ESTATE;
    if (event->type == HARK_STORED && !hark_stored_valid(event)) return HARK_EINVAL;
    int status = hark_wave_reserve(p, shape, e, w, 0);
    if (status < 0) return status;
    if (event->type == HARK_STORED) hark_wave_stored(p, e, w, event, fx);
    else hark_wave_point(p, e, w, event->u.point.due, quiet, fx);
    return HARK_OK;
}

/* ---- messages: Algorithm 1 lines 10-18 ------------------------------------------------------- */

/* Accepts each message exactly once and in the order of ssn, on any network, for every protocol
 * here. */
HARK_HOT int hark_accept(struct hark *p, struct hark_endpoint *e, struct hark_channel *c,
    const struct hark_head *h, struct hark_effects *fx)
{
    if (h->ssn <= c->recv) return hark_emit_verdict(fx, HARK_DISCARD); /* instead of Date: E5 */
    if (h->ssn > c->recv + 1) {
        c->flags |= HARK_GAP;
        return hark_emit_verdict(fx, HARK_HOLD);
    }
    c->recv++;
    hark_emit(fx, HARK_HANDUP);
    (void)p;
    (void)e;
    return HARK_OK;
}

/* Emits, after all other effects of an accepted message, OFFER for those held because it was
 * missing. */
static inline void hark_offer_gap(struct hark_channel *c, struct hark_effects *fx)
{
    if (!(c->flags & HARK_GAP)) return;
    c->flags = (uint16_t)(c->flags & ~HARK_GAP);
    hark_emit_offer(fx, c->peer);
}

/* Takes DELIVER of a message that has arrived, once. *channel is its row. HARK_EFRAME, HARK_EINVAL,
 * HARK_EFULL.                                                                   Alg. 1 l. 10, 18 */
static inline int hark_deliver_position(struct hark *p, const struct hark_shape *shape,
    struct hark_endpoint *e, const struct hark_event *event, struct hark_channel **channel)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, p->kind) < 0 || h.type != HARK_APP)
        return HARK_EFRAME;
    int status = hark_reserve(p, shape, &e->beyond, 1);
    if (status < 0) return status;
    struct hark_channel *c = hark_channel_find(p, e, h.src, h.ctx);
    if (c == NULL || h.ssn == 0 || h.ssn > c->recv || hark_delivered(p, e, c, h.ssn))
        return HARK_EINVAL;
    hark_deliver_mark(p, e, c, h.ssn);
    *channel = c;
    return HARK_OK;
}

/* Takes DELIVER for protocols that need only the positions. */
static inline int hark_deliver_plain(struct hark *p, const struct hark_shape *shape,
    struct hark_endpoint *e, const struct hark_event *event)
{
    struct hark_channel *c;
    return hark_deliver_position(p, shape, e, event, &c);
}

/* Adds a message to a running digest, which depends on order, ssn and length. Never returns 0. */
static inline uint64_t hark_digest_mix(
    uint64_t running, uint64_t ssn, uint64_t length, uint64_t digest)
{
    uint64_t x = (running ^ digest) * UINT64_C(0x9e3779b97f4a7c15) +
                 ssn * UINT64_C(0xbf58476d1ce4e5b9) + length;
    x ^= x >> 29;
    return x ? x : 1;
}

/* ---- failures: Algorithm 2 lines 4-5, Algorithm 3 line 6 ------------------------------------- */

/* Takes epoch, D and incarnations from FAILED, and ends the wave. *taken is false if nothing is
 * left to do: the announcement is old, or names a newer incarnation of mine; in the second case
 * *gone is set, with a ROLLBACK to the decided wave.              Alg. 2 l. 4, Alg. 3 l. 6 (E19) */
static inline int hark_member_failed(struct hark *p, const struct hark_shape *shape,
    struct hark_endpoint *e, struct hark_wave *w, const struct hark_event *event, uint32_t *gone,
    bool *taken, struct hark_effects *fx)
{
    *taken = false;
    if (!hark_failed_valid(e->ranks, event)) return HARK_EINVAL;
    if (event->u.failed.re <= e->re) return HARK_OK;
    if (hark_failed_mine(e, event) > e->inc) {
        *gone = 1;
        hark_emit_checkpoint(fx, HARK_ROLLBACK, hark_failed_wave(event, hark_wave_leader(p, e)));
        return HARK_OK;
    }
    int status = hark_failed_reserve(p, shape, e, event);
    if (status >= 0) status = hark_reserve(p, shape, &w->kept, 1);
    if (status < 0) return status;
    hark_wave_failed(p, e, w, event, fx);
    hark_failed_take(p, e, event);
    *taken = true;
    return HARK_OK;
}

/* Returns the most runs of arrived and undelivered messages that a checked image can have: for each
 * channel one more than its rows of `beyond`. */
static inline uint64_t hark_restart_undelivered(struct hark *p, const struct hark_shape *shape,
    const struct hark_endpoint *e, struct hark_bytes image)
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
        bool beyond = hark_shape_table(p, shape, i) == &e->beyond;
        if (channels && shape->rows[i].width > sizeof row) HARK_TRAP();
        for (uint64_t left = hark_read(&r, 4); left > 0 && !r.bad; left--) {
            hark_unpack_fields(p, NULL, channels ? (uint8_t *)&row : NULL, shape->rows[i].field,
                shape->rows[i].fields, &r);
            n += beyond || (channels && row.channel.recv > row.channel.done);
        }
    }
    return n;
}

/* True if the block is not new: messages were sent or received, or a checkpoint was kept. */
static inline bool hark_restart_used(
    struct hark *p, struct hark_endpoint *e, const struct hark_wave *w)
{
    for (uint32_t i = 0; i < e->channels.count; i++)
        if (hark_channel_at(p, e, i)->sent || hark_channel_at(p, e, i)->recv) return true;
    return e->re || e->inc || w->kept.count;
}

/* Unpacks the image of RESTARTED into the new block, and makes room for what the event adds: rows
 * of `waiting`, and one of `kept`. HARK_EINVAL, HARK_ESTATE, HARK_EIMAGE, HARK_EFULL. */
static inline int hark_restart_take(struct hark *p, const struct hark_shape *shape,
    struct hark_endpoint *e, struct hark_wave *w, const struct hark_event *event)
{
    struct hark_bytes image = event->u.restarted.image;
    uint64_t chunks, bytes, n = 0;
    if (event->u.restarted.re == 0 || event->u.restarted.inc == 0) return HARK_EINVAL;
    if (hark_restart_used(p, e, w)) return HARK_ESTATE;
    if (event->u.restarted.checkpoint) {
        struct hark_reader r = {image.at, image.length, 0, false};
        /* me and ranks are the first fixed fields of every member's packed form */
        if (image.at == NULL || image.length < 16) return HARK_EIMAGE;
        if (hark_get32(image.at + 8) != e->me || hark_get32(image.at + 12) != e->ranks)
            return HARK_EIMAGE;
        int status = hark_unpack_check(p, shape, r, &chunks, &bytes);
        if (status < 0) return status;
        n = hark_restart_undelivered(p, shape, e, image);
        /* `waiting` is filled anew, `kept` may double, `undone` is added; during the unpacking both
         * states are in the block. */
        bytes = p->used + bytes * 2 + (n + 4) * sizeof(struct hark_arrived) * 2 +
                ((uint64_t)event->u.restarted.undone_count + 4) * sizeof(struct hark_image);
        if (bytes > p->bytes) {
            p->want = bytes * 2;
            return HARK_EFULL;
        }
        status = hark_unpack(p, shape, image);
        if (status < 0) return status;
    }
    int status = n > e->waiting.count
                     ? hark_reserve(p, shape, &e->waiting, (uint32_t)n - e->waiting.count)
                     : HARK_OK;
    if (status >= 0) status = hark_reserve(p, shape, &w->kept, 1);
    if (status < 0) {
        if (event->u.restarted.checkpoint) HARK_TRAP();
        return status;
    }
    e->inc = event->u.restarted.inc;
    e->re = event->u.restarted.re - 1; /* my FAILED is still to come */
    e->offer = e->awaiting = 1;
    return HARK_OK;
}

/* Fills `waiting` with the messages that had arrived at the image and were not delivered. */
static inline void hark_restart_wait(struct hark *p, struct hark_endpoint *e)
{
    hark_empty(p, &e->waiting);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        const struct hark_channel *c = hark_channel_at(p, e, i);
        bool found;
        for (uint64_t first, last = 0; hark_undelivered_run(p, e, c, &last, &first);) {
            struct hark_arrived *a = (struct hark_arrived *)hark_insert(p, &e->waiting,
                hark_arrived_search(p, &e->waiting, c->peer, c->ctx, first, &found));
            a->peer = c->peer;
            a->ctx = c->ctx;
            a->ssn = first;
            a->last = last;
        }
    }
}

/* Takes RESTARTED for the common parts. The application waits until the FAILED of the same epoch.
 *                                                                                  Alg. 2 l. 4-5 */
static inline int hark_member_restart(struct hark *p, const struct hark_shape *shape,
    struct hark_endpoint *e, struct hark_wave *w, const struct hark_event *event,
    struct hark_effects *fx)
{
    const struct hark_wave_settings settings = hark_wave_settings_of(w);
    int status = hark_restart_take(p, shape, e, w, event);
    if (status < 0) return status;
    hark_restart_wait(p, e);
    hark_wave_restarted(p, e, w, event->u.restarted.checkpoint, settings, fx);
    return HARK_OK;
}

/* ---- payloads of an image -------------------------------------------------------------------- */

/* Names the undelivered messages of all channels, one run for each call. *channel and *ssn are the
 * position: messages of that channel up to *ssn have been named. */
static inline int hark_names_undelivered(const struct hark *p, const struct hark_endpoint *e,
    uint32_t *channel, uint64_t *ssn, struct hark_names *run)
{
    for (; *channel < e->channels.count; (*channel)++, *ssn = 0)
        if (hark_undelivered(p, e,
                (const struct hark_channel *)hark_row_of(p, &e->channels, *channel), ssn, run))
            return 1;
    return 0;
}

/* As hark_names_undelivered, by a cursor: 40 bits of the ssn, 23 of the channel; the highest bit is
 * the protocol's. */
static inline int hark_member_names(
    const struct hark *p, const struct hark_endpoint *e, uint64_t *cursor, struct hark_names *run)
{
    uint32_t channel = (uint32_t)(*cursor >> 40) & 0x7fffff;
    uint64_t ssn = *cursor & ((UINT64_C(1) << 40) - 1), top = *cursor >> 63 << 63;
    int found = hark_names_undelivered(p, e, &channel, &ssn, run);
    *cursor = top | (uint64_t)channel << 40 | ssn;
    return found;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
