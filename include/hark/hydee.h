/* hydee.h: failure containment without event logging, for send-deterministic programs.
 *
 * A. Guermouche, T. Ropars, M. Snir, F. Cappello: HydEE: Failure Containment without Event Logging for
 * Large Scale Send-Deterministic MPI Applications. IPDPS 2012. Algorithms 1-3; Algorithm 4: recovery.h.
 *
 *   Algorithm, lines                       here
 *   1: 5-9    Sending message              hark_hydee_send (recovery included: 2: 11-20)
 *   1: 10-18  Upon receiving               hark_hydee_arrive (RPP), hark_hydee_deliver (phase, date)
 *   1: 19-21  Upon checkpoint              wave.h, and hark_hydee_captured
 *   2: 4-10   Upon failure, LastDate       hark_hydee_rollback, hark_hydee_failed, hark_hydee_pos
 *   3: 6-19   Upon failure elsewhere       the same: every process plays both roles (E9)
 *   3: 22-24  NotifySendLog                hark_hydee_release, hark_hydee_replay
 *   III.E     Garbage collection           hark_hydee_gc, hark_hydee_trim
 *
 * What differs from the printed pseudocode, everywhere: a message is known by its ssn on its channel, not
 * by Date (E5); positions are exchanged in both directions on every channel with an end in D (E2, E4, E9);
 * every inter-cluster transmission is gated while recovery runs, not the first (E8), a suppressed orphan
 * never (E7); orphans are notified by id and counted at their recorded phase (E6).
 */
#ifndef HARK_HYDEE_H
#define HARK_HYDEE_H

#include "member.h"
#include "past.h"
#include "recovery.h"
#include "rpp.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_HYDEE_HEADER 48u  /* of an application message: the common part, phase u64, digest u64; with the
                                * exact gate, what past.h writes follows */
#define HARK_HYDEE_CTX_MAX 120 /* contexts that one pair of processes may use */

enum {
    HARK_HYDEE_NOTIFY = HARK_OWN_FLAGS,           /* a NOTIFY for this channel is due */
    HARK_HYDEE_ORPH_DUE = HARK_OWN_FLAGS << 1,    /* ORPH for this channel is to be sent */
    HARK_HYDEE_ORPH_WAIT = HARK_OWN_FLAGS << 2,   /* ORPH for this channel is to come */
    HARK_HYDEE_GC = HARK_OWN_FLAGS << 3           /* a GC notice for this channel is due */
};
enum { HARK_HYDEE_POS_DUE = 1, HARK_HYDEE_POS_SENT = 2, HARK_HYDEE_POS_GOT = 4 };

struct hark_hydee_channel {
    struct hark_channel channel;
    uint64_t tx;          /* transmitted or suppressed up to here: pend[j] is tx+1 .. sent */
    uint64_t first;       /* Logs[j] is first .. sent */
    uint64_t base;        /* sent when this recovery epoch began: what my POS says */
    uint64_t orph;        /* orph[j]: highest ssn that j already has; 0: none known */
    uint64_t theirs;      /* sent_j[i] in j's POS: beyond it, what I have are orphans; infinite: no POS */
    uint64_t orph_digest; /* j's digest at orph */
    uint64_t sent_digest, recv_digest;
    uint64_t orph_at;     /* next orphan of j's to tell it */
    uint32_t orph_out;    /* fragments of ORPH sent */
    uint32_t orph_in;     /* fragments of ORPH expected - come */
    struct hark_queue log;      /* phases of Logs[j] */
    struct hark_queue digests;  /* of Logs[j], running */
    struct hark_queue rpp;      /* RPP[j] */
    struct hark_queue recorded; /* phases of own orphans not yet re-sent, {first ssn, phase} */
    struct hark_queue index;     /* exact gate: of Logs[j], {first ssn, number - ssn} */
    struct hark_queue rpp_index; /* exact gate: of RPP[j], the same */
};

struct hark_hydee_pair { /* a peer with whom positions are exchanged in this epoch */
    uint32_t rank;
    uint32_t flags;
};

struct hark_hydee_position { /* of a channel at a kept image */
    uint64_t id;
    uint32_t peer;
    uint16_t ctx, pad;
    uint64_t sent, recv;
};

struct hark_hydee {
    struct hark head;
    struct hark_ends ends;
    struct hark_wave wave;
    uint64_t phase; /* Phase_i, from 1 */
    uint64_t date;  /* Date_i: a Lamport-like counter, for people only */
    uint64_t rel;   /* released phase; infinite when no recovery runs */
    uint32_t recovering;
    uint32_t reported; /* REPORT of this epoch is out */
    uint32_t drained;  /* DRAINED of this epoch is out */
    uint32_t flags;    /* HARK_DIGEST, HARK_EXACT_GATE */
    uint32_t plain;    /* length of every header of an application message; 0 with the exact gate: they vary */
    uint32_t report_channel, report_out; /* a REPORT under way: channel, fragments sent */
    uint64_t report_at;                  /* ... and ssn */
    uint32_t busy; /* 1: the fan-out below has something to look for */
    uint32_t gone;
    uint32_t pad;
    struct hark_pool pool;
    struct hark_table pairs;
    struct hark_table positions;
    struct hark_past past; /* exact gate */
};

#define HARK_HF(m, s) HARK_FIELD(struct hark_hydee, m, s)
#define HARK_HC(m, s) HARK_FIELD(struct hark_hydee_channel, m, s)
static const struct hark_field hark_hydee_fields[] = {HARK_ENDS_FIELDS(struct hark_hydee),
    HARK_WAVE_FIELDS(struct hark_hydee), HARK_HF(phase, "Phase"), HARK_HF(date, "Date"), HARK_HF(rel, "rel"),
    HARK_HF(recovering, ""), HARK_HF(reported, ""), HARK_HF(drained, ""), HARK_HF(flags, ""), HARK_HF(plain, ""), HARK_HF(gone, ""),
    HARK_PAST_FIELDS(struct hark_hydee)};
static const struct hark_field hark_hydee_channel_fields[] = {HARK_CHANNEL_FIELDS(struct hark_hydee_channel),
    HARK_HC(tx, "pend"), HARK_HC(first, "Logs"), HARK_HC(base, "sent"), HARK_HC(orph, "orph"), HARK_HC(theirs, ""),
    HARK_HC(orph_digest, ""), HARK_HC(sent_digest, ""), HARK_HC(recv_digest, ""), HARK_HC(orph_at, ""),
    HARK_HC(orph_out, ""), HARK_HC(orph_in, ""), HARK_FIELD_QUEUE(struct hark_hydee_channel, log, "Logs.phase"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, digests, "Logs.digest"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, rpp, "RPP"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, recorded, "recPh"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, index, "Logs.V"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, rpp_index, "RPP.V")};
static const struct hark_field hark_hydee_pair_fields[] = {
    HARK_FIELD(struct hark_hydee_pair, rank, "j"), HARK_FIELD(struct hark_hydee_pair, flags, "POS")};
static const struct hark_field hark_hydee_position_fields[] = {HARK_FIELD(struct hark_hydee_position, id, "ckptNo"),
    HARK_FIELD(struct hark_hydee_position, peer, "j"), HARK_FIELD(struct hark_hydee_position, ctx, "ctx"),
    HARK_FIELD(struct hark_hydee_position, sent, "sent"), HARK_FIELD(struct hark_hydee_position, recv, "recv")};
