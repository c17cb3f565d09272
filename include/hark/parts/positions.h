/* parts/positions.h: the exchange of positions between the ends of a channel after a failure, for
 * protocols that replay by positions.
 *
 * HydEE (IPDPS 2012, Algorithms 2 and 3) and its forerunner without the domino effect (IPDPS 2011)
 * recover alike. Upon FAILED each process forgets the results of the last recovery epoch, and sends
 * POS on every channel with an end in D: how much it has sent, and how much has arrived. The peer's
 * POS tells it what to replay, and which of its messages the peer already has: its orphans.
 *
 * A row of channels begins with struct hark_channel and contains a struct hark_positions; struct
 * hark_exchange gives its offset, and the other differences between the protocols. Phases, epochs,
 * logs and gates are the protocol's own.
 */
#ifndef HARK_PARTS_POSITIONS_H
#define HARK_PARTS_POSITIONS_H

#include "channel.h"
#include "frames.h"
#include "queue.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

enum {                                         /* flags of a channel */
    HARK_NOTIFY_DUE = HARK_OWN_FLAGS,          /* a NOTIFY for this channel is due */
    HARK_ORPH_DUE = HARK_OWN_FLAGS << 1,       /* an ORPH for this channel is due */
    HARK_ORPH_WAIT = HARK_OWN_FLAGS << 2,      /* an ORPH for this channel is awaited */
    HARK_GC_DUE = HARK_OWN_FLAGS << 3,         /* a GC notice for this channel is due */
    HARK_POSITIONS_FLAGS = HARK_OWN_FLAGS << 4 /* the protocol's own begin here */
};
enum { HARK_POS_DUE = 1, HARK_POS_SENT = 2, HARK_POS_GOT = 4 }; /* flags of a pair */

struct hark_positions {   /* of a channel with P_j; the fields that every message uses come first */
    uint64_t transmitted; /* or suppressed, up to this ssn: pend[j] is transmitted+1 .. sent */
    /* OrphanDate[j], as an ssn: the highest of my messages that j already has; 0: none is known. */
    uint64_t last_orphan;
    uint64_t sent_digest, recv_digest; /* running */
    uint64_t first;                    /* first .. sent are retained */
    uint64_t sent_at_failure;          /* `sent` when this recovery epoch began: in my POS */
    /* sent_j[i] of j's POS: messages of j that I have beyond it are orphans; infinite: no POS
     * yet. */
    uint64_t peer_sent;
    uint64_t orph_digest;      /* j's digest at last_orphan */
    uint64_t orphan_next;      /* next message of j for an ORPH to j */
    uint32_t orph_out;         /* fragments of ORPH sent */
    uint32_t orph_in;          /* fragments of ORPH received */
    struct hark_queue digests; /* running digests after first .. sent */
};

struct hark_pair { /* a peer with which positions are exchanged in this epoch */
    uint32_t rank;
    uint32_t flags;
};

struct hark_position { /* of a channel at a kept image: the content of a GC notice */
    uint64_t id;
    uint32_t peer;
    uint16_t ctx, pad;
    uint64_t own;  /* of my messages: the last one sent (hydee), the first one retained (sendet) */
    uint64_t recv; /* of the peer's messages: the last one received */
};

struct hark_exchange { /* the differences between the protocols that exchange positions */
    uint16_t at;       /* offset of struct hark_positions in a row of channels */
    uint16_t also;     /* offset of one more u64 for POS; 0: none */
    uint16_t inside;   /* flag of a channel whose ends roll back together: it has no log */
    uint32_t contexts; /* contexts that a pair of processes may use: more do not fit into a POS */
};

