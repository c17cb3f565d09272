/* coordinated.h: checkpoint waves of a group of processes, and the protocol made of nothing else.
 *
 * A freezing two-phase commit (Guermouche et al., HydEE, Alg. 1 lines 19-21: "Coordinate with the
 * processes in Cluster_i" is all that the paper says). The lowest rank leads.
 *
 *   leader            members
 *   ASK         ->                    any time; answered without the application's help
 *               <-    COUNT           checkpoint calls passed, highest wave seen; waits at its next call
 *   PREPARE     ->                    a fresh wave, n = max + 1: calls below n run on
 *                     each at its own n-th call: frozen; MARK with `sent` on each channel of the group
 *               <-    FROZEN          to whom MARKs are on their way
 *   EXPECT      ->                    how many MARKs will come; once they and what they count are in: CAPTURE
 *               <-    READY           stored, or not
 *   PERSIST at the failure service: the decision
 *   COMMIT or ABORT ->
 *
 * Freezing all sends from the n-th call to COMMIT also keeps a chain of messages from leaving the group
 * and coming back into an image that is taken later. Deviations from "MARK on each channel, recorded
 * in order": MARK carries the count, so channels need not be FIFO, and FROZEN/EXPECT tells how many to wait for,
 * so that no process keeps or sends anything to group members that it never met.
 */
#ifndef HARK_COORDINATED_H
#define HARK_COORDINATED_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_KIND_COORDINATED 2

enum { /* control frames of waves */
    HARK_W_ASK = 1, HARK_W_COUNT, HARK_W_PREPARE, HARK_W_MARK, HARK_W_FROZEN, HARK_W_EXPECT, HARK_W_READY,
    HARK_W_COMMIT, HARK_W_ABORT, HARK_W_WISH, HARK_W_END
};
enum { HARK_W_RUN = 0, HARK_W_ANSWERED, HARK_W_PREPARED, HARK_W_IS_FROZEN, HARK_W_CAPTURED, HARK_W_IS_READY };
enum { HARK_W_IDLE = 0, HARK_W_ASKING, HARK_W_FREEZING, HARK_W_STORING, HARK_W_DECIDING };

struct hark_image { /* a row of `kept` */
    uint64_t id;
};
struct hark_expect { /* at the leader: how many MARKs are on their way to a member */
    uint32_t rank;
    uint32_t count;
};

struct hark_wave {
    uint64_t calls;     /* checkpoint calls passed */
    uint64_t target;    /* n: the call to freeze at */
    uint64_t wave;      /* highest number seen */
    uint64_t mark_wave; /* what `marks` counts */
    uint64_t lead_n, lead_wave; /* the leader's maxima over COUNT */
    uint32_t mode, at;  /* HARK_W_RUN..; 1: the application is inside a call */
    uint32_t expected;  /* MARKs to come, + 1; 0: not told yet */
    uint32_t marks;     /* MARKs that came */
    uint32_t owed;      /* channels on which more is to arrive */
    uint32_t generations;
    uint32_t lead, got; /* the leader's stage, and answers in it */
    uint32_t tell, told; /* a frame being sent to all members; how many have it */
    uint32_t marking, listing, fragment; /* freeze: next channel to MARK + 1, to list in FROZEN + 1 */
    uint32_t pad;
    struct hark_table kept;   /* ckptNo and the generations before it */
    struct hark_table expect;
};

static const struct hark_field hark_image_fields[] = {HARK_FIELD(struct hark_image, id, "ckptNo")};
static const struct hark_field hark_expect_fields[] = {
    HARK_FIELD(struct hark_expect, rank, "j"), HARK_FIELD(struct hark_expect, count, "")};

#define HARK_WAVE_FIELDS(type)                                                                                         \
    HARK_FIELD(type, wave.calls, ""), HARK_FIELD(type, wave.target, "n"), HARK_FIELD(type, wave.wave, "wave"),         \
        HARK_FIELD(type, wave.mark_wave, ""), HARK_FIELD(type, wave.lead_n, ""), HARK_FIELD(type, wave.lead_wave, ""), \
        HARK_FIELD(type, wave.mode, "mode"), HARK_FIELD(type, wave.at, ""), HARK_FIELD(type, wave.expected, ""),       \
        HARK_FIELD(type, wave.marks, "mark"), HARK_FIELD(type, wave.owed, ""),                                         \
        HARK_FIELD(type, wave.generations, "g"), HARK_FIELD(type, wave.lead, ""), HARK_FIELD(type, wave.got, "ready"), \
        HARK_FIELD(type, wave.tell, ""), HARK_FIELD(type, wave.told, ""), HARK_FIELD(type, wave.marking, ""),          \
        HARK_FIELD(type, wave.listing, ""), HARK_FIELD(type, wave.fragment, "")

#define HARK_WAVE_TABLES(type)                                                                                         \
    {"kept", "ckptNo", (uint16_t)offsetof(type, wave.kept), sizeof(struct hark_image), 1, hark_image_fields},          \
        {"expect", "", (uint16_t)offsetof(type, wave.expect), sizeof(struct hark_expect), 2, hark_expect_fields}