static const struct hark_rows hark_hydee_rows[] = {HARK_ENDS_TABLES(struct hark_hydee),
    HARK_WAVE_TABLES(struct hark_hydee),
    {"pairs", "", (uint16_t)offsetof(struct hark_hydee, pairs), sizeof(struct hark_hydee_pair), 2,
        hark_hydee_pair_fields},
    {"positions", "", (uint16_t)offsetof(struct hark_hydee, positions), sizeof(struct hark_hydee_position), 5,
        hark_hydee_position_fields},
    HARK_PAST_TABLES(struct hark_hydee),
    {"channels", "", (uint16_t)offsetof(struct hark_hydee, ends.channels), sizeof(struct hark_hydee_channel),
        HARK_COUNT(hark_hydee_channel_fields), hark_hydee_channel_fields},
    {"pool", "", (uint16_t)offsetof(struct hark_hydee, pool.chunks), sizeof(struct hark_chunk), 0, NULL}};
static const struct hark_shape hark_hydee_shape = {"hydee", 2, HARK_COUNT(hark_hydee_fields),
    HARK_COUNT(hark_hydee_rows), sizeof(struct hark_hydee), hark_hydee_fields, hark_hydee_rows,
    offsetof(struct hark_hydee, pool)};

HARK_FN uint64_t hark_hydee_size(const struct hark_config *config);
HARK_FN int hark_hydee_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_hydee_step(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_hydee_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_hydee_violated(const struct hark *p);

#if HARK_BODIES

static inline struct hark_hydee_channel *hark_hydee_at(struct hark_hydee *s, uint32_t i)
{
    return (struct hark_hydee_channel *)hark_row(&s->head, &s->ends.channels, i);
}

static inline bool hark_hydee_inter(const struct hark_hydee_channel *c)
{
    return !(c->channel.flags & HARK_INTRA);
}

/* Room for new channels and for new chunks of their queues. */
static inline int hark_hydee_reserve(struct hark_hydee *s, uint32_t channels, uint32_t chunks)
{
    int status = hark_reserve(&s->head, &hark_hydee_shape, &s->ends.channels, channels);
    if (status >= 0) status = hark_pool_reserve(&s->head, &hark_hydee_shape, &s->pool, chunks);
    return status;
}

/* Room for hark_hydee_captured: a wave may end in this step, and the step may have made a channel. */
static inline int hark_hydee_reserve_positions(struct hark_hydee *s)
{
    return hark_reserve(&s->head, &hark_hydee_shape, &s->positions, s->ends.channels.count + 1);
}

static inline struct hark_hydee_channel *hark_hydee_find(struct hark_hydee *s, uint32_t peer, uint16_t ctx)
{
    return (struct hark_hydee_channel *)(void *)hark_channel_find(&s->head, &s->ends, peer, ctx);
}

HARK_COLD struct hark_hydee_channel *hark_hydee_add(struct hark_hydee *s, uint32_t peer, uint16_t ctx)
{
    struct hark_hydee_channel *c =
        (struct hark_hydee_channel *)(void *)hark_channel_add(&s->head, &s->ends, peer, ctx);
    c->theirs = HARK_INFINITY;
    c->first = 1;
    c->log.width = c->rpp.width = c->recorded.width = c->index.width = c->rpp_index.width = 2;
    c->digests.width = 1;
    return c;
}

static inline struct hark_hydee_channel *hark_hydee_channel(struct hark_hydee *s, uint32_t peer, uint16_t ctx)
{
    struct hark_hydee_channel *c = hark_hydee_find(s, peer, ctx);
    return c ? c : hark_hydee_add(s, peer, ctx);
}

/* ---- Algorithm 1, with Algorithm 2 lines 11-20 ------------------------------------------------------------ */

/* Any mixing will do that depends on order, ssn and length; (8.9 of the rules). */
static inline uint64_t hark_digest_mix(uint64_t running, uint64_t ssn, uint64_t length, uint64_t digest)
{
    uint64_t x = (running ^ digest) * UINT64_C(0x9e3779b97f4a7c15) + ssn * UINT64_C(0xbf58476d1ce4e5b9) + length;
    x ^= x >> 29;
    return x ? x : 1;
}

/* The header of message ssn, `length` bytes; of the exact gate's part it writes nothing. */
static inline struct hark_effect *hark_hydee_transmit_as(struct hark_hydee *s, const struct hark_hydee_channel *c,
    uint64_t ssn, uint64_t phase, uint64_t digest, uint32_t length, struct hark_effects *fx)
{
    uint8_t *b;
    struct hark_head h = {HARK_KIND_HYDEE, HARK_APP, c->channel.ctx, s->ends.me, c->channel.peer, s->ends.inc,
        c->channel.inc, s->ends.re, ssn};
    struct hark_effect *x = hark_emit_frame(fx, &h, length, &b);
    hark_put64(b, phase);
    hark_put64(b + 8, digest);
    x->name = hark_name_of(HARK_OUT, &c->channel, ssn);
    x->u.phase = phase;
    return x;
}

static inline struct hark_effect *hark_hydee_transmit(struct hark_hydee *s, const struct hark_hydee_channel *c,
    uint64_t ssn, uint64_t phase, uint64_t digest, struct hark_effects *fx)
{
    return hark_hydee_transmit_as(s, c, ssn, phase, digest, HARK_HYDEE_HEADER, fx);
}

/* The same with V of table `t`; there is room for HARK_PAST_HEADER_MAX bytes. */
HARK_COLD struct hark_effect *hark_hydee_transmit_exact(struct hark_hydee *s, const struct hark_hydee_channel *c,
    uint64_t ssn, uint64_t phase, uint64_t digest, uint64_t number, const struct hark_table *t, struct hark_effects *fx)
{
    bool known = number < s->past.blind;
    uint32_t length = hark_past_write(&s->head, t, number, known, fx->bytes + fx->used + HARK_HYDEE_HEADER,
        HARK_PAST_HEADER_MAX - HARK_HYDEE_HEADER);
    return hark_hydee_transmit_as(s, c, ssn, phase, digest, HARK_HYDEE_HEADER + length, fx);
}

static inline void hark_hydee_diverged(const struct hark_hydee_channel *c, uint64_t expected, uint64_t got,
    struct hark_effects *fx)
{
    struct hark_effect *x = hark_emit(fx, HARK_DIVERGED);
    x->name = hark_name_of(HARK_OUT, &c->channel, c->base + 1);
    x->u.last = c->orph;
    x->expected = expected;
    x->got = got;
}

/* The running digest after ssn, from the log; 0 if it is not known. */
static inline uint64_t hark_hydee_digest_at(struct hark_hydee *s, const struct hark_hydee_channel *c, uint64_t ssn)
{
    struct hark_place at = hark_queue_begin(&c->digests);
    const uint64_t *row = NULL;
    if (ssn < c->first || ssn - c->first >= c->digests.count) return 0;
    for (uint64_t i = c->first; i <= ssn; i++) row = hark_queue_next(&s->head, &s->pool, &c->digests, &at);
    return *row;
}

/* At the last orphan: was the same sent as before? */
static inline void hark_hydee_compare(struct hark_hydee *s, const struct hark_hydee_channel *c, uint64_t got,
    struct hark_effects *fx)
{
    if (!(s->flags & HARK_DIGEST) || c->orph_digest == 0 || got == 0 || got == c->orph_digest) return;
    hark_hydee_diverged(c, c->orph_digest, got, fx);
}

/* An orphan is sent again: nothing is transmitted, and the recovery process hears of it (Alg. 2 l. 14-15).
 * Never gated (E7); logged all the same (E15), at the phase that its receiver recorded (E6). */
HARK_COLD uint64_t hark_hydee_suppress(struct hark_hydee *s, struct hark_hydee_channel *c, uint64_t ssn,
    struct hark_effects *fx)
{
    uint64_t phase = s->phase, first, last, recorded;
    struct hark_runs r = hark_runs_begin(&s->head, &s->pool, &c->recorded, ssn, ssn);
    if (hark_runs_next(&s->head, &s->pool, &c->recorded, &r, &first, &last, &recorded)) phase = recorded;
    c->tx = ssn;
    c->channel.flags |= HARK_HYDEE_NOTIFY;
    s->busy = 1;
    struct hark_effect *x = hark_emit(fx, HARK_SUPPRESS);
    x->name = hark_name_of(HARK_OUT, &c->channel, ssn);
    x->u.phase = phase;
    if (ssn == c->orph) hark_hydee_compare(s, c, c->sent_digest, fx);
    return phase;
}

/* May a message of this phase and number leave now? */
static inline bool hark_hydee_may(const struct hark_hydee *s, uint64_t phase, uint64_t number)
{
    return phase <= s->rel || number < s->past.open;
}

/* `flags` are the state's: a constant 0 makes a function without tests for them. */
HARK_HOT int hark_hydee_send_with(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx,
    uint32_t flags)
{
    struct hark *p = &s->head;
    bool exact = (flags & HARK_EXACT_GATE) != 0;
    uint32_t peer = event->u.send.peer;
    if (event->u.send.to != HARK_PROCESS || peer >= s->ends.ranks) return HARK_EINVAL;
    if (s->wave.at) return HARK_ESTATE; /* inside a checkpoint call nothing is sent */
    int status = hark_hydee_reserve(s, 1, exact ? 3 + hark_past_post_needs(&s->past) : 2);
    if (status >= 0 && exact) status = hark_past_reserve(p, &hark_hydee_shape, &s->past, 0);
    if (status < 0) return status;
    struct hark_hydee_channel *c = hark_hydee_channel(s, peer, event->u.send.ctx);
    uint64_t ssn = ++c->channel.sent, phase = s->phase, number = 0; /* fixed now, whenever it leaves */
    s->date++;                                                                                     /* Alg. 1 l. 6 */
    if (flags & HARK_DIGEST)
        c->sent_digest = hark_digest_mix(c->sent_digest, ssn, event->u.send.length, event->u.send.digest);
    if (!hark_hydee_inter(c)) { /* never logged, never gated: the freezing wave covers it */
        c->tx = ssn;
        if (exact) hark_hydee_transmit_exact(s, c, ssn, phase, c->sent_digest, s->past.posts, &s->past.now, fx);
        else hark_hydee_transmit(s, c, ssn, phase, c->sent_digest, fx);
        return HARK_OK;
    }
    if (exact) number = hark_past_post(p, &s->pool, &s->past);
    if (ssn <= c->orph) {
        phase = hark_hydee_suppress(s, c, ssn, fx);
    } else if ((exact ? hark_hydee_may(s, phase, number) : phase <= s->rel) && c->tx + 1 == ssn) {
        c->tx = ssn; /* behind pending replays it would have queued (E13) */
        if (exact) hark_hydee_transmit_exact(s, c, ssn, phase, c->sent_digest, number, &s->past.now, fx);
        else hark_hydee_transmit(s, c, ssn, phase, c->sent_digest, fx);
    }
    hark_runs_add(p, &s->pool, &c->log, ssn, phase);                                            /* Alg. 1 l. 7-8 */
    if (exact) hark_runs_add(p, &s->pool, &c->index, ssn, number - ssn);
    if (flags & HARK_DIGEST) *hark_queue_push(p, &s->pool, &c->digests) = c->sent_digest;
    hark_emit(fx, HARK_RETAIN)->name = hark_name_of(HARK_OUT, &c->channel, ssn);
    return HARK_OK;
}

HARK_COLD int hark_hydee_send_flagged(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    return hark_hydee_send_with(s, event, fx, s->flags);
}

/* Sending message msg to P_j.                                                       Alg. 1 l. 5-9, Alg. 2 l. 11-20 */
static inline int hark_hydee_send(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    return s->flags ? hark_hydee_send_flagged(s, event, fx) : hark_hydee_send_with(s, event, fx, 0);
}

/* Upon receiving (msg, Date_send, Phase_send): the arrival. RPP is about what arrived.       Alg. 1 l. 10-14 */
static inline int hark_hydee_arrive(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, uint32_t length,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_hydee_channel *c = hark_hydee_find(s, h->src, h->ctx);
    if (hark_arrived_take(p, &s->ends.waiting, h->src, h->ctx, h->ssn))
        return hark_fate(fx, HARK_HANDUP); /* from the image: it had arrived */
    int age = hark_age_by(&s->ends, h, c ? c->channel.inc : hark_inc_of(p, &s->ends, h->src));
    if (age != HARK_CURRENT) return hark_fate(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    int status = hark_hydee_reserve(s, 1, 2);
    if (status >= 0 && s->wave.mode != HARK_W_RUN) status = hark_hydee_reserve_positions(s);
    if (status < 0) return status;
    c = hark_hydee_channel(s, h->src, h->ctx); /* rows may have moved */
    hark_accept(p, &s->ends, &c->channel, h, fx);
    if (fx->at[fx->count - 1].type != HARK_HANDUP) return HARK_OK;
    if (hark_hydee_inter(c)) {
        hark_runs_add(p, &s->pool, &c->rpp, h->ssn, hark_get64(b));                                 /* l. 13-14 */
        if (length != HARK_HYDEE_HEADER - HARK_WIRE_HEAD)
            hark_runs_add(p, &s->pool, &c->rpp_index, h->ssn, hark_get64(b + 16) - h->ssn);
    }
    c->recv_digest = hark_get64(b + 8);
    hark_wave_arrived(&s->wave, &c->channel, fx);
    hark_offer_gap(&c->channel, fx);
    return HARK_OK;
}

/* Room for V of a message whose header is not as long as all are without the exact gate. */
HARK_COLD int hark_hydee_deliver_room(struct hark_hydee *s, struct hark_bytes header)
{
    const uint8_t *b = header.at;
    if (!(s->flags & HARK_EXACT_GATE) || header.length < HARK_HYDEE_HEADER || b == NULL) return HARK_EFRAME;
    if (!hark_past_valid(b + HARK_HYDEE_HEADER, header.length - HARK_HYDEE_HEADER, s->ends.ranks)) return HARK_EFRAME;
    uint32_t entries = hark_get32(b + HARK_HYDEE_HEADER + 8);
    return hark_past_reserve(&s->head, &hark_hydee_shape, &s->past, entries == HARK_PAST_UNKNOWN ? 1 : entries + 1);
}

/* Deliver msg to the application: the phase moves here.                                       Alg. 1 l. 11-18 */
static inline int hark_hydee_deliver(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark_bytes header = event->u.frame.header;
    bool exact = header.length != s->plain;
    int status = exact ? hark_hydee_deliver_room(s, header) : HARK_OK;
    if (status < 0) return status;
    if (s->wave.at) return HARK_ESTATE;
    struct hark_channel *c;
    status = hark_deliver_position(&s->head, &hark_hydee_shape, &s->ends, event, &c);
    if (status < 0) return status;
    uint64_t phase = hark_get64(header.at + HARK_WIRE_HEAD);
    if (!(c->flags & HARK_INTRA)) phase++;                                                           /* l. 12 */
    if (phase > s->phase) s->phase = phase;                                                      /* l. 12, 16 */
    s->date++;                                                                                       /* l. 17 */
    if (exact)
        hark_past_deliver(&s->head, &s->past, s->ends.me, c->peer, header.at + HARK_HYDEE_HEADER,
            header.length - HARK_HYDEE_HEADER);
    return HARK_OK;
}

/* Upon checkpoint: remembers the positions of this image, for the notices after later commits.  Alg. 1 l. 19-21 */
HARK_COLD void hark_hydee_captured(struct hark_hydee *s)
{
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c)) continue;
        struct hark_hydee_position *x =
            (struct hark_hydee_position *)hark_insert(&s->head, &s->positions, s->positions.count);
        x->id = s->wave.wave;
        x->peer = c->channel.peer;
        x->ctx = c->channel.ctx;
        x->sent = c->channel.sent;
        x->recv = c->channel.recv;
    }
}

