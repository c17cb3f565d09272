/* send.c: frames into the stream to a peer.
 *
 * A short frame is written and then copied, so that the copy is made while the receiver already
 * reads; it is taken at once. A long one is written from where it lies, and taken when the receiver
 * has all but its last LONG_TAIL bytes, which are then copied: so little is copied, and the next
 * frame can follow without a pause. Where no pointers are kept (uv.h) it is written within send()
 * only; in between nothing behind `held` can be.
 */
#include "end.h"

#include <errno.h>
#include <sys/socket.h>

#define TINY_FRAME 4096u /* up to here one piece is quicker than a copy less */

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns how many bytes were written. The connection may be mute then. */
static uint64_t write_bytes(struct conn *c, struct iovec *piece, int count)
{
    struct msghdr message = {.msg_iov = piece, .msg_iovlen = (size_t)count};
    ssize_t n;
    do
        n = count == 1 ? send(c->fd, piece->iov_base, piece->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT)
                       : sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0) return (uint64_t)n;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    hark_uv_failed(c->e, "cannot write to a peer", "", errno);
    c->mute = true; /* it is lost when what the peer had written before is read */
    (void)shutdown(c->fd, SHUT_RDWR);
    hark_uv_conn_ready(c);
    return 0;
}

/* Writes what is sealed. False: not all of it. */
static bool write_sealed(struct conn *c)
{
    size_t length;
    for (uint8_t *at; (at = guard_to_write(c->guard, &length)) != NULL;) {
        size_t n = (size_t)write_bytes(c, &(struct iovec){at, length}, 1);
        guard_written(c->guard, n);
        if (n < length) return false;
    }
    return true;
}

/* Returns how many bytes were written, or sealed to be. The connection may be mute then. */
static uint64_t write_some(struct conn *c, struct iovec *piece, int count)
{
    if (!c->guard) return write_bytes(c, piece, count);
    uint64_t done = 0;
    for (size_t n = 1; n > 0 && write_sealed(c); done += n)
        n = hark_uv_guard_seal(c->guard, piece, count, (size_t)done);
    return done;
}

static bool has_sealed(const struct conn *c)
{
    return c->guard && guard_has_sealed(c->guard);
}

/* So far the stream can be written now. */
static uint64_t reach(const struct out *o)
{
    return o->is_long && !o->at_hand ? o->held : o->end;
}

/* What of the stream is to be written, in at most 7 pieces. Returns their length. */
static uint64_t gather(const struct out *o, struct iovec piece[7], int *count)
{
    uint64_t total = 0, skip = o->sent > o->held ? o->sent - o->held : 0;
    int n = o->sent < o->held ? window_pieces(&o->window, o->sent, o->held, piece) : 0;
    for (int i = 0; o->is_long && o->at_hand && i < 5; i++) {
        if (skip >= o->piece[i].iov_len) {
            skip -= o->piece[i].iov_len;
            continue;
        }
        piece[n].iov_base = (uint8_t *)o->piece[i].iov_base + skip;
        piece[n++].iov_len = o->piece[i].iov_len - (size_t)skip;
        skip = 0;
    }
    for (int i = 0; i < n; i++) total += piece[i].iov_len;
    *count = n;
    return total;
}

static void went_out(struct out *o, uint64_t bytes)
{
    o->sent += bytes;
    if (o->sent > o->high) o->high = o->sent;
}

static void make_control(struct pair *p, uint32_t kind)
{
    head_write(p->conn->control, &(struct head){.kind = kind, .ack = p->in.position});
    p->conn->control_left = HEAD_BYTES;
    p->in.told = p->in.position;
    p->in.ack_due = false;
}

/* False when the connection takes no more. */
static bool write_ahead(struct pair *p)
{
    struct conn *c = p->conn;
    struct out *o = &p->out;
    struct iovec piece[7];
    int count;
    if (c->guard && !write_sealed(c)) return false;
    for (;;) {
        if (c->control_left > 0) {
            *piece = (struct iovec){c->control + HEAD_BYTES - c->control_left, c->control_left};
            c->control_left -= (uint32_t)write_some(c, piece, 1);
            if (c->control_left > 0) return false;
        }
        if (o->sent < reach(o)) {
            uint64_t total = gather(o, piece, &count), n = write_some(c, piece, count);
            went_out(o, n);
            if (n < total) return false;
        }
        /* between frames only, so the stream must be written up to its end */
        if (!p->in.ack_due || o->sent < o->end) return !has_sealed(c);
        if (p->in.told == p->in.position) p->in.ack_due = false;
        else make_control(p, HEAD_ACK);
    }
}

static bool long_is_over(const struct out *o)
{
    return o->sent == o->end && o->end - o->acked <= LONG_TAIL;
}

/* Could the next send() write more of a long frame? */
static bool long_goes_on(const struct pair *p)
{
    const struct out *o = &p->out;
    return !o->at_hand && !o->withdrawn && p->conn && !p->conn->mute && !p->conn->writing &&
           o->sent < o->end;
}

