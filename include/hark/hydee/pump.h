/* hydee/pump.h: sends the frames that a step has marked as due, in batches: POS, ORPH, REPORT,
 * NOTIFY, replays, GC, DRAINED. A part of hydee.h. */
#ifndef HARK_HYDEE_PUMP_H
#define HARK_HYDEE_PUMP_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* ---- each returns HARK_MORE when the effects are full ---------------------------------------- */

static inline int hark_hydee_pump_pos(struct hark_hydee *s, struct hark_effects *fx)
{
    return hark_pos_pump(&s->head, &s->endpoint, &hark_hydee_exchange, &s->pairs, fx);
}

/* Sends ORPH to j: j's orphans that I have, so that j logs them at their recorded phases. */
static inline int hark_hydee_pump_orph(struct hark_hydee *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!(c->channel.flags & HARK_ORPH_DUE)) continue;
        struct hark_runs r =
            hark_runs_begin(p, &s->pool, &c->rpp, c->pos.orphan_next, c->channel.recv);
        while (c->channel.flags & HARK_ORPH_DUE) {
            uint64_t first, last, phase;
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            uint8_t *b = hark_emit_control(p, &s->endpoint, fx, HARK_H_ORPH, c->channel.peer, 8);
            uint32_t at = 8;
            while (at + 24 <= HARK_FRAGMENT - HARK_WIRE_HEAD &&
                   hark_runs_next(p, &s->pool, &c->rpp, &r, &first, &last, &phase)) {
                hark_put64(b + at, first);
                hark_put64(b + at + 8, last);
                hark_put64(b + at + 16, phase);
                at += 24;
            }
            bool end = r.from > r.end || r.row == NULL; /* NULL: j's own GC has trimmed them, and
                                                           yet j asks */
            c->pos.orphan_next = r.from;
            hark_orph_end(&c->channel, &c->pos, b, at, end, fx);
        }
    }
    return HARK_OK;
}

/* Sends REPORT: the orphans that I have received, once all answers to my POS are in. The rows are
 * as in hark_recovery_report.                                                    Alg. 3 l. 13-16 */
static inline int hark_hydee_pump_report(struct hark_hydee *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool exact = (s->flags & HARK_EXACT_GATE) != 0;
    uint32_t row = exact ? 40 : 32;
    if (!s->recovering || s->reported || !hark_pairs_answered(&s->head, &s->pairs)) return HARK_OK;
    while (!s->reported) {
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        uint8_t *b = hark_emit_control(p, &s->endpoint, fx, HARK_H_REPORT, HARK_RECOVERY, 8);
        uint32_t at = 8;
        for (; s->report_channel < s->endpoint.channels.count;
             s->report_channel++, s->report_at = 0) {
            struct hark_hydee_channel *c = hark_hydee_at(s, s->report_channel);
            uint64_t first, last, phase, number, until = 0, index = 0;
            if (!hark_hydee_inter(c) || c->pos.peer_sent >= c->channel.recv) continue;
            uint64_t from = s->report_at > c->pos.peer_sent ? s->report_at : c->pos.peer_sent + 1;
            if (from > c->channel.recv) continue;
            struct hark_runs r = hark_runs_begin(p, &s->pool, &c->rpp, from, c->channel.recv);
            struct hark_runs n = hark_runs_begin(p, &s->pool, &c->rpp_index, from, c->channel.recv);
            while (at + row <= HARK_FRAGMENT - HARK_WIRE_HEAD &&
                   hark_runs_next(p, &s->pool, &c->rpp, &r, &first, &last, &phase)) {
                while (exact && until < first &&
                       hark_runs_next(p, &s->pool, &c->rpp_index, &n, &number, &until, &index)) {
                }
                if (exact && until >= first && last > until)
                    r.from = (last = until) + 1; /* a row's numbers must be consecutive */
                hark_put32(b + at, c->channel.peer);
                hark_put32(b + at + 4, c->channel.ctx);
                hark_put64(b + at + 8, first);
                hark_put64(b + at + 16, last);
                hark_put64(b + at + 24, phase);
                if (exact) hark_put64(b + at + 32, first + index);
                at += row;
            }
            s->report_at = r.from;
            if (r.row && r.from <= r.end) break; /* no row: j's own GC has trimmed them */
        }
        s->report_out++;
        s->reported = s->report_channel >= s->endpoint.channels.count;
        hark_fragment_end(
            b, at, (s->reported ? s->report_out << 16 | 1 : 0) | (exact ? HARK_R_EXACT : 0), fx);
    }
    return HARK_OK;
}

