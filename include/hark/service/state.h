/* service/state.h: events and effects of the failure service, its state, and queries of it. See
 * service.h for the order of events and effects. */
#ifndef HARK_SERVICE_STATE_H
#define HARK_SERVICE_STATE_H

#include "../parts/mem.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

#define HARK_KIND_SERVICE        32 /* of the block; it has no frames */
#define HARK_SERVICE_GENERATIONS 8

enum hark_service_event_type {
    HARK_SERVICE_DIED = 1,
    HARK_SERVICE_VERIFIED,
    HARK_SERVICE_DURABLE,
    HARK_SERVICE_FACT,
    HARK_SERVICE_PROPOSED,
    HARK_SERVICE_FINISHED,
    HARK_SERVICE_RESUMED,
    HARK_SERVICE_CONTINUE
};

struct hark_service_event {
    uint32_t type;
    union {
        struct {
            const uint32_t *rank; /* ascending: all ranks known to be dead by now */
            uint32_t count;
            bool recovery; /* the recovery process too; RESUMED reads it as well */
        } died;
        struct {
            bool whole; /* a process can restart from the image of VERIFY */
        } verified;
        struct {
            /* False: the record could not be written. Then a wave is not decided; every other
             * change holds in memory. */
            bool ok;
        } durable;
        struct hark_fact fact; /* as in PERSIST */
        struct {
            const uint32_t *cluster; /* of each rank, a number below `ranks`; copied */
        } proposed;
    } u;
};

enum hark_service_effect_type {
    /* Check image `id` of `rank`, then give VERIFIED. */
    HARK_SERVICE_VERIFY = 101,
    /* Newer images of the unit of `rank` are damaged: it rolls back to `id` (0: the initial
     * state). */
    HARK_SERVICE_FELL_BACK,
    /* No image of the unit of `rank` is whole, and the initial state is not kept: the job is over.
     */
    HARK_SERVICE_LOST,
    /* Make hark_pack() durable, then give DURABLE. */
    HARK_SERVICE_RECORD,
    /* Give STORED with ok = `id` to the process whose FACT it was. */
    HARK_SERVICE_ANSWER,
    /* Give FAILED (hark_service_failed()) to every live process, and to each that is restarted. */
    HARK_SERVICE_ANNOUNCE,
    /* `rank` rolls back. If it is alive, FAILED makes its core answer ROLLBACK; if it is dead,
     * restart it: hark_service_restart(). */
    HARK_SERVICE_RESTART,
    /* Start the recovery process again. */
    HARK_SERVICE_RESTART_RECOVERY
};

struct hark_service_effect {
    uint32_t type, rank;
    uint64_t id;
};

struct hark_service_effects { /* where a step writes; the caller owns it. room: at least 4 */
    struct hark_service_effect *at;
    uint32_t count, room;
};

struct hark_service_config {
    const struct hark_protocol *protocol;
    uint32_t ranks;
    /* Of each rank, a number below `ranks`, for protocols whose clusters roll back together; NULL:
     * all are in one cluster. Copied. */
    const uint32_t *cluster;
    bool waves_all;       /* HARK_WAVES_ALL: all processes checkpoint together */
    bool unverified;      /* every image counts as whole: no VERIFY. No part of a record */
    uint32_t generations; /* checkpoints kept, 1 .. 8; 0 stands for 2 */
};

struct hark_service_restart { /* the fields of a rank's RESTARTED */
    uint32_t inc, re;
    uint64_t checkpoint;
    uint32_t undone; /* how many checkpoints hark_service_undone() lists */
};

/* Queries of a protocol, without a service. A unit is the set of ranks that roll back together when
 * one of them dies. */
