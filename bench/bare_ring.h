/* The least that two processes can do over shared memory: copy in, one release store, copy out. A
 * floor. */
#ifndef BENCH_BARE_RING_H
#define BENCH_BARE_RING_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define CHUNK (32u * 1024)
#define SLOTS 16u

struct bare {
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) uint8_t data[SLOTS][CHUNK];
};

struct bare_side {
    struct bare *out, *in;
    uint64_t tail, head_seen, head;
};

static void bare_put(void *self, const void *from, uint64_t length)
{
    struct bare_side *s = self;
    const uint8_t *at = from;
    while (length > 0) {
        uint64_t piece = length < CHUNK ? length : CHUNK;
        while (s->tail - s->head_seen == SLOTS)
            s->head_seen = atomic_load_explicit(&s->out->head, memory_order_acquire);
        memcpy(s->out->data[s->tail % SLOTS], at, (size_t)piece);
        atomic_store_explicit(&s->out->tail, ++s->tail, memory_order_release);
        at += piece;
        length -= piece;
    }
}

static void bare_get(void *self, void *to, uint64_t length)
{
    struct bare_side *s = self;
    uint8_t *at = to;
    while (length > 0) {
        uint64_t piece = length < CHUNK ? length : CHUNK;
        while (atomic_load_explicit(&s->in->tail, memory_order_acquire) == s->head)
            __builtin_ia32_pause();
        memcpy(at, s->in->data[s->head % SLOTS], (size_t)piece);
        atomic_store_explicit(&s->in->head, ++s->head, memory_order_release);
        at += piece;
        length -= piece;
    }
}

#endif
