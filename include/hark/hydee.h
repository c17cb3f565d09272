/* hydee.h: failure containment without event logging, for send-deterministic programs.
 *
 * A. Guermouche, T. Ropars, M. Snir, F. Cappello: HydEE: Failure Containment without Event Logging
 * for Large Scale Send-Deterministic MPI Applications. IPDPS 2012. Algorithms 1-3; Algorithm 4:
 * recovery.h.
 *
 *   Algorithm, lines                       file: function
 *   1: 5-9    Sending message              hark_hydee_send (recovery included: 2: 11-20)       here
 *   1: 10-18  Upon receiving               hark_hydee_arrive (RPP), _deliver (phase, date)     here
 *   1: 19-21  Upon checkpoint              parts/wave.h, hydee/checkpoint.h:
 *                                          hark_member_checkpoint, hark_hydee_captured
 *   2: 4-10   Upon failure, LastDate       hydee/failure.h, parts/positions.h: hark_hydee_rollback,
 *                                          _failed, _pos; hark_pos_take
 *   2: 14-15  An orphan is sent again      hydee/channel.h, parts/positions.h: hark_hydee_suppress,
 *                                          hark_notify_pump
 *   3: 6-19   Upon failure elsewhere       hydee/failure.h: the same: every process plays both
 *                                          roles (E9)
 *   3: 22-24  NotifySendLog                ..., hydee/pump.h: hark_hydee_release, hark_hydee_replay
 *   III.E     Garbage collection           hydee/checkpoint.h, parts/positions.h: hark_hydee_gc,
 *                                          _trim; hark_gc_mark, hark_gc_pump
 *
 * Order of reading: parts/positions.h, hydee/state.h, hydee/channel.h, Algorithm 1 below,
 * hydee/checkpoint.h, hydee/failure.h, hydee/pump.h, the interface at the end of this file.
 * Extensions: the exact gate (E24), recovery/past.h; reports by a tree, hydee/tree.h; multicasts,
 * hydee/multicast.h; clusters that change, hydee/recluster.h.
 *
 * Differences from the printed pseudocode: a message is identified by its ssn on its channel, not
 * by Date (E5). Both ends of every channel with an end in D exchange positions (E2, E4, E9). While
 * recovery runs, every message to another cluster waits at the gate until RELEASE lets it go, not
 * only the first message (E8); the send of an orphan is suppressed and never waits (E7). Orphans
 * are notified by id, and counted at the phase that their receiver recorded (E6).
 */
#ifndef HARK_HYDEE_H
#define HARK_HYDEE_H

#include "hydee/describe.h"
#include "hydee/failure.h"
#include "hydee/pump.h"
#include "recovery.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_hydee_size(const struct hark_config *config);
HARK_FN int hark_hydee_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_hydee_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_hydee_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_hydee_violated(const struct hark *p);
HARK_FN const char *hark_hydee_unrest(const struct hark *p);
HARK_FN void hark_hydee_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);
HARK_FN int hark_hydee_post(struct hark *p, const struct hark_posting *message, uint8_t *header,
    struct hark_posted *posted);
HARK_FN int hark_hydee_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received);

static const struct hark_option hark_hydee_options[] = {
    {"exact-gate", NULL, "recovery waits by exact dependencies, for programs whose receives vary",
        "gate exact", NULL, NULL, 0, 0, 0, HARK_EXACT_GATE, HARK_SETS(flags), true},
    {"recluster", NULL,
        "who is in a cluster changes at checkpoints, by what is sent; checkpoints are of all "
        "processes",
        NULL, "camel exact-gate", NULL, 0, 0, 0, HARK_ASKS_RECLUSTER, HARK_SETS(asks), true},
    {"camel", NULL, "a broadcast is logged once, by rank 0, and passed on along a tree", NULL,
        "exact-gate", NULL, 0, 0, 0, HARK_ASKS_GROUPS, HARK_SETS(asks), true},
    {"report-tree", "K", "reports go up a tree with K processes below each", "reports tree",
        "exact-gate", NULL, 2, 1024, 0, 0, HARK_SETS(fan), false},
    HARK_OPTIONS_END};
static const struct hark_manual hark_hydee_manual = {HARK_FOR_SENDS,
    "the cluster of the lost process goes back", NULL, NULL, "those of a cluster",
    hark_hydee_options};

#if HARK_BODIES