/* True if the protocol survives failures; else the first failure ends the job. */
HARK_FN bool hark_service_survives(const struct hark_protocol *protocol);
/* True if a unit is a cluster. Other protocols ignore clusters. */
HARK_FN bool hark_service_by_cluster(const struct hark_protocol *protocol);
/* True if the only unit is the whole job. */
HARK_FN bool hark_service_by_all(const struct hark_protocol *protocol);
/* True if a unit is one rank with checkpoints of its own, and the recovery line names the other
 * ranks that roll back. */
HARK_FN bool hark_service_by_line(const struct hark_protocol *protocol);
/* True if all processes checkpoint together when users ask for `asks` (HARK_ASKS_*). Then set
 * `waves_all` of the configuration, and give a protocol by cluster HARK_WAVES_ALL. */
HARK_FN bool hark_service_waves_all(const struct hark_protocol *protocol, uint32_t asks);

/* Fills in the current FAILED. `down` and `wave` have room for `ranks` entries, `inc` for one more;
 * *e points to them. */
HARK_FN void hark_service_failed(const struct hark *p, struct hark_event *e, uint32_t *down,
    struct hark_incarnation *inc, struct hark_decision *wave);
/* Returns the incarnation, epoch and checkpoint with which `rank` restarts now (HARK_RECOVERY: no
 * checkpoint). */
HARK_FN struct hark_service_restart hark_service_restart(const struct hark *p, uint32_t rank);
/* Writes RESTARTED.undone: the undone checkpoints of `rank` later than the one that it restarts
 * from, ascending, the first `room` of them. Returns how many there are. */
HARK_FN uint32_t hark_service_undone(
    const struct hark *p, uint32_t rank, uint64_t *id, uint32_t room);

/* Returns the recovery epoch. */
HARK_FN uint32_t hark_service_epoch(const struct hark *p);
/* Returns the incarnation of a rank, or of HARK_RECOVERY. */
HARK_FN uint32_t hark_service_incarnation(const struct hark *p, uint32_t rank);
/* True if the rank is in D, the set of ranks that roll back until their recovery is over. */
HARK_FN bool hark_service_is_down(const struct hark *p, uint32_t rank);
HARK_FN uint32_t hark_service_down(const struct hark *p); /* how many ranks are in D */
/* Returns the lowest of the ranks that checkpoint together with `rank`. */
HARK_FN uint32_t hark_service_leader(const struct hark *p, uint32_t rank);
/* True if the two ranks checkpoint together. */
HARK_FN bool hark_service_same_wave(const struct hark *p, uint32_t a, uint32_t b);
/* Returns the n-th newest decided checkpoint of `rank` that is kept, n from 0; 0: none, or the
 * initial state. */
HARK_FN uint64_t hark_service_wave(const struct hark *p, uint32_t rank, uint32_t n);
/* Returns a decided checkpoint than which `rank` needs no older one; 0: none. By the line it may
 * need older ones than hark_service_wave() tells. */
HARK_FN uint64_t hark_service_oldest(const struct hark *p, uint32_t rank);
/* Returns how many checkpoints of `rank` were ever decided, counted up to `generations`. While
 * there are fewer, the initial state is kept too. */
HARK_FN uint32_t hark_service_decided(const struct hark *p, uint32_t rank);
/* True if the two ranks roll back together, by the current map. */
HARK_FN bool hark_service_mates(const struct hark *p, uint32_t a, uint32_t b);
/* Returns the wave that brought the current map into force; 0: the map is the configuration's. */
HARK_FN uint64_t hark_service_mapped(const struct hark *p);
/* Returns the cluster of a rank in the current map. */
HARK_FN uint32_t hark_service_cluster(const struct hark *p, uint32_t rank);
/* Returns the cluster of a rank in the proposed map; UINT32_MAX: none is proposed. */
HARK_FN uint32_t hark_service_next(const struct hark *p, uint32_t rank);
/* True if the last failure led to a checkpoint older than the current map: all ranks rolled back.
 */
