/* scmel.h: simple causal message logging, with k copies of every determinant.
 *
 * E. Meneses, L. V. Kale: CAMEL: Collective-Aware Message Logging. The Journal of Supercomputing,
 * 2015. Algorithm 1 (SCMEL), section 2.3.1.
 *
 * In reading order: causal/state.h has the state, causal/messages.h lines 1-21,
 * causal/checkpoint.h lines 22-27, causal/recovery.h lines 28-51 and the frames that a step still
 * has to send. This file has the step itself: it passes each event and each frame to its function.
 *
 *   Algorithm 1, lines                     function
 *   1-9    SendMsg                         hark_scmel_send, hark_scmel_transmit
 *   10-18  ReceiveMsg                      hark_scmel_message (determinants, 15-16),
 *                                          hark_scmel_arrive (order, 11-12),
 *                                          hark_scmel_deliver, hark_scmel_record_choice (rsn,
 *                                          13-14)
 *   19-21  ReceiveDetAck                   hark_scmel_acks
 *   22-27  Checkpoint                      parts/wave.h, hark_scmel_captured, hark_scmel_commit
 *   28-43  Failure                         hark_scmel_failed, hark_scmel_pump_dets; second half
 *                                          hark_scmel_ready
 *   44-51  ReceiveDets                     hark_scmel_dets, hark_scmel_collected
 *
 * Differences from the printed pseudocode that concern all of it: a message is identified by its
 * ssn on its channel; the order of replay is enforced, also for looks (tests and probes) that found
 * nothing (S-3) or saw a message (v26); there is no barrier (S-6); incarnations come from the
 * failure service, never from an image (S-7); determinants that a failed process held become loose
 * again (S-5). A determinant is loose while fewer than k processes besides its creator are known to
 * hold it.
 *
 * Which determinants travel. A message carries every own loose determinant that no earlier message
 * of its channel carried. It is accepted only after those messages, so its receiver has them all. A
 * contribution to a reduction may be accepted without those before it (v25), and carries all. A
 * retransmission carries the currently loose determinants (S-5): that suffices, because any other
 * has k live holders. Recovery relies on at most k processes failing at once. k >= 2 also forwards
 * determinants of others until they have enough copies (family-based logging). If the determinants
 * of a message do not fit, the message waits in the log, and they go ahead to its receiver in
 * frames of their own (SPREAD). These are acknowledged at once, so the message waits for no other
 * process (v9). Before loose determinants become that many, they go to the next ranks (I10).
 * Acknowledgements ride on the next message to the peer, or go at IDLE, or when HARK_SCMEL_OWED are
 * owed (I10).
 *
 * A wave covers all processes. So all messages posted before image o are received before any
 * process takes its image o, and every determinant known at image o is of a delivery before its
 * creator's image o: logs and lists of determinants are trimmed without notices.
 */
#ifndef HARK_SCMEL_H
#define HARK_SCMEL_H

#include "causal/checkpoint.h"
#include "causal/describe.h"
#include "causal/recovery.h"
#include "causal/usual.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_scmel_size(const struct hark_config *config);
HARK_FN int hark_scmel_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_scmel_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_scmel_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_scmel_violated(const struct hark *p);
HARK_FN const char *hark_scmel_unrest(const struct hark *p);
HARK_FN int hark_scmel_post(struct hark *p, const struct hark_posting *message, uint8_t *header,
    struct hark_posted *posted);
HARK_FN int hark_scmel_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received);
HARK_FN void hark_scmel_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_scmel_options[] = {
    {"copies", "K", "copies of a determinant", "copies", NULL, NULL, 1, 8, 1, 0, HARK_SETS(copies),
        true},
    HARK_OPTIONS_END};
static const struct hark_manual hark_scmel_manual = {
    HARK_FOR_PIECEWISE, "only the lost process goes back", NULL, NULL, NULL, hark_scmel_options};
/* Returns the figure of hark_unstable in registry.h. During a recovery, determinants that are still
 * to be replayed count too. */
HARK_FN uint64_t hark_scmel_unstable(const struct hark *p);

#if HARK_BODIES