/* ---- Algorithm 1, with Algorithm 2 lines 11-20 ----------------------------------------------- */

/* Sends a message. `flags` are the state's; a constant 0 lets the compiler drop the flag checks. */
HARK_HOT int hark_hydee_send_with(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx, uint32_t flags)
{
    struct hark *p = &s->head;
    bool exact = (flags & HARK_EXACT_GATE) != 0;
    uint32_t peer = event->u.send.peer;
    if (event->u.send.to != HARK_PROCESS) return hark_hydee_multicast(s, event, fx);
    if (peer >= s->endpoint.ranks) return HARK_EINVAL;
    if (event->u.send.ctx && s->groups.count && hark_hydee_group(s, event->u.send.ctx))
        return HARK_EINVAL;                             /* this context belongs to a group */
    if (s->wave.in_checkpoint_call) return HARK_ESTATE; /* no sends inside a checkpoint call */
    uint32_t chunks = flags & HARK_DIGEST ? 2 : 1;
    if (exact) chunks = 3 + hark_past_post_needs(&s->past);
    int status = hark_hydee_reserve(s, hark_hydee_find(s, peer, event->u.send.ctx) == NULL, chunks);
    if (status >= 0 && exact) status = hark_past_reserve(p, &hark_hydee_shape, &s->past, 0);
    if (status < 0) return status;
    struct hark_hydee_channel *c = hark_hydee_channel(s, peer, event->u.send.ctx);
    if (c == NULL) return HARK_EINVAL;
    hark_queue_fetch(p, &s->pool, &c->log);
    /* ssn and phase are fixed when the message is posted, not when it leaves */
    uint64_t ssn = ++c->channel.sent, phase = s->phase, number = 0;
    s->date++; /* Alg. 1 l. 6 */
    if (flags & HARK_DIGEST)
        c->pos.sent_digest =
            hark_digest_mix(c->pos.sent_digest, ssn, event->u.send.length, event->u.send.digest);
    /* inside the cluster a message is never logged and never waits: in the image of a wave no
     * channel of the cluster has a message in transit */
    if (!hark_hydee_inter(c)) {
        c->pos.transmitted = ssn;
        if (exact)
            hark_hydee_transmit_exact(
                s, c, ssn, phase, c->pos.sent_digest, s->past.posts, &s->past.now, fx);
        else hark_hydee_transmit(s, c, ssn, phase, c->pos.sent_digest, fx);
        return HARK_OK;
    }
    if (exact) number = hark_past_post(p, &s->pool, &s->past);
    if (ssn <= c->pos.last_orphan) {
        phase = hark_hydee_suppress(s, c, ssn, fx);
    } else if ((exact ? hark_hydee_phase_released(s, phase, number) : phase <= s->released_phase) &&
               c->pos.transmitted + 1 == ssn) {
        /* the message leaves only if no replay of the channel is pending; else it queues behind the
         * replays (E13) */
        c->pos.transmitted = ssn;
        if (exact)
            hark_hydee_transmit_exact(
                s, c, ssn, phase, c->pos.sent_digest, number, &s->past.now, fx);
        else hark_hydee_transmit(s, c, ssn, phase, c->pos.sent_digest, fx);
    }
    hark_runs_add(p, &s->pool, &c->log, ssn, phase); /* Alg. 1 l. 7-8 */
    if (exact) hark_runs_add(p, &s->pool, &c->index, ssn, number - ssn);
    if (flags & HARK_DIGEST) *hark_queue_push(p, &s->pool, &c->pos.digests) = c->pos.sent_digest;
    hark_emit_retain(fx, hark_name_of(HARK_OUT, &c->channel, ssn));
    return HARK_OK;
}

HARK_COLD int hark_hydee_send_flagged(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    return hark_hydee_send_with(s, event, fx, s->flags);
}

/* Sends message msg to P_j.                                       Alg. 1 l. 5-9, Alg. 2 l. 11-20 */
static inline int hark_hydee_send(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    return s->flags ? hark_hydee_send_flagged(s, event, fx) : hark_hydee_send_with(s, event, fx, 0);
}

/* Takes the arrival of (msg, Date_send, Phase_send): RPP records every message that has arrived,
 * delivered or not.                                                              Alg. 1 l. 10-14 */
