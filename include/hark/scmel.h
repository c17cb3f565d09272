/* scmel.h: simple causal message logging, with k copies of every determinant.
 *
 * E. Meneses, L. V. Kale: CAMEL: Collective-Aware Message Logging. The Journal of Supercomputing, 2015. Algorithm 1
 * (SCMEL), section 2.3.1.
 *
 *   Algorithm 1, lines                     here
 *   1-9    SendMsg                         hark_scmel_send, hark_scmel_transmit
 *   10-18  ReceiveMsg                      hark_scmel_frame (determinants, 15-16), hark_scmel_arrive (order, 11-12),
 *                                          hark_scmel_deliver (rsn, 13-14)
 *   19-21  ReceiveDetAck                   hark_scmel_acks
 *   22-27  Checkpoint                      wave.h, hark_scmel_captured, hark_scmel_commit
 *   28-43  Failure                         hark_scmel_failed, hark_scmel_pump_dets; second half hark_scmel_ready
 *   44-51  ReceiveDets                     hark_scmel_dets, hark_scmel_collected
 *
 * What differs from the printed pseudocode, everywhere: a message is known by its ssn on its channel (S-10); the
 * order of replay is enforced, looks that found nothing included (S-3); no barrier (S-6); incarnations come from the
 * failure service, never from an image (S-7); what a failed process held becomes loose again (S-5').
 *
 * Which determinants travel. A message takes along every loose own determinant that no earlier message of its
 * channel took: it is accepted only behind those, so its receiver has them all. One sent again takes what is loose
 * then (S-5): that is as good as what it had, because a determinant that is not loose has k holders that are alive.
 * Recovery counts on it being k that fail: k >= 2 also passes on the determinants of others until they have copies
 * enough (family-based logging). A message with more determinants than fit waits in the log, and they go ahead to its
 * receiver in frames of their own (SPREAD), which are acknowledged at once: so it waits for nobody else (v9). Before
 * loose ones become that many they go to the next ranks (I10). Acknowledgements ride on the next message to the
 * peer, or go at IDLE, or when HARK_SCMEL_OWED are owed (I10).
 *
 * Waves are over all processes. So what a process has posted when it takes image o has arrived before everyone's
 * image o, and what it knows of others they did before theirs: logs and lists are trimmed without notices.
 */
#ifndef HARK_SCMEL_H
#define HARK_SCMEL_H

#include "determinant.h"
#include "member.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_KIND_SCMEL 5
#define HARK_SCMEL_HEADER 40u /* of an application message: the common part, u16 determinants, u16 acks, u32 k */
#define HARK_SCMEL_ACKS 8u    /* that a message takes along at most */
#define HARK_SCMEL_OWED 8u    /* determinants of a peer that go unacknowledged at most, I10 */
#ifndef HARK_SCMEL_ROOM
#define HARK_SCMEL_ROOM (HARK_FRAGMENT - HARK_SCMEL_HEADER - HARK_SCMEL_ACKS * HARK_ACK_BYTES) /* for determinants */
#endif
#ifndef HARK_SCMEL_LOOSE
#define HARK_SCMEL_LOOSE 0u   /* loose determinants that make a SPREAD; 0: half of what fits into a header */
#endif
#define HARK_SCMEL_CTX_MAX 120u /* contexts in a READY; what is not listed is sent again from the log's beginning */

enum { /* control frames; ACK and SPREAD are judged by incarnations alone, the others belong to one epoch */
    HARK_S_ACK = 16, HARK_S_SPREAD, HARK_S_DETS, HARK_S_READY, HARK_S_DONE
};
enum { HARK_SCMEL_NORMAL = 0, HARK_SCMEL_COLLECT, HARK_SCMEL_REPLAY };
enum { HARK_SCMEL_DUE = 1, HARK_SCMEL_HELD = 2, HARK_SCMEL_READY = 4 };
enum { /* of a channel: a TRIM is due; a SPREAD to the peer is due, is on its way */
    HARK_SCMEL_TRIM = HARK_OWN_FLAGS, HARK_SCMEL_AHEAD = HARK_OWN_FLAGS << 1, HARK_SCMEL_WENT = HARK_OWN_FLAGS << 2
};
enum { HARK_SCMEL_SENT = 0, HARK_SCMEL_RSN = 1 };      /* what a position is about */

struct hark_scmel_channel {
    struct hark_channel channel;
    uint64_t tx;      /* transmitted up to here; tx+1 .. sent are put off */
    uint64_t first;   /* msgLog of j is first .. sent */
    uint64_t theirs;  /* sent_j[i], as j's DETS says */
    uint64_t carried; /* own loose determinants up to here went out on this channel */
    uint64_t from;    /* the first ssn that arrived from incarnation `accepted` of j */
    uint32_t accepted, pad;
};

struct hark_scmel_log { /* detLog of one creator */
    uint32_t rank, pad;
    uint64_t acked; /* acknowledged to the creator, or owed, up to here */
    struct hark_dets dets;
};

struct hark_scmel_pair { /* a process with whom this recovery has business */
    uint32_t rank, flags;
    uint32_t next, pad; /* fragment of its DETS */
};

struct hark_scmel_position { /* at a kept image: of a channel its `sent`, of a creator the highest rsn known */
    uint64_t id;
    uint32_t peer;
    uint16_t ctx, what;
    uint64_t at;
};

struct hark_scmel_walk { /* through what goes to one process: list 0 its own, 1 mine, 2.. others' */
    uint32_t list, open;
    struct hark_place at;
};

struct hark_scmel {
    struct hark head;
    struct hark_ends ends;
    struct hark_wave wave;
    uint32_t k;    /* copies wanted */
    uint32_t mode; /* normal, collect: DETS are awaited; replay */
    uint64_t rsn;  /* deliveries and misses since the job began */
    uint64_t told; /* no own determinant beyond it has left this process */
    uint32_t recovering, got; /* D is not empty; DETS complete, of how many processes */
    uint32_t persisting;      /* DONE of this epoch is being made durable */
    uint32_t fresh;           /* rows that became loose since the last SPREAD to the next ranks */
    uint32_t late;            /* some message may be put off */
    uint32_t busy, gone;      /* busy: the fan-outs below have something to look for */
    uint32_t ready, done, spread;  /* fan-outs under way: next rank or target, + 1 */
    uint32_t ack_peer, ack_all;    /* whose acknowledgements go now, + 1; all */
    uint32_t offer_peer;           /* OFFER of one peer, + 1 */
    uint32_t walk_rank, walk_sent, fragment; /* DETS under way: to whom + 1, channels told, fragments */
    struct hark_scmel_walk walk;
    uint32_t awaited;         /* answers to SPREADs */
    struct hark_dets own; /* rsnMap: own determinants; beyond rsn they are need, what others held */
    struct hark_pool pool;
    struct hark_table pairs, positions, owed, logs;
};

#define HARK_SF(m, s) HARK_FIELD(struct hark_scmel, m, s)
#define HARK_SC(m, s) HARK_FIELD(struct hark_scmel_channel, m, s)
static const struct hark_field hark_scmel_fields[] = {HARK_ENDS_FIELDS(struct hark_scmel), HARK_SF(k, "k"),
    HARK_WAVE_FIELDS(struct hark_scmel), HARK_SF(mode, "mode"), HARK_SF(rsn, "rsn"), HARK_SF(told, ""),
    HARK_SF(recovering, ""), HARK_SF(got, "AllDets"), HARK_SF(persisting, ""), HARK_SF(fresh, ""), HARK_SF(awaited, ""), HARK_SF(late, ""),
    HARK_SF(gone, ""), HARK_DETS_FIELDS(struct hark_scmel, own, "rsnMap")};
static const struct hark_field hark_scmel_channel_fields[] = {HARK_CHANNEL_FIELDS(struct hark_scmel_channel),
    HARK_SC(tx, ""), HARK_SC(first, "msgLog"), HARK_SC(theirs, ""), HARK_SC(carried, "dets"), HARK_SC(from, ""),
    HARK_SC(accepted, "incMap")};
