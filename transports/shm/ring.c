/* ring.c: making and mapping rings, and the seldom part of writing. */
#include "ring.h"

#include <errno.h>

#define RING_PAGE 4096u

HARK_STATIC_ASSERT(
    2 * (sizeof(struct ring_record) + HARK_HEADER_MAX + RING_MIN_PART + 2 * RING_LINE) +
            RING_STRIDE <
        RING_SIZE_MIN,
    "a reader that has read everything, and published all but a stride, leaves room for any record "
    "and its skip");

/* A limit of the size of files holds for shared memory too: then the ring is smaller. */
static struct ring *make_ring(uint64_t *size, int *descriptor)
{
    struct ring *ring = segment_make(sizeof *ring + *size, RING_FIRST_PAGE, descriptor);
    while (!ring && errno == EFBIG && *size > RING_SIZE_MIN) {
        *size /= 2;
        ring = segment_make(sizeof *ring + *size, RING_FIRST_PAGE, descriptor);
    }
    return ring;
}

int ring_make(struct ring_writer *w, const struct segment_name *name, struct process from,
    struct process to, uint64_t size)
{
    for (;;) {
        int descriptor;
        struct ring *ring = make_ring(&size, &descriptor);
        if (!ring) return RING_NOMEMORY;
        ring->magic = RING_MAGIC;
        ring->version = RING_VERSION;
        ring->size = size;
        ring->from = from;
        ring->to = to;
        *w = (struct ring_writer){.ring = ring,
            .data = (uint8_t *)(ring + 1),
            .size = size,
            .backed = RING_FIRST_PAGE - sizeof *ring,
            .rewind = RING_WINDOW,
            .window = RING_WINDOW};
        if (segment_publish(descriptor, name) == 0) return RING_OK;
        int why = errno;
        ring_unmap(ring, size);
        errno = why;
        if (errno != EEXIST) return RING_NOMEMORY;
        segment_remove(name); /* nobody but us makes this name: a job before ours was never swept */
    }
}

int ring_map(
    struct ring_reader *r, const struct segment_name *name, struct process from, struct process to)
{
    uint64_t bytes;
    struct ring *ring = segment_map(name, &bytes);
    if (!ring) return errno == EBADMSG ? RING_CORRUPT : RING_NOMEMORY;
    bool fits = bytes > sizeof *ring && ring->magic == RING_MAGIC && ring->version == RING_VERSION;
    uint64_t size = bytes - sizeof *ring; /* not the one that stands there, which could still change
                                           */
    fits = fits && ring->size == size && size >= RING_SIZE_MIN && size <= RING_SIZE_MAX &&
           (size & (size - 1)) == 0;
    fits = fits && ring->from.rank == from.rank && ring->from.inc == from.inc &&
           ring->to.rank == to.rank && ring->to.inc == to.inc;
    if (!fits) {
        segment_unmap(ring, bytes);
        return RING_CORRUPT;
    }
    *r = (struct ring_reader){ring, (const uint8_t *)(ring + 1), size, 0, 0};
    return RING_OK;
}

void ring_unmap(struct ring *ring, uint64_t size)
{
    if (ring) segment_unmap(ring, sizeof *ring + size);
}

/* Memory up to that place, in pieces of `piece` bytes, before it is written: a full /dev/shm is
 * then a status, and not a bus error. */
static int back(struct ring_writer *w, uint64_t up_to, uint64_t piece, uint64_t leave)
{
    uint64_t before = w->backed + sizeof *w->ring; /* counted from the ring, which starts a page */
    uint64_t after = ring_round(up_to + sizeof *w->ring, piece);
    if (after > w->size + sizeof *w->ring) after = ring_round(w->size + sizeof *w->ring, RING_PAGE);
    if (!segment_leaves(after - before, leave)) return RING_NOMEMORY;
    if (segment_reserve((uint8_t *)w->ring + before, after - before) != 0) return RING_NOMEMORY;
    w->backed = after - sizeof *w->ring;
    if (w->backed >= w->size) w->backed = UINT64_MAX;
    return RING_OK;
}