/* The fields without a name in the papers. */
#define HARK_POSITIONS_FIELDS(type)                                                                \
    HARK_FIELD(type, pos.peer_sent, ""), HARK_FIELD(type, pos.orph_digest, ""),                    \
        HARK_FIELD(type, pos.sent_digest, ""), HARK_FIELD(type, pos.recv_digest, ""),              \
        HARK_FIELD(type, pos.orphan_next, ""), HARK_FIELD(type, pos.orph_out, ""),                 \
        HARK_FIELD(type, pos.orph_in, "")

static const struct hark_field hark_pair_fields[] = {
    HARK_FIELD(struct hark_pair, rank, "j"), HARK_FIELD(struct hark_pair, flags, "POS")};

#define HARK_PAIRS_TABLE(type)                                                                     \
    {                                                                                              \
        "pairs", "", (uint16_t)offsetof(type, pairs), sizeof(struct hark_pair), 2,                 \
            hark_pair_fields                                                                       \
    }

static const struct hark_field hark_position_fields[] = {
    HARK_FIELD(struct hark_position, id, "ckptNo"), HARK_FIELD(struct hark_position, peer, "j"),
    HARK_FIELD(struct hark_position, ctx, "ctx"), HARK_FIELD(struct hark_position, own, ""),
    HARK_FIELD(struct hark_position, recv, "recv")};
#define HARK_IMAGE_POSITIONS_TABLE(type)                                                           \
    {                                                                                              \
        "positions", "", (uint16_t)offsetof(type, positions), sizeof(struct hark_position), 5,     \
            hark_position_fields                                                                   \
    }

#if HARK_BODIES

/* ---- channels -------------------------------------------------------------------------------- */

static inline const struct hark_positions *hark_positions_of(
    const struct hark_exchange *x, const struct hark_channel *c)
{
    return (const struct hark_positions *)(const void *)((const uint8_t *)c + x->at);
}

/* Writes the initial positions of a new channel. */
static inline void hark_positions_begin(struct hark_positions *o)
{
    o->peer_sent = HARK_INFINITY;
    o->first = 1;
    o->digests.width = 1;
}

/* True if the pair uses as many contexts as it may. */
static inline bool hark_contexts_full(
    struct hark *p, struct hark_endpoint *e, const struct hark_exchange *x, uint32_t peer)
{
    uint32_t last = hark_channel_search(p, e, peer, 0) + x->contexts - 1;
    return last < e->channels.count && hark_channel_at(p, e, last)->peer == peer;
}

/* True if no pair of an unpacked state uses more contexts than it may. */
static inline bool hark_contexts_ok(
    struct hark *p, struct hark_endpoint *e, const struct hark_exchange *x)
{
    for (uint32_t i = x->contexts; i < e->channels.count; i++)
        if (hark_channel_at(p, e, i - x->contexts)->peer == hark_channel_at(p, e, i)->peer)
            return false;
    return true;
}

/* Forgets the results of the last recovery epoch for this channel (E11). The protocol forgets what
 * ORPH recorded. */
static inline void hark_positions_clear(
    struct hark_channel *c, struct hark_positions *o, uint64_t base)
{
    c->flags &= (uint16_t) ~(HARK_NOTIFY_DUE | HARK_ORPH_DUE | HARK_ORPH_WAIT);
    o->sent_at_failure = base;
    o->last_orphan = o->orph_digest = o->orphan_next = 0;
    o->peer_sent = HARK_INFINITY; /* until a POS comes, nothing on the channel is an orphan */
    o->orph_in = o->orph_out = 0;
}

/* Names the log of each channel for an image, one run for each call, without channels that have one
 * of the flags `but`. */
static inline int hark_logged_names(const struct hark *p, const struct hark_endpoint *e,
    const struct hark_exchange *x, uint16_t but, uint64_t *cursor, struct hark_names *run)
{
    for (uint64_t i = *cursor >> 40; !(*cursor >> 63) && i < e->channels.count; i++) {
        const struct hark_channel *c =
            (const struct hark_channel *)hark_row_of(p, &e->channels, (uint32_t)i);
        const struct hark_positions *o = hark_positions_of(x, c);
        if (c->flags & but || o->first > c->sent) continue;
        run->name = hark_name_of(HARK_OUT, c, o->first);
        run->last = c->sent;
        *cursor = (i + 1) << 40;
        return 1;
    }
    return 0;
}