static const struct hark_field hark_scmel_log_fields[] = {HARK_FIELD(struct hark_scmel_log, rank, "recver"),
    HARK_FIELD(struct hark_scmel_log, acked, ""), HARK_DETS_FIELDS(struct hark_scmel_log, dets, "detLog")};
static const struct hark_field hark_scmel_pair_fields[] = {HARK_FIELD(struct hark_scmel_pair, rank, "j"),
    HARK_FIELD(struct hark_scmel_pair, flags, ""), HARK_FIELD(struct hark_scmel_pair, next, "")};
static const struct hark_field hark_scmel_position_fields[] = {HARK_FIELD(struct hark_scmel_position, id, "ckptNo"),
    HARK_FIELD(struct hark_scmel_position, peer, "j"), HARK_FIELD(struct hark_scmel_position, ctx, "ctx"),
    HARK_FIELD(struct hark_scmel_position, what, ""), HARK_FIELD(struct hark_scmel_position, at, "")};
static const struct hark_rows hark_scmel_rows[] = {HARK_ENDS_TABLES(struct hark_scmel),
    HARK_WAVE_TABLES(struct hark_scmel),
    {"pairs", "", (uint16_t)offsetof(struct hark_scmel, pairs), sizeof(struct hark_scmel_pair), 3,
        hark_scmel_pair_fields},
    {"positions", "", (uint16_t)offsetof(struct hark_scmel, positions), sizeof(struct hark_scmel_position), 5,
        hark_scmel_position_fields},
    {"owed", "", (uint16_t)offsetof(struct hark_scmel, owed), sizeof(struct hark_owed), 4, hark_owed_fields},
    {"logs", "detLog", (uint16_t)offsetof(struct hark_scmel, logs), sizeof(struct hark_scmel_log),
        HARK_COUNT(hark_scmel_log_fields), hark_scmel_log_fields},
    {"channels", "", (uint16_t)offsetof(struct hark_scmel, ends.channels), sizeof(struct hark_scmel_channel),
        HARK_COUNT(hark_scmel_channel_fields), hark_scmel_channel_fields},
    {"pool", "", (uint16_t)offsetof(struct hark_scmel, pool.chunks), sizeof(struct hark_chunk), 0, NULL}};
static const struct hark_shape hark_scmel_shape = {"scmel", 1, HARK_COUNT(hark_scmel_fields),
    HARK_COUNT(hark_scmel_rows), sizeof(struct hark_scmel), hark_scmel_fields, hark_scmel_rows,
    offsetof(struct hark_scmel, pool)};
HARK_STATIC_ASSERT(sizeof(struct hark_scmel) % 8 == 0, "tables begin aligned");

HARK_FN uint64_t hark_scmel_size(const struct hark_config *config);
HARK_FN int hark_scmel_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_scmel_step(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_scmel_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_scmel_violated(const struct hark *p);
/* See hark_unstable in registry.h. Before a recovery is over also those that are still to be replayed count. */
HARK_FN uint64_t hark_scmel_unstable(const struct hark *p);

#if HARK_BODIES

static inline struct hark_scmel_channel *hark_scmel_at(struct hark_scmel *s, uint32_t i)
{
    return (struct hark_scmel_channel *)hark_row(&s->head, &s->ends.channels, i);
}

static inline struct hark_scmel_log *hark_scmel_log_at(struct hark_scmel *s, uint32_t i)
{
    return (struct hark_scmel_log *)hark_row(&s->head, &s->logs, i);
}

static inline struct hark_scmel_channel *hark_scmel_channel(struct hark_scmel *s, uint32_t peer, uint16_t ctx)
{
    bool made;
    struct hark_scmel_channel *c =
        (struct hark_scmel_channel *)(void *)hark_channel_make(&s->head, &s->ends, peer, ctx, &made);
    if (made) c->first = 1;
    return c;
}

/* The row of `rank` in a table whose rows begin with one; *i is where it is or would be. */
static inline void *hark_scmel_ranked(struct hark *p, const struct hark_table *t, uint32_t rank, uint32_t *i)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (*(const uint32_t *)hark_row(p, t, mid) < rank) low = mid + 1;
        else high = mid;
    }
    *i = low;
    return low < t->count && *(const uint32_t *)hark_row(p, t, low) == rank ? hark_row(p, t, low) : NULL;
}

static inline struct hark_scmel_log *hark_scmel_log(struct hark_scmel *s, uint32_t rank, bool make)
{
    uint32_t i;
    struct hark_scmel_log *log = (struct hark_scmel_log *)hark_scmel_ranked(&s->head, &s->logs, rank, &i);
    if (log || !make) return log;
    log = (struct hark_scmel_log *)hark_insert(&s->head, &s->logs, i);
    log->rank = rank;
    hark_dets_init(&log->dets, s->k ? s->k - 1 : 0); /* besides me */
    return log;
}

static inline struct hark_scmel_pair *hark_scmel_pair(struct hark_scmel *s, uint32_t rank, bool make)
{
    uint32_t i;
    struct hark_scmel_pair *x = (struct hark_scmel_pair *)hark_scmel_ranked(&s->head, &s->pairs, rank, &i);
    if (x || !make) return x;
    x = (struct hark_scmel_pair *)hark_insert(&s->head, &s->pairs, i);
    x->rank = rank;
    return x;
}

/* Has `rank` gone back and not yet said from where it needs its messages? */
static inline bool hark_scmel_closed(struct hark_scmel *s, uint32_t rank)
{
    if (s->ends.down.count == 0 || !hark_is_down(&s->head, &s->ends, rank)) return false;
    struct hark_scmel_pair *x = hark_scmel_pair(s, rank, false);
    return x == NULL || !(x->flags & HARK_SCMEL_READY);
}

/* ---- lines 1-9 and 19-21: determinants go out until they are stable -------------------------------------------------- */

/* The next determinant that goes to `to`; *d and *creator say whose. Starts at list 0 for all, 1 for the loose. */
static inline const uint64_t *hark_scmel_walk(struct hark_scmel *s, struct hark_scmel_walk *w, uint32_t to,
    struct hark_dets **d, uint32_t *creator)
{
    struct hark *p = &s->head;
    for (;; w->list++, w->open = 0) {
        struct hark_scmel_log *log = NULL;
        if (w->list == 0) log = hark_scmel_log(s, to, false);
        if (w->list > 1 && (s->k < 2 || w->list - 2 >= s->logs.count)) return NULL;
        if (w->list > 1) log = hark_scmel_log_at(s, w->list - 2);
        if (w->list != 1 && (log == NULL || (w->list && log->rank == to))) continue;
        *d = w->list == 1 ? &s->own : &log->dets;
        *creator = w->list == 1 ? s->ends.me : log->rank;
        if (!w->open) w->at = w->list ? hark_dets_loose(p, &s->pool, *d) : hark_queue_begin(&(*d)->rows);
        w->open = 1;
        for (const uint64_t *row; (row = hark_dets_next(p, &s->pool, *d, &w->at)) != NULL;) {
            if (w->list == 1 && row[0] > s->rsn) break;
            if (w->list == 0 || (hark_det_holders(*d, row) < (*d)->most && !hark_det_held(*d, row, to))) return row;
        }
    }
}

/* Writes what a message to `to` takes along, *n determinants; false if it does not fit. */
static inline bool hark_scmel_carry(struct hark_scmel *s, uint32_t to, uint64_t carried, uint8_t *b, uint32_t room,
    uint32_t *n)
{
    struct hark_scmel_walk w = {1, 0, {0, 0, 0}};
    uint32_t bytes = hark_det_bytes(s->k), creator;
    struct hark_dets *d;
    *n = 0;
    for (const uint64_t *row; (row = hark_scmel_walk(s, &w, to, &d, &creator)) != NULL;) {
        if (w.list == 1 && row[0] <= carried) continue;
        if ((*n + 1) * bytes > room) return false;
        hark_det_write(b + *n * bytes, d, row, creator, s->ends.me, s->k);
        ++*n;
    }
    return true;
}

/* NetSendMsg, with determinants and acknowledgements; HARK_FRAGMENT bytes are free. False: they do not fit, and
 * nothing happened. Nothing goes with a message to myself: I am no second holder (S-4).              l. 6, 16, 8 */
