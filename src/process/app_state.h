/* The parts of the application library, for its own files. */
#ifndef HARK_PROCESS_APP_STATE_H
#define HARK_PROCESS_APP_STATE_H

#include <limits.h>

#include "hark/app.h"
#include "process.h"
#include "prologue.h"

/* The last two are groups of all processes, where the protocol knows groups (process_open.c): a
 * multicast of rank 0, a reduction to it. */
enum {
    CTX_POINT = 0,
    CTX_COLLECTIVE = 1,
    CTX_MULTICAST = HARK_PROCESS_MULTICAST,
    CTX_REDUCTION = HARK_PROCESS_REDUCTION
};

/* Of a message that its sender wants to have acknowledged when a receive takes it: a bit of the
 * tag, in contexts from this one on. Below it all bits of a tag are the application's. */
enum { HARK_APP_MARK = 1 << 30, HARK_APP_CONTEXTS = 4 };
/* In the kind of a contribution to a reduction: the interface above combines it. */
enum { HARK_APP_COMBINES = 1 << 24 };
/* Of messages between the interfaces of two processes: the sign of the tag, in the same contexts.
 * They are never marked, so none looks like HARK_ANY_TAG. */
enum { HARK_APP_OWN = INT_MIN };

/* A protocol remembers each channel, a pair and a number of 16 bits, for ever. So contexts from
 * HARK_APP_CONTEXTS on, of which a program may make millions, share four channels, by what they
 * are of; the tag of a message says in its upper half for which communicator it is. */
static inline uint16_t hark_app_channel(uint32_t ctx)
{
    return (uint16_t)(ctx < HARK_APP_CONTEXTS ? ctx : HARK_APP_CONTEXTS + (ctx & 3));
}
static inline int64_t hark_app_wire_tag(uint32_t ctx, int tag)
{
    return ctx < HARK_APP_CONTEXTS ? tag : (int64_t)(ctx >> 2) << 32 | (uint32_t)tag;
}
/* The reverse. */
static inline uint32_t hark_app_context(uint16_t channel, int64_t wire_tag)
{
    if (channel < HARK_APP_CONTEXTS) return channel;
    return (uint32_t)(wire_tag >> 32) << 2 | (channel & 3);
}

struct hark_request {                     /* a posted receive, or a send */
    struct hark_request *next, *previous; /* while it is posted: queue.h */
    void *data;
    size_t room;
    int from, tag;
    int mask; /* of the tag, the bits that are compared: 0 for any */
    uint32_t ctx;
    bool done;
    bool reserved; /* the transport is writing a payload into data */
    /* While it is posted: an untaken message whose payload lies in data, for it came directly; or
     * NULL. If another message is taken first, that one's payload has to make room. */
    struct hark_message *early;
    uint32_t left;   /* of a send: frames that have not left its memory; see hark_app_sent() */
    bool only_finds; /* if it takes a marked message, who posted it acknowledges that later */
    uint64_t claims; /* while it is posted: in this count of look.c it has its message */
    /* Not NULL: takes the payload in place of a copy to `data`. It must not send or receive. */
    void (*land)(struct hark_request *r, const void *payload, size_t length);
    union {
        struct { /* while it is posted: queue.c */
            uint64_t number;
            struct hark_request *next, *previous;
        } alike;
        struct { /* when it is done */
            int status;
            struct hark_info info;
        };
    };
};

