/* sendet.h: uncoordinated checkpoints without domino effect, for send-deterministic programs.
 *
 * A. Guermouche, T. Ropars, E. Brunet, M. Snir, F. Cappello: Uncoordinated Checkpointing Without
 * Domino Effect for Send-Deterministic MPI Applications. IPDPS 2011. The pseudocode is not at hand:
 * these are the rules of the authors' slides, with what the slides leave out (U-..) and the faults
 * of our own first rules (N-..); docs/errata.md.
 *
 *   Rule                                   file: function
 *   Sending: epoch, phase                  sendet/messages.h: hark_sendet_send
 *   Receiving: RPP; acknowledgements       sendet/messages.h: hark_sendet_arrive, _acks
 *   Delivering: the phase moves            sendet/messages.h: hark_sendet_deliver
 *   Acknowledged: logged iff received in   sendet/channel.h: hark_sendet_acked
 *     a later epoch than sent, else SPE
 *   Checkpoint: Epoch++, Phase++           sendet/checkpoint.h: hark_sendet_captured
 *   Re-execution: at the same calls        sendet/checkpoint.h: hark_sendet_again
 *   Garbage collection                     sendet/checkpoint.h, parts/positions.h: hark_sendet_min,
 *                                          _gc; hark_gc_mark, hark_gc_pump
 *   Failure: who rolls back                sendet/failure.h, recovery/line.h: hark_sendet_failed,
 *                                          hark_line_solve
 *   Positions, phases in order             sendet/failure.h, parts/positions.h: hark_sendet_pos,
 *                                          _orph, _release; hark_pos_take
 *
 * A process checkpoints alone, in a wave of a cluster of one. Its epoch is the number of its
 * checkpoints. The sender keeps every message (NonAck) until it knows the epoch in which the
 * message was received; then the message is logged, or forgotten and only counted in SPE.
 *
 * Which processes roll back. From FAILED to the first RELEASE all processes are frozen (N-9): the
 * application makes no step, and no message and no acknowledgement is accepted. Both ends of every
 * channel with an end in D exchange positions, and each process reports its orphans and the facts
 * for the line. If by the line more must roll back than D has, the recovery process makes the line
 * durable at the failure service, rank by rank, and the service announces it like a failure: the
 * processes named restart from their images of the line, all report again, and now D is the line.
 * So a survivor that rolls back needs no frame, no state and no rule of its own; a recovery process
 * that dies leaves nothing half done; and the phases begin from states that no longer change. A
 * failure before RECDONE makes all of D roll back again (N-7), so the same holds for such a
 * failure.
 *
 * A re-execution must send its messages in the same epochs and phases as before, because orphans
 * are waited for at the phases that their receivers recorded. So epochs begin again at the same
 * checkpoint calls: the failure service, which decided those checkpoints, names the ones that the
 * line has undone (RESTARTED.undone, N-11). Phases depend on deliveries and sends, not on arrivals
 * (N-12).
 */
#ifndef HARK_SENDET_H
#define HARK_SENDET_H

#include "recovery.h"
#include "sendet/describe.h"
#include "sendet/pump.h"
#include "sendet/usual.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_sendet_size(const struct hark_config *config);
HARK_FN int hark_sendet_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_sendet_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_sendet_post(struct hark *p, const struct hark_posting *message, uint8_t *header,
    struct hark_posted *posted);
HARK_FN int hark_sendet_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received);
HARK_FN int hark_sendet_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_sendet_violated(const struct hark *p);
HARK_FN const char *hark_sendet_unrest(const struct hark *p);
HARK_FN void hark_sendet_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_sendet_options[] = {HARK_OPTIONS_END};
static const struct hark_manual hark_sendet_manual = {HARK_FOR_SENDS, NULL,
    "and its processes can not make equally many hark_checkpoint calls", NULL, "none",
    hark_sendet_options};

#if HARK_BODIES

/* ---- the interface --------------------------------------------------------------------------- */

HARK_FN uint64_t hark_sendet_size(const struct hark_config *c)
{
    return hark_member_size(c, sizeof(struct hark_sendet), 4096);
}

HARK_FN int hark_sendet_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_sendet *s = (struct hark_sendet *)(void *)p;
    /* clusters of the configuration do not count: no two processes checkpoint together */
    struct hark_config alone = *c;
    alone.cluster_count = 0;
    if (!hark_config_valid(c) || !hark_block_aligned(p)) return HARK_EINVAL;
    int status = hark_member_init(
        p, bytes, &hark_sendet_shape, HARK_KIND_SENDET, &s->endpoint, &s->wave, &alone, false);
    if (status >= 0) status = hark_reserve(p, &hark_sendet_shape, &s->images, 1);
    if (status < 0) return status;
    s->generations = s->wave.generations;
    s->wave.images_copied = 0;        /* an epoch that has been used cannot be undone */
    s->wave.generations = UINT32_MAX; /* other processes also decide how long an image is kept */
    s->flags = c->flags & HARK_DIGEST;
    s->epoch = c->epoch ? c->epoch : 1;
    s->phase = 1;
    s->released_phase = HARK_INFINITY;
    ((struct hark_sendet_image *)hark_insert(p, &s->images, 0))->epoch = s->epoch;
    s->usual = hark_sendet_usual(s);
    return HARK_OK;
}