HARK_FN uint64_t hark_scmel_size(const struct hark_config *c)
{
    if (!hark_config_valid(c)) return 0;
    uint64_t bytes = sizeof(struct hark_scmel) +
                     2 * (uint64_t)(c->cluster_count + 4) * sizeof(struct hark_range) + 4096;
    for (uint32_t i = 0; i < c->group_count; i++)
        bytes += 2 * (sizeof(struct hark_scmel_group) +
                         (uint64_t)c->groups[i].count *
                             (sizeof(struct hark_scmel_branch) +
                                 (c->groups[i].reduces ? sizeof(struct hark_scmel_channel) : 0)));
    return bytes;
}

/* Makes the initial state, of a single process or of a member of a team. */
static inline int hark_scmel_begin(
    struct hark *p, uint64_t bytes, uint16_t kind, const struct hark_config *c, uint32_t teams)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    if (!hark_config_valid(c)) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_scmel_shape, kind);
    if (status < 0) return status;
    s->endpoint.me = c->me;
    s->endpoint.ranks = c->ranks;
    hark_wave_set(&s->wave, c);
    s->teams = teams;
    s->team_checkpoints_alone = teams && !(c->flags & HARK_WAVES_ALL);
    struct hark_config everybody = *c;
    if (teams && !s->team_checkpoints_alone) everybody.cluster_count = 0;
    status = hark_group_init(
        p, &hark_scmel_shape, &s->endpoint.cluster, &everybody, !s->team_checkpoints_alone);
    if (status >= 0 && teams) status = hark_group_init(p, &hark_scmel_shape, &s->team, c, false);
    if (status < 0) return status;
    uint32_t mates = (uint32_t)hark_ranges_size(p, teams ? &s->team : &s->endpoint.cluster);
    /* No more copies than there are processes that can hold one. */
    uint32_t others = c->ranks - (teams == HARK_SCMEL_TEAM_LOST ? mates : 1);
    s->k = c->copies ? c->copies : 1;
    if (s->k > others) s->k = others;
    hark_dets_init(&s->own, s->k);
    s->usual = hark_scmel_usual(s);
    return teams == HARK_SCMEL_ALONE && mates != c->ranks ? HARK_EINVAL : HARK_OK;
}

/* Makes the initial state. The cluster, if one is given, must contain all processes. */
HARK_FN int hark_scmel_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    return hark_scmel_begin(p, bytes, HARK_KIND_SCMEL, c, HARK_SCMEL_ALONE);
}

/* True if the control frame is well-formed. *dets: the number of its determinants. */
static inline bool hark_scmel_control_ok(struct hark_scmel *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, uint32_t *dets)
{
    uint32_t bytes = hark_det_bytes(s->k), sents;
    *dets = 0;
    if (h->src == s->endpoint.me) return false;
    switch (h->type) {
    case HARK_S_ACK: return length % HARK_ACK_BYTES == 0;
    case HARK_S_SPREAD:
        *dets = length / bytes;
        return length % bytes == 0 && hark_scmel_dets_ok(s, b, *dets);
    case HARK_S_DETS:
        if (length < 8) return false;
        sents = hark_get16(b + 4);
        *dets = hark_get16(b + 6);
        return length == 8 + sents * 24 + *dets * bytes && hark_scmel_sents_ok(b + 8, sents) &&
               hark_scmel_dets_ok(s, b + 8 + sents * 24, *dets);
    case HARK_S_READY:
        return length >= 8 && hark_get32(b) <= HARK_SCMEL_CTX_MAX &&
               length == 8 + 16 * hark_get32(b);
    case HARK_S_DONE: return length == 0;
    case HARK_S_TRIM:
        return s->team_checkpoints_alone && length >= 16 && hark_get64(b) <= HARK_SCMEL_CTX_MAX &&
               length == 16 + 16 * hark_get64(b);
    case HARK_S_RACK: return length == 16 && hark_scmel_rack_ok(s, h, b);
    default: return hark_wave_length_ok(h->type, length);
    }
}

/* ReceiveMsg: takes a message. Its determinants and acknowledgements are taken whenever the
 * incarnations are current, also from a duplicate and from a message that is held for its turn
 * (S-2). Those of a message behind a gap wait with it: stored before the determinants of earlier
 * messages, they would leave holes in what a failed process gets back (v10). */