HARK_FN bool hark_service_behind(const struct hark *p);
/* True if the rank rolls back with the present change: from the first VERIFY to its RESTART. */
HARK_FN bool hark_service_goes_back(const struct hark *p, uint32_t rank);
/* True after FINISHED. */
HARK_FN bool hark_service_finished(const struct hark *p);
/* True if an unpacked record was written by a service of this configuration. Clusters are not
 * compared: they may have changed. */
HARK_FN bool hark_service_is_of(const struct hark *p, const struct hark_service_config *config);
HARK_FN bool hark_service_idle(const struct hark *p); /* true: no answer is awaited */
/* `p` was unpacked from an older record of the same job than `newer`: takes over the incarnations
 * and the epoch of `newer`, so that none of them is used twice. Then give RESUMED. */
HARK_FN void hark_service_outnumber(struct hark *p, const struct hark *newer);

struct hark_service_rank {
    uint32_t inc, cluster, next;
    uint32_t first;          /* row r: the lowest rank of cluster number r */
    uint32_t flags, decided; /* decided: at a leader */
    uint64_t from;           /* the checkpoint that it rolls back to */
    struct hark_queue waves; /* at a leader: the decided checkpoints that are kept, ascending */
    struct hark_queue begun; /* sendet: the first checkpoints of epochs, also undone, ascending */
};
enum {
    HARK_SERVICE_DOWN = 1,
    HARK_SERVICE_GOES = 2
}; /* flags of a rank: in D; rolls back with this change */

struct hark_service_map { /* of `maps`: the cluster of a rank until wave `until` */
    uint64_t until, since;
    uint32_t rank, cluster;
};

struct hark_service {
    struct hark head;
    uint32_t ranks, rolls, waves_all, unverified, generations;
    uint32_t re, recovery_inc, finished, proposed;
    uint64_t since;     /* the wave that brought the current map into force */
    uint32_t down, pad; /* ranks in D; computed, no part of a record */
    /* The present change; no part of a record. */
    uint32_t stage, change, telling; /* telling: the next rank to RESTART */
    uint32_t unit, mate, nth;        /* VERIFY: rank `mate` of unit `unit`, its nth newest wave */
    uint32_t behind, recovery, fact, peer, map, counted; /* counted: `decided` has the decision */
    uint64_t id, oldest, found;
    struct hark_table rank, maps;
    struct hark_pool pool;
};

#define HARK_V(m) HARK_FIELD(struct hark_service, m, "")
static const struct hark_field hark_service_fields[] = {HARK_V(ranks), HARK_V(rolls),
    HARK_V(waves_all), HARK_V(generations), HARK_V(re), HARK_V(recovery_inc), HARK_V(finished),
    HARK_V(since)};
static const struct hark_field hark_service_rank_fields[] = {
    HARK_FIELD(struct hark_service_rank, inc, "incMap"),
    HARK_FIELD(struct hark_service_rank, cluster, "Cluster"),
    HARK_FIELD(struct hark_service_rank, flags, "D"),
    HARK_FIELD(struct hark_service_rank, decided, ""),
    HARK_FIELD(struct hark_service_rank, from, "ckptNo"),
    HARK_FIELD_QUEUE(struct hark_service_rank, waves, ""),
    HARK_FIELD_QUEUE(struct hark_service_rank, begun, "")};
static const struct hark_field hark_service_map_fields[] = {
    HARK_FIELD(struct hark_service_map, until, ""), HARK_FIELD(struct hark_service_map, since, ""),
    HARK_FIELD(struct hark_service_map, rank, "j"),
    HARK_FIELD(struct hark_service_map, cluster, "Cluster")};
