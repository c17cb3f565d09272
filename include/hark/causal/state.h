/* causal/state.h: the state of a process under causal message logging; the first part of scmel.h.
 *
 * Terms. A determinant is loose while too few processes are known to hold a copy of it. The whole
 * of a reduction is the combined contribution of all children of its root; the keeper is the child
 * of the root that keeps a second copy of it (causal/reduction.h). A mate is a member of my team.
 */
#ifndef HARK_CAUSAL_STATE_H
#define HARK_CAUSAL_STATE_H

#include "../parts/member.h"
#include "determinant.h"
#include "owed.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#define HARK_KIND_SCMEL  5
#define HARK_KIND_TEAM   6
#define HARK_KIND_CAMEL  7
#define HARK_SCMEL_IMAGE 7u /* version of the images of all three */
#define HARK_SCMEL_HEADER                                                                          \
    40u /* of an application message: common header, u16 determinants, u16 acks, u32 k */
#define HARK_SCMEL_WHOLE                                                                           \
    0x8000u /* flag in the count of acknowledgements: the payload is the whole of a reduction */
#define HARK_SCMEL_KEEPS (1u << 16) /* beside a context in DETS: the receiver is the keeper */
#define HARK_SCMEL_ACKS  8u         /* the most on a message */
#define HARK_SCMEL_OWED  8u /* unacknowledged determinants of a peer that make an ACK, I10 */
#ifndef HARK_SCMEL_ROOM
#define HARK_SCMEL_ROOM                                                                            \
    (HARK_FRAGMENT - HARK_SCMEL_HEADER - HARK_SCMEL_ACKS * HARK_ACK_BYTES) /* for determinants */
#endif
#ifndef HARK_SCMEL_LOOSE
#define HARK_SCMEL_LOOSE                                                                           \
    0u /* loose determinants that make a SPREAD; 0: half of the number that fits into a header */
#endif
#define HARK_SCMEL_NOBODY (UINT32_MAX - 1) /* not a rank and never a holder */
#define HARK_SCMEL_CTX_MAX                                                                         \
    120u /* contexts in a READY; other channels are replayed from the log's beginning */

/* Control frames. ACK, SPREAD, TRIM and RACK are judged by incarnations alone, the others belong to
 * one epoch. */
enum {
    HARK_S_ACK = 16,
    HARK_S_SPREAD,
    HARK_S_DETS,
    HARK_S_READY,
    HARK_S_DONE,
    HARK_S_TRIM,
    HARK_S_RACK
};
/* Which processes roll back together: a process alone; a team, one process of which may die (T-b);
 * a team, all of which may die at once (T-a). */
enum { HARK_SCMEL_ALONE = 0, HARK_SCMEL_TEAMS, HARK_SCMEL_TEAM_LOST };
enum { HARK_SCMEL_NORMAL = 0, HARK_SCMEL_COLLECT, HARK_SCMEL_REPLAY };
/* TRIM effects of a group: of own multicasts or contributions, of the wholes. */
enum { HARK_SCMEL_TRIM_OWN = 1, HARK_SCMEL_TRIM_ALL = 2 };
/* Flags of a pair. DUE: DETS to it is due. HELD: a later fragment of its DETS is held. READY: its
 * READY has come. KNOWN: its DETS are complete. */
enum { HARK_SCMEL_DUE = 1, HARK_SCMEL_HELD = 2, HARK_SCMEL_READY = 4, HARK_SCMEL_KNOWN = 8 };
/* Flags of a channel. TRIM: a TRIM effect is due. AHEAD: a SPREAD to the peer is due; WENT: it is
 * not acknowledged yet. TELL: a TRIM frame to the peer is due. GROUP: it is the channel of a group,
 * and messages on it are multicasts, or parts of a reduction. MATE: the peer is of my team. */
