/* What arrives: the sink of the transport, and what is handed up. */
#include "driver_internal.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 512, SPARES = 64 }; /* payload bytes of a message that is used again, and how many */

static bool is_app(const struct hark_frame *f)
{
    return f->header.length >= HARK_WIRE_HEAD + ENVELOPE && f->header.at[1] == HARK_APP;
}

static int64_t tag_of(const struct hark_frame *f)
{
    return is_app(f) ? (int64_t)hark_get64(f->header.at + f->header.length - ENVELOPE) : 0;
}

/* Gives the frame to the core, envelope taken off. */
static void arrive(struct hark_driver *d, const struct hark_frame *f, void *payload)
{
    struct hark_frame core = *f;
    struct subject s = {.frame = &core, .arrived = payload, .length = f->length};
    if (is_app(f)) {
        core.header.length -= ENVELOPE;
        s.tag = (int64_t)hark_get64(f->header.at + core.header.length);
    }
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = core.header;
    e.u.frame.length = f->length;
    int status = driver_step(d, &e, &s);
    if (status < 0 && !d->shut && !d->failed) hark_driver_fail(d, status, "arrival", "failed");
}

static uint32_t source_of(const struct hark_frame *f)
{
    return hark_get32(f->header.at + 4);
}

/* Who speaks is what the transport has proved, not what the header says; but messages to a group
 * are passed on. */
static bool speaks(struct hark_driver *d, const struct hark_frame *f)
{
    bool whole = f->header.length >= HARK_WIRE_HEAD;
    bool passed_on = whole && d->groups && is_app(f) && hark_get16(f->header.at + 2) != 0;
    if (whole && (passed_on || source_of(f) == f->from)) return true;
    driver_count(&d->figures->refused, 1);
    return false;
}

static void sink_arrived(void *self, const struct hark_frame *f, const void *payload)
{
    struct hark_driver *d = self;
    driver_count(&d->figures->frames_in, 1);
    if (d->shut || d->failed) return;
    if (payload == NULL && f->length) { /* sink_place() had no memory for it */
        hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for an arrived message");
        return;
    }
    if (f->header.at[0] == DRIVER_KIND) {
        if (f->header.length >= 2 && f->header.at[1] == DRIVER_WANTED && d->hooks.wanted)
            d->hooks.wanted(d->hooks.self);
        return;
    }
    if (speaks(d, f)) arrive(d, f, (void *)(uintptr_t)payload);
}

/* Payloads too long for one piece: into the owner's memory, or ours. Few at a time, known by their
 * address. */
static void *sink_place(void *self, const struct hark_frame *f)
{
    struct hark_driver *d = self;
    struct placing *p = malloc(sizeof *p);
    if (p == NULL) return NULL;
    p->owners = true;
    p->payload = is_app(f) && d->hooks.place
                     ? d->hooks.place(d->hooks.self, source_of(f), hark_get16(f->header.at + 2),
                           tag_of(f), f->length, f->offered)
                     : NULL;
    if (p->payload == NULL && !f->offered) {
        p->owners = false;
        p->payload = malloc(f->length ? f->length : 1);
    }
    if (p->payload == NULL) {
        free(p);
        return NULL;
    }
    p->next = d->placings;
    d->placings = p;
    return p->payload;
}

static int placed_by_owner(struct hark_driver *d, void *payload)
{
    for (struct placing **at = &d->placings; *at; at = &(*at)->next) {
        if ((*at)->payload != payload) continue;
        struct placing *p = *at;
        int owners = p->owners;
        *at = p->next;
        free(p);
        return owners;
    }
    return -1;
}