/* The first lap takes memory piece by piece. A ring that gets none goes round in what it has, and
 * asks again later. */
static bool takes_more(struct ring_writer *w, uint64_t up_to)
{
    if (w->tail < w->again) return false;
    if (back(w, up_to, RING_RESERVE, w->leave) == RING_OK) return true;
    w->again = w->tail + RING_PATIENCE * w->size;
    return false;
}

/* With so much memory a record that takes `need` bytes finds its place for certain when the reader
 * has read everything, and published all but a stride of it: where it does not fit, more than a
 * stride and a line lie before. */
static uint64_t least_memory(uint64_t need)
{
    return need + RING_STRIDE + 2 * RING_LINE;
}

int ring_grow(struct ring_writer *w, uint64_t need)
{
    uint64_t least = least_memory(need);
    return w->backed >= least ? RING_OK : back(w, least, RING_PAGE, 0);
}

void ring_rewind(struct ring_writer *w, uint64_t bytes)
{
    uint64_t at = w->tail & (w->size - 1), skip = w->size - at;
    w->rewind = at + w->window / 2;            /* if not now, then soon */
    if (at < w->window) w->rewind = w->window; /* it has come round by itself */
    if (at < 4 * bytes) return;
    if (w->tail + skip + at / 2 - w->head > w->size) {
        uint64_t head = atomic_load_explicit(&w->ring->head, memory_order_acquire);
        if (head > w->tail || head < w->head) return; /* ring_make_room() will say so */
        w->head = head;
    }
    if (w->tail + skip + at / 2 - w->head > w->size) return;
    if (w->window > RING_WINDOW && ++w->calm == RING_CALM) {
        w->window /= 2;
        w->calm = 0;
    }
    ring_skip(w, at, skip);
    w->back = w->tail;
}

/* There was no room, for what was left out when it went back still counts: it goes farther next
 * time. */
static void widen(struct ring_writer *w)
{
    w->calm = 0;
    if (w->window < w->size / 4 && w->head < w->back) w->window *= 2;
}

/* Is there room for so many bytes more? RING_OK, RING_FULL, RING_CORRUPT. */
static int has_room(struct ring_writer *w, uint64_t bytes)
{
    if (w->tail + bytes - w->head <= w->size) return RING_OK;
    uint64_t head = atomic_load_explicit(&w->ring->head, memory_order_acquire);
    if (head > w->tail || head < w->head) return RING_CORRUPT;
    w->head = head;
    return w->tail + bytes - head <= w->size ? RING_OK : RING_FULL;
}

/* Goes to the beginning as soon as the reader has left it, though there may be no room for the
 * record yet: what is left out is not waited for twice. */
static int go_back(struct ring_writer *w, uint64_t at, uint64_t need)
{
    if (w->backed < least_memory(need)) return RING_NOMEMORY;
    int status = has_room(w, w->size - at + RING_LINE);
    if (status != RING_OK) return status;
    ring_skip(w, at, w->size - at);
    return has_room(w, need + RING_LINE);
}

int ring_make_room(struct ring_writer *w, uint64_t need, uint64_t skip)
{
    uint64_t at = w->tail & (w->size - 1);
    int status = has_room(w, skip + need + RING_LINE);
    if (status == RING_FULL) widen(w);
    if (status != RING_OK && (status == RING_CORRUPT || w->tail >= w->again)) return status;
    uint64_t up_to = skip ? w->size : at + need + RING_LINE;
    if (up_to > w->size) up_to = w->size;
    if (up_to <= w->backed || takes_more(w, up_to) || skip) return status;
    return go_back(w, at, need);
}

uint64_t ring_missing(const struct ring_writer *w, uint64_t need)
{
    uint64_t at = w->tail & (w->size - 1), skip = at + need > w->size ? w->size - at : 0;
    if (skip == 0 && at + need + RING_LINE > w->backed && w->tail < w->again) /* see go_back() */
        return w->size - at + (at < 4 * RING_STRIDE ? RING_LINE : at / 2);
    uint64_t missing = skip + need + RING_LINE;
    return missing < w->size / 2 ? w->size / 2 : missing;
}
