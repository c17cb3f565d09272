/* The parts of the driver, for its own files. */
#ifndef HARK_DRIVER_INTERNAL_H
#define HARK_DRIVER_INTERNAL_H

#include "hark/driver.h"
#include "hark/parts/wire.h"
#include "point.h"

#define ENVELOPE 8u /* tag i64 */

/* A frame of the driver's own, outside any protocol: the first byte of the header is no protocol's
 * kind. */
#define DRIVER_KIND 0xff
enum { DRIVER_WANTED = 1 };

enum payload_from {
    FROM_NOTHING,
    FROM_CALLER,
    FROM_LOG,
    FROM_COPY,
    FROM_LENT,
    FROM_ARRIVED,
    FROM_MADE
};

/* Of frames longer than this a transport may keep what it was pointed to between two calls of
 * send(): they are never given from memory that could move, as the stack and the log do. */
#define LONG_PAYLOAD 16384u

/* From here on it can be worth while to let a receiver read the log's copy. */
#define LENT_PAYLOAD   4096u
#define PIECES_PAYLOAD (128u * 1024)

struct outgoing { /* a frame that the transport has not taken yet */
    struct outgoing *next;
    struct hark_outgoing frame;
    enum payload_from from;
    struct hark_name name;
    uint32_t *left; /* of the caller that waits until it has left: how many still have not */
    uint8_t *copy;  /* FROM_COPY: the payload */
    uint8_t header[];
};
struct outqueue {
    struct outgoing *head, *tail;
};

struct held { /* an arrived frame that the core wants to see again, or a self-sent one */
    struct held *next, *previous; /* by age; of those to myself `next` only */
    struct held *alike;           /* in the same slot */
    uint64_t number;              /* in the order of being held; 0: is in no list of held frames */
    uint32_t header_length;       /* of the core's part */
    int64_t tag;
    bool placed;
    uint64_t length;
    void *payload;
    uint8_t header[];
};

struct held_list {
    struct held *oldest, *newest;
    struct held **slot; /* messages, by name; made when the first is held */
    uint32_t slots, messages;
    uint64_t numbers;
};

struct offer { /* held frames are to be given again: of a peer, of all (HARK_RECOVERY), or one
                  message (ssn not 0) */
    bool due;
    uint32_t peer;
    struct hark_name message;
};

struct placing { /* a payload that the transport is writing */
    struct placing *next;
    void *payload;
    bool owners; /* answered by the place hook */
};

struct sum { /* what is being combined, with the envelope of its first part */
    uint8_t *at;
    uint64_t length, room;
    uint32_t parts;
    struct hark_name answer; /* COMBINED is due */
};

/* Why a driver takes no calls: it performs the effects of a step, and this is a hook; or its
 * process rolls back. */
enum { SHUT_BUSY = 1, SHUT_GONE = 2 };

struct hark_driver {
    const struct hark_protocol *protocol;
    struct hark *core;
    struct hark_effects fx;
    struct hark_transport *transport;
    struct hark_driver_figures *figures;
    struct placing *placings;
    uint8_t shut; /* to calls: SHUT_*; 0: it is not */
    bool lends, digest, polling;
    bool causal; /* deliveries have determinants */
    /* The protocol's entries for the usual message, or what refuses them all; and the receive that
     * waits for one; NULL: none. */
    int (*post)(struct hark *p, const struct hark_posting *message, uint8_t *header,
        struct hark_posted *posted);
    int (*receive)(struct hark *p, struct hark_bytes header, struct hark_received *received);
    struct hark_awaited *awaited;
    bool groups;   /* messages are passed on */
    bool offering; /* held frames are being given again */
    bool later;    /* a STORED that the effects of the present step brought about */
    bool combined; /* a reduction has been combined, and the core is to hear of it */
    bool log_spills;
    struct offer offer; /* OFFER was among the effects of the present step */
    uint32_t me, ranks;
    struct hark_hooks hooks;
    struct hark_driver_figures own;
    struct hark_store *store;
    struct hark_behind *behind; /* writes images; NULL: they are written at once */
    bool writes;                /* image `writes_id` is being written, captured at `writes_since` */
    bool writes_dropped;        /* it is not wanted any more */
    uint64_t writes_id, writes_since;
    struct hark_log *log;
    uint64_t log_limit;
    struct outqueue **out; /* per rank, and the recovery process last; made when first needed */
    uint32_t *waiting;     /* ranks with a queue that is not empty */
    uint32_t waiting_count;
    uint64_t left;                /* frames that have left a queue so far */
    uint64_t queued, queued_most; /* bytes of what waits in queues, payloads aside; from there on
                                     sends wait too */
    struct held_list held;
    struct held *self_head, *self_tail;
    struct hark_message *up;    /* handed up, not delivered */
    uint32_t *inc;              /* of each rank, the recovery process last */
    struct hark_message *spare; /* small messages to use again */
    uint32_t spares;
    struct hark_bytes kept; /* for RESTARTED; the owner's */
    const uint64_t *again;  /* the same */
    uint32_t again_count;
    void *image; /* handle of the store while a restart reads it */
    struct hark_region *image_region;
    struct hark_event stored; /* `later` */
    struct sum sum;
    char error[256]; /* of the last that failed, or was refused */
    int failed;      /* HARK_D_*: the driver goes on no more; 0: it does */
};