static void sink_placed(
    struct hark_driver *d, const struct hark_frame *f, void *payload, int owners)
{
    driver_count(&d->figures->frames_in, 1);
    if (d->shut || d->failed || !speaks(d, f)) {
        if (!owners) free(payload);
        else if (d->hooks.unplace) d->hooks.unplace(d->hooks.self, payload);
        return;
    }
    /* From here on like a held frame: it owns its payload. */
    struct held *h = malloc(sizeof *h + f->header.length);
    if (h == NULL) {
        if (!owners) free(payload);
        else if (d->hooks.unplace) d->hooks.unplace(d->hooks.self, payload);
        hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for an arrived message");
        return;
    }
    uint32_t n = is_app(f) ? f->header.length - ENVELOPE : f->header.length;
    *h = (struct held){.header_length = n,
        .tag = tag_of(f),
        .placed = owners,
        .length = f->length,
        .payload = payload};
    memcpy(h->header, f->header.at, n);
    struct subject s = {.held = h, .tag = h->tag, .length = h->length};
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header.at = h->header;
    e.u.frame.header.length = n;
    e.u.frame.length = h->length;
    int status = driver_step(d, &e, &s);
    if (status < 0 && !d->shut && !d->failed) hark_driver_fail(d, status, "arrival", "failed");
    if (!s.kept) hark_driver_held_free(d, h); /* the log has it */
}

/* Messages to `peer` up to `ssn` are not needed any more. */
static void trims(struct hark_driver *d, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    const struct hark_name name = {peer, ctx, HARK_OUT, HARK_PROCESS, ssn};
    const int status = hark_driver_trim(d, &name);
    if (status < 0 && !d->failed) hark_driver_fail(d, status, "arrival", "failed");
}

/* Does the frame fit the receive that waits, and is it as usual? Then that has it now. */
static inline bool received(
    struct hark_driver *d, struct hark_awaited *r, const struct hark_frame *f, const void *payload)
{
    if (d->placings || d->failed || !is_app(f)) return false;
    const uint8_t *at = f->header.at;
    const uint32_t core = f->header.length - ENVELOPE;
    const int64_t tag = (int64_t)hark_get64(at + core);
    const uint32_t source = source_of(f);
    if (hark_get16(at + 2) != r->ctx || source != f->from || ((tag ^ r->tag) & r->mask) ||
        (r->from != source && r->from != HARK_RECOVERY) || (payload == NULL && f->length) ||
        f->length > r->room)
        return false;
    struct hark_received received = {0};
    if (d->receive(d->core, (struct hark_bytes){at, core}, &received) != HARK_OK) return false;
    if (__builtin_expect(received.trim != 0, 0)) trims(d, source, r->ctx, received.trim);
    d->awaited = NULL;
    r->done = true;
    r->source = source;
    r->tag = tag;
    r->length = f->length;
    r->ssn = hark_get64(at + 24);
    if (f->length == 8) memcpy(r->data, payload, 8); /* without a call */
    else if (f->length) memcpy(r->data, payload, f->length);
    struct hark_driver_figures *figures = d->figures;
    driver_count(&figures->frames_in, 1);
    driver_count(&figures->deliveries, 1);
    if (d->causal) driver_count(&figures->determinants_created, 1);
    d->transport->enough = true;
    return true;
}

static void sink_any(void *self, const struct hark_frame *f, const void *payload)
{
    struct hark_driver *d = self;
    if (d->awaited && received(d, d->awaited, f, payload)) return;
    int owners = __builtin_expect(d->placings && payload, 0)
                     ? placed_by_owner(d, (void *)(uintptr_t)payload)
                     : -1;
    if (owners < 0) sink_arrived(d, f, payload);
    else sink_placed(d, f, (void *)(uintptr_t)payload, owners);
}

static void sink_broken(void *self, const struct hark_frame *f, void *payload)
{
    struct hark_driver *d = self;
    int owners = placed_by_owner(d, payload);
    (void)f;
    if (owners == 1 && d->hooks.unplace) d->hooks.unplace(d->hooks.self, payload);
    if (owners == 0) free(payload);
}

struct hark_sink hark_driver_sink(struct hark_driver *d)
{
    return (struct hark_sink){d, sink_place, sink_any, sink_broken};
}

/* ---- messages -------------------------------------------------------------------------------- */

/* A message with room for `bytes` behind it. */
static struct hark_message *message_make(struct hark_driver *d, uint64_t bytes)
{
    struct hark_message *m = d->spare;
    if (bytes <= SMALL && m) {
        d->spare = m->next;
        d->spares--;
    } else {
        m = malloc(sizeof *m + (bytes < SMALL ? SMALL : bytes));
    }
    return m;
}

