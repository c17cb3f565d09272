/* parts/channel.h: the endpoint of a process (rank, cluster, incarnations, recovery epoch), and the
 * positions of each of its channels.
 *
 * A channel is (src, dst, ctx), and its application messages have ssn = 1, 2, 3 ...; one row of
 * `channels` holds both directions between me and a peer. A message passes three positions: arrived
 * (`recv` ends the gap-free prefix), handed up, and delivered (`done`, and the few beyond it, since
 * receives by tag may take a later message first).
 */
#ifndef HARK_PARTS_CHANNEL_H
#define HARK_PARTS_CHANNEL_H

#include "effect.h"
#include "failed.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HARK_INTRA = 1,     /* the peer is of my own cluster */
    HARK_GAP = 2,       /* a frame of this channel is held because one before it is missing */
    HARK_OWED = 4,      /* messages that the peer's MARK counts are still to arrive */
    HARK_OWN_FLAGS = 16 /* the protocol's own begin here */
};

struct hark_channel { /* every protocol's row begins with this */
    uint32_t peer;
    uint16_t ctx;
    uint16_t flags;
    uint32_t inc; /* incView: the peer's incarnation */
    uint32_t pad;
    uint64_t sent; /* highest ssn posted to the peer */
    uint64_t recv; /* highest contiguous ssn arrived from the peer */
    uint64_t done; /* all up to this ssn were delivered */
    uint64_t mark; /* the peer's `sent` when it froze, from its MARK */
};

#define HARK_CHANNEL_FIELDS(type)                                                                  \
    HARK_FIELD(type, channel.peer, "j"), HARK_FIELD(type, channel.ctx, "ctx"),                     \
        HARK_FIELD(type, channel.flags, ""), HARK_FIELD(type, channel.inc, "incView"),             \
        HARK_FIELD(type, channel.sent, "sent"), HARK_FIELD(type, channel.recv, "recv"),            \
        HARK_FIELD(type, channel.done, "delivered"), HARK_FIELD(type, channel.mark, "mark")

struct hark_arrived { /* a row of `waiting` or `beyond`: messages ssn .. last of one channel */
    uint32_t peer;
    uint16_t ctx;
    uint16_t pad;
    uint64_t ssn, last; /* two rows of a channel never touch */
};

#define HARK_HINT_BITS 5

struct hark_endpoint {
    uint32_t me, ranks;
    uint32_t inc;      /* my incarnation */
    uint32_t re;       /* the recovery epoch of the last FAILED */
    uint32_t offer;    /* 1: OFFER all after the other effects of this step */
    uint32_t awaiting; /* 1: from RESTARTED to its FAILED; the application waits */
    /* Scratch: the rows (mod 256) of recently used channels, by hark_hint_of. */
    uint8_t hint[1 << HARK_HINT_BITS];
    struct hark_table cluster;  /* hark_range: the ranks of my cluster */
    struct hark_table incs;     /* hark_inc_range: all incarnations that are not 0 */
    struct hark_table down;     /* hark_range: D, the ranks that roll back in this recovery */
    struct hark_table channels; /* rows that begin with struct hark_channel */
    struct hark_table waiting;  /* hark_arrived: messages arrived and not handed up */
    struct hark_table beyond;   /* hark_arrived: messages delivered beyond `done` */
};

#define HARK_ENDPOINT_FIELDS(type)                                                                 \
    HARK_FIELD(type, endpoint.me, "i"), HARK_FIELD(type, endpoint.ranks, "n"),                     \
        HARK_FIELD(type, endpoint.inc, "inc"), HARK_FIELD(type, endpoint.re, "re"),                \
        HARK_FIELD(type, endpoint.offer, ""), HARK_FIELD(type, endpoint.awaiting, "")

static const struct hark_field hark_arrived_fields[] = {HARK_FIELD(struct hark_arrived, peer, "j"),
    HARK_FIELD(struct hark_arrived, ctx, "ctx"), HARK_FIELD(struct hark_arrived, ssn, "ssn"),
    HARK_FIELD(struct hark_arrived, last, "")};

