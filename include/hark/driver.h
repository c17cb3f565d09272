/* driver.h: the loop between a protocol core, a transport, a store and whoever embeds them.
 *
 * The driver gives events to the core and performs its effects: transmits, keeps what is held, retains and
 * replays payloads, writes images. It knows protocols and transports only through their tables. What
 * it can not decide is asked of its owner through hooks. One thread at a time.
 *
 * On the wire an application frame's header is the core's header and 8 bytes of envelope (tag), so that a
 * receiver can match a message before its payload has come.
 */
#ifndef HARK_DRIVER_H
#define HARK_DRIVER_H

#include "hark.h"
#include "store.h"
#include "transport.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

enum hark_driver_status {
    HARK_D_OK = 0,
    HARK_D_EGONE = -61,   /* this process is rolled back: the rollback hook was called; close this driver */
    HARK_D_ESYSTEM = -62, /* transport, store or memory failed: hark_driver_error says how */
    HARK_D_EINVAL = -63,  /* no such rank */
    HARK_D_ELOG = -64,    /* the payload log is over its limit and nobody can checkpoint */
    HARK_D_ECORE = -65    /* the core refused an event that it should not: a bug, in the embedder or here */
};

/* A message that was handed up. The owner has it from the hook on and gives it back with
 * hark_driver_deliver(). `payload` is the driver's memory, or what the place hook answered. */
struct hark_message {
    struct hark_message *next, *previous; /* the owner's */
    void *owner;                          /* the owner's */
    struct hark_message *up_next, *up_previous; /* the driver's */
    uint32_t from;
    int32_t tag;
    uint16_t ctx;
    uint16_t borrowed; /* 1: payload and header are valid during the hook only; hark_driver_keep() makes them last */
    uint32_t header_length;
    uint64_t ssn, length;
    const uint8_t *header;
    void *payload;
    bool placed; /* payload is the owner's memory (place hook) */
};

/* Totals since the job began; the embedder owns the memory, which may be shared: written by relaxed stores. */
struct hark_driver_figures {
    uint64_t messages, bytes;
    uint64_t deliveries;
    uint64_t log_bytes, log_bytes_peak;
    uint64_t determinants_created, determinants_piggybacked, piggyback_bytes;
    uint64_t checkpoints;
    uint64_t replayed, suppressed, discarded;
    uint64_t frames_out, frames_in;
    uint64_t refused;
    uint64_t image_ns; /* no total: the last image took so long, from CAPTURE until it was durable */
};

/* A section of the embedder's in an image. */
struct hark_region {
    uint64_t id;
    const void *at;
    uint64_t length;
};

struct hark_hooks {
    void *self;
    /* A payload of `length` bytes is coming; answer where to put it, or NULL for memory of the driver.
     * Whatever is answered stays valid until handup or unplace. It is no promise that this message is the next: others of the
     * same sender, held until now, may be handed up while this one is written, and are before it. May be NULL. */
    void *(*place)(void *self, uint32_t from, uint16_t ctx, int32_t tag, uint64_t length);
    void (*unplace)(void *self, void *payload); /* it will not come, or is not wanted now */
    void (*handup)(void *self, struct hark_message *m);
    void (*resume)(void *self);                      /* RESUME */
    int (*capture)(void *self, uint64_t id, const struct hark_region **region, uint32_t *count); /* < 0: fails */
    void (*committed)(void *self, uint64_t id);
    void (*persist)(void *self, const struct hark_fact *fact); /* answer with hark_driver_stored */
    /* ROLLBACK: this process is to become a new incarnation from checkpoint `id`. hark_driver_snapshot() still works, all
     * else answers HARK_D_EGONE. */
    void (*rollback)(void *self, uint64_t id);
    /* COMBINE: into = into and part, of `length` bytes each; `tag` is that of the contribution `into` began with. In the order
     * that the protocol says, which is the same again after a failure. May be NULL for protocols without reductions. */
    void (*combine)(void *self, uint16_t ctx, int32_t tag, void *into, const void *part, uint64_t length);
    void (*diverged)(void *self, const struct hark_divergence *what);
    void (*recovered)(void *self);
    void (*trouble)(void *self, const char *line);   /* reported, and the run goes on */
    void (*wanted)(void *self);                      /* a peer asks for a checkpoint (its log is full) */
    /* A send waits: take what the failure service has said meanwhile (peers, failures), without sending or
     * delivering anything of the application. A negative answer ends the send with it, and whether the message was posted is not
     * said: the driver is to be closed then. May be NULL; but who drives several processes by one thread lets the others go on here. */
    int (*waiting)(void *self);
    /* Every event and effect, for traces; may be NULL. Either pointer may be NULL. */
    void (*observe)(void *self, const struct hark_event *event, const struct hark_effect *effect);
};

struct hark_driver_config {
    const struct hark_protocol *protocol;
    struct hark_config core;
    const struct hark_transport_ops *transport;
    struct hark_transport_config transport_config; /* sink is filled in by the driver */
    struct hark_store *store;                      /* NULL: every CAPTURE fails */
    struct hark_log_config log;
    struct hark_hooks hooks;
    struct hark_driver_figures *figures; /* NULL: the driver's own */
    bool digest;                         /* digest payloads (the core's flag is set to the same) */
};

struct hark_driver;