/* OrphanNotification: sends NOTIFY, by id. Without a tree it waits for the first RELEASE: NOTIFY
 * could reach the recovery process before the REPORT that lists its orphan (v3). With a tree it
 * goes at once, to the receiver of the orphans.                                     Alg. 2 l. 15 */
static inline int hark_hydee_pump_notify(struct hark_hydee *s, struct hark_effects *fx)
{
    bool tree = s->tree.fan != 0;
    if (s->released_phase == 0 && !tree) return HARK_OK;
    return hark_notify_pump(&s->head, &s->endpoint, &hark_hydee_exchange, tree, fx);
}

/* Replays the messages of channel c that the gate releases, ssn ascending, each once (E12). */
static inline int hark_hydee_replay(
    struct hark_hydee *s, struct hark_hydee_channel *c, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint64_t first, last, phase;
    struct hark_runs r =
        hark_runs_begin(p, &s->pool, &c->log, c->pos.transmitted + 1, c->channel.sent);
    while (hark_runs_next(p, &s->pool, &c->log, &r, &first, &last, &phase)) {
        for (uint64_t ssn = first; ssn <= last; ssn++) {
            if (!hark_hydee_phase_released(s, phase, HARK_INFINITY)) return HARK_OK;
            if (!hark_effects_fit(fx, 1, HARK_HYDEE_HEADER)) return HARK_MORE;
            hark_hydee_transmit(
                s, c, ssn, phase, hark_digest_at(&s->head, &s->pool, &c->pos, ssn), fx)
                ->replay = true;
            c->pos.transmitted = ssn;
        }
    }
    return HARK_OK;
}

/* The phase and, for the exact gate, the number of a message in Logs[j]; phase 0: the log does not
 * have it. */
struct hark_hydee_logged {
    struct hark_hydee_channel *channel;
    uint64_t phase, number;
};

static inline struct hark_hydee_logged hark_hydee_logged(
    struct hark_hydee *s, struct hark_hydee_channel *c, uint64_t ssn)
{
    uint64_t last = c->channel.sent, end = last;
    struct hark_hydee_logged x = {
        c, hark_runs_at(&s->head, &s->pool, &c->log, ssn, &last), HARK_INFINITY};
    uint64_t less = hark_runs_at(&s->head, &s->pool, &c->index, ssn, &end);
    if (c->index.count) x.number = ssn + less;
    return x;
}

/* As hark_hydee_replay, with the exact gate: on all channels in the order in which the messages
 * were posted, so that one pass over V's history suffices. Channels differ in their positions, so
 * each turn takes the lowest number that may go. */