static inline bool hark_scmel_transmit(struct hark_scmel *s, struct hark_scmel_channel *c, uint64_t ssn,
    struct hark_effects *fx)
{
    struct hark_head h = {HARK_KIND_SCMEL, HARK_APP, c->channel.ctx, s->ends.me, c->channel.peer, s->ends.inc,
        c->channel.inc, s->ends.re, ssn};
    uint8_t *b = fx->bytes + fx->used + HARK_SCMEL_HEADER;
    uint32_t n = 0, acks = 0;
    if (c->channel.peer != s->ends.me) {
        if (!hark_scmel_carry(s, c->channel.peer, c->carried, b, HARK_SCMEL_ROOM, &n)) {
            if (!(c->channel.flags & HARK_SCMEL_WENT)) c->channel.flags |= HARK_SCMEL_AHEAD;
            s->busy = 1;
            return false;
        }
        acks = hark_owed_write(&s->head, &s->owed, c->channel.peer, b + n * hark_det_bytes(s->k), HARK_SCMEL_ACKS);
        c->carried = s->told = s->rsn;
    }
    struct hark_effect *x =
        hark_emit_frame(fx, &h, HARK_SCMEL_HEADER + n * hark_det_bytes(s->k) + acks * HARK_ACK_BYTES, &b);
    hark_put16(b, (uint16_t)n);
    hark_put16(b + 2, (uint16_t)acks);
    hark_put32(b + 4, s->k);
    x->name = hark_name_of(HARK_OUT, &c->channel, ssn);
    c->channel.flags &= (uint16_t)~HARK_SCMEL_WENT;
    c->tx = ssn;
    return true;
}

/* SendMsg.                                                                                                   l. 1-9 */
static inline int hark_scmel_send(struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    uint32_t peer = event->u.send.peer;
    if (event->u.send.to != HARK_PROCESS || peer >= s->ends.ranks) return HARK_EINVAL;
    if (s->wave.at) return HARK_ESTATE; /* inside a checkpoint call nothing is sent */
    int status = hark_reserve(&s->head, &hark_scmel_shape, &s->ends.channels, 1);
    if (status < 0) return status;
    struct hark_scmel_channel *c = hark_scmel_channel(s, peer, event->u.send.ctx);
    uint64_t ssn = ++c->channel.sent;                                                                        /* l. 4 */
    if (peer == s->ends.me) { /* lost with me and sent again by re-execution */
        c->first = ssn + 1;
        hark_scmel_transmit(s, c, ssn, fx);
        return HARK_OK;
    }
    if (c->tx + 1 != ssn || hark_scmel_closed(s, peer) || !hark_scmel_transmit(s, c, ssn, fx)) s->late = 1;
    hark_emit(fx, HARK_RETAIN)->name = hark_name_of(HARK_OUT, &c->channel, ssn);                             /* l. 7 */
    return HARK_OK;
}

/* ReceiveDetAck: {creator u32, count u32, first rsn u64} each; the acker is a holder.                      l. 19-21 */
static inline void hark_scmel_acks(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, uint32_t n)
{
    for (uint32_t left = n; left > 0; left--, b += HARK_ACK_BYTES) {
        uint32_t creator = hark_get32(b);
        uint64_t first = hark_get64(b + 8), last = first + hark_get32(b + 4) - 1;
        struct hark_scmel_log *log = creator == s->ends.me ? NULL : hark_scmel_log(s, creator, false);
        if (creator == s->ends.me) hark_dets_hold(&s->head, &s->pool, &s->own, first, last, h->src);
        else if (log && creator != h->src) hark_dets_hold(&s->head, &s->pool, &log->dets, first, last, h->src);
    }
    if (n && s->awaited) s->awaited--; /* or to something else: then it is too early */
    for (uint32_t i = s->late ? hark_channel_search(&s->head, &s->ends, h->src, 0) : UINT32_MAX;
         i < s->ends.channels.count && hark_scmel_at(s, i)->channel.peer == h->src; i++)
        hark_scmel_at(s, i)->channel.flags &= (uint16_t)~HARK_SCMEL_WENT; /* they may fit now; if not, again */
    if (s->late) s->busy = 1;
}

/* All that is loose here: an own determinant is stable when k others hold it, one of another's when k - 1 do besides
 * me. One that is not here is stable, or it would have come with the message that depends on it. */
HARK_FN uint64_t hark_scmel_unstable(const struct hark *p)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    uint64_t loose = s->own.loose;
    for (uint32_t i = 0; s->k > 1 && i < s->logs.count; i++)
        loose += ((const struct hark_scmel_log *)hark_row_of(p, &s->logs, i))->dets.loose;
    return loose;
}

/* Loose determinants have become many: they go to the next ranks before a message has to wait for them (I10). */
static inline void hark_scmel_grown(struct hark_scmel *s)
{
    const uint32_t fit = HARK_SCMEL_ROOM / hark_det_bytes(s->k);
    const uint32_t limit = HARK_SCMEL_LOOSE ? HARK_SCMEL_LOOSE : fit / 2;
    if (s->fresh < limit || s->awaited) return;
    s->fresh = 0;
    if (hark_scmel_unstable(&s->head) < limit || s->ends.ranks < 2) return;
    s->spread = s->busy = 1;
}

/* ---- lines 10-18: what comes in -------------------------------------------------------------------------------------- */

/* A determinant that came from h->src, and so is held there. `forced`: it is acknowledged in any case. Holder
 * sets of a sender that does not know of the last failure may name who has lost its copies.                l. 15-16 */
static inline void hark_scmel_absorb(struct hark_scmel *s, const struct hark_head *h, const struct hark_det *x,
    bool forced)
{
    struct hark *p = &s->head;
    bool made = false, mine = x->creator == s->ends.me;
    struct hark_scmel_log *log = mine ? NULL : hark_scmel_log(s, x->creator, true);
    struct hark_dets *d = mine ? &s->own : &log->dets;
    uint64_t end = x->src == HARK_DET_MISS ? x->rsn + x->ssn - 1 : x->rsn, *row;
    if (mine && (h->type != HARK_S_DETS || end <= s->rsn)) row = hark_dets_find(p, &s->pool, d, x->rsn);
    else row = hark_dets_put(p, &s->pool, d, x, &made);
    if (row == NULL || row[0] != x->rsn || !hark_det_is(row, x->src, (uint16_t)x->ctx, x->ssn)) return;
    if (h->src != x->creator) hark_det_hold(d, row, h->src);
    for (uint32_t i = 0; i < x->holders && h->re >= s->ends.re; i++)
        if (x->holder[i] != s->ends.me && x->holder[i] != x->creator) hark_det_hold(d, row, x->holder[i]);
    if (mine) return;
    if (made && hark_det_holders(d, row) < d->most) s->fresh++;
    if (made || forced || h->src != x->creator || end > log->acked)
        hark_owed_add(p, &s->owed, h->src, x->creator, x->rsn, end);
    if (h->src == x->creator && end > log->acked) log->acked = end;
}

/* n determinants at b; they are well-formed and there is room for them. */
static inline void hark_scmel_absorb_all(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, uint32_t n,
    bool forced)
{
    struct hark_det x;
    if (n == 0) return;
    for (; n > 0; n--, b += hark_det_bytes(s->k))
        if (hark_det_read(&x, b, s->ends.ranks, s->k)) hark_scmel_absorb(s, h, &x, forced);
    if (forced || hark_owed_count(&s->head, &s->owed, h->src) >= HARK_SCMEL_OWED) {
        s->ack_peer = h->src + 1;
        s->busy = 1;
    }
    if (s->k > 1) hark_scmel_grown(s);
}

/* May this arrived message be handed up? In replay only the one that rsn + 1 names; where no determinant of rsn + 1
 * is left but later ones are, any that none names.                                                     erratum S-3 */