static inline int hark_scmel_message(struct hark_scmel *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    uint32_t dets;
    if (!hark_scmel_message_ok(s, h, b, length, &dets)) return HARK_EFRAME;
    int age = hark_age_by(&s->endpoint, h, hark_inc_of(&s->head, &s->endpoint, h->src));
    if (age == HARK_OLDER) return hark_scmel_older(s, h, fx);
    if (age == HARK_NEWER) return hark_emit_verdict(fx, HARK_HOLD);
    int status = hark_scmel_room(s, 1, dets);
    if (status >= 0) status = hark_reserve(&s->head, &hark_scmel_shape, &s->endpoint.waiting, 1);
    const bool passes = s->branches.count && h->ctx && hark_scmel_is_multicast(s, h);
    if (status >= 0 && passes && dets && hark_scmel_forwards(s))
        status = hark_reserve(&s->head, &hark_scmel_shape, &s->along,
            hark_scmel_along_rows(dets * hark_det_bytes(s->k)));
    if (status < 0) return status;
    struct hark_scmel_channel *c = hark_scmel_channel(s, h->src, h->ctx);
    if (h->ssn <= c->channel.recv + 1) hark_scmel_absorb_all(s, h, b + 8, dets, false);
    hark_scmel_acks(
        s, h, b + 8 + dets * hark_det_bytes(s->k), hark_get16(b + 2) & ~HARK_SCMEL_WHOLE);
    if (hark_scmel_is_whole(s, h, b)) return hark_scmel_given(s, c, h, fx);
    const bool next = h->ssn == c->channel.recv + 1;
    status = hark_scmel_arrive(s, c, h, fx);
    if (passes && next) hark_scmel_pass_on(s, h, b + 8, dets);
    return status;
}

/* Takes a control frame. ACK, SPREAD, TRIM and RACK are judged by incarnations alone, as messages
 * are. */
HARK_COLD int hark_scmel_control(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b,
    uint32_t length, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_head as_app = *h;
    uint32_t dets;
    if (!hark_scmel_control_ok(s, h, b, length, &dets)) return HARK_EFRAME;
    if (h->type == HARK_S_ACK || h->type == HARK_S_SPREAD || h->type == HARK_S_TRIM ||
        h->type == HARK_S_RACK)
        as_app.type = HARK_APP;
    int age = hark_frame_freshness(p, &s->endpoint, &as_app);
    if (age != HARK_CURRENT)
        return hark_emit_verdict(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    int status = hark_scmel_room(s, h->type == HARK_S_DETS ? hark_get16(b + 4) + 1u : 1, dets);
    if (status >= 0 && h->type >= HARK_S_ACK)
        status = hark_reserve(p, &hark_scmel_shape, &s->pairs, 1);
    if (status >= 0 && h->type < HARK_S_ACK)
        status = hark_wave_reserve(p, &hark_scmel_shape, &s->endpoint, &s->wave, length);
    if (status < 0) return status;
    switch (h->type) {
    case HARK_S_ACK: hark_scmel_acks(s, h, b, length / HARK_ACK_BYTES); return HARK_OK;
    case HARK_S_SPREAD: hark_scmel_absorb_all(s, h, b, dets, true); return HARK_OK;
    case HARK_S_DETS: return hark_scmel_dets(s, h, b, fx);
    case HARK_S_READY: return hark_scmel_ready(s, h, b, fx);
    case HARK_S_DONE: return hark_scmel_done(s, h, fx);
    case HARK_S_TRIM: return hark_scmel_trim(s, h, b);
    case HARK_S_RACK:
        hark_scmel_known_done(s, hark_scmel_group(s, hark_get16(b)), hark_get64(b + 8), fx);
        return HARK_OK;
    case HARK_W_MARK:
        if (hark_ranges_hold(p, &s->endpoint.cluster, h->src))
            hark_scmel_channel(s, h->src, h->ctx);
        /* fall through */
    default:
        return hark_wave_frame(p, &s->endpoint, &s->wave, h, b, length, s->recovering != 0, fx);
    }
}

/* Takes any frame. */
static inline int hark_scmel_frame(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, s->head.kind) < 0 ||
        !hark_head_valid(&s->endpoint, &h) || h.src == HARK_RECOVERY)
        return HARK_EFRAME;
    const uint8_t *b = event->u.frame.header.at + HARK_WIRE_HEAD;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    return h.type == HARK_APP ? hark_scmel_message(s, &h, b, length, fx)
                              : hark_scmel_control(s, &h, b, length, fx);
}

/* True if there is no image, or if it is of a process with the same number of copies, the same
 * placement of them, and the same kind of waves (of a team alone, or of all). */