static inline int hark_hydee_replay_exact(struct hark_hydee *s, struct hark_effects *fx)
{
    for (;;) {
        struct hark_hydee_logged next = {NULL, 0, HARK_INFINITY};
        for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
            struct hark_hydee_channel *c = hark_hydee_at(s, i);
            if (!hark_hydee_inter(c) || c->pos.transmitted >= c->channel.sent) continue;
            struct hark_hydee_logged x = hark_hydee_logged(s, c, c->pos.transmitted + 1);
            if (x.phase == 0) continue; /* not in the log: phases begin at 1 */
            if (hark_hydee_phase_released(s, x.phase, x.number) &&
                (next.channel == NULL || x.number < next.number))
                next = x;
        }
        if (next.channel == NULL) return HARK_OK;
        if (!hark_effects_fit(fx, 1, HARK_PAST_HEADER_MAX)) return HARK_MORE;
        uint64_t ssn = next.channel->pos.transmitted + 1,
                 digest = hark_digest_at(&s->head, &s->pool, &next.channel->pos, ssn);
        hark_past_go(&s->head, &s->pool, &s->past, next.number);
        hark_hydee_transmit_exact(
            s, next.channel, ssn, next.phase, digest, next.number, &s->past.at, fx)
            ->replay = true;
        next.channel->pos.transmitted = ssn;
    }
}

/* NotifySendLog and delayed sends: sends on each channel the messages that the last RELEASE covers.
 *                                                                                Alg. 3 l. 22-24 */
static inline int hark_hydee_pump_replay(struct hark_hydee *s, struct hark_effects *fx)
{
    int status = HARK_OK;
    if (s->flags & HARK_EXACT_GATE)
        return s->released_phase > 0 ? hark_hydee_replay_exact(s, fx) : HARK_OK;
    for (uint32_t i = 0;
         i < s->endpoint.channels.count && s->released_phase > 0 && status == HARK_OK; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (hark_hydee_inter(c) && c->pos.transmitted < c->channel.sent)
            status = hark_hydee_replay(s, c, fx);
    }
    return status;
}

/* Emits TRIM of logs that a new map of clusters has made superfluous. */
static inline int hark_hydee_pump_free(struct hark_hydee *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!(c->channel.flags & HARK_HYDEE_FREE)) continue;
        if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
        c->channel.flags &= (uint16_t)~HARK_HYDEE_FREE;
        hark_emit_trim(fx, hark_name_of(HARK_OUT, &c->channel, c->channel.sent));
    }
    return HARK_OK;
}

static inline int hark_hydee_pump_gc(struct hark_hydee *s, struct hark_effects *fx)
{
    uint64_t oldest =
        s->wave.kept.count ? ((struct hark_image *)hark_row(&s->head, &s->wave.kept, 0))->id : 0;
    return hark_gc_pump(&s->head, &s->endpoint, &s->positions, oldest, fx);
}

/* Sends DRAINED when everything is released and sent, and all ORPH that I wait for are in. Only
 * then may D shrink (v4). */
static inline int hark_hydee_pump_drained(struct hark_hydee *s, struct hark_effects *fx)
{
    if (!s->recovering || s->drained || s->released_phase != HARK_INFINITY) return HARK_OK;
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c)) continue;
        if (c->pos.transmitted < c->channel.sent || (c->channel.flags & HARK_ORPH_WAIT))
            return HARK_OK;
    }
    if (s->tree.fan && !hark_hydee_below_drained(s)) return HARK_OK;
    if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD)) return HARK_MORE;
    s->drained = 1;
    hark_emit_control(&s->head, &s->endpoint, fx, HARK_H_DRAINED,
        s->tree.fan ? hark_hydee_above(s) : HARK_RECOVERY, 0);
    return HARK_OK;
}

HARK_COLD int hark_hydee_pump(struct hark_hydee *s, struct hark_effects *fx)
{
    if (s->busy) {
        int status = hark_hydee_pump_multicast(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_pass(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_tell(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_pos(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_orph(s, fx);
        if (status == HARK_OK)
            status = s->tree.fan ? hark_hydee_pump_up(s, fx) : hark_hydee_pump_report(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_notify(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_replay(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_free(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_gc(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_drained(s, fx);
        if (status != HARK_OK) return status;
        s->busy = 0;
    }
    int status = hark_wave_pump(&s->head, &s->endpoint, &s->wave, fx);
    return status == HARK_OK ? hark_offer_all(&s->endpoint, fx) : status;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