#define HARK_VT(member, row)                                                                       \
    {                                                                                              \
#member, "", (uint16_t)offsetof(struct hark_service, member),                              \
            sizeof(struct hark_service_##row), HARK_COUNT(hark_service_##row##_fields),            \
            hark_service_##row##_fields                                                            \
    }
static const struct hark_rows hark_service_rows[] = {HARK_VT(rank, rank), HARK_VT(maps, map),
    {"pool", "", (uint16_t)offsetof(struct hark_service, pool.chunks), sizeof(struct hark_chunk), 0,
        NULL}};
HARK_FN bool hark_service_accept(struct hark *p);
static const struct hark_shape hark_service_shape = {"service", 2, HARK_COUNT(hark_service_fields),
    HARK_COUNT(hark_service_rows), sizeof(struct hark_service), hark_service_fields,
    hark_service_rows, offsetof(struct hark_service, pool), NULL, 0, hark_service_accept};

#if HARK_BODIES

enum {
    HARK_SERVICE_IDLE = 0,
    HARK_SERVICE_LOOKING,
    HARK_SERVICE_VERIFYING,
    HARK_SERVICE_RECORDING,
    HARK_SERVICE_TELLING
};

static inline const struct hark_service *hark_service_of(const struct hark *p)
{
    return (const struct hark_service *)(const void *)p;
}

static inline const struct hark_service_rank *hark_service_at(
    const struct hark_service *s, uint32_t rank)
{
    return (const struct hark_service_rank *)hark_row_of(&s->head, &s->rank, rank);
}

static inline struct hark_service_rank *hark_service_row(struct hark_service *s, uint32_t rank)
{
    return (struct hark_service_rank *)hark_row(&s->head, &s->rank, rank);
}

/* ---- lists of checkpoints: `waves` and `begun` ----------------------------------------------- */

/* Returns the row at the place and moves the place on; NULL at the end. */
static inline uint64_t *hark_service_walk(
    struct hark_service *s, const struct hark_queue *q, struct hark_place *at)
{
    const struct hark_place here = *at;
    if (hark_queue_next(&s->head, &s->pool, q, at) == NULL) return NULL;
    return hark_chunk(&s->head, &s->pool, here.chunk)->word + here.slot * q->width;
}

/* Returns the kept checkpoints of the ranks that checkpoint together with `rank`. */
static inline struct hark_queue *hark_service_waves(struct hark_service *s, uint32_t rank)
{
    return &hark_service_row(s, hark_service_leader(&s->head, rank))->waves;
}

/* Returns the n-th newest checkpoint of the list, n from 0; 0: there are fewer. */
static inline uint64_t hark_service_nth(
    const struct hark_service *s, const struct hark_queue *q, uint32_t n)
{
    struct hark_place at = hark_queue_begin(q);
    if (n >= q->count) return 0;
    for (n = q->count - 1 - n; n; n--) (void)hark_queue_next(&s->head, &s->pool, q, &at);
    return *hark_queue_next(&s->head, &s->pool, q, &at);
}

/* Adds `id` to the list; a chunk has been reserved. False if the list had it. */
static inline bool hark_service_add(struct hark_service *s, struct hark_queue *q, uint64_t id)
{
    struct hark_place at = hark_queue_begin(q);
    for (const uint64_t *x; (x = hark_queue_next(&s->head, &s->pool, q, &at)) != NULL;)
        if (*x == id) return false;
    (void)hark_queue_push(&s->head, &s->pool, q);
    at = hark_queue_begin(q);
    for (uint64_t *x; (x = hark_service_walk(s, q, &at)) != NULL;) { /* larger ones move up */
        const uint64_t was = *x;
        if (was && was < id) continue;
        *x = id;
        id = was;
    }
    return true;
}

/* Removes checkpoints first .. end - 1. */
static inline void hark_service_forget(
    struct hark_service *s, struct hark_queue *q, uint64_t first, uint64_t end)
{
    struct hark_place at = hark_queue_begin(q), to = at;
    uint32_t kept = 0;
    for (const uint64_t *x; (x = hark_queue_next(&s->head, &s->pool, q, &at)) != NULL;) {
        if (*x >= first && *x < end) continue;
        *hark_service_walk(s, q, &to) = *x;
        kept++;
    }
    hark_queue_cut(&s->head, &s->pool, q, kept);
}

/* ---- queries of a protocol ------------------------------------------------------------------- */

HARK_FN bool hark_service_survives(const struct hark_protocol *protocol)
{
    return protocol->rolls != 0;
}

HARK_FN bool hark_service_by_cluster(const struct hark_protocol *protocol)
{
    return protocol->rolls == HARK_ROLLS_CLUSTER;
}

HARK_FN bool hark_service_by_all(const struct hark_protocol *protocol)
{
    return protocol->rolls == HARK_ROLLS_ALL;
}

HARK_FN bool hark_service_by_line(const struct hark_protocol *protocol)
{
    return protocol->rolls == HARK_ROLLS_LINE;
}

HARK_FN bool hark_service_waves_all(const struct hark_protocol *protocol, uint32_t asks)
{
    return protocol->traits & HARK_TRAIT_WAVES || asks & HARK_ASKS_RECLUSTER;
}

/* ---- queries of the service ------------------------------------------------------------------ */

HARK_FN uint32_t hark_service_epoch(const struct hark *p)
{
    return hark_service_of(p)->re;
}

HARK_FN uint32_t hark_service_incarnation(const struct hark *p, uint32_t rank)
{
    const struct hark_service *s = hark_service_of(p);
    return rank == HARK_RECOVERY ? s->recovery_inc
           : rank < s->ranks     ? hark_service_at(s, rank)->inc
                                 : 0;
}

HARK_FN bool hark_service_is_down(const struct hark *p, uint32_t rank)
{
    return hark_service_at(hark_service_of(p), rank)->flags & HARK_SERVICE_DOWN;
}

HARK_FN uint32_t hark_service_down(const struct hark *p)
{
    return hark_service_of(p)->down;
}

/* Returns the lowest rank of the cluster of `rank`. */
static inline uint32_t hark_service_first(const struct hark_service *s, uint32_t rank)
{
    return hark_service_at(s, hark_service_at(s, rank)->cluster)->first;
}

HARK_FN uint32_t hark_service_leader(const struct hark *p, uint32_t rank)
{
    const struct hark_service *s = hark_service_of(p);
    if (s->rolls == HARK_ROLLS_LINE) return rank;
    return s->rolls == HARK_ROLLS_CLUSTER && !s->waves_all ? hark_service_first(s, rank) : 0;
}

HARK_FN bool hark_service_same_wave(const struct hark *p, uint32_t a, uint32_t b)
{
    return hark_service_leader(p, a) == hark_service_leader(p, b);
}

HARK_FN uint64_t hark_service_wave(const struct hark *p, uint32_t rank, uint32_t n)
{
    const struct hark_service *s = hark_service_of(p);
    return hark_service_nth(s, &hark_service_at(s, hark_service_leader(p, rank))->waves, n);
}

HARK_FN uint64_t hark_service_oldest(const struct hark *p, uint32_t rank)
{
    const struct hark_service *s = hark_service_of(p);
    const struct hark_queue *begun = &hark_service_at(s, rank)->begun,
                            *waves = &hark_service_at(s, hark_service_leader(p, rank))->waves;
    const uint64_t wave = waves->count ? hark_service_nth(s, waves, waves->count - 1) : 0,
                   first = begun->count ? hark_service_nth(s, begun, begun->count - 1) : wave;
    return first < wave ? first : wave;
}

HARK_FN uint32_t hark_service_decided(const struct hark *p, uint32_t rank)
{
    return hark_service_at(hark_service_of(p), hark_service_leader(p, rank))->decided;
}

HARK_FN bool hark_service_mates(const struct hark *p, uint32_t a, uint32_t b)
{
    const struct hark_service *s = hark_service_of(p);
    switch (s->rolls) {
    case HARK_ROLLS_CLUSTER:
        return hark_service_at(s, a)->cluster == hark_service_at(s, b)->cluster;
    case HARK_ROLLS_ALL: return true;
    default: return a == b;
    }
}

HARK_FN uint64_t hark_service_mapped(const struct hark *p)
{
    return hark_service_of(p)->since;
}

HARK_FN uint32_t hark_service_cluster(const struct hark *p, uint32_t rank)
{
    return hark_service_at(hark_service_of(p), rank)->cluster;
}

HARK_FN uint32_t hark_service_next(const struct hark *p, uint32_t rank)
{
    return hark_service_of(p)->proposed ? hark_service_at(hark_service_of(p), rank)->next
                                        : UINT32_MAX;
}

HARK_FN bool hark_service_behind(const struct hark *p)
{
    return hark_service_of(p)->behind;
}

HARK_FN bool hark_service_goes_back(const struct hark *p, uint32_t rank)
{
    return hark_service_at(hark_service_of(p), rank)->flags & HARK_SERVICE_GOES;
}

HARK_FN bool hark_service_finished(const struct hark *p)
{
    return hark_service_of(p)->finished;
}

HARK_FN bool hark_service_is_of(const struct hark *p, const struct hark_service_config *c)
{
    const struct hark_service *s = hark_service_of(p);
    if (s->ranks != c->ranks || s->rolls != c->protocol->rolls) return false;
    return (s->waves_all != 0) == c->waves_all;
}

HARK_FN bool hark_service_idle(const struct hark *p)
{
    return hark_service_of(p)->stage == HARK_SERVICE_IDLE;
}

HARK_FN void hark_service_outnumber(struct hark *p, const struct hark *newer)
{
    struct hark_service *s = (struct hark_service *)(void *)p;
    const struct hark_service *n = hark_service_of(newer);
    for (uint32_t r = 0; r < s->ranks && r < n->ranks; r++)
        hark_service_row(s, r)->inc = hark_service_at(n, r)->inc;
    s->recovery_inc = n->recovery_inc;
    s->re = n->re;
}

HARK_FN struct hark_service_restart hark_service_restart(const struct hark *p, uint32_t rank)
{
    const struct hark_service *s = hark_service_of(p);
    struct hark_service_restart r = {hark_service_incarnation(p, rank), s->re, 0, 0};
    if (rank >= s->ranks) return r;
    r.checkpoint = hark_service_at(s, rank)->from;
    r.undone = hark_service_undone(p, rank, NULL, 0);
    return r;
}

HARK_FN uint32_t hark_service_undone(
    const struct hark *p, uint32_t rank, uint64_t *id, uint32_t room)
{
    const struct hark_service *s = hark_service_of(p);
    const struct hark_queue *q = &hark_service_at(s, rank)->begun;
    const uint64_t wave = hark_service_wave(p, rank, 0);
    struct hark_place at = hark_queue_begin(q);
    uint32_t n = 0;
    for (const uint64_t *x; (x = hark_queue_next(p, &s->pool, q, &at)) != NULL;) {
        if (*x <= wave) continue;
        if (n < room) id[n] = *x;
        n++;
    }
    return n;
}

HARK_FN void hark_service_failed(const struct hark *p, struct hark_event *e, uint32_t *down,
    struct hark_incarnation *inc, struct hark_decision *wave)
{
    const struct hark_service *s = hark_service_of(p);
    hark_zero(e, sizeof *e);
    e->type = HARK_FAILED;
    e->u.failed.re = s->re;
    e->u.failed.down = down;
    e->u.failed.inc = inc;
    e->u.failed.wave = wave;
    for (uint32_t r = 0; r < s->ranks; r++) {
        const struct hark_service_rank *x = hark_service_at(s, r);
        if (x->flags & HARK_SERVICE_DOWN) down[e->u.failed.down_count++] = r;
        const struct hark_incarnation own = {r, x->inc};
        const struct hark_decision decision = {
            r, 0, hark_service_leader(p, r) == r ? hark_service_nth(s, &x->waves, 0) : 0};
        if (x->inc) inc[e->u.failed.inc_count++] = own;
        if (decision.wave) wave[e->u.failed.wave_count++] = decision;
    }
    const struct hark_incarnation recovery = {HARK_RECOVERY, s->recovery_inc};
    if (s->recovery_inc) inc[e->u.failed.inc_count++] = recovery;
}

/* ---- init ------------------------------------------------------------------------------------ */

HARK_FN uint64_t hark_service_size(const struct hark_service_config *c)
{
    if (c->protocol == NULL || c->ranks == 0 || c->ranks > HARK_RANKS_MAX ||
        c->generations > HARK_SERVICE_GENERATIONS)
        return 0;
    for (uint32_t r = 0; c->cluster && r < c->ranks; r++)
        if (c->cluster[r] >= c->ranks) return 0;
    return sizeof(struct hark_service) + (uint64_t)c->ranks * sizeof(struct hark_service_rank) +
           1024;
}

/* Finds the lowest rank of each cluster; cluster numbers are arbitrary. */
static inline void hark_service_find_firsts(struct hark_service *s)
{
    for (uint32_t r = s->ranks; r-- > 0;)
        hark_service_row(s, hark_service_at(s, r)->cluster)->first = r;
}

HARK_FN int hark_service_init(struct hark *p, uint64_t bytes, const struct hark_service_config *c)
{
    struct hark_service *s = (struct hark_service *)(void *)p;
    if (hark_service_size(c) == 0) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_service_shape, HARK_KIND_SERVICE);
    if (status >= 0) status = hark_reserve(p, &hark_service_shape, &s->rank, c->ranks);
    if (status < 0) return status;
    s->ranks = c->ranks;
    s->rolls = c->protocol->rolls;
    s->waves_all = c->waves_all;
    s->unverified = c->unverified;
    s->generations = c->generations ? c->generations : 2;
    for (uint32_t r = 0; r < c->ranks; r++) {
        struct hark_service_rank *x = (struct hark_service_rank *)hark_insert(p, &s->rank, r);
        x->cluster = c->cluster ? c->cluster[r] : 0;
        x->waves.width = x->begun.width = 1;
    }
    hark_service_find_firsts(s);
    return HARK_OK;
}

