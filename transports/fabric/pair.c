/* pair.c: the other processes: incarnations, addresses. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

uint64_t hark_fabric_token(
    const struct end *e, uint32_t from, uint32_t from_inc, uint32_t to, uint32_t to_inc)
{
    uint8_t text[16 + 40 + 16] = "hark fabric 1", hash[crypto_generichash_BYTES_MIN];
    memcpy(text + 16, e->job, 40);
    put_le(text + 56, from, 4);
    put_le(text + 60, from_inc, 4);
    put_le(text + 64, to, 4);
    put_le(text + 68, to_inc, 4);
    crypto_generichash(hash, sizeof hash, text, sizeof text, e->key, sizeof e->key);
    return get_le(hash, 8);
}

static void learn_tokens(struct pair *p)
{
    const struct end *e = p->e;
    p->token_out = hark_fabric_token(e, e->me, e->inc, p->rank, p->inc);
    p->token_in = hark_fabric_token(e, p->rank, p->inc, e->me, e->inc);
}

struct pair *hark_fabric_pair_get(struct end *e, uint32_t number)
{
    struct pair *p = e->pairs[number];
    if (p) return p;
    p = calloc(1, sizeof *p);
    if (!p) {
        e->trouble = hark_fabric_failed(e, "cannot keep a peer", FI_ENOMEM);
        return NULL;
    }
    p->e = e;
    p->number = number;
    p->rank = rank_of(e, number);
    learn_tokens(p);
    e->pairs[number] = p;
    return p;
}

/* What was sent to the former incarnation may still be in the provider's hands, so its memory and
 * its address stay as long. */
static void leave(struct pair *p)
{
    if (p->stream) hark_fabric_stream_leave(p->stream);
    else if (p->name_length) (void)fi_av_remove(p->e->point.av, &p->to, 1, 0);
    p->stream = NULL;
    p->name_length = 0;
}

static void renew(struct pair *p, uint32_t inc)
{
    leave(p);
    p->inc = inc;
    p->gen++;
    learn_tokens(p);
    p->ack_due = p->again_due = p->blocked = p->breaks = false;
    hark_fabric_reached(p);
    p->backoff = p->long_left = p->apart_since = 0;
    if (p->stalled && !p->go) { /* to hear that the receiver is gone */
        p->go = true;
        p->e->go++;
    }
    hark_fabric_in_reset(p);
}

int hark_fabric_pair_at(struct end *e, uint32_t number, uint32_t inc, struct pair **p)
{
    *p = hark_fabric_pair_get(e, number);
    if (!*p) return HARK_T_ESYSTEM;
    if (inc < (*p)->inc) return HARK_T_EGONE;
    if (inc > (*p)->inc) renew(*p, inc);
    return HARK_T_OK;
}

int hark_fabric_pair_named(struct pair *p, const uint8_t *name, size_t length)
{
    struct end *e = p->e;
    if (length == p->name_length && memcmp(name, p->name, length) == 0) return HARK_T_OK;
    fi_addr_t to;
    if (fi_av_insert(e->point.av, name, 1, &to, 0, NULL) != 1)
        return hark_fabric_failed(e, "cannot keep an address", FI_EINVAL);
    memcpy(p->name, name, length);
    p->name_length = length;
    p->to = to;
    p->blocked = false;
    p->backoff = 0;
    if (p->stream) {
        p->stream->to = to;
        p->stream->named = true;
        p->stream->again = true; /* to whom it went before, that was somebody else */
    }
    hark_fabric_pair_busy(p);
    return HARK_T_OK;
}

void hark_fabric_pair_busy(struct pair *p)
{
    if (p->busy) return;
    p->busy = true;
    p->busy_next = p->e->busy;
    p->e->busy = p;
}