/* The state of the protocol `coordinated`: positions and waves. */
struct hark_coordinated {
    struct hark head;
    struct hark_ends ends;
    struct hark_wave wave;
    uint32_t gone; /* 1: rolled back, nothing is legal any more */
    uint32_t pad;
};

HARK_FN uint64_t hark_coordinated_size(const struct hark_config *config);
HARK_FN int hark_coordinated_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_coordinated_step(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_coordinated_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_coordinated_violated(const struct hark *p);

#if HARK_BODIES

/* ---- the wave, a part of every protocol that coordinates -------------------------------------------- */

static inline uint32_t hark_wave_leader(const struct hark *p, const struct hark_ends *e)
{
    return ((const struct hark_range *)hark_row_of(p, &e->group, 0))->first;
}

static inline uint32_t hark_wave_size(const struct hark *p, const struct hark_ends *e)
{
    return hark_ranges_size(p, &e->group);
}

static inline void hark_wave_tell(struct hark *p, struct hark_ends *e, struct hark_wave *w, uint32_t type)
{
    if (w->tell) HARK_TRAP(); /* a fan-out is complete before the next event */
    if (hark_wave_size(p, e) > 1) w->tell = type;
    w->told = 0;
}

/* Leaves the present call. */
static inline void hark_wave_pass(struct hark_wave *w, struct hark_effects *fx)
{
    w->calls++;
    w->at = 0;
    hark_emit(fx, HARK_RESUME);
}

static inline void hark_wave_over(struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    w->mode = HARK_W_RUN;
    w->marking = w->listing = w->fragment = 0;
    w->expected = 0;
    if (w->at) hark_wave_pass(w, fx);
    e->offer = 1; /* the next ASK may have been held */
}

static inline void hark_wave_commit(struct hark *p, struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    hark_emit_id(fx, HARK_COMMIT, w->wave);
    ((struct hark_image *)hark_insert(p, &w->kept, w->kept.count))->id = w->wave;
    if (w->kept.count > w->generations) {
        hark_emit_id(fx, HARK_DROP, ((struct hark_image *)hark_row(p, &w->kept, 0))->id);
        hark_remove(p, &w->kept, 0);
    }
    hark_wave_over(e, w, fx);
}

static inline void hark_wave_abort(struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (w->mode == HARK_W_RUN) return;
    if (w->mode >= HARK_W_CAPTURED) hark_emit_id(fx, HARK_DROP, w->wave);
    hark_wave_over(e, w, fx);
}

static inline void hark_wave_lead_abort(struct hark *p, struct hark_ends *e, struct hark_wave *w,
    struct hark_effects *fx)
{
    w->lead = HARK_W_IDLE;
    hark_wave_tell(p, e, w, HARK_W_ABORT);
    hark_wave_abort(e, w, fx);
}

/* All that was sent to me before the others froze is in: the image can be taken. */
static inline void hark_wave_try_capture(struct hark_wave *w, struct hark_effects *fx)
{
    if (w->mode != HARK_W_IS_FROZEN || w->expected != w->marks + 1 || w->owed) return;
    w->mode = HARK_W_CAPTURED;
    hark_emit_id(fx, HARK_CAPTURE, w->wave);
}

static inline void hark_wave_expect_add(struct hark *p, struct hark_wave *w, uint32_t rank)
{
    uint32_t i = 0;
    while (i < w->expect.count && ((struct hark_expect *)hark_row(p, &w->expect, i))->rank < rank) i++;
    if (i == w->expect.count || ((struct hark_expect *)hark_row(p, &w->expect, i))->rank != rank)
        ((struct hark_expect *)hark_insert(p, &w->expect, i))->rank = rank;
    ((struct hark_expect *)hark_row(p, &w->expect, i))->count++;
}

static inline uint32_t hark_wave_expect_of(const struct hark *p, const struct hark_wave *w, uint32_t rank)
{
    for (uint32_t i = 0; i < w->expect.count; i++) {
        const struct hark_expect *x = (const struct hark_expect *)hark_row_of(p, &w->expect, i);
        if (x->rank == rank) return x->count;
    }
    return 0;
}

static inline void hark_wave_expect(struct hark_wave *w, uint32_t count, struct hark_effects *fx)
{
    w->expected = count + 1;
    hark_wave_try_capture(w, fx);
}

static inline void hark_wave_lead_frozen(struct hark *p, struct hark_ends *e, struct hark_wave *w,
    struct hark_effects *fx)
{
    if (w->got < hark_wave_size(p, e) || w->fragment != 0) return;
    w->lead = HARK_W_STORING;
    w->got = 0;
    hark_wave_tell(p, e, w, HARK_W_EXPECT);
    hark_wave_expect(w, hark_wave_expect_of(p, w, e->me), fx);
}

/* Does a MARK go out on this channel? A message to myself is waited for without one. */
static inline bool hark_wave_marks(const struct hark_ends *e, const struct hark_channel *c)
{
    return (c->flags & HARK_INTRA) && c->sent > 0 && c->peer != e->me;
}

static inline void hark_wave_freeze(struct hark *p, struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    w->mode = HARK_W_IS_FROZEN;
    w->marking = 1;
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        if (c->peer == e->me && c->recv < c->sent) {
            c->mark = c->sent;
            c->flags |= HARK_OWED;
            w->owed++;
        }
        if (w->lead && hark_wave_marks(e, c)) hark_wave_expect_add(p, w, c->peer);
    }
    if (w->lead) {
        w->got++;
        hark_wave_lead_frozen(p, e, w, fx);
    } else {
        w->listing = 1;
    }
}