/* The tables of hark_endpoint without the channels, whose rows are the protocol's. */
#define HARK_ENDPOINT_TABLES(type)                                                                 \
    {"group", "Cluster", (uint16_t)offsetof(type, endpoint.cluster), sizeof(struct hark_range), 2, \
        hark_range_fields},                                                                        \
        {"incarnations", "incMap", (uint16_t)offsetof(type, endpoint.incs),                        \
            sizeof(struct hark_inc_range), 3, hark_inc_range_fields},                              \
        {"down", "D", (uint16_t)offsetof(type, endpoint.down), sizeof(struct hark_range), 2,       \
            hark_range_fields},                                                                    \
        {"waiting", "", (uint16_t)offsetof(type, endpoint.waiting), sizeof(struct hark_arrived),   \
            4, hark_arrived_fields},                                                               \
    {                                                                                              \
        "beyond", "", (uint16_t)offsetof(type, endpoint.beyond), sizeof(struct hark_arrived), 4,   \
            hark_arrived_fields                                                                    \
    }

#if HARK_BODIES

/* ---- cluster, D, incarnations ---------------------------------------------------------------- */

/* Copies the cluster from the configuration. If that has none, the cluster is everybody with `all`,
 * else me alone. HARK_EFULL. */
static inline int hark_group_init(struct hark *p, const struct hark_shape *s, struct hark_table *t,
    const struct hark_config *c, bool all)
{
    uint32_t rows = c->cluster_count ? c->cluster_count : 1;
    int status = hark_reserve(p, s, t, rows);
    if (status < 0) return status;
    for (uint32_t i = 0; i < rows; i++) {
        struct hark_range *r = (struct hark_range *)hark_insert(p, t, i);
        if (c->cluster_count) *r = c->cluster[i];
        else if (all) r->last = c->ranks - 1;
        else r->first = r->last = c->me;
    }
    return HARK_OK;
}

/* True if the configuration is valid for every member protocol. */
static inline bool hark_config_valid(const struct hark_config *c)
{
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX || c->me >= c->ranks) return false;
    if (c->generations > 8 || c->copies > 8 || (c->cluster_count && c->cluster == NULL))
        return false;
    if ((c->group_count && c->groups == NULL) || c->flags & ~(uint32_t)HARK_FLAGS) return false;
    bool mine = c->cluster_count == 0;
    for (uint32_t i = 0; i < c->cluster_count; i++) {
        if (c->cluster[i].first > c->cluster[i].last || c->cluster[i].last >= c->ranks)
            return false;
        if (i && c->cluster[i].first <= c->cluster[i - 1].last) return false;
        if (c->me >= c->cluster[i].first && c->me <= c->cluster[i].last) mine = true;
    }
    return mine;
}

static inline bool hark_is_down(const struct hark *p, const struct hark_endpoint *e, uint32_t rank)
{
    return hark_ranges_hold(p, &e->down, rank);
}

/* Returns the incarnation of a process, with or without a channel to it. */
static inline uint32_t hark_inc_of(
    const struct hark *p, const struct hark_endpoint *e, uint32_t rank)
{
    return rank == e->me ? e->inc : hark_inc_range_of(p, &e->incs, rank);
}

/* ---- channels -------------------------------------------------------------------------------- */

static inline struct hark_channel *hark_channel_at(
    struct hark *p, struct hark_endpoint *e, uint32_t i)
{
    return (struct hark_channel *)hark_row(p, &e->channels, i);
}