static inline bool hark_scmel_image_fits(const struct hark_scmel *s, const struct hark_event *event)
{
    struct hark_scmel was;
    if (event->u.restarted.checkpoint == 0 || event->u.restarted.image.at == NULL) return true;
    hark_zero(&was, sizeof was);
    bool whole = hark_unpack_fixed(&hark_scmel_shape, event->u.restarted.image, &was);
    return !whole || (was.k == s->k && was.team_checkpoints_alone == s->team_checkpoints_alone &&
                         was.teams == s->teams);
}

/* Takes RESTARTED: Y begins from an image, which has Y's determinants in their order; but their
 * holders may have changed since. */
HARK_COLD int hark_scmel_restarted(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    const struct hark_wave_settings settings = hark_wave_settings_of(&s->wave);
    struct hark_scmel *kept;
    uint64_t earlier;
    if (!hark_scmel_image_fits(s, event)) return HARK_EIMAGE;
    for (uint32_t i = 0; i < s->groups.count; i++)
        if (((const struct hark_scmel_group *)hark_row(p, &s->groups, i))->made)
            return HARK_ESTATE; /* see hark_restart_used */
    const struct hark_bytes nothing = {NULL, 0};
    int status =
        hark_scmel_earlier(s, s->teams ? event->u.restarted.old_core : nothing, &kept, &earlier);
    if (status < 0) return status;
    status = hark_restart_take(p, &hark_scmel_shape, &s->endpoint, &s->wave, event);
    if (status == HARK_EFULL) p->want += earlier * 2;
    p->bytes += earlier;
    if (status < 0) return status;
    if (kept) hark_scmel_inherit(s, kept);
    hark_restart_wait(p, &s->endpoint);
    hark_wave_restarted(p, &s->endpoint, &s->wave, event->u.restarted.checkpoint, settings, fx);
    s->mode = HARK_SCMEL_COLLECT;
    s->recovering = 1;
    s->late = s->fresh = s->persisting = s->determinants_from = s->awaited = 0;
    s->published_rsn = s->rsn;
    hark_dets_release_all(p, &s->pool, &s->own);
    for (uint32_t i = 0; i < s->logs.count; i++) {
        hark_dets_release_all(p, &s->pool, &hark_scmel_log_at(s, i)->dets);
        hark_scmel_log_at(s, i)->acked = 0;
    }
    hark_empty(p, &s->owed);
    hark_empty(p, &s->pairs);
    s->combine = s->combine_at = s->combine_next = 0;
    for (uint32_t i = 0; i < s->groups.count; i++) {
        struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(p, &s->groups, i);
        g->combining = g->rack_due = g->report_due = 0;
    }
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        c->channel.flags &= (int)HARK_INTRA | HARK_SCMEL_GROUP | HARK_SCMEL_MATE;
        c->transmitted = c->channel.sent;
        if (c->channel.flags & HARK_SCMEL_GROUP && c->channel.peer != s->endpoint.me)
            c->transmitted = 0;
        else if (s->team_checkpoints_alone && !(c->channel.flags & HARK_SCMEL_MATE))
            c->transmitted = c->first - 1;
        if (c->transmitted < c->channel.sent) s->late = s->busy = 1;
    }
    return HARK_OK;
}

/* Takes CHECKPOINT_POINT and STORED. */
HARK_COLD int hark_scmel_checkpoint(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    if (event->type == HARK_CHECKPOINT_POINT && s->wave.in_checkpoint_call) return HARK_ESTATE;
    if (event->type == HARK_STORED && !hark_stored_valid(event)) return HARK_EINVAL;
    int status = hark_wave_reserve(p, &hark_scmel_shape, &s->endpoint, &s->wave, 0);
    if (status >= 0)
        status = hark_reserve(p, &hark_scmel_shape, &s->positions,
            s->endpoint.channels.count + s->logs.count + 2 * s->groups.count + 1);
    if (status >= 0) status = hark_reserve(p, &hark_scmel_shape, &s->endpoint.down, 1);
    if (status < 0) return status;
    if (event->type == HARK_STORED) hark_scmel_stored(s, event, fx);
    else hark_wave_point(p, &s->endpoint, &s->wave, event->u.point.due, s->recovering != 0, fx);
    return HARK_OK;
}

