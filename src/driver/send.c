/* Sends: the application's messages, through the core, to the transport and into the log. */
#include "driver_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WHOLE = 4096, PIECE = 512, PIECES = 8 }; /* bytes of a payload that are digested */

HARK_COLD uint64_t digest_of_samples(const void *payload, uint64_t length, uint64_t seed)
{
    uint64_t stride = (length - PIECE) / (PIECES - 1);
    for (uint64_t i = 0; i < PIECES; i++)
        seed = XXH3_64bits_withSeed((const uint8_t *)payload + i * stride, PIECE, seed);
    return seed;
}

/* All of a payload up to a few KiB, beyond that its ends and samples between. */
HARK_COLD uint64_t digest_of_bytes(const void *payload, uint64_t length, uint64_t seed)
{
    return length <= WHOLE ? XXH3_64bits_withSeed(payload, length, seed)
                           : digest_of_samples(payload, length, seed);
}

/* A digest of the payload and its tag. A number needs no hash: two of them with the same tag never
 * have the same digest, and the core mixes it with those before. */
static inline uint64_t digest_of(const void *payload, uint64_t length, int64_t tag)
{
    uint64_t number;
    if (length != sizeof number) return digest_of_bytes(payload, length, (uint64_t)tag);
    memcpy(&number, payload, sizeof number);
    return number + (uint64_t)tag * UINT64_C(0x9e3779b97f4a7c15);
}

static int round_of_waiting(struct hark_driver *d)
{
    int said = d->hooks.waiting ? d->hooks.waiting(d->hooks.self) : 0;
    if (said < 0) return said;
    /* The queues come first: the answer to a frame that has left is better taken when this send has
     * returned and a receive waits. */
    uint64_t left = d->left;
    int status = hark_driver_flush(d);
    if (status < 0 || d->left != left) return status;
    int moved = hark_driver_poll(d);
    return moved != 0 || said > 0 ? moved : hark_driver_wait(d, -1);
}

/* One round of a send that waits. */
static int wait_a_round(struct hark_driver *d)
{
    int status = round_of_waiting(d);
    if (d->hooks.waited) d->hooks.waited(d->hooks.self);
    return status;
}

/* A SEND. Most have a TRANSMIT, and a RETAIN under protocols that log: their effects are performed
 * here. */
static inline int post(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject)
{
    if (__builtin_expect(d->shut || d->hooks.observe, 0))
        return hark_driver_step_seldom(d, event, subject);
    int status = d->protocol->step(d->core, event, &d->fx);
    const struct hark_effect *x = d->fx.at;
    uint32_t n = d->fx.count;
    if (status != HARK_OK || n == 0 || n > 2 || x->type != HARK_TRANSMIT ||
        (n == 2 && x[1].type != HARK_RETAIN))
        return hark_driver_effects(d, status, event, subject);
    subject->next = n == 2 ? x + 1 : NULL;
    status = hark_driver_transmit(d, &x->u.transmit, subject);
    return status < 0 || n == 1 || subject->retained
               ? status
               : hark_driver_retain(d, &x[1].u.retain.name, subject);
}

int hark_driver_sent(struct hark_driver *d, uint32_t *left)
{
    while (*left) { /* back-pressure: the transport has not taken all of it */
        int status = wait_a_round(d);
        if (status >= 0) continue;
        hark_driver_outgoing_abandon(d, left); /* the payload is the caller's again */
        return status;
    }
    return HARK_D_OK;
}

/* The message is on its way, whatever became of it so far. */
static inline int send_started(struct hark_driver *d, int status, uint64_t length, uint32_t *left)
{
    if (status < 0) {
        hark_driver_outgoing_abandon(d, left);
        return status;
    }
    driver_count(&d->figures->messages, 1);
    driver_count(&d->figures->bytes, length);
    if (d->self_head == NULL) return HARK_D_OK;
    status = hark_driver_self(d);
    if (status < 0) hark_driver_outgoing_abandon(d, left);
    return status;
}

/* Through the door of the core. Out of line: most sends need no more than send_usual(). */
HARK_COLD int send_to(struct hark_driver *d, uint8_t kind, uint32_t to, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length, uint32_t *left)
{
    *left = 0;
    struct subject subject = {.payload = payload, .length = length, .tag = tag, .left = left};
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.to = kind;
    e.u.send.ctx = ctx;
    e.u.send.length = length;
    e.u.send.digest = d->digest ? digest_of(payload, length, tag) : 0;
    int status = post(d, &e, &subject);
    while (status == 1) { /* recovery has not told the core yet who is who */
        status = wait_a_round(d);
        if (status >= 0) status = post(d, &e, &subject);
    }
    return send_started(d, status, length, left);
}

