/* recovery.h: the recovery process of hydee and sendet, at the address HARK_RECOVERY.
 *
 * A. Guermouche, T. Ropars, M. Snir, F. Cappello: HydEE: Failure Containment without Event Logging
 * for Large Scale Send-Deterministic MPI Applications. IPDPS 2012. Algorithm 4.
 *
 *   Algorithm 4                          here
 *   1  NbOrphPhase                       table `orphans`: ids with phases, not numbers of processes
 *                                        (E14)
 *   2  ProcessPhases, 3 MsgLPhase        not kept: RELEASE goes to all, and each process compares
 *                                        its own messages with it
 *   4-9 Log, Orphan                      hark_recovery_report: once per process and epoch (E10,
 *                                        E11)
 *   10 OwnPhase                          not sent: every send checks the gate itself (E8)
 *   12 OrphanNotification                hark_recovery_notify: by id at its recorded phase (E6)
 *   16-24 NotifyPhase                    hark_recovery_notify_phase: never before all reports are
 *                                        in (E10)
 *
 * Its state is soft: a new recovery process needs only FAILED with a new epoch, and all processes
 * report again (E22). A recovery ends when every process has reported that its delayed and replayed
 * messages have left (DRAINED).
 *
 * The recovery process learns the protocol of its members from the kind in the header of the first
 * frame. Reports of sendet also have rows for the recovery line (recovery/line.h). If by the line
 * more processes roll back than are in D, or processes of D further, the recovery process gives the
 * failure service each of them, with its image. The service announces these processes like failed
 * ones, and all report again. So the phases begin only when D and the line are equal, and members
 * need no knowledge of the line.
 */
#ifndef HARK_RECOVERY_H
#define HARK_RECOVERY_H

#include "recovery/frontier.h"
#include "recovery/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_recovery_size(const struct hark_config *config);
/* Makes the recovery process: config->me must be HARK_RECOVERY. */
HARK_FN int hark_recovery_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_recovery_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_recovery_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_recovery_violated(const struct hark *p);
HARK_FN const char *hark_recovery_unrest(const struct hark *p);
HARK_FN void hark_recovery_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_recovery_options[] = {HARK_OPTIONS_END};
static const struct hark_manual hark_recovery_manual = {
    0, NULL, NULL, NULL, NULL, hark_recovery_options};

#if HARK_BODIES

HARK_FN uint64_t hark_recovery_size(const struct hark_config *c)
{
    if (c->me != HARK_RECOVERY || c->ranks == 0 || c->ranks > HARK_RANKS_MAX) return 0;
    if (c->fan == 1 || (c->fan && c->flags & HARK_EXACT_GATE)) return 0;
    return sizeof(struct hark_recovery) + 1024;
}

HARK_FN int hark_recovery_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_recovery *s = (struct hark_recovery *)(void *)p;
    if (hark_recovery_size(c) == 0) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_recovery_shape, HARK_KIND_RECOVERY);
    if (status < 0) return status;
    s->me = HARK_RECOVERY;
    s->ranks = c->ranks;
    s->fan = c->fan;
    s->released_phase = HARK_INFINITY;
    return HARK_OK;
}

/* NotifyPhase: releases phases up to the lowest phase of an orphan that is not sent again yet; the
 * released phase only rises. With the exact gate RELEASE is also sent when only the frontier has
 * `moved`.                                                                       Alg. 4 l. 16-24 */
static inline void hark_recovery_notify_phase(struct hark_recovery *s, bool moved)
{
    if (s->stage != HARK_R_RELEASING) return;
    uint64_t rel = hark_phases_least(&s->head, &s->phases);
    if (rel <= s->released_phase && !moved) return;
    s->released_phase = rel > s->released_phase ? rel : s->released_phase;
    if (rel == HARK_INFINITY) s->stage = HARK_R_DRAINING;
    hark_recovery_tell(s, HARK_H_RELEASE);
}

/* Takes FAILED: everything is computed again, from the positions of the members alone (E22). */
static inline int hark_recovery_failed(struct hark_recovery *s, const struct hark_event *event)
{
    struct hark *p = &s->head;
    if (!hark_failed_valid(s->ranks, event)) return HARK_EINVAL;
    if (event->u.failed.re <= s->re) return HARK_OK;
    int status = hark_failed_room(p, &hark_recovery_shape, &s->down, &s->incs, event);
    if (status < 0) return status;
    hark_failed_tables(p, &s->down, &s->incs, event);
    hark_empty(p, &s->reported);
    hark_empty(p, &s->partial);
    hark_recovery_forget(s);
    hark_empty(p, &s->frontier);
    hark_empty(p, &s->line.facts);
    hark_empty(p, &s->line.line); /* epochs reported before this failure no longer count (N-4) */
    s->exact = s->change = s->listing = 0;
    s->re = event->u.failed.re;
    s->stage = HARK_R_COLLECTING;
    s->released_phase = 0;
    s->drained = s->fanout = s->fanout_sent = 0;
    s->offer = 1;
    return HARK_OK;
}

