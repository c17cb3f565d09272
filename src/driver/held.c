/* What is held: frames that the core wants to see again, and messages to myself. */
#include "driver_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- by their names: a replay asks for one of many, in any order ----------------------------- */

/* Who says to be the sender: not who passed it on. */
static uint32_t sender_of(const struct held *h)
{
    return hark_get32(h->header + 4);
}

static bool is_message(const struct held *h)
{
    return h->header_length >= HARK_WIRE_HEAD && h->header[1] == HARK_APP;
}

static bool is_named(const struct held *h, const struct hark_name *name)
{
    return sender_of(h) == name->peer && hark_get16(h->header + 2) == name->ctx &&
           hark_get64(h->header + 24) == name->ssn;
}

static uint32_t slot_of(const struct held_list *l, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    return (uint32_t)((ssn + ((uint64_t)ctx << 32 | peer) * 0x9e3779b97f4a7c15u) & (l->slots - 1));
}

static struct held **slot_at(const struct held_list *l, const struct held *h)
{
    return &l->slot[slot_of(
        l, sender_of(h), hark_get16(h->header + 2), hark_get64(h->header + 24))];
}

/* Room for twice as many; false: no memory, and then as before. */
static bool more_slots(struct held_list *l)
{
    struct held_list more = {.slots = l->slots ? l->slots * 2 : 64};
    more.slot = calloc(more.slots, sizeof *more.slot);
    if (more.slot == NULL) return l->slots > 0;
    for (uint32_t i = 0; i < l->slots; i++)
        for (struct held *h = l->slot[i], *next; h; h = next) {
            next = h->alike;
            struct held **to = slot_at(&more, h);
            h->alike = *to;
            *to = h;
        }
    free(l->slot);
    l->slot = more.slot;
    l->slots = more.slots;
    return true;
}

static bool put(struct held_list *l, struct held *h)
{
    if (is_message(h)) {
        if (l->messages >= l->slots && l->slots < UINT32_C(1) << 31 && !more_slots(l)) return false;
        struct held **to = slot_at(l, h);
        h->alike = *to;
        *to = h;
        l->messages++;
    }
    h->number = ++l->numbers;
    h->next = NULL;
    h->previous = l->newest;
    if (l->newest) l->newest->next = h;
    else l->oldest = h;
    l->newest = h;
    return true;
}

static void take(struct held_list *l, struct held *h)
{
    if (is_message(h)) {
        struct held **at = slot_at(l, h);
        while (*at != h) at = &(*at)->alike;
        *at = h->alike;
        l->messages--;
    }
    *(h->previous ? &h->previous->next : &l->oldest) = h->next;
    *(h->next ? &h->next->previous : &l->newest) = h->previous;
    h->number = 0;
}

/* ---- HOLD, DISCARD --------------------------------------------------------------------------- */

void hark_driver_held_free(struct hark_driver *d, struct held *h)
{
    if (h->number) take(&d->held, h);
    if (!h->placed) free(h->payload);
    else if (d->hooks.unplace) d->hooks.unplace(d->hooks.self, h->payload);
    free(h);
}

/* It goes up: no longer held, and its payload is the receiver's. */
void hark_driver_held_pass(struct hark_driver *d, struct held *h)
{
    if (h->number) take(&d->held, h);
    free(h);
}

void hark_driver_hold(struct hark_driver *d, struct subject *s)
{
    struct held *h = s->held;
    if (h == NULL) {
        h = malloc(sizeof *h + s->frame->header.length);
        void *copy = malloc(s->length + 1);
        if (h == NULL || copy == NULL) {
            free(h);
            free(copy);
            hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a held message");
            return;
        }
        *h = (struct held){.header_length = s->frame->header.length,
            .tag = s->tag,
            .length = s->length,
            .payload = copy};
        memcpy(h->header, s->frame->header.at, h->header_length);
        if (s->length) memcpy(copy, s->arrived, s->length);
    } else if (h->placed) { /* the owner's memory is not ours to keep */
        void *copy = malloc(h->length + 1);
        if (copy == NULL) {
            hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a held message");
            return;
        }
        memcpy(copy, h->payload, h->length);
        if (d->hooks.unplace) d->hooks.unplace(d->hooks.self, h->payload);
        h->payload = copy;
        h->placed = false;
    }
    s->kept = h->number || put(&d->held, h);
    if (s->kept) return;
    if (s->held == NULL) hark_driver_held_free(d, h);
    hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a held message");
}