static inline bool hark_scmel_turn(struct hark_scmel *s, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    struct hark *p = &s->head;
    if (s->mode == HARK_SCMEL_NORMAL) return true;
    if (s->mode == HARK_SCMEL_COLLECT || s->own.top <= s->rsn) return false;
    const uint64_t *row = hark_dets_find(p, &s->pool, &s->own, s->rsn + 1);
    if (row) return hark_det_is(row, src, ctx, ssn);
    struct hark_place at = hark_queue_begin(&s->own.rows);
    while ((row = hark_dets_next(p, &s->pool, &s->own, &at)) != NULL)
        if (row[0] > s->rsn && hark_det_is(row, src, ctx, ssn)) return false;
    return true;
}

static inline void hark_scmel_offer(struct hark_scmel *s, uint32_t peer)
{
    if (s->offer_peer && s->offer_peer != peer + 1) s->ends.offer = 1;
    s->offer_peer = peer + 1;
}

/* Replay is over when no determinant is left and every replayed message has arrived: a process without any may
 * still be the only one that a replay gives another's determinant to (v6). */
static inline void hark_scmel_try_normal(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_REPLAY || s->own.top > s->rsn) return;
    for (uint32_t i = 0; i < s->ends.channels.count; i++)
        if (hark_scmel_at(s, i)->channel.recv < hark_scmel_at(s, i)->theirs) return;
    s->mode = HARK_SCMEL_NORMAL;
    s->persisting = s->ends.offer = 1;
    struct hark_effect *x = hark_emit(fx, HARK_PERSIST);
    x->fact = HARK_FACT_DONE;
    x->peer = s->ends.me;
    x->re = s->ends.re;
    x->u.id = s->ends.re;
}

/* An arrived message that is here already: held for its turn, or a duplicate. */
static inline int hark_scmel_again(struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    bool found;
    hark_arrived_search(&s->head, &s->ends.waiting, h->src, h->ctx, h->ssn, &found);
    if (!found) return hark_fate(fx, HARK_DISCARD);
    if (!hark_scmel_turn(s, h->src, h->ctx, h->ssn)) return hark_fate(fx, HARK_HOLD);
    hark_arrived_take(&s->head, &s->ends.waiting, h->src, h->ctx, h->ssn);
    return hark_fate(fx, HARK_HANDUP);
}

/* ReceiveMsg, when its determinants have been taken: OutOfOrder.                                        l. 11-12, 17 */
static inline int hark_scmel_arrive(struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    struct hark_scmel_channel *c = hark_scmel_channel(s, h->src, h->ctx);
    if (h->ssn <= c->channel.recv) return hark_scmel_again(s, h, fx);
    if (h->ssn > c->channel.recv + 1) {
        c->channel.flags |= HARK_GAP;
        return hark_fate(fx, HARK_HOLD);
    }
    c->channel.recv++;
    if (c->accepted != h->src_inc) {
        c->accepted = h->src_inc;
        c->from = h->ssn;
    }
    if (hark_scmel_turn(s, h->src, h->ctx, h->ssn)) {
        hark_emit(fx, HARK_HANDUP);
    } else {
        hark_arrived_add(&s->head, &s->ends.waiting, h->src, h->ctx, h->ssn);
        hark_emit(fx, HARK_HOLD);
    }
    hark_wave_arrived(&s->wave, &c->channel, fx);
    if (c->channel.flags & HARK_GAP) {
        c->channel.flags = (uint16_t)(c->channel.flags & ~HARK_GAP);
        hark_scmel_offer(s, h->src);
    }
    hark_scmel_try_normal(s, fx);
    return HARK_OK;
}

/* A message from or to an earlier self. What had arrived then and waits is taken, anything else is dropped: a
 * process that nobody depended on may have sent something else under the same ssn the second time. */
static inline int hark_scmel_older(struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    const struct hark_scmel_channel *c =
        (const struct hark_scmel_channel *)(const void *)hark_channel_find(&s->head, &s->ends, h->src, h->ctx);
    if (c == NULL || (h->ssn >= c->from ? h->src_inc != c->accepted : h->src_inc >= c->accepted))
        return hark_fate(fx, HARK_DISCARD);
    return hark_scmel_again(s, h, fx);
}

/* rsn has grown in replay: what is next? */
static inline void hark_scmel_next(struct hark_scmel *s, struct hark_effects *fx)
{
    bool found;
    if (s->mode != HARK_SCMEL_REPLAY) return;
    hark_scmel_try_normal(s, fx);
    if (s->own.top <= s->rsn) return;
    const uint64_t *row = hark_dets_find(&s->head, &s->pool, &s->own, s->rsn + 1);
    if (row == NULL) {
        s->ends.offer = 1;
    } else if ((uint32_t)row[2] != HARK_DET_MISS) {
        hark_arrived_search(&s->head, &s->ends.waiting, (uint32_t)row[2], (uint16_t)(row[2] >> 32), row[1], &found);
        if (found) hark_scmel_offer(s, (uint32_t)row[2]);
    }
}

/* The message is taken: it gets its rsn and its determinant.                                              l. 13-14 */
static inline int hark_scmel_deliver(struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_ends *e = &s->ends;
    struct hark_head h;
    bool made, waits;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_SCMEL) < 0 || h.type != HARK_APP) return HARK_EFRAME;
    if (s->wave.at) return HARK_ESTATE;
    int status = hark_reserve(p, &hark_scmel_shape, &e->beyond, 1);
    if (status >= 0) status = hark_pool_reserve(p, &hark_scmel_shape, &s->pool, 1);
    if (status < 0) return status;
    struct hark_channel *c = hark_channel_find(p, e, h.src, h.ctx);
    if (c == NULL || h.ssn == 0 || h.ssn > c->recv || hark_delivered(p, e, c, h.ssn)) return HARK_EINVAL;
    if (s->mode != HARK_SCMEL_NORMAL) {
        if (!hark_scmel_turn(s, h.src, h.ctx, h.ssn)) return HARK_WAIT;
        hark_arrived_search(p, &e->waiting, h.src, h.ctx, h.ssn, &waits);
        if (waits) return HARK_EINVAL; /* it was not handed up */
    }
    hark_deliver_mark(p, e, c, h.ssn);
    struct hark_det x = {e->me, h.src, h.ctx, 0, h.ssn, ++s->rsn, {0}};
    hark_dets_put(p, &s->pool, &s->own, &x, &made);
    if (s->own.loose) s->fresh++;
    hark_scmel_next(s, fx);
    hark_scmel_grown(s);
    return HARK_OK;
}

/* A look that found nothing is a choice too: it takes an rsn. Looks in a row that nobody was told of are one row. */
static inline int hark_scmel_miss(struct hark_scmel *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_det x = {s->ends.me, HARK_DET_MISS, 0, 0, 1, s->rsn + 1, {0}};
    bool made;
    if (s->wave.at) return HARK_ESTATE;
    int status = hark_pool_reserve(p, &hark_scmel_shape, &s->pool, 1);
    if (status < 0) return status;
    if (s->mode == HARK_SCMEL_NORMAL) {
        uint64_t *last = hark_queue_last(p, &s->pool, &s->own.rows);
        if (last && s->own.top == s->rsn && s->rsn > s->told && (uint32_t)last[2] == HARK_DET_MISS) {
            last[1]++;
            s->own.top = ++s->rsn;
            return HARK_OK;
        }
    } else {
        if (s->mode == HARK_SCMEL_COLLECT || s->own.top <= s->rsn) return HARK_WAIT;
        const uint64_t *row = hark_dets_find(p, &s->pool, &s->own, s->rsn + 1);
        if (row && (uint32_t)row[2] != HARK_DET_MISS) return HARK_WAIT; /* it found something */
    }
    s->rsn++;
    hark_dets_put(p, &s->pool, &s->own, &x, &made);
    if (s->own.loose) s->fresh++;
    hark_scmel_next(s, fx);
    hark_scmel_grown(s);
    return HARK_OK;
}

/* ---- lines 22-27: checkpoints -------------------------------------------------------------------------------------------- */

static inline void hark_scmel_remember(struct hark_scmel *s, uint32_t peer, uint16_t ctx, uint16_t what, uint64_t at)
{
    struct hark_scmel_position *x =
        (struct hark_scmel_position *)hark_insert(&s->head, &s->positions, s->positions.count);
    x->id = s->wave.wave;
    x->peer = peer;
    x->ctx = ctx;
    x->what = what;
    x->at = at;
}