enum {
    HARK_SCMEL_TRIM = HARK_OWN_FLAGS,
    HARK_SCMEL_AHEAD = HARK_OWN_FLAGS << 1,
    HARK_SCMEL_WENT = HARK_OWN_FLAGS << 2,
    HARK_SCMEL_TELL = HARK_OWN_FLAGS << 3,
    HARK_SCMEL_GROUP = HARK_OWN_FLAGS << 4,
    HARK_SCMEL_MATE = HARK_OWN_FLAGS << 5
};
/* Kinds of positions. */
enum {
    HARK_SCMEL_SENT = 0,
    HARK_SCMEL_RSN = 1,
    HARK_SCMEL_RECV = 2,
    HARK_SCMEL_GROUPS = 3,
    HARK_SCMEL_KEPT = 4
};

struct hark_scmel_channel {
    struct hark_channel channel;
    uint64_t transmitted; /* up to this ssn; transmitted+1 .. sent are put off */
    uint64_t first;       /* msgLog of j is first .. sent */
    uint64_t peer_sent;   /* sent_j[i], from j's DETS */
    uint64_t carried;     /* this channel carried the own loose determinants up to this rsn */
    uint64_t from;        /* the first ssn that arrived from incarnation `accepted` of j */
    uint64_t kept;        /* recv at the oldest kept image, for the TRIM to j */
    uint32_t accepted;
    uint32_t log; /* scratch: where the determinants of j were */
};

struct hark_scmel_log { /* detLog of one creator */
    uint32_t rank, pad;
    uint64_t acked; /* acknowledged to the creator, or owed, up to this rsn */
    struct hark_dets dets;
};

struct hark_scmel_pair { /* a process with which this one exchanges recovery frames */
    uint32_t rank, flags;
    uint32_t next, pad; /* next: the fragment of its DETS that comes next */
};

/* A position at a kept image: of a channel `sent` or `recv`, of a group `sent` or `whole_keeper`,
 * of a creator the highest rsn known. */
struct hark_scmel_position {
    uint64_t id;
    uint32_t peer;
    uint16_t ctx, what;
    uint64_t at;
};

struct hark_scmel_group { /* a multicast or reduction group that I belong to */
    uint32_t ctx, root, parent;
    uint32_t trim;  /* TRIM effects that are due: HARK_SCMEL_TRIM_OWN, HARK_SCMEL_TRIM_ALL */
    uint64_t sent;  /* ssn of the last multicast at the root, or of my last contribution that was
                       combined */
    uint64_t first; /* msgLog is first .. sent */
    /* The highest ssn that a member had when the root rolled back. Up to it the root sends
     * directly, not along the tree. */
    uint64_t again;
    uint32_t reduces, rack_due; /* it is a reduction; RACK to my children is due, next branch + 1 */
    uint64_t made;              /* redNo: own contributions */
    uint64_t done;              /* reductions known to be complete */
    /* The log has the wholes from here on: at the root up to `whole_root`, at the keeper up to
     * `whole_keeper`. */
    uint64_t whole_first;
    uint64_t whole_root;        /* the root has the wholes up to here */
    uint64_t whole_keeper;      /* the keeper has the wholes up to here, as far as I know */
    uint64_t combining;         /* 0, or the reduction whose COMBINED is awaited */
    uint32_t keeps, report_due; /* I am the keeper; a RACK to the root, of what I have, is due */
};

struct hark_scmel_branch { /* a member that I send to: at the root every member, else my children */
    uint32_t ctx, rank, child, pad;
};
HARK_STATIC_ASSERT(sizeof(struct hark_scmel_branch) % 8 == 0, "and the table behind it too");

struct hark_scmel_along { /* 8 bytes of forwarded determinants */
    uint64_t bytes;
};

struct hark_scmel_walk { /* a walk over the determinants for one process: list 0 its own, 1
                            mine, 2.. others' */
    uint32_t list, open;
    struct hark_dets_place at;
};