/* Gives the failure service the next process that the line rolls back. */
static inline void hark_recovery_back(struct hark_recovery *s, struct hark_effects *fx)
{
    bool more;
    struct hark_back *x = hark_line_next(&s->head, &s->line, &more);
    if (x == NULL) return;
    x->goes = 2;
    struct hark_fact fact = {more ? HARK_FACT_BACK : HARK_FACT_LINE, x->rank, s->re, 0, x->id, 0};
    hark_emit_fact(fx, fact);
}

/* Continues when all have reported. If by the line others must roll back, or processes of D
 * further, D must take them in first; otherwise the release of phases begins. */
static inline void hark_recovery_reported(struct hark_recovery *s, struct hark_effects *fx)
{
    if (s->member == HARK_KIND_SENDET && hark_line_solve(&s->head, &s->line, &s->down)) {
        s->stage = HARK_R_LINING;
        hark_recovery_back(s, fx);
        return;
    }
    hark_empty(&s->head, &s->line.facts);
    s->stage = HARK_R_RELEASING;
    hark_recovery_phases(s);
    if (s->exact) hark_recovery_frontier(s);
    hark_recovery_notify_phase(s, false);
}

/* Takes a row of a REPORT: {src u32, ctx u16, what u16, first u64, last u64, phase u64}. `what` 0:
 * an orphan; otherwise a fact (HARK_L_*). */
static inline void hark_recovery_row(
    struct hark_recovery *s, uint32_t from, const uint8_t *b, bool number)
{
    struct hark_line_row f = {from, hark_get32(b), hark_get16(b + 6), hark_get16(b + 4), 0,
        hark_get64(b + 8), hark_get64(b + 16)};
    struct hark_orphan o = {f.epoch, f.value, hark_get64(b + 24), number ? hark_get64(b + 32) : 0};
    if (f.what) hark_line_add(&s->head, &s->line, &f);
    else hark_recovery_add(s, f.peer, from, f.ctx, &o);
}

/* Takes a fragment of a REPORT: u32 (fragments << 16 | HARK_R_EXACT | last), u32 0, then rows.
 * Orphans are those that the reporting process has received; with the exact gate a number u64
 * follows each row.                                                                Alg. 4 l. 4-9 */
static inline int hark_recovery_report(struct hark_recovery *s, const struct hark_head *h,
    const uint8_t *b, uint32_t length, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint32_t control = hark_get32(b), i = 0, width = control & HARK_R_EXACT ? 40 : 32;
    if (s->stage != HARK_R_COLLECTING || hark_ranges_hold(p, &s->reported, h->src))
        return hark_emit_verdict(fx, HARK_DISCARD);
    for (uint32_t at = 8; at < length; at += width)
        hark_recovery_row(s, h->src, b + at, width > 32);
    s->exact |= width > 32;
    while (
        i < s->partial.count && ((struct hark_partial *)hark_row(p, &s->partial, i))->rank < h->src)
        i++;
    struct hark_partial *part =
        i < s->partial.count ? (struct hark_partial *)hark_row(p, &s->partial, i) : NULL;
    if (part == NULL || part->rank != h->src) {
        part = (struct hark_partial *)hark_insert(p, &s->partial, i);
        part->rank = h->src;
    }
    part->missing += (control >> 16) - 1;
    part->last |= control & 1;
    if (!part->last || (uint16_t)part->missing)
        return HARK_OK; /* fragments are counted modulo 2^16 */
    hark_remove(p, &s->partial, i);
    hark_ranges_add(p, &s->reported, h->src);
    if (hark_ranges_size(p, &s->reported) == s->ranks) hark_recovery_reported(s, fx);
    return HARK_OK;
}

/* Takes EPOCH: a process has taken a checkpoint: {its epoch u64, the epoch of the oldest image that
 * it may need u64}. */
static inline int hark_recovery_epoch(
    struct hark_recovery *s, const struct hark_head *h, const uint8_t *b)
{
    hark_line_epoch(&s->head, &s->line, h->src, hark_get64(b), hark_get64(b + 8));
    uint64_t min = s->stage == HARK_R_CALM ? hark_line_oldest(&s->head, &s->line, s->ranks) : 0;
    if (min <= s->line.min) return HARK_OK;
    s->line.min = min;
    hark_recovery_tell(s, HARK_H_MIN);
    return HARK_OK;
}

