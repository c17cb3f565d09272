/* recovery/state.h: the state of the recovery process; recovery.h explains the names of the
 * paper. */
#ifndef HARK_RECOVERY_STATE_H
#define HARK_RECOVERY_STATE_H

#include "../parts/frames.h"
#include "line.h"
#include "past.h"
#include "phases.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_KIND_HYDEE    3
#define HARK_KIND_RECOVERY 4 /* of the block; its frames have the kind of its members */
#define HARK_KIND_SENDET   8

#define HARK_R_EXACT                                                                               \
    2u /* in the control word of a REPORT: its rows have numbers, for the exact gate */

struct hark_orphan { /* a run of messages first .. last */
    uint64_t first, last;
    uint64_t phase; /* as their receiver recorded it */
    /* Exact gate: the number of `first` among all messages that src posted between clusters. Within
     * a run numbers are consecutive. */
    uint64_t number;
};

/* Messages from src to dst on ctx that src has not sent again. Runs leave at the front. */
struct hark_orphans {
    uint32_t src, dst;
    uint16_t ctx, pad;
    uint32_t pad2;
    struct hark_queue runs; /* of hark_orphan, ascending; never empty */
};
#define HARK_ORPHAN_WORDS 4u
HARK_STATIC_ASSERT(sizeof(struct hark_orphan) == HARK_ORPHAN_WORDS * 8, "a row of a queue");

/* A report that is not complete. `missing`: fragments expected minus fragments arrived, modulo
 * 2^32. */
struct hark_partial {
    uint32_t rank;
    uint32_t missing;
    uint32_t last; /* 1: the last fragment came */
    uint32_t pad;
};

struct hark_recovery {
    struct hark head;
    uint32_t me;    /* HARK_RECOVERY */
    uint32_t ranks; /* n */
    uint32_t re;
    uint32_t stage;          /* HARK_R_* */
    uint64_t released_phase; /* the phase up to which sends are released */
    uint32_t offer;
    /* type of the frame being sent to all members; how many have got it */
    uint32_t fanout, fanout_sent;
    uint32_t drained;
    uint32_t exact;   /* 1: the members use the exact gate (recovery/past.h) */
    uint32_t change;  /* RELEASE carries the frontier of process change - 1; 0: of all processes */
    uint32_t listing; /* ... and then from this row on */
    uint32_t member;  /* kind of its members; 0: no frame has arrived yet */
    /* children of each process in the tree of reports (recovery/tree.h); 0: no tree */
    uint32_t fan;
    struct hark_line line;      /* sendet */
    struct hark_table down;     /* hark_range: D */
    struct hark_table incs;     /* hark_inc_range */
    struct hark_table reported; /* hark_range */
    struct hark_table partial;
    struct hark_table orphans; /* hark_orphans, ascending by (src, dst, ctx) */
    struct hark_pool pool;     /* of the runs in `orphans` */
    struct hark_phases phases; /* scratch: phases of the same runs */
    uint32_t runs;             /* scratch: number of the same runs */
    uint32_t pad;
    /* hark_entry, exact gate: the first orphan of each process that is not sent again */
    struct hark_table frontier;
};
enum {
    HARK_R_CALM = 0,
    HARK_R_COLLECTING,
    HARK_R_RELEASING,
    HARK_R_DRAINING,
    HARK_R_DONE,
    HARK_R_LINING
};

static const struct hark_field hark_orphan_fields[] = {HARK_FIELD(struct hark_orphans, src, "i"),
    HARK_FIELD(struct hark_orphans, dst, "j"), HARK_FIELD(struct hark_orphans, ctx, "ctx"),
    HARK_FIELD_QUEUE(struct hark_orphans, runs, "ssn, Phase")};
static const struct hark_field hark_partial_fields[] = {HARK_FIELD(struct hark_partial, rank, "j"),
    HARK_FIELD(struct hark_partial, missing, ""), HARK_FIELD(struct hark_partial, last, "")};
static const struct hark_field hark_recovery_fields[] = {HARK_FIELD(struct hark_recovery, me, ""),
    HARK_FIELD(struct hark_recovery, ranks, "n"), HARK_FIELD(struct hark_recovery, re, "re"),
    HARK_FIELD(struct hark_recovery, stage, ""),
    HARK_FIELD(struct hark_recovery, released_phase, "rel"),
    HARK_FIELD(struct hark_recovery, offer, ""), HARK_FIELD(struct hark_recovery, fanout, ""),
    HARK_FIELD(struct hark_recovery, fanout_sent, ""),
    HARK_FIELD(struct hark_recovery, drained, "DRAINED"),
    HARK_FIELD(struct hark_recovery, exact, ""), HARK_FIELD(struct hark_recovery, change, ""),
    HARK_FIELD(struct hark_recovery, listing, ""), HARK_FIELD(struct hark_recovery, member, ""),
    HARK_FIELD(struct hark_recovery, fan, ""), HARK_LINE_FIELDS(struct hark_recovery)};
static const struct hark_rows hark_recovery_rows[] = {
    {"incarnations", "", (uint16_t)offsetof(struct hark_recovery, incs),
        sizeof(struct hark_inc_range), 3, hark_inc_range_fields},
    {"reported", "", (uint16_t)offsetof(struct hark_recovery, reported), sizeof(struct hark_range),
        2, hark_range_fields},
    {"partial", "", (uint16_t)offsetof(struct hark_recovery, partial), sizeof(struct hark_partial),
        3, hark_partial_fields},
    {"orphans", "NbOrphPhase", (uint16_t)offsetof(struct hark_recovery, orphans),
        sizeof(struct hark_orphans), 4, hark_orphan_fields},
    {"frontier", "", (uint16_t)offsetof(struct hark_recovery, frontier), sizeof(struct hark_entry),
        3, hark_entry_fields},
    {"down", "D", (uint16_t)offsetof(struct hark_recovery, down), sizeof(struct hark_range), 2,
        hark_range_fields},
    HARK_LINE_TABLES(struct hark_recovery), HARK_PHASES_TABLE(struct hark_recovery, phases),
    {"pool", "", (uint16_t)offsetof(struct hark_recovery, pool.chunks), sizeof(struct hark_chunk),
        0, NULL}};
HARK_FN bool hark_recovery_accept(struct hark *p);
static const struct hark_shape hark_recovery_shape = {"recovery", 6,
    HARK_COUNT(hark_recovery_fields), HARK_COUNT(hark_recovery_rows), sizeof(struct hark_recovery),
    hark_recovery_fields, hark_recovery_rows, offsetof(struct hark_recovery, pool),
    hark_hydee_frames, HARK_COUNT(hark_hydee_frames), hark_recovery_accept};

#if HARK_BODIES
/* Starts a fan-out, which sends a frame of this type to all members. */
static inline void hark_recovery_tell(struct hark_recovery *s, uint32_t type)
{
    if (s->fanout && s->fanout_sent) HARK_TRAP(); /* a fan-out is complete before the next event */
    s->fanout = type;
    s->fanout_sent = 0;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
