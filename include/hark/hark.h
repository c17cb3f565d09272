/* hark.h: the one interface that every protocol shares.
 *
 * A protocol is a value (struct hark, a flat block without pointers) and pure functions over it:
 * an event goes in, effects come out. It never allocates, blocks, calls back, reads a clock or
 * keeps a global. The same state and the same event give the same effects, always.
 *
 * The contract
 *  1. A negative status, or HARK_WAIT, means that the state is as it was, as hark_pack() shows it,
 * and that there are no effects to look at; capacity is checked before anything moves.
 *  2. Effects are performed in array order; there is no other order. OFFER and ROLLBACK come last,
 * so that stepping again because of them is legal.
 *  3. Event memory stays the caller's; it is not read after the step.
 *  4. Effect memory (the array and the header bytes it points to) is valid until the next step that
 *     is given the same struct hark_effects.
 *  5. After HARK_MORE only CONTINUE is legal, until a step returns something else.
 *  6. Separate instances may run on separate threads; one instance needs its owner's lock.
 *  7. Bad input gives a status, never an assert; a broken invariant of ours traps (HARK_TRAP).
 *  8. The embedder keeps frames for an incarnation that has not started yet; the core discards
 *     older ones and holds newer ones.
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
#define HARK_VERSION       ((HARK_VERSION_MAJOR << 16) | (HARK_VERSION_MINOR << 8) | HARK_VERSION_PATCH)

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
/* What every message passes is kept in line there, what few do out of line, whatever else a program
 * includes. */
#define HARK_HOT  static inline __attribute__((always_inline, unused))
#define HARK_COLD static __attribute__((noinline, unused))

/* A function may be named as the struct that it finds or fills, as in C it may; g++ -Wshadow takes
 * it for one that hides a constructor. */
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

/* The only name of a payload. The embedder keeps the bytes under that name; cores never touch them.
 * What leaves (HARK_OUT) is named by its receiver, what comes (HARK_IN) by its sender. */
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
    HARK_WAIT = 2,     /* not now: nothing happened; give the event again after the next step */
    HARK_EINVAL = -1,  /* an argument or a field of the event is out of its range */
    HARK_EFRAME = -2,  /* the header is not one of this protocol: drop the frame and count it */
    HARK_EFULL = -3,   /* the block is too small: hark_wants, hark_grow, the event again */
    HARK_ENOROOM = -4, /* hark_effects has too little room: see there */
    HARK_ESTATE = -5,  /* the event is not legal now (CONTINUE expected, or rolled back) */
    HARK_EIMAGE = -6   /* the image is not one of this protocol, version or process */
};

/* ---- events: what happened ------------------------------------------------------------------- */

enum hark_event_type {
    HARK_SEND = 1, /* the application posts a message */
    HARK_ARRIVE,   /* a frame came off the wire, or is offered again */
    HARK_DELIVER,  /* the application takes a message that was handed up */
    HARK_MISS,     /* the application looked (test, probe) and found nothing */
    HARK_LOOK, /* the application looked (probe) and saw a message that was handed up, which it does
                * not take. HARK_WAIT, as of DELIVER: not this one now. Others that were handed up
                * are tried; if there is none, it is a MISS, or waits */
    HARK_CHECKPOINT_POINT, /* the application is at its next checkpoint call */
    HARK_STORED,    /* what CAPTURE or PERSIST asked for is durable, or failed to become so */
    HARK_COMBINED,  /* the result of a COMBINE */
    HARK_FAILED,    /* from the failure service, to every instance */
    HARK_RESTARTED, /* this is a new incarnation, and its block a new one; FAILED with the same re
                       follows */
    HARK_IDLE,      /* the embedder is about to wait: what was put off for batching goes now */
    HARK_QUIET, /* no application of the job can make a step, this one's neither, and nothing is on
                 * its way: all have finished, or everything is blocked. One that waits while others
                 * run is IDLE, not QUIET */
    HARK_CONTINUE, /* the next batch of effects */
    HARK_REGROUP /* hydee: the next map of clusters, of which the embedder tells every process; the
                  * first checkpoint at which all know it brings it into force. A new incarnation is
                  * told again. HARK_OK also for what is known already, HARK_ESTATE: another one is;
                  * one follows the other when a later wave than its own is decided */
};