/* ---- digests --------------------------------------------------------------------------------- */

static inline void hark_diverged(const struct hark_channel *c, const struct hark_positions *o,
    uint64_t expected, uint64_t got, struct hark_effects *fx)
{
    struct hark_divergence what = {
        hark_name_of(HARK_OUT, c, o->sent_at_failure + 1), o->last_orphan, expected, got};
    hark_emit(fx, HARK_DIVERGED)->u.diverged = what;
}

/* Returns the running digest after `ssn`, from the log; 0 if it is not known. */
static inline uint64_t hark_digest_at(
    struct hark *p, const struct hark_pool *pool, struct hark_positions *o, uint64_t ssn)
{
    if (ssn < o->first || ssn - o->first >= o->digests.count) return 0;
    return *hark_queue_seek(p, pool, &o->digests, (uint32_t)(ssn - o->first));
}

/* Compares digests at the last orphan: DIVERGED if the re-execution sent something else. A POS may
 * find more divergences than fit into the effects; the rest is not reported. */
static inline void hark_digest_compare(const struct hark_channel *c, const struct hark_positions *o,
    uint64_t got, struct hark_effects *fx)
{
    if (o->orph_digest == 0 || got == 0 || got == o->orph_digest || !hark_effects_fit(fx, 1, 0))
        return;
    hark_diverged(c, o, o->orph_digest, got, fx);
}

/* ---- POS ------------------------------------------------------------------------------------- */

/* Returns the row of this peer, and makes it if it is new; a row has been reserved. */
static inline struct hark_pair *hark_pair(struct hark *p, struct hark_table *pairs, uint32_t rank)
{
    uint32_t i = 0;
    while (i < pairs->count && ((struct hark_pair *)hark_row(p, pairs, i))->rank < rank) i++;
    struct hark_pair *pair = i < pairs->count ? (struct hark_pair *)hark_row(p, pairs, i) : NULL;
    if (pair && pair->rank == rank) return pair;
    pair = (struct hark_pair *)hark_insert(p, pairs, i);
    pair->rank = rank;
    return pair;
}

/* True if all peers have answered my POS. */
static inline bool hark_pairs_answered(const struct hark *p, const struct hark_table *pairs)
{
    for (uint32_t i = 0; i < pairs->count; i++)
        if (!(((const struct hark_pair *)hark_row_of(p, pairs, i))->flags & HARK_POS_GOT))
            return false;
    return true;
}

/* Returns the bytes of a row of POS, which has u32 contexts, u32 0, then rows {ctx u16, 0 u16,
 * 0 u32, sent u64, recv u64, perhaps one more u64, digest u64}. */
static inline uint32_t hark_pos_width(const struct hark_exchange *x)
{
    return x->also ? 40 : 32;
}

static inline bool hark_pos_length_ok(
    const struct hark_exchange *x, const uint8_t *b, uint32_t length)
{
    return length >= 8 && hark_get32(b) <= x->contexts &&
           length == 8 + hark_pos_width(x) * hark_get32(b);
}

/* Returns the context of row i of a POS. */
static inline uint16_t hark_pos_ctx(const struct hark_exchange *x, const uint8_t *b, uint32_t i)
{
    return hark_get16(b + 8 + hark_pos_width(x) * i);
}

/* Returns the row of a context in j's POS; NULL: j does not know the context. */
static inline const uint8_t *hark_pos_row(
    const struct hark_exchange *x, const uint8_t *b, uint16_t ctx)
{
    const uint8_t *row = NULL;
    for (uint32_t i = 0; i < hark_get32(b); i++)
        if (hark_pos_ctx(x, b, i) == ctx) row = b + 8 + hark_pos_width(x) * i;
    return row;
}

