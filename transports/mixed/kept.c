/* kept.c: frames to other hosts, and those that can not go yet.
 *
 * A frame is kept while its receiver's host is not known; if its payload is lent and goes to
 * another host, since it may lie there as long as it takes; and if others of the same receiver are.
 * They go in their order.
 */
#include "inside.h"

#include <errno.h>
#include <stdlib.h>

#define KEPT_FRAME (128u * 1024) /* bytes of a payload that is copied */
#define KEPT_MOST  (1024u * 1024)

static uint64_t payload_of(const struct hark_outgoing *o)
{
    return o->part[0].length + o->part[1].length + o->part[2].length;
}

static bool is_lent(const struct mixed *m, const struct hark_outgoing *o)
{
    struct lent_place place;
    return o->keep && lent_find(&m->e->lent, o->keep, o->part[0].length, &place);
}

static void copy_to_keep(const struct hark_outgoing *o)
{
    if (o->keep && o->part[0].at != o->keep && o->part[0].length)
        memcpy(o->keep, o->part[0].at, (size_t)o->part[0].length);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static int again(struct peer *p)
{
    p->stalled = true;
    return HARK_T_AGAIN;
}

static void fill(struct kept *k, const struct hark_outgoing *o, bool lent)
{
    uint8_t *to = k->at + o->header.length;
    k->out = (struct hark_outgoing){.to = o->to, .inc = o->inc};
    k->out.header = (struct hark_bytes){k->at, o->header.length};
    k->out.part[0] = (struct hark_part){lent ? o->keep : to, payload_of(o)};
    if (lent) k->out.keep = o->keep;
    memcpy(k->at, o->header.at, o->header.length);
    for (int i = 0; i < 3 && !lent; i++) {
        if (o->part[i].length) memcpy(to, o->part[i].at, (size_t)o->part[i].length);
        to += o->part[i].length;
    }
}

/* What is between hosts may have begun it: it goes on with what is kept, and the caller is through.
 */
static int keep(struct mixed *m, uint32_t number, struct hark_outgoing *o)
{
    struct peer *p = &m->peers[number];
    bool lent = is_lent(m, o);
    uint64_t copied = lent ? 0 : payload_of(o);
    uint64_t bytes = sizeof(struct kept) + o->header.length + copied;
    if (copied > KEPT_FRAME || p->bytes + bytes > KEPT_MOST) return again(p);
    struct kept *k = malloc(sizeof *k + o->header.length + (size_t)copied);
    if (!k) return hark_mixed_failed(m, "cannot keep a frame", ENOMEM);
    copy_to_keep(o);
    *k = (struct kept){.bytes = bytes};
    fill(k, o, lent);
    k->out.done = o->done;
    o->done = 0;
    if (p->last) p->last->next = k;
    else p->first = k;
    if (!p->last && p->way == WAY_NEAR) m->near++;
    p->last = k;
    p->bytes += bytes;
    m->kept++;
    return HARK_T_OK;
}

static void drop_first(struct mixed *m, uint32_t number)
{
    struct peer *p = &m->peers[number];
    struct kept *k = p->first;
    p->first = k->next;
    if (!p->first) p->last = NULL;
    if (!p->first && p->way == WAY_NEAR) m->near--;
    p->bytes -= k->bytes;
    m->kept--;
    free(k->copy);
    free(k);
    if (p->stalled) m->go = true;
    p->stalled = false;
}

void hark_mixed_forget(struct mixed *m, uint32_t number)
{
    struct peer *p = &m->peers[number];
    if (p->stalled) m->go = true; /* to hear that the receiver is gone */
    p->stalled = false;
    while (p->first) drop_first(m, number);
}

static bool lies_in(const struct kept *k, const uint8_t *at, uint64_t bytes)
{
    const uint8_t *payload = k->out.part[0].at;
    return k->out.keep && payload >= at && payload < at + bytes;
}

/* Who takes it back knows the receiver to be dead, mostly before we are told; but it is ours to
 * send until then. Without memory for it we can not. */
void hark_mixed_copy_lent(struct mixed *m, const void *at, uint64_t bytes)
{
    for (uint32_t number = 0; m->kept > 0 && number <= m->e->ranks; number++)
        for (struct kept *k = m->peers[number].first; k; k = k->next) {
            if (!lies_in(k, at, bytes)) continue;
            k->copy = malloc((size_t)k->out.part[0].length + 1);
            if (k->copy) memcpy(k->copy, k->out.part[0].at, (size_t)k->out.part[0].length);
            k->out.part[0].at = k->copy;
            k->out.keep = NULL;
        }
}

/* ---- sending --------------------------------------------------------------------------------- */

static void count(struct mixed *m, struct peer *p)
{
    if (p->turn != m->e->turn) p->streak = 0;
    p->turn = m->e->turn;
    p->streak++;
}

static int far_now(struct mixed *m, struct hark_outgoing *o)
{
    int status = hark_mixed_after(m, m->between->transport->send(m->far, o));
    if (far_has_work(m)) look_again(m);
    return status;
}

static int send_far(struct mixed *m, uint32_t number, struct hark_outgoing *o)
{
    bool lent = o->done == 0 && is_lent(m, o);
    if (lent && o->part[0].length > KEPT_FRAME) {
        int status = keep(m, number, o);
        return status == HARK_T_OK ? hark_mixed_pump(m, number) : status;
    }
    int status = far_now(m, o);
    if (status == HARK_T_AGAIN && lent) return keep(m, number, o);
    if (status == HARK_T_OK) copy_to_keep(o);
    return status;
}

int hark_mixed_send(struct hark_transport *t, struct hark_outgoing *o)
{
    struct mixed *m = mixed_of(t);
    uint32_t number = end_number(m->e, o->to);
    struct peer *p = &m->peers[number];
    if (m->pumping || number == m->e->number || (p->way == WAY_NEAR && !p->first)) return SEND_NEAR;
    int status = p->way == WAY_FAR && !p->first ? send_far(m, number, o) : keep(m, number, o);
    if (status == HARK_T_OK && p->way == WAY_FAR) count(m, p);
    return status;
}

static int near_now(struct mixed *m, uint32_t number, struct hark_outgoing *o)
{
    m->pumping = true;
    int status = shm_send(&m->e->head, o);
    m->pumping = false;
    if (status != HARK_T_AGAIN) return status;
    /* what the receiver may have half is to be gone on with before anything else */
    if (m->e->out[number]) m->e->out[number]->beside = true;
    look_again(m);
    return status;
}

int hark_mixed_pump(struct mixed *m, uint32_t number)
{
    struct peer *p = &m->peers[number];
    while (p->first && p->way != WAY_UNKNOWN) {
        struct hark_outgoing *o = &p->first->out;
        bool is_lost = o->part[0].length > 0 && !o->part[0].at; /* see hark_mixed_copy_lent() */
        int status = is_lost             ? HARK_T_EGONE
                     : p->way == WAY_FAR ? far_now(m, o)
                                         : near_now(m, number, o);
        if (status == HARK_T_AGAIN) return HARK_T_OK;
        if (status == HARK_T_ESYSTEM) return status;
        drop_first(m, number);
    }
    if (m->e->out[number]) m->e->out[number]->beside = false;
    return HARK_T_OK;
}

int hark_mixed_pump_all(struct mixed *m)
{
    int status = HARK_T_OK;
    for (uint32_t number = 0; m->kept > 0 && number <= m->e->ranks; number++)
        if (m->peers[number].first && status == HARK_T_OK) status = hark_mixed_pump(m, number);
    return status;
}