/* Returns the index of (peer, ctx), or where its row belongs. */
static inline uint32_t hark_channel_search(
    const struct hark *p, const struct hark_endpoint *e, uint32_t peer, uint16_t ctx)
{
    uint32_t low = 0, high = e->channels.count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct hark_channel *c =
            (const struct hark_channel *)hark_row_of(p, &e->channels, mid);
        if (c->peer < peer || (c->peer == peer && c->ctx < ctx)) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* Returns Knuth's multiplicative hash, because neighbours in a grid are often powers of two
 * apart. */
static inline uint32_t hark_hint_of(uint32_t peer, uint16_t ctx)
{
    return ((peer + ctx) * 2654435769u) >> (32 - HARK_HINT_BITS);
}

HARK_COLD struct hark_channel *hark_channel_find_far(
    struct hark *p, struct hark_endpoint *e, uint32_t peer, uint16_t ctx)
{
    uint32_t i = hark_channel_search(p, e, peer, ctx);
    if (i == e->channels.count) return NULL;
    struct hark_channel *c = hark_channel_at(p, e, i);
    if (c->peer != peer || c->ctx != ctx) return NULL;
    e->hint[hark_hint_of(peer, ctx)] = (uint8_t)i;
    return c;
}

/* Returns the row of (peer, ctx), or NULL. */
HARK_HOT struct hark_channel *hark_channel_find(
    struct hark *p, struct hark_endpoint *e, uint32_t peer, uint16_t ctx)
{
    uint32_t i = e->hint[hark_hint_of(peer, ctx)];
    if (i < e->channels.count) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        if (c->peer == peer && c->ctx == ctx) return c;
    }
    return hark_channel_find_far(p, e, peer, ctx);
}

/* Makes the row of a channel that has none; a row has been reserved. */
HARK_COLD struct hark_channel *hark_channel_add(
    struct hark *p, struct hark_endpoint *e, uint32_t peer, uint16_t ctx)
{
    uint32_t i = hark_channel_search(p, e, peer, ctx);
    struct hark_channel *c = (struct hark_channel *)hark_insert(p, &e->channels, i);
    c->peer = peer;
    c->ctx = ctx;
    c->inc = hark_inc_of(p, e, peer);
    if (hark_ranges_hold(p, &e->cluster, peer)) c->flags = HARK_INTRA;
    e->hint[hark_hint_of(peer, ctx)] = (uint8_t)i;
    return c;
}

/* Returns the row of (peer, ctx), and makes it if it is new (*made). A row has been reserved. */
HARK_HOT struct hark_channel *hark_channel_make(
    struct hark *p, struct hark_endpoint *e, uint32_t peer, uint16_t ctx, bool *made)
{
    struct hark_channel *c = hark_channel_find(p, e, peer, ctx);
    *made = c == NULL;
    return c ? c : hark_channel_add(p, e, peer, ctx);
}

/* ---- arrival and delivery -------------------------------------------------------------------- */

/* Returns the index of the row that has the message (*found), else the index where its row
 * belongs. */
static inline uint32_t hark_arrived_search(const struct hark *p, const struct hark_table *t,
    uint32_t peer, uint16_t ctx, uint64_t ssn, bool *found)
{
    uint32_t low = 0, high = t->count;
    *found = false;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct hark_arrived *a = (const struct hark_arrived *)hark_row_of(p, t, mid);
        bool before = a->peer != peer ? a->peer < peer
                      : a->ctx != ctx ? a->ctx < ctx
                                      : a->last < ssn;
        if (before) low = mid + 1;
        else high = mid;
    }
    if (low < t->count) {
        const struct hark_arrived *a = (const struct hark_arrived *)hark_row_of(p, t, low);
        *found = a->peer == peer && a->ctx == ctx && a->ssn <= ssn;
    }
    return low;
}

/* Returns row i if it exists and belongs to this channel; else NULL. */
static inline const struct hark_arrived *hark_arrived_of(
    const struct hark *p, const struct hark_table *t, uint32_t i, uint32_t peer, uint16_t ctx)
{
    const struct hark_arrived *a =
        i < t->count ? (const struct hark_arrived *)hark_row_of(p, t, i) : NULL;
    return a && a->peer == peer && a->ctx == ctx ? a : NULL;
}

