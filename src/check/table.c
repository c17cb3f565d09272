#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

HARK_STATIC_ASSERT(sizeof(struct table_bucket) == 64, "a bucket is a line of the cache");

enum { HUGE_PAGE = 1 << 21, BUCKETS = 16 /* of the first */, BATCH = 32 };

void table_open(struct table *t, uint32_t width, uint32_t beside, uint32_t most)
{
    *t = (struct table){.width = width, .beside = beside, .most = most};
}

uint64_t table_bytes(const struct table *t)
{
    return t->count * (t->width + t->beside) * sizeof(uint32_t) + t->buckets * sizeof *t->bucket;
}

/* So many eighths of its places are taken. */
static bool is_full(const struct table *t, uint64_t eighths)
{
    return t->count * 8 >= t->buckets * TABLE_PLACES * eighths;
}

static uint64_t next_buckets(const struct table *t)
{
    return t->buckets ? t->buckets + t->buckets / 2 : BUCKETS;
}

uint64_t table_growing(const struct table *t)
{
    return t->buckets && is_full(t, 6) ? next_buckets(t) * sizeof *t->bucket : 0;
}

uint64_t table_hash(const uint32_t *row, uint32_t width)
{
    return XXH3_64bits(row, width * sizeof *row);
}

/* In large pages, if it is large: else nearly every look at it costs one at the tables of pages as
 * well. */
static void *some_memory(uint64_t bytes)
{
    void *at;
    if (posix_memalign(&at, bytes < HUGE_PAGE ? sizeof(struct table_bucket) : HUGE_PAGE, bytes) !=
        0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE) (void)madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return at;
}

/* ---- places, by the lower half of the hash; tags are of the upper ---------------------------- */

static struct table_bucket *bucket_of(const struct table *t, uint64_t hash)
{
    return &t->bucket[(hash & UINT32_MAX) * t->buckets >> 32];
}

static uint8_t tag_of(uint64_t hash)
{
    uint8_t tag = (uint8_t)(hash >> 32);
    return tag ? tag : 1;
}

struct place { /* in a bucket, and the number of the row there; -1: it is free */
    struct table_bucket *bucket;
    uint32_t at;
    int64_t number;
};

/* Where the row is, or would be; NULL: any row, that is where a new one would be. */
static struct place place_of(const struct table *t, const uint32_t *row, uint64_t hash)
{
    struct table_bucket *b = bucket_of(t, hash);
    uint8_t tag = tag_of(hash);
    for (;; b = b + 1 < t->bucket + t->buckets ? b + 1 : t->bucket)
        for (uint32_t k = 0; k < TABLE_PLACES; k++) {
            if (b->tag[k] == 0) return (struct place){b, k, -1};
            if (row && b->tag[k] == tag &&
                memcmp(table_row(t, b->number[k]), row, t->width * sizeof *row) == 0)
                return (struct place){b, k, b->number[k]};
        }
}

static void take_place(struct place p, uint64_t hash, uint32_t number)
{
    p.bucket->tag[p.at] = tag_of(hash);
    p.bucket->number[p.at] = number;
}

static int more_buckets(struct table *t)
{
    uint64_t buckets = next_buckets(t), hash[BATCH];
    struct table_bucket *bucket = some_memory(buckets * sizeof *bucket);
    if (bucket == NULL) return -1;
    memset(bucket, 0, buckets * sizeof *bucket);
    free(t->bucket);
    t->bucket = bucket;
    t->buckets = buckets;
    for (uint64_t i = 0; i < t->count; i += BATCH) {
        uint64_t n = t->count - i < BATCH ? t->count - i : BATCH;
        for (uint64_t k = 0; k < n; k++) {
            hash[k] = table_hash(table_row(t, i + k), t->width);
            table_fetch(t, hash[k]);
        }
        for (uint64_t k = 0; k < n; k++)
            take_place(place_of(t, NULL, hash[k]), hash[k], (uint32_t)(i + k));
    }
    return 0;
}

void table_fetch(const struct table *t, uint64_t hash)
{
    if (t->buckets) __builtin_prefetch(bucket_of(t, hash));
}

void table_fetch_row(const struct table *t, uint64_t hash)
{
    const struct table_bucket *b = t->buckets ? bucket_of(t, hash) : NULL;
    uint8_t tag = tag_of(hash);
    for (uint32_t k = 0; b && k < TABLE_PLACES && b->tag[k]; k++)
        if (b->tag[k] == tag) {
            __builtin_prefetch(table_row(t, b->number[k]));
            __builtin_prefetch(table_row(t, b->number[k]) + t->width - 1);
        }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int more_rows(struct table *t)
{
    uint32_t log = TABLE_FIRST;
    if (t->pieces > 0) log += t->pieces - 1;
    if (log > TABLE_LARGEST) log = TABLE_LARGEST;
    uint32_t **piece = realloc(t->piece, (t->pieces + 1) * sizeof *piece);
    if (piece == NULL) return -1;
    t->piece = piece;
    piece[t->pieces] = some_memory(((uint64_t)(t->width + t->beside) << log) * sizeof **piece);
    if (piece[t->pieces] == NULL) return -1;
    t->pieces++;
    return 0;
}

/* How many rows there is room for. */
static uint64_t room(const struct table *t)
{
    const uint32_t grow = TABLE_LARGEST - TABLE_FIRST + 1; /* pieces, until they are of one size */
    if (t->pieces == 0) return 0;
    return t->pieces <= grow ? UINT64_C(1) << (TABLE_FIRST + t->pieces - 1)
                             : (uint64_t)(t->pieces - grow + 1) << TABLE_LARGEST;
}

int64_t table_find(const struct table *t, const uint32_t *row, uint64_t hash)
{
    return t->buckets ? place_of(t, row, hash).number : -1;
}

int64_t table_put(struct table *t, const uint32_t *row, uint64_t hash, bool *new)
{
    if (is_full(t, 7) && more_buckets(t) < 0) return -1;
    struct place place = place_of(t, row, hash);
    if (new) *new = place.number < 0;
    if (place.number >= 0) return place.number;
    if (t->count >= t->most || (t->count == room(t) && more_rows(t) < 0)) return -1;
    memcpy(table_row(t, t->count), row, t->width * sizeof *row);
    take_place(place, hash, (uint32_t)t->count);
    return (int64_t)t->count++;
}

void table_free(struct table *t)
{
    for (uint32_t i = 0; i < t->pieces; i++) free(t->piece[i]);
    free(t->piece);
    free(t->bucket);
    memset(t, 0, sizeof *t);
}
