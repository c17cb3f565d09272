/* send.c: frames into the stream to a peer. All of a frame is copied: one that fits into a message
 * at once, a longer one as the window has room for it. */
#include <string.h>

#include "../../src/store/descriptor.h"
#include "end.h"

#define ASK_EVERY     1000u /* milliseconds */
#define PATIENCE_MOST 16000u
#define APART_AFTER   10000u

void hark_fabric_unstall(struct pair *p)
{
    if (p->go) p->e->go--;
    p->go = p->stalled = false;
}

/* Tells that the rest of a frame will not come, if there is room for that. */
static bool put_break(struct pair *p)
{
    struct stream *s = p->stream;
    uint8_t *at = hark_fabric_stream_room(s, HEAD_BYTES);
    if (!at) return false;
    head_write(at, &(struct head){p->token_out, s->end, 0, 0, p->e->me, p->e->inc, 0, HEAD_BREAK});
    hark_fabric_stream_put(s, at, HEAD_BYTES);
    hark_fabric_pair_busy(p);
    p->breaks = false;
    return true;
}

void hark_fabric_look_if_go(struct pair *p)
{
    if (p->breaks && !put_break(p)) return;
    if (!p->stalled || p->go || !hark_fabric_stream_room(p->stream, p->need)) return;
    p->go = true;
    p->e->go++;
}

