/* parts/wave.h: checkpoint waves of a cluster, for every protocol that coordinates checkpoints.
 *
 * A freezing two-phase commit (Guermouche et al., HydEE, Alg. 1 lines 19-21; the paper specifies
 * only "Coordinate with the processes in Cluster_i"). The lowest rank of the cluster leads.
 *
 *   leader            members
 *   ASK         ->                    at any time; answered without the application
 *               <-    COUNT           checkpoint calls passed, highest wave seen, whether the next
 *                                     map of clusters is known; then the member waits at its next
 *                                     call
 *   PREPARE     ->                    a new wave, its call n = max + 1, and whether the wave brings
 *                                     into force the map that all know; calls below n do not wait
 *                     each at its n-th call: frozen; MARK with `sent` on each channel inside the
 *                     cluster
 *               <-    FROZEN          the ranks to which MARKs are on their way
 *   EXPECT      ->                    how many MARKs will arrive; once these and the messages that
 *                                     they count are in: CAPTURE
 *               <-    COPIED          with HARK_IMAGES_COPIED: the image is a copy in memory
 *   GO          ->                    all images are copied: the application goes on
 *               <-    READY           stored, or failed
 *   PERSIST at the failure service: the decision
 *   COMMIT or ABORT ->
 *
 * Nobody sends from its n-th call to COMMIT, or to GO: then all images of the wave are taken. So no
 * chain of messages can leave the cluster and come back into an image that is taken later.
 * The work of an application between GO and COMMIT is undone only if it rolls back anyway: if the
 * wave is aborted, it goes on as if there had been none. Deviations from "MARK on each channel,
 * recorded in order": MARK carries the count, so channels need not be FIFO; and FROZEN and EXPECT
 * give the number of MARKs, so a process keeps no state for members that it never met, and sends
 * them nothing.
 */
#ifndef HARK_PARTS_WAVE_H
#define HARK_PARTS_WAVE_H

#include "wave_round.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* ---- events of waves ------------------------------------------------------------------------- */

/* Takes CHECKPOINT_POINT. `quiet`: no wave may start (between FAILED and RECOVERED: E21).
 *                                                                                   Alg. 1 l. 19 */
static inline void hark_wave_point(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    bool due, bool quiet, struct hark_effects *fx)
{
    w->in_checkpoint_call = 1;
    if (w->mode == HARK_W_RUN && due && !quiet) {
        if (hark_wave_leader(p, e) == e->me) {
            hark_wave_lead_start(p, e, w, fx);
            return;
        }
        uint8_t *b = hark_emit_control(p, e, fx, HARK_W_WISH, hark_wave_leader(p, e), 8);
        hark_put64(b, w->wave);
    }
    if (hark_wave_calm(w)) hark_wave_pass(w, fx);
    else if (w->mode == HARK_W_PREPARED) hark_wave_reach(p, e, w, fx);
}

/* Takes STORED: the image or the decision is durable, or failed.                    Alg. 1 l. 21 */
static inline void hark_wave_stored(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    const struct hark_event *event, struct hark_effects *fx)
{
    bool ok = event->u.stored.ok != 0;
    if (event->u.stored.of == HARK_CAPTURE && event->u.stored.id == w->wave &&
        (w->mode == HARK_W_CAPTURED || w->mode == HARK_W_GOES_ON)) {
        w->mode = w->mode == HARK_W_CAPTURED ? HARK_W_IS_READY : HARK_W_GOES_ON_READY;
        if (w->lead_stage) {
            hark_wave_lead_ready(p, e, w, ok, fx);
        } else {
            uint8_t *b = hark_emit_control(p, e, fx, HARK_W_READY, hark_wave_leader(p, e), 12);
            hark_put64(b, w->wave);
            hark_put32(b + 8, ok);
        }
    }
    if (w->lead_stage == HARK_W_DECIDING && hark_stored_answers(event, HARK_FACT_WAVE, w->wave)) {
        if (!ok) {
            hark_wave_lead_abort(p, e, w, fx);
            return;
        }
        w->lead_stage = HARK_W_IDLE;
        hark_wave_tell(p, e, w, HARK_W_COMMIT);
        hark_wave_commit(p, e, w, fx);
    }
}