/* An image is taken: everyone stands still, and nothing is under way. */
static inline void hark_scmel_captured(struct hark_scmel *s)
{
    hark_scmel_remember(s, s->ends.me, 0, HARK_SCMEL_RSN, s->rsn);
    for (uint32_t i = 0; i < s->logs.count; i++) {
        const struct hark_scmel_log *log = hark_scmel_log_at(s, i);
        if (log->dets.top) hark_scmel_remember(s, log->rank, 0, HARK_SCMEL_RSN, log->dets.top);
    }
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (c->channel.peer != s->ends.me && c->channel.sent)
            hark_scmel_remember(s, c->channel.peer, c->channel.ctx, HARK_SCMEL_SENT, c->channel.sent);
    }
}

/* A wave is over. If it committed and as many images are kept as there should be, what is older than the oldest
 * of them goes: never before COMMIT (section 2 b).                                                          l. 23-25 */
static inline void hark_scmel_commit(struct hark_scmel *s, bool committed)
{
    struct hark *p = &s->head;
    const struct hark_table *kept = &s->wave.kept;
    uint64_t oldest = kept->count ? ((const struct hark_image *)hark_row(p, kept, 0))->id : 0;
    uint64_t newest = kept->count ? ((const struct hark_image *)hark_row(p, kept, kept->count - 1))->id : 0;
    committed = committed && kept->count == s->wave.generations;
    for (uint32_t i = s->positions.count; i-- > 0;) {
        const struct hark_scmel_position x = *(const struct hark_scmel_position *)hark_row(p, &s->positions, i);
        if (x.id < oldest || x.id > newest) hark_remove(p, &s->positions, i);
        if (!committed || x.id != oldest) continue;
        if (x.what == HARK_SCMEL_SENT) {
            struct hark_scmel_channel *c =
                (struct hark_scmel_channel *)(void *)hark_channel_find(p, &s->ends, x.peer, x.ctx);
            if (c == NULL || c->first > x.at) continue;
            c->first = x.at + 1;
            c->channel.flags |= HARK_SCMEL_TRIM;
            s->busy = 1;
        } else if (x.peer == s->ends.me) {
            hark_dets_trim(p, &s->pool, &s->own, x.at);
        } else if (hark_scmel_log(s, x.peer, false)) {
            hark_dets_trim(p, &s->pool, &hark_scmel_log(s, x.peer, false)->dets, x.at);
        }
    }
}

/* ---- lines 28-51: failures ------------------------------------------------------------------------------------------------- */

/* `rank` has become a new incarnation: what it held is gone, and so are those who were owed.            erratum S-5' */
static inline void hark_scmel_lost(struct hark_scmel *s, uint32_t rank)
{
    struct hark *p = &s->head;
    hark_dets_release(p, &s->pool, &s->own, rank);
    for (uint32_t i = 0; i < s->logs.count; i++) hark_dets_release(p, &s->pool, &hark_scmel_log_at(s, i)->dets, rank);
    if (hark_scmel_log(s, rank, false)) hark_scmel_log(s, rank, false)->acked = 0;
    hark_owed_forget(p, &s->owed, rank);
}

/* DETS of all have come: Y knows its order, and asks for its messages.                              l. 48-49, S-6 */
static inline void hark_scmel_collected(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_COLLECT || s->got + 1 < s->ends.ranks) return;
    s->mode = HARK_SCMEL_REPLAY;
    s->ready = s->ends.ranks > 1;
    s->busy = s->ends.offer = 1;
    hark_scmel_try_normal(s, fx);
}

static inline void hark_scmel_recovered(struct hark_scmel *s, struct hark_effects *fx)
{
    if (!s->recovering || s->ends.down.count) return;
    s->recovering = 0;
    hark_empty(&s->head, &s->pairs);
    s->fresh = (uint32_t)hark_scmel_unstable(&s->head);
    hark_scmel_grown(s);
    s->ends.offer = s->busy = 1; /* the next wave's ASK may have been held */
    hark_emit(fx, HARK_RECOVERED);
}

/* Failure(Y), for every Y of D: determinants go to it at once, the next message to it may never come (S-5'). Those
 * of D that are at it begin collecting again.                                                             l. 28-36 */
static inline int hark_scmel_failed(struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
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
    int status = hark_failed_reserve(p, &hark_scmel_shape, e, event);
    if (status >= 0) status = hark_reserve(p, &hark_scmel_shape, &s->wave.kept, 1);
    if (status >= 0) status = hark_reserve(p, &hark_scmel_shape, &s->pairs, event->u.failed.down_count);
    if (status < 0) return status;
    for (uint32_t i = 0; i < event->u.failed.inc_count; i++) {
        const struct hark_incarnation *x = &event->u.failed.inc[i];
        if (x->rank != e->me && x->inc > hark_inc_of(p, e, x->rank)) hark_scmel_lost(s, x->rank);         /* l. 30 */
    }
    hark_wave_failed(p, e, &s->wave, event, fx);
    hark_failed_take(p, e, event);
    hark_empty(p, &s->pairs);
    s->got = s->persisting = s->awaited = 0;
    s->recovering = s->busy = 1;
    for (uint32_t i = 0; i < e->down.count; i++) {
        uint32_t rank = ((const struct hark_rank *)hark_row(p, &e->down, i))->rank;
        if (rank != e->me) hark_scmel_pair(s, rank, true)->flags = HARK_SCMEL_DUE;
        else s->mode = HARK_SCMEL_COLLECT;
    }
    for (uint32_t i = 0; i < e->channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        c->carried = c->theirs = 0;
        c->channel.flags &= (uint16_t)~(HARK_SCMEL_AHEAD | HARK_SCMEL_WENT);
        if (c->channel.peer != e->me && hark_is_down(p, e, c->channel.peer)) c->tx = c->channel.sent;
    }
    hark_scmel_collected(s, fx);
    hark_scmel_recovered(s, fx);
    return HARK_OK;
}

/* ReceiveDets: u32 fragment << 1 | last, u16 channels, u16 determinants; {ctx u64, sent u64} each; the determinants.
 * Those of mine are need, others become mine to hold. Fragments are taken in order (v10).                 l. 44-51 */
static inline int hark_scmel_dets(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b,
    struct hark_effects *fx)
{
    struct hark_scmel_pair *pair = hark_scmel_pair(s, h->src, true);
    uint32_t fragment = hark_get32(b), sents = hark_get16(b + 4), dets = hark_get16(b + 6);
    if (s->mode != HARK_SCMEL_COLLECT || fragment >> 1 < pair->next) return hark_fate(fx, HARK_DISCARD);
    if (fragment >> 1 > pair->next) {
        pair->flags |= HARK_SCMEL_HELD;
        return hark_fate(fx, HARK_HOLD);
    }
    b += 8;
    for (uint32_t i = 0; i < sents; i++, b += 16)
        hark_scmel_channel(s, h->src, hark_get16(b))->theirs = hark_get64(b + 8);
    hark_scmel_absorb_all(s, h, b, dets, true);
    pair->next++;
    if (pair->flags & HARK_SCMEL_HELD) hark_scmel_offer(s, h->src);
    pair->flags &= ~(uint32_t)HARK_SCMEL_HELD;
    if (!(fragment & 1)) return HARK_OK;
    s->got++;
    hark_scmel_collected(s, fx);
    return HARK_OK;
}

/* READY from Y: u32 n, u32 0, {ctx u64, recv u64} each: from where it needs my messages.                    l. 38-42 */
static inline int hark_scmel_ready(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b,
    struct hark_effects *fx)
{
    uint32_t n = hark_get32(b);
    if (!hark_is_down(&s->head, &s->ends, h->src)) return hark_fate(fx, HARK_DISCARD);
    hark_scmel_pair(s, h->src, true)->flags |= HARK_SCMEL_READY;
    for (uint32_t i = hark_channel_search(&s->head, &s->ends, h->src, 0); i < s->ends.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        uint64_t recv = 0;
        if (c->channel.peer != h->src) break;
        for (uint32_t k = 0; k < n; k++)
            if (hark_get16(b + 8 + 16 * k) == c->channel.ctx) recv = hark_get64(b + 16 + 16 * k);
        if (recv + 1 < c->first) recv = c->first - 1;
        c->tx = recv < c->channel.sent ? recv : c->channel.sent;
    }
    s->late = s->busy = 1;
    return HARK_OK;
}

