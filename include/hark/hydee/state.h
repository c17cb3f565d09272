/* hydee/state.h: the state of a process under HydEE; the first part of hydee.h, which explains the
 * names of the paper. */
#ifndef HARK_HYDEE_STATE_H
#define HARK_HYDEE_STATE_H

#include "../parts/group.h"
#include "../parts/member.h"
#include "../parts/positions.h"
#include "../parts/rpp.h"
#include "../recovery/past.h"
#include "../recovery/state.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_HYDEE_HEADER                                                                          \
    48u /* of an application message: the common part, phase u64, digest u64; with the             \
         * exact gate V follows (recovery/past.h) */
#define HARK_HYDEE_CTX_MAX 120 /* contexts that one pair of processes may use */
#define HARK_HYDEE_DIRECT                                                                          \
    UINT32_MAX /* in the header in place of the epoch: a multicast that its root                   \
                * sends directly while recovery runs */

enum {
    HARK_HYDEE_GROUP = HARK_POSITIONS_FLAGS, /* a channel from the root of a group to a member */
    HARK_HYDEE_MATE = HARK_POSITIONS_FLAGS << 1, /* the peer is of my own cluster */
    HARK_HYDEE_FREE = HARK_POSITIONS_FLAGS << 2  /* the log of the channel is no longer needed and
                                                    must be trimmed */
};

/* A channel with P_j on one context. The fields that every message uses come first. */
struct hark_hydee_channel {
    struct hark_channel channel; /* sent, recv: instead of Date (E5) */
    struct hark_queue log;       /* phases of Logs[j], which is pos.first .. sent */
    struct hark_queue rpp;       /* RPP[j] */
    struct hark_positions pos;
    struct hark_queue recorded;  /* phases of my orphans not yet sent again: {first ssn, phase} */
    struct hark_queue index;     /* exact gate, Logs[j]: {first ssn, number - ssn} */
    struct hark_queue rpp_index; /* exact gate, RPP[j]: the same */
};
HARK_STATIC_ASSERT(offsetof(struct hark_hydee_channel, pos.first) == 128,
    "a message looks at two cache lines of a row");

struct hark_hydee_below { /* a process directly below me in the tree of reports */
    uint32_t rank;
    uint32_t drained; /* 1: its DRAINED has arrived */
    uint64_t phase;   /* the highest phase of its UP frames; 0: none has arrived */
};

struct hark_hydee_group { /* a group that I belong to: hydee/multicast.h */
    uint32_t ctx, root;
    uint32_t logged, pad; /* logged 1: a member is in another cluster */
    uint64_t sent, first; /* at the root: msgLog is first .. sent */
};

/* A member of a group that I send to: at the root every other member, elsewhere my children. */
struct hark_hydee_branch {
    uint32_t ctx, rank, child;
    /* 1: the root and all processes on the path from the root to this one are of my cluster */
    uint32_t mates;
};

struct hark_hydee_tree { /* of reports: hydee/tree.h */
    uint32_t fan;        /* children of each process; 0: no tree */
    uint32_t stale;      /* scratch: least_phase must be computed again */
    /* scratch: type of the frame being sent to the children, and how many have got it */
    uint32_t fanout, fanout_sent;
    uint64_t least_phase; /* lowest recorded phase in `waits`; 0: not known yet */
    uint64_t last_up;     /* phase of my last UP; 0: none */
    struct hark_table below;
    /* scratch: phases of the orphans that I have received and that are not sent again */
    struct hark_phases waits;
};

struct hark_hydee {
    struct hark head;
    struct hark_endpoint endpoint;
    struct hark_wave wave;
    uint64_t phase; /* Phase_i, from 1 */
    uint64_t date;  /* Date_i: a Lamport-like counter, for people only (E5) */
    /* the phase of the last NotifySendMsg and NotifySendLog; infinite when no recovery runs */
    uint64_t released_phase;
    uint32_t recovering; /* 1: a recovery runs (Algorithms 2 and 3) */
    uint32_t reported; /* 1: my REPORT of this epoch is sent (tree: the answers to my POS are in) */
    uint32_t drained;  /* 1: my DRAINED of this epoch is sent */
    uint32_t flags;    /* HARK_DIGEST, HARK_EXACT_GATE */
    /* header length of every application message; 0 with the exact gate: lengths vary */
    uint32_t fixed_header_bytes;
    uint32_t report_channel, report_out; /* a REPORT being sent: channel, fragments sent */
    uint64_t report_at;                  /* ... and ssn on that channel */
    uint32_t busy;                       /* 1: hark_hydee_pump may have something to send */
    uint32_t gone;                       /* 1: rolled back, no event is legal any more */
    uint32_t usual, pad3;                /* scratch: 1: hark_hydee_usual(), as of the last step */
    uint32_t groups_configured;          /* groups of the configuration that I belong to */
    uint32_t waves_all;                  /* 1: HARK_WAVES_ALL */
    /* Index in `map` of the map in force, which holds my cluster; the other one holds my cluster in
     * the next map: hydee/recluster.h. */
    uint32_t in_force;
    struct hark_table map[2]; /* hark_range */
    struct hark_pool pool;    /* of all queues of the channels: Logs, RPP and the others */
    struct hark_table pairs;
    struct hark_table positions; /* positions of each kept image (ckptNo) */
    struct hark_past past;       /* exact gate */
    struct hark_hydee_tree tree;
    struct hark_table groups, branches;
    /* Scratch: the multicast that this step posts, and the branch that gets it next; the multicast
     * that this step passes on, likewise. */
    uint32_t multicast, multicast_next, pass, pass_next, passes_far, pad2;
    uint64_t multicast_length, multicast_digest, passes_phase, passes_digest;
    struct hark_head passes;
};