/* OrphanNotification: takes NOTIFY, by which src has sent again all orphans of a channel up to an
 * ssn.                                                                           Alg. 4 l. 12-15 */
static inline int hark_recovery_notify(
    struct hark_recovery *s, const struct hark_head *h, const uint8_t *b, struct hark_effects *fx)
{
    if (s->stage != HARK_R_RELEASING) return hark_emit_verdict(fx, HARK_DISCARD);
    hark_recovery_phases(s);
    hark_recovery_take(s, h->src, hark_get32(b), h->ctx, hark_get64(b + 4));
    bool moved = s->exact && hark_recovery_frontier_of(s, h->src);
    s->change = moved ? h->src + 1 : 0;
    hark_recovery_notify_phase(s, moved);
    return HARK_OK;
}

static inline int hark_recovery_drained(struct hark_recovery *s, struct hark_effects *fx)
{
    if (s->stage != HARK_R_DRAINING) return hark_emit_verdict(fx, HARK_DISCARD);
    if (++s->drained < hark_recovery_ends(s)) return HARK_OK;
    s->stage = HARK_R_DONE;
    hark_emit_done(fx, HARK_RECOVERY, s->re);
    return HARK_OK;
}

static inline int hark_recovery_arrive(
    struct hark_recovery *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_HYDEE) < 0 &&
        hark_head_get(&h, event->u.frame.header, HARK_KIND_SENDET) < 0)
        return HARK_EFRAME;
    if (s->member && s->member != h.kind) return HARK_EFRAME;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    const uint8_t *b = event->u.frame.header.at + HARK_WIRE_HEAD;
    if (!hark_recovery_frame_ok(s, &h, b, length)) return HARK_EFRAME;
    if (h.re != s->re) return hark_emit_verdict(fx, h.re < s->re ? HARK_DISCARD : HARK_HOLD);
    int status = hark_recovery_room(s, length / 32);
    /* the frontier is still empty: room for a row for each run of orphans */
    if (status >= 0 && s->stage == HARK_R_COLLECTING)
        status =
            hark_reserve(p, &hark_recovery_shape, &s->frontier, s->orphans.count + length / 32);
    if (status >= 0) status = hark_reserve(p, &hark_recovery_shape, &s->partial, 1);
    if (status >= 0) status = hark_reserve(p, &hark_recovery_shape, &s->reported, 1);
    if (status >= 0) status = hark_reserve(p, &hark_recovery_shape, &s->line.facts, length / 32);
    if (status >= 0) status = hark_reserve(p, &hark_recovery_shape, &s->line.line, 1 + length / 32);
    if (status < 0) return status;
    s->member = h.kind;
    if (h.type == HARK_H_UP) return hark_recovery_up(s, b, fx);
    if (h.type == HARK_H_EPOCH) return hark_recovery_epoch(s, &h, b);
    if (h.type == HARK_H_REPORT) return hark_recovery_report(s, &h, b, length, fx);
    if (h.type == HARK_H_NOTIFY) return hark_recovery_notify(s, &h, b, fx);
    return hark_recovery_drained(s, fx);
}

/* Sends RELEASE, RECDONE or MIN to all members, in batches; with a tree to rank 0 only. */
static inline int hark_recovery_pump(struct hark_recovery *s, struct hark_effects *fx)
{
    while (s->fanout) {
        uint32_t length = s->fanout == HARK_H_RECDONE ? 0 : 8;
        if (!hark_effects_fit(fx, 1, s->exact ? HARK_FRAGMENT : HARK_WIRE_HEAD + 8))
            return HARK_MORE;
        struct hark_head h = {(uint8_t)s->member, (uint8_t)s->fanout, 0, HARK_RECOVERY,
            s->fanout_sent, hark_recovery_inc(s, HARK_RECOVERY),
            hark_recovery_inc(s, s->fanout_sent), s->re, 0};
        uint8_t *b;
        hark_emit_frame(fx, &h, HARK_WIRE_HEAD + length, &b);
        bool last = s->fanout != HARK_H_RELEASE || hark_recovery_release(s, b, fx);
        if (s->fanout == HARK_H_MIN) hark_put64(b, s->line.min);
        if (last && ++s->fanout_sent == hark_recovery_ends(s))
            s->fanout = s->fanout_sent = s->change = 0;
    }
    if (!s->offer) return HARK_OK;
    if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
    s->offer = 0;
    hark_emit_offer(fx, HARK_RECOVERY);
    return HARK_OK;
}

