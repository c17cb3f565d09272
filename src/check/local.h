/* local.h: one process of a scenario, all of it: its core, its application, what it holds, its log
 * and its images.
 *
 * What a process does at a step depends on nothing but this and what the step brings (a frame, an
 * announcement); so a step that was made once need not be made again, and a search mostly looks up.
 * struct lab is what all steps share.
 */
#ifndef HARK_CHECK_LOCAL_H
#define HARK_CHECK_LOCAL_H

#include "hark/registry.h"
#include "intern.h"
#include "scenario.h"

enum {
    LOCAL_FRAMES = 96,
    LOCAL_PAYLOADS = 64,
    LOCAL_IMAGES = 9,
    LOCAL_FACTS = 3,
    LOCAL_SHOWN = 16,
    LOCAL_ANNOUNCEMENTS = 4 * HARK_SCENARIO_FAILS + 2,
    LOCAL_WHO = HARK_SCENARIO_RANKS + 1 /* processes, and the recovery process behind the last rank
                                         */
};

struct frame {                 /* a part: in flight, held, or handed up */
    uint32_t from, to, to_inc; /* numbers of processes: the recovery process is number `ranks` */
    uint32_t length;           /* of the header */
    uint64_t past;             /* ghost: the sends that it depends on, a bit each */
    uint64_t said;             /* what the payload says */
    uint8_t header[];
};

struct payload {        /* a part: of the log */
    uint32_t peer, ctx; /* of a group: peer is `ranks`; ctx: and what the root keeps of its children
                           bears CTX_ALL */
    uint64_t ssn, past, said;
};

struct announcement {  /* a part: what FAILED says */
    uint32_t re, down; /* ranks, a bit each */
    uint32_t inc[LOCAL_WHO];
    uint64_t wave[HARK_SCENARIO_RANKS];
};

struct restart { /* a part: what a new incarnation is told */
    uint32_t inc, announcement;
    uint64_t checkpoint;
    uint64_t again; /* undone checkpoints, by number: a bit each from 1 */
};

enum {
    LOCAL_SOURCES = HARK_SCENARIO_RANKS + 2 * HARK_SCENARIO_TREES
}; /* whom messages are from: processes; of each tree its root, its reduction */

struct app {
    uint16_t pc, sends;
    uint16_t inside;    /* a checkpoint call */
    uint16_t shown;     /* outputs made */
    uint32_t open, pad; /* T that missed and wait for their W, by bit of the sender */
    uint64_t past;      /* the sends that it depends on */
    uint64_t history;   /* of everything delivered and missed, in order; 0 where content is fixed */
    uint32_t got[LOCAL_SOURCES]; /* delivered of each sender, by bit of the ssn */
    uint8_t sent[LOCAL_SOURCES]; /* the last ssn to each */
    uint64_t heard[LOCAL_SOURCES][HARK_SCENARIO_SSN],
        told[LOCAL_SOURCES][HARK_SCENARIO_SSN]; /* what
                                                   was
                                                   said
                                                 */
    uint64_t took; /* ghost: the sends that were delivered here, a bit each, if `wild` */
    uint64_t took_by[HARK_SCENARIO_SENDS]; /* and those when each send was made */
};

struct image { /* a part, its lists behind it */
    uint64_t id;
    uint32_t committed, core, app; /* parts */
    uint32_t inboxes, payloads, pad;
};

struct local {
    uint32_t who;
    uint32_t core;      /* part: the packed core; 0: not running */
    uint32_t inc, seen; /* seen: the epoch of the last announcement taken */
    uint64_t store_id;  /* of the CAPTURE that is to be answered */
    uint32_t storing;
    uint32_t inboxes, helds, payloads, images, facts, shown;
    uint32_t kept; /* part: the packed core that was told to go back, until its successor is told;
                      0: none */
    struct hark_fact fact[LOCAL_FACTS]; /* to be answered, in the order they were asked */
    uint64_t show[LOCAL_SHOWN];         /* what has left the job: history + 1 */
    uint32_t inbox[LOCAL_FRAMES];       /* frames handed up, by sender and ssn */
    uint32_t held[LOCAL_FRAMES];        /* frames, oldest first */
    uint32_t payload[LOCAL_PAYLOADS];   /* by number */
    uint32_t image[LOCAL_IMAGES];       /* oldest first */
    struct app app;
};