/* Returns the first ssn of the channel in the table that is `ssn` or later; 0: there is none. */
static inline uint64_t hark_arrived_from(
    const struct hark *p, const struct hark_table *t, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    bool found;
    const uint32_t i = hark_arrived_search(p, t, peer, ctx, ssn, &found);
    const struct hark_arrived *a = hark_arrived_of(p, t, i, peer, ctx);
    return found ? ssn : a ? a->ssn : 0;
}

/* Adds a message to `waiting` or `beyond`; a row has been reserved. */
static inline void hark_arrived_add(
    struct hark *p, struct hark_table *t, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    bool found;
    uint32_t i = hark_arrived_search(p, t, peer, ctx, ssn, &found);
    if (found) return;
    const struct hark_arrived *before = i ? hark_arrived_of(p, t, i - 1, peer, ctx) : NULL;
    const struct hark_arrived *behind = hark_arrived_of(p, t, i, peer, ctx);
    const bool ends_before = before && before->last + 1 == ssn,
               begins_behind = behind && behind->ssn == ssn + 1;
    if (ends_before) {
        ((struct hark_arrived *)hark_row(p, t, i - 1))->last = begins_behind ? behind->last : ssn;
        if (begins_behind) hark_remove(p, t, i);
    } else if (begins_behind) {
        ((struct hark_arrived *)hark_row(p, t, i))->ssn = ssn;
    } else {
        struct hark_arrived *a = (struct hark_arrived *)hark_insert(p, t, i);
        a->peer = peer;
        a->ctx = ctx;
        a->ssn = a->last = ssn;
    }
}

/* Removes the message; false if it is not in the table. This may split a row in two: a row has been
 * reserved. */
static inline bool hark_arrived_take(
    struct hark *p, struct hark_table *t, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    bool found;
    if (t->count == 0) return false;
    uint32_t i = hark_arrived_search(p, t, peer, ctx, ssn, &found);
    if (!found) return false;
    struct hark_arrived *a = (struct hark_arrived *)hark_row(p, t, i);
    const struct hark_arrived was = *a;
    if (was.ssn == was.last) {
        hark_remove(p, t, i);
    } else if (was.last == ssn) {
        a->last = ssn - 1;
    } else {
        if (was.ssn < ssn) {
            struct hark_arrived *before = (struct hark_arrived *)hark_insert(p, t, i);
            *before = was;
            before->last = ssn - 1;
        }
        a = (struct hark_arrived *)hark_row(p, t, was.ssn < ssn ? i + 1 : i);
        a->ssn = ssn + 1;
    }
    return true;
}

/* Takes an arrival. *waited is true if the message had arrived before the image was taken and waits
 * to be handed up; it is then removed from `waiting`. HARK_EFULL. */
HARK_COLD int hark_waited(struct hark *p, const struct hark_shape *shape, struct hark_endpoint *e,
    const struct hark_head *h, bool *waited)
{
    int status = hark_reserve(p, shape, &e->waiting, 1);
    *waited = status >= 0 && hark_arrived_take(p, &e->waiting, h->src, h->ctx, h->ssn);
    return status;
}

/* True if message `ssn` of the channel was delivered. */
static inline bool hark_delivered(
    const struct hark *p, const struct hark_endpoint *e, const struct hark_channel *c, uint64_t ssn)
{
    bool found;
    if (ssn <= c->done) return true;
    if (e->beyond.count == 0) return false;
    hark_arrived_search(p, &e->beyond, c->peer, c->ctx, ssn, &found);
    return found;
}

/* Marks message `ssn` as delivered; a row of `beyond` has been reserved. */
static inline void hark_deliver_mark(
    struct hark *p, struct hark_endpoint *e, struct hark_channel *c, uint64_t ssn)
{
    if (ssn != c->done + 1) {
        hark_arrived_add(p, &e->beyond, c->peer, c->ctx, ssn);
        return;
    }
    c->done++;
    if (e->beyond.count == 0) return;
    bool found;
    const uint32_t i = hark_arrived_search(p, &e->beyond, c->peer, c->ctx, c->done + 1, &found);
    if (!found) return;
    c->done = ((const struct hark_arrived *)hark_row(p, &e->beyond, i))->last;
    hark_remove(p, &e->beyond, i);
}

