/* causal/determinant.h: determinants, and the holders of their copies.
 *
 * A determinant #m = <sender, recver, ssn, rsn> records one non-deterministic choice of a process,
 * its creator (the recver): its delivery number rsn was message ssn of a channel. A look, which
 * takes no message (a test or probe), has an rsn too. With HARK_DET_LOOK beside the context the
 * creator saw that message, once or more in a row. With the sender HARK_DET_MISS it looked ssn
 * times, from rsn on, and found nothing. Such looks in a row are one determinant, a run of looks.
 *
 * struct hark_dets is a list by rsn. A process has one list of its own determinants (rsnMap: the
 * only complete copy) and one for every other creator (detLog). Each row has room for the ranks
 * that are known to hold a copy. While fewer than `most` holders are known the row is loose and
 * travels on messages (detBuf is the loose rows, not a list of its own). Walks begin at remembered
 * places, so the work for each message does not grow with the list.
 */
#ifndef HARK_CAUSAL_DETERMINANT_H
#define HARK_CAUSAL_DETERMINANT_H

#include "../parts/mem.h"
#include "../parts/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_DET_MISS UINT32_MAX /* the sender of a determinant of looks that found nothing */
#define HARK_DET_LOOK 0x10000u   /* beside the context: a look, which takes no message */
#define HARK_DET_MISSED                                                                            \
    ((uint64_t)HARK_DET_LOOK << 32 | HARK_DET_MISS) /* the channel of looks that found nothing */
#define HARK_DET_HOLDERS 8u                         /* the greatest k */
#define HARK_DET_WORDS   7u                         /* widest row of a list */

struct hark_det {
    uint32_t creator;
    uint32_t src; /* sender, or HARK_DET_MISS */
    uint32_t ctx; /* of the channel; HARK_DET_LOOK */
    uint32_t holders;
    /* ssn of the message. MISS: number of looks, rsn .. rsn + ssn - 1. LOOK: ssn of the message,
     * and above it the number of further looks. */
    uint64_t ssn;
    uint64_t rsn;
    uint32_t holder[HARK_DET_HOLDERS];
};

/* A place in a list. It needs no length, for behind the last row are zeros, and no rsn is 0. */
struct hark_dets_place {
    uint32_t chunk; /* index + 1; 0: behind the last row of a full chunk */
    uint32_t word;  /* of the chunk, where the row begins */
};

/* Words of a row: rsn, ssn, src | ctx << 32 (its channel), then holders as rank + 1, two to a word,
 * ascending, 0 behind the last. */
struct hark_dets {
    struct hark_queue rows;
    struct hark_dets_place low;    /* scratch: no loose row is before it; chunk 0: not known */
    struct hark_dets_place recent; /* scratch: where the last search ended; chunk 0: not known */
    uint64_t top;                  /* highest rsn; 0: no rows */
    uint32_t loose;                /* rows with fewer than `most` holders */
    uint32_t most;
};

#define HARK_DETS_FIELDS(type, member, symbol)                                                     \
    HARK_FIELD_QUEUE(type, member.rows, symbol), HARK_FIELD(type, member.top, ""),                 \
        HARK_FIELD(type, member.loose, ""), HARK_FIELD(type, member.most, "k")

/* Returns the bytes of a determinant: creator u32, src u32, ctx u32, ssn u64, rsn u64; with k > 1
 * also k holders u32, as rank + 1. */
static inline uint32_t hark_det_bytes(uint32_t k)
{
    return 28 + (k > 1 ? 4 * k : 0);
}

#if HARK_BODIES

/* ---- rows ------------------------------------------------------------------------------------ */

static inline uint32_t hark_dets_width(uint32_t most)
{
    return 3 + (most + 1) / 2;
}

static inline void hark_dets_init(struct hark_dets *d, uint32_t most)
{
    d->most = most;
    d->rows.width = (uint8_t)hark_dets_width(most);
}

static inline uint64_t hark_det_channel(uint32_t src, uint32_t ctx)
{
    return (uint64_t)ctx << 32 | src;
}

static inline bool hark_det_is_look(uint64_t channel)
{
    return (channel & (uint64_t)HARK_DET_LOOK << 32) != 0;
}