static inline int hark_scmel_dispatch(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    switch (event->type) {
    case HARK_SEND:
        return event->u.send.to == HARK_GROUP ? hark_scmel_group_send(s, event, fx)
                                              : hark_scmel_send(s, event, fx);
    case HARK_COMBINED: return hark_scmel_combined(s, event, fx);
    case HARK_ARRIVE: return hark_scmel_frame(s, event, fx);
    case HARK_DELIVER: return hark_scmel_deliver(s, event, fx);
    case HARK_MISS: return hark_scmel_miss(s, fx);
    case HARK_LOOK: return hark_scmel_look(s, event, fx);
    case HARK_CHECKPOINT_POINT:
    case HARK_STORED: return hark_scmel_checkpoint(s, event, fx);
    case HARK_FAILED: return hark_scmel_failed(s, event, fx);
    case HARK_RESTARTED: return hark_scmel_restarted(s, event, fx);
    case HARK_QUIET: return hark_scmel_quiet(s, fx);
    case HARK_IDLE:
        if (s->owed.count) s->ack_all = s->busy = 1;
        if (event->u.idle.stable && !s->awaited && hark_scmel_unstable(&s->head))
            s->spread = s->busy = 1;
        return HARK_OK;
    case HARK_CONTINUE: return HARK_OK;
    default: return HARK_EINVAL;
    }
}

static inline uint64_t hark_scmel_newest(struct hark_scmel *s)
{
    const struct hark_table *t = &s->wave.kept;
    return t->count ? ((const struct hark_image *)hark_row(&s->head, t, t->count - 1))->id : 0;
}

static inline int hark_scmel_step_any(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    int status = hark_step_begin(p, &s->endpoint, event, fx, s->gone);
    if (status != HARK_OK) return status;
    uint32_t mode = s->wave.mode;
    uint64_t newest = mode == HARK_W_RUN ? 0 : hark_scmel_newest(s);
    status = hark_scmel_dispatch(s, event, fx);
    if (status != HARK_OK || s->gone) return status;
    if (s->wave.mode != mode) {
        if (mode < HARK_W_IS_FROZEN && s->wave.mode >= HARK_W_IS_FROZEN) hark_scmel_frozen(s);
        if (mode < HARK_W_CAPTURED && s->wave.mode >= HARK_W_CAPTURED) hark_scmel_captured(s);
        if (s->wave.mode != HARK_W_CAPTURED && s->groups.count) s->combine = s->busy = 1;
        bool committed = s->wave.mode == HARK_W_RUN && newest != hark_scmel_newest(s);
        if (s->wave.mode == HARK_W_RUN) hark_scmel_commit(s, committed);
        if (committed && s->team_checkpoints_alone && s->wave.kept.count == s->wave.generations)
            hark_scmel_tell(s);
    }
    bool rests = (s->busy | s->offer_peer) == 0 && hark_step_rests(&s->endpoint, &s->wave);
    status = rests ? HARK_OK : hark_scmel_pump(s, fx);
    p->more = status == HARK_MORE;
    if (status != HARK_MORE) s->posting = 0;
    return status;
}

HARK_FN int hark_scmel_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    int status = hark_scmel_step_any(p, event, fx);
    s->usual = hark_scmel_usual(s);
    return status;
}

/* Names first the logs, then messages that have arrived: cursor = 1 bit stage, 23 bits channel, 40
 * bits ssn. */