/* ---- garbage collection, III.E, by checkpoint-time positions and only after COMMIT (E3) ----------------------- */

static inline struct hark_hydee_position *hark_hydee_position_of(struct hark_hydee *s, uint64_t id, uint32_t peer,
    uint16_t ctx)
{
    for (uint32_t i = 0; i < s->positions.count; i++) {
        struct hark_hydee_position *x = (struct hark_hydee_position *)hark_row(&s->head, &s->positions, i);
        if (x->id == id && x->peer == peer && x->ctx == ctx) return x;
    }
    return NULL;
}

/* After a wave is over: positions of images that are gone go, and if one was committed and as many
 * generations are kept as there should be, every peer hears the positions of the oldest. */
HARK_COLD void hark_hydee_gc(struct hark_hydee *s, bool committed)
{
    const struct hark_wave *w = &s->wave;
    uint64_t oldest = w->kept.count ? ((const struct hark_image *)hark_row_of(&s->head, &w->kept, 0))->id : 0;
    uint64_t newest =
        w->kept.count ? ((const struct hark_image *)hark_row_of(&s->head, &w->kept, w->kept.count - 1))->id : 0;
    for (uint32_t i = s->positions.count; i-- > 0;) {
        const struct hark_hydee_position *x = (const struct hark_hydee_position *)hark_row(&s->head, &s->positions, i);
        if (x->id < oldest || x->id > newest) hark_remove(&s->head, &s->positions, i);
    }
    if (!committed || w->kept.count < w->generations) return;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_position_of(s, oldest, c->channel.peer, c->channel.ctx)) continue;
        c->channel.flags |= HARK_HYDEE_GC;
        s->busy = 1;
    }
}

