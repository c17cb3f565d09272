/* parts.h: what the files of the simulator share. */
#ifndef HARK_SIM_PARTS_H
#define HARK_SIM_PARTS_H

#include "arena.h"
#include "hark/service.h"
#include "queue.h"
#include "sim.h"

#define SIM_NONE UINT32_MAX

enum { SIM_HEADER = 48, SIM_SLOTS = 1 << 13 /* frames in a piece */ };

struct sim_frame {   /* on its way, held, or handed up: a line of the cache */
    uint64_t length; /* of the payload */
    uint32_t next;   /* in a list; SIM_NONE: the last */
    uint32_t header_length : 31, logged : 1; /* logged: its receiver says that its sender keeps it
                                              */
    union {
        uint8_t bytes[SIM_HEADER];
        uint8_t *far; /* of headers that are longer */
    } header;
};
HARK_STATIC_ASSERT(sizeof(struct sim_frame) == 64, "frames lie on the lines of the cache");

struct sim_list {
    uint32_t head, tail; /* frames; SIM_NONE */
};

struct sim_run_of { /* of messages of one length, up to ssn `last` */
    uint64_t last, length;
};

struct sim_log_row { /* a channel of the payload log: lengths, no bytes */
    uint32_t peer;
    uint16_t ctx, pad;
    uint32_t runs, room;  /* older runs; behind them all up to `last` have `length` */
    uint64_t first, last; /* ssn; first > last: empty */
    uint64_t length;
    struct sim_run_of *run;
};

struct sim_log {
    struct sim_log_row *row; /* by peer and ctx */
    uint32_t rows, room, hint;
    uint64_t bytes;
};

struct sim_place { /* where a program is */
    uint64_t place;
    uint32_t iteration;
    uint32_t stage; /* STAGE_* */
};

struct sim_image {
    struct sim_image *next; /* the one before */
    uint64_t id, time, digest;
    struct sim_place at;
    uint32_t core_length, frames; /* frames: a list of copies */
    uint8_t *core;
    struct sim_log log;
};

enum { STAGE_COMPUTE = 0, STAGE_OPS, STAGE_CALL };
enum {
    STATE_DOWN = 0, /* dead, or between ROLLBACK and its restart */
    STATE_READY,    /* goes on as soon as it is looked at */
    STATE_COMPUTES, /* until its WAKE */
    STATE_WAITS,    /* for a message from `want`, of `want_ctx` */
    STATE_CALL,     /* in a checkpoint call, until RESUME */
    STATE_ENDED,
    STATE_SERVES /* the recovery process: it has no program */
};

struct sim_process { /* what every message passes is in the first two lines of the cache */
    struct hark *core;
    uint64_t busy; /* its own time: an operation begins no earlier */
    uint64_t nic;  /* the network takes nothing from it before */
    struct sim_place at;
    struct sim_list inbox, late; /* late: application messages that its core has not seen yet */
    uint8_t state;
    uint8_t behind : 1, doomed : 1, due : 1, indexed : 1; /* behind: its goal; doomed: `fail` names
                                                it; due: it leads a group; indexed: a list is */
    uint16_t want_ctx;
    uint32_t want;

    uint64_t digest; /* of what it delivered, in order */
    uint64_t intake; /* the network brings it nothing before */
    struct sim_log log;
    uint32_t inc;
    uint32_t offer; /* 1 + whose held frames are to be given again; SIM_NONE: of all; 0: nobody's */
    struct hark_name offered; /* ssn not 0: of those this message alone */
    struct sim_list held;

    uint32_t control;         /* frames that it got */
    struct sim_image *images; /* newest first */
    uint8_t *kept; /* the packed core that was told to go back, until its successor is told */
    uint64_t store_id, durable_at; /* of the image that is being written */
    uint64_t lost_at;              /* when it went down */
    uint32_t kept_length;
    uint32_t control_out; /* frames that it sent */
    uint64_t goal_place;  /* where it had been before it went back */
    uint32_t goal_iteration;
    uint8_t goal_stage, offering, storing, restarting; /* restarting: its RESTART is on the way */
    struct sim_index *inbox_index, *late_index;        /* NULL: the list is short */
};

/* FRAME: its first byte is at the receiver; WHOLE: its last byte has been taken in. */
enum sim_what {
    EVENT_FRAME = 0,
    EVENT_WHOLE,
    EVENT_WAKE,
    EVENT_STORED,
    EVENT_ANSWER,
    EVENT_DETECT,
    EVENT_RESTART,
    EVENT_CHANCE
};
/* what = kind << 60 | number (28 bits) << 32 | process. The number is a frame, or the lower bits of
 * an incarnation.
 */
