/* receive.c: frames out of the stream from a peer.
 *
 * The position of a stream moves on only with bytes that are taken for good: whole short frames,
 * and what of a long one lies in its place. What is in the buffer beyond that comes again with the
 * next connection.
 */
#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define READS_MOST 16 /* then others get their turn */
#define READ_USUAL (72u * 1024)
#define READ_HEAD                                                                                  \
    4096u /* after a long frame: what is read here of the next must be copied to its place */

static void count_in(struct end *e, const struct hark_frame *frame)
{
    e->head.figures.frames_in++;
    e->head.figures.bytes_in += frame->header.length + frame->length;
}

static void took(struct in *in, uint64_t bytes)
{
    in->position += bytes;
    if (in->position - in->told >= ACK_EVERY && !in->half) in->ack_due = true;
}

/* ---- long frames ----------------------------------------------------------------------------- */

void hark_uv_in_reset(struct pair *p)
{
    struct in *in = &p->in;
    in->position = in->told = 0;
    in->ack_due = false;
    if (!in->half || in->lost) return;
    in->half = in->lost = in->place && !in->skip;
    p->e->lost += in->lost;
}

void hark_uv_bury(struct end *e)
{
    for (uint32_t number = 0; e->lost > 0 && number <= e->ranks; number++) {
        struct pair *p = e->pairs[number];
        if (!p || !p->in.lost) continue;
        e->lost--;
        p->in.lost = p->in.half = false;
        e->sink.broken(e->sink.self, &p->in.frame, p->in.place);
    }
}

/* `bytes` more of the long frame are where they belong. Returns 1 if it is whole. */
static int went_on(struct pair *p, uint64_t bytes)
{
    struct in *in = &p->in;
    in->got += bytes;
    uint64_t left = in->length - in->got, end = in->position + bytes + left;
    in->half = left > 0;
    took(in, bytes);
    /* this lets its sender go on, see send.c */
    if (left <= LONG_TAIL && in->told + LONG_TAIL < end) in->ack_due = true;
    if (left > 0 || in->skip) return 0;
    count_in(p->e, &in->frame);
    p->e->sink.arrived(p->e->sink.self, &in->frame, in->place);
    return 1;
}

static bool keep_header(struct pair *p, const uint8_t *at, uint32_t length)
{
    struct in *in = &p->in;
    if (length > in->header_room) {
        uint8_t *header = realloc(in->header, length);
        if (!header) {
            p->e->trouble = hark_uv_failed(p->e, "cannot keep a header", "", ENOMEM);
            return false;
        }
        in->header = header;
        in->header_room = length;
    }
    memcpy(in->header, at, length);
    return true;
}

/* A frame begins that is longer than the buffer has room for; its header is there. */
static int begin_long(struct conn *c, const struct head *h)
{
    struct pair *p = c->pair;
    struct in *in = &p->in;
    const uint8_t *at = c->buffer + c->begin + HEAD_BYTES;
    uint64_t part = c->end - c->begin - HEAD_BYTES - h->header;
    if (part > h->payload) part = h->payload;
    if (!keep_header(p, at, h->header)) {
        hark_uv_conn_lost(c); /* it comes again */
        return 0;
    }
    in->frame = (struct hark_frame){p->rank, p->inc, {in->header, h->header}, h->payload, false};
    in->skip = false;
    in->got = 0;
    in->length = h->payload;
    in->place = p->e->sink.place(p->e->sink.self, &in->frame);
    in->half = true;
    if (c->state != CONN_JOINED) { /* place() has sent to a newer incarnation of the sender */
        hark_uv_in_reset(p);
        return 0;
    }
    if (in->place) memcpy(in->place, at + h->header, (size_t)part);
    c->begin += HEAD_BYTES + h->header + (size_t)part;
    c->long_ones = true;
    in->position += HEAD_BYTES + h->header;
    return went_on(p, part);
}

/* A frame over the limit: nothing is kept of it, and what follows it is heard. */
static void begin_skip(struct conn *c, const struct head *h)
{
    struct in *in = &c->pair->in;
    uint64_t part = c->end - c->begin - HEAD_BYTES;
    in->skip = in->half = true;
    in->place = NULL;
    in->got = 0;
    in->length = h->header + h->payload;
    if (part > in->length) part = in->length;
    c->e->head.figures.refused++;
    c->begin += HEAD_BYTES + (size_t)part;
    in->position += HEAD_BYTES;
    (void)went_on(c->pair, part);
}

/* ---- short frames ---------------------------------------------------------------------------- */