/* What one step came to. */
struct outcome {
    uint32_t local;    /* the process after it */
    uint32_t frames;   /* part: the frames that left, in order; 0: none */
    uint32_t taken;    /* part: the frame that was delivered; 0: none */
    uint32_t saw;      /* part: the frame that a look saw and did not take; 0: none */
    uint16_t violated; /* see lab_violation(); 0: nothing */
    uint8_t sent_to;   /* 1 + whom the application sent to; 0: it did not */
    uint8_t happened;  /* 0: the core said WAIT, nothing has changed */
    uint32_t commits;  /* the newest checkpoint that was committed; 0: none */
};

enum local_step {      /* what may happen to a process; the argument in brackets */
    STEP_FRAME = 'f',  /* a frame arrives [frame] */
    STEP_APP = 'a',    /* the application makes its next operation [the sender a receive from anyone
                          takes from] */
    STEP_TOLD = 't',   /* FAILED [announcement] */
    STEP_STORED = 's', /* a CAPTURE is durable [0], or failed [1] */
    STEP_ANSWER = 'p', /* a PERSIST is answered [1: done, 0: refused] */
    STEP_IDLE = 'i',   /* the application waits */
    STEP_RESTART = 'r', /* [restart] */
    STEP_CRASH = 'x',   /* [0, or the image that is damaged] */
    STEP_SERVICE = 'S'  /* of a job: the failure service is gone, with all processes */
};

enum { LOCAL_POINTS_DEPEND = 255 }; /* on what tests find */

/* What can happen to a process by itself. */
struct local_info {
    uint32_t from; /* the application can make its next operation with a message of these senders, a
                    * bit each; bit 0 for operations that take none */
    uint32_t inc, seen;
    uint64_t past;   /* ghost: sends that anything here depends on */
    uint32_t images; /* part: the numbers of its images; 0: it has none */
    uint8_t known, running, storing, facts;
    uint8_t idle;                      /* IDLE would do something */
    uint8_t inside;                    /* a checkpoint call */
    uint8_t ended;                     /* no operation is left */
    uint8_t held;                      /* frames are */
    uint8_t at_point, reached, points; /* at a checkpoint call; how many it has come to, and comes
                                          to in all, or LOCAL_POINTS_DEPEND */
};

struct memo {
    uint32_t local, argument;
    uint32_t step;
    struct outcome outcome;
};

enum {
    LAB_POINTS_CLUSTER = 1,
    LAB_POINTS_ALL = 2
}; /* those of a cluster; those of all processes */

struct lab {
    const struct hark_scenario *scenario;
    const struct hark_protocol *protocol, *recovery; /* recovery: NULL if the protocol needs none */
    struct hark_config options; /* those of the scenario that the protocol has */
    uint32_t ranks, who;        /* who: ranks, and one more with a recovery process */
    uint8_t points; /* LAB_POINTS_*: where there is no protocol, whose checkpoints are one; 0: there
                       is one */
    uint32_t barriers; /* then: which calls are barriers of the group, hark_call_bit() of each */
    bool history;      /* content */
    bool by_channel;   /* `fifo` is within a channel, and among control frames */
    bool groups;       /* there is a tree, and the protocol sends along it */
    bool reduces;      /* and reduces */
    bool waves_all;    /* checkpoints are of all processes, though fewer go back */
    bool regroups;     /* and clusters may change at one */
    bool wild;         /* what comes first may be another message each time, and I7 is looked at */
    uint32_t most_ssn; /* of any channel */
    uint32_t first_send[HARK_SCENARIO_RANKS]; /* bits of the sets of causes */
    struct intern part, local;
    struct local_info *info; /* by number of the local */
    uint32_t infos;
    struct memo *memo;
    uint64_t *memo_slot; /* the hash, and the index + 1; 0: free */
    uint32_t memos, memo_room, memo_slots;
    uint32_t last;                    /* index of the memo of the step that was taken last */
    uint32_t taken[LOCAL_WHO], takes; /* of those that made up the last step of the job: one, but
                                         where a whole cluster fails */
    uint64_t looked_up, made;         /* steps found in the memo, and not */
    bool failed;                      /* no memory, or a limit of this file is too small: `why` */
    bool starved;                     /* it was memory */
    bool frozen;                      /* see lab_freeze() */
    char why[128];
    /* Of the step being made. */
    struct local at;
    struct hark *core, *twin;
    uint64_t core_bytes, twin_bytes;
    uint8_t *packed; /* the core, if packed_length is not 0; packed_part: its number, or 0 */
    uint32_t packed_length, packed_part;
    struct lab_unpacked *unpacked; /* local_block.c */
    /* The outcomes of events to the failure service: job_service.c. */
    struct intern service_event;
    struct service_memo *service_memo;
    uint32_t service_room;
    bool running, offering;
    uint32_t taking; /* part: the frame whose delivery is this step; 0: none */
    bool waits; /* with receives nested: the application stood at an operation that waits when the
                   step began */
    uint32_t offer; /* 1 + the sender whose held frames are to be given again; HARK_RECOVERY: of all
                     */
    struct hark_name offered; /* ssn not 0: of those this message alone */
    uint32_t who_now;
    struct outcome out;
    uint64_t combined, combined_past; /* of the parts so far */
    uint32_t parts;
    struct hark_name answer; /* COMBINED is to be given; ssn 0: none */
    uint32_t leaving[LOCAL_FRAMES], leave;
    struct hark_effects fx;
    /* NULL, or told of each event and effect of steps made by local_make(), for transcripts. */
    void (*observe)(void *self, const struct hark_event *event, const struct hark_effect *effect);
    void *observer;
};