#define SIM_WHAT(kind, number, who)                                                                \
    ((uint64_t)(kind) << 60 | ((uint64_t)(number)&0xfffffff) << 32 | (who))

struct sim_fact {
    struct hark_fact fact;
    uint32_t who, inc, next; /* inc: of who asked */
};

struct sim {
    const struct sim_options *o;
    const struct hark_protocol *protocol, *recovery;
    const struct sim_pattern *pattern;
    struct sim_pattern program; /* the pattern, with groups if the protocol has them */
    struct sim_result *r;
    char *error;
    uint32_t ranks, who; /* who: ranks, and one more with a recovery process */
    uint64_t now, clock; /* clock: of the step being made */
    struct sim_process *p;
    struct sim_queue queue;
    uint64_t block_bytes, block_most; /* of all cores; of the largest */
    uintptr_t heap_end;               /* as it was seen last */
    struct sim_arena arena;
    struct sim_frame **piece; /* of frames */
    uint32_t pieces, free_frame, frames;
    struct hark_effects fx;
    struct hark_effect effects[64];
    uint8_t bytes[1 << 14];
    bool failed;  /* error says why */
    bool traffic; /* recovery is on: control frames count */
    bool defers;  /* messages may wait until their receiver does something */
    bool usual;   /* ... until they are received, and its protocol has entries for the usual one */
    bool idles;   /* its protocol sends acknowledgements when it is told that nothing happens */
    uint64_t chances;       /* CHANCE events in the queue */
    uint64_t farthest;      /* iterations, the most that were done when one of them came */
    uint32_t in_vain, idle; /* since it was less: failures that they made; all of them */
    uint32_t ended;         /* processes that are at their end */
    uint32_t behind;        /* processes that are not yet where they had been */
    uint64_t ask_in, log_bytes, iterations, sampled, sample_step;
    /* What is being posted, for TRANSMIT and RETAIN. */
    bool posting;
    struct hark_name posted; /* but for the number */
    uint8_t posted_part;
    uint64_t posted_length;
    uint64_t sum;            /* length of what is being combined */
    struct hark_name answer; /* and what COMBINED is due for */
    /* Who goes back together, as ranges; the groups that checkpoint together. */
    struct hark_range *range;
    uint32_t *cluster_range; /* first range of each cluster, and one more */
    bool waves_all;          /* checkpoints are of all processes though clusters go back */
    /* Scratch: the trees of a core that is made; members, then parents, of each. */
    struct hark_group *tree;
    uint32_t *tree_rank;
    struct hark *service; /* the failure service's core; and what it has announced */
    struct hark_event announcement;
    uint32_t *down;
    struct hark_incarnation *inc;
    struct hark_decision *wave;
    uint64_t *undone; /* for RESTARTED */
    uint32_t undone_room;
    uint8_t *dead; /* and not announced yet */
    uint32_t detecting;
    uint64_t died;     /* the first death that is not announced */
    uint32_t restarts; /* under way */
    uint32_t back;     /* that the recovery line names, so far */
    struct sim_fact *fact;
    uint32_t facts, free_fact;
    uint64_t chance; /* state of the generator of failures */
};

static inline struct sim_frame *sim_frame(const struct sim *s, uint32_t f)
{
    return &s->piece[f / SIM_SLOTS][f % SIM_SLOTS];
}

static inline const uint8_t *sim_header(const struct sim_frame *f)
{
    return f->header_length > SIM_HEADER ? f->header.far : f->header.bytes;
}

/* What every header begins with says this (hark/parts/wire.h). */
static inline uint32_t sim_from(const struct sim *s, const struct sim_frame *f)
{
    uint32_t src = hark_get32(sim_header(f) + 4);
    return src == HARK_RECOVERY ? s->ranks : src;
}

static inline uint32_t sim_to_inc(const struct sim_frame *f)
{
    return hark_get32(sim_header(f) + 16);
}

static inline uint64_t sim_ssn(const struct sim_frame *f) /* 0: control */
{
    return hark_get64(sim_header(f) + 24);
}

/* LogGP's (k - 1)G, ns: from the first byte of a frame to its last. False: more than can be
 * counted. */
static inline bool sim_span(const struct sim *s, const struct sim_frame *f, uint64_t *span)
{
    bool fits = !__builtin_mul_overflow(f->length + f->header_length - 1, s->o->gap_per_byte, span);
    *span /= 1000;
    return fits;
}