struct hark_event {
    uint32_t type;
    union {
        struct {
            uint32_t peer; /* receiver, or group */
            uint16_t ctx;
            uint8_t to; /* HARK_PROCESS, HARK_GROUP */
            uint8_t pad;
            uint64_t length; /* of the payload, bytes */
            uint64_t digest; /* of the payload; 0 when the embedder makes none */
        } send;
        struct {                      /* ARRIVE, DELIVER, LOOK */
            struct hark_bytes header; /* as transmitted */
            uint64_t length;          /* of the payload, bytes */
        } frame;
        struct {
            bool due; /* the embedder would like a checkpoint to be taken here */
        } point;
        struct {
            bool stable; /* output waits for hark_unstable() to be 0: what it takes goes out now */
        } idle;
        struct {
            const struct hark_range *cluster; /* mine in it: ascending, disjoint, containing me */
            uint32_t cluster_count;
        } regroup;
        struct {
            uint32_t of; /* HARK_CAPTURE or HARK_PERSIST */
            int32_t ok;  /* 1 durable, 0 failed or refused */
            uint64_t id; /* as in the CAPTURE or PERSIST */
        } stored;
        struct {
            struct hark_name name;
            uint64_t digest;
        } combined;
        struct {
            uint32_t re;         /* recovery epoch: +1 at each announcement */
            uint32_t down_count; /* D: ranks that roll back, cumulative until recovery is over,
                                    ascending */
            const uint32_t *down;
            const struct hark_incarnation *inc; /* every incarnation that is not 0, by rank
                                                   ascending */
            const struct hark_decision *wave;   /* of every cluster that decided one, by cluster
                                                   ascending */
            uint32_t inc_count, wave_count;
        } failed;
        struct {
            uint64_t checkpoint;     /* id of the image; 0: the initial state, no image */
            uint32_t re;             /* of the announcement that explains this incarnation */
            uint32_t inc;            /* this process's own */
            struct hark_bytes image; /* what hark_pack gave when `checkpoint` was captured;
                                      * HARK_EIMAGE if that core had other copies, placement of
                                      * them, gate, groups or waves than this one */
            struct hark_bytes kept;  /* hark_pack of this process's earlier core at its ROLLBACK;
                                        empty after a crash */
            const uint64_t *again;   /* sendet: checkpoints beyond it that were decided and are
                                        undone, ascending */
            uint32_t again_count;
        } restarted;
    } u;
};

/* ---- effects: what the embedder must now do -------------------------------------------------- */

enum hark_effect_type {
    HARK_TRANSMIT = 101, /* header, and the payload named if any, to an incarnation of a process */
    HARK_HANDUP,  /* the arrived frame may be delivered. Those of a channel that are not taken yet
                   * come in the order of ssn if the  transport keeps frames of one process to
                   * another  in order; else the owner puts them in order. In a replay some  are
                   * handed up to  be seen: until it is its turn DELIVER says WAIT, and others that
                   * were handed up  come before */
    HARK_HOLD,    /* keep the arrived frame: not yet */
    HARK_DISCARD, /* the arrived frame is a duplicate or old */
    HARK_OFFER,   /* give the held frames of `peer` (HARK_RECOVERY: of all) again, as ARRIVE, oldest
                   * first: of whom the header says that it   is the sender, which is not who passed
                   * it   on. With a name.ssn only message `name` is asked for, which spares   a replay
                   * the   others; to give them too is no fault. One more OFFER meanwhile: when this one
                   * is   done */
    HARK_RETAIN,  /* the log keeps this payload, that of the event: posted, or (HARK_IN, or of a
                     group) just arrived */
    HARK_TRIM,    /* this entry and all of its channel up to it may go; a TRANSMIT of it that waits
                     needs its own copy */
    HARK_PERSIST, /* make this fact durable at the failure service, then STORED */
    HARK_CAPTURE, /* save for checkpoint `id`, then STORED */
    HARK_COMMIT,  /* checkpoint `id` is now a recovery point */
    HARK_DROP,    /* forget checkpoint `id` */
    HARK_RESUME,  /* the application may leave its checkpoint call */
    HARK_COMBINE, /* combine these contributions, which the log has, in this order: HARK_COMBINE_*
                   */
    HARK_ROLLBACK, /* become a new incarnation from checkpoint `id` */
    HARK_SUPPRESS, /* for traces: a re-execution whose message the receiver already has */
    HARK_DIVERGED, /* the re-execution did not send what was sent before */
    HARK_RECOVERED /* failure-free rules apply again */
};