/* Exact gate: the lowest number in the log, or of all that I have posted. */
HARK_COLD uint64_t hark_hydee_oldest(struct hark_hydee *s)
{
    uint64_t oldest = s->past.posts;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const uint64_t *run = hark_queue_first(&s->head, &s->pool, &hark_hydee_at(s, i)->index);
        if (run && run[0] + run[1] < oldest) oldest = run[0] + run[1];
    }
    return oldest;
}

/* GC from j: {recv u64, sent u64} of j's oldest kept image. */
static inline int hark_hydee_trim(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    struct hark_effects *fx)
{
    struct hark_hydee_channel *c =
        (struct hark_hydee_channel *)(void *)hark_channel_find(&s->head, &s->ends, h->src, h->ctx);
    if (c == NULL || !hark_hydee_inter(c)) return hark_fate(fx, HARK_DISCARD);
    uint64_t recv = hark_get64(b), sent = hark_get64(b + 8);
    hark_runs_trim(&s->head, &s->pool, &c->rpp, sent, c->channel.recv);
    hark_runs_trim(&s->head, &s->pool, &c->rpp_index, sent, c->channel.recv);
    if (recv > c->channel.sent) recv = c->channel.sent;
    if (recv < c->first) return HARK_OK;
    hark_runs_trim(&s->head, &s->pool, &c->log, recv, c->channel.sent);
    hark_runs_trim(&s->head, &s->pool, &c->index, recv, c->channel.sent);
    for (; c->first <= recv; c->first++)
        if (c->digests.count) hark_queue_pop(&s->head, &s->pool, &c->digests);
    if (s->flags & HARK_EXACT_GATE) hark_past_trim(&s->head, &s->pool, &s->past, hark_hydee_oldest(s));
    hark_emit(fx, HARK_TRIM)->name = hark_name_of(HARK_OUT, &c->channel, recv);
    return HARK_OK;
}

/* ---- Algorithms 2 and 3, as every process's own part -------------------------------------------------------- */

static inline struct hark_hydee_pair *hark_hydee_pair(struct hark_hydee *s, uint32_t rank)
{
    uint32_t i = 0;
    while (i < s->pairs.count && ((struct hark_hydee_pair *)hark_row(&s->head, &s->pairs, i))->rank < rank) i++;
    struct hark_hydee_pair *x = i < s->pairs.count ? (struct hark_hydee_pair *)hark_row(&s->head, &s->pairs, i) : NULL;
    if (x && x->rank == rank) return x;
    x = (struct hark_hydee_pair *)hark_insert(&s->head, &s->pairs, i);
    x->rank = rank;
    return x;
}

/* Upon failure: forget what the last epoch worked out (E11) and exchange positions on every channel with an
 * end in D. Those without one stay as they are, gated.                              Alg. 2 l. 4-8, Alg. 3 l. 6-18 */
static inline int hark_hydee_failed(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
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
    int status = hark_failed_reserve(p, &hark_hydee_shape, e, event);
    if (status >= 0) status = hark_reserve(p, &hark_hydee_shape, &s->wave.kept, 1);
    if (status >= 0) status = hark_reserve(p, &hark_hydee_shape, &s->pairs, e->channels.count);
    if (status < 0) return status;
    hark_wave_failed(p, e, &s->wave, event, fx);
    hark_failed_take(p, e, event);
    hark_empty(p, &s->pairs);
    hark_past_close(p, &s->past);
    s->recovering = s->busy = 1;
    s->rel = 0;
    s->reported = s->drained = s->report_out = s->report_channel = 0;
    s->report_at = 0;
    bool mine = hark_is_down(p, e, e->me);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c)) continue;
        c->channel.flags &= (uint16_t) ~(HARK_HYDEE_NOTIFY | HARK_HYDEE_ORPH_DUE | HARK_HYDEE_ORPH_WAIT);
        c->base = c->channel.sent;
        c->orph = c->orph_digest = c->orph_at = 0;
        c->theirs = HARK_INFINITY; /* only a POS says otherwise: nothing on other channels is an orphan */
        c->orph_in = c->orph_out = 0;
        hark_queue_clear(p, &s->pool, &c->recorded);
        if (mine || hark_is_down(p, e, c->channel.peer))
            hark_hydee_pair(s, c->channel.peer)->flags = HARK_HYDEE_POS_DUE;
    }
    return HARK_OK;
}

