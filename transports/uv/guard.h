/* guard.h: the records of a connection: what goes out and comes in, if it is encrypted. */
#ifndef HARK_UV_GUARD_H
#define HARK_UV_GUARD_H

#include <sys/types.h>
#include <sys/uio.h>

#include "record.h"

enum { GUARD_ROOM = 4 * (RECORD_MOST + RECORD_AROUND) }; /* more at once is not quicker */

struct guard {
    struct records out, in;
    size_t out_begin, out_end; /* what is sealed and not written */
    size_t in_begin, in_end;   /* what came and is not opened */
    size_t begin, end;         /* what is opened and not taken */
    uint8_t to_write[GUARD_ROOM], came[GUARD_ROOM], opened[RECORD_MOST];
};

_Static_assert(_Alignof(struct guard) <= _Alignof(max_align_t), "malloc() aligns it");

/* NULL: no memory. A secret of what goes out and of what comes in. */
struct guard *hark_uv_guard_new(
    bool aes, const uint8_t out[RECORD_SECRET], const uint8_t in[RECORD_SECRET]);
/* Wipes it; it may be NULL. */
void hark_uv_guard_free(struct guard *g);

/* Seals as much of the pieces behind their first `skip` bytes as there is room for. Returns how
 * many bytes. */
size_t hark_uv_guard_seal(struct guard *g, const struct iovec *piece, int count, size_t skip);
/* What is to be written; NULL: nothing. */
static inline uint8_t *guard_to_write(struct guard *g, size_t *length)
{
    *length = g->out_end - g->out_begin;
    return *length ? g->to_write + g->out_begin : NULL;
}
static inline bool guard_has_sealed(const struct guard *g) /* something is to be written */
{
    return g->out_end > g->out_begin;
}
static inline void guard_written(struct guard *g, size_t length)
{
    g->out_begin += length;
    if (g->out_begin == g->out_end) g->out_begin = g->out_end = 0;
}

/* As recv(), of what is opened. EBADMSG: what came is not what the other end has sent. */
ssize_t hark_uv_guard_read(struct guard *g, int fd, uint8_t *at, size_t room);
/* The next read gives something, whether anything comes or not. */
bool hark_uv_guard_has_more(const struct guard *g);

#endif