struct hark_said { /* j's POS for one context: `sent` of j, `recv` of my messages, j's digest at
                    * `recv` */
    uint64_t sent, recv, also, digest;
};

static inline struct hark_said hark_pos_said(
    const struct hark_exchange *x, const uint8_t *b, uint16_t ctx)
{
    struct hark_said said = {0, 0, 0, 0};
    const uint8_t *row = hark_pos_row(x, b, ctx);
    if (row == NULL) return said;
    said.sent = hark_get64(row + 8);
    said.recv = hark_get64(row + 16);
    if (x->also) said.also = hark_get64(row + 24);
    said.digest = hark_get64(row + hark_pos_width(x) - 8);
    return said;
}

/* Returns the number of contexts that the pair would use with those of this POS. */
static inline uint32_t hark_pos_contexts(struct hark *p, struct hark_endpoint *e,
    const struct hark_exchange *x, uint32_t peer, const uint8_t *b)
{
    uint32_t all = hark_get32(b);
    for (uint32_t i = hark_channel_search(p, e, peer, 0); i < e->channels.count; i++) {
        const struct hark_channel *c = hark_channel_at(p, e, i);
        if (c->peer != peer) break;
        all++;
        for (uint32_t k = 0; k < hark_get32(b); k++)
            if (hark_pos_ctx(x, b, k) == c->ctx) all--;
    }
    return all;
}

/* Takes POS from j. True if it must be processed: it counts as received, and mine is due if it has
 * not been sent. False: the step returns *status. */
static inline bool hark_pos_take(struct hark *p, struct hark_endpoint *e,
    const struct hark_exchange *x, struct hark_table *pairs, const struct hark_head *h,
    const uint8_t *b, int *status, struct hark_effects *fx)
{
    *status = HARK_EFRAME;
    if (hark_pos_contexts(p, e, x, h->src, b) > x->contexts) return false;
    struct hark_pair *pair = hark_pair(p, pairs, h->src);
    *status = HARK_OK;
    if (pair->flags & HARK_POS_GOT) {
        hark_emit_verdict(fx, HARK_DISCARD);
        return false;
    }
    pair->flags |= HARK_POS_GOT;
    if (!(pair->flags & HARK_POS_SENT))
        pair->flags |= HARK_POS_DUE; /* v2: a process without a channel answers too */
    e->offer = 1;                    /* an ORPH may have overtaken the POS */
    return true;
}

/* Makes the changes of a POS to a channel that all protocols have in common. */
static inline void hark_pos_channel(
    const struct hark_channel *c, struct hark_positions *o, const struct hark_said *said)
{
    o->peer_sent = said->sent;
    o->last_orphan = said->recv;
    o->orph_digest = said->digest;
    o->transmitted = said->recv < c->sent ? said->recv : c->sent; /* replay: recv_j < ssn <= sent
                                                                     (E2, E4) */
}

/* Marks an ORPH to j as due: j's messages that I have, beginning at `from`. */
static inline void hark_orph_ask(struct hark_channel *c, struct hark_positions *o, uint64_t from)
{
    c->flags |= HARK_ORPH_DUE;
    o->orphan_next = from;
}

static inline void hark_pos_write(
    const struct hark_exchange *x, const struct hark_channel *c, uint8_t *row)
{
    const struct hark_positions *o = hark_positions_of(x, c);
    hark_put64(row, c->ctx);
    hark_put64(row + 8, o->sent_at_failure);
    hark_put64(row + 16, c->recv);
    if (x->also)
        hark_put64(row + 24, *(const uint64_t *)(const void *)((const uint8_t *)c + x->also));
    hark_put64(row + hark_pos_width(x) - 8, o->recv_digest);
}