static inline bool hark_sendet_length_ok(
    const struct hark_sendet *s, const struct hark_head *h, const uint8_t *b, uint32_t length)
{
    if (h->type == HARK_APP) return length == HARK_SENDET_HEADER - HARK_WIRE_HEAD;
    if (h->src == s->endpoint.me) return false;
    if (h->src == HARK_RECOVERY)
        return h->type == HARK_H_RECDONE
                   ? length == 0
                   : (h->type == HARK_H_RELEASE || h->type == HARK_H_MIN) && length == 8;
    switch (h->type) {
    case HARK_H_POS: return hark_pos_length_ok(&hark_sendet_exchange, b, length);
    case HARK_H_ORPH: return length >= 8 && (length - 8) % 40 == 0;
    case HARK_H_ACK: return length >= 24 && length % 24 == 0;
    case HARK_H_GC: return length == 16;
    default: return false; /* a wave is of one process, so it has no frames */
    }
}

/* Makes room for whatever a control frame of this length may add, before the state changes. */
static inline int hark_sendet_room(
    struct hark_sendet *s, const struct hark_head *h, uint32_t length)
{
    struct hark *p = &s->head;
    uint32_t rows = h->type == HARK_H_POS ? length / 40 + 1 : 1;
    const struct hark_sendet_channel *c = hark_sendet_find(s, h->src, h->ctx);
    int status = hark_sendet_reserve(s, rows, HARK_TRAIL_CHUNKS * (length / 24 + 1));
    if (status >= 0 && (h->type == HARK_H_ORPH || h->type == HARK_H_ACK) && c)
        status = hark_reserve(
            p, &hark_sendet_shape, &s->spe, (c->log.sent.count + 1) * (length / 24 + 1));
    return status >= 0 ? hark_reserve(p, &hark_sendet_shape, &s->pairs, 1) : status;
}

HARK_COLD int hark_sendet_control(struct hark_sendet *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    struct hark_head as_app = *h;
    if (h->type == HARK_H_ACK)
        as_app.type = HARK_APP; /* an ACK belongs to messages, not to a recovery */
    int age = hark_frame_freshness(&s->head, &s->endpoint, &as_app);
    if (age != HARK_CURRENT)
        return hark_emit_verdict(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    int status = hark_sendet_room(s, h, length);
    if (status < 0) return status;
    switch (h->type) {
    case HARK_H_POS: return hark_sendet_pos(s, h, b, fx);
    case HARK_H_ORPH: return hark_sendet_orph(s, h, b, length, fx);
    case HARK_H_RELEASE: return hark_sendet_release(s, b);
    case HARK_H_RECDONE: return hark_sendet_recdone(s, fx);
    case HARK_H_ACK: return hark_sendet_acks(s, h, b, length, fx);
    case HARK_H_MIN: return hark_sendet_min(s, b);
    default: return hark_sendet_gc(s, h, b, fx);
    }
}

static inline int hark_sendet_frame(
    struct hark_sendet *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_SENDET) < 0 ||
        !hark_head_valid(&s->endpoint, &h))
        return HARK_EFRAME;
    const uint8_t *b = event->u.frame.header.at + HARK_WIRE_HEAD;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    if (!hark_sendet_length_ok(s, &h, b, length)) return HARK_EFRAME;
    return h.type == HARK_APP ? hark_sendet_arrive(s, &h, b, fx)
                              : hark_sendet_control(s, &h, b, length, fx);
}

/* Takes all events except SEND, ARRIVE and DELIVER. */
HARK_COLD int hark_sendet_other(
    struct hark_sendet *s, const struct hark_event *event, struct hark_effects *fx)
{
    switch (event->type) {
    case HARK_CHECKPOINT_POINT:
    case HARK_STORED: return hark_sendet_checkpoint(s, event, fx);
    case HARK_FAILED: return hark_sendet_failed(s, event, fx);
    case HARK_RESTARTED: return hark_sendet_restarted(s, event, fx);
    case HARK_QUIET:
        if (!s->recovering || s->frozen) return HARK_OK;
        return hark_positions_quiet(&s->head, &s->endpoint, &hark_sendet_exchange, fx);
    case HARK_IDLE: s->ack_due = s->busy = 1; return HARK_OK;
    case HARK_MISS: /* a send-deterministic program's sends do not depend on probes */
    case HARK_LOOK:
    case HARK_CONTINUE: return HARK_OK;
    default: return HARK_EINVAL;
    }
}

