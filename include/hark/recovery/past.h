/* recovery/past.h: the exact gate, by which a message waits in a recovery until the orphans in its
 * causal past are sent again.
 *
 * This is not in the paper. A scalar phase makes false dependencies, and programs whose sets of
 * receives vary may deadlock in recovery (E24). With the exact gate every message carries V: for
 * each process the number of its last message between clusters in the causal past. Messages between
 * clusters are numbered 1, 2, 3 ... over all channels of their sender; these numbers are the same
 * in every execution of a send-deterministic program. A delayed message may leave when for every
 * process the first orphan not yet sent again has a higher number than V.
 *
 *   V                          table `now`; on the wire ascending by rank, as varints {rank minus
 *                              the rank before, number}
 *   V of a logged message      `floor` and the rows of `history` up to its number: only changes are
 *                              kept
 *   the gate                   `open`: V only grows, so the released messages are a prefix of my
 *                              numbers
 *
 * A V that does not fit into HARK_PAST_HEADER_MAX is sent as "unknown". That message, and the
 * receiver's own messages from its delivery on, wait by phase alone, which is never too early.
 */
#ifndef HARK_RECOVERY_PAST_H
#define HARK_RECOVERY_PAST_H

#include "../parts/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_PAST_HEADER_MAX                                                                       \
    HARK_EFFECTS_BYTES        /* of a whole header with V, bytes: every step has room for it */
#define HARK_PAST_FIXED   12u /* number u64, entries u32 */
#define HARK_PAST_UNKNOWN UINT32_MAX /* in place of `entries`: V is unknown */
#define HARK_PAST_ROWS    5u         /* rows of `history` per chunk */

struct hark_entry { /* a row of the tables now, floor, at and frontier */
    uint32_t rank;
    uint32_t fresh; /* in `now` 1: no message of mine has carried this number yet */
    uint64_t number;
};

struct hark_past {
    uint64_t posts;   /* messages between clusters that I have posted */
    uint64_t blind;   /* my messages from this number on depend on an unknown V */
    uint64_t open;    /* my messages below this number are released */
    uint32_t missing; /* fragments of the frontier expected minus those arrived, modulo 2^32 */
    uint32_t listed;  /* 1: the last fragment of the frontier has arrived */
    /* scratch: `at` is V of my message of this number, and history.spot is the last row in it; 0:
     * `at` is of no message */
    uint64_t reached;
    /* scratch: no row of the history before this one depends on an orphan of this epoch */
    struct hark_spot passed;
    /* {number, rank, its number}: from my message `number` on, this is V of `rank` */
    struct hark_queue history;
    struct hark_table now;   /* V */
    struct hark_table floor; /* V of the oldest message in the log */
    struct hark_table at;    /* scratch: V of the message that is replayed */
    /* for each process with orphans: the first one not sent again yet */
    struct hark_table frontier;
};

#define HARK_PAST_FIELDS(type)                                                                     \
    HARK_FIELD(type, past.posts, ""), HARK_FIELD(type, past.blind, ""),                            \
        HARK_FIELD(type, past.open, ""), HARK_FIELD(type, past.missing, ""),                       \
        HARK_FIELD(type, past.listed, ""), HARK_FIELD_QUEUE(type, past.history, "V")

static const struct hark_field hark_entry_fields[] = {HARK_FIELD(struct hark_entry, rank, "c"),
    HARK_FIELD(struct hark_entry, fresh, ""), HARK_FIELD(struct hark_entry, number, "V")};

#define HARK_PAST_TABLES(type)                                                                     \
    {"past", "V", (uint16_t)offsetof(type, past.now), sizeof(struct hark_entry), 3,                \
        hark_entry_fields},                                                                        \
        {"floor", "V", (uint16_t)offsetof(type, past.floor), sizeof(struct hark_entry), 3,         \
            hark_entry_fields},                                                                    \
        {"at", "", (uint16_t)offsetof(type, past.at), sizeof(struct hark_entry), 0, NULL},         \
    {                                                                                              \
        "frontier", "", (uint16_t)offsetof(type, past.frontier), sizeof(struct hark_entry), 3,     \
            hark_entry_fields                                                                      \
    }

#if HARK_BODIES

/* ---- entries by rank ------------------------------------------------------------------------- */

static inline struct hark_entry *hark_entry_at(
    struct hark *p, const struct hark_table *t, uint32_t i)
{
    return (struct hark_entry *)hark_row(p, t, i);
}