/* What j's POS says of one context. */
static inline void hark_hydee_pos_channel(struct hark_hydee *s, struct hark_hydee_channel *c, uint64_t their_sent,
    uint64_t their_recv, uint64_t digest, struct hark_effects *fx)
{
    uint64_t sent = c->channel.sent;
    c->orph = their_recv;
    c->orph_digest = digest;
    c->theirs = their_sent;
    c->tx = their_recv < sent ? their_recv : sent; /* replay: recv_j < ssn <= sent (E2, E4) */
    if (their_recv > c->base) {
        c->channel.flags |= HARK_HYDEE_ORPH_WAIT;
        if (sent > c->base) c->channel.flags |= HARK_HYDEE_NOTIFY; /* posted before this POS came */
        if (sent >= their_recv) hark_hydee_compare(s, c, hark_hydee_digest_at(s, c, their_recv), fx);
    }
    if (their_sent < c->channel.recv) { /* orphans j -> i */
        c->channel.flags |= HARK_HYDEE_ORPH_DUE;
        c->orph_at = their_sent + 1;
    }
}

/* POS from j: u32 contexts, u32 0, then {ctx u16, 0 u16, 0 u32, sent u64, recv u64, digest u64}; LastDate and
 * Rollback of the paper in one, in both directions.                        Alg. 2 l. 9-10, Alg. 3 l. 7-14, 20-21 */
static inline int hark_hydee_pos(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    struct hark_effects *fx)
{
    struct hark_hydee_pair *pair = hark_hydee_pair(s, h->src);
    uint32_t n = hark_get32(b);
    if (pair->flags & HARK_HYDEE_POS_GOT) return hark_fate(fx, HARK_DISCARD);
    pair->flags |= HARK_HYDEE_POS_GOT;
    if (!(pair->flags & HARK_HYDEE_POS_SENT)) pair->flags |= HARK_HYDEE_POS_DUE; /* v2: who knows none answers */
    s->busy = 1;
    for (uint32_t i = 0; i < n; i++) hark_hydee_channel(s, h->src, hark_get16(b + 8 + 32 * i));
    for (uint32_t i = hark_channel_search(&s->head, &s->ends, h->src, 0); i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        const uint8_t *row = NULL;
        if (c->channel.peer != h->src) break;
        for (uint32_t k = 0; k < n; k++)
            if (hark_get16(b + 8 + 32 * k) == c->channel.ctx) row = b + 8 + 32 * k;
        if (row) hark_hydee_pos_channel(s, c, hark_get64(row + 8), hark_get64(row + 16), hark_get64(row + 24), fx);
        else hark_hydee_pos_channel(s, c, 0, 0, 0, fx);
    }
    s->ends.offer = 1; /* an ORPH may have overtaken it */
    return HARK_OK;
}

/* ORPH from j: u32 (fragment << 16 | last), u32 0, then runs {first u64, last u64, phase u64} of my messages
 * that j has: their recorded phases go into the log, also of those already posted again (E6). */
static inline int hark_hydee_orph(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, uint32_t length,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_hydee_channel *c = (struct hark_hydee_channel *)(void *)hark_channel_find(p, &s->ends, h->src, h->ctx);
    if (c == NULL || !hark_hydee_inter(c)) return hark_fate(fx, HARK_DISCARD);
    if (!(hark_hydee_pair(s, h->src)->flags & HARK_HYDEE_POS_GOT) || hark_get32(b) >> 16 != c->orph_in)
        return hark_fate(fx, HARK_HOLD); /* it has overtaken j's POS, or another fragment */
    for (uint32_t at = 8; at < length; at += 24) {
        uint64_t first = hark_get64(b + at), last = hark_get64(b + at + 8), phase = hark_get64(b + at + 16);
        if (first == 0 || first > last) continue;
        if (first <= c->channel.sent)
            hark_runs_write(p, &s->pool, &c->log, first, last, phase, c->channel.sent);
        if (last <= c->channel.sent) continue;
        uint64_t *row = hark_queue_push(p, &s->pool, &c->recorded);
        row[0] = first;
        row[1] = phase;
    }
    c->orph_in++;
    if (hark_get32(b) & 1) c->channel.flags &= (uint16_t)~HARK_HYDEE_ORPH_WAIT;
    s->busy = s->ends.offer = 1;
    return HARK_OK;
}

/* RELEASE: the gate opens up to a phase, and never closes again in this epoch.     Alg. 2 l. 8, Alg. 3 l. 18, 22 */
static inline int hark_hydee_release(struct hark_hydee *s, const uint8_t *b, uint32_t length)
{
    uint64_t rel = hark_get64(b);
    if (rel > s->rel) s->rel = rel;
    if (length > 8) hark_past_release(&s->head, &s->pool, &s->past, b + 8, length - 8);
    s->busy = 1;
    return HARK_OK;
}

/* RECDONE: failure-free functions again.                                              Alg. 2 l. 22, Alg. 3 l. 19 */
static inline int hark_hydee_recdone(struct hark_hydee *s, struct hark_effects *fx)
{
    s->recovering = 0;
    s->rel = HARK_INFINITY;
    hark_past_close(&s->head, &s->past);
    hark_empty(&s->head, &s->pairs);
    hark_empty(&s->head, &s->ends.down);
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        c->orph = c->base = c->orph_digest = c->orph_at = 0;
        c->theirs = HARK_INFINITY;
        c->orph_in = c->orph_out = 0;
        hark_queue_clear(&s->head, &s->pool, &c->recorded);
    }
    s->ends.offer = 1; /* the next wave's ASK may have been held */
    hark_emit(fx, HARK_RECOVERED);
    return HARK_OK;
}

/* QUIET: orphans that nobody will send again are a divergence, not a hang (8.9 of the rules). */
static inline int hark_hydee_quiet(struct hark_hydee *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->ends.channels.count && s->recovering; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c) || c->channel.sent >= c->orph || !hark_effects_fit(fx, 1, 0)) continue;
        hark_hydee_diverged(c, 0, 0, fx);
        fx->at[fx->count - 1].name.ssn = c->channel.sent + 1;
    }
    return HARK_OK;
}

/* ---- what a step still has to send; each returns HARK_MORE when the effects are full ------------------------- */

static inline int hark_hydee_pump_pos(struct hark_hydee *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    for (uint32_t i = 0; i < s->pairs.count; i++) {
        struct hark_hydee_pair *pair = (struct hark_hydee_pair *)hark_row(p, &s->pairs, i);
        if (!(pair->flags & HARK_HYDEE_POS_DUE)) continue;
        uint32_t first = hark_channel_search(p, &s->ends, pair->rank, 0), n = 0;
        while (first + n < s->ends.channels.count && hark_hydee_at(s, first + n)->channel.peer == pair->rank) n++;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 8 + 32 * n)) return HARK_MORE;
        uint8_t *b = hark_emit_control(p, &s->ends, fx, HARK_H_POS, pair->rank, 8 + 32 * n);
        hark_put32(b, n);
        hark_put32(b + 4, 0);
        for (uint32_t k = 0; k < n; k++) {
            struct hark_hydee_channel *c = hark_hydee_at(s, first + k);
            uint8_t *row = b + 8 + 32 * k;
            hark_put64(row, c->channel.ctx);
            hark_put64(row + 8, c->base);
            hark_put64(row + 16, c->channel.recv);
            hark_put64(row + 24, c->recv_digest);
        }
        pair->flags = (pair->flags & ~(uint32_t)HARK_HYDEE_POS_DUE) | HARK_HYDEE_POS_SENT;
    }
    return HARK_OK;
}

