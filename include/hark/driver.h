/* driver.h: the loop between a protocol core, a transport, a store and their owner.
 *
 * The driver gives events to the core and performs its effects: it transmits frames, keeps held
 * frames, logs and replays payloads, and writes images. It knows protocols and transports only
 * through their tables. Everything else it asks its owner, through hooks. Only one thread at a time
 * may call.
 *
 * On the wire, the header of an application frame is the core's header and an envelope of 8 bytes
 * (the tag, which is the owner's), so that a receiver can match a message before its payload has
 * come.
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
    HARK_D_EGONE = -61,   /* this process rolls back: the rollback hook was called; close this
                           * driver */
    HARK_D_ESYSTEM = -62, /* transport, store or memory failed: hark_driver_error has the reason */
    HARK_D_EINVAL = -63,  /* no such rank */
    HARK_D_ELOG = -64,    /* the payload log is over its limit, and no receiver can checkpoint */
    HARK_D_ECORE = -65,   /* the core refused a legal event: a bug, in the embedder or in hark */
    HARK_D_EBUSY = -66    /* a hook has called, while effects are performed: nothing has happened */
};

/* A message that was handed up. It is the owner's from the handup hook until hark_driver_deliver().
 * `payload` is memory of the driver, or what the place hook returned. */
struct hark_message {
    struct hark_message *next, *previous;       /* for the owner */
    void *owner;                                /* for the owner */
    struct hark_message *up_next, *up_previous; /* for the driver */
    uint32_t from;
    int64_t tag;
    uint16_t ctx;
    uint16_t borrowed; /* 1: payload and header are valid during the hook only; see
                        * hark_driver_keep() */
    uint32_t header_length;
    uint64_t ssn, length;
    const uint8_t *header;
    void *payload;
    bool placed; /* payload is memory of the owner, from the place hook */
};

/* Totals since the job began. The embedder owns the memory, which may be shared; it is written by
 * relaxed stores. */
struct hark_driver_figures {
    uint64_t messages, bytes;
    uint64_t deliveries;
    uint64_t log_bytes, log_bytes_peak;
    uint64_t determinants_created, determinants_piggybacked, piggyback_bytes;
    uint64_t checkpoints;
    uint64_t replayed, suppressed, discarded;
    uint64_t frames_out, frames_in;
    uint64_t refused;
    uint64_t image_ns; /* no total: the time of the last image, from CAPTURE until it was durable */
    uint64_t capture_ns; /* no total: for how long the program waited while it was copied, or with
                          * no `behind` written */
};

/* A receive of the owner's that waits. The first message that fits it and arrives whole is
 * delivered into `data` at once; handup is not called for that message. */
struct hark_awaited {
    /* A message fits if it comes from `from` (HARK_RECOVERY: from anybody) with this context, and
     * with a tag that is equal to `tag` in the bits of `mask`. */
    uint32_t from;
    uint16_t ctx;
    bool done; /* a message has been delivered into it; then: */
    uint32_t source;
    int64_t tag, mask; /* `tag` is now the message's */
    uint64_t length;   /* of the payload, at most `room`; a longer one is handed up */
    uint64_t ssn;
    void *data;
    uint64_t room;
};

/* One of the embedder's sections of an image. */
struct hark_region {
    uint64_t id;
    const void *at;
    uint64_t length;
};

/* Most of them are called while the driver performs the effects of a step, and then call none of
 * its functions that step, which return HARK_D_EBUSY: what a hook is to answer or to send
 * it notes, and the owner does that when the call that led here has returned. handup() is called
 * after the effects, and may deliver messages and drop them; waiting() has its own rule. */