/* Returns the index of the first row whose rank is not below `rank`. */
static inline uint32_t hark_entry_search(struct hark *p, const struct hark_table *t, uint32_t rank)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (hark_entry_at(p, t, mid)->rank < rank) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* Returns the number of `rank`; `none` if the table has no row for it. */
static inline uint64_t hark_entry_of(
    struct hark *p, const struct hark_table *t, uint32_t rank, uint64_t none)
{
    uint32_t i = hark_entry_search(p, t, rank);
    if (i == t->count || hark_entry_at(p, t, i)->rank != rank) return none;
    return hark_entry_at(p, t, i)->number;
}

/* Raises the number of `rank` and returns its row; NULL: the number there is not lower. A row has
 * been reserved. */
static inline struct hark_entry *hark_entry_raise(
    struct hark *p, struct hark_table *t, uint32_t rank, uint64_t number)
{
    uint32_t i = hark_entry_search(p, t, rank);
    struct hark_entry *x = i < t->count ? hark_entry_at(p, t, i) : NULL;
    if (x == NULL || x->rank != rank) {
        x = (struct hark_entry *)hark_insert(p, t, i);
        x->rank = rank;
    } else if (x->number >= number) {
        return NULL;
    }
    x->number = number;
    return x;
}

/* True if in an unpacked state all ranks are valid, and `floor` and `history` name only ranks that
 * `now` has. */
static inline bool hark_past_ok(
    struct hark *p, const struct hark_pool *pool, const struct hark_past *v, uint32_t ranks)
{
    struct hark_place at = hark_queue_begin(&v->history);
    if (v->history.width != 3 || !hark_rows_ascend(p, &v->now, ranks) ||
        !hark_rows_ascend(p, &v->floor, ranks) || !hark_rows_ascend(p, &v->frontier, UINT64_MAX))
        return false;
    for (uint32_t i = 0; i < v->now.count; i++)
        if (hark_entry_at(p, &v->now, i)->number == HARK_INFINITY)
            return false; /* no message has this number: below it means that there is no row */
    for (uint32_t i = 0; i < v->floor.count; i++)
        if (hark_entry_of(p, &v->now, hark_entry_at(p, &v->floor, i)->rank, HARK_INFINITY) ==
            HARK_INFINITY)
            return false;
    for (const uint64_t *row; (row = hark_queue_next(p, pool, &v->history, &at)) != NULL;)
        if (row[1] >= ranks ||
            hark_entry_of(p, &v->now, (uint32_t)row[1], HARK_INFINITY) == HARK_INFINITY)
            return false;
    return true;
}

/* ---- on the wire ----------------------------------------------------------------------------- */

static inline uint32_t hark_varint_put(uint8_t *b, uint64_t v)
{
    uint32_t n = 0;
    for (; v >= 128; v >>= 7) b[n++] = (uint8_t)(v | 128);
    b[n++] = (uint8_t)v;
    return n;
}

/* Returns the number of bytes read; 0: they are not a varint. */
static inline uint32_t hark_varint_get(const uint8_t *b, uint32_t length, uint64_t *v)
{
    *v = 0;
    for (uint32_t n = 0; n < length && n < 10; n++) {
        if (n == 9 && b[n] > 1) return 0;
        *v |= (uint64_t)(b[n] & 127) << 7 * n;
        if (b[n] < 128) return n + 1;
    }
    return 0;
}

/* Writes `number` and V of table `t` into at most `room` bytes; if V is not `known`, or has no
 * room, it is written as unknown. Returns the length. */
static inline uint32_t hark_past_write(struct hark *p, const struct hark_table *t, uint64_t number,
    bool known, uint8_t *b, uint32_t room)
{
    uint32_t at = HARK_PAST_FIXED, before = 0;
    hark_put64(b, number);
    hark_put32(b + 8, t->count);
    for (uint32_t i = 0; i < t->count && known; i++) {
        const struct hark_entry *x = hark_entry_at(p, t, i);
        known = at + 15 <= room; /* the longest entry */
        if (!known) break;
        at += hark_varint_put(b + at, x->rank - before);
        at += hark_varint_put(b + at, x->number);
        before = x->rank;
    }
    if (known) return at;
    hark_put32(b + 8, HARK_PAST_UNKNOWN);
    return HARK_PAST_FIXED;
}

struct hark_past_walk {
    const uint8_t *at;
    uint32_t length, left;
    uint64_t rank;
    bool bad;
};

