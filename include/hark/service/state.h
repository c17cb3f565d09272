/* service/state.h: events and effects of the failure service, what it remembers, and what others
 * may ask it. service.h says how it goes. */
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
            const uint32_t *rank; /* ascending; all that are known to be dead by now */
            uint32_t count;
            bool recovery; /* and the recovery process */
        } died;
        struct {
            bool whole; /* the image that VERIFY named can be restarted from */
        } verified;
        struct {
            bool ok; /* false: it could not be written; a wave is then not decided, all else holds
                        in memory */
        } durable;
        struct hark_fact fact; /* as in PERSIST */
        struct {
            const uint32_t *cluster; /* of each rank */
        } proposed;
    } u;
};

enum hark_service_effect_type {
    HARK_SERVICE_VERIFY = 101, /* is image `id` of `rank` whole? */
    HARK_SERVICE_FELL_BACK,    /* newer images of `rank`, or of those that go back with it, are
                                  damaged: it goes back to `id`, 0: the beginning */
    HARK_SERVICE_LOST, /* no image of those that go back with `rank` is whole, and the beginning is
                          not kept: the job is over */
    HARK_SERVICE_RECORD,   /* make hark_pack() durable */
    HARK_SERVICE_ANSWER,   /* the process whose FACT it was gets STORED with ok = `id` */
    HARK_SERVICE_ANNOUNCE, /* every process that lives, and each that begins anew, gets FAILED:
                              hark_service_failed() */
    HARK_SERVICE_RESTART,  /* `rank` goes back: if it lives FAILED tells it so; if it is dead it is
                              started again, see hark_service_restart() */
    HARK_SERVICE_RESTART_RECOVERY /* the recovery process is started again */
};

struct hark_service_effect {
    uint32_t type, rank;
    uint64_t id;
};

struct hark_service_effects { /* where a step writes; the caller's. room: at least 4 */
    struct hark_service_effect *at;
    uint32_t count, room;
};

struct hark_service_config {
    const struct hark_protocol *protocol;
    uint32_t ranks;
    const uint32_t *cluster; /* of each rank, a number below `ranks`, for protocols in which
                              * clusters go back together; NULL: all are of one. Copied */
    bool waves_all;       /* HARK_WAVES_ALL: a checkpoint is of all processes, whoever goes back */
    bool unverified;      /* all images count as whole: no VERIFY */
    uint32_t generations; /* checkpoints kept, 1 .. 8; 0 stands for 2 */
};

struct hark_service_restart { /* what RESTARTED of a rank says, beside its image */
    uint32_t inc, re;
    uint64_t checkpoint;
    uint32_t undone; /* how many checkpoints hark_service_undone() lists */
};

/* What a protocol asks of the service, before there is one. A unit: the ranks that go back together
 * as soon as one of them has died. */
/* False: the first failure ends the job. */
HARK_FN bool hark_service_survives(const struct hark_protocol *protocol);
/* A unit is a cluster. Other protocols do not look at clusters. */
HARK_FN bool hark_service_by_cluster(const struct hark_protocol *protocol);
/* A unit is the whole job. */
HARK_FN bool hark_service_by_all(const struct hark_protocol *protocol);
/* A unit is one rank, with checkpoints of its own; the recovery line names others that go back. */
HARK_FN bool hark_service_by_line(const struct hark_protocol *protocol);
/* Users ask for `asks` (HARK_ASKS_*): are waves of all processes? Then `waves_all` of the config
 * is true, and a protocol by cluster is given HARK_WAVES_ALL. */
HARK_FN bool hark_service_waves_all(const struct hark_protocol *protocol, uint32_t asks);

/* FAILED as it is to be told now: `down` and `wave` have room for as many as there are ranks, `inc`
 * for one more. */
HARK_FN void hark_service_failed(const struct hark *p, struct hark_event *e, uint32_t *down,
    struct hark_incarnation *inc, struct hark_decision *wave);
/* From where `rank` (HARK_RECOVERY: no checkpoint) begins, if it is started now. */
HARK_FN struct hark_service_restart hark_service_restart(const struct hark *p, uint32_t rank);
/* RESTARTED.undone: checkpoints of `rank` beyond its restart's that are undone, ascending; the
 * first `room` of them. How many there are. */
HARK_FN uint32_t hark_service_undone(
    const struct hark *p, uint32_t rank, uint64_t *id, uint32_t room);

HARK_FN uint32_t hark_service_epoch(const struct hark *p);
HARK_FN uint32_t hark_service_incarnation(const struct hark *p, uint32_t rank); /* or HARK_RECOVERY
                                                                                 */
HARK_FN bool hark_service_is_down(const struct hark *p, uint32_t rank);
HARK_FN uint32_t hark_service_down(const struct hark *p); /* how many ranks are in D */
/* The lowest rank of those whose checkpoints are one with those of `rank`. */
HARK_FN uint32_t hark_service_leader(const struct hark *p, uint32_t rank);
/* Are their checkpoints one? */
HARK_FN bool hark_service_same_wave(const struct hark *p, uint32_t a, uint32_t b);
/* The n-th newest decided checkpoint of its group that is kept, from 0; 0: there is none, or it is
 * the beginning. */
HARK_FN uint64_t hark_service_wave(const struct hark *p, uint32_t rank, uint32_t n);
/* How many were ever decided, counted up to the generations kept: while fewer were, the beginning
 * is kept too. */