/* Facts that PERSIST hands to the failure service; it refuses those of an older `re`. */
enum {
    HARK_FACT_WAVE = 1, /* the group of `rank` commits checkpoint wave `id` */
    HARK_FACT_DONE = 2, /* recovery of `rank` is over (HARK_RECOVERY: of all): out of D */
    HARK_FACT_BACK = 3, /* `rank` goes back to its checkpoint `id` too, by the recovery line: into
                           D, and `id` is what FAILED says of it */
    HARK_FACT_LINE = 4  /* the same, and it is the last: a new announcement */
};

struct hark_transmit {        /* a frame that leaves: header, and the payload named if any */
    uint32_t peer;            /* a rank, or HARK_RECOVERY */
    uint32_t inc;             /* the incarnation meant */
    struct hark_name name;    /* the payload; ssn 0: there is none */
    struct hark_bytes header; /* at most HARK_HEADER_MAX bytes */
    uint64_t phase;           /* for traces */
    uint32_t determinants;    /* how many go along, for figures */
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

/* What a COMBINE is in its run of several: the operands in order, then one RESULT or REPLY. */
enum {
    HARK_COMBINE_OPERAND = 0, /* `name` is the next operand */
    HARK_COMBINE_RESULT = 1,  /* combine all operands since the last result, keep it as `name`;
                               * operands that came in (HARK_IN, of a  process) are used up */
    HARK_COMBINE_REPLY = 2    /* the same, then give COMBINED */
};

struct hark_effect {
    uint32_t type;
    union {
        struct hark_transmit transmit;
        struct {
            bool logged; /* sendet: its sender is going to log it; for figures */
        } handup;
        struct {
            uint32_t peer;         /* a rank; HARK_RECOVERY: all */
            struct hark_name name; /* ssn 0: all of the peer's; else this message alone is asked for
                                    */
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

/* Where a step writes. The caller owns all of it and sets at, room, bytes, bytes_room, spare once.
 */
struct hark_effects {
    struct hark_effect *at;
    uint32_t count; /* written by the step */
    uint32_t room;
    uint8_t *bytes; /* headers */
    uint32_t used;  /* written by the step */
    uint32_t bytes_room;
    uint32_t spare; /* bytes behind each header that the core leaves alone, for an envelope of the
                       embedder's; 0 .. 64 */
};

/* ---- configuration --------------------------------------------------------------------------- */

enum {
    HARK_DIGEST = 1,     /* running digests per channel, compared at the last orphan */
    HARK_EXACT_GATE = 2, /* hydee: recovery waits by exact dependencies, for programs whose receives
                          * vary (E24); all processes of a job alike */
    HARK_TEAM_LOST = 4,  /* team: a whole team may be lost at once, so determinants count as stored
                          * only where another team  holds them (T-a); `copies` is 1 then; all
                          * processes of a job alike */
    HARK_WAVES_ALL = 16, /* hydee, team: a checkpoint is of all processes together, not of a group
                            alone; all processes of a job alike */
    HARK_FLAGS = HARK_DIGEST | HARK_EXACT_GATE | HARK_TEAM_LOST | HARK_WAVES_ALL /* no others */
};

enum {                    /* what an option asks of the embedder */
    HARK_ASKS_GROUPS = 1, /* to give trees: collectives go to groups */
    HARK_ASKS_REGROUP = 2 /* to give HARK_WAVES_ALL, and REGROUP when others should be together */
};

struct hark_group {   /* a group of processes, and the tree that messages to it travel along; see
                         parts/group.h */
    uint16_t ctx;     /* its number, and the context of its messages: 1 .. */
    uint16_t reduces; /* 1: all members contribute, and the root gets the result; 0: the root sends
                         to all */
    uint32_t root;
    const uint32_t *member; /* `count` ranks, the root among them */
    const uint32_t *parent; /* of each member the rank above it; the root's own is the root */
    uint32_t count;
};

struct hark_config {
    uint32_t me;                      /* rank of this process, or HARK_RECOVERY */
    uint32_t ranks;                   /* processes of the job, 1 .. HARK_RANKS_MAX */
    const struct hark_range *cluster; /* mine (team, group of processes that go back together):
                                         ascending, disjoint, containing me */
    uint32_t cluster_count; /* 0: the protocol's default (coordinated, scmel, camel: all; hydee,
                             * team: alone); sendet is alone always */
    uint32_t generations;   /* checkpoints kept, 1 .. 8; 0 stands for 2 */
    uint32_t copies; /* scmel, team, camel: k, copies of a determinant, 1 .. 8; 0 stands for 1 */
    uint32_t flags;
    const struct hark_group *groups; /* camel, hydee, team with HARK_WAVES_ALL: the groups, by ctx
                                      * ascending, the same everywhere; read by init only. hydee:
                                      * none that reduces; team, camel: none that reduces with more
                                      * than one copy */
    uint32_t group_count;
    uint64_t epoch; /* sendet: the first epoch; 0 stands for 1 */
    uint32_t asks;  /* HARK_ASKS_*: of the embedder, no core looks at it */
    uint32_t fan; /* hydee: reports go up a tree in which so many stand below each, 2 .. ; 0: all to
                   * the recovery process. Not with HARK_EXACT_GATE; all processes of a job alike */
};

/* ---- the uniform door ------------------------------------------------------------------------ */

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

/* What users may ask of a protocol: see parts/options.h. */
struct hark_option {
    const char *name;    /* on a command line, behind --: "report-tree"; NULL: the end of a table */
    const char *value;   /* what stands for its value in help, "K"; NULL: it takes none, and sets
                            `bits` */
    const char *help;    /* what it does, in a line */
    const char *line;    /* how a line of a scenario begins that asks for it, "reports tree"; NULL:
                            none does */
    const char *without; /* the options that it cannot be combined with, by name, a blank between
                            two; NULL: none */
    const char *why;     /* and why not, if that needs words */
    uint32_t least, most, usual; /* of its value; what is meant where nobody asks for it, which asks
                                    for nothing */
    uint32_t bits;               /* of one without value */
    uint16_t at;                 /* the uint32_t of struct hark_config that it sets, as offset */
    bool image;                  /* images are of one way: who resumes a job asks for the same */
};
#define HARK_SETS(member) ((uint16_t)offsetof(struct hark_config, member))
#define HARK_OPTIONS_END                                                                           \
    {                                                                                              \
        NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, false                                   \
    }

/* Programs that a protocol is for: any; those that do the same again when they receive the same in
 * the same order; those that send the same again in whatever order they receive. NOTHING: none that
 * has to survive anything. */
enum { HARK_FOR_NOTHING = 0, HARK_FOR_ANY, HARK_FOR_PIECEWISE, HARK_FOR_SENDS };
struct hark_manual {   /* what users are told of a protocol */
    uint32_t programs; /* HARK_FOR_* */
    const char *back; /* who goes back: "only the lost process goes back"; of one with `when` it may
                         be NULL */
    const char *when; /* what else is so of a program that it is better for: "many of its messages
                       * are broadcasts"; NULL: it is the first to take among those for such
                       * programs */
    const char *usage; /* behind its name where it is recommended: "--clusters K"; NULL: nothing */
    const char *calls; /* which processes must call for checkpoints equally often: "those of a
                          cluster"; NULL: all */
    const struct hark_option *options; /* up to one without a name */
};

/* What else a protocol wants or can. */
enum {
    HARK_TRAIT_WANTS_OLD_CORE = 1, /* who goes back though it lives wants to know what its earlier
                                      core did: RESTARTED.kept */
    HARK_TRAIT_GROUPS = 2, /* sends to groups, if it is given trees; without an option that asks for
                              them it always is */
    HARK_TRAIT_REDUCES = 4,  /* and reduces along them */
    HARK_TRAIT_WAVES = 8,    /* takes HARK_WAVES_ALL, and `hark run` always gives it that */
    HARK_TRAIT_USUAL = 16,   /* the one that runs where none is named */
    HARK_TRAIT_REGROUPS = 32 /* with HARK_WAVES_ALL, takes HARK_REGROUP */
};
/* Who goes back when a process fails. LINE: it alone, each process being a group of its own, and
 * then whom the recovery process names (HARK_FACT_BACK); and when another one fails before recovery
 * is over, all of D again. */
enum { HARK_ROLLS_PROCESS = 1, HARK_ROLLS_CLUSTER = 2, HARK_ROLLS_ALL = 3, HARK_ROLLS_LINE = 4 };

struct hark_protocol {
    const char *name;
    uint16_t kind;
    uint8_t rolls;    /* HARK_ROLLS_* */
    uint8_t recovery; /* 1: needs a recovery process at HARK_RECOVERY */
    uint8_t traits;   /* HARK_TRAIT_* */
    const struct hark_manual *manual;
    const struct hark_shape *shape; /* every field with the paper's name, for pack, unpack, inspect
                                     */
    /* Bytes that a block needs at first; it grows with peers met, never with ranks. 0: bad config.
     */
    uint64_t (*size)(const struct hark_config *config);
    /* Makes the initial state in `bytes` bytes at `p` (8-aligned). HARK_EINVAL, HARK_EFULL. */
    int (*init)(struct hark *p, uint64_t bytes, const struct hark_config *config);
    int (*step)(struct hark *p, const struct hark_event *event, struct hark_effects *effects);
    /* Which payloads belong into an image, as runs: retained (OUT), arrived and undelivered (IN).
     * *cursor starts at 0; returns 1 and fills *run, or 0 at the end. */
    int (*names)(const struct hark *p, uint64_t *cursor, struct hark_names *run);
    /* The first broken invariant in words, or NULL. For tests and explorers. */
    const char *(*violated)(const struct hark *p);
    /* What has not come to its end, in words, or NULL: for when nothing is on its way and nobody
     * can do anything any more. */
    const char *(*unrest)(const struct hark *p);
    /* How many determinants that this state depends on are not stable yet; NULL: there are never
     * any. */
    uint64_t (*unstable)(const struct hark *p);
    /* Writes what a frame carries beside its name or its number, in words (parts/words.h): ", phase
     * 2". `p` is the core that sends it; of NULL, or of another protocol's core, as the recovery
     * process is one, what only that knows is left out. Any header may be given. */
    void (*describe)(const struct hark *p, struct hark_bytes header, struct hark_words *words);
};

/* The words for a status, for messages: never NULL. */
HARK_FN const char *hark_status_text(int status);
/* The word for an event or effect type as printed above: never NULL. */
HARK_FN const char *hark_event_text(uint32_t type);

#if HARK_BODIES
HARK_FN const char *hark_status_text(int status)
{
    switch (status) {
    case HARK_OK: return "ok";
    case HARK_MORE: return "more effects to come";
    case HARK_WAIT: return "not now, try again after the next step";
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
        "CONTINUE", "REGROUP"};
    static const char *const effects[] = {"TRANSMIT", "HANDUP", "HOLD", "DISCARD", "OFFER",
        "RETAIN", "TRIM", "PERSIST", "CAPTURE", "COMMIT", "DROP", "RESUME", "COMBINE", "ROLLBACK",
        "SUPPRESS", "DIVERGED", "RECOVERED"};
    if (type >= HARK_SEND && type <= HARK_REGROUP) return events[type - HARK_SEND];
    if (type >= HARK_TRANSMIT && type <= HARK_RECOVERED) return effects[type - HARK_TRANSMIT];
    return "?";
}
#endif

#ifdef __cplusplus
}
#endif
#endif