/* The application is inside a call, and the wave's number of the call is known. */
static inline void hark_wave_reach(struct hark *p, struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    if (w->calls + 1 == w->target) hark_wave_freeze(p, e, w, fx);
    else hark_wave_pass(w, fx);
}

static inline void hark_wave_prepare(struct hark *p, struct hark_ends *e, struct hark_wave *w, uint64_t wave,
    uint64_t n, struct hark_effects *fx)
{
    w->wave = wave;
    w->target = n;
    w->mode = HARK_W_PREPARED;
    w->expected = 0;
    if (w->mark_wave != wave) {
        w->mark_wave = wave;
        w->marks = 0;
    }
    if (w->at) hark_wave_reach(p, e, w, fx);
}

static inline void hark_wave_lead_count(struct hark *p, struct hark_ends *e, struct hark_wave *w, uint64_t calls,
    uint64_t wave, struct hark_effects *fx)
{
    if (calls > w->lead_n) w->lead_n = calls;
    if (wave > w->lead_wave) w->lead_wave = wave;
    if (++w->got < hark_wave_size(p, e)) return;
    w->lead = HARK_W_FREEZING;
    w->got = 0;
    hark_empty(p, &w->expect);
    w->lead_wave++; /* fresh: nobody alive has seen it (section 2 e) */
    w->lead_n++;
    hark_wave_tell(p, e, w, HARK_W_PREPARE);
    hark_wave_prepare(p, e, w, w->lead_wave, w->lead_n, fx);
}

static inline void hark_wave_lead_start(struct hark *p, struct hark_ends *e, struct hark_wave *w,
    struct hark_effects *fx)
{
    w->lead = HARK_W_ASKING;
    w->got = 0;
    w->lead_n = w->lead_wave = 0;
    w->mode = HARK_W_ANSWERED;
    if (hark_wave_size(p, e) > 1) hark_wave_tell(p, e, w, HARK_W_ASK);
    hark_wave_lead_count(p, e, w, w->calls, w->wave, fx);
}

static inline void hark_wave_lead_ready(struct hark *p, struct hark_ends *e, struct hark_wave *w, bool ok,
    struct hark_effects *fx)
{
    if (!ok) {
        hark_wave_lead_abort(p, e, w, fx);
        return;
    }
    if (++w->got < hark_wave_size(p, e)) return;
    w->lead = HARK_W_DECIDING;
    struct hark_effect *x = hark_emit(fx, HARK_PERSIST);
    x->fact = HARK_FACT_WAVE;
    x->peer = hark_wave_leader(p, e);
    x->re = e->re;
    x->u.id = w->wave;
}

/* ---- events that concern waves ------------------------------------------------------------------------ */

/* CHECKPOINT_POINT. `quiet`: no wave may start (between FAILED and RECOVERED). */
static inline void hark_wave_point(struct hark *p, struct hark_ends *e, struct hark_wave *w, bool due, bool quiet,
    struct hark_effects *fx)
{
    w->at = 1;
    if (w->mode == HARK_W_RUN && due && !quiet) {
        if (hark_wave_leader(p, e) == e->me) {
            hark_wave_lead_start(p, e, w, fx);
            return;
        }
        uint8_t *b = hark_emit_control(p, e, fx, HARK_W_WISH, hark_wave_leader(p, e), 8);
        hark_put64(b, w->wave);
    }
    if (w->mode == HARK_W_RUN) hark_wave_pass(w, fx);
    else if (w->mode == HARK_W_PREPARED) hark_wave_reach(p, e, w, fx);
}

static inline void hark_wave_stored(struct hark *p, struct hark_ends *e, struct hark_wave *w,
    const struct hark_event *event, struct hark_effects *fx)
{
    bool ok = event->u.stored.ok != 0;
    if (event->u.stored.of == HARK_CAPTURE && w->mode == HARK_W_CAPTURED && event->u.stored.id == w->wave) {
        w->mode = HARK_W_IS_READY;
        if (w->lead) {
            hark_wave_lead_ready(p, e, w, ok, fx);
        } else {
            uint8_t *b = hark_emit_control(p, e, fx, HARK_W_READY, hark_wave_leader(p, e), 12);
            hark_put64(b, w->wave);
            hark_put32(b + 8, ok);
        }
    }
    if (event->u.stored.of == HARK_PERSIST && w->lead == HARK_W_DECIDING && event->u.stored.id == w->wave) {
        if (!ok) {
            hark_wave_lead_abort(p, e, w, fx);
            return;
        }
        w->lead = HARK_W_IDLE;
        hark_wave_tell(p, e, w, HARK_W_COMMIT);
        hark_wave_commit(p, e, w, fx);
    }
}