static inline bool sim_is_of(
    const struct sim *s, const struct sim_frame *f, uint32_t peer, uint16_t ctx)
{
    const uint8_t *h = sim_header(f);
    uint32_t src = hark_get32(h + 4);
    return (src == HARK_RECOVERY ? s->ranks : src) == peer && hark_get16(h + 2) == ctx;
}

/* The message that the process waits for? */
static inline bool sim_wants(
    const struct sim *s, const struct sim_process *p, const struct sim_frame *f)
{
    return p->state == STATE_WAITS && sim_is_of(s, f, p->want, p->want_ctx);
}

static inline uint64_t sim_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Whom messages of a channel are from, as one number. */
static inline uint64_t sim_source(uint32_t peer, uint16_t ctx)
{
    return (uint64_t)ctx << 32 | peer;
}

/* core.c */
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_no_memory(struct sim *s);
const struct hark_protocol *sim_protocol(const struct sim *s, uint32_t who);
/* A core in its initial state. */
void sim_core_new(struct sim *s, uint32_t who);
void sim_core_free(struct sim *s, struct sim_process *p);
/* Asks the core whether its invariants hold: every so many steps. */
void sim_ask_now(struct sim *s, uint32_t who);
static inline void sim_ask(struct sim *s, uint32_t who)
{
    if (s->ask_in && --s->ask_in == 0) sim_ask_now(s, who);
}
/* An event to the core and its effects; `frame`: the one that arrives, or SIM_NONE. HARK_OK,
 * HARK_WAIT, or negative (s->failed). */
int sim_step(struct sim *s, uint32_t who, const struct hark_event *e, uint32_t frame);
bool sim_frames_more(struct sim *s);
/* SIM_NONE without memory. */
static inline uint32_t sim_frame_new(struct sim *s)
{
    if (s->free_frame == SIM_NONE && !sim_frames_more(s)) return SIM_NONE;
    const uint32_t f = s->free_frame;
    s->free_frame = sim_frame(s, f)->next;
    return f;
}
uint32_t sim_frame_copy(struct sim *s, uint32_t frame);
static inline void sim_frame_give(struct sim *s, uint32_t frame)
{
    struct sim_frame *f = sim_frame(s, frame);
    if (f->header_length > SIM_HEADER) sim_arena_give(&s->arena, f->header.far, f->header_length);
    f->next = s->free_frame;
    s->free_frame = frame;
}
/* Its header. False without memory. */
bool sim_frame_write(struct sim *s, struct sim_frame *f, const uint8_t *at, uint32_t length);
void sim_list_add(struct sim *s, struct sim_list *l, uint32_t frame);
void sim_list_drop(struct sim *s, struct sim_list *l);
/* The event of something that happens at process `who`, at `time`. */
#define SIM_LONGEST                                                                                \
    (UINT64_C(1) << 62) /* ns: beyond, sums with what one step adds might not fit                  \
                         */
void sim_too_long(struct sim *s);
/* A sum of bytes becomes larger; the simulation fails if it is beyond what is counted. */
void sim_too_much(struct sim *s);
static inline void sim_sum(struct sim *s, uint64_t *sum, uint64_t bytes)
{
    const bool wraps = __builtin_add_overflow(*sum, bytes, sum);
    if (__builtin_expect(wraps || *sum > INT64_MAX, 0)) sim_too_much(s);
}
static inline void sim_put(struct sim *s, uint64_t time, uint64_t what)
{
    if (__builtin_expect(time > SIM_LONGEST, 0)) sim_too_long(s);
    if (!sim_queue_put(&s->queue, time < s->queue.now ? s->queue.now : time, what))
        sim_no_memory(s);
}

/* A frame leaves for process `to` as soon as the network takes it. */
static inline void sim_leave(struct sim *s, uint32_t who, uint32_t frame, uint32_t to)
{
    struct sim_process *p = &s->p[who];
    uint64_t span, leaves = p->nic > s->clock ? p->nic : s->clock;
    if (!sim_span(s, sim_frame(s, frame), &span)) sim_too_long(s);
    p->nic = leaves + span + s->o->gap;
    sim_put(s, leaves + s->o->latency, SIM_WHAT(EVENT_FRAME, frame, to));
}

/* One message more that is kept until a checkpoint of its receiver, not only until it is
 * acknowledged. */
void sim_count_logged(struct sim *s, uint8_t part, uint64_t length);
/* Its core sees the messages that it has not seen yet. */
void sim_take_late(struct sim *s, uint32_t who);