/* wait() must not sleep when what was answered AGAIN could go on. */
static void look_if_go(struct pair *p)
{
    struct out *o = &p->out;
    if (!o->stalled || o->go) return;
    if (o->is_long) o->go = long_goes_on(p) || (long_is_over(o) && !o->withdrawn);
    else o->go = window_fits(o->acked, o->held, o->need, p->e->window_most);
    if (o->go) p->e->go++;
}

static void unstall(struct pair *p)
{
    if (p->out.go) p->e->go--;
    p->out.go = p->out.stalled = false;
}

static int stall(struct pair *p, uint64_t need)
{
    p->out.stalled = true;
    p->out.need = need;
    return HARK_T_AGAIN;
}

void hark_uv_flush(struct pair *p)
{
    struct conn *c = p->conn;
    if (!c || c->mute) return;
    bool blocked = !write_ahead(p);
    if (!c->mute && blocked != c->writing) hark_uv_conn_watch(c, blocked);
    look_if_go(p);
}

/* The peer knows that it will not come, or has all of it. */
static void end_withdrawn(struct out *o)
{
    o->window.base = o->held = o->end;
    o->is_long = o->withdrawn = false;
}

void hark_uv_greet(struct pair *p, uint64_t position)
{
    struct out *o = &p->out;
    if (o->withdrawn && position <= o->held) { /* it has never heard of it */
        o->end = o->high = o->held;
        o->is_long = o->withdrawn = false;
    }
    make_control(p, o->withdrawn ? HEAD_WITHDRAWN : HEAD_ACK);
    if (o->withdrawn) o->sent = o->high = o->end;
}

bool hark_uv_acked(struct pair *p, uint64_t position)
{
    struct out *o = &p->out;
    if (position > o->sent) return false;
    if (position <= o->acked) return true; /* an old frame, sent again */
    o->acked = position;
    hark_uv_reached(p);
    if (o->withdrawn && position >= o->end) end_withdrawn(o);
    look_if_go(p);
    return true;
}