static int short_frame(struct conn *c, const struct head *h)
{
    struct pair *p = c->pair;
    const uint8_t *at = c->buffer + c->begin + HEAD_BYTES;
    uint64_t total = HEAD_BYTES + h->header + h->payload;
    struct hark_frame frame = {p->rank, p->inc, {at, h->header}, h->payload, false};
    c->begin += (size_t)total;
    c->long_ones = false;
    took(&p->in, total);
    count_in(c->e, &frame);
    c->e->sink.arrived(c->e->sink.self, &frame, at + h->header);
    return 1;
}

/* Is the next byte one of a long frame? */
static bool goes_on(const struct conn *c)
{
    return c->pair->in.half && c->greeted;
}

static bool fits_here(const struct conn *c, uint32_t kind)
{
    bool half = c->pair->in.half;
    return kind == HEAD_ACK || (kind == HEAD_FRAME ? !half : half);
}

/* The rest of the long frame never comes. */
static void give_up(struct pair *p)
{
    struct in *in = &p->in;
    in->half = false;
    in->position += in->length - in->got;
    in->ack_due = true;
    if (in->place && !in->skip) p->e->sink.broken(p->e->sink.self, &in->frame, in->place);
}

/* Takes what is whole out of the buffer. Returns how many frames arrived. The callbacks may end the
 * connection. */
static int take(struct conn *c)
{
    struct end *e = c->e;
    int count = 0;
    while (c->state == CONN_JOINED && !goes_on(c)) {
        size_t there = c->end - c->begin;
        struct head h;
        c->need = HEAD_BYTES;
        if (there < HEAD_BYTES) break;
        if (!head_read(&h, c->buffer + c->begin) || !fits_here(c, h.kind) ||
            !hark_uv_acked(c->pair, h.ack)) {
            hark_uv_conn_refuse(c);
            break;
        }
        c->greeted = true;
        uint64_t total = HEAD_BYTES + h.header + h.payload;
        if (h.kind != HEAD_FRAME) {
            c->begin += HEAD_BYTES;
            if (h.kind == HEAD_WITHDRAWN) give_up(c->pair);
        } else if (h.header > e->limit || h.payload > e->limit - h.header) {
            begin_skip(c, &h);
        } else {
            c->need = total <= SHORT_FRAME ? (size_t)total : HEAD_BYTES + h.header;
            if (there < c->need) break;
            count += total <= SHORT_FRAME ? short_frame(c, &h) : begin_long(c, &h);
        }
    }
    return count;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Where the next bytes are to go, and how many. */
static size_t offer(struct conn *c, uint8_t **at)
{
    struct in *in = &c->pair->in;
    bool half = goes_on(c);
    uint64_t left = half ? in->length - in->got : 0;
    if (half && in->place) {
        *at = (uint8_t *)in->place + in->got;
        return (size_t)left;
    }
    if (c->begin == c->end) c->begin = c->end = 0;
    if (half) { /* to be thrown away */
        *at = c->buffer;
        return left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
    }
    size_t there = c->end - c->begin, missing = c->need - there, room;
    if (c->begin + c->need > BUFFER_BYTES) {
        memmove(c->buffer, c->buffer + c->begin, there);
        c->begin = 0;
        c->end = there;
    }
    *at = c->buffer + c->end;
    room = BUFFER_BYTES - c->end;
    size_t want = c->long_ones ? READ_HEAD : READ_USUAL;
    if (want < missing || in->half) want = missing; /* what follows a greeting has its place */
    return want < room ? want : room;
}

static ssize_t read_some(struct conn *c, uint8_t *at, size_t room)
{
    return c->guard ? hark_uv_guard_read(c->guard, c->fd, at, room)
                    : recv(c->fd, at, room, MSG_DONTWAIT);
}

/* Is there something that came, and that the system does not know of any more? */
static bool has_more(const struct conn *c)
{
    return c->guard && hark_uv_guard_has_more(c->guard);
}

int hark_uv_receive(struct conn *c)
{
    int count = 0;
    for (int i = 0; i < READS_MOST && c->state == CONN_JOINED; i++) {
        uint8_t *at;
        size_t room = offer(c, &at);
        ssize_t n = read_some(c, at, room);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EBADMSG) {
            hark_uv_conn_refuse(c);
            break;
        }
        if (n < 0 && !c->hung && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n <= 0) {
            hark_uv_conn_lost(c);
            break;
        }
        if (goes_on(c)) {
            count += went_on(c->pair, (uint64_t)n);
        } else {
            c->end += (size_t)n;
            count += take(c);
        }
        if ((size_t)n < room && !c->hung && !has_more(c)) break;
    }
    if (c->state != CONN_JOINED) return count;
    if (c->hung || c->mute || has_more(c))
        hark_uv_conn_ready(c); /* up to the end; nobody else will say that there is more */
    if (c->pair->in.ack_due && !c->writing) hark_uv_flush(c->pair);
    return count;
}