/* The log becomes longer by `length`, in what is under `key` there. */
bool sim_log_more(
    struct sim *s, struct sim_process *p, const struct hark_name *key, uint64_t length);

/* usual.c: a message that is as most are, by the protocol's entries for it (hark_protocol.post and
 * receive); what step would do takes several times as long. False: nothing has happened, step is to
 * do it. */
bool sim_usual_post(struct sim *s, uint32_t who, const struct hark_posting *message);
bool sim_usual_receive(struct sim *s, uint32_t who, uint32_t frame);
/* core.c: TRIM */
void sim_trim(struct sim *s, uint32_t who, const struct hark_name *name);

/* log.c: false without memory, or if the log does not hold it. */
/* Where it is: what a group was sent, what was combined of it (`made`), what its root keeps, what a
 * child contributed. */
struct hark_name sim_log_key(const struct hark_name *name, bool made);
/* The length of a name's payload, wherever it is. */
bool sim_log_entry(
    const struct sim_log *l, const struct hark_name *name, uint64_t ssn, uint64_t *length);
bool sim_log_retain(struct sim *s, struct sim_log *l, const struct hark_name *n, uint64_t length);
void sim_log_trim(struct sim_log *l, const struct hark_name *n);
bool sim_log_length(
    const struct sim_log *l, uint32_t peer, uint16_t ctx, uint64_t ssn, uint64_t *length);
bool sim_log_holds(
    const struct sim_log *l, uint32_t peer, uint16_t ctx, uint64_t first, uint64_t last);
bool sim_log_copy(struct sim *s, struct sim_log *to, const struct sim_log *l);
void sim_log_free(struct sim *s, struct sim_log *l);

/* image.c */
/* The core as it is, for protocols that want to know it after a ROLLBACK; and that it has been
 * told. */
void sim_keep(struct sim *s, struct sim_process *p);
void sim_keep_no_more(struct sim *s, struct sim_process *p);
void sim_capture(struct sim *s, uint32_t who, uint64_t id);
void sim_image_drop(struct sim *s, uint32_t who, uint64_t id);
void sim_image_drop_beyond(struct sim *s, uint32_t who, uint64_t id);
const struct sim_image *sim_image(const struct sim *s, uint32_t who, uint64_t id);
/* Log, frames and program as in the image. */
void sim_image_restore(struct sim *s, uint32_t who, const struct sim_image *m);

/* inbox.c: an index by channel of p->inbox or p->late, for lists that are long. */
enum { SIM_SHORT = 32 }; /* frames that are looked at one after another, at most */
static inline struct sim_index **sim_index_of(struct sim_process *p, const struct sim_list *l)
{
    return l == &p->late ? &p->late_index : &p->inbox_index;
}
/* The first message of the channel, *before: the one in front of it; or SIM_NONE, also without
 * memory. Makes the index if there is none. */
uint32_t sim_index_find(struct sim *s, struct sim_process *p, const struct sim_list *l,
    const struct sim_op *op, uint32_t *before);
/* The first message of a channel has been taken out of the list. */
void sim_index_take_out(
    struct sim *s, struct sim_process *p, const struct sim_list *l, uint32_t frame);
/* The list is empty now. */
void sim_index_drop(struct sim *s, struct sim_process *p, const struct sim_list *l);

/* app.c */
/* The program goes on as far as it can; to be called after whatever happened to the process. */
void sim_go(struct sim *s, uint32_t who);
void sim_sample_now(struct sim *s);

/* ends.c: were all ends reached, and are they those of the programs without failures? */
void sim_check_ends(struct sim *s);
/* Nothing more happens, and somebody is not at the end: who waits for what. */
void sim_say_stall(struct sim *s);

/* service.c */
bool sim_service_open(struct sim *s);
void sim_service_close(struct sim *s);
void sim_crash(struct sim *s, uint32_t who);
void sim_detect(struct sim *s);
void sim_restart(struct sim *s, uint32_t who);
void sim_persist(struct sim *s, uint32_t who, const struct hark_fact *fact);
void sim_answer(struct sim *s, uint32_t fact);
void sim_rolled_back(struct sim *s, uint32_t who);
bool sim_failing(struct sim *s, uint32_t who, uint64_t at);
void sim_caught_up(struct sim *s, uint32_t who);
void sim_chance_next(struct sim *s);
void sim_chance(struct sim *s);

static inline uint64_t sim_digest(uint64_t digest, uint64_t from, uint64_t ssn, uint64_t length)
{
    return sim_mix(sim_mix(digest, from << 32 ^ ssn), length ^ from >> 32 << 48);
}

#endif