static inline int hark_hydee_arrive(struct hark_hydee *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool waited = false;
    int status = s->endpoint.waiting.count
                     ? hark_waited(p, &hark_hydee_shape, &s->endpoint, h, &waited)
                     : HARK_OK;
    if (status < 0) return status;
    if (waited) return hark_emit_verdict(fx, HARK_HANDUP);
    struct hark_hydee_channel *c = hark_hydee_find(s, h->src, h->ctx);
    if (c) hark_queue_fetch(p, &s->pool, &c->rpp);
    if (s->wave.map == HARK_W_MAP_NOW && s->wave.mode >= HARK_W_CAPTURED)
        return hark_emit_verdict(fx, HARK_HOLD); /* its sender may already use the next map of
                                                    clusters */
    int age =
        hark_age_by(&s->endpoint, h, c ? c->channel.inc : hark_inc_of(p, &s->endpoint, h->src));
    if (age != HARK_CURRENT)
        return hark_emit_verdict(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    status = hark_hydee_reserve(s, c == NULL, length == HARK_HYDEE_HEADER - HARK_WIRE_HEAD ? 1 : 2);
    if (status >= 0 && !hark_wave_calm(&s->wave)) status = hark_hydee_reserve_positions(s);
    if (status < 0) return status;
    c = hark_hydee_channel(s, h->src, h->ctx); /* rows may have moved */
    if (c == NULL) return HARK_EFRAME;
    hark_accept(p, &s->endpoint, &c->channel, h, fx);
    if (fx->at[fx->count - 1].type != HARK_HANDUP) return HARK_OK;
    if (hark_hydee_inter(c)) {
        hark_runs_add(p, &s->pool, &c->rpp, h->ssn, hark_get64(b)); /* l. 13-14 */
        if (length != HARK_HYDEE_HEADER - HARK_WIRE_HEAD)
            hark_runs_add(p, &s->pool, &c->rpp_index, h->ssn, hark_get64(b + 16) - h->ssn);
    }
    c->pos.recv_digest = hark_get64(b + 8);
    hark_wave_arrived(p, &s->endpoint, &s->wave, &c->channel, fx);
    hark_offer_gap(&c->channel, fx);
    if (s->groups.count && h->ctx) hark_hydee_pass_on(s, h, b);
    return HARK_OK;
}

/* Makes room for V (recovery/past.h) of a message whose header carries it. */
HARK_COLD int hark_hydee_deliver_room(struct hark_hydee *s, struct hark_bytes header)
{
    const uint8_t *b = header.at;
    if (!(s->flags & HARK_EXACT_GATE) || header.length < HARK_HYDEE_HEADER || b == NULL)
        return HARK_EFRAME;
    if (!hark_past_valid(
            b + HARK_HYDEE_HEADER, header.length - HARK_HYDEE_HEADER, s->endpoint.ranks))
        return HARK_EFRAME;
    uint32_t entries = hark_get32(b + HARK_HYDEE_HEADER + 8);
    return hark_past_reserve(
        &s->head, &hark_hydee_shape, &s->past, entries == HARK_PAST_UNKNOWN ? 1 : entries + 1);
}

/* Delivers msg to the application: the phase moves at the delivery.              Alg. 1 l. 11-18 */
static inline int hark_hydee_deliver(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark_bytes header = event->u.frame.header;
    bool exact = header.length != s->fixed_header_bytes;
    int status = exact ? hark_hydee_deliver_room(s, header) : HARK_OK;
    if (status < 0) return status;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    struct hark_channel *c;
    status = hark_deliver_position(&s->head, &hark_hydee_shape, &s->endpoint, event, &c);
    if (status < 0) return status;
    uint64_t phase = hark_get64(header.at + HARK_WIRE_HEAD);
    if (!(c->flags & HARK_HYDEE_MATE)) phase++; /* l. 12 */
    if (phase > s->phase) s->phase = phase;     /* l. 12, 16 */
    s->date++;                                  /* l. 17 */
    if (exact)
        hark_past_deliver(&s->head, &s->past, s->endpoint.me, c->peer,
            header.at + HARK_HYDEE_HEADER, header.length - HARK_HYDEE_HEADER);
    return HARK_OK;
}

/* ---- the interface --------------------------------------------------------------------------- */

HARK_FN uint64_t hark_hydee_size(const struct hark_config *c)
{
    if (c->fan == 1 || (c->fan && c->flags & HARK_EXACT_GATE) || !hark_config_valid(c)) return 0;
    uint64_t groups = 0;
    for (uint32_t i = 0; i < c->group_count; i++)
        groups += sizeof(struct hark_hydee_group) +
                  (uint64_t)c->groups[i].count *
                      (sizeof(struct hark_hydee_branch) + sizeof(struct hark_hydee_channel));
    groups += (c->cluster_count + 1) * sizeof(struct hark_range);
    return hark_member_size(c, sizeof(struct hark_hydee) + 2 * groups, 4096);
}

HARK_FN int hark_hydee_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    if (hark_hydee_size(c) == 0 || !hark_block_aligned(p)) return HARK_EINVAL;
    struct hark_config waves = *c;
    if (c->flags & HARK_WAVES_ALL) waves.cluster_count = 0;
    int status = hark_member_init(p, bytes, &hark_hydee_shape, HARK_KIND_HYDEE, &s->endpoint,
        &s->wave, &waves, c->flags & HARK_WAVES_ALL);
    if (status >= 0)
        status = hark_group_init(p, &hark_hydee_shape, hark_hydee_cluster(s), c, false);
    if (status < 0) return status;
    s->waves_all = (c->flags & HARK_WAVES_ALL) != 0;
    s->flags = c->flags & (HARK_DIGEST | HARK_EXACT_GATE);
    s->fixed_header_bytes = c->flags & HARK_EXACT_GATE ? 0 : HARK_HYDEE_HEADER;
    s->tree.fan = c->fan;
    s->past.history.width = 3;
    s->past.blind = HARK_INFINITY;
    s->phase = 1;
    s->released_phase = HARK_INFINITY;
    if (c->group_count && s->flags & HARK_EXACT_GATE) return HARK_EINVAL;
    status = hark_hydee_groups(s, c);
    s->groups_configured = s->groups.count;
    s->usual = hark_hydee_usual(s);
    return status;
}