static inline struct hark_past_walk hark_past_begin(const uint8_t *b, uint32_t length)
{
    struct hark_past_walk w = {
        b + HARK_PAST_FIXED, length - HARK_PAST_FIXED, hark_get32(b + 8), 0, false};
    if (w.left == HARK_PAST_UNKNOWN) w.left = 0;
    return w;
}

/* Gives the next entry; false at the end, or after an error, with w->bad. */
static inline bool hark_past_next(struct hark_past_walk *w, uint32_t *rank, uint64_t *number)
{
    uint64_t step = 0;
    if (w->left == 0) return false;
    uint32_t n = hark_varint_get(w->at, w->length, &step);
    uint32_t m = n ? hark_varint_get(w->at + n, w->length - n, number) : 0;
    w->rank += step;
    w->bad = m == 0 || step >= HARK_RANKS_MAX || w->rank >= HARK_RANKS_MAX;
    if (w->bad) return false;
    w->at += n + m;
    w->length -= n + m;
    w->left--;
    *rank = (uint32_t)w->rank;
    return true;
}

/* True if the bytes are a number and V of a job of `ranks` processes. */
static inline bool hark_past_valid(const uint8_t *b, uint32_t length, uint32_t ranks)
{
    uint32_t rank, last = 0;
    uint64_t number;
    bool first = true;
    if (length < HARK_PAST_FIXED || hark_get64(b) == HARK_INFINITY) return false;
    struct hark_past_walk w = hark_past_begin(b, length);
    for (; hark_past_next(&w, &rank, &number); first = false, last = rank)
        if (rank >= ranks || number == 0 || number == HARK_INFINITY || (!first && rank == last))
            return false;
    return !w.bad && w.length == 0;
}

/* ---- deliveries and posts -------------------------------------------------------------------- */

/* Makes room for `more` new entries of V, also in the tables that hold the same ranks. */
static inline int hark_past_reserve(
    struct hark *p, const struct hark_shape *s, struct hark_past *v, uint32_t more)
{
    uint32_t all = v->now.count + more;
    int status = hark_reserve(p, s, &v->now, more);
    if (status >= 0) status = hark_reserve(p, s, &v->floor, all - v->floor.count);
    return status >= 0 ? hark_reserve(p, s, &v->at, all) : status;
}

/* Puts the sends of `rank` up to `number` into my causal past, V. */
static inline void hark_past_learn(
    struct hark *p, struct hark_past *v, uint32_t me, uint32_t rank, uint64_t number)
{
    if (rank == me || number == 0)
        /* my own earlier sends, also orphans, are sent again before I post more */
        return;
    struct hark_entry *x = hark_entry_raise(p, &v->now, rank, number);
    if (x == NULL) return;
    x->fresh = 1;
    if (number >= hark_entry_of(p, &v->frontier, rank, HARK_INFINITY) && v->open > v->posts + 1)
        v->open = v->posts + 1;
}

/* Takes the delivery of a message from `src` with V at b, which is valid. Room has been
 * reserved. */
static inline void hark_past_deliver(struct hark *p, struct hark_past *v, uint32_t me, uint32_t src,
    const uint8_t *b, uint32_t length)
{
    uint32_t rank;
    uint64_t number;
    struct hark_past_walk w = hark_past_begin(b, length);
    while (hark_past_next(&w, &rank, &number)) hark_past_learn(p, v, me, rank, number);
    hark_past_learn(p, v, me, src, hark_get64(b));
    if (hark_get32(b + 8) != HARK_PAST_UNKNOWN) return;
    if (v->blind > v->posts + 1) v->blind = v->posts + 1;
    if (v->open > v->blind) v->open = v->blind;
}

/* Returns the chunks that hark_past_post may need. */
static inline uint32_t hark_past_post_needs(const struct hark_past *v)
{
    return v->now.count / HARK_PAST_ROWS + 2;
}

/* Counts my next message between clusters and returns its number; changes of V go to the
 * history. */
static inline uint64_t hark_past_post(struct hark *p, struct hark_pool *pool, struct hark_past *v)
{
    v->posts++;
    for (uint32_t i = 0; i < v->now.count; i++) {
        struct hark_entry *x = hark_entry_at(p, &v->now, i);
        if (!x->fresh) continue;
        x->fresh = 0;
        uint64_t *row = hark_queue_push(p, pool, &v->history);
        row[0] = v->posts;
        row[1] = x->rank;
        row[2] = x->number;
    }
    return v->posts;
}

