/* causal/determinant.h: determinants, the holders of their copies, and acknowledgements of copies.
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
#define HARK_ACK_BYTES   16u                        /* creator u32, count u32, first rsn u64 */

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

/* Words of a row: rsn, ssn, src | ctx << 32 (its channel), then holders as rank + 1, two to a word,
 * ascending, 0 behind the last. */
struct hark_dets {
    struct hark_queue rows;
    struct hark_place low;    /* scratch: no loose row is before it; chunk 0: not known */
    struct hark_place recent; /* scratch: where the last search ended; chunk 0: not known */
    uint64_t top;             /* highest rsn; 0: no rows */
    uint32_t loose;           /* rows with fewer than `most` holders */
    uint32_t most;
};

struct hark_owed { /* an acknowledgement for a peer: determinants first .. last of the creator are
                      stored here */
    uint32_t peer, creator;
    uint64_t first, last;
};

#define HARK_DETS_FIELDS(type, member, symbol)                                                     \
    HARK_FIELD_QUEUE(type, member.rows, symbol), HARK_FIELD(type, member.top, ""),                 \
        HARK_FIELD(type, member.loose, ""), HARK_FIELD(type, member.most, "k")

static const struct hark_field hark_owed_fields[] = {HARK_FIELD(struct hark_owed, peer, "j"),
    HARK_FIELD(struct hark_owed, creator, "recver"), HARK_FIELD(struct hark_owed, first, "rsn"),
    HARK_FIELD(struct hark_owed, last, "rsn")};

/* Returns the bytes of a determinant: creator u32, src u32, ctx u32, ssn u64, rsn u64; with k > 1
 * also k holders u32, as rank + 1. */
static inline uint32_t hark_det_bytes(uint32_t k)
{
    return 28 + (k > 1 ? 4 * k : 0);
}

#if HARK_BODIES

/* ---- rows ------------------------------------------------------------------------------------ */