/* Returns the number of rsn in a row: a run of looks has one row. */
static inline uint64_t hark_det_run(uint64_t channel, uint64_t ssn)
{
    if (!hark_det_is_look(channel)) return 1;
    return channel == HARK_DET_MISSED ? ssn : 1 + (ssn >> HARK_SSN_BITS);
}

/* Returns the last rsn of a row. */
static inline uint64_t hark_det_last(const uint64_t *row)
{
    return row[0] + hark_det_run(row[2], row[1]) - 1;
}

/* Returns the ssn of the message that was taken or seen. */
static inline uint64_t hark_det_ssn(const uint64_t *row)
{
    return row[1] & HARK_SSN_MOST;
}

static inline bool hark_det_is(const uint64_t *row, uint32_t src, uint32_t ctx, uint64_t ssn)
{
    return row[1] == ssn && row[2] == hark_det_channel(src, ctx);
}

/* True if the row is of this message, taken or seen. */
static inline bool hark_det_names(const uint64_t *row, uint32_t src, uint16_t ctx, uint64_t ssn)
{
    return hark_det_ssn(row) == ssn &&
           (row[2] & ~((uint64_t)HARK_DET_LOOK << 32)) == hark_det_channel(src, ctx);
}

/* Adds a look to a run of looks. False if the run is as long as it can be. */
static inline bool hark_det_extend(uint64_t *row)
{
    const uint64_t more = row[2] == HARK_DET_MISSED ? 1 : HARK_SSN_MOST + 1;
    if (row[1] + more < row[1]) return false;
    row[1] += more;
    return true;
}

static inline uint32_t hark_det_slot(const uint64_t *row, uint32_t i)
{
    return (uint32_t)(row[3 + i / 2] >> (i % 2 * 32));
}

static inline void hark_det_slot_set(uint64_t *row, uint32_t i, uint32_t v)
{
    uint32_t shift = i % 2 * 32;
    row[3 + i / 2] = (row[3 + i / 2] & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)v << shift;
}

static inline uint32_t hark_det_holders(const struct hark_dets *d, const uint64_t *row)
{
    uint32_t n = 0;
    while (n < d->most && hark_det_slot(row, n)) n++;
    return n;
}

/* True if fewer than `most` holders are known. The slots of a row have no gap. */
static inline bool hark_det_loose(const struct hark_dets *d, const uint64_t *row)
{
    if (d->most == 1) return row[3] == 0; /* the usual case */
    return d->most && hark_det_slot(row, d->most - 1) == 0;
}

static inline bool hark_det_held(const struct hark_dets *d, const uint64_t *row, uint32_t rank)
{
    for (uint32_t i = 0; i < d->most; i++)
        if (hark_det_slot(row, i) == rank + 1) return true;
    return false;
}

/* True if the row is loose and `rank` is not known to hold it. */
static inline bool hark_dets_goes(const struct hark_dets *d, const uint64_t *row, uint32_t rank)
{
    return hark_det_loose(d, row) && !hark_det_held(d, row, rank);
}

/* Adds `rank` to the holders of a row, of which at most `most` are remembered. If there are more
 * and one of those remembered is lost, the row becomes loose earlier than needed. */
static inline void hark_det_hold(struct hark_dets *d, uint64_t *row, uint32_t rank)
{
    uint32_t i = 0, carry = rank + 1, other;
    if (!hark_det_loose(d, row)) return;
    if (d->most == 1) { /* the usual case */
        row[3] = carry;
        d->loose--;
        return;
    }
    while ((other = hark_det_slot(row, i)) != 0 && other < carry) i++; /* the last slot is free */
    if (other == carry) return;
    for (; carry; i++, carry = other) {
        other = hark_det_slot(row, i);
        hark_det_slot_set(row, i, carry);
    }
    if (!hark_det_loose(d, row)) d->loose--;
}