/* Beside a status. NOT_USUAL: nothing has happened. STARTED: see hark_driver_send_start(). */
enum { NOT_USUAL = 1, STARTED = 2 };

/* The core has posted a message, and the transport has taken `done` bytes of it, not all. */
HARK_COLD int post_later(struct hark_driver *d, const struct hark_posting *m,
    const struct hark_posted *posted, int64_t tag, const void *payload, uint64_t done,
    uint32_t *left)
{
    const struct hark_transmit x = {.peer = m->peer,
        .inc = posted->inc,
        .name = {m->peer, m->ctx, HARK_OUT, HARK_PROCESS, posted->ssn},
        .header = {d->fx.bytes, posted->header_length},
        .determinants = posted->determinants};
    *left = 0;
    struct subject subject = {
        .payload = payload, .length = m->length, .tag = tag, .left = left, .done = done};
    int status = hark_driver_transmit(d, &x, &subject);
    if (status >= 0 && posted->retain) status = hark_driver_retain(d, &x.name, &subject);
    status = send_started(d, status, m->length, left);
    return status < 0 ? status : STARTED; /* whatever else has moved */
}

/* A message that is as most are: no step, and no effects. HARK_D_OK or a failure; or one of the two
 * above. */
HARK_HOT int send_usual(struct hark_driver *d, uint32_t to, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length, uint32_t *left)
{
    if (d->waiting_count | d->polling || to == d->me || length >= LENT_PAYLOAD) return NOT_USUAL;
    struct hark_posted posted;
    const struct hark_posting m = {.peer = to,
        .ctx = ctx,
        .length = length,
        .digest = d->digest ? digest_of(payload, length, tag) : 0};
    uint8_t *header = d->fx.bytes;
    if (d->post(d->core, &m, header, &posted) != HARK_OK) return NOT_USUAL;
    hark_put64(header + posted.header_length, (uint64_t)tag);
    struct hark_outgoing f = {.to = to, .inc = posted.inc};
    f.header.at = header;
    f.header.length = posted.header_length + ENVELOPE;
    f.part[0].at = payload;
    f.part[0].length = length;
    if (d->transport->ops->send(d->transport, &f) != HARK_T_OK)
        return post_later(d, &m, &posted, tag, payload, f.done, left);
    HARK_POINT("sent", d->me);
    struct hark_driver_figures *figures = d->figures;
    driver_count(&figures->frames_out, 1);
    driver_count(&figures->messages, 1);
    driver_count(&figures->bytes, length);
    driver_count(&figures->piggyback_bytes, posted.header_length - HARK_WIRE_HEAD);
    if (posted.determinants) driver_count(&figures->determinants_piggybacked, posted.determinants);
    if (!posted.retain) return HARK_D_OK;
    int status =
        hark_log_add(d->log, to, ctx, posted.ssn, payload, length, HARK_LITTLE64((uint64_t)tag));
    if (status < 0) return hark_driver_log_failed(d, status);
    hark_driver_log_figures(d);
    return HARK_D_OK;
}

int hark_driver_send_start(struct hark_driver *d, uint32_t to, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length, uint32_t *left)
{
    *left = 0;
    if (to >= d->ranks) return hark_driver_refuse(d, "send", "no such rank");
    int status = send_usual(d, to, ctx, tag, payload, length, left);
    if (status == NOT_USUAL) status = send_to(d, HARK_PROCESS, to, ctx, tag, payload, length, left);
    return status < 0 ? status : HARK_D_OK;
}

int hark_driver_send(struct hark_driver *d, uint32_t to, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length)
{
    uint32_t left;
    if (to >= d->ranks) return hark_driver_refuse(d, "send", "no such rank");
    int status = send_usual(d, to, ctx, tag, payload, length, &left);
    if (__builtin_expect(status <= 0, 1)) return status;
    if (status == NOT_USUAL)
        status = send_to(d, HARK_PROCESS, to, ctx, tag, payload, length, &left);
    return status < 0 ? status : hark_driver_sent(d, &left);
}

int hark_driver_multicast(struct hark_driver *d, uint32_t group, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length)
{
    uint32_t left = 0;
    int status = send_to(d, HARK_GROUP, group, ctx, tag, payload, length, &left);
    return status < 0 || left == 0 ? status : hark_driver_sent(d, &left);
}