#define HARK_HF(m, s) HARK_FIELD(struct hark_hydee, m, s)
#define HARK_HC(m, s) HARK_FIELD(struct hark_hydee_channel, m, s)
static const struct hark_field hark_hydee_fields[] = {HARK_ENDPOINT_FIELDS(struct hark_hydee),
    HARK_WAVE_FIELDS(struct hark_hydee), HARK_HF(phase, "Phase"), HARK_HF(date, "Date"),
    HARK_HF(released_phase, "rel"), HARK_HF(recovering, ""), HARK_HF(reported, ""),
    HARK_HF(drained, ""), HARK_HF(flags, ""), HARK_HF(fixed_header_bytes, ""), HARK_HF(gone, ""),
    HARK_HF(groups_configured, ""), HARK_HF(waves_all, ""), HARK_HF(in_force, ""),
    HARK_HF(wave.map, ""), HARK_HF(wave.lead_map, ""), HARK_PAST_FIELDS(struct hark_hydee),
    HARK_HF(tree.fan, ""), HARK_HF(tree.least_phase, ""), HARK_HF(tree.last_up, "")};
static const struct hark_field hark_hydee_channel_fields[] = {
    HARK_CHANNEL_FIELDS(struct hark_hydee_channel), HARK_HC(pos.transmitted, "pend"),
    HARK_HC(pos.first, "Logs"), HARK_HC(pos.sent_at_failure, "sent"),
    HARK_HC(pos.last_orphan, "OrphanDate"), HARK_POSITIONS_FIELDS(struct hark_hydee_channel),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, log, "Logs.phase"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, pos.digests, "Logs.digest"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, rpp, "RPP"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, recorded, "recPh"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, index, "Logs.V"),
    HARK_FIELD_QUEUE(struct hark_hydee_channel, rpp_index, "RPP.V")};
static const struct hark_field hark_hydee_below_fields[] = {
    HARK_FIELD(struct hark_hydee_below, rank, "j"),
    HARK_FIELD(struct hark_hydee_below, drained, "DRAINED"),
    HARK_FIELD(struct hark_hydee_below, phase, "UP")};
#define HARK_HG(m, s) HARK_FIELD(struct hark_hydee_group, m, s)
#define HARK_HB(m, s) HARK_FIELD(struct hark_hydee_branch, m, s)
static const struct hark_field hark_hydee_group_fields[] = {HARK_HG(ctx, "group"),
    HARK_HG(root, "rootMap"), HARK_HG(logged, ""), HARK_HG(sent, "ssn"), HARK_HG(first, "msgLog")};
static const struct hark_field hark_hydee_branch_fields[] = {
    HARK_HB(ctx, "group"), HARK_HB(rank, "j"), HARK_HB(child, "childrenMap"), HARK_HB(mates, "")};
static const struct hark_rows hark_hydee_rows[] = {HARK_ENDPOINT_TABLES(struct hark_hydee),
    HARK_WAVE_TABLES(struct hark_hydee),
    {"map0", "Cluster", (uint16_t)offsetof(struct hark_hydee, map[0]), sizeof(struct hark_range), 2,
        hark_range_fields},
    {"map1", "Cluster", (uint16_t)offsetof(struct hark_hydee, map[1]), sizeof(struct hark_range), 2,
        hark_range_fields},
    HARK_PAIRS_TABLE(struct hark_hydee), HARK_IMAGE_POSITIONS_TABLE(struct hark_hydee),
    HARK_PAST_TABLES(struct hark_hydee),
    {"below", "", (uint16_t)offsetof(struct hark_hydee, tree.below),
        sizeof(struct hark_hydee_below), 3, hark_hydee_below_fields},
    {"groups", "", (uint16_t)offsetof(struct hark_hydee, groups), sizeof(struct hark_hydee_group),
        5, hark_hydee_group_fields},
    {"branches", "", (uint16_t)offsetof(struct hark_hydee, branches),
        sizeof(struct hark_hydee_branch), 4, hark_hydee_branch_fields},
    {"channels", "", (uint16_t)offsetof(struct hark_hydee, endpoint.channels),
        sizeof(struct hark_hydee_channel), HARK_COUNT(hark_hydee_channel_fields),
        hark_hydee_channel_fields},
    HARK_PHASES_TABLE(struct hark_hydee, tree.waits),
    {"pool", "", (uint16_t)offsetof(struct hark_hydee, pool.chunks), sizeof(struct hark_chunk), 0,
        NULL}};
HARK_FN bool hark_hydee_accept(struct hark *p);
static const struct hark_shape hark_hydee_shape = {"hydee", 7, HARK_COUNT(hark_hydee_fields),
    HARK_COUNT(hark_hydee_rows), sizeof(struct hark_hydee), hark_hydee_fields, hark_hydee_rows,
    offsetof(struct hark_hydee, pool), hark_hydee_frames, HARK_COUNT(hark_hydee_frames),
    hark_hydee_accept};
static const struct hark_exchange hark_hydee_exchange = {
    offsetof(struct hark_hydee_channel, pos), 0, HARK_HYDEE_MATE, HARK_HYDEE_CTX_MAX};

#ifdef __cplusplus
}
#endif
#endif
