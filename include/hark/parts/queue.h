/* parts/queue.h: queues in a pool of chunks inside the block, for the history of each channel. */
#ifndef HARK_PARTS_QUEUE_H
#define HARK_PARTS_QUEUE_H

#include "block.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

/* A queue is a chain of chunks, so that it grows at its tail and is trimmed at its head in constant
 * time, for any number of channels. Rows are `width` words of 8 bytes. */
#define HARK_CHUNK_WORDS 15u
struct hark_chunk {
    uint64_t word[HARK_CHUNK_WORDS];
    uint32_t next; /* index + 1; 0: none */
    uint32_t pad;
};
HARK_STATIC_ASSERT(sizeof(struct hark_chunk) == 128, "a chunk is two cache lines");

/* A remembered row, from which a later search starts; rows may be added meanwhile. */
struct hark_spot {
    uint32_t chunk;  /* index + 1; 0: none */
    uint32_t before; /* rows before it */
};

struct hark_queue {
    uint32_t head, tail; /* chunks, index + 1 */
    uint32_t count;      /* rows in use */
    uint8_t width;       /* words of a row, 1 .. HARK_CHUNK_WORDS */
    uint8_t skip;        /* rows removed from the head chunk */
    uint8_t fill;        /* slots used in the tail chunk, removed rows included */
    uint8_t pad;
    struct hark_spot spot; /* scratch: where the last search ended; valid after pops and cuts */
};

/* A place in a queue, for walks from its head; valid until the queue changes. */
struct hark_place {
    uint32_t chunk, slot, left;
};

struct hark_pool {
    struct hark_table chunks;
    uint32_t free_head; /* index + 1 */
    uint32_t free_count;
};

#if HARK_BODIES

/* The width of a chunk is known, so its address takes no multiplication, unlike hark_row's. */
static inline struct hark_chunk *hark_chunk(
    struct hark *p, const struct hark_pool *pool, uint32_t index1)
{
    void *chunks = (uint8_t *)p + (uint64_t)pool->chunks.at * 8;
    return (struct hark_chunk *)chunks + (index1 - 1);
}

static inline const struct hark_chunk *hark_chunk_of(
    const struct hark *p, const struct hark_pool *pool, uint32_t index1)
{
    const void *chunks = (const uint8_t *)p + (uint64_t)pool->chunks.at * 8;
    return (const struct hark_chunk *)chunks + (index1 - 1);
}

/* Makes room for `more` chunks. HARK_EFULL leaves everything as it was. */
static inline int hark_pool_reserve(
    struct hark *p, const struct hark_shape *s, struct hark_pool *pool, uint32_t more)
{
    if (pool->free_count >= more) return HARK_OK;
    return hark_reserve(p, s, &pool->chunks, more - pool->free_count);
}

/* The number of rows that fit into a chunk, by width: a table, because every message needs it and a
 * division is slow. */
static const uint8_t hark_queue_rows[HARK_CHUNK_WORDS + 1] = {
    0, 15, 7, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};

static inline uint32_t hark_queue_per_chunk(const struct hark_queue *q)
{
    return hark_queue_rows[q->width];
}

HARK_COLD uint32_t hark_chunk_take(struct hark *p, struct hark_pool *pool)
{
    if (pool->free_head) {
        uint32_t i = pool->free_head;
        struct hark_chunk *c = hark_chunk(p, pool, i);
        pool->free_head = c->next;
        pool->free_count--;
        c->next = 0;
        return i;
    }
    hark_insert(p, &pool->chunks, pool->chunks.count);
    return pool->chunks.count;
}

static inline void hark_chunk_give(struct hark *p, struct hark_pool *pool, uint32_t i)
{
    struct hark_chunk *c = hark_chunk(p, pool, i);
    hark_zero(c, sizeof *c);
    c->next = pool->free_head;
    pool->free_head = i;
    pool->free_count++;
}

/* As hark_queue_push, for callers that know the width of the rows. */
HARK_HOT uint64_t *hark_queue_push_wide(
    struct hark *p, struct hark_pool *pool, struct hark_queue *q, uint32_t width)
{
    if (q->head == 0 || q->fill == hark_queue_rows[width]) {
        uint32_t i = hark_chunk_take(p, pool);
        if (q->head == 0) {
            q->head = i;
            q->skip = 0;
        } else {
            hark_chunk(p, pool, q->tail)->next = i;
        }
        q->tail = i;
        q->fill = 0;
    }
    q->count++;
    return hark_chunk(p, pool, q->tail)->word + q->fill++ * width;
}

/* Returns a new zeroed row at the tail; a chunk has been reserved. */
static inline uint64_t *hark_queue_push(
    struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    return hark_queue_push_wide(p, pool, q, q->width);
}

/* As hark_queue_last, for callers that know the width of the rows. */
HARK_HOT uint64_t *hark_queue_last_wide(
    struct hark *p, struct hark_pool *pool, const struct hark_queue *q, uint32_t width)
{
    if (q->count == 0) return NULL;
    return hark_chunk(p, pool, q->tail)->word + (q->fill - 1u) * width;
}

static inline uint64_t *hark_queue_last(
    struct hark *p, struct hark_pool *pool, const struct hark_queue *q)
{
    return hark_queue_last_wide(p, pool, q, q->width);
}

