/* hark.h: the one interface that every protocol shares.
 *
 * A protocol is a value (struct hark, a flat block without pointers) and pure functions over it:
 * an event goes in, effects come out. It never allocates, blocks, calls back, reads a clock or
 * keeps a global. The same state and the same event give the same effects, always.
 *
 * The contract
 *  1. A negative status, or HARK_WAIT, leaves the state unchanged, as hark_pack() shows it, and
 *     gives no effects: capacity is checked before anything changes.
 *  2. Effects are performed in array order. OFFER and ROLLBACK come last, so the embedder may step
 *     the core again while it performs them.
 *  3. Event memory stays the caller's; it is not read after the step.
 *  4. Effect memory (the array and the header bytes it points to) is valid until the next step that
 *     is given the same struct hark_effects.
 *  5. After HARK_MORE only CONTINUE is legal, until a step returns something else.
 *  6. Separate instances may run on separate threads; one instance needs its owner's lock.
 *  7. Bad input gives a status, never an assert; a broken invariant of ours traps (HARK_TRAP). What
 *     a pointer within an event points to may be missing; the core, the event, the effects and the
 *     configuration may not.
 *  8. The network delivers each frame at most once, in any order. The embedder keeps frames for an
 *     incarnation that has not started yet; the core discards frames of older incarnations and
 *     holds those of newer ones.
 *
 * Floors 1 and 2 include nothing but the freestanding headers below. By default every function is
 * static inline; define HARK_LINK to get declarations only, and link with libhark.
 */
#ifndef HARK_HARK_H
#define HARK_HARK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Source compatibility holds within a major version. */
#define HARK_VERSION_MAJOR 0
#define HARK_VERSION_MINOR 1
#define HARK_VERSION_PATCH 0
#define HARK_VERSION       (HARK_VERSION_MAJOR << 16 | HARK_VERSION_MINOR << 8 | HARK_VERSION_PATCH)

#if defined(HARK_IMPLEMENTATION)
#define HARK_FN
#define HARK_BODIES 1
#elif defined(HARK_LINK)
#define HARK_FN
#define HARK_BODIES 0
#else
#define HARK_FN     static inline __attribute__((unused))
#define HARK_BODIES 1
#endif

#define HARK_TRAP() __builtin_trap()
/* HOT: always inlined, the path of every message. COLD: never inlined. */
#define HARK_HOT  static inline __attribute__((always_inline, unused))
#define HARK_COLD static __attribute__((noinline, unused))

/* Some functions have the name of the struct that they find or fill, which is legal; g++ -Wshadow
 * warns of them as if they hid a constructor. */
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__)
#define HARK_NAMESAKES_BEGIN                                                                       \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define HARK_NAMESAKES_END _Pragma("GCC diagnostic pop")
#else
#define HARK_NAMESAKES_BEGIN
#define HARK_NAMESAKES_END
#endif