void hark_uv_out_reset(struct pair *p)
{
    struct window window = p->out.window;
    bool stalled = p->out.stalled, go = p->out.go;
    window.base = 0;
    p->out = (struct out){.window = window, .stalled = stalled, .go = stalled};
    if (stalled && !go) p->e->go++; /* to hear that the receiver is gone */
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The length of the payload, or UINT64_MAX if the frame is out of its range. */
static inline uint64_t payload_length(const struct end *e, const struct hark_outgoing *f)
{
    uint64_t length = 0, limit = e->limit;
    if (f->header.length - 1u >= HARK_HEADER_MAX || f->header.length > limit) return UINT64_MAX;
    limit -= f->header.length;
    for (int i = 0; i < 3; i++) {
        if (f->part[i].length > limit - length) return UINT64_MAX;
        length += f->part[i].length;
    }
    return length;
}

static void *writable(const void *at) /* an iovec has no const; nobody writes there */
{
    union {
        const void *from;
        void *to;
    } u = {at};
    return u.to;
}

static void pieces_of(
    struct iovec piece[5], uint8_t head[HEAD_BYTES], const struct hark_outgoing *f)
{
    piece[0] = (struct iovec){head, HEAD_BYTES};
    piece[1] = (struct iovec){writable(f->header.at), f->header.length};
    for (int i = 0; i < 3; i++)
        piece[2 + i] = (struct iovec){writable(f->part[i].at), (size_t)f->part[i].length};
}

/* Every frame tells how far the other direction has come. */
static void head_of(
    uint8_t head[HEAD_BYTES], struct pair *p, const struct hark_outgoing *f, uint64_t payload)
{
    head_write(head, &(struct head){HEAD_FRAME, f->header.length, payload, p->in.position});
    p->in.told = p->in.position;
    p->in.ack_due = false;
}

static int no_memory(struct end *e)
{
    return hark_uv_failed(e, "cannot keep a frame", "", ENOMEM);
}

static void keep(struct window *w, uint64_t to, const struct iovec *piece, int count)
{
    for (int i = 0; i < count; i++) {
        window_put(w, to, piece[i].iov_base, piece[i].iov_len);
        to += piece[i].iov_len;
    }
}

static int send_short(
    struct pair *p, const struct hark_outgoing *f, uint64_t payload, uint64_t total)
{
    struct out *o = &p->out;
    struct conn *c = p->conn;
    struct iovec piece[5];
    uint8_t head[HEAD_BYTES];
    int room = window_reserve(&o->window, o->acked, o->held, total, p->e->window_most);
    if (room == WINDOW_FULL) return stall(p, total);
    if (room == WINDOW_NOMEMORY) return no_memory(p->e);
    head_of(head, p, f, payload);
    pieces_of(piece, head, f);
    bool can = c && !c->mute && !c->writing;
    bool at_once = can && total > TINY_FRAME && o->sent == o->end && c->control_left == 0;
    uint64_t n = at_once ? write_some(c, piece, 5) : 0;
    keep(&o->window, o->end, piece, 5);
    o->held = o->end += total;
    went_out(o, n);
    if (at_once && (n < total || has_sealed(c)) && !c->mute) hark_uv_conn_watch(c, true);
    else if (can && !at_once) hark_uv_flush(p);
    else if (!c) hark_uv_pair_pursue(p);
    return HARK_T_OK;
}

static int begin_long(
    struct pair *p, const struct hark_outgoing *f, uint64_t payload, uint64_t total)
{
    struct out *o = &p->out;
    /* room for what is to be copied in the end, as long as it can be refused */
    if (o->window.size < LONG_TAIL &&
        window_grow(&o->window, o->acked, o->held, LONG_TAIL) != WINDOW_OK)
        return no_memory(p->e);
    head_of(o->head, p, f, payload);
    o->is_long = true;
    o->end += total;
    return HARK_T_OK;
}

/* Is it the frame that is half sent? */
static bool is_the_same(
    const struct end *e, const struct out *o, const struct hark_outgoing *f, uint64_t total)
{
    if (e->keeps_no_pointers) return f->done > 0 && o->end - o->held == total;
    bool same = o->piece[1].iov_base == f->header.at && o->piece[1].iov_len == f->header.length;
    for (int i = 0; i < 3; i++)
        same = same && o->piece[2 + i].iov_base == f->part[i].at &&
               o->piece[2 + i].iov_len == f->part[i].length;
    return same;
}

/* All is written, and what the receiver does not have fits into the window, see begin_long(). */
static int end_long(struct out *o)
{
    uint64_t to = o->acked > o->held ? o->acked : o->held, skip = to - o->held;
    if (o->acked >= o->held) o->window.base = to; /* nothing else is kept */
    for (int i = 0; i < 5; i++) {
        uint64_t length = o->piece[i].iov_len;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        window_put(&o->window, to, (const uint8_t *)o->piece[i].iov_base + skip, length - skip);
        to += length - skip;
        skip = 0;
    }
    o->is_long = false;
    o->held = o->end;
    return HARK_T_OK;
}

static int send_long(struct pair *p, struct hark_outgoing *f, uint64_t payload, uint64_t total)
{
    struct out *o = &p->out;
    bool keeps = !p->e->keeps_no_pointers, begins = !o->is_long;
    if (begins) {
        int status = begin_long(p, f, payload, total);
        if (status != HARK_T_OK) return status;
    }
    if (begins || !keeps) {
        pieces_of(o->piece, o->head, f);
        o->at_hand = true;
        if (!p->conn) hark_uv_pair_pursue(p);
        else if (!p->conn->writing) hark_uv_flush(p);
        o->at_hand = keeps;
    }
    if (long_is_over(o)) return end_long(o);
    f->done = o->sent > o->held ? o->sent - o->held : !keeps; /* it has begun, or not */
    return stall(p, 0);
}

void hark_uv_withdraw(struct hark_transport *t, struct hark_outgoing *f)
{
    struct end *e = (struct end *)t;
    uint32_t number = number_of(e, f->to);
    struct pair *p = number > e->ranks ? NULL : e->pairs[number];
    if (!p || p->inc != f->inc || !p->out.is_long || f->done == 0) return;
    struct out *o = &p->out;
    f->done = 0;
    unstall(p);
    if (o->acked >= o->end) { /* all of it is there */
        end_withdrawn(o);
        return;
    }
    if (o->high <= o->held) { /* nothing of it was written */
        o->end = o->held;
        o->is_long = false;
        return;
    }
    o->withdrawn = true;
    if (p->conn) hark_uv_conn_lost(p->conn); /* what the peer has of it is seen when they meet */
}

static int send_self(struct end *e, const struct hark_outgoing *f, uint64_t payload)
{
    if (f->inc != e->me.inc) return HARK_T_EGONE;
    const int status = self_send(&e->self, f, payload, e->window_most, &e->head.figures);
    return status == HARK_T_ESYSTEM ? hark_uv_failed(e, "cannot keep a frame", "", ENOMEM) : status;
}

int hark_uv_send(struct hark_transport *t, struct hark_outgoing *f)
{
    struct end *e = (struct end *)t;
    uint32_t number = number_of(e, f->to);
    uint64_t payload = payload_length(e, f);
    if (number > e->ranks || payload == UINT64_MAX || f->inc == UINT32_MAX) return HARK_T_EINVAL;
    if (number == e->number) return send_self(e, f, payload);
    struct pair *p = e->pairs[number];
    if (!p || p->inc != f->inc) {
        int status = hark_uv_pair_at(e, number, f->inc, &p);
        if (p) unstall(p);
        if (status != HARK_T_OK) return status;
    }
    struct out *o = &p->out;
    uint64_t total = HEAD_BYTES + f->header.length + payload;
    unstall(p);
    if (o->withdrawn) return stall(p, 0);
    if (o->is_long ? !is_the_same(e, o, f, total) : f->done != 0) return HARK_T_EINVAL;
    int status =
        total <= SHORT_FRAME ? send_short(p, f, payload, total) : send_long(p, f, payload, total);
    if (status == HARK_T_OK) {
        e->head.figures.frames_out++;
        e->head.figures.bytes_out += f->header.length + payload;
    }
    return status;
}