HARK_FN uint32_t hark_service_decided(const struct hark *p, uint32_t rank);
/* Do they go back together, by the map in force? */
HARK_FN bool hark_service_mates(const struct hark *p, uint32_t a, uint32_t b);
/* The wave that brought the map in force; 0: that of the configuration is. */
HARK_FN uint64_t hark_service_mapped(const struct hark *p);
/* The cluster of a rank by the map in force. */
HARK_FN uint32_t hark_service_cluster(const struct hark *p, uint32_t rank);
/* The same by the next map; UINT32_MAX: none is proposed. */
HARK_FN uint32_t hark_service_next(const struct hark *p, uint32_t rank);
/* Did the last failure go behind a change of the map? Then all went back. */
HARK_FN bool hark_service_behind(const struct hark *p);
/* Does this rank go back with the change that is being made? From the first VERIFY until its
 * RESTART. */
HARK_FN bool hark_service_goes_back(const struct hark *p, uint32_t rank);
/* HARK_ROLLS_*: who goes back when a process dies; 0: no failure is survived. */
HARK_FN uint32_t hark_service_rolls(const struct hark *p);
HARK_FN bool hark_service_finished(const struct hark *p);
/* Was the record from which this service was unpacked written by one so configured? Clusters
 * are not compared: they may have changed since then. */
HARK_FN bool hark_service_is_of(const struct hark *p, const struct hark_service_config *config);
HARK_FN bool hark_service_idle(const struct hark *p); /* no answer is awaited */

struct hark_service_rank {
    uint32_t inc, cluster, next;
    uint32_t first; /* not of this rank, of the cluster with its number: the lowest rank in it */
    uint32_t flags, decided; /* decided: at a leader */
    uint64_t from;           /* the checkpoint that it goes back to */
    struct hark_queue waves; /* at a leader: the decided checkpoints that are kept, ascending */
    struct hark_queue begun; /* rolls by the line: where its epochs began, the undone ones too,
                                ascending */
};
enum {
    HARK_SERVICE_DOWN = 1,
    HARK_SERVICE_GOES = 2
}; /* of a rank: in D; goes back with this change */

struct hark_service_map { /* of `maps`: the cluster of a rank until wave `until` */
    uint64_t until, since;
    uint32_t rank, cluster;
};

struct hark_service {
    struct hark head;
    uint32_t ranks, rolls, waves_all, unverified, generations;
    uint32_t re, recovery_inc, finished, proposed;
    uint64_t since;     /* the wave that brought the map in force */
    uint32_t down, pad; /* ranks in D; counted, no part of a record */
    /* Of the change that is being made; no part of a record. */
    uint32_t stage, change, telling; /* telling: the next rank to RESTART, + 1 */
    uint32_t unit, mate, nth;        /* VERIFY: whose unit, of whom, its nth newest wave */
    uint32_t behind, recovery, fact, peer, map, counted; /* counted: the decision in `decided` */
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

/* The row at the place, and the place moves on; NULL at the end. */
static inline uint64_t *hark_service_walk(
    struct hark_service *s, const struct hark_queue *q, struct hark_place *at)
{
    const struct hark_place here = *at;
    if (hark_queue_next(&s->head, &s->pool, q, at) == NULL) return NULL;
    return hark_chunk(&s->head, &s->pool, here.chunk)->word + here.slot * q->width;
}

/* Those of the group of `rank`. */
static inline struct hark_queue *hark_service_waves(struct hark_service *s, uint32_t rank)
{
    return &hark_service_row(s, hark_service_leader(&s->head, rank))->waves;
}

/* The n-th newest, from 0; 0: there are not as many. */
static inline uint64_t hark_service_nth(
    const struct hark_service *s, const struct hark_queue *q, uint32_t n)
{
    struct hark_place at = hark_queue_begin(q);
    if (n >= q->count) return 0;
    for (n = q->count - 1 - n; n; n--) (void)hark_queue_next(&s->head, &s->pool, q, &at);
    return *hark_queue_next(&s->head, &s->pool, q, &at);
}

/* A chunk has been reserved. False: it is there already. */
static inline bool hark_service_add(struct hark_service *s, struct hark_queue *q, uint64_t id)
{
    struct hark_place at = hark_queue_begin(q);
    for (const uint64_t *x; (x = hark_queue_next(&s->head, &s->pool, q, &at)) != NULL;)
        if (*x == id) return false;
    (void)hark_queue_push(&s->head, &s->pool, q);
    at = hark_queue_begin(q);
    for (uint64_t *x; (x = hark_service_walk(s, q, &at)) != NULL;) { /* those above it move up by
                                                                        one */
        const uint64_t was = *x;
        if (was && was < id) continue;
        *x = id;
        id = was;
    }
    return true;
}

/* Forgets those from `first` on, before `end`. */
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

/* ---- what a protocol asks of the service ----------------------------------------------------- */

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

/* ---- what others ask ------------------------------------------------------------------------- */

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

/* The lowest rank of its cluster. */
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

HARK_FN uint32_t hark_service_rolls(const struct hark *p)
{
    return hark_service_of(p)->rolls;
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

/* The lowest rank of each cluster; clusters may be numbered anyhow. */
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

/* Can it be a list of checkpoints? */
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