/* FAILED: an undecided wave aborts (section 2 d), a decided one commits (d'). */
static inline void hark_wave_failed(struct hark *p, struct hark_ends *e, struct hark_wave *w,
    const struct hark_event *event, struct hark_effects *fx)
{
    uint64_t decided = hark_failed_wave(event, hark_wave_leader(p, e));
    w->lead = HARK_W_IDLE;
    w->tell = 0;
    if (w->mode >= HARK_W_CAPTURED && decided >= w->wave) hark_wave_commit(p, e, w, fx);
    else hark_wave_abort(e, w, fx);
    for (uint32_t i = 0; i < e->channels.count; i++)
        hark_channel_at(p, e, i)->flags &= (uint16_t)~HARK_OWED;
    w->owed = 0;
}

/* A new incarnation from checkpoint `id`, whose image has just been unpacked: the n-th call is passed. */
static inline void hark_wave_restarted(struct hark *p, struct hark_ends *e, struct hark_wave *w, uint64_t id)
{
    if (id == 0) return;
    w->calls = w->target;
    w->at = w->mode = w->lead = w->tell = w->expected = w->marks = w->owed = 0;
    w->marking = w->listing = w->fragment = 0;
    for (uint32_t i = 0; i < e->channels.count; i++)
        hark_channel_at(p, e, i)->flags &= (uint16_t)~HARK_OWED;
    while (w->kept.count && ((struct hark_image *)hark_row(p, &w->kept, w->kept.count - 1))->id >= id)
        hark_remove(p, &w->kept, w->kept.count - 1);
    ((struct hark_image *)hark_insert(p, &w->kept, w->kept.count))->id = id;
}

/* After recv of a channel has grown. */
static inline void hark_wave_arrived(struct hark_wave *w, struct hark_channel *c, struct hark_effects *fx)
{
    if (!(c->flags & HARK_OWED) || c->recv < c->mark) return;
    c->flags = (uint16_t)(c->flags & ~HARK_OWED);
    w->owed--;
    hark_wave_try_capture(w, fx);
}

static inline int hark_wave_mark(struct hark *p, struct hark_ends *e, struct hark_wave *w, const struct hark_head *h,
    const uint8_t *b, struct hark_effects *fx)
{
    uint64_t wave = hark_get64(b), sent = hark_get64(b + 8);
    bool made;
    if (wave < w->mark_wave) return hark_fate(fx, HARK_DISCARD);
    if (wave > w->mark_wave) { /* it may come before PREPARE */
        w->mark_wave = wave;
        w->marks = 0;
    }
    struct hark_channel *c = hark_channel_make(p, e, h->src, h->ctx, &made);
    w->marks++;
    c->mark = sent;
    if (c->recv < sent) {
        c->flags |= HARK_OWED;
        w->owed++;
    }
    hark_wave_try_capture(w, fx);
    return HARK_OK;
}

static inline int hark_wave_frozen(struct hark *p, struct hark_ends *e, struct hark_wave *w, const uint8_t *b,
    uint32_t length, struct hark_effects *fx)
{
    /* Fragments need no order: all but the last of a member carry only ranks. */
    for (uint32_t at = 12; at + 4 <= length; at += 4) hark_wave_expect_add(p, w, hark_get32(b + at));
    w->fragment += hark_get32(b + 8) >> 16; /* the last one says how many there were; */
    w->fragment--;                          /* each one that came counts one of them */
    if (hark_get32(b + 8) & 1) w->got++;
    hark_wave_lead_frozen(p, e, w, fx);
    return HARK_OK;
}

/* What a wave's frame of this type has behind the common part, bytes. */
static inline bool hark_wave_length_ok(uint8_t type, uint32_t length)
{
    switch (type) {
    case HARK_W_ASK: return length == 0;
    case HARK_W_WISH:
    case HARK_W_COMMIT:
    case HARK_W_ABORT: return length == 8;
    case HARK_W_COUNT:
    case HARK_W_PREPARE:
    case HARK_W_MARK: return length == 16;
    case HARK_W_EXPECT:
    case HARK_W_READY: return length == 12;
    case HARK_W_FROZEN: return length >= 12 && length % 4 == 0;
    default: return false;
    }
}

/* Rows that a wave's frame may add; before anything moves. */
static inline int hark_wave_reserve(struct hark *p, const struct hark_shape *s, struct hark_ends *e,
    struct hark_wave *w, uint32_t length)
{
    int status = hark_reserve(p, s, &w->kept, 1);
    if (status >= 0) status = hark_reserve(p, s, &e->channels, 1);
    if (status >= 0) status = hark_reserve(p, s, &w->expect, length / 4 + e->channels.count);
    return status;
}