enum { APP_SEEN = 16, APP_HOST = 256 };
struct app {
    bool joined, left;
    bool ready;        /* joined, and has its protected memory back if it begins again */
    bool inside;       /* a checkpoint call */
    bool unable;       /* to have an image in that call */
    bool wanted;       /* a peer's log waits for our checkpoint */
    bool wanted_since; /* the same, since the last image was captured */
    uint64_t own[6];   /* in images: positions of stdout and stderr, number of the next collective,
                          deliveries, position in the journal, bits of the latest hark_wtime */
    uint64_t catch_up; /* deliveries that the last incarnation had made; 0: caught up */
    uint64_t own_saved[6]; /* of the image, until hark_restarted */
    uint8_t *own_captured; /* own[], and the output that was pending: a section of an image */
    struct hark_region *region, *captured;
    size_t region_count;
    const struct hark_region *saved; /* of the image, until hark_restarted */
    uint32_t saved_count;
    struct hark_request *posted, *posted_last; /* queue.h */
    struct hark_request *waiting;      /* the one that a blocking wait is about, NULL: none */
    const char *call;                  /* in which it waits now, NULL: it does not */
    const char *collective;            /* call that it is in, NULL: none */
    enum hark_waits_for what;          /* it waits for */
    const struct hark_request *sought; /* the message, or one of them */
    size_t sought_count;
    bool delivering;                    /* a DELIVER step is under way */
    const struct hark_awaited *awaited; /* what the driver delivers into by itself, NULL: nothing */
    bool unobserved; /* as of the last delivery: no trace, recording or the like wants to hear of
                      * one; once that is so it stays so */
    struct hark_message *first, *last; /* handed up and not matched, oldest first */
    unsigned posted_more;              /* receives posted, beyond the first; */
    unsigned untaken_more;             /* and messages not matched */
    bool many;                         /* one of the two is more than a few */
    uint64_t walked;                   /* over them since then */
    struct match_index *index;         /* of them, once that was far; else NULL */
    struct seen { /* what looks have seen since the last delivery or checkpoint call: see match.c */
        int from, tag;
        uint32_t ctx;
        const struct hark_message *message;
    } seen[APP_SEEN];
    unsigned looks; /* that saw something since then; the last APP_SEEN are kept */
    struct { /* of a look: all that fit, up to this message, have posted receives. NULL: nothing
                known */
        int from, tag;
        uint32_t ctx;
        uint64_t deliveries; /* when it was so */
        const struct hark_message *last;
    } claimed;
    unsigned marked; /* messages with HARK_APP_MARK among those not matched */
    struct taken {
        int from, tag;
        uint32_t ctx;
    } * taken; /* of marked messages: to be acknowledged */
    unsigned taken_count, taken_room;
    /* An interface above this one has a section of its own in images: it says whether it can have a
     * checkpoint now; gives bytes, which are valid until the next call (false: there is no memory);
     * and gets them back in hark_restarted. NULL: there is none, and no receive may be posted. */
    bool (*may_capture)(void);
    bool (*capture)(const void **bytes, size_t *length);
    void (*restore)(const void *bytes, size_t length);
    /* Combines contributions to a reduction whose kind has HARK_APP_COMBINES: into = part, which is
     * of other ranks, and into. NULL: there are none. */
    void (*combine)(int kind, void *into, const void *part, size_t length);
    /* Acknowledges those, and forgets them. NULL: nobody marks. */
    void (*acknowledge)(void);
    /* Where its first execution was to run, as an application may ask: what depends on it is the
     * same in every execution. In images too, for a job may be resumed on other hosts. */
    char host[APP_HOST];
};
extern struct app hark_app;

/* May it communicate? Out of line: it has not joined, or begins again and has not asked for its
 * memory. */
bool hark_app_unready(void);
static inline bool hark_app_ready(void)
{
    return __builtin_expect(hark_app.ready, 1) || hark_app_unready();
}

int hark_app_send(const void *data, size_t length, int to, uint32_t ctx, int tag);
/* As hark_app_send, but returns with *left not 0 if the message still needs its memory: until
 * hark_app_sent(left). */
int hark_app_start(const void *data, size_t length, int to, uint32_t ctx, int tag, uint32_t *left);
void hark_app_sent(uint32_t *left);
/* To the group of that context: what rank 0 multicasts, or what this process contributes to a
 * reduction. */
int hark_app_group(const void *data, size_t length, uint16_t ctx, int tag);
int hark_app_recv(void *data, size_t room, int from, uint32_t ctx, int tag, struct hark_info *info);

/* ---- receives and looks, for an interface that has requests of its own: match.c ---------------
 * Their arguments are valid. */

/* What a tag of the interface looks for. */
static inline int hark_app_mask(int tag, uint32_t ctx)
{
    if (tag == HARK_ANY_TAG) return 0;
    return ctx < HARK_APP_CONTEXTS ? ~0 : ~HARK_APP_MARK;
}
/* The arguments of a receive or a look: HARK_A_OK, HARK_A_EINIT, _EARGUMENT, _ERANK, _ETAG. */
int hark_app_valid(const void *data, size_t room, int from, int tag);
void hark_app_post(struct hark_request *r);
void hark_app_unpost(struct hark_request *r); /* one that is not done */
/* Takes what has arrived; no more than a look at the transport. */
void hark_app_try(struct hark_request *r);
void hark_app_complete(struct hark_request *r, const char *call); /* waits until it is done */
/* Takes marked messages that posted receives fit, and acknowledges them; no more than a look at
 * what has been handed up. False: there are none. For calls that wait for no request. */
bool hark_app_serve(void);
/* A test or a look has found nothing. False: the protocol wants it to look again, once something
 * has come. */
bool hark_app_missed(void);
/* The first message that such a receive would take. */
bool hark_app_look(int from, uint32_t ctx, int tag, struct hark_info *info);

/* hark_finalize(), which the application knows as `call`. */
int hark_app_end(const char *call);

/* hark_process_wait() inside the call `call`; meanwhile hark_app_waits() can tell where the
 * application waits, and for what. */
static inline void hark_app_wait(
    const char *call, enum hark_waits_for what, const struct hark_request *sought, size_t count)
{
    if (hark_prologue.replaying) hark_prologue_differs(); /* what was recorded waits for nothing */
    hark_app.what = what;
    hark_app.sought = sought;
    hark_app.sought_count = count;
    hark_app.call = call;
    hark_process_wait();
    hark_app.call = NULL;
}
void hark_app_waits(struct hark_waits *w); /* what hark_process.waits is */

void *hark_app_place(
    void *self, uint32_t from, uint16_t channel, int64_t tag, uint64_t length, bool at_once);
void hark_app_unplace(void *self, void *payload);
void hark_app_handup(void *self, struct hark_message *m);
void hark_app_combine(
    void *self, uint16_t ctx, int64_t tag, void *into, const void *part, uint64_t length);

#endif
