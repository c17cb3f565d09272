/* window.h: the bytes of a stream that are kept until the other end has them.
 *
 * Bytes are named by their position in the stream; which positions are kept, from .. to, the caller
 * knows. When nothing is kept the next byte goes to the beginning again: a stream that is
 * acknowledged soon stays in cache.
 */
#ifndef HARK_UV_WINDOW_H
#define HARK_UV_WINDOW_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct window {
    uint8_t *at;
    uint64_t size; /* a power of two, or 0 */
    uint64_t base; /* this position lies at the beginning */
};

enum { WINDOW_OK = 0, WINDOW_FULL, WINDOW_NOMEMORY };

/* Where the kept bytes from .. to lie, in at most two pieces. Returns how many. */
static inline int window_pieces(
    const struct window *w, uint64_t from, uint64_t to, struct iovec piece[2])
{
    if (from == to) return 0;
    uint64_t at = (from - w->base) & (w->size - 1), straight = w->size - at;
    piece[0].iov_base = w->at + at;
    if (to - from <= straight) {
        piece[0].iov_len = (size_t)(to - from);
        return 1;
    }
    piece[0].iov_len = (size_t)straight;
    piece[1].iov_base = w->at;
    piece[1].iov_len = (size_t)(to - from - straight);
    return 2;
}

static inline int window_grow(struct window *w, uint64_t from, uint64_t to, uint64_t size)
{
    struct iovec piece[2];
    uint8_t *at = malloc((size_t)size);
    if (!at) return WINDOW_NOMEMORY;
    uint64_t done = 0;
    int count = window_pieces(w, from, to, piece);
    for (int i = 0; i < count; i++) {
        memcpy(at + done, piece[i].iov_base, piece[i].iov_len);
        done += piece[i].iov_len;
    }
    free(w->at);
    *w = (struct window){at, size, from};
    return WINDOW_OK;
}

/* Is there room for `need` bytes behind those kept, in a window of at most `most` bytes? */
static inline int window_fits(uint64_t from, uint64_t to, uint64_t need, uint64_t most)
{
    return to - from + need <= most;
}

/* Makes that room. */
static inline int window_reserve(
    struct window *w, uint64_t from, uint64_t to, uint64_t need, uint64_t most)
{
    if (!window_fits(from, to, need, most)) return WINDOW_FULL;
    if (from == to) w->base = to;
    if (to - from + need <= w->size) return WINDOW_OK;
    uint64_t size = w->size ? w->size : 8192;
    while (size < to - from + need) size *= 2;
    return window_grow(w, from, to, size);
}

/* Copies `count` bytes to position `to`; there is room for them. */
static inline void window_put(struct window *w, uint64_t to, const void *from, uint64_t count)
{
    if (count == 0) return;
    uint64_t at = (to - w->base) & (w->size - 1), straight = w->size - at;
    if (straight > count) straight = count;
    memcpy(w->at + at, from, (size_t)straight);
    if (count > straight)
        memcpy(w->at, (const uint8_t *)from + straight, (size_t)(count - straight));
}

#endif