struct hark_scmel {
    struct hark head;
    struct hark_endpoint endpoint;
    struct hark_wave wave;
    uint32_t k;                      /* copies wanted of each determinant */
    uint32_t team_checkpoints_alone; /* a team's checkpoints are its own, and TRIM notifies
                                        processes outside */
    uint32_t mode;                   /* normal; collect: DETS are awaited; replay */
    uint64_t rsn;                    /* deliveries and looks since the job began */
    uint64_t published_rsn;          /* no own determinant beyond it has left this process */
    uint32_t recovering;             /* D is not empty */
    uint32_t determinants_from;      /* number of processes whose DETS are complete */
    uint32_t persisting;             /* DONE of this epoch is being made durable */
    uint32_t fresh;      /* rows that became loose since the last SPREAD to the next ranks */
    uint32_t late;       /* messages may be put off */
    uint32_t busy, gone; /* busy: some of the frames below may be due */
    uint32_t ready, done, spread; /* rounds of frames under way: next rank or target, + 1 */
    uint32_t ack_peer, ack_all;   /* the peer whose acknowledgements go now, + 1; all go */
    /* The OFFER that is due: of all messages of a peer, + 1; with offer_ssn, of one message of
     * it. */
    uint32_t offer_peer, offer_ctx;
    uint64_t offer_ssn;
    /* The DETS under way: receiver + 1, channels written, fragments. */
    uint32_t walk_rank, walk_sent, fragment;
    struct hark_scmel_walk walk;
    uint32_t awaited; /* SPREADs that are not acknowledged yet */
    uint32_t teams;   /* HARK_SCMEL_ALONE, ... */
    /* Processes that received no message from me may hold own determinants: TRIM goes to all
     * processes this many more times. */
    uint32_t trim_broadcasts_left;
    uint32_t trim_peers_due;         /* TRIM is being sent to the peers marked HARK_SCMEL_TELL */
    uint32_t trim_all_next;          /* TRIM is being sent to all: next rank + 1 */
    uint64_t oldest_image_rsn;       /* rsn at the oldest kept image */
    uint32_t forward;                /* a multicast is being forwarded: next branch + 1 */
    uint32_t forwarded_determinants; /* scratch: how many determinants are forwarded with it */
    uint32_t posting;                /* scratch: ctx of the multicast that this step posts */
    uint32_t usual, pad;             /* scratch: 1: hark_scmel_usual(), as of the last step */
    /* combine: a reduction may be complete; combine_at: the group whose COMBINE is going out, + 1;
     * combine_next: its next branch, + 1. */
    uint32_t combine;
    uint32_t combine_at, combine_next;
    struct hark_head passes; /* scratch: header of the multicast that is being forwarded */
    /* rsnMap: own determinants. In a replay those beyond rsn, which others held, are still to be
     * replayed. */
    struct hark_dets own;
    struct hark_pool pool;
    struct hark_table pairs, positions, owed, logs, groups, branches;
    /* Determinants, as on the wire, that are forwarded with a multicast; empty between steps. */
    struct hark_table along;
    struct hark_table team; /* hark_range: the ranks that roll back with me */
};

#define HARK_SF(m, s) HARK_FIELD(struct hark_scmel, m, s)
#define HARK_SC(m, s) HARK_FIELD(struct hark_scmel_channel, m, s)
static const struct hark_field hark_scmel_fields[] = {HARK_ENDPOINT_FIELDS(struct hark_scmel),
    HARK_SF(k, "k"), HARK_SF(team_checkpoints_alone, ""), HARK_WAVE_FIELDS(struct hark_scmel),
    HARK_SF(mode, "mode"), HARK_SF(rsn, "rsn"), HARK_SF(published_rsn, ""), HARK_SF(recovering, ""),
    HARK_SF(determinants_from, "AllDets"), HARK_SF(persisting, ""), HARK_SF(fresh, ""),
    HARK_SF(awaited, ""), HARK_SF(late, ""), HARK_SF(gone, ""), HARK_SF(teams, ""),
    HARK_SF(trim_broadcasts_left, ""), HARK_SF(oldest_image_rsn, ""),
    HARK_DETS_FIELDS(struct hark_scmel, own, "rsnMap")};
static const struct hark_field hark_scmel_channel_fields[] = {
    HARK_CHANNEL_FIELDS(struct hark_scmel_channel), HARK_SC(transmitted, ""),
    HARK_SC(first, "msgLog"), HARK_SC(peer_sent, ""), HARK_SC(carried, "dets"), HARK_SC(from, ""),
    HARK_SC(kept, ""), HARK_SC(accepted, "incMap")};