HARK_FN int hark_scmel_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    uint32_t stage = (uint32_t)(*cursor >> 63), channel = (uint32_t)(*cursor >> 40) & 0x7fffff;
    uint64_t ssn = *cursor & ((UINT64_C(1) << 40) - 1);
    int found = 0;
    for (; stage == 0 && channel < s->endpoint.channels.count && !found; channel++) {
        const struct hark_scmel_channel *c =
            (const struct hark_scmel_channel *)hark_row_of(p, &s->endpoint.channels, channel);
        if (c->first > c->channel.sent || c->channel.flags & HARK_SCMEL_GROUP) continue;
        run->name = hark_name_of(HARK_OUT, &c->channel, c->first);
        run->last = c->channel.sent;
        found = 1;
    }
    for (; stage == 0 && channel - s->endpoint.channels.count < s->groups.count && !found;
         channel++) {
        const struct hark_scmel_group *g = (const struct hark_scmel_group *)hark_row_of(
            p, &s->groups, channel - s->endpoint.channels.count);
        run->name = hark_name_of_group((uint16_t)g->ctx, g->first);
        run->last = g->reduces && g->made > g->sent ? g->made : g->sent;
        found = g->first <= run->last;
    }
    const uint32_t groups = s->endpoint.channels.count + s->groups.count;
    for (; stage == 0 && channel >= groups && channel - groups < s->groups.count && !found;
         channel++) {
        const struct hark_scmel_group *g =
            (const struct hark_scmel_group *)hark_row_of(p, &s->groups, channel - groups);
        if (!g->reduces || (g->root != s->endpoint.me && !g->keeps)) continue;
        run->name = hark_name_of_group((uint16_t)g->ctx, g->whole_first);
        run->name.way = HARK_IN;
        run->last = g->root == s->endpoint.me ? g->whole_root : g->whole_keeper;
        found = g->whole_first <= run->last;
    }
    if (!found && stage == 0) {
        stage = 1;
        channel = 0;
    }
    if (!found) found = hark_names_undelivered(p, &s->endpoint, &channel, &ssn, run);
    *cursor = (uint64_t)stage << 63 | (uint64_t)channel << 40 | ssn;
    return found;
}

/* True if the rows of the list ascend and its count of loose rows is right. */
static inline bool hark_scmel_list_ok(
    const struct hark *p, const struct hark_pool *pool, const struct hark_dets *d)
{
    struct hark_place at = hark_queue_begin(&d->rows);
    uint64_t last = 0;
    uint32_t loose = 0;
    for (const uint64_t *row; (row = hark_queue_next(p, pool, &d->rows, &at)) != NULL;) {
        if (row[0] <= last) return false;
        last = hark_det_last(row);
        if (hark_det_holders(d, row) < d->most) loose++;
    }
    return last == d->top && loose == d->loose;
}

HARK_FN const char *hark_scmel_violated(const struct hark *p)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    if (s->usual != hark_scmel_usual(s)) return "it is not known whether all is as usual";
    if (!hark_scmel_list_ok(p, &s->pool, &s->own))
        return "rsnMap is out of order, or its loose rows are miscounted";
    for (uint32_t i = 0; i < s->logs.count; i++) {
        const struct hark_scmel_log *log =
            (const struct hark_scmel_log *)hark_row_of(p, &s->logs, i);
        if (!hark_scmel_list_ok(p, &s->pool, &log->dets))
            return "detLog is out of order, or miscounted";
    }
    if (s->mode == HARK_SCMEL_NORMAL && s->own.top > s->rsn)
        return "a determinant lies in the future";
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c =
            (const struct hark_scmel_channel *)hark_row_of(p, &s->endpoint.channels, i);
        if (c->transmitted > c->channel.sent && !(c->channel.flags & HARK_SCMEL_GROUP))
            return "more was transmitted than posted";
        if (c->first > c->channel.sent + 1) return "the log begins behind its end";
        if (!p->more && hark_owed_count(p, &s->owed, c->channel.peer) >= HARK_SCMEL_OWED)
            return "I10: too many acknowledgements are owed";
        if (!s->late && c->transmitted < c->channel.sent)
            return "a message is put off and nobody will send it";
        if (!p->more && c->channel.flags & HARK_SCMEL_AHEAD)
            return "determinants should have gone ahead";
    }
    return hark_wave_violated(p, &s->endpoint, &s->wave);
}

/* Checks I10: every determinant that has been sent is known to be stored. */
HARK_FN const char *hark_scmel_unrest(const struct hark *p)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    struct hark_place at = hark_queue_begin(&s->own.rows);
    uint64_t carried = 0;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c =
            (const struct hark_scmel_channel *)hark_row_of(p, &s->endpoint.channels, i);
        if (c->carried > carried && hark_scmel_is_valid_holder(s, c->channel.peer))
            carried = c->carried;
    }
    for (const uint64_t *row; (row = hark_queue_next(p, &s->pool, &s->own.rows, &at)) != NULL;)
        if (row[0] <= carried && hark_det_holders(&s->own, row) == 0) return "detBuf never drains";
    return s->mode != HARK_SCMEL_NORMAL || s->recovering ? "recovery is not over here" : NULL;
}