/* What the effects of a step are about: the payload of a SEND, or an arrived frame. */
struct subject {
    const void *payload; /* SEND */
    uint64_t length;
    int64_t tag;
    uint64_t done;                  /* SEND: what the transport has taken already */
    uint32_t *left;                 /* frames of this SEND that the transport has not taken yet */
    const struct hark_frame *frame; /* ARRIVE: from the transport (header without envelope) */
    void *arrived;                  /* its payload */
    bool placed;
    struct held *held;              /* ARRIVE: offered again, or sent to myself */
    bool kept;                      /* held and its payload have found a new owner */
    const struct hark_effect *next; /* the effect after the present one, or NULL */
    bool retained;                  /* its RETAIN has been performed already */
    bool handup;                    /* to be handed up when all effects are performed */
    struct hark_message *up;        /* it, if it is in an image of this step; not borrowed */
};

/* The status of a call that comes while the driver is shut. */
int hark_driver_shut(struct hark_driver *d);

/* Others may look at it any time; nobody else writes it. */
static inline void driver_count(uint64_t *figure, uint64_t more)
{
    __atomic_store_n(figure, __atomic_load_n(figure, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

static inline void driver_set(uint64_t *figure, uint64_t value)
{
    __atomic_store_n(figure, value, __ATOMIC_RELAXED);
}

static inline void hark_driver_log_figures(struct hark_driver *d)
{
    uint64_t bytes = hark_log_bytes(d->log);
    driver_set(&d->figures->log_bytes, bytes);
    if (bytes > d->figures->log_bytes_peak) driver_set(&d->figures->log_bytes_peak, bytes);
}

/* In the log a group is no rank; nor is a child whose contribution has come, or what all children
 * of the root contributed. Of a group, what is combined is beside what this process contributed. */
#define LOG_GROUP 0x80000000u
#define LOG_MADE  0xc0000000u
#define LOG_ALL   0xa0000000u
#define LOG_CHILD 0x90000000u
/* payload_log.c */
uint32_t hark_driver_log_peer(const struct hark_name *name, bool made);
int hark_driver_log_entry(struct hark_driver *d, const struct hark_name *name, uint32_t *peer,
    const void **at, uint64_t *length);
void hark_driver_log_trim(struct hark_driver *d, const struct hark_name *name);
int hark_driver_combine(struct hark_driver *d, const struct hark_name *name, uint32_t part);
int hark_driver_combined(struct hark_driver *d);

/* The rest of a step whose core answered `status`: performs its effects, gives CONTINUE, the event
 * again in a larger block, and what may only be done behind all effects. */
int hark_driver_effects(
    struct hark_driver *d, int status, const struct hark_event *event, struct subject *subject);
int hark_driver_aftermath(struct hark_driver *d);
/* No message is taken for a usual one: each takes a step. */
void hark_driver_unusual(struct hark_driver *d);
int hark_driver_step_seldom(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject);
/* The arguments of a call are wrong: it changes nothing. HARK_D_EINVAL. */
int hark_driver_refuse(struct hark_driver *d, const char *what, const char *why);
int hark_driver_fail(struct hark_driver *d, int status, const char *what, const char *why);

int hark_driver_transmit(
    struct hark_driver *d, const struct hark_transmit *x, struct subject *subject);
int hark_driver_flush(struct hark_driver *d);
void hark_driver_outgoing_forget(struct hark_driver *d, uint32_t rank, uint32_t inc);
/* The SEND whose frames count down `left` has failed: they are for nobody. */
void hark_driver_outgoing_abandon(struct hark_driver *d, const uint32_t *left);
void hark_driver_outgoing_free(struct hark_driver *d);

int hark_driver_retain(
    struct hark_driver *d, const struct hark_name *name, const struct subject *subject);
int hark_driver_log_failed(struct hark_driver *d, int status); /* in words of the driver */
/* Where the log has it, without the envelope. */
int hark_driver_in_log(struct hark_driver *d, const struct hark_name *name, struct hark_part *part);
/* As hark_driver_retain, but the payload itself is still to be copied to *at. */
int hark_driver_reserve(
    struct hark_driver *d, const struct hark_name *name, struct subject *subject, void **at);
void hark_driver_from_log(struct hark_driver *d, const struct hark_name *name);
int hark_driver_trimmed(struct hark_driver *d, const struct hark_name *name);
/* effects.c: TRIM: of what waits to be sent, and of the log. */
int hark_driver_trim(struct hark_driver *d, const struct hark_name *name);
int hark_driver_later(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject);
/* image.c */
int hark_driver_capture(struct hark_driver *d, uint64_t id);
void hark_driver_image_done(void *driver);
int hark_driver_image_written(struct hark_driver *d);
void hark_driver_drop_image(struct hark_driver *d, uint64_t id);
/* Image `id`: its log and its arrived messages are taken; the core's part, which RESTARTED tells,
 * and d->image_region are in it until it is closed. */
int hark_driver_image_read(
    struct hark_driver *d, uint64_t id, struct hark_event *restarted, uint32_t *regions);
void hark_driver_image_close(struct hark_driver *d);

struct hark_sink hark_driver_sink(struct hark_driver *d);
void hark_driver_handup(struct hark_driver *d, struct subject *subject);
int hark_driver_handup_later(struct hark_driver *d, struct subject *subject);

/* Gives one event and performs what comes of it. 1: the core says WAIT. Most deliveries have no
 * effect and most arrivals one, so those two are here. */
static inline int driver_step(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject)
{
    if (__builtin_expect(d->shut || d->hooks.observe, 0))
        return hark_driver_step_seldom(d, event, subject);
    int status = d->protocol->step(d->core, event, &d->fx);
    if (status != HARK_OK || d->fx.count > 1) return hark_driver_effects(d, status, event, subject);
    if (d->fx.count == 0) return HARK_D_OK;
    if (d->fx.at->type != HARK_HANDUP) return hark_driver_effects(d, status, event, subject);
    hark_driver_handup(d, subject);
    return d->offer.due || d->later ? hark_driver_aftermath(d) : HARK_D_OK;
}
/* The same of an event whose effects are about no message. */
static inline int driver_step_bare(struct hark_driver *d, const struct hark_event *event)
{
    bool seldom = d->shut || d->hooks.observe;
    int status = __builtin_expect(seldom, 0) ? HARK_OK : d->protocol->step(d->core, event, &d->fx);
    if (!seldom && status == HARK_OK && d->fx.count == 0) return HARK_D_OK;
    struct subject none = {0};
    return seldom ? hark_driver_step_seldom(d, event, &none)
                  : hark_driver_effects(d, status, event, &none);
}
void hark_driver_hold(struct hark_driver *d, struct subject *subject);
void hark_driver_discard(struct hark_driver *d, struct subject *subject);
void hark_driver_up_remove(struct hark_driver *d, struct hark_message *m);
void hark_driver_held_free(struct hark_driver *d, struct held *h);
void hark_driver_held_pass(struct hark_driver *d, struct held *h);
void hark_driver_held_close(struct hark_driver *d);
void hark_driver_ask(struct hark_driver *d, uint32_t peer, const struct hark_name *name);
int hark_driver_offer(struct hark_driver *d);
int hark_driver_self(struct hark_driver *d);
int hark_driver_hold_restored(struct hark_driver *d, const uint8_t *header, uint32_t header_length,
    int64_t tag, const void *payload, uint64_t length);

#endif
