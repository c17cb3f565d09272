/* ring.h: a ring of records in shared memory, one writer, one reader, no lock.
 *
 * A record begins on a cache line with its own state word: 0 means not yet written. The writer
 * fills the record, writes 0 into the word of the line after it, and publishes with one release
 * store of the word; so the reader needs no index of the writer's, and a small frame moves in one
 * cache line. Either end may die between any two instructions: a record is published or it is not.
 *
 * A record lies in one piece. One that does not fit before the end of the ring starts at the
 * beginning, and a SKIP record covers the rest. Behind the newest record a line is always kept free
 * for the 0.
 *
 * The reader publishes how far it has read (`head`) in steps, so its line seldom moves. A reader
 * that keeps up lets the writer go back to the beginning early, so that the two work on few lines,
 * which stay in the nearest caches. But until the reader has followed, a writer that has gone back
 * has no more room than it had used. If it fills that it goes farther the next times, and less far
 * again when it does not; so the whole ring is used when there is that much to hold. Whatever
 * stands in shared memory is read once and checked before use.
 */
#ifndef HARK_SHM_RING_H
#define HARK_SHM_RING_H

#include <stdatomic.h>
#include <string.h>

#include "segment.h"

#define RING_MAGIC    0x676e69726b726168u
#define RING_VERSION  3u
#define RING_LINE     64u
#define RING_CHUNK    (32u * 1024) /* frames up to this lie in one record */
#define RING_MIN_PART 4096u        /* payload beside the longest header */
#define RING_SIZE_MIN (256u * 1024)
#define RING_SIZE_MAX (256u * 1024 * 1024)
#define RING_WINDOW                                                                                \
    (8u * 1024)               /* the writer goes back to the beginning after this much, if it can */
#define RING_CALM       64u   /* times that it goes back without being full, until half is enough */
#define RING_STRIDE     1024u /* the reader publishes how far it is in such steps */
#define RING_RESERVE    (64u * 1024) /* memory is taken in such pieces on the first lap */
#define RING_FIRST_PAGE 4096u        /* what it begins with, the ring's own words included */
#define RING_SMALL      2048u /* content of a record for which the first page of a ring is enough */
#define RING_PATIENCE   16u   /* laps, until a ring that got no memory asks again */
#define RING_REFUSED    UINT64_MAX /* in `head`: the reader has found it corrupt */

/* The state word: kind, and bytes of content above it. */
#define RING_ELSEWHERE 0x80000000u
#define RING_DIRECT    0x40000000u
enum { RING_SKIP = 1, RING_FIRST = 2, RING_REST = 3 };

struct ring_record {
    _Atomic uint32_t word;
    uint32_t header;  /* FIRST: bytes of the frame's header, which follow, then 0 .. 7 unused, then
                       * payload. With RING_ELSEWHERE, instead of the payload, a struct lent_place,
                       * and with RING_DIRECT a struct direct_offer. REST of a frame that is
                       * elsewhere: RING_ELSEWHERE and how many bytes more are there */
    uint64_t payload; /* FIRST: bytes of the whole payload; REST: how many of them came before */
};
HARK_STATIC_ASSERT(sizeof(struct ring_record) == 16, "a record's head");

struct ring {
    uint64_t magic;
    uint32_t version, pad;
    uint64_t size; /* of the data, a power of two */
    struct process from, to;
    uint64_t unused[3];
    _Atomic uint64_t head;    /* the reader's: bytes read since the beginning, or RING_REFUSED */
    _Atomic uint64_t prefers; /* the reader's: by class of length, see direct.h */
    uint64_t line1[6];
    _Atomic uint64_t wanting; /* the writer's: wake it when `head` is this far; 0: it does not wait
                               */
    uint64_t line2[7];
    uint64_t line3[8];
};
HARK_STATIC_ASSERT(sizeof(struct ring) == 256 && offsetof(struct ring, head) == 64 &&
                       offsetof(struct ring, wanting) == 128,
    "each end writes to lines of its own");

struct ring_writer {
    struct ring *ring;
    uint8_t *data;
    uint64_t size;
    uint64_t tail;   /* bytes written since the beginning */
    uint64_t head;   /* as last seen */
    uint64_t backed; /* bytes of data with memory behind them; UINT64_MAX: all */
    uint64_t rewind; /* the place from which on to try to go back */
    uint64_t window; /* how far it goes before that: more where the ring was full for it */
    uint64_t back;   /* `tail` when it last went back */
    uint32_t calm;   /* how often it has gone back since it was full */
    uint64_t leave;  /* bytes that are left to others: no more is taken where less would be free. 0:
                        take all */
    uint64_t again;  /* where to ask for memory again after it was refused */
};

struct ring_reader {
    struct ring *ring;
    const uint8_t *data;
    uint64_t size;
    uint64_t head;
    uint64_t published;
};

enum { RING_OK = 1, RING_FULL = 0, RING_EMPTY = 0, RING_CORRUPT = -1, RING_NOMEMORY = -2 };

/* Makes a ring and gives it its name. RING_OK; or RING_NOMEMORY and errno. */
int ring_make(struct ring_writer *w, const struct segment_name *name, struct process from,
    struct process to, uint64_t size);
/* Maps one that has been announced. RING_OK; RING_CORRUPT: not a ring from `from` to `to`;
 * RING_NOMEMORY and errno. */