/* Makes `floor` V of message `number`, with which my log begins from now on. */
static inline void hark_past_trim(
    struct hark *p, struct hark_pool *pool, struct hark_past *v, uint64_t number)
{
    for (;;) {
        const uint64_t *row = hark_queue_first(p, pool, &v->history);
        if (row == NULL || row[0] > number) return;
        hark_entry_raise(p, &v->floor, (uint32_t)row[1], row[2]);
        hark_queue_pop(p, pool, &v->history);
        v->reached = v->passed.chunk = 0;
    }
}

/* ---- V of messages in the log ---------------------------------------------------------------- */

/* Makes `at` V of the oldest message in the log. Room has been reserved. */
static inline void hark_past_rewind(struct hark *p, struct hark_past *v)
{
    hark_empty(p, &v->at);
    for (uint32_t i = 0; i < v->floor.count; i++)
        *(struct hark_entry *)hark_insert(p, &v->at, i) = *hark_entry_at(p, &v->floor, i);
    v->history.spot.chunk = 0;
}

/* Makes `at` V of message `number`, from its present place if that is not behind the message. */
static inline void hark_past_go(
    struct hark *p, const struct hark_pool *pool, struct hark_past *v, uint64_t number)
{
    struct hark_queue *q = &v->history;
    if (v->reached == 0 || number < v->reached) hark_past_rewind(p, v);
    v->reached = number;
    struct hark_place at = hark_queue_from(q, q->spot);
    if (q->spot.chunk) hark_queue_next(p, pool, q, &at); /* `at` contains this row already */
    for (;;) {
        struct hark_place here = at;
        const uint64_t *row = hark_queue_next(p, pool, q, &at);
        if (row == NULL || row[0] > number) return;
        hark_entry_raise(p, &v->at, (uint32_t)row[1], row[2]);
        q->spot = hark_queue_spot(q, here);
    }
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* Closes the gate at the beginning of a recovery epoch, and at its end: no orphans are known. */
static inline void hark_past_close(struct hark *p, struct hark_past *v)
{
    hark_empty(p, &v->frontier);
    v->missing = v->listed = 0;
    v->open = 0;
    v->passed.chunk = 0;
}

/* Lowers `open` to my first message whose V reaches an orphan. Orphans only become fewer, so rows
 * that were passed once need not be read again. */
static inline void hark_past_narrow(
    struct hark *p, const struct hark_pool *pool, struct hark_past *v)
{
    struct hark_place at = hark_queue_from(&v->history, v->passed);
    for (;;) {
        struct hark_spot here = hark_queue_spot(&v->history, at);
        const uint64_t *row = hark_queue_next(p, pool, &v->history, &at);
        if (row == NULL) return;
        v->passed = here;
        if (row[0] >= v->open) return;
        if (row[2] < hark_entry_of(p, &v->frontier, (uint32_t)row[1], HARK_INFINITY)) continue;
        v->open = row[0];
        return;
    }
}

/* Takes the frontier of a RELEASE: u32 (fragments << 16 | last), u32 0, {rank u32, 0 u32, number
 * u64}: the first orphan of each process that is not sent again yet. Numbers only grow, and are
 * infinite when no orphan is left; so the order of frames does not matter. Rows have been
 * reserved. */
static inline void hark_past_release(struct hark *p, const struct hark_pool *pool,
    struct hark_past *v, const uint8_t *b, uint32_t length)
{
    v->missing += (hark_get32(b) >> 16) - 1;
    v->listed |= hark_get32(b) & 1;
    for (uint32_t at = 8; at < length; at += 16)
        hark_entry_raise(p, &v->frontier, hark_get32(b + at), hark_get64(b + at + 8));
    v->open = 0;
    if (!v->listed || v->missing) return;
    for (uint32_t i = 0; i < v->floor.count; i++) {
        const struct hark_entry *x = hark_entry_at(p, &v->floor, i);
        if (x->number >= hark_entry_of(p, &v->frontier, x->rank, HARK_INFINITY)) return;
    }
    v->open = v->blind;
    hark_past_narrow(p, pool, v);
    for (uint32_t i = 0; i < v->now.count && v->open > v->posts + 1; i++) {
        const struct hark_entry *x = hark_entry_at(p, &v->now, i);
        if (x->fresh && x->number >= hark_entry_of(p, &v->frontier, x->rank, HARK_INFINITY))
            v->open = v->posts + 1;
    }
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