#ifdef __cplusplus
#define HARK_STATIC_ASSERT(what, why) static_assert(what, why)
extern "C" {
#else
#define HARK_STATIC_ASSERT(what, why) _Static_assert(what, why)
#endif

/* ---- addresses and names --------------------------------------------------------------------- */

#define HARK_RECOVERY   UINT32_MAX        /* the address of the recovery process */
#define HARK_RANKS_MAX  (UINT32_MAX - 16) /* ranks are 0 .. ranks-1 */
#define HARK_HEADER_MAX 65535u            /* no header is longer, in bytes */
#define HARK_INFINITY   UINT64_MAX        /* a phase above all phases */

/* The name of a payload. The embedder keeps the bytes under this name; cores never touch them.
 * An outgoing payload (HARK_OUT) is named by its receiver, an incoming one (HARK_IN) by its sender.
 */
enum { HARK_OUT = 0, HARK_IN = 1 };
enum { HARK_PROCESS = 0, HARK_GROUP = 1 };
struct hark_name {
    uint32_t peer; /* a rank, or the number of a group */
    uint16_t ctx;  /* separates point-to-point from each collective group: 0 is point-to-point */
    uint8_t way;   /* HARK_OUT or HARK_IN */
    uint8_t to;    /* HARK_PROCESS or HARK_GROUP: what `peer` is */
    uint64_t ssn;  /* 1, 2, 3 ... on each channel */
};
HARK_STATIC_ASSERT(sizeof(struct hark_name) == 16, "a name has no padding");

struct hark_bytes {
    const uint8_t *at;
    uint32_t length;
};

struct hark_range { /* ranks first .. last, both included */
    uint32_t first, last;
};

struct hark_incarnation {
    uint32_t rank;
    uint32_t inc; /* 0 at the start, assigned by the failure service, never by an image */
};

struct hark_decision { /* the last checkpoint wave of a cluster that was decided to commit */
    uint32_t cluster;  /* named by its lowest rank */
    uint32_t pad;
    uint64_t wave;
};

/* ---- status ---------------------------------------------------------------------------------- */

enum hark_status {
    HARK_OK = 0,
    HARK_MORE = 1,     /* the effects are not complete: perform these, then CONTINUE */
    HARK_WAIT = 2,     /* not yet: nothing happened; give the event again after the next step */
    HARK_UNUSUAL = 3,  /* of hark_protocol.post and receive: nothing happened; see there */
    HARK_EINVAL = -1,  /* an argument or a field of the event is out of its range */
    HARK_EFRAME = -2,  /* the header is not one of this protocol: drop the frame and count it */
    HARK_EFULL = -3,   /* the block is too small: hark_wants, hark_grow, the event again */
    HARK_ENOROOM = -4, /* hark_effects has less room than HARK_EFFECTS_ROOM and
                        * HARK_EFFECTS_BYTES */
    HARK_ESTATE = -5,  /* the event is not legal now (CONTINUE expected, or rolled back) */
    HARK_EIMAGE = -6   /* the image is not one of this protocol, version or process */
};

/* ---- events: what happened ------------------------------------------------------------------- */

enum hark_event_type {
    /* The application posts a message. */
    HARK_SEND = 1,
    /* A frame arrived, or the embedder gives a held frame again. Control frames get no verdict
     * (HANDUP, HOLD, DISCARD) when the core has used them up. */
    HARK_ARRIVE,
    /* The application receives a message that was handed up. HARK_WAIT: not this one yet, since a
     * replay has an order; try the others that were handed up. */
    HARK_DELIVER,
    /* The application looked (test, probe) and found no message. HARK_WAIT: the execution that is
     * replayed found a message here, or is not known yet: look again after the next step. */
    HARK_MISS,
    /* The application looked (probe) and found a message that was handed up, without receiving it.
     * HARK_WAIT as for DELIVER; if all that were handed up wait, give MISS. */
    HARK_LOOK,
    /* The application has reached its next checkpoint call, and waits in it for RESUME. */
    HARK_CHECKPOINT_POINT,
    /* CAPTURE's image or PERSIST's fact is durable, or storing it failed or was refused. */
    HARK_STORED,
    /* The embedder has combined the operands, as a COMBINE with part HARK_COMBINE_REPLY asked, and
     * the result is in the log. */
    HARK_COMBINED,
    /* The failure service announces a failure. Every process gets every announcement. */
    HARK_FAILED,
    /* The first event of a new incarnation, in a new block. FAILED with the same re follows. */
    HARK_RESTARTED,
    /* The embedder is about to wait: the core sends what it delayed for batching. */
    HARK_IDLE,
    /* Nothing can happen any more: all applications of the job have finished or are blocked, and no
     * frame is in flight. (One blocked application while others run is IDLE.) */
    HARK_QUIET,
    /* Asks for the next batch of effects, after HARK_MORE. */
    HARK_CONTINUE,
    /* hydee: the next map of clusters. The embedder gives it to every process, and again to each
     * new incarnation; the first checkpoint at which all have it brings it into force. HARK_OK also
     * if this map is known already; HARK_ESTATE if another map is already the next: a further one
     * may be given when a later wave has been decided. */
    HARK_RECLUSTER
};

struct hark_posting {
    uint32_t peer; /* receiver, or group */
    uint16_t ctx;
    uint8_t to; /* HARK_PROCESS, HARK_GROUP */
    uint8_t pad;
    uint64_t length; /* of the payload, bytes */
    uint64_t digest; /* of the payload; 0 when the embedder makes none */
};

struct hark_event {
    uint32_t type;
    union {
        struct hark_posting send;
        struct {                      /* ARRIVE, DELIVER, LOOK */
            struct hark_bytes header; /* as transmitted */
            uint64_t length;          /* of the payload, bytes */
        } frame;
        struct {
            bool due; /* the embedder asks for a checkpoint at this call */
        } point;
        struct {
            bool stable; /* output waits until hark_unstable() is 0: ask for acknowledgements now */
        } idle;
        struct {
            const struct hark_range *cluster; /* my next cluster: ascending, disjoint, containing
                                               * me */
            uint32_t cluster_count;
        } recluster;
        struct {
            uint32_t of;   /* HARK_CAPTURE or HARK_PERSIST */
            int32_t ok;    /* 1 durable, 0 failed or refused */
            uint64_t id;   /* as in the CAPTURE or PERSIST */
            uint32_t fact; /* of a PERSIST: HARK_FACT_*, its kind: two may be unanswered */
        } stored;
        struct {
            struct hark_name name;
            uint64_t digest;
        } combined;
        struct {
            uint32_t re;                        /* recovery epoch: +1 at each announcement */
            uint32_t down_count;                /* D: the ranks that roll back, cumulative until */
            const uint32_t *down;               /* recovery is over, ascending */
            const struct hark_incarnation *inc; /* all that are not 0, by rank ascending */
            const struct hark_decision *wave;   /* of each cluster that has one, ascending */
            uint32_t inc_count, wave_count;
        } failed;
        struct {
            uint64_t checkpoint; /* id of the image; 0: the initial state, no image */
            uint32_t re;         /* of the announcement that caused this incarnation */
            uint32_t inc;        /* this process's own */
            /* hark_pack() of the core when `checkpoint` was captured. HARK_EIMAGE if that core was
             * configured with other `copies`, gate or waves than this one, with another
             * HARK_TEAM_LOST, or (hydee) with another number of groups that it belongs to. */
            struct hark_bytes image;
            /* hark_pack() of this process's earlier core at its ROLLBACK; empty after a crash. */
            struct hark_bytes old_core;
            /* sendet: later checkpoints that were decided and are undone, ascending. */
            const uint64_t *undone;
            uint32_t undone_count;
        } restarted;
    } u;
};

/* ---- effects: what the embedder must now do -------------------------------------------------- */

enum hark_effect_type {
    /* Send the header, and the named payload if there is one, to an incarnation of a process. The
     * payload is in the event (a posted message, or a frame that has just arrived); if not, the
     * log has it under its name. */
    HARK_TRANSMIT = 101,
    /* The arrived frame may be received. Messages of one channel are handed up in the order of ssn
     * if the transport is FIFO between two processes; else the embedder must sort them. During a
     * replay a message may be handed up before its turn: DELIVER returns HARK_WAIT until then, and
     * messages that are handed up later may come first. */
    HARK_HANDUP,
    /* Keep the arrived frame until OFFER: the core cannot accept it yet. */
    HARK_HOLD,
    /* Drop the arrived frame: it is a duplicate, or of an old incarnation. */
    HARK_DISCARD,
    /* Give the held frames of `peer` (HARK_RECOVERY: of all) again as ARRIVE, oldest first. `peer`
     * is the source in the header, not the process that forwarded the frame. With a name.ssn only
     * that message is needed; giving more is allowed. If another OFFER comes meanwhile, start again
     * after this one. */
    HARK_OFFER,
    /* Copy this payload of the event into the log: the one posted; or, if HARK_IN or of a group,
     * the one that just arrived. */
    HARK_RETAIN,
    /* Delete this entry from the log, and all of its channel before it. If a TRANSMIT of a deleted
     * entry still waits for the transport, it needs a copy of its own. */
    HARK_TRIM,
    /* Give this fact to the failure service, and its answer to the core as STORED. */
    HARK_PERSIST,
    /* Save an image for checkpoint `id` (hark_pack(), the payloads that `names` lists, the
     * application), then give STORED. Nothing that belongs into it may change before it is saved,
     * or copied. */
    HARK_CAPTURE,
    /* From now on the process can restart from checkpoint `id`. */
    HARK_COMMIT,
    /* Delete the image of checkpoint `id`, if it is still there: after a restart a DROP may come
     * again. */
    HARK_DROP,
    /* The application may leave its checkpoint call. */
    HARK_RESUME,
    /* Combine payloads that are in the log, in this order: HARK_COMBINE_*. */
    HARK_COMBINE,
    /* This incarnation has ended: start a new one from checkpoint `id`, or from the one that the
     * failure service names (hark_service_restart()), which is older if an image is damaged. */
    HARK_ROLLBACK,
    /* For traces: this re-executed send transmits nothing, since the receiver has the message. */
    HARK_SUPPRESS,
    /* The re-execution does not send what was sent before: the program is outside the class that
     * this protocol supports. */
    HARK_DIVERGED,
    /* Recovery is over for this process. */
    HARK_RECOVERED
};

/* Facts of PERSIST. The failure service refuses those of an older `re`. */
enum {
    /* The cluster of `rank` commits checkpoint wave `id`. */
    HARK_FACT_WAVE = 1,
    /* Recovery of `rank` is over (HARK_RECOVERY: of all): it leaves D. */
    HARK_FACT_DONE = 2,
    /* sendet: `rank` must roll back to its checkpoint `id` too: it enters D. A further such fact
     * follows. */
    HARK_FACT_BACK = 3,
    /* The same, as the last such fact: the service announces the new D. */
    HARK_FACT_LINE = 4
};

struct hark_transmit {        /* a frame that leaves: header, and the payload named if any */
    uint32_t peer;            /* a rank, or HARK_RECOVERY */
    uint32_t inc;             /* the incarnation meant */
    struct hark_name name;    /* the payload; ssn 0: there is none */
    struct hark_bytes header; /* at most HARK_HEADER_MAX bytes */
    uint64_t phase;           /* for traces */
    uint32_t determinants;    /* determinants in the header, for figures */
    bool replay;              /* from the log, for the second time or late */
};

struct hark_fact {    /* what the failure service is told */
    uint32_t kind;    /* HARK_FACT_* */
    uint32_t rank;    /* of a wave: the group, by its lowest rank; of the others as above */
    uint32_t re;      /* the recovery epoch it belongs to */
    uint32_t new_map; /* of a wave: 1: it brings the next map of clusters into force */
    uint64_t id;      /* of a wave: its number; BACK, LINE: the checkpoint; DONE: re */
    uint64_t oldest;  /* of a wave: the oldest checkpoint that is kept; 0: none yet */
};

struct hark_divergence {   /* a re-execution that did not send what was sent before */
    struct hark_name name; /* messages name.ssn .. last */
    uint64_t last;
    uint64_t expected, got; /* digests, of what was sent before and now; both 0: the range was not
                               sent again */
};

/* The part of a payload in a COMBINE: operands in order, then one RESULT or REPLY. */
enum {
    HARK_COMBINE_OPERAND = 0, /* `name` is the next operand */
    /* Combine all operands since the last result and keep the result as `name`. Operands that
     * arrived from a process (HARK_IN, HARK_PROCESS) are used up: delete them. */
    HARK_COMBINE_RESULT = 1,
    HARK_COMBINE_REPLY = 2 /* the same, then give COMBINED */
};

struct hark_effect {
    uint32_t type;
    union {
        struct hark_transmit transmit;
        struct {
            bool logged; /* sendet: the sender will log this message; for figures */
        } handup;
        struct {
            uint32_t peer;         /* a rank; HARK_RECOVERY: all */
            struct hark_name name; /* ssn 0: all messages of the peer; else only this one */
        } offer;
        struct {
            struct hark_name name;
        } retain, trim;
        struct hark_fact persist;
        struct {
            uint64_t id;
        } checkpoint; /* CAPTURE, COMMIT, DROP, ROLLBACK */
        struct {
            struct hark_name name;
            uint32_t part; /* HARK_COMBINE_* */
        } combine;
        struct {
            struct hark_name name;
            uint64_t phase;
        } suppress;
        struct hark_divergence diverged;
    } u;
};

/* Where a step writes. The caller owns it and sets at, room, bytes, bytes_room, spare once. */
struct hark_effects {
    struct hark_effect *at;
    uint32_t count; /* written by the step */
    uint32_t room;
    uint8_t *bytes; /* headers */
    uint32_t used;  /* written by the step */
    uint32_t bytes_room;
    uint32_t spare; /* bytes after each header for the embedder's own envelope; 0 .. 64 */
};

/* ---- configuration --------------------------------------------------------------------------- */

enum { /* flags; all processes of a job have the same */
    /* Keeps a running digest per channel; it is compared at the channel's last orphan. */
    HARK_DIGEST = 1,
    /* hydee: the exact gate: in a recovery a message waits for the orphans in its causal past,
     * instead of for phases; for programs whose receive order varies (E24). */
    HARK_EXACT_GATE = 2,
    /* team: a whole team may be lost at once, so only copies of a determinant in another team count
     * (T-a); `copies` is 1 then. */
    HARK_TEAM_LOST = 4,
    /* hydee, team: all processes checkpoint together, not each cluster for itself. */
    HARK_WAVES_ALL = 16,
    /* The embedder copies at CAPTURE what belongs into the image, before it performs the next
     * effect, and gives STORED when the image is durable. The application goes on when the images
     * of all processes that checkpoint together are copied. sendet ignores it. */
    HARK_IMAGES_COPIED = 32,
    HARK_FLAGS = HARK_DIGEST | HARK_EXACT_GATE | HARK_TEAM_LOST | HARK_WAVES_ALL |
                 HARK_IMAGES_COPIED /* no
                                       others
                                     */
};

enum { /* what a user's option asks of the embedder */
    /* To configure groups: multicasts and reductions go along trees. */
    HARK_ASKS_GROUPS = 1,
    /* To configure HARK_WAVES_ALL, and to give RECLUSTER when other clusters are better. */
    HARK_ASKS_RECLUSTER = 2
};

/* The members of a multicast or reduction, and the tree that its messages take: parts/group.h. */
struct hark_group {
    uint16_t ctx;     /* its number, from 1; also the context of its messages */
    uint16_t reduces; /* 0: multicasts, from the root to all; 1: reductions, from all to the root */
    uint32_t root;
    const uint32_t *member; /* `count` ranks, the root among them */
    const uint32_t *parent; /* of each member, a rank; the root's own is the root */
    uint32_t count;
};

struct hark_config {
    uint32_t me;    /* rank of this process, or HARK_RECOVERY */
    uint32_t ranks; /* processes of the job, 1 .. HARK_RANKS_MAX */
    /* My cluster (team): the ranks that roll back with me, ascending, disjoint, containing me. With
     * count 0 the protocol's default: all (coordinated, scmel, camel) or me alone (hydee, team).
     * sendet: always me alone. */
    const struct hark_range *cluster;
    uint32_t cluster_count;
    uint32_t generations; /* checkpoints kept, 1 .. 8; 0 stands for 2 */
    uint32_t copies;      /* scmel, team, camel: k copies of each determinant, 1 .. 8; 0: 1 */
    uint32_t flags;       /* HARK_DIGEST ... */
    /* camel, hydee, and team with HARK_WAVES_ALL: by ctx ascending, the same at all processes; read
     * by init only. hydee: multicasts only. team, camel: reductions only if `copies` is 1. */
    const struct hark_group *groups;
    uint32_t group_count;
    uint64_t epoch; /* sendet: the first epoch; 0 stands for 1 */
    uint32_t asks;  /* HARK_ASKS_*, for the embedder; cores do not read it */
    /* hydee: reports go up a tree of this fan-out, 2 ..; 0: all go to the recovery process. Not
     * with HARK_EXACT_GATE; all processes of a job have the same. */
    uint32_t fan;
};

/* ---- the interface of a protocol ------------------------------------------------------------- */

struct hark {       /* the head of every block; the protocol's own fields follow */
    uint32_t magic; /* HARK_MAGIC */
    uint16_t kind;  /* which protocol: its number in the registry, also on the wire */
    uint16_t more;  /* 1: only CONTINUE is legal */
    uint64_t bytes; /* size of the block */
    uint64_t used;  /* bytes in use, tables included */
    uint64_t want;  /* scratch: the size that the last HARK_EFULL asked for */
};
#define HARK_MAGIC 0x6b726168u

struct hark_names { /* a run of payload names: name.ssn .. last */
    struct hark_name name;
    uint64_t last;
};

struct hark_shape;
struct hark_words;

/* An option of a protocol, for command lines and scenarios: parts/options.h. */
struct hark_option {
    const char *name;    /* after --: "report-tree"; NULL: the end of a table */
    const char *value;   /* its value's name in help, "K"; NULL: it has none, and sets `bits` */
    const char *help;    /* what it does, in one line */
    const char *line;    /* how its line in a scenario begins, "reports tree"; NULL: it has none */
    const char *without; /* options it cannot be combined with, separated by a blank; NULL: none */
    const char *why;     /* the reason, where one is needed */
    uint32_t least, most, usual; /* of its value; `usual` is the default */
    uint32_t bits;               /* of an option without value */
    uint16_t at;                 /* offset of the uint32_t of struct hark_config that it sets */
    bool image;                  /* images depend on it: a resumed job needs the same */
};
#define HARK_SETS(member) ((uint16_t)offsetof(struct hark_config, member))
#define HARK_OPTIONS_END                                                                           \
    {                                                                                              \
        NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, false                                   \
    }

/* The class of programs that a protocol supports: any; piecewise deterministic (the same receive
 * order gives the same execution); send-deterministic (any receive order gives the same sends).
 * NOTHING: it survives no failure. */
enum { HARK_FOR_NOTHING = 0, HARK_FOR_ANY, HARK_FOR_PIECEWISE, HARK_FOR_SENDS };
struct hark_manual {   /* what the command's help says of a protocol */
    uint32_t programs; /* HARK_FOR_* */
    const char *back;  /* which processes roll back, a sentence; NULL: as for the protocol of its
                        * class whose `when` is NULL */
    /* The property of programs that this protocol suits better than the first choice of its class,
     * "many of its messages are broadcasts"; NULL: it is the first choice. */
    const char *when;
    const char *usage; /* shown after its name where it is recommended, "--clusters K"; or NULL */
    const char *calls; /* the processes that must call for checkpoints equally often; NULL: all */
    const struct hark_option *options; /* ends with an option without a name */
};

enum {                             /* traits */
    HARK_TRAIT_WANTS_OLD_CORE = 1, /* RESTARTED.old_core is needed after a rollback */
    HARK_TRAIT_GROUPS = 2,         /* multicasts use groups: always, or if an option asks for it */
    HARK_TRAIT_REDUCES = 4,        /* reductions use groups too */
    HARK_TRAIT_WAVES = 8,          /* supports HARK_WAVES_ALL, and `hark run` always sets it */
    HARK_TRAIT_USUAL = 16,         /* the default protocol */
    HARK_TRAIT_RECLUSTERS = 32,    /* supports HARK_RECLUSTER, with HARK_WAVES_ALL */
    HARK_TRAIT_DIGESTS = 64        /* supports HARK_DIGEST, which the others ignore */
};
/* Which processes roll back when one fails: it alone; its cluster; all; or (LINE) it alone, then
 * those that the recovery process names (HARK_FACT_BACK). With LINE a failure during a recovery
 * rolls back all of D again. */
enum { HARK_ROLLS_PROCESS = 1, HARK_ROLLS_CLUSTER = 2, HARK_ROLLS_ALL = 3, HARK_ROLLS_LINE = 4 };

/* A posted message, beside its header: the fields of its TRANSMIT. */
struct hark_posted {
    uint64_t ssn;
    uint32_t inc;           /* of the receiver: the incarnation that is meant */
    uint32_t header_length; /* bytes; at most HARK_POSTED_BYTES */
    uint32_t determinants;  /* determinants in the header, for figures */
    bool retain;            /* RETAIN follows */
};
#define HARK_POSTED_BYTES 512u

/* A message that was received, beside its payload. */
struct hark_received {
    uint64_t trim; /* TRIM follows, of messages to its sender on its ctx up to this ssn; 0: none */
    bool logged;   /* as of HANDUP */
};

struct hark_protocol {
    const char *name;
    uint16_t kind;
    uint8_t rolls;    /* HARK_ROLLS_* */
    uint8_t recovery; /* 1: needs a recovery process at HARK_RECOVERY */
    uint8_t traits;   /* HARK_TRAIT_* */
    const struct hark_manual *manual;
    const struct hark_shape *shape; /* every field with the paper's name: pack, unpack, inspect */
    /* Returns the bytes that a new block needs; 0: the configuration is invalid. A block grows with
     * the peers met, not with ranks. */
    uint64_t (*size)(const struct hark_config *config);
    /* Makes the initial state in `bytes` bytes at `p` (8-aligned). HARK_EINVAL, HARK_EFULL. */
    int (*init)(struct hark *p, uint64_t bytes, const struct hark_config *config);
    int (*step)(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
    /* Names the payloads that belong into an image, as runs: retained (OUT), and arrived but
     * undelivered (IN). *cursor starts at 0. Returns 1 and fills *run, or 0 at the end. */
    int (*names)(const struct hark *p, uint64_t *cursor, struct hark_names *run);
    /* Returns the first broken invariant in words, or NULL. For tests and explorers. */
    const char *(*violated)(const struct hark *p);
    /* Returns in words what is unfinished, or NULL. Asked when no process can make a step any
     * more. */
    const char *(*unrest)(const struct hark *p);
    /* Returns how many of the determinants that this state depends on are unstable (hark_unstable
     * in registry.h). The entry is NULL if that is always 0. */
    uint64_t (*unstable)(const struct hark *p);
    /* Writes what a frame carries beside its name or number, in words (parts/words.h): ", phase 2".
     * `p` is the core that sends it. If `p` is NULL, or a core of another protocol (the recovery
     * process), facts that only the sender knows are left out. Any header may be given. */
    void (*describe)(const struct hark *p, struct hark_bytes header, struct hark_words *words);
    /* The usual message. Most messages are posted and received while there is no recovery, no
     * checkpoint and no gap. For these a protocol may have two entries beside step, which do the
     * same in fewer instructions. If anything is not as usual they change nothing and return
     * HARK_UNUSUAL, and the embedder gives the events to step. Both may be NULL.
     *
     * post: SEND of a message to a process, if its effects are one TRANSMIT to that process, with
     * this message as its payload, and no more than RETAIN after it. Writes the header to `header`,
     * which has room for HARK_POSTED_BYTES. HARK_OK, HARK_UNUSUAL. */
    int (*post)(struct hark *p, const struct hark_posting *message, uint8_t *header,
        struct hark_posted *posted);
    /* receive: ARRIVE of a message for which the application waits, and its DELIVER, if their
     * effects are HANDUP and no more than one TRIM after it, of messages to its sender on its ctx.
     * Any header may be given; `received` is cleared by the caller. HARK_OK, HARK_UNUSUAL. */
    int (*receive)(struct hark *p, struct hark_bytes header, struct hark_received *received);
};

/* Returns the words for a status, for messages; never NULL. */
HARK_FN const char *hark_status_text(int status);
/* Returns the name of an event or effect type, as it is written above; never NULL. */
HARK_FN const char *hark_event_text(uint32_t type);

#if HARK_BODIES
HARK_FN const char *hark_status_text(int status)
{
    switch (status) {
    case HARK_OK: return "ok";
    case HARK_MORE: return "more effects to come";
    case HARK_WAIT: return "not now, try again after the next step";
    case HARK_UNUSUAL: return "not as usual, give it to step";
    case HARK_EINVAL: return "argument out of its range";
    case HARK_EFRAME: return "not a frame of this protocol";
    case HARK_EFULL: return "block too small";
    case HARK_ENOROOM: return "room for effects too small";
    case HARK_ESTATE: return "event not legal in this state";
    case HARK_EIMAGE: return "image of another protocol, version or process, or damaged";
    default: return "unknown status";
    }
}

HARK_FN const char *hark_event_text(uint32_t type)
{
    static const char *const events[] = {"SEND", "ARRIVE", "DELIVER", "MISS", "LOOK",
        "CHECKPOINT_POINT", "STORED", "COMBINED", "FAILED", "RESTARTED", "IDLE", "QUIET",
        "CONTINUE", "RECLUSTER"};
    static const char *const effects[] = {"TRANSMIT", "HANDUP", "HOLD", "DISCARD", "OFFER",
        "RETAIN", "TRIM", "PERSIST", "CAPTURE", "COMMIT", "DROP", "RESUME", "COMBINE", "ROLLBACK",
        "SUPPRESS", "DIVERGED", "RECOVERED"};
    if (type >= HARK_SEND && type <= HARK_RECLUSTER) return events[type - HARK_SEND];
    if (type >= HARK_TRANSMIT && type <= HARK_RECOVERED) return effects[type - HARK_TRANSMIT];
    return "?";
}
#endif

#ifdef __cplusplus
}
#endif
#endif