static const struct hark_field hark_scmel_log_fields[] = {
    HARK_FIELD(struct hark_scmel_log, rank, "recver"), HARK_FIELD(struct hark_scmel_log, acked, ""),
    HARK_DETS_FIELDS(struct hark_scmel_log, dets, "detLog")};
static const struct hark_field hark_scmel_pair_fields[] = {
    HARK_FIELD(struct hark_scmel_pair, rank, "j"), HARK_FIELD(struct hark_scmel_pair, flags, ""),
    HARK_FIELD(struct hark_scmel_pair, next, "")};
static const struct hark_field hark_scmel_position_fields[] = {
    HARK_FIELD(struct hark_scmel_position, id, "ckptNo"),
    HARK_FIELD(struct hark_scmel_position, peer, "j"),
    HARK_FIELD(struct hark_scmel_position, ctx, "ctx"),
    HARK_FIELD(struct hark_scmel_position, what, ""),
    HARK_FIELD(struct hark_scmel_position, at, "")};
#define HARK_SG(m, s) HARK_FIELD(struct hark_scmel_group, m, s)
#define HARK_SB(m, s) HARK_FIELD(struct hark_scmel_branch, m, s)
static const struct hark_field hark_scmel_group_fields[] = {HARK_SG(ctx, "group"),
    HARK_SG(root, "rootMap"), HARK_SG(parent, "parentMap"), HARK_SG(trim, ""), HARK_SG(sent, "ssn"),
    HARK_SG(first, "msgLog"), HARK_SG(again, ""), HARK_SG(reduces, ""), HARK_SG(rack_due, ""),
    HARK_SG(made, "redNo"), HARK_SG(done, "done"), HARK_SG(whole_first, ""),
    HARK_SG(whole_root, ""), HARK_SG(whole_keeper, ""), HARK_SG(combining, ""), HARK_SG(keeps, ""),
    HARK_SG(report_due, "")};
static const struct hark_field hark_scmel_branch_fields[] = {
    HARK_SB(ctx, "group"), HARK_SB(rank, "j"), HARK_SB(child, "childrenMap")};
static const struct hark_field hark_scmel_along_fields[] = {
    HARK_FIELD(struct hark_scmel_along, bytes, "dets")};
static const struct hark_rows hark_scmel_rows[] = {HARK_ENDPOINT_TABLES(struct hark_scmel),
    HARK_WAVE_TABLES(struct hark_scmel),
    {"pairs", "", (uint16_t)offsetof(struct hark_scmel, pairs), sizeof(struct hark_scmel_pair), 3,
        hark_scmel_pair_fields},
    {"positions", "", (uint16_t)offsetof(struct hark_scmel, positions),
        sizeof(struct hark_scmel_position), 5, hark_scmel_position_fields},
    {"owed", "", (uint16_t)offsetof(struct hark_scmel, owed), sizeof(struct hark_owed), 4,
        hark_owed_fields},
    {"logs", "detLog", (uint16_t)offsetof(struct hark_scmel, logs), sizeof(struct hark_scmel_log),
        HARK_COUNT(hark_scmel_log_fields), hark_scmel_log_fields},
    {"groups", "", (uint16_t)offsetof(struct hark_scmel, groups), sizeof(struct hark_scmel_group),
        HARK_COUNT(hark_scmel_group_fields), hark_scmel_group_fields},
    {"branches", "", (uint16_t)offsetof(struct hark_scmel, branches),
        sizeof(struct hark_scmel_branch), 3, hark_scmel_branch_fields},
    {"along", "", (uint16_t)offsetof(struct hark_scmel, along), sizeof(struct hark_scmel_along), 1,
        hark_scmel_along_fields},
    {"team", "Team", (uint16_t)offsetof(struct hark_scmel, team), sizeof(struct hark_range), 2,
        hark_range_fields},
    {"channels", "", (uint16_t)offsetof(struct hark_scmel, endpoint.channels),
        sizeof(struct hark_scmel_channel), HARK_COUNT(hark_scmel_channel_fields),
        hark_scmel_channel_fields},
    {"pool", "", (uint16_t)offsetof(struct hark_scmel, pool.chunks), sizeof(struct hark_chunk), 0,
        NULL}};