static int stall(struct pair *p, uint32_t need)
{
    p->stalled = true;
    p->need = need;
    return HARK_T_AGAIN;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The length of the payload, or UINT64_MAX if the frame is out of its range. */
static uint64_t payload_length(const struct end *e, const struct hark_outgoing *f)
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

/* Copies `length` bytes of the frame, header and payload in one, from its byte `skip` on. */
static void copy_frame(uint8_t *to, const struct hark_outgoing *f, uint64_t skip, uint64_t length)
{
    struct hark_part piece[4] = {
        {f->header.at, f->header.length}, f->part[0], f->part[1], f->part[2]};
    for (int i = 0; i < 4 && length > 0; i++) {
        if (skip >= piece[i].length) {
            skip -= piece[i].length;
            continue;
        }
        uint64_t n = piece[i].length - skip;
        if (n > length) n = length;
        memcpy(to, (const uint8_t *)piece[i].at + skip, (size_t)n);
        to += n;
        length -= n;
        skip = 0;
    }
}

/* One message of the frame, if there is room for it; `done` bytes of it are in the stream. */
static bool put_part(struct pair *p, const struct hark_outgoing *f, uint64_t payload, uint64_t done)
{
    struct stream *s = p->stream;
    const uint64_t left = f->header.length + payload - done;
    const uint32_t most = MESSAGE_BYTES - HEAD_BYTES, part = left < most ? (uint32_t)left : most;
    uint8_t *at = hark_fabric_stream_room(s, HEAD_BYTES + part);
    p->need = HEAD_BYTES + part;
    if (!at) return false;
    head_write(at, &(struct head){p->token_out, s->end, 0, payload, p->e->me, p->e->inc,
                       f->header.length, done == 0 ? HEAD_BEGIN : HEAD_MORE});
    copy_frame(at + HEAD_BYTES, f, done, part);
    hark_fabric_stream_put(s, at, HEAD_BYTES + part);
    p->long_left = left - part;
    return true;
}

static int send_self(struct end *e, const struct hark_outgoing *f, uint64_t payload)
{
    if (f->inc != e->inc) return HARK_T_EGONE;
    const int status = self_send(&e->self, f, payload, e->window, &e->head.figures);
    return status == HARK_T_ESYSTEM ? hark_fabric_failed(e, "cannot keep a frame", ENOMEM) : status;
}

int hark_fabric_send(struct hark_transport *t, struct hark_outgoing *f)
{
    struct end *e = (struct end *)t;
    const uint32_t number = number_of(e, f->to);
    const uint64_t payload = payload_length(e, f);
    struct pair *p;
    if (number > e->ranks || payload == UINT64_MAX || f->inc == UINT32_MAX) return HARK_T_EINVAL;
    if (number == e->number) return send_self(e, f, payload);
    int status = hark_fabric_pair_at(e, number, f->inc, &p);
    if (p) hark_fabric_unstall(p);
    if (status != HARK_T_OK) return status;
    const uint64_t total = f->header.length + payload;
    if (p->long_left > 0 ? f->done + p->long_left != total : f->done != 0) return HARK_T_EINVAL;
    status = hark_fabric_stream_open(p);
    if (status != HARK_T_OK) return status;
    if (p->breaks && !put_break(p)) return stall(p, HEAD_BYTES);
    do {
        if (!put_part(p, f, payload, f->done)) {
            hark_fabric_stream_go(p);
            return stall(p, p->need);
        }
        f->done = total - p->long_left;
        if (p->long_left == 0 || f->done % (8 * MESSAGE_BYTES) == 0) hark_fabric_stream_go(p);
    } while (p->long_left > 0);
    f->done = 0;
    if (p->stream->next_out < p->stream->end) hark_fabric_pair_busy(p);
    e->head.figures.frames_out++;
    e->head.figures.bytes_out += total;
    return HARK_T_OK;
}

void hark_fabric_withdraw(struct hark_transport *t, struct hark_outgoing *f)
{
    struct end *e = (struct end *)t;
    const uint32_t number = number_of(e, f->to);
    struct pair *p = number > e->ranks ? NULL : e->pairs[number];
    if (!p || p->inc != f->inc || p->long_left == 0 || f->done == 0) return;
    f->done = p->long_left = 0;
    p->breaks = true;
    hark_fabric_unstall(p);
    (void)put_break(p);
}

/* ---- what else is due ------------------------------------------------------------------------ */

/* A few bytes beside the stream. False: the provider does not take them now. */
static bool control(struct pair *p, uint32_t flags)
{
    struct end *e = p->e;
    uint8_t bytes[HEAD_BYTES];
    const uint64_t last = p->stream ? p->stream->next_out - 1 : 0;
    head_write(bytes, &(struct head){p->token_out, 0, p->in.number, last, e->me, e->inc, 0,
                          HEAD_CONTROL | flags});
    const int held = hark_fabric_hold();
    const ssize_t status = fi_inject(e->point.ep, bytes, sizeof bytes, p->to);
    if (held) hark_descriptor_release(held);
    if (status != 0) return false;
    p->in.told = p->in.number;
    p->in.bytes = 0;
    return true;
}

/* Returns whether something is left to do that time brings. */
static bool serve(struct pair *p, uint64_t now)
{
    const struct stream *s = p->stream;
    if (p->name_length == 0) return false;
    hark_fabric_stream_go(p);
    if ((p->ack_due || p->again_due) && (!p->blocked || now >= p->retry_at)) {
        if (control(p, p->again_due ? HEAD_AGAIN : 0)) {
            p->ack_due = p->again_due = false;
        } else if (!p->blocked || now >= p->retry_at) {
            p->blocked = true;
            p->retry_at = now + 1;
        }
    }
    return p->ack_due || p->again_due || (s && (s->again || s->next_out < s->end));
}

/* For how long there has been no way to it; 0: for less than would be told, or there is one. Where
 * the provider holds messages of it there is one, and the peer does not take them. */
static uint64_t apart_for(const struct pair *p, uint64_t now)
{
    if (!p->blocked || p->apart_told || !p->stream || p->stream->out > 0) return 0;
    return now >= p->apart_since + APART_AFTER ? now - p->apart_since : 0;
}

bool hark_fabric_apart(
    struct hark_transport *t, uint32_t *rank, uint64_t *milliseconds, char text[200])
{
    struct end *e = (struct end *)t;
    const uint64_t now = hark_fabric_now();
    for (uint32_t number = 0; number <= e->ranks; number++) {
        struct pair *p = e->pairs[number];
        *milliseconds = p ? apart_for(p, now) : 0;
        if (*milliseconds == 0) continue;
        p->apart_told = true;
        t->unreached++;
        *rank = p->rank;
        hark_fabric_point_text(e, p->name, p->name_length, text);
        return true;
    }
    return e->head.apart = false;
}

void hark_fabric_flush(struct end *e)
{
    struct pair *p = e->busy, *next;
    const uint64_t now = p ? hark_fabric_now() : 0;
    e->busy = NULL;
    for (; p; p = next) {
        next = p->busy_next;
        p->busy = false;
        if (serve(p, now)) hark_fabric_pair_busy(p);
        if (apart_for(p, now)) e->head.apart = true;
    }
}

void hark_fabric_ask(struct end *e, uint64_t now)
{
    e->look_at = 0;
    for (uint32_t number = 0; number <= e->ranks; number++) {
        struct pair *p = e->pairs[number];
        if (!p || !p->stream || p->stream->acked + 1 == p->stream->end) continue;
        e->look_at = now + ASK_EVERY;
        if (p->heard_at == 0) {
            p->heard_at = now;
            p->patience = ASK_EVERY;
        }
        if (p->name_length == 0 || p->blocked || now - p->heard_at < p->patience) continue;
        if (!control(p, HEAD_ANSWER)) continue;
        p->heard_at = now;
        if (p->patience < PATIENCE_MOST) p->patience *= 2;
    }
}