static inline int hark_sendet_step_any(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_sendet *s = (struct hark_sendet *)(void *)p;
    bool app = event->type == HARK_SEND || event->type == HARK_DELIVER ||
               event->type == HARK_MISS || event->type == HARK_LOOK ||
               event->type == HARK_CHECKPOINT_POINT;
    int status = hark_step_begin(p, &s->endpoint, event, fx, s->gone);
    if (status != HARK_OK) return status;
    /* from FAILED to the first RELEASE the application makes no step (N-9) */
    if (s->frozen && app) return HARK_WAIT;
    uint32_t mode = s->wave.mode, kept = s->wave.kept.count;
    if (event->type == HARK_SEND) status = hark_sendet_send(s, event, fx);
    else if (event->type == HARK_ARRIVE) status = hark_sendet_frame(s, event, fx);
    else if (event->type == HARK_DELIVER) status = hark_sendet_deliver(s, event);
    else status = hark_sendet_other(s, event, fx);
    if (status < 0 || s->gone) return status;
    if (event->type != HARK_RESTARTED && s->wave.mode != mode) {
        if (mode < HARK_W_CAPTURED && s->wave.mode == HARK_W_CAPTURED) hark_sendet_captured(s);
        if (s->wave.mode == HARK_W_RUN) hark_sendet_over(s, s->wave.kept.count > kept);
    }
    p->more = 0;
    if (!s->busy && hark_step_rests(&s->endpoint, &s->wave)) return HARK_OK;
    status = hark_sendet_pump(s, fx);
    p->more = status == HARK_MORE;
    return status;
}

HARK_FN int hark_sendet_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_sendet *s = (struct hark_sendet *)(void *)p;
    int status = hark_sendet_step_any(p, event, fx);
    s->usual = hark_sendet_usual(s);
    return status;
}

/* Names the payloads that belong into an image: first the messages that the log retains, channel by
 * channel, then those that have arrived and are not delivered yet. */
HARK_FN int hark_sendet_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_sendet *s = (const struct hark_sendet *)(const void *)p;
    if (hark_logged_names(p, &s->endpoint, &hark_sendet_exchange, HARK_INTRA, cursor, run))
        return 1; /* NonAck too (U-1) */
    if (!(*cursor >> 63)) *cursor = UINT64_C(1) << 63;
    return hark_member_names(p, &s->endpoint, cursor, run);
}

HARK_FN const char *hark_sendet_violated(const struct hark *p)
{
    const struct hark_sendet *s = (const struct hark_sendet *)(const void *)p;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_sendet_channel *c =
            (const struct hark_sendet_channel *)hark_row_of(p, &s->endpoint.channels, i);
        if (!hark_sendet_inter(c)) continue;
        if (c->pos.transmitted > c->channel.sent) return "more was transmitted than posted";
        if (c->acked > c->channel.sent) return "more was acknowledged than posted";
        if (!s->recovering && c->pos.transmitted != c->channel.sent)
            return "a message is delayed though no recovery runs";
        if (c->pos.first > c->acked + 1) return "a message is forgotten that is not acknowledged";
    }
    if (s->images.count == 0) return "no image is left";
    if (s->usual != hark_sendet_usual(s)) return "it is not known whether all is as usual";
    return hark_wave_violated(p, &s->endpoint, &s->wave);
}

/* Checks I10: every message is acknowledged in the end, and then forgotten or logged (U-3). */
HARK_FN const char *hark_sendet_unrest(const struct hark *p)
{
    const struct hark_sendet *s = (const struct hark_sendet *)(const void *)p;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_sendet_channel *c =
            (const struct hark_sendet_channel *)hark_row_of(p, &s->endpoint.channels, i);
        if (hark_sendet_inter(c) && c->acked < c->channel.sent) return "NonAck never drains";
    }
    return s->recovering ? "recovery is not over here" : NULL;
}

HARK_FN bool hark_sendet_accept(struct hark *p)
{
    struct hark_sendet *s = (struct hark_sendet *)(void *)p;
    if (!hark_ends_ok(p, &s->endpoint) || !hark_wave_ok(p, &s->endpoint, &s->wave) ||
        s->images.count == 0)
        return false;
    if (!hark_rows_ascend(p, &s->pairs, s->endpoint.ranks)) return false;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_sendet_channel *c = hark_sendet_at(s, i);
        if (c->pos.transmitted > c->channel.sent || c->acked > c->channel.sent ||
            c->pos.first == 0 || c->pos.first > c->acked + 1)
            return false;
        if (!hark_trail_ok(&c->log) || !hark_trail_ok(&c->rpp) || !hark_trail_ok(&c->recorded) ||
            c->pos.digests.width != 1)
            return false;
    }
    s->usual = hark_sendet_usual(s);
    return hark_contexts_ok(p, &s->endpoint, &hark_sendet_exchange);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