/* Prepares for a scenario under a protocol (NULL: the one it names). -1: error says why. The
 * scenario must last. */
int lab_open(struct lab *lab, const struct hark_scenario *s, const char *protocol,
    char error[HARK_SCENARIO_ERROR]);
void lab_close(struct lab *lab);
/* A copy for one of several threads, until the lab changes again: what is known is looked up there.
 * It makes nothing and keeps nothing: what would be new fails. Not to be closed. */
void lab_freeze(struct lab *copy, const struct lab *lab);
const char *lab_violation(uint16_t number);
/* Tree t of the scenario; the arrays are as long as there are ranks. */
struct hark_group lab_tree(
    const struct hark_scenario *s, uint32_t t, uint32_t *member, uint32_t *parent);
/* Why A and Q can not be searched; NULL: they can. */
const char *lab_unreduced(const struct lab *lab);
uint64_t lab_bytes(const struct lab *lab);
/* Process `who` as it is at the beginning; 0: lab->failed. */
uint32_t local_first(struct lab *lab, uint32_t who);
/* The step, looked up or made. */
struct outcome local_take(struct lab *lab, uint32_t local, enum local_step step, uint32_t argument);
/* It will be taken: what is remembered of it is fetched from memory. */
void local_fetch(const struct lab *lab, uint32_t local, enum local_step step, uint32_t argument);
/* The result of local_info() for it, likewise. */
static inline void local_info_fetch(const struct lab *lab, uint32_t local)
{
    if (local < lab->infos) __builtin_prefetch(&lab->info[local]);
}
/* Makes it, whether it is known or not. */
struct outcome local_make(struct lab *lab, uint32_t local, enum local_step step, uint32_t argument);
const struct local_info *local_info_make(struct lab *lab, uint32_t local);
static inline const struct local_info *local_info(struct lab *lab, uint32_t local)
{
    if (local < lab->infos && lab->info[local].known) return &lab->info[local];
    return local_info_make(lab, local);
}
/* Fills lab->at with it. */
void local_open(struct lab *lab, uint32_t local);
/* Fills lab->at and lab->core, which is not NULL if it runs. */
void local_open_core(struct lab *lab, uint32_t local);