/* True if the queue can be a list of checkpoints. */
static inline bool hark_service_ascends(const struct hark_service *s, const struct hark_queue *q)
{
    struct hark_place at = hark_queue_begin(q);
    uint64_t last = 0;
    if (q->width != 1) return false;
    for (const uint64_t *x; (x = hark_queue_next(&s->head, &s->pool, q, &at)) != NULL; last = *x)
        if (*x <= last) return false;
    return true;
}

HARK_FN bool hark_service_accept(struct hark *p)
{
    struct hark_service *s = (struct hark_service *)(void *)p;
    if (s->ranks == 0 || s->rank.count != s->ranks || s->generations == 0 ||
        s->generations > HARK_SERVICE_GENERATIONS)
        return false;
    for (uint32_t r = 0; r < s->ranks; r++) {
        struct hark_service_rank *x = hark_service_row(s, r);
        if (x->cluster >= s->ranks || !hark_service_ascends(s, &x->waves) ||
            !hark_service_ascends(s, &x->begun))
            return false;
        x->flags &= HARK_SERVICE_DOWN;
        s->down += x->flags;
    }
    hark_service_find_firsts(s);
    if (s->maps.count % s->ranks) return false;
    for (uint32_t i = 0; i < s->maps.count; i++) {
        const struct hark_service_map *m =
            (const struct hark_service_map *)hark_row_of(p, &s->maps, i);
        if (m->rank != i % s->ranks || m->until <= m->since || m->cluster >= s->ranks) return false;
    }
    s->stage = s->change = s->telling = s->unit = s->mate = s->nth = s->behind = s->recovery =
        s->proposed = 0;
    return true;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
