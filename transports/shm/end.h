/* end.h: what one end of the transport keeps in its own memory. */
#ifndef HARK_SHM_END_H
#define HARK_SHM_END_H

#include "bell.h"
#include "direct.h"
#include "lent.h"
#include "ring.h"

struct out { /* to one receiver; made with the first frame */
    struct ring_writer writer;
    struct bell *bell; /* the receiver's */
    struct process to;
    uint64_t length, done; /* of a half-sent frame: payload, and how much of it is in the ring; else
                              0 */
    uint64_t need;         /* bytes of room that the last send() missed; 0: it was not in want */
    uint32_t turn, streak; /* frames sent since e->turn became `turn` */
    struct direct_offer *offer; /* what the receiver may take, see direct.h; NULL: nothing */
    uint32_t longs;             /* frames that could have been offered */
    uint32_t asked;             /* how often send() has found it open */
    uint32_t shy, left_out;     /* offers to leave out after the last one was not taken; left out */
    bool ring_only;             /* an offer was refused */
    union {
        struct {
            bool half;
            bool small;  /* the frame goes in small records: memory is short */
            bool gone;   /* the receiver has closed */
            bool fence;  /* see bell_ring() */
            bool beside; /* frames to it go to e->beside first */
        };
        uint64_t seldom; /* any of these */
    };
    bool wants; /* it was told so: out_want() */
};

struct in { /* from one sender; made when its ring is found */
    struct ring_reader reader;
    struct bell *bell; /* the sender's, to wake it when there is room; NULL: it has closed */
    struct process from;
    uint32_t number;
    bool fence; /* see bell_ring() */
    bool dead;  /* peer() has told of a newer incarnation: to be buried by the next poll() */
    bool idle;  /* it was empty when last looked at */
    bool half;  /* a frame longer than a record is arriving */
    struct hark_frame frame;
    void *place;
    const uint8_t *source;              /* where its payload is, if not in the ring */
    uint64_t got;                       /* bytes of its payload */
    struct lent_list lent;              /* pieces of the sender that were met */
    uint32_t put_off_count;             /* looks at it */
    bool insist;                        /* it is taken although nobody wants it yet */
    const struct direct_offer *put_off; /* the first record is this offer, which nobody wants yet */
    bool waited;           /* it was empty when looked at, and the next look found this frame */
    uint64_t began, first; /* nanoseconds, and bytes of its payload that came first */
    struct direct_times times;
    uint8_t *header; /* a copy: its record is long overwritten when the frame is whole */
    uint32_t header_room;
};

/* For a transport of which this one is a part, and the end of which is this one's, with other
 * functions in its head. */
struct beside {
    /* Asked before the first frame to an incarnation, as long as none has gone through shared
     * memory, and while out.beside is set. Returns SEND_NEAR: the frame is to go through shared
     * memory; or what send() is to return, and then has seen to the frame itself. */
    int (*send)(struct hark_transport *t, struct hark_outgoing *frame);
};
enum { SEND_NEAR = 100 };

struct end {
    struct hark_transport head;
    struct hark_sink sink;
    struct beside *beside; /* NULL: there is nothing beside shared memory */
    struct bell *bell;
    uint32_t seen; /* of bell->announced */
    uint32_t in_count;
    uint32_t first;   /* of the rings, the one to look at first */
    struct in **in;   /* the rings to look at */
    struct out **out; /* by number of the receiver; NULL: never sent */
    uint32_t *known;  /* by number: the incarnation that peer() or a frame told, all older ones are
                         dead */
    uint32_t *met;    /* by number: the announcement that was last looked at */
    struct process me;
    uint32_t number, ranks;
    uint64_t limit, ring_size;
    uint64_t leave;   /* bytes of shared memory that no ring takes while it can do without, see
                         new_end() */
    uint32_t stalled; /* how many outs are in want of room */
    uint32_t dead;    /* how many ins are to be buried */
    uint32_t offers;  /* how many outs have one */
    bool late;        /* nobody took the newest offer while we looked: it had better not wait */
    bool direct;      /* `proof` is made */
    struct direct_proof proof;
    uint32_t sleeps;        /* numbers of our sleeps */
    uint32_t spins, yields; /* how often wait() looks before it sleeps */
    uint32_t spins_fixed;
    uint32_t opened;       /* BELL_BARRIER or BELL_FENCE: what this process can do */
    uint32_t turn;         /* counts up when we have waited or heard something */
    struct lent_list lent; /* ours */
    _Atomic uint32_t woken;
    char job[41];
    char address[32];
};

/* Is there anything for poll() to do? */
static inline bool in_ready(const struct in *in)
{
    return ring_ready(&in->reader) &&
           (__builtin_expect(in->put_off == NULL, 1) ||
               atomic_load_explicit(&in->put_off->state, memory_order_relaxed) != DIRECT_OFFERED);
}

static inline uint32_t end_number(const struct end *e, uint32_t rank) /* above ranks: no such one */
{
    if (rank < e->ranks) return rank;
    return rank == HARK_RECOVERY ? e->ranks : UINT32_MAX;
}

static inline uint32_t end_rank(const struct end *e, uint32_t number)
{
    return number == e->ranks ? HARK_RECOVERY : number;
}

int end_failed(struct end *e, const char *what, const char *which, int why);
/* The same for a segment that could not be made, or have memory: `bytes` of it are needed. For
 * ENOSPC and EFBIG it is said what helps. */
int end_no_memory(struct end *e, const char *what, const char *which, uint64_t bytes, int why);

/* shm.c */
/* wait() would not sleep now. */
bool shm_has_work(struct end *e);

/* send.c */
int shm_send(struct hark_transport *t, struct hark_outgoing *frame);
int shm_behind(const struct hark_transport *t, uint32_t rank);
void out_free(struct end *e, uint32_t number);
void shm_withdraw(struct hark_transport *t, struct hark_outgoing *frame);
/* The reader is asked to wake us when it has made room; a bell_barrier() must follow. */
void out_want(struct out *out);
bool out_has_room(struct out *out);

/* receive.c */
int shm_poll(struct hark_transport *t);
int meet_announced(struct end *e);
void in_free(struct end *e, struct in *in);

#endif