static inline bool hark_det_release(struct hark_dets *d, uint64_t *row, uint32_t rank)
{
    uint32_t n = hark_det_holders(d, row), i = 0;
    while (i < n && hark_det_slot(row, i) != rank + 1) i++;
    if (i == n) return false;
    for (; i + 1 < n; i++) hark_det_slot_set(row, i, hark_det_slot(row, i + 1));
    hark_det_slot_set(row, n - 1, 0);
    if (n == d->most) d->loose++;
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static inline struct hark_dets_place hark_dets_begin(const struct hark_dets *d)
{
    struct hark_dets_place at = {d->rows.head, (uint32_t)d->rows.skip * d->rows.width};
    return at;
}

/* Returns the words at the place, whose chunk is not 0: a row, or zeros. */
static inline uint64_t *hark_dets_words(
    struct hark *p, const struct hark_pool *pool, struct hark_dets_place at)
{
    return hark_chunk(p, pool, at.chunk)->word + at.word;
}

/* Returns the row at the place; NULL behind the last. */
static inline uint64_t *hark_dets_at(
    struct hark *p, const struct hark_pool *pool, struct hark_dets_place at)
{
    uint64_t *row = at.chunk ? hark_dets_words(p, pool, at) : NULL;
    return row && row[0] ? row : NULL;
}

/* Moves the place past a row, of so many words, that exists. */
static inline void hark_dets_pass(
    struct hark *p, const struct hark_pool *pool, uint32_t width, struct hark_dets_place *at)
{
    at->word += width;
    if (at->word + width <= HARK_CHUNK_WORDS) return;
    at->chunk = hark_chunk(p, pool, at->chunk)->next;
    at->word = 0;
}

static inline uint64_t *hark_dets_next(struct hark *p, const struct hark_pool *pool,
    const struct hark_dets *d, struct hark_dets_place *at)
{
    uint64_t *row = hark_dets_at(p, pool, *at);
    if (row) hark_dets_pass(p, pool, d->rows.width, at);
    return row;
}

static inline void hark_dets_forget_places(struct hark_dets *d)
{
    hark_zero(&d->low, sizeof d->low);
    hark_zero(&d->recent, sizeof d->recent);
}

/* Returns the place of the first loose row; behind the last row if there is none. */
static inline struct hark_dets_place hark_dets_loose(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d)
{
    struct hark_dets_place at = {0, 0};
    if (d->loose) {
        at = d->low.chunk ? d->low : hark_dets_begin(d);
        for (const uint64_t *row;
             (row = hark_dets_at(p, pool, at)) != NULL && !hark_det_loose(d, row);)
            hark_dets_pass(p, pool, d->rows.width, &at);
    }
    d->low = at;
    return at;
}

/* Returns the row that has rsn, or NULL. */
static inline uint64_t *hark_dets_find(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d, uint64_t rsn)
{
    if (rsn > d->top) return NULL;
    struct hark_dets_place at = d->recent;
    if (at.chunk == 0 || hark_dets_words(p, pool, at)[0] > rsn) at = hark_dets_begin(d);
    for (;;) {
        struct hark_dets_place here = at;
        uint64_t *row = hark_dets_next(p, pool, d, &at);
        if (row == NULL) return NULL;
        if (hark_det_last(row) < rsn) continue;
        d->recent = here;
        return row[0] <= rsn ? row : NULL;
    }
}

/* Stores `x` in its place in the order; the zeroed row at the tail has been added for it. */
static inline uint64_t *hark_dets_insert(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d, const uint64_t *x)
{
    struct hark_dets_place at = hark_dets_begin(d);
    uint64_t carry[HARK_DET_WORDS], other, *found = NULL;
    const uint32_t width = d->rows.width;
    hark_copy(carry, x, (uint64_t)width * 8);
    for (;;) {
        uint64_t *row = hark_dets_words(p, pool, at);
        const bool last = row[0] == 0;
        if (found == NULL && (last || row[0] > x[0])) found = row;
        for (uint32_t i = 0; found && i < width; i++) {
            other = row[i];
            row[i] = carry[i];
            carry[i] = other;
        }
        if (last) break;
        hark_dets_pass(p, pool, width, &at);
    }
    hark_dets_forget_places(d);
    return found;
}

/* Appends a row of one rsn, higher than all others, without holders. A chunk has been reserved.
 * `most`: that of the list. */
HARK_HOT uint64_t *hark_dets_append_one(struct hark *p, struct hark_pool *pool, struct hark_dets *d,
    uint32_t most, uint64_t rsn, uint64_t ssn, uint64_t channel)
{
    const uint32_t width = hark_dets_width(most);
    uint64_t *row = hark_queue_push_wide(p, pool, &d->rows, width);
    row[0] = rsn;
    row[1] = ssn;
    row[2] = channel;
    d->top = rsn;
    if (most == 0 || d->loose++) return row;
    d->low.chunk = d->rows.tail;
    d->low.word = (d->rows.fill - 1u) * width;
    return row;
}

/* As hark_dets_append_one, for a row that may be a run of looks. */
static inline uint64_t *hark_dets_append(struct hark *p, struct hark_pool *pool,
    struct hark_dets *d, uint64_t rsn, uint64_t ssn, uint64_t channel)
{
    uint64_t *row = hark_dets_append_one(p, pool, d, d->most, rsn, ssn, channel);
    if (hark_det_is_look(channel)) d->top = hark_det_last(row);
    return row;
}

/* True if x, a run of looks, includes the rsn of a later row. No correct process makes such a
 * run. */
HARK_COLD bool hark_dets_overlaps(struct hark *p, const struct hark_pool *pool,
    const struct hark_dets *d, const struct hark_det *x)
{
    struct hark_dets_place at = hark_dets_begin(d);
    for (const uint64_t *row; (row = hark_dets_next(p, pool, d, &at)) != NULL;)
        if (row[0] > x->rsn)
            return row[0] - x->rsn < hark_det_run(hark_det_channel(x->src, x->ctx), x->ssn);
    return false;
}

HARK_COLD uint64_t *hark_dets_put_before(struct hark *p, struct hark_pool *pool,
    struct hark_dets *d, const struct hark_det *x, bool *made)
{
    uint64_t *row = hark_dets_find(p, pool, d, x->rsn);
    uint64_t fresh[HARK_DET_WORDS] = {x->rsn, x->ssn, hark_det_channel(x->src, x->ctx)};
    *made = row == NULL;
    if (row) return row;
    if (hark_det_run(fresh[2], x->ssn) > 1 && hark_dets_overlaps(p, pool, d, x)) {
        *made = false;
        return NULL;
    }
    hark_queue_push(p, pool, &d->rows);
    if (d->most) d->loose++;
    return hark_dets_insert(p, pool, d, fresh);
}

/* Finds or makes the row of x, without holders. A chunk has been reserved. NULL if a row
 * contradicts x. */
HARK_HOT uint64_t *hark_dets_put(struct hark *p, struct hark_pool *pool, struct hark_dets *d,
    const struct hark_det *x, bool *made)
{
    if (x->rsn <= d->top) return hark_dets_put_before(p, pool, d, x, made);
    *made = true;
    return hark_dets_append(p, pool, d, x->rsn, x->ssn, hark_det_channel(x->src, x->ctx));
}

/* Adds `rank` to the holders of all rows of first .. last. */
static inline void hark_dets_hold(struct hark *p, const struct hark_pool *pool, struct hark_dets *d,
    uint64_t first, uint64_t last, uint32_t rank)
{
    if (d->loose == 0) return;
    struct hark_dets_place at = hark_dets_loose(p, pool, d);
    for (uint64_t *row;
         d->loose && (row = hark_dets_next(p, pool, d, &at)) != NULL && row[0] <= last;)
        if (row[0] >= first && hark_det_last(row) <= last) hark_det_hold(d, row, rank);
}

/* As hark_dets_hold, where one holder is enough. */
static inline void hark_dets_hold_one(struct hark *p, const struct hark_pool *pool,
    struct hark_dets *d, uint64_t first, uint64_t last, uint32_t rank)
{
    struct hark_dets_place at = d->low.chunk ? d->low : hark_dets_begin(d);
    bool held = true; /* all rows that were passed */
    while (d->loose && at.chunk) {
        uint64_t *row = hark_dets_words(p, pool, at);
        if (row[0] - 1 >= last) break; /* or none */
        if (row[3] == 0 && row[0] >= first && hark_det_last(row) <= last) {
            row[3] = rank + 1;
            d->loose--;
        } else if (row[3] == 0 && held) {
            held = false;
            d->low = at;
        }
        hark_dets_pass(p, pool, hark_dets_width(1), &at);
    }
    if (held) d->low = at;
}

/* Forgets the copies that `rank` has lost: their rows are loose again, acknowledged or not.
 *                                                                                    erratum S-5 */
static inline void hark_dets_release(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d, uint32_t rank)
{
    struct hark_dets_place at = hark_dets_begin(d);
    bool any = false;
    for (uint64_t *row; d->most && (row = hark_dets_next(p, pool, d, &at)) != NULL;)
        if (hark_det_release(d, row, rank)) any = true;
    if (any) hark_dets_forget_places(d);
}

/* Forgets all holders. */
static inline void hark_dets_release_all(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d)
{
    struct hark_dets_place at = hark_dets_begin(d);
    for (uint64_t *row; d->most && (row = hark_dets_next(p, pool, d, &at)) != NULL;)
        while (hark_det_slot(row, 0)) hark_det_release(d, row, hark_det_slot(row, 0) - 1);
    hark_dets_forget_places(d);
}

/* Drops all rows up to rsn. */
static inline void hark_dets_trim(
    struct hark *p, struct hark_pool *pool, struct hark_dets *d, uint64_t rsn)
{
    for (uint64_t *row;
         (row = hark_queue_first(p, pool, &d->rows)) != NULL && hark_det_last(row) <= rsn;) {
        if (hark_det_loose(d, row)) d->loose--;
        hark_queue_pop(p, pool, &d->rows);
    }
    if (d->rows.count == 0) d->top = 0;
    hark_dets_forget_places(d);
}

/* True if the list of an unpacked state has rows for `most` holders. */
static inline bool hark_dets_ok(const struct hark_dets *d, uint32_t most)
{
    struct hark_dets as;
    hark_dets_init(&as, most);
    return d->most == most && d->rows.width == as.rows.width;
}

/* ---- on the wire ----------------------------------------------------------------------------- */

/* Writes a determinant. `me` is added to the holders, unless it is the creator. */
static inline void hark_det_write(uint8_t *b, const struct hark_dets *d, const uint64_t *row,
    uint32_t creator, uint32_t me, uint32_t k)
{
    uint32_t n = 0;
    hark_put32(b, creator);
    hark_put32(b + 4, (uint32_t)row[2]);
    hark_put32(b + 8, (uint32_t)(row[2] >> 32));
    hark_put64(b + 12, row[1]);
    hark_put64(b + 20, row[0]);
    if (k < 2) return;
    if (me != creator) hark_put32(b + 28 + 4 * n++, me + 1);
    for (uint32_t i = 0; i < d->most && n < k; i++) {
        uint32_t rank = hark_det_slot(row, i);
        if (rank && rank != me + 1) hark_put32(b + 28 + 4 * n++, rank);
    }
    for (; n < k; n++) hark_put32(b + 28 + 4 * n, 0);
}

HARK_COLD bool hark_det_look_ok(const struct hark_det *x, uint32_t ranks)
{
    const uint64_t channel = hark_det_channel(x->src, x->ctx);
    if (x->ctx > (HARK_DET_LOOK | UINT16_MAX) ||
        hark_det_run(channel, x->ssn) - 1 > UINT64_MAX - x->rsn)
        return false;
    return channel == HARK_DET_MISSED || (x->src < ranks && (x->ssn & HARK_SSN_MOST) != 0);
}

/* Reads a determinant. False if it is not well-formed. */
static inline bool hark_det_read(struct hark_det *x, const uint8_t *b, uint32_t ranks, uint32_t k)
{
    x->creator = hark_get32(b);
    x->src = hark_get32(b + 4);
    x->ctx = hark_get32(b + 8);
    x->ssn = hark_get64(b + 12);
    x->rsn = hark_get64(b + 20);
    x->holders = 0;
    for (uint32_t i = 0; k > 1 && i < k; i++) {
        uint32_t rank = hark_get32(b + 28 + 4 * i);
        if (rank > ranks) return false;
        if (rank) x->holder[x->holders++] = rank - 1;
    }
    if (x->creator >= ranks || x->rsn == 0 || x->ssn == 0) return false;
    if (x->ctx & HARK_DET_LOOK) return hark_det_look_ok(x, ranks);
    return x->src < ranks && x->ctx <= UINT16_MAX && x->ssn <= HARK_SSN_MOST;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