HARK_COLD int hark_hydee_control(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    uint32_t length, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    int age = hark_frame_freshness(p, &s->endpoint, h);
    if (age != HARK_CURRENT)
        return hark_emit_verdict(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    int status = hark_hydee_room(s, h, length);
    if (status < 0) return status;
    switch (h->type) {
    case HARK_H_POS: return hark_hydee_pos(s, h, b, fx);
    case HARK_H_ORPH: return hark_hydee_orph(s, h, b, length, fx);
    case HARK_H_RELEASE: return hark_hydee_release(s, b, length);
    case HARK_H_RECDONE: return hark_hydee_recdone(s, fx);
    case HARK_H_NOTIFY: return hark_hydee_notified(s, h, b, fx);
    case HARK_H_UP:
    case HARK_H_DRAINED: return hark_hydee_up(s, h, b, fx);
    case HARK_H_GC: return hark_hydee_trim(s, h, b, fx);
    case HARK_W_MARK:
        if (hark_ranges_hold(p, &s->endpoint.cluster, h->src) &&
            !hark_hydee_channel(s, h->src, h->ctx))
            return HARK_EFRAME;
        /* fall through */
    default:
        return hark_wave_frame(p, &s->endpoint, &s->wave, h, b, length, s->recovering != 0, fx);
    }
}

static inline int hark_hydee_frame(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_HYDEE) < 0 ||
        !hark_head_valid(&s->endpoint, &h))
        return HARK_EFRAME;
    const uint8_t *b = event->u.frame.header.at + HARK_WIRE_HEAD;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    bool plain = h.type == HARK_APP && length + HARK_WIRE_HEAD == s->fixed_header_bytes;
    if (!plain && !hark_hydee_length_ok(s, &h, b, length)) return HARK_EFRAME;
    return h.type == HARK_APP ? hark_hydee_arrive(s, &h, b, length, fx)
                              : hark_hydee_control(s, &h, b, length, fx);
}

