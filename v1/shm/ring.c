/* ring.c: making and mapping rings, and the seldom part of writing. */
#include "ring.h"

#include <errno.h>

HARK_STATIC_ASSERT(2 * (sizeof(struct ring_record) + HARK_HEADER_MAX + RING_MIN_PART + 2 * RING_LINE) + RING_SIZE_MIN / 8 < RING_SIZE_MIN,
    "a reader that has read everything, and published all but an eighth, leaves room for any record and its skip");

int ring_make(struct ring_writer *w, const struct segment_name *name, struct process from, struct process to, uint64_t size)
{
    for (;;) {
        int descriptor;
        struct ring *ring = segment_make(sizeof *ring + size, RING_LINE * 64, &descriptor);
        if (!ring) return RING_NOMEMORY;
        ring->magic = RING_MAGIC;
        ring->version = RING_VERSION;
        ring->size = size;
        ring->from = from;
        ring->to = to;
        *w = (struct ring_writer){ring, (uint8_t *)(ring + 1), size, 0, 0, RING_LINE * 64 - sizeof *ring};
        if (segment_publish(descriptor, name) == 0) return RING_OK;
        int why = errno;
        ring_unmap(ring, size);
        errno = why;
        if (errno != EEXIST) return RING_NOMEMORY;
        segment_remove(name); /* nobody but us makes this name: a job before ours was never swept */
    }
}

int ring_map(struct ring_reader *r, const struct segment_name *name, struct process from, struct process to)
{
    uint64_t bytes;
    struct ring *ring = segment_map(name, &bytes);
    if (!ring) return errno == EBADMSG ? RING_CORRUPT : RING_NOMEMORY;
    bool fits = bytes > sizeof *ring && ring->magic == RING_MAGIC && ring->version == RING_VERSION;
    uint64_t size = bytes - sizeof *ring; /* not the one that stands there, which could still change */
    fits = fits && ring->size == size && size >= RING_SIZE_MIN && size <= RING_SIZE_MAX && (size & (size - 1)) == 0;
    fits = fits && ring->from.rank == from.rank && ring->from.inc == from.inc && ring->to.rank == to.rank && ring->to.inc == to.inc;
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

/* Memory for the first lap, piece by piece, before it is written: a full /dev/shm is then a status, and
 * not a bus error. */
static int back(struct ring_writer *w, uint64_t up_to)
{
    uint64_t before = w->backed + sizeof *w->ring; /* counted from the ring, which starts a page */
    uint64_t after = ring_round(up_to + sizeof *w->ring, RING_RESERVE);
    if (after > w->size + sizeof *w->ring) after = ring_round(w->size + sizeof *w->ring, 4096);
    if (segment_reserve((uint8_t *)w->ring + before, after - before) != 0) return RING_NOMEMORY;
    w->backed = after - sizeof *w->ring;
    if (w->backed >= w->size) w->backed = UINT64_MAX;
    return RING_OK;
}

int ring_make_room(struct ring_writer *w, uint64_t need, uint64_t skip)
{
    uint64_t free_after = w->tail + skip + need + RING_LINE;
    if (free_after - w->head > w->size) {
        uint64_t head = atomic_load_explicit(&w->ring->head, memory_order_acquire);
        if (head > w->tail || head < w->head) return RING_CORRUPT;
        w->head = head;
        if (free_after - head > w->size) return RING_FULL;
    }
    uint64_t at = w->tail & (w->size - 1);
    uint64_t up_to = skip ? w->size : at + need + RING_LINE;
    if (up_to > w->size) up_to = w->size;
    return up_to > w->backed ? back(w, up_to) : RING_OK;
}