/* Sends all POS that are due. HARK_MORE: the effects are full. */
static inline int hark_pos_pump(struct hark *p, struct hark_endpoint *e,
    const struct hark_exchange *x, struct hark_table *pairs, struct hark_effects *fx)
{
    const uint32_t width = hark_pos_width(x);
    for (uint32_t i = 0; i < pairs->count; i++) {
        struct hark_pair *pair = (struct hark_pair *)hark_row(p, pairs, i);
        if (!(pair->flags & HARK_POS_DUE)) continue;
        uint32_t first = hark_channel_search(p, e, pair->rank, 0), n = 0;
        while (
            first + n < e->channels.count && hark_channel_at(p, e, first + n)->peer == pair->rank)
            n++;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 8 + width * n)) return HARK_MORE;
        uint8_t *b = hark_emit_control(p, e, fx, HARK_H_POS, pair->rank, 8 + width * n);
        hark_put32(b, n);
        hark_put32(b + 4, 0);
        for (uint32_t k = 0; k < n; k++)
            hark_pos_write(x, hark_channel_at(p, e, first + k), b + 8 + width * k);
        pair->flags = (pair->flags & ~(uint32_t)HARK_POS_DUE) | HARK_POS_SENT;
    }
    return HARK_OK;
}

/* ---- orphans --------------------------------------------------------------------------------- */

/* Ends a frame that is one of several fragments, with `at` bytes after the common part. */
static inline void hark_fragment_end(
    uint8_t *b, uint32_t at, uint32_t word, struct hark_effects *fx)
{
    hark_put32(b, word);
    hark_put32(b + 4, 0);
    fx->used += at - 8;
    fx->at[fx->count - 1].u.transmit.header.length = HARK_WIRE_HEAD + at;
}

/* Ends a fragment of ORPH: u32 (fragment << 16 | last), u32 0, then the protocol's rows. */
static inline void hark_orph_end(struct hark_channel *c, struct hark_positions *o, uint8_t *b,
    uint32_t at, bool last, struct hark_effects *fx)
{
    hark_put16(b - HARK_WIRE_HEAD + 2, c->ctx);
    hark_fragment_end(b, at, o->orph_out++ << 16 | last, fx);
    if (last) c->flags &= (uint16_t)~HARK_ORPH_DUE;
}

/* True if an ORPH from j has overtaken j's POS or an earlier fragment. `o` is NULL if there is no
 * channel. */
static inline bool hark_orph_early(struct hark *p, struct hark_table *pairs,
    const struct hark_positions *o, uint32_t src, const uint8_t *b)
{
    if (!(hark_pair(p, pairs, src)->flags & HARK_POS_GOT)) return true;
    return o && hark_get32(b) >> 16 != (uint16_t)o->orph_in;
}

/* Counts a processed fragment of ORPH. Returns true if it was the last one. */
static inline bool hark_orph_took(
    struct hark_channel *c, struct hark_positions *o, const uint8_t *b)
{
    o->orph_in++;
    if (!(hark_get32(b) & 1)) return false;
    c->flags &= (uint16_t)~HARK_ORPH_WAIT;
    return true;
}

/* Suppresses an orphan that is sent again: nothing is transmitted (SUPPRESS), and a NOTIFY is
 * due. */
static inline void hark_suppress(struct hark_channel *c, struct hark_positions *o, uint64_t ssn,
    uint64_t phase, bool compare, struct hark_effects *fx)
{
    o->transmitted = ssn;
    c->flags |= HARK_NOTIFY_DUE;
    struct hark_effect *x = hark_emit(fx, HARK_SUPPRESS);
    x->u.suppress.name = hark_name_of(HARK_OUT, c, ssn);
    x->u.suppress.phase = phase;
    if (ssn == o->last_orphan && compare) hark_digest_compare(c, o, o->sent_digest, fx);
}