/* Orphans j -> i, to j, so that its log keeps their recorded phases. */
static inline int hark_hydee_pump_orph(struct hark_hydee *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        struct hark_runs r = hark_runs_begin(p, &s->pool, &c->rpp, c->orph_at, c->channel.recv);
        while (c->channel.flags & HARK_HYDEE_ORPH_DUE) {
            uint64_t first, last, phase;
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            uint8_t *b = hark_emit_control(p, &s->ends, fx, HARK_H_ORPH, c->channel.peer, 8);
            uint32_t at = 8;
            while (at + 24 <= HARK_FRAGMENT - HARK_WIRE_HEAD &&
                   hark_runs_next(p, &s->pool, &c->rpp, &r, &first, &last, &phase)) {
                hark_put64(b + at, first);
                hark_put64(b + at + 8, last);
                hark_put64(b + at + 16, phase);
                at += 24;
            }
            bool end = r.from > r.end;
            c->orph_at = r.from;
            hark_put16(b - HARK_WIRE_HEAD + 2, c->channel.ctx);
            hark_put32(b, c->orph_out++ << 16 | end);
            hark_put32(b + 4, 0);
            fx->used += at - 8;
            fx->at[fx->count - 1].header.length = HARK_WIRE_HEAD + at;
            if (end) c->channel.flags &= (uint16_t)~HARK_HYDEE_ORPH_DUE;
        }
    }
    return HARK_OK;
}

/* REPORT: the orphans that I have received, once the answers to my POS are in.                Alg. 3 l. 13-16 */
static inline int hark_hydee_pump_report(struct hark_hydee *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool exact = (s->flags & HARK_EXACT_GATE) != 0;
    uint32_t row = exact ? 40 : 32;
    if (!s->recovering || s->reported) return HARK_OK;
    for (uint32_t i = 0; i < s->pairs.count; i++)
        if (!(((struct hark_hydee_pair *)hark_row(p, &s->pairs, i))->flags & HARK_HYDEE_POS_GOT)) return HARK_OK;
    while (!s->reported) {
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        uint8_t *b = hark_emit_control(p, &s->ends, fx, HARK_H_REPORT, HARK_RECOVERY, 8);
        uint32_t at = 8;
        for (; s->report_channel < s->ends.channels.count; s->report_channel++, s->report_at = 0) {
            struct hark_hydee_channel *c = hark_hydee_at(s, s->report_channel);
            uint64_t first, last, phase, number, until = 0, index = 0;
            if (!hark_hydee_inter(c) || c->theirs >= c->channel.recv) continue;
            uint64_t from = s->report_at > c->theirs ? s->report_at : c->theirs + 1;
            if (from > c->channel.recv) continue;
            struct hark_runs r = hark_runs_begin(p, &s->pool, &c->rpp, from, c->channel.recv);
            struct hark_runs n = hark_runs_begin(p, &s->pool, &c->rpp_index, from, c->channel.recv);
            while (at + row <= HARK_FRAGMENT - HARK_WIRE_HEAD &&
                   hark_runs_next(p, &s->pool, &c->rpp, &r, &first, &last, &phase)) {
                while (exact && until < first && hark_runs_next(p, &s->pool, &c->rpp_index, &n, &number, &until, &index)) {}
                if (exact && last > until) r.from = (last = until) + 1; /* the numbers of a run have no gaps */
                hark_put32(b + at, c->channel.peer);
                hark_put32(b + at + 4, c->channel.ctx);
                hark_put64(b + at + 8, first);
                hark_put64(b + at + 16, last);
                hark_put64(b + at + 24, phase);
                if (exact) hark_put64(b + at + 32, first + index);
                at += row;
            }
            s->report_at = r.from;
            if (r.from <= r.end) break;
        }
        s->report_out++;
        s->reported = s->report_channel >= s->ends.channels.count;
        hark_put32(b, (s->reported ? s->report_out << 16 | 1 : 0) | (exact ? HARK_R_EXACT : 0));
        hark_put32(b + 4, 0);
        fx->used += at - 8;
        fx->at[fx->count - 1].header.length = HARK_WIRE_HEAD + at;
    }
    return HARK_OK;
}

/* OrphanNotification, by id; not before the first RELEASE, else the recovery process may hear of an orphan
 * before the REPORT that lists it (v3).                                                             Alg. 2 l. 15 */
static inline int hark_hydee_pump_notify(struct hark_hydee *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->ends.channels.count && s->rel > 0; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!(c->channel.flags & HARK_HYDEE_NOTIFY)) continue;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 12)) return HARK_MORE;
        uint8_t *b = hark_emit_control(&s->head, &s->ends, fx, HARK_H_NOTIFY, HARK_RECOVERY, 12);
        hark_put16(b - HARK_WIRE_HEAD + 2, c->channel.ctx);
        hark_put32(b, c->channel.peer);
        hark_put64(b + 4, c->channel.sent < c->orph ? c->channel.sent : c->orph);
        c->channel.flags &= (uint16_t)~HARK_HYDEE_NOTIFY;
    }
    return HARK_OK;
}

/* Exact gate: a walk over the numbers of Logs[j]. */
struct hark_hydee_numbers {
    struct hark_runs index;
    struct hark_place place; /* of V in the history */
    uint64_t first, last, less;
};

static inline uint64_t hark_hydee_number(struct hark_hydee *s, const struct hark_hydee_channel *c,
    struct hark_hydee_numbers *n, uint64_t ssn)
{
    while (n->last < ssn)
        if (!hark_runs_next(&s->head, &s->pool, &c->index, &n->index, &n->first, &n->last, &n->less)) return HARK_INFINITY;
    return ssn + n->less;
}

/* What may leave of channel c, ssn ascending; each once (E12). */
static inline int hark_hydee_replay(struct hark_hydee *s, struct hark_hydee_channel *c, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool exact = (s->flags & HARK_EXACT_GATE) != 0;
    uint64_t first, last, phase, digest_of = c->first;
    const uint64_t *digest = NULL;
    struct hark_runs r = hark_runs_begin(p, &s->pool, &c->log, c->tx + 1, c->channel.sent);
    struct hark_place at = hark_queue_begin(&c->digests);
    struct hark_hydee_numbers n = {hark_runs_begin(p, &s->pool, &c->index, c->tx + 1, c->channel.sent), {0, 0, 0}, 0, 0, 0};
    if (exact) n.place = hark_past_rewind(p, &s->past);
    while (hark_runs_next(p, &s->pool, &c->log, &r, &first, &last, &phase)) {
        for (uint64_t ssn = first; ssn <= last; ssn++) {
            uint64_t number = exact ? hark_hydee_number(s, c, &n, ssn) : HARK_INFINITY;
            if (!hark_hydee_may(s, phase, number)) return HARK_OK;
            if (!hark_effects_fit(fx, 1, exact ? HARK_PAST_HEADER_MAX : HARK_HYDEE_HEADER)) return HARK_MORE;
            for (; c->digests.count && digest_of <= ssn; digest_of++)
                digest = hark_queue_next(p, &s->pool, &c->digests, &at);
            if (exact) hark_past_forward(p, &s->pool, &s->past, &n.place, number);
            (exact ? hark_hydee_transmit_exact(s, c, ssn, phase, digest ? *digest : 0, number, &s->past.at, fx)
                   : hark_hydee_transmit(s, c, ssn, phase, digest ? *digest : 0, fx))->replay = 1;
            c->tx = ssn;
        }
    }
    return HARK_OK;
}