int ring_map(
    struct ring_reader *r, const struct segment_name *name, struct process from, struct process to);
void ring_unmap(struct ring *ring, uint64_t size);
/* Goes back to the beginning if the reader has read what is there, and a frame of about `bytes`
 * bytes is small beside what lies before this place: all that can be used until the reader has
 * followed. */
void ring_rewind(struct ring_writer *w, uint64_t bytes);
/* Slow part of ring_reserve(): looks at the reader's head, takes memory; where there is none to
 * take, goes back to the beginning. */
int ring_make_room(struct ring_writer *w, uint64_t need, uint64_t skip);
/* Memory for a record that takes `need` bytes, whatever is left to others. RING_OK, or
 * RING_NOMEMORY: there is none. */
int ring_grow(struct ring_writer *w, uint64_t need);
/* RING_FULL was the answer: how much of the ring must be free before it is worth to ask again. */
uint64_t ring_missing(const struct ring_writer *w, uint64_t need);

static inline uint64_t ring_round(uint64_t x, uint64_t to)
{
    return (x + to - 1) & ~(to - 1);
}

/* The bytes that a record takes. The content of REST records starts on a line: copies like that. */
static inline uint64_t ring_need(uint32_t kind, uint64_t bytes)
{
    return kind == RING_REST ? RING_LINE + ring_round(bytes, RING_LINE)
                             : ring_round(sizeof(struct ring_record) + bytes, RING_LINE);
}

static inline _Atomic uint32_t *ring_word(const uint8_t *data, uint64_t at)
{
    return (_Atomic uint32_t *)(uintptr_t)(data + at);
}

/* Goes to the beginning: `skip` bytes are left out, and there is room for that. */
static inline void ring_skip(struct ring_writer *w, uint64_t at, uint64_t skip)
{
    atomic_store_explicit(ring_word(w->data, 0), 0, memory_order_relaxed);
    atomic_store_explicit(ring_word(w->data, at),
        (uint32_t)(skip - sizeof(struct ring_record)) << 2 | RING_SKIP, memory_order_release);
    w->tail += skip;
    w->rewind = w->window;
}

/* Where the next record may be written: *record. RING_OK, RING_FULL, RING_CORRUPT (what stands in
 * `head` cannot be), RING_NOMEMORY (the ring has too little for a record as long as this, and
 * should not take more: a shorter one, or ring_grow()). Unless RING_OK, nothing has changed but
 * that the ring may have gone to its beginning: the reader must be told. */
static inline int ring_reserve(struct ring_writer *w, uint64_t need, struct ring_record **record)
{
    uint64_t at = w->tail & (w->size - 1);
    uint64_t skip = at + need > w->size ? w->size - at : 0;
    if (__builtin_expect(w->tail + skip + need + RING_LINE - w->head > w->size ||
                             at + need + RING_LINE > w->backed,
            0)) {
        int status = ring_make_room(w, need, skip);
        if (status != RING_OK) return status;
        at = w->tail & (w->size - 1);
        if (at == 0) skip = 0;
    }
    if (__builtin_expect(skip != 0, 0)) {
        ring_skip(w, at, skip);
        at = 0;
    }
    *record = (struct ring_record *)(uintptr_t)(w->data + at);
    return RING_OK;
}

static inline void ring_publish(
    struct ring_writer *w, struct ring_record *record, uint64_t need, uint32_t kind, uint64_t bytes)
{
    w->tail += need;
    atomic_store_explicit(ring_word(w->data, w->tail & (w->size - 1)), 0, memory_order_relaxed);
    atomic_store_explicit(&record->word, (uint32_t)bytes << 2 | kind, memory_order_release);
}

/* A published record, checked to lie inside the ring. */
struct ring_read {
    const struct ring_record *record;
    uint32_t kind;
    uint64_t bytes, need;
};

static inline bool ring_ready(const struct ring_reader *r)
{
    return atomic_load_explicit(
               ring_word(r->data, r->head & (r->size - 1)), memory_order_relaxed) != 0;
}

/* The next record, SKIP records too: *read. RING_OK, RING_EMPTY, RING_CORRUPT. */
static inline int ring_next(const struct ring_reader *r, struct ring_read *read)
{
    uint64_t at = r->head & (r->size - 1);
    uint32_t word = atomic_load_explicit(ring_word(r->data, at), memory_order_acquire);
    read->record = (const struct ring_record *)(r->data + at);
    read->kind = word & 3;
    read->bytes = word >> 2;
    read->need = ring_need(read->kind, read->bytes);
    if (word == 0) return RING_EMPTY;
    if (__builtin_expect(read->need > r->size - at || read->kind == 0, 0)) return RING_CORRUPT;
    if (__builtin_expect(read->kind == RING_SKIP, 0))
        return at > 0 && at + read->need == r->size ? RING_OK : RING_CORRUPT;
    return RING_OK;
}

/* The record is not needed any more and may be overwritten. To be called for SKIP records as well,
 * their room is what the writer may be waiting for. Returns true if the writer can now see that:
 * ask whether it waits. */
static inline bool ring_done(struct ring_reader *r, const struct ring_read *read)
{
    r->head += read->need;
    if (__builtin_expect(r->head - r->published < RING_STRIDE, 1)) return false;
    r->published = r->head;
    atomic_store_explicit(&r->ring->head, r->head, memory_order_release);
    return true;
}

#endif