static inline void hark_dets_init(struct hark_dets *d, uint32_t most)
{
    d->most = most;
    d->rows.width = (uint8_t)(3 + (most + 1) / 2);
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

/* Returns the row at the place; NULL behind the last. */
static inline uint64_t *hark_dets_at(struct hark *p, const struct hark_pool *pool,
    const struct hark_dets *d, const struct hark_place *at)
{
    return at->left ? hark_chunk(p, pool, at->chunk)->word + at->slot * d->rows.width : NULL;
}

/* Moves the place past a row that exists. */
static inline void hark_dets_pass(
    struct hark *p, const struct hark_pool *pool, const struct hark_dets *d, struct hark_place *at)
{
    at->left--;
    if ((++at->slot + 1) * d->rows.width <= HARK_CHUNK_WORDS) return;
    at->chunk = hark_chunk(p, pool, at->chunk)->next;
    at->slot = 0;
}

static inline uint64_t *hark_dets_next(
    struct hark *p, const struct hark_pool *pool, const struct hark_dets *d, struct hark_place *at)
{
    uint64_t *row = hark_dets_at(p, pool, d, at);
    if (row) hark_dets_pass(p, pool, d, at);
    return row;
}

static inline void hark_dets_forget_places(struct hark_dets *d)
{
    hark_zero(&d->low, sizeof d->low);
    hark_zero(&d->recent, sizeof d->recent);
}

/* Returns the place of the first loose row; behind the last row if there is none. */
HARK_HOT struct hark_place hark_dets_loose(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d)
{
    struct hark_place at = {0, 0, 0};
    if (d->loose) {
        at = d->low.chunk ? d->low : hark_queue_begin(&d->rows);
        for (const uint64_t *row;
             (row = hark_dets_at(p, pool, d, &at)) != NULL && !hark_det_loose(d, row);)
            hark_dets_pass(p, pool, d, &at);
    }
    d->low = at;
    return at;
}

/* Returns the row that has rsn, or NULL. */
static inline uint64_t *hark_dets_find(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d, uint64_t rsn)
{
    if (rsn > d->top) return NULL;
    struct hark_place at = d->recent;
    if (at.chunk == 0 || hark_chunk(p, pool, at.chunk)->word[at.slot * d->rows.width] > rsn)
        at = hark_queue_begin(&d->rows);
    for (;;) {
        struct hark_place here = at;
        uint64_t *row = hark_dets_next(p, pool, d, &at);
        if (row == NULL) return NULL;
        if (hark_det_last(row) < rsn) continue;
        d->recent = here;
        return row[0] <= rsn ? row : NULL;
    }
}

/* Stores `x` in the zeroed row at the tail, and moves it to its place in the order. */
static inline uint64_t *hark_dets_place(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d, const uint64_t *x)
{
    struct hark_place at = hark_queue_begin(&d->rows);
    uint64_t carry[HARK_DET_WORDS], other, *found = NULL;
    uint32_t width = d->rows.width;
    hark_copy(carry, x, (uint64_t)width * 8);
    for (uint64_t *row; (row = hark_dets_next(p, pool, d, &at)) != NULL;) {
        if (found == NULL && (row[0] > x[0] || row[0] == 0)) found = row;
        for (uint32_t i = 0; found && i < width; i++) {
            other = row[i];
            row[i] = carry[i];
            carry[i] = other;
        }
    }
    hark_dets_forget_places(d);
    return found;
}

/* Appends a row of one rsn, higher than all others, without holders. A chunk has been reserved. */
HARK_HOT uint64_t *hark_dets_append_one(struct hark *p, struct hark_pool *pool, struct hark_dets *d,
    uint64_t rsn, uint64_t ssn, uint64_t channel)
{
    uint64_t *row = hark_queue_push(p, pool, &d->rows);
    row[0] = rsn;
    row[1] = ssn;
    row[2] = channel;
    d->top = rsn;
    if (d->low.chunk) d->low.left++;
    if (d->recent.chunk) d->recent.left++;
    if (d->most == 0 || d->loose++) return row;
    d->low.chunk = d->rows.tail;
    d->low.slot = d->rows.fill - 1;
    d->low.left = 1;
    return row;
}

/* As hark_dets_append_one, for a row that may be a run of looks. */
static inline uint64_t *hark_dets_append(struct hark *p, struct hark_pool *pool,
    struct hark_dets *d, uint64_t rsn, uint64_t ssn, uint64_t channel)
{
    uint64_t *row = hark_dets_append_one(p, pool, d, rsn, ssn, channel);
    if (hark_det_is_look(channel)) d->top = hark_det_last(row);
    return row;
}

/* True if x, a run of looks, includes the rsn of a later row. No correct process makes such a
 * run. */
HARK_COLD bool hark_dets_overlaps(struct hark *p, const struct hark_pool *pool,
    const struct hark_dets *d, const struct hark_det *x)
{
    struct hark_place at = hark_queue_begin(&d->rows);
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
    return hark_dets_place(p, pool, d, fresh);
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
    struct hark_place at = hark_dets_loose(p, pool, d);
    for (uint64_t *row;
         d->loose && (row = hark_dets_next(p, pool, d, &at)) != NULL && row[0] <= last;)
        if (row[0] >= first && hark_det_last(row) <= last) hark_det_hold(d, row, rank);
}

/* Forgets the copies that `rank` has lost: their rows are loose again, acknowledged or not.
 *                                                                                    erratum S-5 */
static inline void hark_dets_release(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d, uint32_t rank)
{
    struct hark_place at = hark_queue_begin(&d->rows);
    bool any = false;
    for (uint64_t *row; d->most && (row = hark_dets_next(p, pool, d, &at)) != NULL;)
        if (hark_det_release(d, row, rank)) any = true;
    if (any) hark_dets_forget_places(d);
}

/* Forgets all holders. */
static inline void hark_dets_release_all(
    struct hark *p, const struct hark_pool *pool, struct hark_dets *d)
{
    struct hark_place at = hark_queue_begin(&d->rows);
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

/* ---- acknowledgements owed ------------------------------------------------------------------- */

/* Returns the index of the first row that is not less than (peer, creator, first). */
static inline uint32_t hark_owed_search(const struct hark *p, const struct hark_table *t,
    uint32_t peer, uint32_t creator, uint64_t first)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct hark_owed *o = (const struct hark_owed *)hark_row_of(p, t, mid);
        bool before = o->peer != peer         ? o->peer < peer
                      : o->creator != creator ? o->creator < creator
                                              : o->first < first;
        if (before) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* True if a range from `first` overlaps `o`, or begins right behind it. */
static inline bool hark_owed_reaches(
    const struct hark_owed *o, uint32_t peer, uint32_t creator, uint64_t first)
{
    return o->peer == peer && o->creator == creator && first <= o->last + 1;
}

/* Joins rows i and i + 1 if they touch. True if it did. */
static inline bool hark_owed_join(struct hark *p, struct hark_table *t, uint32_t i)
{
    if (i + 1 >= t->count) return false;
    struct hark_owed *a = (struct hark_owed *)hark_row(p, t, i),
                     *b = (struct hark_owed *)hark_row(p, t, i + 1);
    if (!hark_owed_reaches(a, b->peer, b->creator, b->first)) return false;
    if (b->last > a->last) a->last = b->last;
    hark_remove(p, t, i + 1);
    return true;
}

static inline void hark_owed_set(
    struct hark_owed *o, uint32_t peer, uint32_t creator, uint64_t first, uint64_t last)
{
    o->peer = peer;
    o->creator = creator;
    o->first = first;
    o->last = last;
}

HARK_COLD void hark_owed_add_among(struct hark *p, struct hark_table *t, uint32_t peer,
    uint32_t creator, uint64_t first, uint64_t last)
{
    uint32_t i = hark_owed_search(p, t, peer, creator, first);
    struct hark_owed *o = i > 0 ? (struct hark_owed *)hark_row(p, t, i - 1) : NULL;
    if (o && hark_owed_reaches(o, peer, creator, first)) {
        if (last > o->last) o->last = last;
        i--;
    } else {
        hark_owed_set((struct hark_owed *)hark_insert(p, t, i), peer, creator, first, last);
    }
    while (hark_owed_join(p, t, i)) {
    }
}

/* Records that `peer` is owed an acknowledgement. A row has been reserved. */
HARK_HOT void hark_owed_add(struct hark *p, struct hark_table *t, uint32_t peer, uint32_t creator,
    uint64_t first, uint64_t last)
{
    if (t->count > 0) {
        hark_owed_add_among(p, t, peer, creator, first, last);
        return;
    }
    hark_owed_set((struct hark_owed *)hark_insert(p, t, 0), peer, creator, first, last);
}

/* Returns the number of determinants whose acknowledgement is owed to `peer`. */
static inline uint64_t hark_owed_count(
    const struct hark *p, const struct hark_table *t, uint32_t peer)
{
    uint64_t n = 0;
    for (uint32_t i = hark_owed_search(p, t, peer, 0, 0); i < t->count; i++) {
        const struct hark_owed *o = (const struct hark_owed *)hark_row_of(p, t, i);
        if (o->peer != peer) break;
        n += o->last - o->first + 1;
    }
    return n;
}

/* Removes a row; mostly it is the last one. */
static inline void hark_owed_drop(struct hark *p, struct hark_table *t, uint32_t i)
{
    if (i + 1 < t->count) {
        hark_remove(p, t, i);
        return;
    }
    hark_zero(hark_row(p, t, i), sizeof(struct hark_owed));
    t->count = i;
}

/* Writes at most `most` acknowledgements for `peer` and removes them from the table. Returns how
 * many. */
static inline uint32_t hark_owed_write(
    struct hark *p, struct hark_table *t, uint32_t peer, uint8_t *b, uint32_t most)
{
    uint32_t n = 0;
    if (t->count == 0) return 0;
    for (uint32_t i = hark_owed_search(p, t, peer, 0, 0); i < t->count && n < most; n++) {
        const struct hark_owed *o = (const struct hark_owed *)hark_row_of(p, t, i);
        uint64_t count = o->last - o->first + 1;
        if (o->peer != peer) break;
        if (count > UINT32_MAX) count = UINT32_MAX; /* the creator has stored the rest long ago */
        hark_put32(b + n * HARK_ACK_BYTES, o->creator);
        hark_put32(b + n * HARK_ACK_BYTES + 4, (uint32_t)count);
        hark_put64(b + n * HARK_ACK_BYTES + 8, o->first);
        hark_owed_drop(p, t, i);
    }
    return n;
}

/* Drops what is owed to `peer`: it was owed to an old incarnation. */
static inline void hark_owed_forget(struct hark *p, struct hark_table *t, uint32_t peer)
{
    uint32_t i = hark_owed_search(p, t, peer, 0, 0);
    while (i < t->count && ((struct hark_owed *)hark_row(p, t, i))->peer == peer)
        hark_remove(p, t, i);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