/* The leader's side of a frame, and then the members'. Age and length have been looked at. */
static inline int hark_wave_lead_frame(struct hark *p, struct hark_ends *e, struct hark_wave *w,
    const struct hark_head *h, const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    if (h->type == HARK_W_COUNT && w->lead == HARK_W_ASKING)
        hark_wave_lead_count(p, e, w, hark_get64(b), hark_get64(b + 8), fx);
    else if (h->type == HARK_W_FROZEN && w->lead == HARK_W_FREEZING && hark_get64(b) == w->lead_wave)
        return hark_wave_frozen(p, e, w, b, length, fx);
    else if (h->type == HARK_W_READY && w->lead == HARK_W_STORING && hark_get64(b) == w->lead_wave)
        hark_wave_lead_ready(p, e, w, hark_get32(b + 8) != 0, fx);
    else
        return hark_fate(fx, HARK_DISCARD);
    return HARK_OK;
}

/* A frame of a wave. `quiet`: recovery is not over here, so ASK waits. */
static inline int hark_wave_frame(struct hark *p, struct hark_ends *e, struct hark_wave *w, const struct hark_head *h,
    const uint8_t *b, uint32_t length, bool quiet, struct hark_effects *fx)
{
    bool leader = hark_wave_leader(p, e) == e->me, from_leader = hark_wave_leader(p, e) == h->src;
    if (!hark_ranges_hold(p, &e->group, h->src) || h->src == e->me) return HARK_EFRAME;
    if (h->type == HARK_W_MARK) return hark_wave_mark(p, e, w, h, b, fx);
    if (h->type == HARK_W_WISH && leader) {
        if (w->lead || quiet || w->mode != HARK_W_RUN || hark_get64(b) != w->wave) return hark_fate(fx, HARK_DISCARD);
        hark_wave_lead_start(p, e, w, fx);
        return HARK_OK;
    }
    if (leader) return hark_wave_lead_frame(p, e, w, h, b, length, fx);
    if (!from_leader) return HARK_EFRAME;
    switch (h->type) {
    case HARK_W_ASK:
        if (quiet || w->mode != HARK_W_RUN) return hark_fate(fx, HARK_HOLD);
        w->mode = HARK_W_ANSWERED;
        uint8_t *out = hark_emit_control(p, e, fx, HARK_W_COUNT, h->src, 16);
        hark_put64(out, w->calls);
        hark_put64(out + 8, w->wave > w->mark_wave ? w->wave : w->mark_wave);
        break;
    case HARK_W_PREPARE:
        if (w->mode != HARK_W_ANSWERED) return hark_fate(fx, HARK_DISCARD);
        hark_wave_prepare(p, e, w, hark_get64(b), hark_get64(b + 8), fx);
        break;
    case HARK_W_EXPECT:
        if (w->mode != HARK_W_IS_FROZEN || hark_get64(b) != w->wave) return hark_fate(fx, HARK_DISCARD);
        hark_wave_expect(w, hark_get32(b + 8), fx);
        break;
    case HARK_W_COMMIT:
        if (w->mode != HARK_W_IS_READY || hark_get64(b) != w->wave) return hark_fate(fx, HARK_DISCARD);
        hark_wave_commit(p, e, w, fx);
        break;
    case HARK_W_ABORT:
        if (hark_get64(b) != w->wave) return hark_fate(fx, HARK_DISCARD);
        hark_wave_abort(e, w, fx);
        break;
    default: return HARK_EFRAME;
    }
    return HARK_OK;
}

/* One frame of the fan-out `tell`. */
static inline void hark_wave_tell_one(struct hark *p, struct hark_ends *e, struct hark_wave *w, uint32_t rank,
    struct hark_effects *fx)
{
    uint32_t length = w->tell == HARK_W_ASK ? 0 : w->tell == HARK_W_PREPARE ? 16 : w->tell == HARK_W_EXPECT ? 12 : 8;
    uint8_t *b = hark_emit_control(p, e, fx, (uint8_t)w->tell, rank, length);
    if (length) hark_put64(b, w->lead_wave);
    if (w->tell == HARK_W_PREPARE) hark_put64(b + 8, w->lead_n);
    if (w->tell == HARK_W_EXPECT) hark_put32(b + 8, hark_wave_expect_of(p, w, rank));
}

/* FROZEN in fragments: wave u64, u32 (fragments << 16 | last), ranks u32 each. */
static inline int hark_wave_list(struct hark *p, struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    const uint32_t most = (HARK_FRAGMENT - HARK_WIRE_HEAD - 12) / 4;
    while (w->listing) {
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        uint32_t n = 0, i = w->listing - 1, end;
        for (end = i; end < e->channels.count && n < most; end++)
            if (hark_wave_marks(e, hark_channel_at(p, e, end))) n++;
        uint8_t *b = hark_emit_control(p, e, fx, HARK_W_FROZEN, hark_wave_leader(p, e), 12 + 4 * n);
        bool last = end == e->channels.count;
        w->fragment++;
        hark_put64(b, w->wave);
        hark_put32(b + 8, last ? w->fragment << 16 | 1 : 0);
        b += 12;
        for (; i < end; i++) {
            struct hark_channel *c = hark_channel_at(p, e, i);
            if (!hark_wave_marks(e, c)) continue;
            hark_put32(b, c->peer);
            b += 4;
        }
        w->listing = last ? 0 : end + 1;
        if (last) w->fragment = 0;
    }
    return HARK_OK;
}