/* For the files of this folder: */
#define LAB_VIOLATIONS(X)                                                                          \
    X(NONE, "")                                                                                    \
    X(SAID, "I1: a process has delivered what its sender does not say any more")                   \
    X(SHOWN, "I1: what was output is not what is executed again")                                  \
    X(ORDER, "I2/I3: a channel's messages are not delivered once and in order")                    \
    X(FINAL, "I4: the final state is not that of a failure-free run")                              \
    X(PAST, "I7: a message is delivered before its cause has been sent again")                     \
    X(WAITS, "I8: a process waits for ever")                                                       \
    X(LOST, "I8: frames remain that nobody can take")                                              \
    X(HELD, "I8: frames are held for ever")                                                        \
    X(ENDLESS, "I8: recovery never ends")                                                          \
    X(UNREST, "I10: something has not come to its end")                                            \
    X(FOREVER, "I8: the steps never end")                                                          \
    X(NAMED_OUT, "I9: the core names a payload for the image that was not retained")               \
    X(NAMED_IN, "I9: the core names an arrived message for the image that is not here")            \
    X(LOG, "I9: a payload is to be transmitted that the log does not hold")                        \
    X(IMAGE, "I9: the decided image is gone")                                                      \
    X(NUMBER, "I9: a checkpoint is decided under a number that an older one has")                  \
    X(COMMIT, "I9: a checkpoint is committed that the failure service has not decided")            \
    X(RETAIN, "RETAIN of something that was not posted now")                                       \
    X(DIVERGED, "DIVERGED though every send was the same")                                         \
    X(OTHERWISE, "DIVERGED: a process sends again something else than it sent")                    \
    X(REFUSED, "a core refused an event that is legal")                                            \
    X(TRAPPED, "a core trapped: what it relies on does not hold")                                  \
    X(VIOLATED, "a core's own invariant")                                                          \
    X(SPARE, "bytes behind a header are the embedder's, and were written")                         \
    X(TWIN_STEP, "the same state and event give other effects")                                    \
    X(TWIN_STATE, "the same state and event give another state")                                   \
    X(POST, "post does not do what step does with the same SEND")                                  \
    X(RECEIVE, "receive does not do what step does with the same ARRIVE and its DELIVER")          \
    X(UNUSUAL, "post or receive has changed the state, and says that nothing happened")            \
    X(TWIN_PACK, "unpack does not give back what was packed")                                      \
    X(TWIN_EFULL, "a step that was refused has changed the state")
#define LAB_VIOLATION(name, text) VIOLATED_##name,
enum lab_violated { LAB_VIOLATIONS(LAB_VIOLATION) VIOLATIONS };

/* violation.c. Of one step the first violation counts. */
void lab_violate(struct lab *lab, enum lab_violated what);
void lab_fail(struct lab *lab, const char *why);
/* There is no memory for what is to be kept. */
void lab_starve(struct lab *lab);
enum {
    LOCAL_PACK = 1 << 17, /* bytes of a packed core, at most */
    SPARE = 4,
    EFFECTS = HARK_EFFECTS_ROOM + 4,
    BYTES = HARK_EFFECTS_BYTES + 128
};

static inline const struct hark_protocol *lab_protocol(const struct lab *lab, uint32_t who)
{
    return who == lab->ranks ? lab->recovery : lab->protocol;
}

/* local_block.c. False without memory. */
bool core_open(struct lab *lab, uint64_t bytes);
void core_close(struct lab *lab);
void core_new(struct lab *lab, uint32_t who);
void core_stop(struct lab *lab);
/* Something happens to the core: what is known of its packed form holds no longer. */
void core_changes(struct lab *lab);
/* The packed form, until the core changes; and its part, 0: lab->failed. */
struct hark_bytes core_packed(struct lab *lab);
uint32_t core_pack(struct lab *lab);
/* Packs the core into lab->at. */
void core_keep(struct lab *lab);
/* The smallest block with this packed state of process lab->who_now; NULL without memory. Until
 * the next call. */
const struct hark *core_unpacked(struct lab *lab, uint32_t part);

struct usual {  /* the result of post() or receive() in the state before a step */
    int status; /* HARK_UNUSUAL also if the protocol has no such entry, or the event none */
    struct hark_posted posted;
    struct hark_received received;
    uint8_t header[HARK_POSTED_BYTES];
    uint64_t length; /* of the state, packed */
    uint8_t after[LOCAL_PACK];
};

/* local_twin.c: the twin is made of a packed state, makes the step that the core has made, and has
 * come to the same; `before`: its packed state. */
void twin_make(struct lab *lab, uint32_t packed);
void twin_check(struct lab *lab, const struct hark_event *e, struct hark_bytes before, int status);
/* Before a step: what the protocol's entry for the usual message does; `before`: the core, packed.
 * And behind it: it has done the same. */
void usual_try(struct lab *lab, const struct hark_event *e, uint32_t before, struct usual *u);
void usual_check(struct lab *lab, const struct hark_event *e, int status, const struct usual *u);

/* local_core.c: one event to the core, and its effects but for OFFER. HARK_OK, HARK_WAIT, or
 * negative (a violation has been noted). */
int core_step(
    struct lab *lab, const struct hark_event *event, uint32_t frame, const struct payload *posted);