/* Takes all events except SEND, ARRIVE and DELIVER. */
HARK_COLD int hark_hydee_step_rare(
    struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    int status = hark_past_reserve(p, &hark_hydee_shape, &s->past, 0);
    if (status < 0) return status;
    switch (event->type) {
    case HARK_CHECKPOINT_POINT:
    case HARK_STORED:
        status = hark_hydee_reserve_positions(s);
        if (status < 0) return status;
        return hark_member_checkpoint(
            p, &hark_hydee_shape, &s->endpoint, &s->wave, event, s->recovering != 0, fx);
    case HARK_FAILED: return hark_hydee_failed(s, event, fx);
    case HARK_RESTARTED: return hark_hydee_rollback(s, event, fx);
    case HARK_QUIET:
        return s->recovering ? hark_positions_quiet(p, &s->endpoint, &hark_hydee_exchange, fx)
                             : HARK_OK;
    case HARK_RECLUSTER: return hark_hydee_recluster(s, event);
    case HARK_MISS: /* a send-deterministic program's sends do not depend on probes */
    case HARK_LOOK:
    case HARK_IDLE:
    case HARK_CONTINUE: return HARK_OK;
    default: return HARK_EINVAL;
    }
}

static inline uint64_t hark_hydee_newest(const struct hark_hydee *s)
{
    const struct hark_table *t = &s->wave.kept;
    return t->count ? ((const struct hark_image *)hark_row_of(&s->head, t, t->count - 1))->id : 0;
}

static inline int hark_hydee_step_any(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    int status = hark_step_begin(p, &s->endpoint, event, fx, s->gone);
    if (status != HARK_OK) return status;
    uint32_t mode = s->wave.mode;
    uint64_t newest = mode == HARK_W_RUN ? 0 : hark_hydee_newest(s);
    if (event->type == HARK_SEND) status = hark_hydee_send(s, event, fx);
    else if (event->type == HARK_ARRIVE) status = hark_hydee_frame(s, event, fx);
    else if (event->type == HARK_DELIVER) status = hark_hydee_deliver(s, event);
    else status = hark_hydee_step_rare(s, event, fx);
    if (status < 0 || s->gone) return status;
    if (s->wave.mode != mode) {
        if (mode < HARK_W_CAPTURED && s->wave.mode >= HARK_W_CAPTURED) hark_hydee_captured(s);
        hark_hydee_reclustered(s);
        if (s->wave.mode == HARK_W_RUN) hark_hydee_gc(s, newest != hark_hydee_newest(s));
    }
    p->more = 0;
    if (!s->busy && hark_step_rests(&s->endpoint, &s->wave)) return HARK_OK;
    status = hark_hydee_pump(s, fx);
    p->more = status == HARK_MORE;
    return status;
}

HARK_FN int hark_hydee_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    int status = hark_hydee_step_any(p, event, fx);
    s->usual = hark_hydee_usual(s);
    return status;
}

/* ---- the usual message ----------------------------------------------------------------------- */

/* Writes the header that hark_hydee_transmit_as gives the message `sent`. */
static inline void hark_hydee_header(struct hark_hydee *s, const struct hark_hydee_channel *c,
    uint64_t phase, uint64_t digest, uint8_t *header)
{
    struct hark_head h = {HARK_KIND_HYDEE, HARK_APP, c->channel.ctx, s->endpoint.me,
        c->channel.peer, s->endpoint.inc, c->channel.inc, s->endpoint.re, c->channel.sent};
    hark_head_put(header, &h);
    hark_put64(header + HARK_WIRE_HEAD, phase);
    hark_put64(header + HARK_WIRE_HEAD + 8, digest);
}

/* Posts a usual message, as hark_hydee_send_with.                                  Alg. 1 l. 5-9 */
HARK_FN int hark_hydee_post(
    struct hark *p, const struct hark_posting *m, uint8_t *header, struct hark_posted *posted)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    if (!s->usual || m->to != HARK_PROCESS || (m->ctx && s->groups.count)) return HARK_UNUSUAL;
    const uint32_t chunks = s->flags & HARK_DIGEST ? 2 : 1;
    if (hark_pool_reserve(p, &hark_hydee_shape, &s->pool, chunks) < 0) return HARK_UNUSUAL;
    struct hark_hydee_channel *c = hark_hydee_find(s, m->peer, m->ctx);
    if (c == NULL || c->pos.transmitted != c->channel.sent || c->pos.last_orphan > c->channel.sent)
        return HARK_UNUSUAL;
    const uint64_t ssn = ++c->channel.sent;
    c->pos.transmitted = ssn;
    s->date++;
    if (s->flags & HARK_DIGEST)
        c->pos.sent_digest = hark_digest_mix(c->pos.sent_digest, ssn, m->length, m->digest);
    const bool retain = hark_hydee_inter(c);
    if (retain) {
        hark_runs_add(p, &s->pool, &c->log, ssn, s->phase);
        if (s->flags & HARK_DIGEST)
            *hark_queue_push_wide(p, &s->pool, &c->pos.digests, 1) = c->pos.sent_digest;
    }
    hark_hydee_header(s, c, s->phase, c->pos.sent_digest, header);
    const struct hark_posted x = {ssn, c->channel.inc, HARK_HYDEE_HEADER, 0, retain};
    *posted = x;
    return HARK_OK;
}