/* Ends the wave at FAILED: an undecided wave aborts; a decided one commits, since its decision is
 * durable.                                                                           Alg. 2 l. 4 */
static inline void hark_wave_failed(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    const struct hark_event *event, struct hark_effects *fx)
{
    uint64_t decided = hark_failed_wave(event, hark_wave_leader(p, e));
    w->lead_stage = HARK_W_IDLE;
    w->fanout = 0;
    if (w->mode >= HARK_W_CAPTURED && decided >= w->wave) hark_wave_commit(p, e, w, fx);
    else hark_wave_abort(e, w, fx);
    if (decided > w->wave)
        w->wave = decided; /* its number is used, even if all have rolled back beyond it */
    for (uint32_t i = 0; i < e->channels.count; i++)
        hark_channel_at(p, e, i)->flags &= (uint16_t)~HARK_OWED;
    w->owed = 0;
}

/* Continues after checkpoint `id`, whose image RESTARTED has just unpacked: the n-th call is
 * passed. The image was taken before its own commit, so the DROPs of that commit are repeated.
 *                                                                                    Alg. 2 l. 5 */
static inline void hark_wave_restarted(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    uint64_t id, struct hark_wave_settings settings, struct hark_effects *fx)
{
    w->generations = settings.generations;
    w->images_copied = settings.images_copied;
    /* A map that was only known is given again by the embedder. */
    w->map = w->map == HARK_W_MAP_NOW ? HARK_W_MAP_TAKEN : HARK_W_NO_MAP;
    if (id == 0) return;
    w->calls = w->target;
    w->in_checkpoint_call = w->mode = w->lead_stage = w->fanout = w->expected = w->marks = w->owed =
        0;
    w->marking = w->listing = w->fragment = w->copied = 0;
    for (uint32_t i = 0; i < e->channels.count; i++)
        hark_channel_at(p, e, i)->flags &= (uint16_t)~HARK_OWED;
    while (
        w->kept.count && ((struct hark_image *)hark_row(p, &w->kept, w->kept.count - 1))->id >= id)
        hark_remove(p, &w->kept, w->kept.count - 1);
    ((struct hark_image *)hark_insert(p, &w->kept, w->kept.count))->id = id;
    for (; w->kept.count > w->generations; hark_remove(p, &w->kept, 0))
        if (fx->count < 8) /* no valid image has more generations */
            hark_emit_checkpoint(
                fx, HARK_DROP, ((struct hark_image *)hark_row(p, &w->kept, 0))->id);
}

/* Takes note that `recv` of a channel has grown. */
static inline void hark_wave_arrived(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    struct hark_channel *c, struct hark_effects *fx)
{
    if (!(c->flags & HARK_OWED) || c->recv < c->mark) return;
    c->flags = (uint16_t)(c->flags & ~HARK_OWED);
    w->owed--;
    hark_wave_try_capture(p, e, w, fx);
}

/* Takes MARK: how many messages of a channel belong before the cut. A MARK of an older wave is
 * discarded. Returns HARK_OK. */
static inline int hark_wave_mark(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    uint64_t wave = hark_get64(b), sent = hark_get64(b + 8);
    bool made;
    if (wave < w->mark_wave) return hark_emit_verdict(fx, HARK_DISCARD);
    if (wave > w->mark_wave) { /* a MARK may overtake PREPARE */
        w->mark_wave = wave;
        w->marks = 0;
    }
    struct hark_channel *c = hark_channel_make(p, e, h->src, h->ctx, &made);
    w->marks++;
    hark_wave_owe(w, c, sent);
    hark_wave_try_capture(p, e, w, fx);
    return HARK_OK;
}

/* Takes FROZEN, at the leader. Returns HARK_OK. */
static inline int hark_wave_frozen(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    /* Fragments may arrive in any order: all but the last one of a member carry only ranks. */
    for (uint32_t at = 12; at + 4 <= length; at += 4)
        hark_wave_expect_add(p, w, hark_get32(b + at));
    w->fragment += hark_get32(b + 8) >> 16; /* the last one has their number; */
    w->fragment--;                          /* each one that arrives counts one down */
    if (hark_get32(b + 8) & 1) w->answers++;
    hark_wave_lead_frozen(p, e, w, fx);
    return HARK_OK;
}