/* What the wave still has to send; HARK_MORE when the effects are full. */
static inline int hark_wave_pump(struct hark *p, struct hark_ends *e, struct hark_wave *w, struct hark_effects *fx)
{
    while (w->tell) {
        uint32_t rank = hark_ranges_at(p, &e->group, w->told + 1); /* the leader is the lowest */
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
        hark_wave_tell_one(p, e, w, rank, fx);
        if (++w->told + 1 == hark_wave_size(p, e)) w->tell = w->told = 0;
    }
    while (w->marking) {
        uint32_t i = w->marking - 1;
        if (i >= e->channels.count) {
            w->marking = 0;
            break;
        }
        struct hark_channel *c = hark_channel_at(p, e, i);
        if (hark_wave_marks(e, c)) {
            if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
            uint8_t *b = hark_emit_control(p, e, fx, HARK_W_MARK, c->peer, 16);
            hark_put16(b - HARK_WIRE_HEAD + 2, c->ctx);
            hark_put64(b, w->wave);
            hark_put64(b + 8, c->sent);
        }
        w->marking++;
    }
    return hark_wave_list(p, e, w, fx);
}

static inline const char *hark_wave_violated(const struct hark *p, const struct hark_ends *e,
    const struct hark_wave *w)
{
    uint32_t owed = 0;
    for (uint32_t i = 0; i < e->channels.count; i++) {
        const struct hark_channel *c = (const struct hark_channel *)hark_row_of(p, &e->channels, i);
        if (c->done > c->recv) return "a message was delivered that has not arrived";
        if (c->flags & HARK_OWED) owed++;
    }
    if (owed != w->owed) return "the count of channels that owe messages is wrong";
    if (w->kept.count > w->generations) return "more images kept than generations";
    return NULL;
}

/* ---- the protocol ----------------------------------------------------------------------------------------- */

static const struct hark_field hark_channel_fields[] = {
    {"peer", "j", (uint16_t)offsetof(struct hark_channel, peer), 4, HARK_NUMBER},
    {"ctx", "ctx", (uint16_t)offsetof(struct hark_channel, ctx), 2, HARK_NUMBER},
    {"flags", "", (uint16_t)offsetof(struct hark_channel, flags), 2, HARK_NUMBER},
    {"inc", "incView", (uint16_t)offsetof(struct hark_channel, inc), 4, HARK_NUMBER},
    {"sent", "sent", (uint16_t)offsetof(struct hark_channel, sent), 8, HARK_NUMBER},
    {"recv", "recv", (uint16_t)offsetof(struct hark_channel, recv), 8, HARK_NUMBER},
    {"done", "delivered", (uint16_t)offsetof(struct hark_channel, done), 8, HARK_NUMBER},
    {"mark", "mark", (uint16_t)offsetof(struct hark_channel, mark), 8, HARK_NUMBER}};
static const struct hark_field hark_coordinated_fields[] = {HARK_ENDS_FIELDS(struct hark_coordinated),
    HARK_WAVE_FIELDS(struct hark_coordinated), HARK_FIELD(struct hark_coordinated, gone, "")};
static const struct hark_rows hark_coordinated_rows[] = {HARK_ENDS_TABLES(struct hark_coordinated),
    {"channels", "", (uint16_t)offsetof(struct hark_coordinated, ends.channels), sizeof(struct hark_channel), 8,
        hark_channel_fields},
    HARK_WAVE_TABLES(struct hark_coordinated)};
static const struct hark_shape hark_coordinated_shape = {"coordinated", 1, HARK_COUNT(hark_coordinated_fields),
    HARK_COUNT(hark_coordinated_rows), sizeof(struct hark_coordinated), hark_coordinated_fields, hark_coordinated_rows,
    0};

HARK_FN uint64_t hark_coordinated_size(const struct hark_config *c)
{
    if (!hark_config_valid(c)) return 0;
    return sizeof(struct hark_coordinated) + (uint64_t)(c->group_count + 4) * sizeof(struct hark_range) + 1024;
}

HARK_FN int hark_coordinated_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    if (!hark_config_valid(c)) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_coordinated_shape, HARK_KIND_COORDINATED);
    if (status < 0) return status;
    s->ends.me = c->me;
    s->ends.ranks = c->ranks;
    s->wave.generations = c->generations ? c->generations : 2;
    return hark_group_init(p, &hark_coordinated_shape, &s->ends, c, true);
}