/* On failure *d is NULL and error says why in one line. Config is copied, what it points to must last. */
int hark_driver_open(struct hark_driver **d, const struct hark_driver_config *config, char error[256]);
void hark_driver_close(struct hark_driver *d);
const char *hark_driver_error(const struct hark_driver *d);
const char *hark_driver_address(const struct hark_driver *d);
struct hark_driver_figures *hark_driver_figures(struct hark_driver *d);
const struct hark *hark_driver_core(const struct hark_driver *d);

/* Restarts from image `id` of the store (0: the initial state) as told by the failure service; FAILED
 * with the same re must follow before anything is sent. *region are the sections that the capture hook gave, valid
 * until hark_driver_restarted(). HARK_D_ESYSTEM: the image can not be read. */
int hark_driver_restart(struct hark_driver *d, uint64_t id, uint32_t re, uint32_t inc,
    const struct hark_region **region, uint32_t *count);
/* Before hark_driver_restart, after a ROLLBACK: what hark_driver_snapshot gave of the earlier incarnation. It must last until
 * the restart returns. */
void hark_driver_kept(struct hark_driver *d, struct hark_bytes kept);
/* Before hark_driver_restart: the checkpoints beyond `id` that are undone, ascending, as the failure service says
 * (RESTARTED.again). They must last until the restart returns. */
void hark_driver_again(struct hark_driver *d, const uint64_t *id, uint32_t count);
/* The core's state, packed. Returns its length; written only if that is at most `room`. */
uint64_t hark_driver_snapshot(const struct hark_driver *d, void *to, uint64_t room);
/* The regions have been read; the image is let go. */
void hark_driver_restarted(struct hark_driver *d);

/* Posts a message; returns when the payload may be changed. Polls while it waits. */
int hark_driver_send(struct hark_driver *d, uint32_t to, uint16_t ctx, int32_t tag, const void *payload,
    uint64_t length);
/* As hark_driver_send, to a group, for protocols that know groups: kept once, sent along the protocol's tree. To a group that
 * reduces: this process's contribution, of as many bytes as everybody's; the root gets the result as a message from itself. */
int hark_driver_multicast(struct hark_driver *d, uint32_t group, uint16_t ctx, int32_t tag, const void *payload,
    uint64_t length);
/* The application takes m: DELIVER. HARK_D_OK, and m's payload is valid until hark_driver_drop(m). Returns 1 if the
 * protocol says: not now; another one that was handed up may be taken before it. */
int hark_driver_deliver(struct hark_driver *d, struct hark_message *m);
void hark_driver_drop(struct hark_driver *d, struct hark_message *m);
/* Makes a borrowed message last: *m is replaced. NULL without memory. */
struct hark_message *hark_driver_keep(struct hark_driver *d, struct hark_message *m);
/* The application looked and found nothing: 0 it may go on, 1 it must look again later. */
int hark_driver_miss(struct hark_driver *d);
/* The application looked and sees m, which it does not take: 0 it may be told of it. 1: not of this one now; the others that were
 * handed up are tried before it is a miss. */
int hark_driver_look(struct hark_driver *d, const struct hark_message *m);
/* At a checkpoint call; the resume hook says when to leave it. Returns 1 if the protocol says: not now. Then no call has begun, no
 * resume will come of it, and it is made again after the next hark_driver_wait(). */
int hark_driver_checkpoint(struct hark_driver *d, bool due);
/* The application can make no step: see HARK_QUIET. */
int hark_driver_quiet(struct hark_driver *d);
/* Output waits for what it depends on (hark_unstable of the core) to be stable: sees to that. */
int hark_driver_stabilise(struct hark_driver *d);
/* From the failure service. */
int hark_driver_failed(struct hark_driver *d, const struct hark_event *failed);
int hark_driver_regroup(struct hark_driver *d, const struct hark_range *group, uint32_t count); /* REGROUP */
int hark_driver_stored(struct hark_driver *d, uint32_t fact, uint64_t id, bool ok);
int hark_driver_peer(struct hark_driver *d, uint32_t rank, uint32_t inc, const char *address);

/* Moves what can move. Returns frames that arrived, or a negative status. */
int hark_driver_poll(struct hark_driver *d);
/* Nothing to do: lets the core send what it put off, then sleeps (milliseconds < 0: no limit). */
int hark_driver_wait(struct hark_driver *d, int milliseconds);
/* In the handup hook: the owner has what it waited for; the present poll may leave the rest with the transport. */
void hark_driver_enough(struct hark_driver *d);
void hark_driver_wake(struct hark_driver *d); /* from any thread */
/* 1: nothing is waiting to leave. */
int hark_driver_drained(struct hark_driver *d);
/* Does the log hold this message? Then *bytes is the length of its payload. */
bool hark_driver_logged(struct hark_driver *d, const struct hark_name *name, uint64_t *bytes);
/* How full the log would be with a payload of `more` bytes more, all that it takes counted, in percent of its limit; 0
 * if it has none, can spill, or is empty. The owner keeps the limit: from somewhere below 100 on it asks for checkpoints,
 * above it lets sends wait. */
unsigned hark_driver_log_share(const struct hark_driver *d, uint64_t more);
/* Asks the receiver that pins most of the log to checkpoint (its wanted hook): its rank, or HARK_RECOVERY if the log
 * is empty. HARK_D_ESYSTEM. */
int hark_driver_ask_checkpoint(struct hark_driver *d, uint32_t *rank);

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