/* True if a wave's frame of this type may have `length` bytes after the common part. */
static inline bool hark_wave_length_ok(uint8_t type, uint32_t length)
{
    switch (type) {
    case HARK_W_ASK: return length == 0;
    case HARK_W_WISH:
    case HARK_W_COMMIT:
    case HARK_W_ABORT:
    case HARK_W_COPIED:
    case HARK_W_GO: return length == 8;
    case HARK_W_COUNT:
    case HARK_W_PREPARE: return length == 20;
    case HARK_W_MARK: return length == 16;
    case HARK_W_EXPECT:
    case HARK_W_READY: return length == 12;
    case HARK_W_FROZEN: return length >= 12 && length % 4 == 0;
    default: return false;
    }
}

/* Makes room for the rows that a wave's frame may add, before anything changes. HARK_EFULL. */
static inline int hark_wave_reserve(struct hark *p, const struct hark_shape *s,
    struct hark_endpoint *e, struct hark_wave *w, uint32_t length)
{
    int status = hark_reserve(p, s, &w->kept, 1);
    if (status >= 0) status = hark_reserve(p, s, &e->channels, 1);
    if (status >= 0) status = hark_reserve(p, s, &w->expect, length / 4 + e->channels.count);
    return status;
}

/* Takes a frame of a wave at the leader. Age and length have been checked. */
static inline int hark_wave_lead_frame(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    const struct hark_head *h, const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    if (h->type == HARK_W_COUNT && w->lead_stage == HARK_W_ASKING)
        hark_wave_lead_count(
            p, e, w, hark_get64(b), hark_get64(b + 8), hark_get32(b + 16) != 0, fx);
    else if (h->type == HARK_W_FROZEN && w->lead_stage == HARK_W_FREEZING &&
             hark_get64(b) == w->lead_wave)
        return hark_wave_frozen(p, e, w, b, length, fx);
    else if (h->type == HARK_W_READY && w->lead_stage == HARK_W_STORING &&
             hark_get64(b) == w->lead_wave)
        hark_wave_lead_ready(p, e, w, hark_get32(b + 8) != 0, fx);
    else if (h->type == HARK_W_COPIED && w->lead_stage == HARK_W_STORING &&
             hark_get64(b) == w->lead_wave)
        hark_wave_lead_copied(p, e, w, fx);
    else return hark_emit_verdict(fx, HARK_DISCARD);
    return HARK_OK;
}

static inline void hark_wave_answer(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    uint32_t leader, struct hark_effects *fx)
{
    uint8_t *b = hark_emit_control(p, e, fx, HARK_W_COUNT, leader, 20);
    w->mode = HARK_W_ANSWERED;
    hark_put64(b, w->calls);
    hark_put64(b + 8, w->wave > w->mark_wave ? w->wave : w->mark_wave);
    hark_put32(b + 16, w->map != HARK_W_NO_MAP);
}

/* Takes a frame of a wave; age, length and room have been checked. `quiet`: recovery is not over
 * here, so ASK is held. HARK_OK, or HARK_EFRAME if the frame is not for me.         Alg. 1 l. 20 */