HARK_FN bool hark_scmel_accept(struct hark *p);
static const struct hark_frame_kind hark_scmel_frames[] = {
    {"ACK", "I keep these determinants for you"}, {"SPREAD", "keep these determinants for me"},
    {"DETS", "I kept these determinants of yours, and this is where our messages stand"},
    {"READY", "I know in which order to receive: send me again what I lack"},
    {"DONE", "my recovery is over"}, {"TRIM", "I do not need your messages up to this one again"},
    {"RACK", "reductions up to this one are safe: forget what you gave"}};
static const struct hark_shape hark_scmel_shape = {"scmel", HARK_SCMEL_IMAGE,
    HARK_COUNT(hark_scmel_fields), HARK_COUNT(hark_scmel_rows), sizeof(struct hark_scmel),
    hark_scmel_fields, hark_scmel_rows, offsetof(struct hark_scmel, pool), hark_scmel_frames,
    HARK_COUNT(hark_scmel_frames), hark_scmel_accept};
HARK_STATIC_ASSERT(sizeof(struct hark_scmel) % 8 == 0, "tables begin aligned");

#if HARK_BODIES

static inline struct hark_scmel_channel *hark_scmel_at(struct hark_scmel *s, uint32_t i)
{
    return (struct hark_scmel_channel *)hark_row(&s->head, &s->endpoint.channels, i);
}

static inline struct hark_scmel_log *hark_scmel_log_at(struct hark_scmel *s, uint32_t i)
{
    return (struct hark_scmel_log *)hark_row(&s->head, &s->logs, i);
}

/* Returns the group of that context; NULL if there is none, or if I am not a member. */
static inline struct hark_scmel_group *hark_scmel_group(struct hark_scmel *s, uint16_t ctx)
{
    for (uint32_t i = 0; i < s->groups.count; i++) {
        struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(&s->head, &s->groups, i);
        if (g->ctx == ctx) return g;
    }
    return NULL;
}

static inline uint32_t hark_scmel_along_rows(uint32_t bytes)
{
    return (bytes + (uint32_t)sizeof(struct hark_scmel_along) - 1) /
           (uint32_t)sizeof(struct hark_scmel_along);
}

/* True if this is the root's channel to a member that may have to forward what it receives. */
static inline bool hark_scmel_is_passed_on(struct hark_scmel *s, const struct hark_scmel_channel *c)
{
    return c->channel.flags & HARK_SCMEL_GROUP && !hark_scmel_group(s, c->channel.ctx)->reduces;
}

/* Returns the ssn of the channel's first message in the log. */
static inline uint64_t hark_scmel_first(struct hark_scmel *s, const struct hark_scmel_channel *c)
{
    if (!(c->channel.flags & HARK_SCMEL_GROUP)) return c->first;
    const struct hark_scmel_group *g = hark_scmel_group(s, c->channel.ctx);
    return g->reduces && (g->root == s->endpoint.me || g->whole_first <= g->whole_keeper)
               ? g->whole_first
               : g->first;
}

/* Returns the name of a message of the channel. A multicast, or a combined contribution, is logged
 * once, under the group's name. Between the root of a reduction and the keeper the message is the
 * whole, if the sender has it. */
static inline struct hark_name hark_scmel_name(
    struct hark_scmel *s, const struct hark_scmel_channel *c, uint64_t ssn)
{
    if (!(c->channel.flags & HARK_SCMEL_GROUP)) return hark_name_of(HARK_OUT, &c->channel, ssn);
    const struct hark_scmel_group *g = hark_scmel_group(s, c->channel.ctx);
    struct hark_name n = hark_name_of_group(c->channel.ctx, ssn);
    if (g->reduces && g->root == s->endpoint.me ? c->channel.peer != s->endpoint.me
                                                : g->keeps && ssn <= g->whole_keeper)
        n.way = HARK_IN;
    return n;
}

/* True if `rank` always rolls back with me. False without teams. */
static inline bool hark_scmel_mate(const struct hark_scmel *s, uint32_t rank)
{
    return s->teams && hark_ranges_hold(&s->head, &s->team, rank);
}