static inline int hark_coordinated_send(struct hark_coordinated *s, const struct hark_event *event,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool made;
    if (event->u.send.to != HARK_PROCESS || !hark_ranges_hold(p, &s->ends.group, event->u.send.peer))
        return HARK_EINVAL;
    int status = hark_reserve(p, &hark_coordinated_shape, &s->ends.channels, 1);
    if (status < 0) return status;
    struct hark_channel *c = hark_channel_make(p, &s->ends, event->u.send.peer, event->u.send.ctx, &made);
    c->sent++;
    struct hark_head h = {HARK_KIND_COORDINATED, HARK_APP, c->ctx, s->ends.me, c->peer, s->ends.inc, c->inc,
        s->ends.re, c->sent};
    uint8_t *body;
    hark_emit_frame(fx, &h, HARK_WIRE_HEAD, &body)->name = hark_name_of(HARK_OUT, c, c->sent);
    return HARK_OK;
}

/* The accept rule of every protocol here: exactly once and in ssn order, on any network. */
static inline int hark_accept(struct hark *p, struct hark_ends *e, struct hark_channel *c, const struct hark_head *h,
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

static inline int hark_coordinated_arrive(struct hark_coordinated *s, const struct hark_event *event,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_head h;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    bool made;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_COORDINATED) < 0 || !hark_head_valid(&s->ends, &h))
        return HARK_EFRAME;
    if (h.type == HARK_APP ? length != 0 : !hark_wave_length_ok(h.type, length)) return HARK_EFRAME;
    int status = hark_wave_reserve(p, &hark_coordinated_shape, &s->ends, &s->wave, length);
    if (status < 0) return status;
    if (h.type == HARK_APP && hark_arrived_take(p, &s->ends.waiting, h.src, h.ctx, h.ssn))
        return hark_fate(fx, HARK_HANDUP); /* from the image: it had arrived */
    int age = hark_age(p, &s->ends, &h);
    if (age != HARK_CURRENT) return hark_fate(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    if (h.type != HARK_APP)
        return hark_wave_frame(p, &s->ends, &s->wave, &h, event->u.frame.header.at + HARK_WIRE_HEAD, length, false, fx);
    if (!hark_ranges_hold(p, &s->ends.group, h.src)) return HARK_EFRAME;
    struct hark_channel *c = hark_channel_make(p, &s->ends, h.src, h.ctx, &made);
    status = hark_accept(p, &s->ends, c, &h, fx);
    if (fx->at[fx->count - 1].type == HARK_HANDUP) {
        hark_wave_arrived(&s->wave, c, fx);
        hark_offer_gap(c, fx);
    }
    return status;
}

/* DELIVER, for protocols to which only the positions matter. */
static inline int hark_deliver_plain(struct hark *p, const struct hark_shape *shape, struct hark_ends *e,
    const struct hark_event *event)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, p->kind) < 0 || h.type != HARK_APP) return HARK_EFRAME;
    struct hark_channel *c = hark_channel_find(p, e, h.src, h.ctx);
    if (c == NULL || h.ssn == 0 || h.ssn > c->recv || hark_delivered(p, e, c, h.ssn)) return HARK_EINVAL;
    int status = hark_reserve(p, shape, &e->beyond, 1);
    if (status < 0) return status;
    hark_deliver_mark(p, e, c, h.ssn);
    return HARK_OK;
}

static inline int hark_coordinated_failed(struct hark_coordinated *s, const struct hark_event *event,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_ends *e = &s->ends;
    if (!hark_failed_valid(e->ranks, event)) return HARK_EINVAL;
    if (event->u.failed.re <= e->re) return HARK_OK;
    if (hark_failed_mine(e, event) > e->inc) {
        s->gone = 1;
        hark_emit_id(fx, HARK_ROLLBACK, hark_failed_wave(event, hark_wave_leader(p, e)));
        return HARK_OK;
    }
    int status = hark_failed_reserve(p, &hark_coordinated_shape, e, event);
    if (status >= 0) status = hark_reserve(p, &hark_coordinated_shape, &s->wave.kept, 1);
    if (status < 0) return status;
    hark_wave_failed(p, e, &s->wave, event, fx);
    hark_failed_take(p, e, event);
    if (hark_is_down(p, e, e->me)) { /* the whole group restarts from one wave: nothing is left to do */
        struct hark_effect *x = hark_emit(fx, HARK_PERSIST);
        x->fact = HARK_FACT_DONE;
        x->peer = e->me;
        x->re = e->re;
        x->u.id = e->re;
    }
    hark_emit(fx, HARK_RECOVERED);
    return HARK_OK;
}

/* RESTARTED: unpacks the image into the fresh block; what had arrived undelivered waits to be offered. */
static inline int hark_restart_take(struct hark *p, const struct hark_shape *shape, struct hark_ends *e,
    const struct hark_event *event)
{
    uint32_t me = e->me, ranks = e->ranks;
    struct hark_bytes image = event->u.restarted.image;
    if (event->u.restarted.re == 0 || event->u.restarted.inc == 0) return HARK_EINVAL;
    if (event->u.restarted.checkpoint) {
        /* me and ranks are the first fixed fields of every member's packed form */
        if (image.at == NULL || image.length < 16) return HARK_EIMAGE;
        if (hark_get32(image.at + 8) != me || hark_get32(image.at + 12) != ranks) return HARK_EIMAGE;
        int status = hark_unpack(p, shape, image);
        if (status < 0) return status;
    }
    e->inc = event->u.restarted.inc;
    e->re = event->u.restarted.re - 1; /* the FAILED that explains me is still to come */
    e->offer = e->awaiting = 1;
    return HARK_OK;
}