/* True if this group of an image is well-formed. */
HARK_COLD bool hark_scmel_group_ok(struct hark_scmel *s, const struct hark_scmel_group *g)
{
    const bool root = g->root == s->endpoint.me;
    if (g->ctx > UINT16_MAX || g->root >= s->endpoint.ranks || g->parent >= s->endpoint.ranks ||
        root != (g->parent == s->endpoint.me))
        return false;
    if (g->first == 0 || g->whole_first == 0 ||
        (g->sent | g->done | g->whole_root | g->whole_keeper) >> HARK_SSN_BITS)
        return false;
    if (!g->reduces) return !(g->whole_root | g->whole_keeper | g->combining | g->keeps);
    if ((!root && g->whole_root) || (g->keeps && (root || g->parent != g->root)))
        return false; /* only a child of the root is the keeper */
    if (hark_channel_find(&s->head, &s->endpoint, g->parent, (uint16_t)g->ctx) == NULL)
        return false;
    for (uint32_t i = 0; i < s->branches.count; i++) {
        const struct hark_scmel_branch *b = hark_scmel_branch(s, i);
        if (hark_scmel_is_child(g, b) &&
            hark_channel_find(&s->head, &s->endpoint, b->rank, b->ctx & UINT16_MAX) == NULL)
            return false;
    }
    return true;
}

HARK_FN bool hark_scmel_accept(struct hark *p)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    if (!hark_ends_ok(p, &s->endpoint) || !hark_wave_ok(p, &s->endpoint, &s->wave) ||
        s->along.count)
        return false;
    if (s->teams > HARK_SCMEL_TEAM_LOST ||
        (s->teams != HARK_SCMEL_ALONE) != (p->kind == HARK_KIND_TEAM))
        return false;
    if (s->team_checkpoints_alone > (s->teams != HARK_SCMEL_ALONE) ||
        (s->team.count != 0) != (s->teams != HARK_SCMEL_ALONE))
        return false;
    if (s->teams && (!hark_ranges_ok(p, &s->team, s->endpoint.ranks) ||
                        !hark_ranges_hold(p, &s->team, s->endpoint.me)))
        return false;
    if (s->k > HARK_DET_HOLDERS || s->k >= s->endpoint.ranks || !hark_dets_ok(&s->own, s->k))
        return false;
    if (!hark_scmel_list_ok(p, &s->pool, &s->own)) return false;
    if (s->k == 0 && s->endpoint.ranks > 1 && s->teams != HARK_SCMEL_TEAM_LOST) return false;
    if (!hark_rows_ascend(p, &s->pairs, s->endpoint.ranks) ||
        !hark_rows_ascend(p, &s->logs, s->endpoint.ranks))
        return false;
    for (uint32_t i = 0; i < s->logs.count; i++) {
        const struct hark_scmel_log *log = hark_scmel_log_at(s, i);
        if (!hark_dets_ok(&log->dets, hark_scmel_copies_needed(s, log->rank)) ||
            !hark_scmel_list_ok(p, &s->pool, &log->dets))
            return false;
    }
    for (uint32_t i = 0; i < s->owed.count; i++) {
        const struct hark_owed *o = (const struct hark_owed *)hark_row(p, &s->owed, i);
        if (o->peer >= s->endpoint.ranks || o->creator >= s->endpoint.ranks || o->first > o->last)
            return false;
    }
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if ((c->transmitted > c->channel.sent && !(c->channel.flags & HARK_SCMEL_GROUP)) ||
            c->first == 0 || c->first > c->channel.sent + 1)
            return false;
        if (c->channel.flags & HARK_SCMEL_GROUP && hark_scmel_group(s, c->channel.ctx) == NULL)
            return false;
        if (c->channel.peer == s->endpoint.me && !(c->channel.flags & HARK_SCMEL_GROUP) &&
            c->transmitted != c->channel.sent)
            return false; /* a message to itself is never put off */
        if ((c->transmitted | c->peer_sent) >> HARK_SSN_BITS) return false;
    }
    for (uint32_t i = 0, ctx = 0; i < s->groups.count; i++) {
        const struct hark_scmel_group *g =
            (const struct hark_scmel_group *)hark_row(p, &s->groups, i);
        if (g->ctx <= ctx || !hark_scmel_group_ok(s, g)) return false;
        ctx = g->ctx;
    }
    for (uint32_t i = 0; i < s->branches.count; i++)
        if (((const struct hark_scmel_branch *)hark_row(p, &s->branches, i))->rank >=
            s->endpoint.ranks)
            return false;
    s->usual = hark_scmel_usual(s);
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