struct hark_hooks {
    void *self;
    /* A payload of `length` bytes arrives. Returns where to put it, or NULL for memory of the
     * driver. The memory must stay valid until handup or unplace. This message need not be handed
     * up next: held messages of the same sender, which precede it, may be handed up while it is
     * written. `at_once`: it is written, and handed up or held, before anything else happens; with
     * NULL the sender sends it in another way. The hook may be NULL. */
    void *(*place)(
        void *self, uint32_t from, uint16_t ctx, int64_t tag, uint64_t length, bool at_once);
    void (*unplace)(void *self, void *payload); /* the payload will not come, or is not wanted
                                                 * now */
    void (*handup)(void *self, struct hark_message *m);
    void (*resume)(void *self); /* RESUME */
    int (*capture)(
        void *self, uint64_t id, const struct hark_region **region, uint32_t *count); /* < 0: fails
                                                                                       */
    void (*committed)(void *self, uint64_t id);
    void (*dropped)(void *self, uint64_t id); /* image `id` is not needed any more; may be NULL */
    /* The answer is hark_driver_stored(), later. */
    void (*persist)(void *self, const struct hark_fact *fact);
    /* ROLLBACK: this process must become a new incarnation from checkpoint `id`. From now on only
     * hark_driver_snapshot() works; all other calls that have a status return HARK_D_EGONE, but
     * hark_driver_peer(), hark_driver_ask_checkpoint() and hark_driver_sent(). */
    void (*rollback)(void *self, uint64_t id);
    /* COMBINE: combines `part` into `into`, of `length` bytes each; `tag` is that of the first
     * contribution in `into`. The protocol gives the order, which is the same again after a
     * failure. May be NULL for protocols without reductions. */
    void (*combine)(
        void *self, uint16_t ctx, int64_t tag, void *into, const void *part, uint64_t length);
    void (*diverged)(void *self, const struct hark_divergence *what);
    void (*recovered)(void *self);
    void (*trouble)(void *self, const char *line); /* a line about a problem; the run goes on */
    void (*wanted)(void *self);                    /* a peer asks for a checkpoint, since its log
                                                    * is full */
    /* A send waits: handle messages of the failure service (peers, failures), without sending or
     * delivering application messages. A negative result ends the send, which returns it; the
     * message may or may not be posted then, and the driver must be closed. May be NULL. An owner
     * that drives several processes by one thread must let the others run here. */
    int (*waiting)(void *self);
    void (*waited)(void *self); /* follows each `waiting`: it may have slept since. May be NULL */
    /* Gets every event and effect, for traces; one of the two pointers is NULL. May be NULL. */
    void (*observe)(void *self, const struct hark_event *event, const struct hark_effect *effect);
};

struct hark_driver_config {
    const struct hark_protocol *protocol;
    struct hark_config core;
    const struct hark_transport_ops *transport;
    struct hark_transport_config transport_config; /* the driver sets `sink` */
    struct hark_store *store;                      /* NULL: every CAPTURE fails */
    /* Another handle of that store, for a thread of the driver: images are copied in memory and
     * written while the program goes on, and the core has HARK_IMAGES_COPIED. All processes of a
     * job must do the same. NULL: the program waits until its image is durable. */
    struct hark_store *behind;
    struct hark_log_config log;
    struct hark_hooks hooks;
    struct hark_driver_figures *figures; /* NULL: the driver's own */
    bool digest;                         /* digest payloads; the core's flag is set to the same */
};

struct hark_driver;

/* Makes a driver. The config is copied; what it points to must outlive the driver. On failure *d is
 * NULL and error has the reason in one line. */
int hark_driver_open(
    struct hark_driver **d, const struct hark_driver_config *config, char error[256]);
void hark_driver_close(struct hark_driver *d);
const char *hark_driver_error(const struct hark_driver *d);
const char *hark_driver_address(const struct hark_driver *d);
struct hark_driver_figures *hark_driver_figures(struct hark_driver *d);
const struct hark *hark_driver_core(const struct hark_driver *d);

/* Restarts from image `id` of the store (0: the initial state), with `re` and `inc` from the
 * failure service. Before anything is sent, hark_driver_failed() with the same `re` must follow.
 * *region are the sections that the capture hook gave, valid until hark_driver_restarted().
 * HARK_D_ESYSTEM: the image cannot be read. */
int hark_driver_restart(struct hark_driver *d, uint64_t id, uint32_t re, uint32_t inc,
    const struct hark_region **region, uint32_t *count);
/* Gives the next hark_driver_restart what hark_driver_snapshot wrote for the earlier incarnation,
 * after a ROLLBACK. The bytes must stay valid until the restart returns. */
void hark_driver_kept(struct hark_driver *d, struct hark_bytes kept);
/* Gives the next hark_driver_restart the checkpoints beyond its `id` that are undone, ascending,
 * from the failure service (RESTARTED.undone). The array must stay valid until the restart
 * returns. */
void hark_driver_again(struct hark_driver *d, const uint64_t *id, uint32_t count);
/* Writes the packed state of the core if it fits into `room`; returns its length. */
uint64_t hark_driver_snapshot(const struct hark_driver *d, void *to, uint64_t room);
/* Releases the image, when the owner has read the regions. */
void hark_driver_restarted(struct hark_driver *d);

/* Sends a message; returns when the payload may be changed. Polls while it waits. */
int hark_driver_send(struct hark_driver *d, uint32_t to, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length);
/* As hark_driver_send, but does not wait for the transport: *left frames have not gone yet when it
 * returns. Until hark_driver_sent() has returned for `left`, that stays where it is, and the
 * payload as it is. */
int hark_driver_send_start(struct hark_driver *d, uint32_t to, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length, uint32_t *left);
/* Waits, and polls, until *left is 0: the payload may be changed. */
int hark_driver_sent(struct hark_driver *d, uint32_t *left);
/* As hark_driver_send, but to a group, for protocols that have groups: the payload is logged once
 * and sent along the group's tree. To a group that reduces it sends this process's contribution, of
 * equal length in all members; the root gets the result as a message from itself. */
