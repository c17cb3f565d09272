/* stream.c: the messages to a peer, kept until it has them.
 *
 * They lie in a window, each in one piece, and it begins anew when nothing is kept: a stream that
 * is acknowledged soon stays in cache. A message leaves the window when the peer has it and the
 * provider has given it back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/store/descriptor.h"
#include "end.h"

#define ALIGNED      64u
#define BACKOFF_MOST 64u   /* milliseconds */
#define ASK_AFTER    1000u /* the same */

static uint32_t rounded(uint32_t length)
{
    return (length + ALIGNED - 1) & ~(ALIGNED - 1);
}

static struct message *message_of(struct stream *s, uint64_t number)
{
    return &s->message[number % MESSAGES];
}

/* ---- birth and death ------------------------------------------------------------------------- */

static int say_hello(struct pair *p)
{
    const struct end *e = p->e;
    uint8_t *at = hark_fabric_stream_room(p->stream, HEAD_BYTES + NAME_BYTES);
    head_write(at,
        &(struct head){
            .token = p->token_out, .number = 1, .from = e->me, .inc = e->inc, .kind = HEAD_HELLO});
    memcpy(at + HEAD_BYTES, e->name, e->name_length);
    hark_fabric_stream_put(p->stream, at, HEAD_BYTES + (uint32_t)e->name_length);
    return HARK_T_OK;
}

int hark_fabric_stream_open(struct pair *p)
{
    struct end *e = p->e;
    if (p->stream) return HARK_T_OK;
    struct stream *s = calloc(1, sizeof *s);
    void *window =
        s ? mmap(NULL, e->window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
          : MAP_FAILED;
    if (window == MAP_FAILED) {
        free(s);
        return hark_fabric_failed(e, "cannot keep messages", FI_ENOMEM);
    }
    s->window = window;
    s->e = e;
    s->pair = p;
    s->to = p->to;
    s->named = p->name_length > 0;
    s->first = s->next_out = s->high = s->end = 1;
    for (unsigned i = 0; i < MESSAGES; i++) s->message[i].operation.stream = s;
    int status = hark_fabric_register(e, window, e->window, &s->mr);
    if (status != HARK_T_OK) {
        hark_fabric_stream_free(s);
        return status;
    }
    p->stream = s;
    return say_hello(p);
}

void hark_fabric_stream_free(struct stream *s)
{
    if (s->mr) (void)fi_close(&s->mr->fid);
    munmap(s->window, s->e->window);
    free(s);
}

/* It is no more in the list of those that are gone, or never was. */
static void end_gone(struct stream *s)
{
    if (s->named) (void)fi_av_remove(s->e->point.av, &s->to, 1, 0);
    hark_fabric_stream_free(s);
}

void hark_fabric_stream_leave(struct stream *s)
{
    struct end *e = s->e;
    s->pair = NULL;
    if (s->out == 0) {
        end_gone(s);
        return;
    }
    s->next = e->gone;
    e->gone = s;
}

static void leave_list(struct stream *s)
{
    struct stream **at = &s->e->gone;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
}

/* ---- the window ------------------------------------------------------------------------------ */

uint8_t *hark_fabric_stream_room(struct stream *s, uint32_t length)
{
    const uint32_t window = s->e->window, need = rounded(length);
    if (s->end - s->first == MESSAGES) return NULL;
    if (s->first == s->end) s->tail = 0;
    const uint32_t head = message_of(s, s->first)->at;
    if (s->first == s->end || s->tail > head) {
        if (window - s->tail >= need) return s->window + s->tail;
        if (s->first == s->end || need >= head) return NULL;
        s->tail = 0;
    }
    return s->tail + need < head ? s->window + s->tail : NULL;
}

void hark_fabric_stream_put(struct stream *s, uint8_t *at, uint32_t length)
{
    struct message *m = message_of(s, s->end);
    m->at = (uint32_t)(at - s->window);
    m->length = length;
    m->out = false;
    s->tail = m->at + rounded(length);
    s->bytes += length;
    s->end++;
    if (s->e->look_at == 0) s->e->look_at = hark_fabric_now() + ASK_AFTER;
}

static void release(struct stream *s)
{
    while (s->first <= s->acked && !message_of(s, s->first)->out)
        s->bytes -= message_of(s, s->first++)->length;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void block(struct pair *p)
{
    p->backoff = p->backoff == 0 ? 1 : p->backoff < BACKOFF_MOST ? 2 * p->backoff : BACKOFF_MOST;
    p->retry_at = hark_fabric_now() + p->backoff;
    if (p->apart_since == 0) p->apart_since = p->retry_at;
    p->blocked = true;
    hark_fabric_pair_busy(p);
}

/* False: the provider takes no more. */
static bool send_one(struct pair *p, struct message *m)
{
    struct stream *s = p->stream;
    struct end *e = p->e;
    uint8_t *at = s->window + m->at;
    put_le(at + HEAD_ACK_AT, p->in.number, 8);
    const ssize_t status = fi_send(
        e->point.ep, at, m->length, s->mr ? fi_mr_desc(s->mr) : NULL, s->to, &m->operation.context);
    if (status != 0) {
        if (status != -FI_EAGAIN) (void)hark_fabric_failed(e, "cannot send", (int)status);
        block(p);
        return false;
    }
    m->out = true;
    s->out++;
    s->next_out++;
    if (s->high < s->next_out) s->high = s->next_out;
    p->in.told = p->in.number;
    p->in.bytes = 0;
    p->ack_due = false;
    return true;
}

void hark_fabric_stream_go(struct pair *p)
{
    struct stream *s = p->stream;
    if (!s || p->name_length == 0) return;
    if (s->again) {
        if (s->out > 0) return; /* they may still be read */
        s->again = false;
        s->next_out = s->acked + 1;
    }
    if (s->next_out == s->end) return;
    if (p->blocked && hark_fabric_now() < p->retry_at) return;
    const int held = hark_fabric_hold();
    while (s->next_out < s->end && send_one(p, message_of(s, s->next_out))) p->blocked = false;
    if (held) hark_descriptor_release(held);
}

void hark_fabric_stream_done(struct message *m, bool well)
{
    struct stream *s = m->operation.stream;
    struct pair *p = s->pair;
    m->out = false;
    s->out--;
    if (!p) {
        if (s->out > 0) return;
        leave_list(s);
        end_gone(s);
        return;
    }
    release(s);
    if (well) {
        p->blocked = false;
        hark_fabric_reached(p);
        p->backoff = p->apart_since = 0;
        hark_fabric_look_if_go(p);
    } else if (!s->again) {
        s->again = true;
        block(p);
    }
    if (s->again || s->next_out < s->end) hark_fabric_pair_busy(p);
}

bool hark_fabric_stream_acked(struct pair *p, uint64_t number)
{
    struct stream *s = p->stream;
    if (number == 0) return true;
    if (!s || number >= s->high) return false;
    if (number <= s->acked) return true; /* an old message */
    s->acked = number;
    if (s->next_out <= number) s->next_out = number + 1;
    p->heard_at = 0;
    release(s);
    hark_fabric_look_if_go(p);
    return true;
}

/* What was once sent to somebody who then was lost has left too. */
bool hark_fabric_stream_drained(const struct pair *p)
{
    const struct stream *s = p->stream;
    if (!s || s->acked + 1 == s->end) return true;
    if (s->high < s->end) return false;
    if (s->again || p->name_length == 0) return true;
    return s->out == 0 && s->end - 1 - s->acked < ACK_MESSAGES &&
           s->bytes < p->e->window / ACK_SHARE;
}
