/* parts/wave_round.h: the steps of a checkpoint wave, at the leader and at the members. A part of
 * parts/wave.h. */
#ifndef HARK_PARTS_WAVE_ROUND_H
#define HARK_PARTS_WAVE_ROUND_H

#include "wave_state.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* The configuration of a wave, which may differ from that of the process that wrote an image. */
struct hark_wave_settings {
    uint32_t generations, images_copied;
};

static inline struct hark_wave_settings hark_wave_settings_of(const struct hark_wave *w)
{
    const struct hark_wave_settings settings = {w->generations, w->images_copied};
    return settings;
}

static inline void hark_wave_set(struct hark_wave *w, const struct hark_config *c)
{
    w->generations = c->generations ? c->generations : 2;
    w->images_copied = (c->flags & HARK_IMAGES_COPIED) != 0;
}

static inline uint32_t hark_wave_leader(const struct hark *p, const struct hark_endpoint *e)
{
    return ((const struct hark_range *)hark_row_of(p, &e->cluster, 0))->first;
}

static inline uint32_t hark_wave_size(const struct hark *p, const struct hark_endpoint *e)
{
    return hark_ranges_size(p, &e->cluster);
}

/* Starts a fan-out: a frame of this type to all other members. */
static inline void hark_wave_tell(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, uint32_t type)
{
    if (w->fanout) HARK_TRAP(); /* a fan-out is complete before the next event */
    if (hark_wave_size(p, e) > 1) w->fanout = type;
    w->fanout_sent = 0;
}

/* Lets the application leave its checkpoint call. */
static inline void hark_wave_pass(struct hark_wave *w, struct hark_effects *fx)
{
    w->calls++;
    w->in_checkpoint_call = 0;
    hark_emit(fx, HARK_RESUME);
}

static inline void hark_wave_over(
    struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    w->mode = HARK_W_RUN;
    w->marking = w->listing = w->fragment = 0;
    w->expected = 0;
    if (w->map == HARK_W_MAP_NOW) w->map = HARK_W_MAP_KNOWN;
    if (w->in_checkpoint_call) hark_wave_pass(w, fx);
    e->offer = 1; /* the next ASK may be held */
}

/* Takes COMMIT: the image is a recovery point; an image beyond the generations is dropped.
 *                                                                                   Alg. 1 l. 21 */
static inline void hark_wave_commit(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    hark_emit_checkpoint(fx, HARK_COMMIT, w->wave);
    if (w->map == HARK_W_MAP_NOW) w->map = HARK_W_MAP_TAKEN;
    ((struct hark_image *)hark_insert(p, &w->kept, w->kept.count))->id = w->wave;
    if (w->kept.count > w->generations) {
        hark_emit_checkpoint(fx, HARK_DROP, ((struct hark_image *)hark_row(p, &w->kept, 0))->id);
        hark_remove(p, &w->kept, 0);
    }
    hark_wave_over(e, w, fx);
}

/* Takes ABORT: undoes the wave; the application continues. */
static inline void hark_wave_abort(
    struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (w->mode == HARK_W_RUN) return;
    if (w->mode >= HARK_W_CAPTURED) hark_emit_checkpoint(fx, HARK_DROP, w->wave);
    hark_wave_over(e, w, fx);
}

static inline void hark_wave_lead_abort(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    w->lead_stage = HARK_W_IDLE;
    hark_wave_tell(p, e, w, HARK_W_ABORT);
    hark_wave_abort(e, w, fx);
}

/* True if the application neither is frozen nor will be by the present wave. */
static inline bool hark_wave_calm(const struct hark_wave *w)
{
    return w->mode == HARK_W_RUN || w->mode >= HARK_W_GOES_ON;
}

/* Lets the application go on after the image of every member has been copied: what is sent from now
 * on is sent after all of them, so no image can depend on it. */
static inline void hark_wave_go(struct hark_wave *w, struct hark_effects *fx)
{
    w->mode = w->mode == HARK_W_IS_READY ? HARK_W_GOES_ON_READY : HARK_W_GOES_ON;
    hark_wave_pass(w, fx);
}

/* Counts, at the leader, a member whose image is copied; GO when these are all. */
static inline void hark_wave_lead_copied(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (++w->copied < hark_wave_size(p, e)) return;
    hark_wave_tell(p, e, w, HARK_W_GO);
    hark_wave_go(w, fx);
}

/* Emits CAPTURE if all messages that were sent to me before the others froze have arrived.
 * Effects behind CAPTURE are performed when the image is copied. A wave that brings a map into
 * force stays frozen: until it is decided, messages belong neither to the old clusters nor to the
 * new ones.                                                                         Alg. 1 l. 21 */
static inline void hark_wave_try_capture(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (w->mode != HARK_W_IS_FROZEN || w->expected != w->marks + 1 || w->owed) return;
    w->mode = HARK_W_CAPTURED;
    hark_emit_checkpoint(fx, HARK_CAPTURE, w->wave);
    if (!w->images_copied || w->map == HARK_W_MAP_NOW) return;
    if (w->lead_stage) hark_wave_lead_copied(p, e, w, fx);
    else hark_put64(hark_emit_control(p, e, fx, HARK_W_COPIED, hark_wave_leader(p, e), 8), w->wave);
}