void hark_driver_discard(struct hark_driver *d, struct subject *s)
{
    struct held *h = s->held;
    if (h == NULL || s->kept) {
        if (s->frame) driver_count(&d->figures->discarded, 1);
        return;
    }
    driver_count(&d->figures->discarded, 1);
    hark_driver_held_free(d, h);
    s->held = NULL;
    s->kept = true;
}

/* From an image: arrived and not delivered; the core asks for it again. */
int hark_driver_hold_restored(struct hark_driver *d, const uint8_t *header, uint32_t header_length,
    int64_t tag, const void *payload, uint64_t length)
{
    struct held *h = malloc(sizeof *h + header_length);
    void *copy = malloc(length + 1);
    if (h == NULL || copy == NULL) {
        free(h);
        free(copy);
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a message of the image");
    }
    *h = (struct held){
        .header_length = header_length, .tag = tag, .length = length, .payload = copy};
    memcpy(h->header, header, header_length);
    if (length) memcpy(copy, payload, length);
    if (put(&d->held, h)) return HARK_D_OK;
    hark_driver_held_free(d, h);
    return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for a message of the image");
}

/* ---- OFFER ----------------------------------------------------------------------------------- */

/* It is done when the step's effects are. What asks for that meanwhile is for those too that are
 * being given now: it is next. */
void hark_driver_ask(struct hark_driver *d, uint32_t peer, const struct hark_name *name)
{
    struct offer *o = &d->offer;
    if (!o->due) {
        *o = (struct offer){true, peer, *name};
        return;
    }
    if (o->peer != peer) o->peer = HARK_RECOVERY;
    if (o->message.peer != name->peer || o->message.ctx != name->ctx || o->message.ssn != name->ssn)
        o->message.ssn = 0;
}

static int give_again(struct hark_driver *d, struct held *h)
{
    struct subject s = {.held = h, .tag = h->tag, .length = h->length};
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header.at = h->header;
    e.u.frame.header.length = h->header_length;
    e.u.frame.length = h->length;
    int status = driver_step(d, &e, &s);
    if (!s.kept) hark_driver_held_free(d, h); /* control frames are consumed without a fate */
    return status < 0 ? status : HARK_D_OK;
}

/* The oldest that is held of a message, of those newer than `than`; there may be copies. */
static struct held *copy_of(const struct held_list *l, const struct hark_name *name, uint64_t than)
{
    struct held *oldest = NULL;
    if (l->slots == 0) return NULL;
    for (struct held *h = l->slot[slot_of(l, name->peer, name->ctx, name->ssn)]; h; h = h->alike)
        if (is_named(h, name) && h->number > than && (oldest == NULL || h->number < oldest->number))
            oldest = h;
    return oldest;
}

/* Gives held frames again, oldest first. Those that are held once more keep their place, and are
 * not given twice. */
int hark_driver_offer(struct hark_driver *d)
{
    const struct offer o = d->offer;
    struct held_list *l = &d->held;
    const uint64_t newest = l->numbers;
    int status = HARK_D_OK;
    d->offer.due = false;
    if (o.message.ssn) {
        uint64_t number = 0;
        for (struct held *h;
             status >= 0 && (h = copy_of(l, &o.message, number)) && h->number <= newest;) {
            number = h->number;
            status = give_again(d, h);
        }
        return status;
    }
    for (struct held *h = l->oldest, *next; h && status >= 0 && h->number <= newest; h = next) {
        next = h->next; /* a step takes away no other than the one that it is about */
        if (o.peer == HARK_RECOVERY || sender_of(h) == o.peer) status = give_again(d, h);
    }
    return status;
}

/* Messages to myself arrive like others, but when the step that sent them is over. */
int hark_driver_self(struct hark_driver *d)
{
    int status = HARK_D_OK;
    while (d->self_head && status >= 0) {
        struct held *h = d->self_head;
        d->self_head = h->next;
        if (d->self_head == NULL) d->self_tail = NULL;
        h->next = NULL;
        status = give_again(d, h);
    }
    return status;
}

void hark_driver_held_close(struct hark_driver *d)
{
    while (d->held.oldest) {
        struct held *h = d->held.oldest;
        h->placed = false; /* what is held lies in memory of ours */
        hark_driver_held_free(d, h);
    }
    free(d->held.slot);
}
