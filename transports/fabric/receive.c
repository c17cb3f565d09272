/* receive.c: frames out of the stream from a peer. */
#include <stdlib.h>
#include <string.h>

#include "end.h"

static int refuse(struct end *e)
{
    e->head.figures.refused++;
    return 0;
}

/* ---- frames of several messages -------------------------------------------------------------- */

void hark_fabric_in_reset(struct pair *p)
{
    struct in *in = &p->in;
    in->number = in->told = in->bytes = 0;
    in->missing = false;
    if (!in->half || in->lost) return;
    in->half = false;
    in->lost = in->place != NULL;
    p->e->lost += in->lost;
}

static void bury(struct pair *p)
{
    p->e->lost--;
    p->in.lost = false;
    p->e->sink.broken(p->e->sink.self, &p->in.frame, p->in.place);
}

void hark_fabric_bury(struct end *e)
{
    for (uint32_t number = 0; e->lost > 0 && number <= e->ranks; number++)
        if (e->pairs[number] && e->pairs[number]->in.lost) bury(e->pairs[number]);
}

static int give_up(struct pair *p)
{
    struct in *in = &p->in;
    if (!in->half) return refuse(p->e);
    in->half = false;
    if (in->place && !in->skip) p->e->sink.broken(p->e->sink.self, &in->frame, in->place);
    return 0;
}

static int arrived(struct end *e, const struct hark_frame *frame, const void *payload)
{
    e->head.figures.frames_in++;
    e->head.figures.bytes_in += frame->header.length + frame->length;
    e->sink.arrived(e->sink.self, frame, payload);
    return 1;
}

static bool keep_header(struct pair *p, uint32_t length)
{
    struct in *in = &p->in;
    if (length > in->header_room) {
        uint8_t *header = realloc(in->header, length);
        if (!header) {
            p->e->trouble = hark_fabric_failed(p->e, "cannot keep a header", FI_ENOMEM);
            return false;
        }
        in->header = header;
        in->header_room = length;
    }
    in->header_length = length;
    return true;
}

/* The header is whole. False: place() has sent to a newer incarnation of the sender. */
static bool ask_place(struct pair *p)
{
    struct in *in = &p->in;
    const uint64_t gen = p->gen;
    in->frame.header.at = in->header;
    in->place = NULL;
    if (in->frame.length == 0) return true;
    void *place = p->e->sink.place(p->e->sink.self, &in->frame);
    if (p->gen == gen) {
        in->place = place;
        return true;
    }
    in->place = place;
    in->half = true;
    hark_fabric_in_reset(p);
    return false;
}

/* The next bytes of the frame. */
static int more(struct pair *p, const uint8_t *at, uint64_t length)
{
    struct in *in = &p->in;
    const uint64_t total = in->header_length + in->frame.length;
    if (!in->half || length > total - in->got) return refuse(p->e);
    if (!in->skip && in->got < in->header_length) {
        uint64_t part = in->header_length - in->got;
        if (part > length) part = length;
        memcpy(in->header + in->got, at, (size_t)part);
        in->got += part;
        at += part;
        length -= part;
        if (in->got == in->header_length && !ask_place(p)) return 0;
    }
    if (in->place && !in->skip && length > 0)
        memcpy((uint8_t *)in->place + (in->got - in->header_length), at, (size_t)length);
    in->got += length;
    if (in->got < total) return 0;
    in->half = false;
    return in->skip ? 0 : arrived(p->e, &in->frame, in->place);
}

static int begin(struct pair *p, const struct head *h, const uint8_t *at, uint64_t length)
{
    struct end *e = p->e;
    struct in *in = &p->in;
    const bool skip = h->header > e->limit || h->payload > e->limit - h->header;
    if (in->half || h->header - 1u >= HARK_HEADER_MAX) return refuse(e);
    if (skip) (void)refuse(e);
    if (in->lost) bury(p); /* one of the incarnation before */
    if (!skip && length == h->header + h->payload) {
        const struct hark_frame frame = {p->rank, p->inc, {at, h->header}, h->payload, false};
        return arrived(e, &frame, at + h->header);
    }
    if (!keep_header(p, h->header)) {
        in->number--; /* it comes again */
        p->again_due = true;
        return 0;
    }
    in->frame = (struct hark_frame){p->rank, p->inc, {in->header, h->header}, h->payload, false};
    in->place = NULL;
    in->skip = skip;
    in->half = true;
    in->got = 0;
    return more(p, at, length);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Who sent it; NULL: nobody, or one who is dead. */
static struct pair *sender_of(struct end *e, const struct head *h)
{
    const uint32_t number = number_of(e, h->from);
    if (number > e->ranks || number == e->number || h->inc == UINT32_MAX) {
        (void)refuse(e);
        return NULL;
    }
    struct pair *p = e->pairs[number];
    if (p && h->inc < p->inc) return NULL;
    const uint64_t token =
        p && h->inc == p->inc ? p->token_in : hark_fabric_token(e, h->from, h->inc, e->me, e->inc);
    if (token != h->token) {
        (void)refuse(e);
        return NULL;
    }
    return hark_fabric_pair_at(e, number, h->inc, &p) == HARK_T_OK ? p : NULL;
}

static int told(struct pair *p, const struct head *h)
{
    if (h->kind & HEAD_AGAIN && p->stream) p->stream->again = true;
    if (h->kind & HEAD_ANSWER) p->ack_due = true;
    if (h->kind & HEAD_ANSWER && h->payload > p->in.number) p->again_due = true;
    if (h->kind & (HEAD_AGAIN | HEAD_ANSWER)) hark_fabric_pair_busy(p);
    return 0;
}

/* It is one that came before, or one before it is missing. */
static int out_of_turn(struct pair *p, uint64_t number)
{
    if (number <= p->in.number) {
        p->ack_due = true;
    } else if (!p->in.missing) {
        p->in.missing = p->again_due = true;
    }
    hark_fabric_pair_busy(p);
    return 0;
}

static void count(struct pair *p, size_t length)
{
    struct in *in = &p->in;
    in->number++;
    in->missing = false;
    in->bytes += length;
    if (in->number - in->told < ACK_MESSAGES && in->bytes < p->e->window / ACK_SHARE) return;
    p->ack_due = true;
    hark_fabric_pair_busy(p);
}

int hark_fabric_take(struct end *e, const uint8_t *at, size_t length)
{
    if (length < HEAD_BYTES) return refuse(e);
    const struct head h = head_read(at);
    struct pair *p = sender_of(e, &h);
    if (!p) return 0;
    if (!hark_fabric_stream_acked(p, h.ack)) return refuse(e);
    if ((h.kind & 0xff) == HEAD_CONTROL) return told(p, &h);
    if (h.number != p->in.number + 1) return out_of_turn(p, h.number);
    count(p, length);
    at += HEAD_BYTES;
    length -= HEAD_BYTES;
    switch (h.kind) {
    case HEAD_HELLO:
        if (length == 0 || length > NAME_BYTES) return refuse(e);
        if (p->name_length == 0) (void)hark_fabric_pair_named(p, at, length);
        return 0;
    case HEAD_BEGIN: return begin(p, &h, at, length);
    case HEAD_MORE: return more(p, at, length);
    case HEAD_BREAK: return give_up(p);
    default: return refuse(e);
    }
}