/* Sends all NOTIFY that are due: orphans up to an ssn (u64) were sent again. With `to_peer` they go
 * to the process that has the orphans, else to the recovery process, with the rank of that process
 * (u32) before the ssn. HARK_MORE: the effects are full. */
static inline int hark_notify_pump(struct hark *p, struct hark_endpoint *e,
    const struct hark_exchange *x, bool to_peer, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        const struct hark_positions *o = hark_positions_of(x, c);
        if (!(c->flags & HARK_NOTIFY_DUE)) continue;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 12)) return HARK_MORE;
        uint32_t to = to_peer ? c->peer : HARK_RECOVERY, at = to_peer ? 0 : 4;
        uint8_t *b = hark_emit_control(p, e, fx, HARK_H_NOTIFY, to, at + 8);
        hark_put16(b - HARK_WIRE_HEAD + 2, c->ctx);
        if (!to_peer) hark_put32(b, c->peer);
        hark_put64(b + at, c->sent < o->last_orphan ? c->sent : o->last_orphan);
        c->flags &= (uint16_t)~HARK_NOTIFY_DUE;
    }
    return HARK_OK;
}

/* Takes QUIET during a recovery: reports orphans that nobody will send again as DIVERGED, so that
 * the job does not hang. */
static inline int hark_positions_quiet(
    struct hark *p, struct hark_endpoint *e, const struct hark_exchange *x, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < e->channels.count; i++) {
        const struct hark_channel *c = hark_channel_at(p, e, i);
        const struct hark_positions *o = hark_positions_of(x, c);
        if (c->flags & x->inside || c->sent >= o->last_orphan || !hark_effects_fit(fx, 1, 0))
            continue;
        hark_diverged(c, o, 0, 0, fx);
        fx->at[fx->count - 1].u.diverged.name.ssn = c->sent + 1;
    }
    return HARK_OK;
}

/* ---- garbage collection, by positions of images (E3) ----------------------------------------- */

/* Remembers the positions of a channel at image `id`; a row has been reserved. */
static inline void hark_position_add(
    struct hark *p, struct hark_table *t, uint64_t id, const struct hark_channel *c, uint64_t own)
{
    struct hark_position *x = (struct hark_position *)hark_insert(p, t, t->count);
    x->id = id;
    x->peer = c->peer;
    x->ctx = c->ctx;
    x->own = own;
    x->recv = c->recv;
}

static inline const struct hark_position *hark_position_of(
    const struct hark *p, const struct hark_table *t, uint64_t id, const struct hark_channel *c)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct hark_position *x = (const struct hark_position *)hark_row_of(p, t, i);
        if (x->id == id && x->peer == c->peer && x->ctx == c->ctx) return x;
    }
    return NULL;
}

/* Marks a GC notice as due for each channel that is in image `oldest`, now the oldest one. False:
 * the image has no channel. */
static inline bool hark_gc_mark(
    struct hark *p, struct hark_endpoint *e, const struct hark_table *t, uint64_t oldest)
{
    bool any = false;
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        if (hark_position_of(p, t, oldest, c) == NULL) continue;
        c->flags |= HARK_GC_DUE;
        any = true;
    }
    return any;
}

/* Sends all GC notices that are due: {recv u64, own u64} of the oldest image. HARK_MORE: the
 * effects are full. */
static inline int hark_gc_pump(struct hark *p, struct hark_endpoint *e, const struct hark_table *t,
    uint64_t oldest, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        if (!(c->flags & HARK_GC_DUE)) continue;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
        c->flags &= (uint16_t)~HARK_GC_DUE;
        const struct hark_position *x = hark_position_of(p, t, oldest, c);
        if (x == NULL) continue;
        uint8_t *b = hark_emit_control(p, e, fx, HARK_H_GC, c->peer, 16);
        hark_put16(b - HARK_WIRE_HEAD + 2, c->ctx);
        hark_put64(b, x->recv);
        hark_put64(b + 8, x->own);
    }
    return HARK_OK;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