/* DONE from Y: out of D. It may overtake READY, which then is dropped: Y is done when all has arrived that had been
 * posted at its failure, and nothing beyond that has been transmitted yet. */
static inline int hark_scmel_done(struct hark_scmel *s, const struct hark_head *h, struct hark_effects *fx)
{
    uint32_t i;
    if (!hark_is_down(&s->head, &s->ends, h->src)) return hark_fate(fx, HARK_DISCARD);
    hark_scmel_ranked(&s->head, &s->ends.down, h->src, &i);
    hark_remove(&s->head, &s->ends.down, i);
    s->busy = 1; /* what was put off for Y may go */
    hark_scmel_recovered(s, fx);
    return HARK_OK;
}

/* My own DONE is durable. */
static inline void hark_scmel_stored(struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    uint32_t i;
    if (!s->persisting || event->u.stored.of != HARK_PERSIST || event->u.stored.id != s->ends.re) {
        hark_wave_stored(&s->head, &s->ends, &s->wave, event, fx);
        return;
    }
    s->persisting = 0;
    if (!event->u.stored.ok) return; /* a newer epoch is about to be announced */
    if (hark_scmel_ranked(&s->head, &s->ends.down, s->ends.me, &i)) hark_remove(&s->head, &s->ends.down, i);
    s->done = s->ends.ranks > 1;
    s->busy = 1;
    hark_scmel_recovered(s, fx);
}

/* QUIET: if everything has been replayed and the application does not take what its determinants say, it is not
 * piecewise deterministic: a divergence, not a hang. */
static inline int hark_scmel_quiet(struct hark_scmel *s, struct hark_effects *fx)
{
    if (s->mode != HARK_SCMEL_REPLAY || s->own.top <= s->rsn) return HARK_OK;
    for (uint32_t i = 0; i < s->ends.channels.count; i++)
        if (hark_scmel_at(s, i)->channel.recv < hark_scmel_at(s, i)->theirs) return HARK_OK;
    const uint64_t *row = hark_dets_find(&s->head, &s->pool, &s->own, s->rsn + 1);
    struct hark_effect *x = hark_emit(fx, HARK_DIVERGED);
    if (row && (uint32_t)row[2] != HARK_DET_MISS) {
        x->name.peer = (uint32_t)row[2];
        x->name.ctx = (uint16_t)(row[2] >> 32);
        x->name.ssn = x->u.last = row[1];
    }
    x->name.way = HARK_IN;
    return HARK_OK;
}

/* ---- what a step still has to send; each returns HARK_MORE when the effects are full ------------------------------------------ */

/* One frame of DETS to walk_rank. */
static inline void hark_scmel_dets_frame(struct hark_scmel *s, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    uint32_t to = s->walk_rank - 1, bytes = hark_det_bytes(s->k), at = 8, sents = 0, dets = 0, creator;
    uint8_t *b = fx->bytes + fx->used + HARK_WIRE_HEAD;
    struct hark_dets *d;
    bool end = false;
    uint32_t first = hark_channel_search(p, &s->ends, to, 0);
    for (; first + s->walk_sent < s->ends.channels.count && at + 16 <= HARK_FRAGMENT - HARK_WIRE_HEAD; at += 16) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, first + s->walk_sent);
        if (c->channel.peer != to) break;
        hark_put64(b + at, c->channel.ctx);
        hark_put64(b + at + 8, c->channel.sent);
        s->walk_sent++;
        sents++;
    }
    while (!end && at + bytes <= HARK_FRAGMENT - HARK_WIRE_HEAD) {
        const uint64_t *row = hark_scmel_walk(s, &s->walk, to, &d, &creator);
        if (row) hark_det_write(b + at, d, row, creator, s->ends.me, s->k), at += bytes, dets++;
        else end = true;
    }
    b = hark_emit_control(p, &s->ends, fx, HARK_S_DETS, to, at);
    hark_put32(b, s->fragment++ << 1 | end);
    hark_put16(b + 4, (uint16_t)sents);
    hark_put16(b + 6, (uint16_t)dets);
    if (end) s->walk_rank = 0;
}

/* NetSendDets: to Y what is known of its own determinants, and all that is loose.                          l. 31-36 */
static inline int hark_scmel_pump_dets(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->pairs.count; i++) {
        struct hark_scmel_pair *pair = (struct hark_scmel_pair *)hark_row(&s->head, &s->pairs, i);
        if (!(pair->flags & HARK_SCMEL_DUE)) continue;
        if (!s->walk_rank) {
            s->walk_rank = pair->rank + 1;
            s->walk_sent = s->fragment = 0;
            hark_zero(&s->walk, sizeof s->walk);
        }
        while (s->walk_rank) {
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            hark_scmel_dets_frame(s, fx);
        }
        pair->flags &= ~(uint32_t)HARK_SCMEL_DUE;
        s->told = s->rsn;
    }
    return HARK_OK;
}

/* To all others: READY when `type` says so, else DONE. */
static inline int hark_scmel_pump_all(struct hark_scmel *s, uint8_t type, uint32_t *next, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    for (; *next && *next <= s->ends.ranks; ++*next) {
        uint32_t to = *next - 1, first = hark_channel_search(p, &s->ends, to, 0), n = 0;
        if (to == s->ends.me) continue;
        while (type == HARK_S_READY && n < HARK_SCMEL_CTX_MAX && first + n < s->ends.channels.count &&
               hark_scmel_at(s, first + n)->channel.peer == to)
            n++;
        uint32_t length = type == HARK_S_READY ? 8 + 16 * n : 0;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + length)) return HARK_MORE;
        uint8_t *b = hark_emit_control(p, &s->ends, fx, type, to, length);
        if (length) hark_put64(b, n);
        for (uint32_t i = 0; i < n; i++) {
            const struct hark_scmel_channel *c = hark_scmel_at(s, first + i);
            hark_put64(b + 8 + 16 * i, c->channel.ctx);
            hark_put64(b + 16 + 16 * i, c->channel.recv);
        }
    }
    *next = 0;
    return HARK_OK;
}

/* Replays, and what was put off: in each channel, ssn ascending.                                            l. 38-42 */
static inline int hark_scmel_pump_late(struct hark_scmel *s, struct hark_effects *fx)
{
    uint32_t late = 0;
    for (uint32_t i = 0; s->late && i < s->ends.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (c->tx >= c->channel.sent) continue;
        bool go = !hark_scmel_closed(s, c->channel.peer);
        while (go && c->tx < c->channel.sent) {
            if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
            go = hark_scmel_transmit(s, c, c->tx + 1, fx);
            if (go) fx->at[fx->count - 1].replay = 1;
        }
        if (c->tx < c->channel.sent) late = 1;
    }
    s->late = late;
    return HARK_OK;
}

static inline int hark_scmel_pump_acks(struct hark_scmel *s, struct hark_effects *fx)
{
    const uint32_t most = (HARK_FRAGMENT - HARK_WIRE_HEAD) / HARK_ACK_BYTES;
    while (s->ack_all || s->ack_peer) {
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        uint32_t to = s->ack_peer - 1;
        if (s->ack_all) to = s->owed.count ? ((const struct hark_owed *)hark_row(&s->head, &s->owed, 0))->peer : 0;
        uint32_t n = hark_owed_write(&s->head, &s->owed, to, fx->bytes + fx->used + HARK_WIRE_HEAD, most);
        if (n) hark_emit_control(&s->head, &s->ends, fx, HARK_S_ACK, to, n * HARK_ACK_BYTES);
        else s->ack_all = s->ack_peer = 0;
    }
    return HARK_OK;
}

/* What is loose, to one process, the oldest first: one frame. The rest goes when that has been acknowledged: of two
 * under way the later could be all that arrives, and leave a hole (v10). */