/* How many undelivered messages an unpacked image names. */
static inline uint64_t hark_restart_undelivered(const struct hark *p, const struct hark_ends *e)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < e->channels.count; i++) {
        const struct hark_channel *c = (const struct hark_channel *)hark_row_of(p, &e->channels, i);
        n += c->recv - c->done;
    }
    return n;
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

static inline int hark_coordinated_restarted(struct hark_coordinated *s, const struct hark_event *event)
{
    struct hark *p = &s->head;
    uint32_t generations = s->wave.generations;
    if (s->ends.re || s->ends.inc) return HARK_ESTATE;
    int status = hark_restart_take(p, &hark_coordinated_shape, &s->ends, event);
    if (status < 0) return status;
    uint64_t n = hark_restart_undelivered(p, &s->ends);
    status = n > UINT32_MAX ? HARK_EIMAGE : hark_reserve(p, &hark_coordinated_shape, &s->ends.waiting, (uint32_t)n);
    if (status >= 0) status = hark_reserve(p, &hark_coordinated_shape, &s->wave.kept, 1);
    if (status < 0) { /* as it was: fresh, so that the event can be given again */
        s->ends.re = s->ends.inc = 0;
        return status;
    }
    hark_restart_wait(p, &s->ends);
    hark_wave_restarted(p, &s->ends, &s->wave, event->u.restarted.checkpoint);
    s->wave.generations = generations;
    return HARK_OK;
}

static inline int hark_coordinated_dispatch(struct hark_coordinated *s, const struct hark_event *event,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    int status;
    switch (event->type) {
    case HARK_SEND: return hark_coordinated_send(s, event, fx);
    case HARK_ARRIVE: return hark_coordinated_arrive(s, event, fx);
    case HARK_DELIVER: return hark_deliver_plain(p, &hark_coordinated_shape, &s->ends, event);
    case HARK_CHECKPOINT_POINT:
        if (s->wave.at) return HARK_ESTATE;
        status = hark_wave_reserve(p, &hark_coordinated_shape, &s->ends, &s->wave, 0);
        if (status < 0) return status;
        hark_wave_point(p, &s->ends, &s->wave, event->u.point.due, false, fx);
        return HARK_OK;
    case HARK_STORED:
        status = hark_wave_reserve(p, &hark_coordinated_shape, &s->ends, &s->wave, 0);
        if (status < 0) return status;
        hark_wave_stored(p, &s->ends, &s->wave, event, fx);
        return HARK_OK;
    case HARK_FAILED: return hark_coordinated_failed(s, event, fx);
    case HARK_RESTARTED: return hark_coordinated_restarted(s, event);
    case HARK_MISS:
    case HARK_IDLE:
    case HARK_QUIET:
    case HARK_CONTINUE: return HARK_OK;
    default: return HARK_EINVAL;
    }
}

/* The frame of every step: nothing but CONTINUE after MORE, room for the effects; and an application that
 * has been restarted waits for the FAILED that explains it. */
static inline int hark_step_begin(struct hark *p, const struct hark_ends *e, const struct hark_event *event,
    struct hark_effects *fx, uint32_t gone)
{
    bool app = event->type == HARK_SEND || event->type == HARK_DELIVER || event->type == HARK_MISS ||
               event->type == HARK_CHECKPOINT_POINT;
    if (gone || (p->more != 0) != (event->type == HARK_CONTINUE)) return HARK_ESTATE;
    if (fx->room < HARK_EFFECTS_ROOM || fx->bytes_room < HARK_EFFECTS_BYTES) return HARK_ENOROOM;
    fx->count = fx->used = 0;
    return app && e->awaiting ? HARK_WAIT : HARK_OK;
}

HARK_FN int hark_coordinated_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    int status = hark_step_begin(p, &s->ends, event, fx, s->gone);
    if (status != HARK_OK) return status;
    status = hark_coordinated_dispatch(s, event, fx);
    if (status < 0 || s->gone) return status;
    status = hark_wave_pump(p, &s->ends, &s->wave, fx);
    if (status == HARK_OK) status = hark_offer_all(&s->ends, fx);
    p->more = status == HARK_MORE;
    return status;
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

HARK_FN int hark_coordinated_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_coordinated *s = (const struct hark_coordinated *)(const void *)p;
    uint32_t channel = (uint32_t)(*cursor >> 40);
    uint64_t ssn = *cursor & ((UINT64_C(1) << 40) - 1);
    int found = hark_names_undelivered(p, &s->ends, &channel, &ssn, run);
    *cursor = (uint64_t)channel << 40 | ssn;
    return found;
}

HARK_FN const char *hark_coordinated_violated(const struct hark *p)
{
    const struct hark_coordinated *s = (const struct hark_coordinated *)(const void *)p;
    return hark_wave_violated(p, &s->ends, &s->wave);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