static inline int hark_wave_frame(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    const struct hark_head *h, const uint8_t *b, uint32_t length, bool quiet,
    struct hark_effects *fx)
{
    bool leader = hark_wave_leader(p, e) == e->me, from_leader = hark_wave_leader(p, e) == h->src;
    if (!hark_ranges_hold(p, &e->cluster, h->src) || h->src == e->me) return HARK_EFRAME;
    if (h->type == HARK_W_MARK) return hark_wave_mark(p, e, w, h, b, fx);
    if (h->type == HARK_W_WISH && leader) {
        if (w->lead_stage || quiet || w->mode != HARK_W_RUN || hark_get64(b) != w->wave)
            return hark_emit_verdict(fx, HARK_DISCARD);
        hark_wave_lead_start(p, e, w, fx);
        return HARK_OK;
    }
    if (leader) return hark_wave_lead_frame(p, e, w, h, b, length, fx);
    if (!from_leader) return HARK_EFRAME;
    switch (h->type) {
    case HARK_W_ASK:
        if (quiet || w->mode != HARK_W_RUN) return hark_emit_verdict(fx, HARK_HOLD);
        hark_wave_answer(p, e, w, h->src, fx);
        break;
    case HARK_W_PREPARE:
        if (w->mode != HARK_W_ANSWERED) return hark_emit_verdict(fx, HARK_DISCARD);
        if (hark_get32(b + 16) && w->map == HARK_W_NO_MAP)
            return HARK_EFRAME; /* my COUNT did not report the map */
        hark_wave_prepare(p, e, w, hark_get64(b), hark_get64(b + 8), hark_get32(b + 16) != 0, fx);
        break;
    case HARK_W_EXPECT:
        if (w->mode != HARK_W_IS_FROZEN || hark_get64(b) != w->wave)
            return hark_emit_verdict(fx, HARK_DISCARD);
        hark_wave_expect(p, e, w, hark_get32(b + 8), fx);
        break;
    case HARK_W_GO:
        if ((w->mode != HARK_W_CAPTURED && w->mode != HARK_W_IS_READY) || hark_get64(b) != w->wave)
            return hark_emit_verdict(fx, HARK_DISCARD);
        hark_wave_go(w, fx);
        break;
    case HARK_W_COMMIT:
        if ((w->mode != HARK_W_IS_READY && w->mode != HARK_W_GOES_ON_READY) ||
            hark_get64(b) != w->wave)
            return hark_emit_verdict(fx, HARK_DISCARD);
        hark_wave_commit(p, e, w, fx);
        break;
    case HARK_W_ABORT:
        if (hark_get64(b) != w->wave) return hark_emit_verdict(fx, HARK_DISCARD);
        hark_wave_abort(e, w, fx);
        break;
    default: return HARK_EFRAME;
    }
    return HARK_OK;
}

/* Sends the frame of the present fan-out to one member. */
static inline void hark_wave_tell_one(struct hark *p, struct hark_endpoint *e, struct hark_wave *w,
    uint32_t rank, struct hark_effects *fx)
{
    uint32_t length = w->fanout == HARK_W_ASK       ? 0
                      : w->fanout == HARK_W_PREPARE ? 20
                      : w->fanout == HARK_W_EXPECT  ? 12
                                                    : 8;
    uint8_t *b = hark_emit_control(p, e, fx, (uint8_t)w->fanout, rank, length);
    if (length) hark_put64(b, w->lead_wave);
    if (w->fanout == HARK_W_PREPARE) {
        hark_put64(b + 8, w->lead_n);
        hark_put32(b + 16, w->map == HARK_W_MAP_NOW);
    }
    if (w->fanout == HARK_W_EXPECT) hark_put32(b + 8, hark_wave_expect_of(p, w, rank));
}

/* Sends FROZEN in fragments: wave u64, u32 (fragments << 16 | last), ranks u32 each. */
static inline int hark_wave_list(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
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

/* Sends what the wave has pending; HARK_MORE when the effects are full. */
static inline int hark_wave_pump(
    struct hark *p, struct hark_endpoint *e, struct hark_wave *w, struct hark_effects *fx)
{
    while (w->fanout) {
        /* The first member is the leader itself. */
        uint32_t rank = hark_ranges_at(p, &e->cluster, w->fanout_sent + 1);
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 20)) return HARK_MORE;
        hark_wave_tell_one(p, e, w, rank, fx);
        if (++w->fanout_sent + 1 == hark_wave_size(p, e)) w->fanout = w->fanout_sent = 0;
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

/* True if the wave of an unpacked state is valid, given hark_ends_ok. An unfinished fan-out
 * continues by CONTINUE. */
static inline bool hark_wave_ok(
    struct hark *p, const struct hark_endpoint *e, const struct hark_wave *w)
{
    if (!hark_ranges_hold(p, &e->cluster, e->me) || w->listing > e->channels.count + 1)
        return false;
    if (w->fanout == 0) return true;
    p->more = 1;
    return w->fanout < HARK_W_END && w->fanout_sent + 1 < hark_wave_size(p, e);
}

static inline const char *hark_wave_violated(
    const struct hark *p, const struct hark_endpoint *e, const struct hark_wave *w)
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
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
