/* What leaves: straight into the transport when it takes it, else in a queue for each receiver. */
#include "driver_internal.h"

#include <stdlib.h>
#include <string.h>

static uint32_t index_of(const struct hark_driver *d, uint32_t rank)
{
    return rank == HARK_RECOVERY ? d->ranks : rank;
}

static struct outqueue *queue_of(struct hark_driver *d, uint32_t rank)
{
    struct outqueue **q = &d->out[index_of(d, rank)];
    if (*q == NULL) *q = calloc(1, sizeof **q);
    return *q;
}

static void give_up(struct hark_driver *d, struct hark_outgoing *f)
{
    if (f->stays && f->done && d->transport->ops->withdraw)
        d->transport->ops->withdraw(d->transport, f);
}

static void outgoing_done(struct hark_driver *d, struct outgoing *o)
{
    give_up(d, &o->frame);
    if (o->left) --*o->left;
    d->queued -= sizeof *o + o->frame.header.length;
    free(o->copy);
    free(o);
}

/* The log's copy: it may have been spilled since the last time. */
int hark_driver_in_log(struct hark_driver *d, const struct hark_name *name, struct hark_part *part)
{
    const void *at;
    uint64_t length;
    uint32_t peer;
    if (hark_driver_log_entry(d, name, &peer, &at, &length) < 0 || length < ENVELOPE)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "payload log", hark_log_error(d->log));
    part->at = at; /* the envelope is behind it */
    part->length = length - ENVELOPE;
    return HARK_D_OK;
}

bool hark_driver_logged(struct hark_driver *d, const struct hark_name *name, uint64_t *bytes)
{
    const void *at;
    uint64_t length;
    uint32_t peer;
    if (hark_driver_log_entry(d, name, &peer, &at, &length) < 0 || length < ENVELOPE) return false;
    *bytes = length - ENVELOPE;
    return true;
}

static void keep_whole(struct hark_outgoing *f)
{
    if (f->keep == NULL || f->keep == f->part[0].at) return;
    if (f->part[0].length) memcpy(f->keep, f->part[0].at, f->part[0].length);
    f->part[0].at = f->keep;
}

/* 1: taken or gone; 0: not now; negative: failed. Unless it failed, a payload that is to be kept is
 * there when this returns: the log is complete before anything else happens. */
static int give(struct hark_driver *d, struct hark_outgoing *f)
{
    int status = d->transport->ops->send(d->transport, f);
    if (status == HARK_T_OK) {
        driver_count(&d->figures->frames_out, 1);
        HARK_POINT("sent", d->me);
        return 1;
    }
    keep_whole(f);
    if (status == HARK_T_EGONE) return 1;
    if (status == HARK_T_AGAIN) return 0;
    return hark_driver_fail(d, HARK_D_ESYSTEM, d->transport->ops->name, d->transport->error);
}

/* What it points to may go before it does. */
static int copy_of_own(struct hark_driver *d, struct outgoing *o)
{
    const struct hark_part *part = &o->frame.part[0];
    o->copy = malloc(part->length + 1);
    if (o->copy == NULL)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a frame that waits");
    if (part->length) memcpy(o->copy, part->at, part->length);
    o->frame.part[0].at = o->copy;
    o->from = FROM_COPY;
    return HARK_D_OK;
}

static int enqueue(struct hark_driver *d, const struct hark_outgoing *f, enum payload_from from,
    const struct hark_name *name, uint32_t *left)
{
    struct outqueue *q = queue_of(d, f->to);
    struct outgoing *o = malloc(sizeof *o + f->header.length);
    if (q == NULL || o == NULL) {
        free(o);
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a frame that waits");
    }
    *o = (struct outgoing){.frame = *f, .from = from, .name = *name};
    memcpy(o->header, f->header.at, f->header.length);
    o->frame.header.at = o->header;
    if (from == FROM_ARRIVED || from == FROM_MADE ||
        (from == FROM_LOG && f->part[0].length > LONG_PAYLOAD)) {
        int status = copy_of_own(d, o);
        if (status < 0) {
            free(o);
            return status;
        }
    }
    if (left && (from == FROM_CALLER || from == FROM_LENT)) {
        o->left = left;
        ++*left;
    }
    d->queued += sizeof *o + o->frame.header.length;
    if (q->head == NULL) d->waiting[d->waiting_count++] = index_of(d, f->to);
    if (q->tail) q->tail->next = o;
    else q->head = o;
    q->tail = o;
    return HARK_D_OK;
}

static int to_myself(
    struct hark_driver *d, const struct hark_transmit *x, int64_t tag, const struct hark_part *part)
{
    struct held *h = malloc(sizeof *h + x->header.length);
    void *copy = malloc(part->length + 1);
    if (h == NULL || copy == NULL) {
        free(h);
        free(copy);
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a message to myself");
    }
    *h = (struct held){
        .header_length = x->header.length, .tag = tag, .length = part->length, .payload = copy};
    memcpy(h->header, x->header.at, x->header.length);
    if (part->length) memcpy(copy, part->at, part->length);
    if (d->self_tail) d->self_tail->next = h;
    else d->self_head = h;
    d->self_tail = h;
    return HARK_D_OK;
}