/* Prefetches the last row, whose chunk is rarely in the cache. */
static inline void hark_queue_fetch(
    const struct hark *p, const struct hark_pool *pool, const struct hark_queue *q)
{
    if (q->tail) __builtin_prefetch(hark_chunk_of(p, pool, q->tail));
}

static inline uint64_t *hark_queue_first(
    struct hark *p, struct hark_pool *pool, const struct hark_queue *q)
{
    if (q->count == 0) return NULL;
    return hark_chunk(p, pool, q->head)->word + q->skip * q->width;
}

static inline void hark_queue_clear(struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    while (q->head) {
        uint32_t next = hark_chunk(p, pool, q->head)->next;
        hark_chunk_give(p, pool, q->head);
        q->head = next;
    }
    q->tail = q->count = q->skip = q->fill = 0;
    q->spot.chunk = 0;
}

/* Removes all rows, and keeps a chunk for those that come. */
static inline void hark_queue_empty(struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    if (q->head == 0) return;
    struct hark_chunk *c = hark_chunk(p, pool, q->head);
    const uint32_t rows = q->head == q->tail ? q->fill : hark_queue_per_chunk(q);
    hark_zero(c->word, (uint64_t)rows * q->width * 8);
    for (uint32_t rest = c->next, next; rest; rest = next) {
        next = hark_chunk(p, pool, rest)->next;
        hark_chunk_give(p, pool, rest);
    }
    c->next = 0;
    q->tail = q->head;
    q->count = q->skip = q->fill = 0;
    q->spot.chunk = 0;
}

/* Removes the first row. */
static inline void hark_queue_pop(struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    struct hark_chunk *c = hark_chunk(p, pool, q->head);
    hark_zero(c->word + q->skip * q->width, (uint64_t)q->width * 8);
    q->count--;
    q->skip++;
    if (q->spot.before == 0) q->spot.chunk = 0;
    else q->spot.before--;
    if (q->count == 0) {
        hark_queue_clear(p, pool, q);
    } else if (q->skip == hark_queue_per_chunk(q)) {
        uint32_t next = c->next;
        hark_chunk_give(p, pool, q->head);
        q->head = next;
        q->skip = 0;
    }
}

static inline struct hark_place hark_queue_begin(const struct hark_queue *q)
{
    struct hark_place at = {q->head, q->skip, q->count};
    return at;
}

/* Returns the place of a row that hark_queue_spot returned and that is still there; for no row the
 * first place. */
static inline struct hark_place hark_queue_from(const struct hark_queue *q, struct hark_spot spot)
{
    struct hark_place at = {spot.chunk, 0, q->count - spot.before};
    if (spot.chunk == 0) return hark_queue_begin(q);
    at.slot = (q->skip + spot.before) % hark_queue_per_chunk(q);
    return at;
}

static inline struct hark_spot hark_queue_spot(const struct hark_queue *q, struct hark_place at)
{
    struct hark_spot spot = {at.left ? at.chunk : 0, at.left ? q->count - at.left : 0};
    return spot;
}

/* Returns the row at the place and moves the place on; NULL at the end. */
static inline const uint64_t *hark_queue_next(const struct hark *p, const struct hark_pool *pool,
    const struct hark_queue *q, struct hark_place *at)
{
    if (at->left == 0) return NULL;
    const struct hark_chunk *c = hark_chunk_of(p, pool, at->chunk);
    const uint64_t *row = c->word + at->slot * q->width;
    at->left--;
    if (++at->slot == hark_queue_per_chunk(q)) {
        at->chunk = c->next;
        at->slot = 0;
    }
    return row;
}

/* Returns row `index` from the head, which must exist. A later search for this row or for a later
 * one starts here. */
static inline const uint64_t *hark_queue_seek(
    const struct hark *p, const struct hark_pool *pool, struct hark_queue *q, uint32_t index)
{
    if (q->spot.before > index) q->spot.chunk = 0;
    struct hark_place at = hark_queue_from(q, q->spot);
    while (q->count - at.left < index) hark_queue_next(p, pool, q, &at);
    q->spot = hark_queue_spot(q, at);
    return hark_queue_next(p, pool, q, &at);
}

/* Keeps the first `keep` rows, and removes the others. */
static inline void hark_queue_cut(
    struct hark *p, struct hark_pool *pool, struct hark_queue *q, uint32_t keep)
{
    if (keep >= q->count) return;
    if (keep == 0) {
        hark_queue_clear(p, pool, q);
        return;
    }
    uint32_t per = hark_queue_per_chunk(q), slots = q->skip + keep, at = q->head;
    for (uint32_t full = per; full < slots; full += per) at = hark_chunk(p, pool, at)->next;
    struct hark_chunk *c = hark_chunk(p, pool, at);
    uint32_t used = (slots - 1) % per + 1, rest = c->next;
    hark_zero(c->word + used * q->width, (uint64_t)(HARK_CHUNK_WORDS - used * q->width) * 8);
    c->next = 0;
    while (rest) {
        uint32_t next = hark_chunk(p, pool, rest)->next;
        hark_chunk_give(p, pool, rest);
        rest = next;
    }
    q->tail = at;
    q->fill = (uint8_t)used;
    q->count = keep;
    if (q->spot.before >= keep) q->spot.chunk = 0;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
