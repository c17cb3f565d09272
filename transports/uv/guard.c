/* guard.c: the records of a connection. See guard.h. */
#include "guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct guard *hark_uv_guard_new(
    bool aes, const uint8_t out[RECORD_SECRET], const uint8_t in[RECORD_SECRET])
{
    struct guard *g = malloc(sizeof *g);
    if (!g) return NULL;
    hark_uv_records_begin(&g->out, aes, out);
    hark_uv_records_begin(&g->in, aes, in);
    g->out_begin = g->out_end = g->in_begin = g->in_end = g->begin = g->end = 0;
    return g;
}

void hark_uv_guard_free(struct guard *g)
{
    if (!g) return;
    sodium_memzero(&g->out, sizeof g->out);
    sodium_memzero(&g->in, sizeof g->in);
    free(g);
}

/* ---- out ------------------------------------------------------------------------------------- */

/* The first records are short: what comes of a record counts when it has come as a whole, so a
 * connection that is cut again and again would bring nothing over. */
static size_t next_most(const struct guard *g)
{
    const size_t most = RECORD_MOST;
    return g->out.number < 4 ? most >> (4 - g->out.number) : most;
}

/* At most `most` bytes in one place, if there is one; else copied to `to`. */
static const uint8_t *gather(
    const struct iovec *piece, int count, size_t skip, size_t most, uint8_t *to, size_t *length)
{
    size_t got = 0;
    for (int i = 0; i < count && got < most; i++) {
        size_t n = piece[i].iov_len;
        if (skip >= n) {
            skip -= n;
            continue;
        }
        const uint8_t *at = (const uint8_t *)piece[i].iov_base + skip;
        n -= skip;
        skip = 0;
        if (n > most - got) n = most - got;
        if (got == 0 && (n == most || i + 1 == count)) {
            *length = n;
            return at;
        }
        memcpy(to + got, at, n);
        got += n;
    }
    *length = got;
    return to;
}

size_t hark_uv_guard_seal(struct guard *g, const struct iovec *piece, int count, size_t skip)
{
    size_t done = 0, length;
    while (GUARD_ROOM - g->out_end >= RECORD_MOST + RECORD_AROUND) {
        uint8_t *to = g->to_write + g->out_end;
        const uint8_t *from =
            gather(piece, count, skip + done, next_most(g), to + RECORD_HEAD, &length);
        if (length == 0) break;
        hark_uv_record_seal(&g->out, from, length, to);
        g->out_end += length + RECORD_AROUND;
        done += length;
    }
    return done;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* The bytes in the record that comes next; 0: it is not there as a whole. -1: EBADMSG. */
static ssize_t next_length(const struct guard *g)
{
    const size_t there = g->in_end - g->in_begin;
    if (there < RECORD_HEAD) return 0;
    const size_t length = hark_uv_record_length(&g->in, g->came + g->in_begin);
    if (length == 0) return -1;
    return there < length + RECORD_AROUND ? 0 : (ssize_t)length;
}

static ssize_t take(struct guard *g, uint8_t *at, size_t room)
{
    size_t n = g->end - g->begin < room ? g->end - g->begin : room;
    memcpy(at, g->opened + g->begin, n);
    g->begin += n;
    return (ssize_t)n;
}

/* Into its place, if it has room for all. */
static ssize_t open_next(struct guard *g, size_t length, uint8_t *at, size_t room)
{
    const bool fits = length <= room;
    if (!hark_uv_record_open(&g->in, g->came + g->in_begin, length, fits ? at : g->opened)) {
        errno = EBADMSG;
        return -1;
    }
    g->in_begin += length + RECORD_AROUND;
    if (fits) return (ssize_t)length;
    g->begin = 0;
    g->end = length;
    return take(g, at, room);
}

static ssize_t receive(struct guard *g, int fd)
{
    if (g->in_begin > 0) memmove(g->came, g->came + g->in_begin, g->in_end - g->in_begin);
    g->in_end -= g->in_begin;
    g->in_begin = 0;
    ssize_t n = recv(fd, g->came + g->in_end, GUARD_ROOM - g->in_end, MSG_DONTWAIT);
    if (n > 0) g->in_end += (size_t)n;
    return n;
}

ssize_t hark_uv_guard_read(struct guard *g, int fd, uint8_t *at, size_t room)
{
    if (g->begin < g->end) return take(g, at, room);
    ssize_t length, n;
    while ((length = next_length(g)) == 0)
        if ((n = receive(g, fd)) <= 0) return n;
    if (length > 0) return open_next(g, (size_t)length, at, room);
    errno = EBADMSG;
    return -1;
}

bool hark_uv_guard_has_more(const struct guard *g)
{
    return g->begin < g->end || next_length(g) != 0;
}