/* Of the same channel the same message? */
static bool is_same(const struct hark_name *a, const struct hark_name *b)
{
    return a->peer == b->peer && a->ctx == b->ctx && a->ssn == b->ssn;
}

/* Let the transport put it into the log, and the receiver take it from there? It is one copy less.
 * But a payload of one piece is with the receiver sooner when it goes through the transport, and
 * the log is written meanwhile: so only for a receiver that does not wait for it, or for long ones,
 * which both ends copy piece by piece. */
static bool better_kept(
    const struct hark_driver *d, const struct hark_transmit *x, const struct subject *s)
{
    return d->lends && s->length >= LENT_PAYLOAD && s->next && s->next->type == HARK_RETAIN &&
           is_same(&s->next->u.retain.name, &x->name) &&
           (s->length >= PIECES_PAYLOAD || d->transport->ops->behind(d->transport, x->peer));
}

/* Does the log lose it with the next effect? */
static bool trimmed_next(const struct hark_transmit *x, const struct hark_effect *next)
{
    return next && next->type == HARK_TRIM && next->u.trim.name.to == x->name.to &&
           next->u.trim.name.way == x->name.way && is_same(&next->u.trim.name, &x->name);
}

/* What a member of a group contributed, or what all gave, may go from the log as soon as others are
 * known to have it, whoever of them that is, and what waited in it may go at once: it is never
 * lent, nor when it is sent again. */
static enum payload_from source_of(const struct hark_transmit *x, const struct subject *subject)
{
    bool group = x->name.to == HARK_GROUP;
    if (x->name.way == HARK_IN) return group ? FROM_MADE : FROM_ARRIVED;
    if (group && (subject->left == NULL || x->replay)) return FROM_MADE;
    if (x->replay && trimmed_next(x, subject->next)) return FROM_MADE;
    return x->replay ? FROM_LOG : FROM_CALLER;
}

int hark_driver_transmit(
    struct hark_driver *d, const struct hark_transmit *x, struct subject *subject)
{
    struct hark_outgoing f = {.to = x->peer, .inc = x->inc, .header = x->header};
    enum payload_from from = FROM_NOTHING;
    if (x->name.ssn) {
        from = source_of(x, subject);
        int64_t tag = subject->tag;
        if (x->peer == d->me && from == FROM_CALLER)
            return to_myself(d, x, tag, &(struct hark_part){subject->payload, subject->length});
        if (from == FROM_LOG || from == FROM_MADE) {
            int status = hark_driver_in_log(d, &x->name, &f.part[0]);
            if (status < 0) return status;
            tag = (int64_t)hark_get64((const uint8_t *)f.part[0].at + f.part[0].length);
            if (x->replay) driver_count(&d->figures->replayed, 1);
            if (x->peer == d->me) return to_myself(d, x, tag, &f.part[0]);
            if (d->lends && from == FROM_LOG) {
                from = FROM_LENT;
                f.keep = (void *)(uintptr_t)f.part[0].at;
            }
        } else if (from == FROM_ARRIVED) { /* passed on */
            f.part[0].at = subject->held ? subject->held->payload : subject->arrived;
            f.part[0].length = subject->length;
        } else {
            if (better_kept(d, x, subject)) {
                int status = hark_driver_reserve(d, &x->name, subject, &f.keep);
                if (status < 0) return status;
                from = FROM_LENT;
            }
            f.part[0].at = subject->payload;
            f.part[0].length = subject->length;
            f.stays = subject->left != NULL; /* then the send waits until all have it */
            f.done = subject->done;
        }
        uint8_t *envelope = d->fx.bytes + (x->header.at - d->fx.bytes) + x->header.length; /* spare
                                                                                              bytes
                                                                                            */
        hark_put64(envelope, (uint64_t)tag);
        f.header.length += ENVELOPE;
        driver_count(&d->figures->piggyback_bytes, x->header.length - HARK_WIRE_HEAD);
        if (x->determinants) driver_count(&d->figures->determinants_piggybacked, x->determinants);
    } else {
        HARK_POINT("control", d->me);
    }
    struct outqueue *q = d->out[index_of(d, x->peer)];
    bool first = !d->polling && (q == NULL || q->head == NULL);
    bool is_long = f.part[0].length > LONG_PAYLOAD && (!d->lends || from == FROM_MADE);
    if (first && !is_long) {
        int status = give(d, &f);
        if (status != 0) return status < 0 ? status : HARK_D_OK;
    }
    keep_whole(&f); /* if it waits behind others, too */
    int status = enqueue(d, &f, from, &x->name, subject->left);
    if (status < 0) give_up(d, &f);
    return status >= 0 && first && is_long ? hark_driver_flush(d) : status;
}