static inline struct hark_scmel_channel *hark_scmel_channel(
    struct hark_scmel *s, uint32_t peer, uint16_t ctx)
{
    bool made;
    struct hark_scmel_channel *c = (struct hark_scmel_channel *)(void *)hark_channel_make(
        &s->head, &s->endpoint, peer, ctx, &made);
    if (made) c->first = 1;
    if (made && hark_scmel_mate(s, peer)) c->channel.flags |= HARK_SCMEL_MATE;
    return c;
}

/* Returns the row of `rank`, in a table whose rows begin with a rank; NULL if there is none. *i is
 * its place, or where it would be. */
static inline void *hark_scmel_ranked(
    struct hark *p, const struct hark_table *t, uint32_t rank, uint32_t *i)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (*(const uint32_t *)hark_row(p, t, mid) < rank) low = mid + 1;
        else high = mid;
    }
    *i = low;
    return low < t->count && *(const uint32_t *)hark_row(p, t, low) == rank ? hark_row(p, t, low)
                                                                            : NULL;
}

/* True if a copy at `rank` survives a loss that takes me too.                           4.1, T-a */
static inline bool hark_scmel_is_valid_holder(const struct hark_scmel *s, uint32_t rank)
{
    return s->teams != HARK_SCMEL_TEAM_LOST || !hark_scmel_mate(s, rank);
}

/* True if determinants of others are forwarded until they have enough copies. */
static inline bool hark_scmel_forwards(const struct hark_scmel *s)
{
    return s->k > 1 || s->teams == HARK_SCMEL_TEAM_LOST;
}

/* Returns how many holders besides me a determinant of `creator` needs. */
static inline uint32_t hark_scmel_copies_needed(const struct hark_scmel *s, uint32_t creator)
{
    if (s->teams == HARK_SCMEL_TEAM_LOST && hark_scmel_mate(s, creator)) return s->k;
    return s->k ? s->k - 1 : 0;
}

static inline struct hark_scmel_log *hark_scmel_log(struct hark_scmel *s, uint32_t rank, bool make)
{
    uint32_t i;
    struct hark_scmel_log *log =
        (struct hark_scmel_log *)hark_scmel_ranked(&s->head, &s->logs, rank, &i);
    if (log || !make) return log;
    log = (struct hark_scmel_log *)hark_insert(&s->head, &s->logs, i);
    log->rank = rank;
    hark_dets_init(&log->dets, hark_scmel_copies_needed(s, rank));
    return log;
}

static inline struct hark_scmel_pair *hark_scmel_pair(
    struct hark_scmel *s, uint32_t rank, bool make)
{
    uint32_t i;
    struct hark_scmel_pair *x =
        (struct hark_scmel_pair *)hark_scmel_ranked(&s->head, &s->pairs, rank, &i);
    if (x || !make) return x;
    x = (struct hark_scmel_pair *)hark_insert(&s->head, &s->pairs, i);
    x->rank = rank;
    return x;
}

/* True if `rank` has rolled back and its READY, which says from where it needs messages, has not
 * come. */
static inline bool hark_scmel_sends_gated(struct hark_scmel *s, uint32_t rank)
{
    if (s->endpoint.down.count == 0 || !hark_is_down(&s->head, &s->endpoint, rank)) return false;
    if (rank == s->endpoint.me || hark_scmel_mate(s, rank))
        return false; /* it restarts from the same cut as I do */
    struct hark_scmel_pair *x = hark_scmel_pair(s, rank, false);
    return x == NULL || !(x->flags & HARK_SCMEL_READY);
}

/* True if it is not known yet which messages posted before my image the peer has. The image of a
 * mate has all of them, except contributions that were made while that image was taken (v17). */
static inline bool hark_scmel_unknown(struct hark_scmel *s, const struct hark_scmel_channel *c)
{
    if (s->mode != HARK_SCMEL_COLLECT || c->channel.peer == s->endpoint.me) return false;
    if (c->channel.flags & HARK_SCMEL_MATE && !(c->channel.flags & HARK_SCMEL_GROUP)) return false;
    struct hark_scmel_pair *x = hark_scmel_pair(s, c->channel.peer, false);
    return x == NULL || !(x->flags & HARK_SCMEL_KNOWN);
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