/* Where the payload is of a message that has it behind itself and its header. */
static void *payload_inside(struct hark_message *m)
{
    return (uint8_t *)(m + 1) + ((m->header_length + 7) & ~7u);
}

/* What was handed up and not delivered belongs into images: the driver keeps a list of it. */
static void up_add(struct hark_driver *d, struct hark_message *m)
{
    m->up_next = d->up;
    m->up_previous = NULL;
    if (d->up) d->up->up_previous = m;
    d->up = m;
}

void hark_driver_up_remove(struct hark_driver *d, struct hark_message *m)
{
    if (m->borrowed) return;
    if (m->up_previous) m->up_previous->up_next = m->up_next;
    else d->up = m->up_next;
    if (m->up_next) m->up_next->up_previous = m->up_previous;
}

struct hark_message *hark_driver_keep(struct hark_driver *d, struct hark_message *m)
{
    if (!m->borrowed) return m;
    struct hark_message *k = message_make(d, m->header_length + 8 + m->length);
    if (k == NULL) {
        hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for an arrived message");
        return NULL;
    }
    uint8_t *bytes = (uint8_t *)(k + 1);
    *k = *m;
    k->borrowed = 0;
    memcpy(bytes, m->header, m->header_length);
    k->header = bytes;
    k->payload = payload_inside(k);
    if (m->length) memcpy(k->payload, m->payload, m->length);
    up_add(d, k);
    return k;
}

void hark_driver_drop(struct hark_driver *d, struct hark_message *m)
{
    if (m->borrowed) return;
    const bool own = m->payload == payload_inside(m);
    if (!own && !m->placed) free(m->payload);
    if (own && m->header_length + 8 + m->length <= SMALL && d->spares < SPARES) {
        m->next = d->spare;
        d->spare = m;
        d->spares++;
    } else {
        free(m);
    }
}

static void message_fill(
    struct hark_message *m, const uint8_t *header, uint32_t header_length, int64_t tag)
{
    m->from = hark_get32(header + 4);
    m->ctx = hark_get16(header + 2);
    m->ssn = hark_get64(header + 24);
    m->tag = tag;
    m->header = header;
    m->header_length = header_length;
}

/* A frame that was held, or came in pieces: a message that owns its payload. NULL without memory.
 */
static struct hark_message *message_held(struct hark_driver *d, struct subject *s)
{
    struct held *h = s->held;
    struct hark_message *m = malloc(sizeof *m + SMALL + h->header_length);
    if (m == NULL) {
        hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for an arrived message");
        return NULL;
    }
    uint8_t *header = (uint8_t *)(m + 1);
    *m = (struct hark_message){.length = h->length, .payload = h->payload, .placed = h->placed};
    memcpy(header, h->header, h->header_length);
    message_fill(m, header, h->header_length, h->tag);
    s->kept = true;
    hark_driver_held_pass(d, h);
    up_add(d, m);
    return m;
}

/* A frame in the transport's memory. */
static struct hark_message message_borrowed(const struct subject *s)
{
    struct hark_message m = {.borrowed = 1, .length = s->length, .payload = s->arrived};
    message_fill(&m, s->frame->header.at, s->frame->header.length, s->tag);
    return m;
}

void hark_driver_handup(struct hark_driver *d, struct subject *s)
{
    struct hark_message borrowed, *m = s->up;
    if (m == NULL && s->frame == NULL) m = message_held(d, s);
    if (m == NULL && s->frame) {
        borrowed = message_borrowed(s);
        m = &borrowed;
    }
    if (m) d->hooks.handup(d->hooks.self, m);
}

/* The message belongs into an image that a later effect of the same step asks for, and its owner
 * may deliver it, which is a step, only when all effects are performed: until then the driver has
 * it as one that was handed up. */
int hark_driver_handup_later(struct hark_driver *d, struct subject *s)
{
    if (s->frame) {
        struct hark_message m = message_borrowed(s);
        s->up = hark_driver_keep(d, &m);
    } else {
        s->up = message_held(d, s);
    }
    return s->up ? HARK_D_OK : HARK_D_ESYSTEM;
}