HARK_FN int hark_recovery_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_recovery *s = (struct hark_recovery *)(void *)p;
    if ((p->more != 0) != (event->type == HARK_CONTINUE)) return HARK_ESTATE;
    if (hark_effects_begin(fx) < 0) return HARK_ENOROOM;
    int status = HARK_OK;
    switch (event->type) {
    case HARK_ARRIVE: status = hark_recovery_arrive(s, event, fx); break;
    case HARK_FAILED: status = hark_recovery_failed(s, event); break;
    case HARK_STORED:
        if (!hark_stored_valid(event)) status = HARK_EINVAL;
        if (s->stage == HARK_R_DONE && event->u.stored.ok &&
            hark_stored_answers(event, HARK_FACT_DONE, s->re)) {
            s->stage = HARK_R_CALM;
            hark_recovery_tell(s, HARK_H_RECDONE);
        }
        if (s->stage == HARK_R_LINING &&
            hark_stored_answers(event, HARK_FACT_BACK, event->u.stored.id))
            hark_recovery_back(s, fx);
        break;
    case HARK_RESTARTED:
    case HARK_IDLE:
    case HARK_QUIET:
    case HARK_CONTINUE: break;
    default: return HARK_EINVAL;
    }
    if (status < 0) return status;
    status = hark_recovery_pump(s, fx);
    p->more = status == HARK_MORE;
    return status;
}

HARK_FN int hark_recovery_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    (void)p;
    (void)cursor;
    (void)run;
    return 0; /* the recovery process has no payloads and no image */
}

HARK_FN const char *hark_recovery_violated(const struct hark *p)
{
    const struct hark_recovery *s = (const struct hark_recovery *)(const void *)p;
    if (s->line.low) return "the line is below all failed epochs";
    if ((s->stage == HARK_R_DRAINING || s->stage == HARK_R_DONE) && s->orphans.count)
        return "released without end while orphans remain";
    for (uint32_t i = 0; i < s->orphans.count; i++) {
        const struct hark_queue *runs =
            &((const struct hark_orphans *)hark_row_of(p, &s->orphans, i))->runs;
        struct hark_place at = hark_queue_begin(runs);
        for (const uint64_t *row; (row = hark_queue_next(p, &s->pool, runs, &at)) != NULL;) {
            const struct hark_orphan *o = (const struct hark_orphan *)(const void *)row;
            if (o->first > o->last) return "an empty range of orphans";
            if (s->stage == HARK_R_RELEASING && o->phase < s->released_phase)
                return "an orphan below the released phase";
        }
    }
    return NULL;
}

HARK_FN const char *hark_recovery_unrest(const struct hark *p)
{
    const struct hark_recovery *s = (const struct hark_recovery *)(const void *)p;
    if (s->orphans.count) return "orphans are counted that nobody has sent again"; /* I11 */
    return s->stage != HARK_R_CALM && s->stage != HARK_R_DONE ? "recovery is not over here" : NULL;
}

/* Describes nothing: the frames of the recovery process have the kind of its members, whose
 * protocol describes them. */
HARK_FN void hark_recovery_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    (void)p;
    (void)header;
    (void)w;
}

/* True if steps can use an unpacked state: RELEASE reads the frontier's row for `change`, or its
 * rows from `listing` on. A pending fan-out resumes with CONTINUE. */
HARK_FN bool hark_recovery_accept(struct hark *p)
{
    struct hark_recovery *s = (struct hark_recovery *)(void *)p;
    if (s->me != HARK_RECOVERY || s->ranks == 0 || s->ranks > HARK_RANKS_MAX || s->fan == 1)
        return false;
    if (!hark_ranges_ok(p, &s->reported, s->ranks) ||
        !hark_rows_ascend(p, &s->frontier, UINT64_MAX))
        return false;
    if (!hark_rows_ascend(p, &s->line.line, s->ranks) || !hark_ranges_ok(p, &s->down, s->ranks))
        return false;
    if (!hark_lives_ok(p, &s->incs) || !hark_recovery_orphans_ok(s)) return false;
    if (s->listing > s->frontier.count) return false;
    uint32_t k = s->change ? hark_entry_search(p, &s->frontier, s->change - 1) : 0;
    if (s->change &&
        (k == s->frontier.count || hark_entry_at(p, &s->frontier, k)->rank != s->change - 1))
        return false;
    p->more = s->fanout != 0;
    if (s->fanout == 0) return s->fanout_sent == 0;
    return s->fanout_sent < hark_recovery_ends(s) &&
           (s->fanout == HARK_H_RELEASE || s->fanout == HARK_H_RECDONE || s->fanout == HARK_H_MIN);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