int hark_driver_multicast(struct hark_driver *d, uint32_t group, uint16_t ctx, int64_t tag,
    const void *payload, uint64_t length);
/* Delivers m to the application (DELIVER). After HARK_D_OK m's payload is valid until
 * hark_driver_drop(m). Returns 1 if the protocol lets m wait (HARK_WAIT); another message that was
 * handed up may be received first. */
int hark_driver_deliver(struct hark_driver *d, struct hark_message *m);
/* The owner is through with a message that was delivered. hark_driver_close() frees those that were
 * handed up and not delivered. */
void hark_driver_drop(struct hark_driver *d, struct hark_message *m);
/* Copies a borrowed message, so that it stays valid: use the returned message instead of m. NULL
 * without memory. */
struct hark_message *hark_driver_keep(struct hark_driver *d, struct hark_message *m);
/* Tells the core that the application looked and found nothing (MISS). 0: the application may go
 * on; 1: it must look again later. */
int hark_driver_miss(struct hark_driver *d);
/* Tells the core that the application looked and sees m, without receiving it (LOOK). 0: report m
 * to the application; 1: do not report m now; try the other messages that were handed up before the
 * look counts as a miss. */
int hark_driver_look(struct hark_driver *d, const struct hark_message *m);
/* Tells the core that the application is at a checkpoint call, which it may leave when the resume
 * hook is called. Returns 1 if the protocol lets it wait (HARK_WAIT): then no call has begun,
 * resume will not be called, and the owner calls again after its next hark_driver_wait(). */
int hark_driver_checkpoint(struct hark_driver *d, bool due);
/* Gives QUIET to the core: nothing can happen any more in the job (HARK_QUIET). */
int hark_driver_quiet(struct hark_driver *d);
/* Asks the core to make stable what waiting output depends on, so that hark_unstable of the core
 * becomes 0. */
int hark_driver_stabilise(struct hark_driver *d);
/* These four pass on messages of the failure service. */
int hark_driver_failed(struct hark_driver *d, const struct hark_event *failed);
int hark_driver_recluster(
    struct hark_driver *d, const struct hark_range *cluster, uint32_t count); /* RECLUSTER */
int hark_driver_stored(struct hark_driver *d, uint32_t fact, uint64_t id, bool ok);
int hark_driver_peer(struct hark_driver *d, uint32_t rank, uint32_t inc, const char *address);

/* Sends and receives as much as it can. Returns how many frames arrived, or a negative status. */
int hark_driver_poll(struct hark_driver *d);
/* Lets the core send what it has postponed, then sleeps (milliseconds < 0: without limit); for an
 * owner that has nothing to do. */
int hark_driver_wait(struct hark_driver *d, int milliseconds);
/* Makes *awaited the receive that waits, until it is done or until the next call of this function;
 * NULL: no receive waits. No message that was handed up and not delivered may fit it, and no
 * earlier receive of the owner's may fit the same messages. It is used only where the protocol has
 * an entry for the usual message; else, or when a message is not as usual, handup is called. */
void hark_driver_await(struct hark_driver *d, struct hark_awaited *awaited);
/* As hark_driver_poll(), with *awaited as the receive that waits; none waits afterwards. */
int hark_driver_receive(struct hark_driver *d, struct hark_awaited *awaited);
/* Lets the present poll leave other frames in the transport. The owner calls it in the handup hook,
 * when it has what it waited for. */
void hark_driver_enough(struct hark_driver *d);
void hark_driver_wake(struct hark_driver *d); /* from any thread */
/* True while an image is being written behind the program. */
bool hark_driver_writes(const struct hark_driver *d);
/* Returns 1 if no frame waits to leave. */
int hark_driver_drained(struct hark_driver *d);
/* True if this message is in the log; *bytes is then the length of its payload. */
bool hark_driver_logged(struct hark_driver *d, const struct hark_name *name, uint64_t *bytes);
/* Returns how full the log would be after another payload of `more` bytes, overhead included, in
 * percent of its limit; 0 if the log has no limit, can spill, or is empty. The owner enforces the
 * limit: it asks for checkpoints at some share below 100, and lets sends wait above 100. */
unsigned hark_driver_log_share(const struct hark_driver *d, uint64_t more);
/* Asks the receiver of most of the log's bytes to take a checkpoint (its wanted hook is called).
 * *rank is that receiver, or HARK_RECOVERY if the log is empty. HARK_D_ESYSTEM. */
int hark_driver_ask_checkpoint(struct hark_driver *d, uint32_t *rank);

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