/* Finds the first run after *upto of messages that arrived on the channel and were not delivered:
 * *first .. *upto. False: there is none. */
static inline bool hark_undelivered_run(const struct hark *p, const struct hark_endpoint *e,
    const struct hark_channel *c, uint64_t *upto, uint64_t *first)
{
    bool found;
    uint64_t s = *upto > c->done ? *upto : c->done;
    if (s >= c->recv) return false;
    uint32_t i = hark_arrived_search(p, &e->beyond, c->peer, c->ctx, s + 1, &found);
    if (found) /* rows never touch: the message after this row is undelivered */
        s = ((const struct hark_arrived *)hark_row_of(p, &e->beyond, i++))->last;
    if (s >= c->recv) return false;
    const struct hark_arrived *next = hark_arrived_of(p, &e->beyond, i, c->peer, c->ctx);
    *first = s + 1;
    *upto = next && next->ssn > *first && next->ssn <= c->recv ? next->ssn - 1 : c->recv;
    return true;
}

/* The age of a frame, by the incarnations in its header and, for control frames, the epoch. Older
 * frames are discarded, newer ones held until the FAILED that announces them (v1). */
enum { HARK_CURRENT = 0, HARK_OLDER = 1, HARK_NEWER = 2 };

/* Returns the age of an application message whose sender's incarnation is `known` here. */
static inline int hark_age_by(
    const struct hark_endpoint *e, const struct hark_head *h, uint32_t known)
{
    if (h->src_inc < known || h->dst_inc < e->inc) return HARK_OLDER;
    if (h->src_inc > known || h->dst_inc > e->inc) return HARK_NEWER;
    return HARK_CURRENT;
}

static inline int hark_frame_freshness(
    const struct hark *p, const struct hark_endpoint *e, const struct hark_head *h)
{
    if (h->type != HARK_APP && h->re != e->re) return h->re < e->re ? HARK_OLDER : HARK_NEWER;
    if (h->src == HARK_RECOVERY) return HARK_CURRENT;
    return hark_age_by(e, h, hark_inc_of(p, e, h->src));
}

/* True if the frame is addressed to me, its source exists, and its ssn suits its type. */
static inline bool hark_head_valid(const struct hark_endpoint *e, const struct hark_head *h)
{
    if (h->dst != e->me) return false;
    if (h->type == HARK_APP) return h->src < e->ranks && h->ssn > 0;
    return h->ssn == 0 && (h->src < e->ranks || h->src == HARK_RECOVERY);
}

/* ---- FAILED ---------------------------------------------------------------------------------- */

/* Makes room for hark_failed_take. HARK_EFULL. */
static inline int hark_failed_reserve(struct hark *p, const struct hark_shape *s,
    struct hark_endpoint *e, const struct hark_event *event)
{
    return hark_failed_room(p, s, &e->down, &e->incs, event);
}

/* Takes epoch, D and incarnations from the announcement. My own incarnation never rises by this:
 * only a rollback raises it. */
static inline void hark_failed_take(
    struct hark *p, struct hark_endpoint *e, const struct hark_event *event)
{
    e->re = event->u.failed.re;
    hark_failed_tables(p, &e->down, &e->incs, event);
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_channel *c = hark_channel_at(p, e, i);
        c->inc = hark_inc_of(p, e, c->peer);
        c->flags = (uint16_t)(c->flags & ~HARK_GAP); /* OFFER all covers it */
    }
    e->offer = 1;
    e->awaiting = 0;
}

/* Returns my incarnation in the announcement; 0 if it is not there. */
static inline uint32_t hark_failed_mine(
    const struct hark_endpoint *e, const struct hark_event *event)
{
    for (uint32_t i = 0; i < event->u.failed.inc_count; i++)
        if (event->u.failed.inc[i].rank == e->me) return event->u.failed.inc[i].inc;
    return 0;
}