static int flush_queue(struct hark_driver *d, struct outqueue *q)
{
    while (q->head) {
        struct outgoing *o = q->head;
        int status =
            o->from == FROM_LOG ? hark_driver_in_log(d, &o->name, &o->frame.part[0]) : HARK_D_OK;
        if (status >= 0) status = give(d, &o->frame);
        if (status < 0) return status;
        if (status == 0) break;
        q->head = o->next;
        outgoing_done(d, o);
        d->left++;
    }
    return HARK_D_OK;
}

/* Gives what waits to the transport, each queue as far as it goes. */
int hark_driver_flush(struct hark_driver *d)
{
    for (uint32_t i = 0; i < d->waiting_count;) {
        struct outqueue *q = d->out[d->waiting[i]];
        int status = flush_queue(d, q);
        if (status < 0) return status;
        if (q->head == NULL) {
            q->tail = NULL;
            d->waiting[i] = d->waiting[--d->waiting_count];
        } else {
            i++;
        }
    }
    return HARK_D_OK;
}

/* Takes those out of a queue that are for incarnations before `inc`, or belong to the send of
 * `left`; also one that is half taken. */
static void forget(struct hark_driver *d, uint32_t index, uint32_t inc, const uint32_t *left)
{
    struct outqueue *q = d->out[index];
    if (q == NULL || q->head == NULL) return;
    struct outgoing **at = &q->head;
    q->tail = NULL;
    while (*at) {
        struct outgoing *o = *at;
        if (left && o->left == left && o->from == FROM_LOG)
            o->left = NULL; /* it needs nothing of the caller's */
        if (o->frame.inc < inc || (left && o->left == left)) {
            *at = o->next;
            outgoing_done(d, o);
        } else {
            q->tail = o;
            at = &o->next;
        }
    }
    if (q->head) return;
    for (uint32_t i = 0; i < d->waiting_count; i++)
        if (d->waiting[i] == index) d->waiting[i] = d->waiting[--d->waiting_count];
}

void hark_driver_outgoing_forget(struct hark_driver *d, uint32_t rank, uint32_t inc)
{
    forget(d, index_of(d, rank), inc, NULL);
}

void hark_driver_outgoing_abandon(struct hark_driver *d, const uint32_t *left)
{
    for (uint32_t i = d->waiting_count; i-- > 0;) forget(d, d->waiting[i], 0, left);
}

void hark_driver_outgoing_free(struct hark_driver *d)
{
    for (uint32_t i = 0; d->out && i <= d->ranks; i++) {
        if (d->out[i] == NULL) continue;
        while (d->out[i]->head) {
            struct outgoing *o = d->out[i]->head;
            d->out[i]->head = o->next;
            o->left = NULL;
            outgoing_done(d, o);
        }
        free(d->out[i]);
    }
}

/* The log has it now: what still waits needs the caller's memory no more, and a send need not
 * block, unless so much waits that the sender had better. A message to a group may wait for several
 * receivers. */
void hark_driver_from_log(struct hark_driver *d, const struct hark_name *name)
{
    for (uint32_t i = 0; i < d->waiting_count; i++) {
        struct outgoing *o = d->out[d->waiting[i]]->tail;
        if (o->from != FROM_CALLER || o->frame.part[0].length > LONG_PAYLOAD ||
            o->name.peer != name->peer || o->name.to != name->to || o->name.ctx != name->ctx ||
            o->name.ssn != name->ssn)
            continue;
        o->from = FROM_LOG;
        if (d->queued >= d->queued_most) continue;
        if (o->left) --*o->left;
        o->left = NULL;
    }
}

/* Does what it points to go with the log's copy? */
static bool lies_in_log(const struct outgoing *o)
{
    return o->from == FROM_LOG || (o->from == FROM_LENT && o->frame.keep == o->frame.part[0].at);
}

/* It goes from the log, and what still waits in it goes on its way all the same: it may have gone
 * to some of a group, and be needed no more of others, who tell; or it waits twice, since another
 * failure had it sent again. */
int hark_driver_trimmed(struct hark_driver *d, const struct hark_name *name)
{
    for (uint32_t i = 0; i < d->waiting_count; i++) {
        for (struct outgoing *o = d->out[d->waiting[i]]->head; o; o = o->next) {
            if (!lies_in_log(o) || o->name.peer != name->peer || o->name.to != name->to ||
                o->name.ctx != name->ctx || o->name.way != name->way || o->name.ssn > name->ssn)
                continue;
            int status = hark_driver_in_log(d, &o->name, &o->frame.part[0]);
            if (status >= 0) status = copy_of_own(d, o);
            if (status < 0) return status;
            if (o->frame.keep)
                o->frame.keep = o->copy; /* a transport may have taken a part of it */
        }
    }
    return HARK_D_OK;
}