/* From now on a core's trap is a violation. */
void core_traps(void);
/* The frame is held, behind those that come before it. */
void core_hold(struct lab *lab, uint32_t frame);
/* local_app.c: core_step(), then what it offers is given again, and an application that waits takes
 * of it. */
int local_event(
    struct lab *lab, const struct hark_event *event, uint32_t frame, const struct payload *posted);
void app_step(struct lab *lab, uint32_t from);
/* local_place.c: the operation it is at. */
const struct hark_op *app_op(const struct lab *lab);
void app_go_on(struct lab *lab);
/* It goes on at operation `pc`; behind the first part of a branch that is behind the second. */
void app_go_to(struct lab *lab, uint32_t pc);
/* Where in the inbox the first message from `peer` is, or message `only` if that is not 0; or -1.
 */
int app_first(const struct lab *lab, uint32_t peer, uint8_t only);
/* A history, and what has come to it. */
uint64_t app_history(uint64_t history, uint64_t a, uint64_t b, uint64_t c);
/* What two contributions, or agglomerates, make. */
uint64_t app_combined(uint64_t a, uint64_t b);
/* With a message of which senders the next operation can be made: struct local_info. */
uint32_t app_can(struct lab *lab);
/* Is it at an operation that waits for a message and takes it? */
bool app_waits(struct lab *lab);
/* local_pack.c: a local as bytes and back. */
uint32_t local_close(struct lab *lab);
uint32_t app_put(struct lab *lab, const struct app *app);
void app_get(struct lab *lab, struct app *app, uint32_t part);
/* The oldest fact that has not been answered; there is one. */
struct hark_fact local_fact(const struct lab *lab, uint32_t local);
/* Of a local that need not be opened for it; 0 if it does not run. heard, told: what was said in
 * message `ssn` from or to a peer, 0: nothing yet. */
uint32_t app_sends(const struct lab *lab, uint32_t local);
uint64_t app_past(const struct lab *lab, uint32_t local);
/* program.c. The sends of process `who` from its n-th, counted from 0, as bits. */
uint64_t sends_from(const struct lab *lab, uint32_t who, uint32_t n);
/* The last send of process `who` that is in the set, as a set of that one, or 0. */
uint64_t last_send(const struct lab *lab, uint32_t who, uint64_t set);
uint64_t app_heard(const struct lab *lab, uint32_t local, uint32_t from, uint32_t ssn);
uint64_t app_told(const struct lab *lab, uint32_t local, uint32_t to, uint32_t ssn);
/* Part: all that was delivered and sent, and what it said. */
uint32_t app_signature(struct lab *lab, uint32_t local);

static inline const struct frame *frame_of(const struct lab *lab, uint32_t part)
{
    return intern_at(&lab->part, part);
}

/* Where frames have no order but by content, for numbers of parts are not the same in every lab: a
 * way that a search has found is gone again in another. Where order counts, by sender, and those of
 * one sender in theirs. */
bool frame_before(const struct lab *lab, uint32_t new, uint32_t old);

/* Whose message or frame it is, whoever has brought it. */
static inline uint32_t frame_src(const struct lab *lab, const struct frame *f)
{
    uint32_t src = hark_get32(f->header + 4);
    return src == HARK_RECOVERY ? lab->ranks : src;
}

/* Contexts: of multicasts on tree t, and of reductions. */
static inline uint16_t group_ctx(uint32_t t, bool reduces)
{
    return (uint16_t)(1 + 2 * t + reduces);
}

/* Where what is said on a channel is kept: by sender, and behind those the multicasts and the
 * reductions of each tree. */
static inline uint32_t group_source(const struct lab *lab, uint32_t t, bool reduces)
{
    return lab->ranks + group_ctx(t, reduces) - 1u;
}

static inline uint32_t frame_source(const struct lab *lab, const struct frame *f)
{
    return hark_get16(f->header + 2) ? lab->ranks + hark_get16(f->header + 2) - 1u : f->from;
}

static inline bool is_reduction(const struct lab *lab, uint32_t source)
{
    return source >= lab->ranks && (source - lab->ranks) % 2;
}

/* How many there are. */
static inline uint32_t sources(const struct lab *lab)
{
    return lab->ranks + 2u * lab->scenario->trees;
}

static inline uint64_t frame_ssn(const struct frame *f)
{
    return hark_get64(f->header + 24);
}

#endif