/* Returns the last decided wave of the cluster whose lowest rank is `group`; 0: none. */
static inline uint64_t hark_failed_wave(const struct hark_event *event, uint32_t group)
{
    for (uint32_t i = 0; i < event->u.failed.wave_count; i++)
        if (event->u.failed.wave[i].cluster == group) return event->u.failed.wave[i].wave;
    return 0;
}

/* ---- an image -------------------------------------------------------------------------------- */

/* True if the rows of the table, which begin with a rank, ascend by rank and all ranks are below
 * `end`. */
static inline bool hark_rows_ascend(const struct hark *p, const struct hark_table *t, uint64_t end)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t rank = *(const uint32_t *)hark_row_of(p, t, i);
        if (rank < next || rank >= end) return false;
        next = (uint64_t)rank + 1;
    }
    return true;
}

/* True if an unpacked state has what every step relies on; among it, that no ssn is larger than
 * `names` can count. */
static inline bool hark_ends_ok(const struct hark *p, const struct hark_endpoint *e)
{
    const struct hark_channel *before = NULL;
    if (e->me >= e->ranks || e->ranks > HARK_RANKS_MAX) return false;
    if (!hark_ranges_ok(p, &e->cluster, e->ranks) || !hark_ranges_ok(p, &e->down, e->ranks))
        return false;
    if (!hark_lives_ok(p, &e->incs)) return false;
    for (uint32_t i = 0; i < e->channels.count; i++) {
        const struct hark_channel *c = (const struct hark_channel *)hark_row_of(p, &e->channels, i);
        if (c->peer >= e->ranks || c->done > c->recv || (c->sent | c->recv) >> HARK_SSN_BITS)
            return false;
        if (before &&
            (c->peer < before->peer || (c->peer == before->peer && c->ctx <= before->ctx)))
            return false;
        before = c;
    }
    return true;
}

/* ---- effects of a channel -------------------------------------------------------------------- */

/* Emits a control frame to `to` with `length` bytes after the common part; returns where these
 * begin. */
HARK_COLD uint8_t *hark_emit_control(struct hark *p, struct hark_endpoint *e,
    struct hark_effects *fx, uint8_t type, uint32_t to, uint32_t length)
{
    struct hark_head h = {
        (uint8_t)p->kind, type, 0, e->me, to, e->inc, hark_inc_of(p, e, to), e->re, 0};
    uint8_t *body;
    hark_emit_frame(fx, &h, HARK_WIRE_HEAD + length, &body);
    return body;
}

static inline struct hark_name hark_name_of(uint8_t way, const struct hark_channel *c, uint64_t ssn)
{
    struct hark_name n = {c->peer, c->ctx, way, HARK_PROCESS, ssn};
    return n;
}

/* Returns the name of an arrived message. */
static inline struct hark_name hark_name_in(uint32_t src, uint16_t ctx, uint64_t ssn)
{
    struct hark_name n = {src, ctx, HARK_IN, HARK_PROCESS, ssn};
    return n;
}

/* Returns the name of a multicast, or of a contribution to a reduction. */
static inline struct hark_name hark_name_of_group(uint16_t ctx, uint64_t ssn)
{
    struct hark_name n = {ctx, ctx, HARK_OUT, HARK_GROUP, ssn};
    return n;
}

/* Emits the pending OFFER of all, after all other effects. HARK_MORE if it does not fit. */
static inline int hark_offer_all(struct hark_endpoint *e, struct hark_effects *fx)
{
    if (!e->offer) return HARK_OK;
    if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
    e->offer = 0;
    hark_emit_offer(fx, HARK_RECOVERY);
    return HARK_OK;
}

/* Names, for an image, the next run after *upto of arrived and undelivered messages of a
 * channel. */
static inline bool hark_undelivered(const struct hark *p, const struct hark_endpoint *e,
    const struct hark_channel *c, uint64_t *upto, struct hark_names *run)
{
    uint64_t first;
    if (!hark_undelivered_run(p, e, c, upto, &first)) return false;
    run->name = hark_name_of(HARK_IN, c, first);
    run->last = *upto;
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
