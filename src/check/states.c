#include "states.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

HARK_STATIC_ASSERT(sizeof(struct states_bucket) == 64, "a bucket is a line of the cache");

enum { HUGE = 1 << 21, BUCKETS = 64 /* of the first table */, BATCH = 32 };

void states_open(struct states *q, uint32_t width, uint32_t parts)
{
    memset(q, 0, sizeof *q);
    q->width = width;
    q->most = (UINT32_MAX - 1) / parts;
}

uint64_t states_bytes(const struct states *q)
{
    return q->count * (q->width + 2) * sizeof(uint32_t) + q->buckets * sizeof *q->bucket;
}

uint64_t states_hash(const struct states *q, const uint32_t *row)
{
    return XXH3_64bits(row, q->width * sizeof *row);
}

/* In large pages, if it is large: else nearly every state that is looked at costs a look at the tables of pages as well. */
static void *some_memory(uint64_t bytes)
{
    void *at;
    if (posix_memalign(&at, bytes < HUGE ? sizeof(struct states_bucket) : HUGE, bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE) (void)madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return at;
}

/* ---- the table: by the lower half of the hash; of the upper the parts take the highest bits, tags the lowest --------------------- */

static struct states_bucket *bucket_of(const struct states *q, uint64_t hash)
{
    return &q->bucket[(hash & UINT32_MAX) * q->buckets >> 32];
}

static uint8_t tag_of(uint64_t hash)
{
    uint8_t tag = (uint8_t)(hash >> 32);
    return tag ? tag : 1;
}

/* A place in a bucket, and what is there: its number + 1, or 0. */
struct place {
    struct states_bucket *bucket;
    uint32_t at, found;
};

/* Where the row is, or would be; NULL: any row, that is where a new one would be. */
static struct place place_of(const struct states *q, const uint32_t *row, uint64_t hash)
{
    struct states_bucket *b = bucket_of(q, hash);
    uint8_t tag = tag_of(hash);
    for (;; b = b + 1 < q->bucket + q->buckets ? b + 1 : q->bucket)
        for (uint32_t k = 0; k < STATES_PLACES; k++) {
            if (b->tag[k] == 0) return (struct place){b, k, 0};
            if (row && b->tag[k] == tag && memcmp(row_of(q, b->number[k]), row, q->width * sizeof *row) == 0)
                return (struct place){b, k, b->number[k] + 1};
        }
}

static void take_place(struct place p, uint64_t hash, uint32_t number)
{
    p.bucket->tag[p.at] = tag_of(hash);
    p.bucket->number[p.at] = number;
}

static int more_buckets(struct states *q)
{
    uint64_t buckets = q->buckets ? q->buckets + q->buckets / 2 : BUCKETS, hash[BATCH];
    struct states_bucket *bucket = some_memory(buckets * sizeof *bucket);
    if (bucket == NULL) return -1;
    memset(bucket, 0, buckets * sizeof *bucket);
    free(q->bucket);
    q->bucket = bucket;
    q->buckets = buckets;
    for (uint64_t i = 0; i < q->count; i += BATCH) {
        uint64_t n = q->count - i < BATCH ? q->count - i : BATCH;
        for (uint64_t k = 0; k < n; k++) {
            hash[k] = states_hash(q, row_of(q, i + k));
            states_fetch(q, hash[k]);
        }
        for (uint64_t k = 0; k < n; k++) take_place(place_of(q, NULL, hash[k]), hash[k], (uint32_t)(i + k));
    }
    return 0;
}

void states_fetch(const struct states *q, uint64_t hash)
{
    if (q->buckets) __builtin_prefetch(bucket_of(q, hash));
}

void states_fetch_row(const struct states *q, uint64_t hash)
{
    const struct states_bucket *b = q->buckets ? bucket_of(q, hash) : NULL;
    uint8_t tag = tag_of(hash);
    for (uint32_t k = 0; b && k < STATES_PLACES && b->tag[k]; k++)
        if (b->tag[k] == tag) {
            __builtin_prefetch(row_of(q, b->number[k]));
            __builtin_prefetch(row_of(q, b->number[k]) + q->width - 1);
        }
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------------ */

static int more_rows(struct states *q)
{
    uint32_t log = STATES_FIRST;
    if (q->pieces > 0) log += q->pieces - 1;
    if (log > STATES_LARGEST) log = STATES_LARGEST;
    uint32_t **row = realloc(q->row, (q->pieces + 1) * sizeof *row);
    if (row == NULL) return -1;
    q->row = row;
    row[q->pieces] = some_memory(((uint64_t)(q->width + 2) << log) * sizeof **row);
    if (row[q->pieces] == NULL) return -1;
    q->pieces++;
    return 0;
}

/* How many rows there is room for. */
static uint64_t rows(const struct states *q)
{
    const uint32_t grow = STATES_LARGEST - STATES_FIRST + 1; /* pieces, until they are of one size */
    if (q->pieces == 0) return 0;
    return q->pieces <= grow ? UINT64_C(1) << (STATES_FIRST + q->pieces - 1) : (uint64_t)(q->pieces - grow + 1) << STATES_LARGEST;
}

bool states_have(const struct states *q, const struct job *job)
{
    return states_find(q, job->at, states_hash(q, job->at)) >= 0;
}

int states_put(struct states *q, const uint32_t *row, uint64_t hash, uint32_t from, struct job_step step)
{
    if (q->count * 8 >= q->buckets * STATES_PLACES * 7 && more_buckets(q) < 0) return -1;
    struct place place = place_of(q, row, hash);
    if (place.found) return 0;
    if (q->count >= q->most || (q->count == rows(q) && more_rows(q) < 0)) return -1;
    uint32_t *new = row_of(q, q->count);
    memcpy(new, row, q->width * sizeof *row);
    new[q->width] = from;
    memcpy(&new[q->width + 1], &step, sizeof step);
    take_place(place, hash, (uint32_t)q->count++);
    return 1;
}

int64_t states_find(const struct states *q, const uint32_t *row, uint64_t hash)
{
    return q->buckets ? (int64_t)place_of(q, row, hash).found - 1 : -1;
}

int states_add(struct states *q, const struct job *job, uint64_t from, struct job_step step)
{
    return states_put(q, job->at, states_hash(q, job->at), (uint32_t)from, step);
}

void states_free(struct states *q)
{
    for (uint32_t i = 0; i < q->pieces; i++) free(q->row[i]);
    free(q->row);
    free(q->bucket);
    memset(q, 0, sizeof *q);
}