static inline void hark_wave_expect_add(struct hark *p, struct hark_wave *w, uint32_t rank)
{
    uint32_t i = 0;
    while (i < w->expect.count && ((struct hark_expect *)hark_row(p, &w->expect, i))->rank < rank)
        i++;
    if (i == w->expect.count || ((struct hark_expect *)hark_row(p, &w->expect, i))->rank != rank)
        ((struct hark_expect *)hark_insert(p, &w->expect, i))->rank = rank;
    ((struct hark_expect *)hark_row(p, &w->expect, i))->count++;
}

static inline uint32_t hark_wave_expect_of(
    const struct hark *p, const struct hark_wave *w, uint32_t rank)
{
    for (uint32_t i = 0; i < w->expect.count; i++) {
        const struct hark_expect *x = (const struct hark_expect *)hark_row_of(p, &w->expect, i);
        if (x->rank == rank) return x->count;
    }
    return 0;
}

static inline void hark_wave_expect(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    uint32_t count, struct hark_effects *fx)
{
    w->expected = count + 1;
    hark_wave_try_capture(p, e, w, fx);
}

static inline void hark_wave_lead_frozen(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (w->answers < hark_wave_size(p, e) || w->fragment != 0) return;
    w->lead_stage = HARK_W_STORING;
    w->answers = w->copied = 0;
    hark_wave_tell(p, e, w, HARK_W_EXPECT);
    hark_wave_expect(p, e, w, hark_wave_expect_of(p, w, e->me), fx);
}

/* True if a MARK goes out on this channel. Messages to myself are awaited without a MARK. */
static inline bool hark_wave_marks(const struct hark_endpoint *e, const struct hark_channel *c)
{
    return (c->flags & HARK_INTRA) && c->sent > 0 && c->peer != e->me;
}

/* Notes that the first `sent` messages of this channel belong before the image. The channel may be
 * OWED already, from an aborted wave. */
static inline void hark_wave_owe(struct hark_wave *w, struct hark_channel *c, uint64_t sent)
{
    c->mark = sent;
    if (c->recv >= sent || c->flags & HARK_OWED) return;
    c->flags |= HARK_OWED;
    w->owed++;
}

/* Freezes at the n-th call: nothing is sent from now to COMMIT or ABORT.            Alg. 1 l. 20 */
static inline void hark_wave_freeze(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    w->mode = HARK_W_IS_FROZEN;
    w->marking = 1;
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        if (c->peer == e->me) hark_wave_owe(w, c, c->sent);
        if (w->lead_stage && hark_wave_marks(e, c)) hark_wave_expect_add(p, w, c->peer);
    }
    if (w->lead_stage) {
        w->answers++;
        hark_wave_lead_frozen(p, e, w, fx);
    } else {
        w->listing = 1;
    }
}

/* Freezes or passes, when the application is inside a call and n of the wave is known. */
static inline void hark_wave_reach(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (w->calls + 1 == w->target) hark_wave_freeze(p, e, w, fx);
    else hark_wave_pass(w, fx);
}

static inline void hark_wave_prepare(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    uint64_t wave, uint64_t n, bool map, struct hark_effects *fx)
{
    if (map) w->map = HARK_W_MAP_NOW;
    w->wave = wave;
    w->target = n;
    w->mode = HARK_W_PREPARED;
    w->expected = 0;
    if (w->mark_wave != wave) {
        w->mark_wave = wave;
        w->marks = 0;
    }
    if (w->in_checkpoint_call) hark_wave_reach(p, e, w, fx);
}

static inline void hark_wave_lead_count(struct hark *p, struct hark_endpoint *e,
    struct hark_wave *w, uint64_t calls, uint64_t wave, bool map, struct hark_effects *fx)
{
    if (calls > w->lead_n) w->lead_n = calls;
    w->lead_map += map;
    if (wave > w->lead_wave) w->lead_wave = wave;
    if (++w->answers < hark_wave_size(p, e)) return;
    w->lead_stage = HARK_W_FREEZING;
    w->answers = 0;
    hark_empty(p, &w->expect);
    w->lead_wave++; /* a number that no live process has seen */
    w->lead_n++;
    hark_wave_tell(p, e, w, HARK_W_PREPARE);
    hark_wave_prepare(p, e, w, w->lead_wave, w->lead_n, w->lead_map == hark_wave_size(p, e), fx);
}

static inline void hark_wave_lead_start(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    w->lead_stage = HARK_W_ASKING;
    w->answers = 0;
    w->lead_n = w->lead_wave = 0;
    w->lead_map = 0;
    w->mode = HARK_W_ANSWERED;
    if (hark_wave_size(p, e) > 1) hark_wave_tell(p, e, w, HARK_W_ASK);
    hark_wave_lead_count(p, e, w, w->calls, w->wave, w->map != HARK_W_NO_MAP, fx);
}

static inline void hark_wave_lead_ready(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, bool ok, struct hark_effects *fx)
{
    if (!ok) {
        hark_wave_lead_abort(p, e, w, fx);
        return;
    }
    if (++w->answers < hark_wave_size(p, e)) return;
    w->lead_stage = HARK_W_DECIDING;
    struct hark_fact fact = {
        HARK_FACT_WAVE, hark_wave_leader(p, e), e->re, w->map == HARK_W_MAP_NOW, w->wave, 0};
    if (w->kept.count) fact.oldest = ((struct hark_image *)hark_row(p, &w->kept, 0))->id;
    hark_emit_fact(fx, fact);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