static inline void hark_scmel_spread_to(struct hark_scmel *s, uint32_t to, struct hark_effects *fx)
{
    const uint32_t bytes = hark_det_bytes(s->k), most = (HARK_FRAGMENT - HARK_WIRE_HEAD) / bytes;
    struct hark_scmel_walk w = {1, 0, {0, 0, 0}};
    uint8_t *b = fx->bytes + fx->used + HARK_WIRE_HEAD;
    uint32_t creator, n = 0;
    struct hark_dets *d;
    for (const uint64_t *row; n < most && (row = hark_scmel_walk(s, &w, to, &d, &creator)) != NULL; n++)
        hark_det_write(b + n * bytes, d, row, creator, s->ends.me, s->k);
    if (n == 0) return;
    hark_emit_control(&s->head, &s->ends, fx, HARK_S_SPREAD, to, n * bytes);
    s->told = s->rsn;
    s->awaited++;
}

/* To the receivers of messages that wait for it (v9), and to the next k ranks that are up. */
static inline int hark_scmel_pump_spread(struct hark_scmel *s, struct hark_effects *fx)
{
    uint32_t targets = 0;
    for (uint32_t i = 0; s->late && i < s->ends.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (!(c->channel.flags & HARK_SCMEL_AHEAD)) continue;
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        hark_scmel_spread_to(s, c->channel.peer, fx);
        c->channel.flags = (uint16_t)((c->channel.flags & ~HARK_SCMEL_AHEAD) | HARK_SCMEL_WENT);
    }
    for (uint32_t step = 1; s->spread && step < s->ends.ranks && targets < s->k; step++) {
        uint32_t to = (uint32_t)(((uint64_t)s->ends.me + step) % s->ends.ranks);
        if (s->ends.down.count && hark_is_down(&s->head, &s->ends, to)) continue;
        if (++targets < s->spread) continue;
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        hark_scmel_spread_to(s, to, fx);
        s->spread = targets + 1;
    }
    s->spread = 0;
    return HARK_OK;
}

static inline int hark_scmel_pump_trim(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (!(c->channel.flags & HARK_SCMEL_TRIM)) continue;
        if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
        c->channel.flags &= (uint16_t)~HARK_SCMEL_TRIM;
        hark_emit(fx, HARK_TRIM)->name = hark_name_of(HARK_OUT, &c->channel, c->first - 1);
    }
    return HARK_OK;
}

static inline int hark_scmel_pump(struct hark_scmel *s, struct hark_effects *fx)
{
    int status = HARK_OK;
    if (s->busy) {
        status = hark_scmel_pump_dets(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_all(s, HARK_S_READY, &s->ready, fx);
        if (status == HARK_OK) status = hark_scmel_pump_late(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_acks(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_spread(s, fx);
        if (status == HARK_OK) status = hark_scmel_pump_all(s, HARK_S_DONE, &s->done, fx);
        if (status == HARK_OK) status = hark_scmel_pump_trim(s, fx);
        if (status != HARK_OK) return status;
        s->busy = 0;
    }
    status = hark_wave_pump(&s->head, &s->ends, &s->wave, fx);
    if (status != HARK_OK || (!s->ends.offer && !s->offer_peer)) return status;
    if (!hark_effects_fit(fx, 1, 0)) return HARK_MORE;
    hark_emit(fx, HARK_OFFER)->peer = s->ends.offer ? HARK_RECOVERY : s->offer_peer - 1;
    s->ends.offer = s->offer_peer = 0;
    return HARK_OK;
}

/* ---- the door ------------------------------------------------------------------------------------------------------------------ */

HARK_FN uint64_t hark_scmel_size(const struct hark_config *c)
{
    if (!hark_config_valid(c)) return 0;
    return sizeof(struct hark_scmel) + (uint64_t)(c->group_count + 4) * sizeof(struct hark_range) + 4096;
}

/* The group, if one is given, must be all processes. */
HARK_FN int hark_scmel_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    if (!hark_config_valid(c)) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_scmel_shape, HARK_KIND_SCMEL);
    if (status < 0) return status;
    s->ends.me = c->me;
    s->ends.ranks = c->ranks;
    s->wave.generations = c->generations ? c->generations : 2;
    s->k = c->copies ? c->copies : 1;
    if (s->k >= c->ranks) s->k = c->ranks - 1; /* more others than there are cannot hold one */
    hark_dets_init(&s->own, s->k);
    status = hark_group_init(p, &hark_scmel_shape, &s->ends, c, true);
    return status < 0 ? status : hark_ranges_size(p, &s->ends.group) == c->ranks ? HARK_OK : HARK_EINVAL;
}

static inline bool hark_scmel_dets_ok(struct hark_scmel *s, const uint8_t *b, uint32_t n)
{
    struct hark_det x;
    for (; n > 0; n--, b += hark_det_bytes(s->k))
        if (!hark_det_read(&x, b, s->ends.ranks, s->k)) return false;
    return true;
}

/* Is the frame well-formed? *dets: how many determinants it has. */
static inline bool hark_scmel_length_ok(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b,
    uint32_t length, uint32_t *dets)
{
    uint32_t bytes = hark_det_bytes(s->k), sents;
    *dets = 0;
    if (h->type != HARK_APP && h->type >= HARK_S_ACK && h->src == s->ends.me) return false;
    switch (h->type) {
    case HARK_APP:
        if (length < 8 || hark_get32(b + 4) != s->k) return false;
        *dets = hark_get16(b);
        if (h->src == s->ends.me && length != 8) return false;
        return length == 8 + *dets * bytes + hark_get16(b + 2) * HARK_ACK_BYTES && hark_scmel_dets_ok(s, b + 8, *dets);
    case HARK_S_ACK: return length % HARK_ACK_BYTES == 0;
    case HARK_S_SPREAD:
        *dets = length / bytes;
        return length % bytes == 0 && hark_scmel_dets_ok(s, b, *dets);
    case HARK_S_DETS:
        if (length < 8) return false;
        sents = hark_get16(b + 4);
        *dets = hark_get16(b + 6);
        return length == 8 + sents * 16 + *dets * bytes && hark_scmel_dets_ok(s, b + 8 + sents * 16, *dets);
    case HARK_S_READY:
        return length >= 8 && hark_get32(b) <= HARK_SCMEL_CTX_MAX && length == 8 + 16 * hark_get32(b);
    case HARK_S_DONE: return length == 0;
    default: return hark_wave_length_ok(h->type, length);
    }
}

/* Room for whatever the frame may add, before anything moves. */
static inline int hark_scmel_room(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b, uint32_t length,
    uint32_t dets)
{
    struct hark *p = &s->head;
    const struct hark_shape *shape = &hark_scmel_shape;
    uint32_t channels = h->type == HARK_S_DETS ? hark_get16(b + 4) + 1u : 1;
    int status = hark_reserve(p, shape, &s->ends.channels, channels);
    if (status >= 0 && dets) status = hark_pool_reserve(p, shape, &s->pool, dets);
    if (status >= 0 && dets) status = hark_reserve(p, shape, &s->logs, dets);
    if (status >= 0 && dets) status = hark_reserve(p, shape, &s->owed, dets);
    if (status >= 0 && h->type == HARK_APP) status = hark_reserve(p, shape, &s->ends.waiting, 1);
    if (status >= 0 && h->type >= HARK_S_ACK) status = hark_reserve(p, shape, &s->pairs, 1);
    if (status >= 0 && h->type != HARK_APP && h->type < HARK_S_ACK)
        status = hark_wave_reserve(p, shape, &s->ends, &s->wave, length);
    if (status >= 0 && s->wave.mode != HARK_W_RUN)
        status = hark_reserve(p, shape, &s->positions, s->ends.channels.count + channels + s->logs.count + dets + 1);
    return status;
}

/* Any frame. Determinants and acknowledgements count whenever the incarnations are current, also those of a
 * duplicate and of a message that waits for its turn (S-2). Only behind a gap they wait with their message: stored
 * before those that earlier messages took, they would leave holes in what a failed process is told (v10). */
static inline int hark_scmel_frame(struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_head h, as_app;
    uint32_t dets;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_SCMEL) < 0 || !hark_head_valid(&s->ends, &h))
        return HARK_EFRAME;
    const uint8_t *b = event->u.frame.header.at + HARK_WIRE_HEAD;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    if (h.src == HARK_RECOVERY || !hark_scmel_length_ok(s, &h, b, length, &dets)) return HARK_EFRAME;
    as_app = h;
    if (h.type == HARK_S_ACK || h.type == HARK_S_SPREAD) as_app.type = HARK_APP;
    int age = hark_age(p, &s->ends, &as_app);
    if (age == HARK_OLDER && h.type == HARK_APP) return hark_scmel_older(s, &h, fx);
    if (age != HARK_CURRENT) return hark_fate(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    int status = hark_scmel_room(s, &h, b, length, dets);
    if (status < 0) return status;
    switch (h.type) {
    case HARK_APP:
        if (h.ssn <= hark_scmel_channel(s, h.src, h.ctx)->channel.recv + 1)
            hark_scmel_absorb_all(s, &h, b + 8, dets, false);
        hark_scmel_acks(s, &h, b + 8 + dets * hark_det_bytes(s->k), hark_get16(b + 2));
        return hark_scmel_arrive(s, &h, fx);
    case HARK_S_ACK: hark_scmel_acks(s, &h, b, length / HARK_ACK_BYTES); return HARK_OK;
    case HARK_S_SPREAD: hark_scmel_absorb_all(s, &h, b, dets, true); return HARK_OK;
    case HARK_S_DETS: return hark_scmel_dets(s, &h, b, fx);
    case HARK_S_READY: return hark_scmel_ready(s, &h, b, fx);
    case HARK_S_DONE: return hark_scmel_done(s, &h, fx);
    case HARK_W_MARK: hark_scmel_channel(s, h.src, h.ctx); /* fall through */
    default: return hark_wave_frame(p, &s->ends, &s->wave, &h, b, length, s->recovering != 0, fx);
    }
}