/* NotifySendLog and delayed sends: in each channel what the release covers.                         Alg. 3 l. 22-24 */
static inline int hark_hydee_pump_replay(struct hark_hydee *s, struct hark_effects *fx)
{
    int status = HARK_OK;
    for (uint32_t i = 0; i < s->ends.channels.count && s->rel > 0 && status == HARK_OK; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (hark_hydee_inter(c) && c->tx < c->channel.sent) status = hark_hydee_replay(s, c, fx);
    }
    return status;
}

static inline int hark_hydee_pump_gc(struct hark_hydee *s, struct hark_effects *fx)
{
    uint64_t oldest = s->wave.kept.count ? ((struct hark_image *)hark_row(&s->head, &s->wave.kept, 0))->id : 0;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!(c->channel.flags & HARK_HYDEE_GC)) continue;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
        c->channel.flags &= (uint16_t)~HARK_HYDEE_GC;
        const struct hark_hydee_position *x = hark_hydee_position_of(s, oldest, c->channel.peer, c->channel.ctx);
        if (x == NULL) continue;
        uint8_t *b = hark_emit_control(&s->head, &s->ends, fx, HARK_H_GC, c->channel.peer, 16);
        hark_put16(b - HARK_WIRE_HEAD + 2, c->channel.ctx);
        hark_put64(b, x->recv);
        hark_put64(b + 8, x->sent);
    }
    return HARK_OK;
}

/* DRAINED: everything is released, sent, and known; only then may D shrink (v4). */
static inline int hark_hydee_pump_drained(struct hark_hydee *s, struct hark_effects *fx)
{
    if (!s->recovering || s->drained || s->rel != HARK_INFINITY) return HARK_OK;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_hydee_channel *c = hark_hydee_at(s, i);
        if (!hark_hydee_inter(c)) continue;
        if (c->tx < c->channel.sent || (c->channel.flags & HARK_HYDEE_ORPH_WAIT)) return HARK_OK;
    }
    if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD)) return HARK_MORE;
    s->drained = 1;
    hark_emit_control(&s->head, &s->ends, fx, HARK_H_DRAINED, HARK_RECOVERY, 0);
    return HARK_OK;
}