/* Receives a usual message, as hark_hydee_arrive and then hark_hydee_deliver.    Alg. 1 l. 10-18 */
HARK_FN int hark_hydee_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    struct hark_head h;
    (void)received;
    if (header.length != HARK_HYDEE_HEADER || hark_head_get(&h, header, HARK_KIND_HYDEE) < 0 ||
        h.type != HARK_APP || h.dst != s->endpoint.me || h.dst_inc != s->endpoint.inc)
        return HARK_UNUSUAL;
    if (!s->usual || (h.ctx && s->groups.count)) return HARK_UNUSUAL;
    if (hark_pool_reserve(p, &hark_hydee_shape, &s->pool, 1) < 0) return HARK_UNUSUAL;
    struct hark_hydee_channel *c = hark_hydee_find(s, h.src, h.ctx);
    if (c == NULL || h.src_inc != c->channel.inc || h.ssn != c->channel.recv + 1 ||
        c->channel.done != c->channel.recv || c->channel.flags & (HARK_GAP | HARK_OWED))
        return HARK_UNUSUAL;
    c->channel.recv = c->channel.done = h.ssn;
    uint64_t phase = hark_get64(header.at + HARK_WIRE_HEAD);
    c->pos.recv_digest = hark_get64(header.at + HARK_WIRE_HEAD + 8);
    if (hark_hydee_inter(c)) hark_runs_add(p, &s->pool, &c->rpp, h.ssn, phase++); /* l. 12-14 */
    if (phase > s->phase) s->phase = phase;
    s->date++;
    return HARK_OK;
}

/* ---- what is named and counted --------------------------------------------------------------- */

/* Names first the logs, of each channel and then of each group, then the messages that have arrived
 * and are not delivered. */
HARK_FN int hark_hydee_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_hydee *s = (const struct hark_hydee *)(const void *)p;
    if (hark_logged_names(
            p, &s->endpoint, &hark_hydee_exchange, HARK_HYDEE_MATE | HARK_HYDEE_GROUP, cursor, run))
        return 1;
    const uint64_t channels = s->endpoint.channels.count;
    if (!(*cursor >> 63) && *cursor >> 40 < channels) *cursor = channels << 40;
    for (uint64_t i = *cursor >> 40; !(*cursor >> 63) && i - channels < s->groups.count; i++) {
        const struct hark_hydee_group *g =
            (const struct hark_hydee_group *)hark_row_of(p, &s->groups, (uint32_t)(i - channels));
        *cursor = (i + 1) << 40;
        if (!g->logged || g->first > g->sent) continue;
        run->name = hark_name_of_group((uint16_t)g->ctx, g->first);
        run->last = g->sent;
        return 1;
    }
    if (!(*cursor >> 63)) *cursor = UINT64_C(1) << 63;
    return hark_member_names(p, &s->endpoint, cursor, run);
}

HARK_FN const char *hark_hydee_violated(const struct hark *p)
{
    const struct hark_hydee *s = (const struct hark_hydee *)(const void *)p;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_hydee_channel *c =
            (const struct hark_hydee_channel *)hark_row_of(p, &s->endpoint.channels, i);
        if (!hark_hydee_inter(c)) continue;
        if (c->pos.transmitted > c->channel.sent) return "more was transmitted than posted";
        if (!s->recovering && c->pos.transmitted != c->channel.sent)
            return "a message is delayed though no recovery runs";
        if (c->pos.first > c->channel.sent + 1) return "the log begins behind its end";
    }
    if (s->usual != hark_hydee_usual(s)) return "it is not known whether all is as usual";
    return hark_wave_violated(p, &s->endpoint, &s->wave);
}

HARK_FN const char *hark_hydee_unrest(const struct hark *p)
{
    const struct hark_hydee *s = (const struct hark_hydee *)(const void *)p;
    return s->recovering ? "recovery is not over here" : NULL;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