/* Y restarts from an image. Of its determinants it knows the order, not who still holds them. */
static inline int hark_scmel_restarted(struct hark_scmel *s, const struct hark_event *event)
{
    struct hark *p = &s->head;
    uint32_t generations = s->wave.generations, k = s->k;
    struct hark_bytes image = event->u.restarted.image;
    if (event->u.restarted.checkpoint && image.length >= 36 && image.at && hark_get32(image.at + 32) != k)
        return HARK_EIMAGE; /* k is the field behind those of hark_ends */
    int status = hark_restart_take(p, &hark_scmel_shape, &s->ends, &s->wave, event);
    if (status < 0) return status;
    hark_restart_wait(p, &s->ends);
    hark_wave_restarted(p, &s->ends, &s->wave, event->u.restarted.checkpoint);
    s->wave.generations = generations;
    s->mode = HARK_SCMEL_COLLECT;
    s->recovering = 1;
    s->late = s->fresh = s->persisting = s->got = s->awaited = 0;
    s->told = s->rsn;
    hark_dets_release_all(p, &s->pool, &s->own);
    for (uint32_t i = 0; i < s->logs.count; i++) {
        hark_dets_release_all(p, &s->pool, &hark_scmel_log_at(s, i)->dets);
        hark_scmel_log_at(s, i)->acked = 0;
    }
    hark_empty(p, &s->owed);
    hark_empty(p, &s->pairs);
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        c->channel.flags &= HARK_INTRA;
        c->tx = c->channel.sent;
    }
    return HARK_OK;
}

static inline int hark_scmel_dispatch(struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    int status;
    switch (event->type) {
    case HARK_SEND: return hark_scmel_send(s, event, fx);
    case HARK_ARRIVE: return hark_scmel_frame(s, event, fx);
    case HARK_DELIVER: return hark_scmel_deliver(s, event, fx);
    case HARK_MISS: return hark_scmel_miss(s, fx);
    case HARK_CHECKPOINT_POINT:
    case HARK_STORED:
        if (event->type == HARK_CHECKPOINT_POINT && s->wave.at) return HARK_ESTATE;
        status = hark_wave_reserve(p, &hark_scmel_shape, &s->ends, &s->wave, 0);
        if (status >= 0)
            status = hark_reserve(p, &hark_scmel_shape, &s->positions, s->ends.channels.count + s->logs.count + 1);
        if (status < 0) return status;
        if (event->type == HARK_STORED) hark_scmel_stored(s, event, fx);
        else hark_wave_point(p, &s->ends, &s->wave, event->u.point.due, s->recovering != 0, fx);
        return HARK_OK;
    case HARK_FAILED: return hark_scmel_failed(s, event, fx);
    case HARK_RESTARTED: return hark_scmel_restarted(s, event);
    case HARK_QUIET: return hark_scmel_quiet(s, fx);
    case HARK_IDLE:
        if (s->owed.count) s->ack_all = s->busy = 1;
        if (event->u.idle.stable && !s->awaited && hark_scmel_unstable(p)) s->spread = s->busy = 1;
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

HARK_FN int hark_scmel_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    int status = hark_step_begin(p, &s->ends, event, fx, s->gone);
    if (status != HARK_OK) return status;
    uint32_t mode = s->wave.mode;
    uint64_t newest = mode == HARK_W_RUN ? 0 : hark_scmel_newest(s);
    status = hark_scmel_dispatch(s, event, fx);
    if (status != HARK_OK || s->gone) return status;
    if (mode < HARK_W_CAPTURED && s->wave.mode == HARK_W_CAPTURED) hark_scmel_captured(s);
    if (mode != HARK_W_RUN && s->wave.mode == HARK_W_RUN) hark_scmel_commit(s, newest != hark_scmel_newest(s));
    status = hark_scmel_pump(s, fx);
    p->more = status == HARK_MORE;
    return status;
}

/* First the logs, then what arrived: cursor = 1 bit stage, 23 bits channel, 40 bits ssn. */
HARK_FN int hark_scmel_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_scmel *s = (const struct hark_scmel *)(const void *)p;
    uint32_t stage = (uint32_t)(*cursor >> 63), channel = (uint32_t)(*cursor >> 40) & 0x7fffff;
    uint64_t ssn = *cursor & ((UINT64_C(1) << 40) - 1);
    int found = 0;
    for (; stage == 0 && channel < s->ends.channels.count && !found; channel++) {
        const struct hark_scmel_channel *c =
            (const struct hark_scmel_channel *)hark_row_of(p, &s->ends.channels, channel);
        if (c->first > c->channel.sent) continue;
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

/* Rows ascend, and as many are loose as is said. */
static inline bool hark_scmel_list_ok(const struct hark *p, const struct hark_pool *pool, const struct hark_dets *d)
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
    if (!hark_scmel_list_ok(p, &s->pool, &s->own)) return "rsnMap is out of order, or its loose rows are miscounted";
    for (uint32_t i = 0; i < s->logs.count; i++) {
        const struct hark_scmel_log *log = (const struct hark_scmel_log *)hark_row_of(p, &s->logs, i);
        if (!hark_scmel_list_ok(p, &s->pool, &log->dets)) return "detLog is out of order, or miscounted";
    }
    if (s->mode == HARK_SCMEL_NORMAL && s->own.top > s->rsn) return "a determinant lies in the future";
    for (uint32_t i = 0; i < s->ends.channels.count; i++) {
        const struct hark_scmel_channel *c = (const struct hark_scmel_channel *)hark_row_of(p, &s->ends.channels, i);
        if (c->tx > c->channel.sent) return "more was transmitted than posted";
        if (c->first > c->channel.sent + 1) return "the log begins behind its end";
        if (!p->more && hark_owed_count(p, &s->owed, c->channel.peer) >= HARK_SCMEL_OWED)
            return "I10: too many acknowledgements are owed";
        if (!s->late && c->tx < c->channel.sent) return "a message is put off and nobody will send it";
        if (!p->more && c->channel.flags & HARK_SCMEL_AHEAD) return "determinants should have gone ahead";
    }
    return hark_wave_violated(p, &s->ends, &s->wave);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