HARK_COLD int hark_hydee_pump(struct hark_hydee *s, struct hark_effects *fx)
{
    if (s->busy) {
        int status = hark_hydee_pump_pos(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_orph(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_report(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_notify(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_replay(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_gc(s, fx);
        if (status == HARK_OK) status = hark_hydee_pump_drained(s, fx);
        if (status != HARK_OK) return status;
        s->busy = 0;
    }
    int status = hark_wave_pump(&s->head, &s->ends, &s->wave, fx);
    return status == HARK_OK ? hark_offer_all(&s->ends, fx) : status;
}

/* ---- the door --------------------------------------------------------------------------------------------------- */

HARK_FN uint64_t hark_hydee_size(const struct hark_config *c)
{
    if (!hark_config_valid(c)) return 0;
    return sizeof(struct hark_hydee) + (uint64_t)(c->group_count + 4) * sizeof(struct hark_range) + 4096;
}

HARK_FN int hark_hydee_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    if (!hark_config_valid(c)) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_hydee_shape, HARK_KIND_HYDEE);
    if (status < 0) return status;
    s->ends.me = c->me;
    s->ends.ranks = c->ranks;
    s->wave.generations = c->generations ? c->generations : 2;
    s->flags = c->flags & (HARK_DIGEST | HARK_EXACT_GATE);
    s->plain = c->flags & HARK_EXACT_GATE ? 0 : HARK_HYDEE_HEADER;
    s->past.history.width = 3;
    s->past.blind = HARK_INFINITY;
    s->phase = 1;
    s->rel = HARK_INFINITY;
    return hark_group_init(p, &hark_hydee_shape, &s->ends, c, false);
}

static inline bool hark_hydee_length_ok(const struct hark_hydee *s, const struct hark_head *h, const uint8_t *b,
    uint32_t length)
{
    bool exact = (s->flags & HARK_EXACT_GATE) != 0;
    switch (h->type) {
    case HARK_APP:
        return exact && length >= HARK_HYDEE_HEADER - HARK_WIRE_HEAD &&
               hark_past_valid(b + 16, length - 16, s->ends.ranks);
    case HARK_H_POS:
        return length >= 8 && hark_get32(b) <= HARK_HYDEE_CTX_MAX && length == 8 + 32 * hark_get32(b);
    case HARK_H_ORPH: return length >= 8 && (length - 8) % 24 == 0;
    case HARK_H_RELEASE: return h->src == HARK_RECOVERY && (exact ? length >= 16 && length % 16 == 0 : length == 8);
    case HARK_H_RECDONE: return length == 0 && h->src == HARK_RECOVERY;
    case HARK_H_GC: return length == 16;
    default: return hark_wave_length_ok(h->type, length);
    }
}

/* Room for whatever a control frame of this length may add, before anything moves. */
static inline int hark_hydee_room(struct hark_hydee *s, const struct hark_head *h, uint32_t length)
{
    struct hark *p = &s->head;
    uint32_t chunks = 2, channels = h->type == HARK_H_POS ? length / 32 + 1 : 1;
    if (h->type == HARK_H_ORPH) {
        const struct hark_hydee_channel *c =
            (const struct hark_hydee_channel *)(void *)hark_channel_find(p, &s->ends, h->src, h->ctx);
        chunks += length / 24 + (c ? hark_runs_write_needs(&c->log) : 0);
    }
    int status = hark_hydee_reserve(s, channels, chunks);
    if (status >= 0 && h->type >= HARK_H_POS) status = hark_reserve(p, &hark_hydee_shape, &s->pairs, 1);
    if (status >= 0 && h->type < HARK_H_POS)
        status = hark_wave_reserve(p, &hark_hydee_shape, &s->ends, &s->wave, length);
    if (status >= 0 && s->wave.mode != HARK_W_RUN) status = hark_hydee_reserve_positions(s);
    if (status >= 0 && h->type == HARK_H_RELEASE)
        status = hark_reserve(p, &hark_hydee_shape, &s->past.frontier, length / 16);
    return status >= 0 ? hark_past_reserve(p, &hark_hydee_shape, &s->past, 0) : status;
}

HARK_COLD int hark_hydee_control(struct hark_hydee *s, const struct hark_head *h, const uint8_t *b, uint32_t length,
    struct hark_effects *fx)
{
    struct hark *p = &s->head;
    int age = hark_age(p, &s->ends, h);
    if (age != HARK_CURRENT) return hark_fate(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    int status = hark_hydee_room(s, h, length);
    if (status < 0) return status;
    switch (h->type) {
    case HARK_H_POS: return hark_hydee_pos(s, h, b, fx);
    case HARK_H_ORPH: return hark_hydee_orph(s, h, b, length, fx);
    case HARK_H_RELEASE: return hark_hydee_release(s, b, length);
    case HARK_H_RECDONE: return hark_hydee_recdone(s, fx);
    case HARK_H_GC: return hark_hydee_trim(s, h, b, fx);
    case HARK_W_MARK:
        if (hark_ranges_hold(p, &s->ends.group, h->src)) hark_hydee_channel(s, h->src, h->ctx);
        /* fall through */
    default: return hark_wave_frame(p, &s->ends, &s->wave, h, b, length, s->recovering != 0, fx);
    }
}

static inline int hark_hydee_frame(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_head h;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_HYDEE) < 0 || !hark_head_valid(&s->ends, &h))
        return HARK_EFRAME;
    const uint8_t *b = event->u.frame.header.at + HARK_WIRE_HEAD;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    bool plain = h.type == HARK_APP && length + HARK_WIRE_HEAD == s->plain;
    if (!plain && !hark_hydee_length_ok(s, &h, b, length)) return HARK_EFRAME;
    return h.type == HARK_APP ? hark_hydee_arrive(s, &h, b, length, fx) : hark_hydee_control(s, &h, b, length, fx);
}

/* Is the image, if it is one, of a process with the same gate? Without it the numbers are not there. */
static inline bool hark_hydee_image_fits(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark_bytes image = event->u.restarted.image;
    struct hark_reader r = {image.at, image.length, 0, false};
    struct hark_hydee was;
    if (event->u.restarted.checkpoint == 0 || image.at == NULL) return true;
    (void)hark_read(&r, 8);
    hark_zero(&was, sizeof was);
    hark_unpack_fields(&s->head, NULL, (uint8_t *)&was, hark_hydee_shape.field, hark_hydee_shape.fields, &r);
    return r.bad || ((was.flags ^ s->flags) & HARK_EXACT_GATE) == 0;
}

/* Restart from the last image on stable storage; sends wait for the FAILED that explains it.   Alg. 2 l. 4-5 */
static inline int hark_hydee_rollback(struct hark_hydee *s, const struct hark_event *event)
{
    struct hark *p = &s->head;
    uint32_t generations = s->wave.generations, flags = s->flags;
    if (!hark_hydee_image_fits(s, event)) return HARK_EIMAGE;
    int status = hark_restart_take(p, &hark_hydee_shape, &s->ends, &s->wave, event);
    if (status < 0) return status;
    hark_restart_wait(p, &s->ends);
    hark_wave_restarted(p, &s->ends, &s->wave, event->u.restarted.checkpoint);
    s->wave.generations = generations;
    s->flags = flags;
    s->recovering = 1;
    s->rel = 0;
    hark_past_close(p, &s->past);
    for (uint32_t i = 0; i < s->ends.channels.count; i++) hark_hydee_at(s, i)->channel.flags &= HARK_INTRA;
    return HARK_OK;
}

/* All events but those of a message. */
HARK_COLD int hark_hydee_other(struct hark_hydee *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    int status = hark_past_reserve(p, &hark_hydee_shape, &s->past, 0);
    if (status < 0) return status;
    switch (event->type) {
    case HARK_CHECKPOINT_POINT:
    case HARK_STORED:
        if (event->type == HARK_CHECKPOINT_POINT && s->wave.at) return HARK_ESTATE;
        status = hark_wave_reserve(p, &hark_hydee_shape, &s->ends, &s->wave, 0);
        if (status >= 0) status = hark_reserve(p, &hark_hydee_shape, &s->positions, s->ends.channels.count);
        if (status < 0) return status;
        if (event->type == HARK_STORED) hark_wave_stored(p, &s->ends, &s->wave, event, fx);
        else hark_wave_point(p, &s->ends, &s->wave, event->u.point.due, s->recovering != 0, fx);
        return HARK_OK;
    case HARK_FAILED: return hark_hydee_failed(s, event, fx);
    case HARK_RESTARTED: return hark_hydee_rollback(s, event);
    case HARK_QUIET: return hark_hydee_quiet(s, fx);
    case HARK_MISS: /* send-deterministic programs may look as they like */
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

HARK_FN int hark_hydee_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_hydee *s = (struct hark_hydee *)(void *)p;
    int status = hark_step_begin(p, &s->ends, event, fx, s->gone);
    if (status != HARK_OK) return status;
    uint32_t mode = s->wave.mode;
    uint64_t newest = mode == HARK_W_RUN ? 0 : hark_hydee_newest(s);
    if (event->type == HARK_SEND) status = hark_hydee_send(s, event, fx);
    else if (event->type == HARK_ARRIVE) status = hark_hydee_frame(s, event, fx);
    else if (event->type == HARK_DELIVER) status = hark_hydee_deliver(s, event);
    else status = hark_hydee_other(s, event, fx);
    if (status < 0 || s->gone) return status;
    if (mode < HARK_W_CAPTURED && s->wave.mode == HARK_W_CAPTURED) hark_hydee_captured(s);
    if (mode != HARK_W_RUN && s->wave.mode == HARK_W_RUN) hark_hydee_gc(s, newest != hark_hydee_newest(s));
    p->more = 0;
    if (!s->busy && hark_step_rests(&s->ends, &s->wave)) return HARK_OK;
    status = hark_hydee_pump(s, fx);
    p->more = status == HARK_MORE;
    return status;
}

/* First the logs, then what arrived: cursor = 1 bit stage, 23 bits channel, 40 bits ssn. */
HARK_FN int hark_hydee_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_hydee *s = (const struct hark_hydee *)(const void *)p;
    uint32_t stage = (uint32_t)(*cursor >> 63), channel = (uint32_t)(*cursor >> 40) & 0x7fffff;
    uint64_t ssn = *cursor & ((UINT64_C(1) << 40) - 1);
    int found = 0;
    for (; stage == 0 && channel < s->ends.channels.count && !found; channel++) {
        const struct hark_hydee_channel *c =
            (const struct hark_hydee_channel *)hark_row_of(p, &s->ends.channels, channel);
        if (!hark_hydee_inter(c) || c->first > c->channel.sent) continue;
        run->name = hark_name_of(HARK_OUT, &c->channel, c->first);
        run->last = c->channel.sent;
        found = 1;
    }
    if (!found && stage == 0) {
        stage = 1;
        channel = 0;
    }
    if (!found) found = hark_names_undelivered(p, &s->ends, &channel, &ssn, run);
    *cursor = (uint64_t)stage << 63 | (uint64_t)channel << 40 | ssn;
    return found;
}

HARK_FN const char *hark_hydee_violated(const struct hark *p)
{
    const struct hark_hydee *s = (const struct hark_hydee *)(const void *)p;
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_hydee_channel *c = (const struct hark_hydee_channel *)hark_row_of(p, &s->ends.channels, i);
        if (!hark_hydee_inter(c)) continue;
        if (c->tx > c->channel.sent) return "more was transmitted than posted";
        if (!s->recovering && c->tx != c->channel.sent) return "a message is delayed though no recovery runs";
        if (c->first > c->channel.sent + 1) return "the log begins behind its end";
    }
    return hark_wave_violated(p, &s->ends, &s->wave);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
