/* world.h: cores of a small job, and what they are owed: frames in flight, images, facts,
 * announcements. A fuzzer chooses what happens next, also what never should; every step is held to
 * the contract (hark.h):
 *
 *   a negative status leaves what is packed as it was; after MORE comes nothing but CONTINUE, and
 *   an end; effects stay within
 *   their room, and bytes behind headers are left alone; what is packed unpacks to the same
 *
 * A trap, or a report of a sanitizer, is a finding by itself.
 */
#ifndef HARK_TEST_FUZZ_WORLD_H
#define HARK_TEST_FUZZ_WORLD_H

#include "fuzz.h"
#include "hark/registry.h"

enum {
    WORLD_RANKS = 3,
    WORLD_WHO = WORLD_RANKS + 1, /* the recovery process is the last */
    WORLD_FRAMES = 64,
    WORLD_IMAGES = 4,
    WORLD_FACTS = 8,
    WORLD_COMBINED = 4,
    WORLD_BLOCK_MOST = 1 << 20, /* bytes that a core gets at most */
    WORLD_BATCHES = 2000,       /* of one step at most */
    WORLD_SPARE = 8
};

struct world_core {
    struct hark *p; /* NULL: there is none */
    const struct hark_protocol *protocol;
    struct hark_config config;
    bool gone;
};

struct world_frame {
    uint8_t *header;      /* owned */
    uint32_t length, who; /* who: where it is going, or was handed up */
};

struct world_image {
    uint64_t id;
    uint8_t *bytes; /* owned */
    uint32_t length, who;
};

struct world_fact {
    uint32_t who, of;      /* of: HARK_CAPTURE or HARK_PERSIST */
    struct hark_fact fact; /* of a CAPTURE its `id` alone */
};

struct world_combined { /* what a COMBINE asked for, until it is told */
    uint32_t who;
    struct hark_name name;
};

struct world {
    struct choices c;
    const struct hark_protocol *protocol;
    struct hark_range group[WORLD_RANKS], next[WORLD_RANKS]; /* of each rank, and in the map that is
                                                                to come */
    uint64_t mapped; /* the wave that brought that into force; 0: none */
    struct hark_config config;
    struct world_core core[WORLD_WHO];
    struct world_frame flight[WORLD_FRAMES], up[WORLD_FRAMES];
    struct world_image image[WORLD_IMAGES];
    struct world_fact fact[WORLD_FACTS];
    struct world_combined combined[WORLD_COMBINED];
    uint32_t flights, ups, images, facts, combines;
    uint32_t re, inc[WORLD_WHO];
    bool down[WORLD_RANKS];
    uint64_t decided[WORLD_RANKS];
    uint32_t steps;
    bool endless; /* a step may go on and on: what an image says of its log need not be small */
    bool stop;    /* a core asked for more memory than it gets, or went on and on */
};

static struct hark_effect world_effect[HARK_EFFECTS_ROOM + 4];
static uint8_t world_bytes[HARK_EFFECTS_BYTES + HARK_EFFECTS_ROOM * WORLD_SPARE + 64];
static uint8_t world_before[WORLD_BLOCK_MOST * 2], world_after[WORLD_BLOCK_MOST * 2];
static uint64_t world_copy[WORLD_BLOCK_MOST / 8]; /* of a block */

/* With the recovery process, where there is one. */
static inline uint32_t world_processes(const struct world *w)
{
    return (uint32_t)WORLD_RANKS + w->protocol->recovery;
}

/* ---- one core -------------------------------------------------------------------------------- */

static inline uint64_t world_pack(const struct world_core *x, uint8_t *to)
{
    uint64_t n = hark_pack(x->p, x->protocol->shape, to, WORLD_BLOCK_MOST * 2);
    if (n > WORLD_BLOCK_MOST * 2)
        finding("%s: packs to %llu bytes", x->protocol->name, (unsigned long long)n);
    return n;
}

/* Another block of this size: addresses into the old one are dead. */
static inline void world_move(struct world_core *x, uint64_t bytes)
{
    struct hark *p = malloc(bytes);
    if (p == NULL) abort();
    memcpy(p, x->p, x->p->used);
    free(x->p);
    x->p = p;
    if (hark_grow(p, bytes) < 0) finding("%s: can not grow", x->protocol->name);
}

/* As much larger as it must be. False: that is too much to ask. */
static inline bool world_larger(struct world *w, struct world_core *x)
{
    uint64_t wants = hark_wants(x->p, NULL);
    if (wants <= x->p->bytes)
        finding("%s: the block is full, and wants no more", x->protocol->name);
    if (wants > WORLD_BLOCK_MOST) {
        w->stop = true;
        return false;
    }
    world_move(x, wants / 2 > x->p->bytes ? wants / 2 : x->p->bytes + 8);
    return true;
}

/* A core in the smallest block that it begins in. */
static inline bool world_core_new(
    struct world_core *x, const struct hark_protocol *protocol, const struct hark_config *config)
{
    uint64_t bytes = protocol->size(config);
    free(x->p);
    *x = (struct world_core){malloc(bytes ? bytes : 1), protocol, *config, false};
    if (x->p == NULL) abort();
    if (protocol->init(x->p, bytes, config) == HARK_OK) return true;
    free(x->p);
    x->p = NULL;
    return false;
}

static inline int world_unpack(struct world *w, struct world_core *x, struct hark_bytes from)
{
    for (;;) {
        uint64_t n = world_pack(x, world_before);
        int status = hark_unpack(x->p, x->protocol->shape, from);
        if (status >= 0) return status;
        if (world_pack(x, world_after) != n || memcmp(world_before, world_after, n) != 0)
            finding("%s: an image that was refused has changed the state", x->protocol->name);
        if (status != HARK_EFULL || !world_larger(w, x)) return status;
    }
}

/* What was packed is the state: a copy that comes of it packs alike. */
static inline void world_repack(struct world *w, struct world_core *x)
{
    uint64_t n = world_pack(x, world_after);
    uint8_t *copy = exactly(world_after, n);
    struct world_core twin = {NULL, x->protocol, x->config, false};
    if (!world_core_new(&twin, x->protocol, &x->config))
        finding("%s: no second one", x->protocol->name);
    int status = world_unpack(w, &twin, (struct hark_bytes){copy, (uint32_t)n});
    if (status == HARK_EFULL && w->stop) w->stop = false; /* nothing more can be said of it */
    else if (status < 0)
        finding(
            "%s: does not unpack what it packed: %s", x->protocol->name, hark_status_text(status));
    else if (world_pack(&twin, world_before) != n || memcmp(world_before, copy, n) != 0)
        finding("%s: unpack does not give back what was packed", x->protocol->name);
    free(twin.p);
    free(copy);
}

static inline struct hark_effects world_room(void)
{
    return (struct hark_effects){.at = world_effect,
        .room = HARK_EFFECTS_ROOM,
        .bytes = world_bytes,
        .bytes_room = HARK_EFFECTS_BYTES + HARK_EFFECTS_ROOM * WORLD_SPARE,
        .spare = WORLD_SPARE};
}

static inline void world_effects_ok(const struct world_core *x, const struct hark_effects *fx)
{
    const char *name = x->protocol->name;
    if (fx->count > fx->room || fx->used > fx->bytes_room)
        finding("%s: more effects than there is room for", name);
    for (uint32_t i = 0; i < fx->count; i++) {
        const struct hark_effect *e = &fx->at[i];
        if (e->type < HARK_TRANSMIT || e->type > HARK_RECOVERED)
            finding("%s: effect %u is none", name, e->type);
        if ((e->type == HARK_ROLLBACK ||
                (e->type == HARK_OFFER && e->u.offer.peer == HARK_RECOVERY)) &&
            i + 1 < fx->count)
            finding("%s: %s is not the last", name, hark_event_text(e->type));
        if (e->type != HARK_TRANSMIT) continue;
        const struct hark_bytes h = e->u.transmit.header;
        const uint8_t *end = fx->bytes + fx->used;
        if (h.at < fx->bytes || h.at > end || h.length < HARK_WIRE_HEAD ||
            h.length > HARK_HEADER_MAX || (uint64_t)(end - h.at) < h.length + fx->spare)
            finding("%s: a header outside of its room", name);
        for (uint32_t k = 0; k < fx->spare; k++)
            if (h.at[h.length + k] != 0xa5) finding("%s: bytes behind a header were written", name);
    }
    for (size_t i = fx->bytes_room; i < sizeof world_bytes; i++)
        if (world_bytes[i] != 0xa5) finding("%s: bytes behind the room were written", name);
}

/* One call, held to the contract. EFULL is seen to. */
static inline int world_call(
    struct world *w, struct world_core *x, const struct hark_event *e, struct hark_effects *fx)
{
    for (;;) {
        struct world_core copy = {(struct hark *)(void *)world_copy, x->protocol, x->config, false};
        memcpy(world_copy, x->p, x->p->used);
        memset(world_bytes, 0xa5, sizeof world_bytes);
        int status = x->protocol->step(x->p, e, fx);
        if (status > HARK_WAIT || status < HARK_EIMAGE)
            finding("%s: answers %d", x->protocol->name, status);
        if (status < 0 || status == HARK_WAIT) {
            uint64_t n = world_pack(&copy, world_before);
            if (world_pack(x, world_after) != n || memcmp(world_before, world_after, n) != 0 ||
                x->p->more != copy.p->more)
                finding("%s: %s answers %s and has changed the state", x->protocol->name,
                    hark_event_text(e->type), hark_status_text(status));
            if (status != HARK_EFULL || !world_larger(w, x)) return status;
            continue;
        }
        world_effects_ok(x, fx);
        return status;
    }
}

static inline void world_perform(
    struct world *w, uint32_t who, const struct hark_event *e, const struct hark_effects *fx);

/* An event, and what comes of it. The status of the first call. */
static inline int world_step(struct world *w, uint32_t who, const struct hark_event *event)
{
    struct world_core *x = &w->core[who];
    struct hark_event e = *event, idle = {.type = HARK_IDLE};
    struct hark_effects fx = world_room();
    if (x->p == NULL || w->stop) return HARK_ESTATE;
    int status = world_call(w, x, &e, &fx), answer = status;
    if (status >= 0 && status != HARK_WAIT) world_perform(w, who, event, &fx);
    for (uint32_t batch = 0; status == HARK_MORE && !w->stop; batch++) {
        if (batch == WORLD_BATCHES && !w->endless)
            finding("%s: %s never ends", x->protocol->name, hark_event_text(event->type));
        if (batch == WORLD_BATCHES) w->stop = true;
        if (batch == 0 && !x->gone && world_call(w, x, &idle, &fx) != HARK_ESTATE)
            finding("%s: takes something else than CONTINUE", x->protocol->name);
        e = (struct hark_event){.type = HARK_CONTINUE};
        status = world_call(w, x, &e, &fx);
        if (status < 0)
            finding("%s: CONTINUE answers %s", x->protocol->name, hark_status_text(status));
        if (status == HARK_MORE && fx.count == 0)
            finding("%s: there is more, and it never comes", x->protocol->name);
        world_perform(w, who, &e, &fx);
    }
    if (!w->stop && w->steps++ % 16 == 0) world_repack(w, x);
    return answer;
}

/* ---- what a step brings about ---------------------------------------------------------------- */

static inline void world_frame_drop(struct world_frame *list, uint32_t *count, uint32_t i)
{
    free(list[i].header);
    list[i] = list[--*count];
}

static inline void world_frame_add(
    struct world_frame *list, uint32_t *count, uint32_t who, const uint8_t *at, uint32_t length)
{
    if (*count == WORLD_FRAMES) world_frame_drop(list, count, 0);
    list[(*count)++] = (struct world_frame){exactly(at, length), length, who};
}

static inline void world_capture(struct world *w, uint32_t who, uint64_t id)
{
    uint64_t n = world_pack(&w->core[who], world_after);
    if (w->images == WORLD_IMAGES) {
        free(w->image[0].bytes);
        memmove(w->image, w->image + 1, sizeof w->image - sizeof w->image[0]);
        w->images--;
    }
    w->image[w->images++] = (struct world_image){id, exactly(world_after, n), (uint32_t)n, who};
    struct hark_names run;
    uint64_t cursor = 0;
    for (uint32_t i = 0; i < 100 && w->core[who].protocol->names(w->core[who].p, &cursor, &run);
         i++)
        if (run.name.ssn == 0 || run.last < run.name.ssn)
            finding("%s: names an empty run", w->protocol->name);
}

static inline void world_transmit(struct world *w, const struct hark_transmit *x)
{
    world_frame_add(w->flight, &w->flights, x->peer < WORLD_RANKS ? x->peer : WORLD_RANKS,
        x->header.at, x->header.length);
}

/* STORED is owed for it. */
static inline void world_ask(struct world *w, struct world_fact f)
{
    if (w->facts == WORLD_FACTS) memmove(w->fact, w->fact + 1, sizeof w->fact[0] * --w->facts);
    w->fact[w->facts++] = f;
}

static inline void world_perform(
    struct world *w, uint32_t who, const struct hark_event *e, const struct hark_effects *fx)
{
    for (uint32_t i = 0; i < fx->count; i++) {
        const struct hark_effect *x = &fx->at[i];
        switch (x->type) {
        case HARK_TRANSMIT: world_transmit(w, &x->u.transmit); break;
        case HARK_HANDUP:
        case HARK_HOLD:
            if (e->type != HARK_ARRIVE)
                finding("%s: %s of nothing", w->protocol->name, hark_event_text(x->type));
            world_frame_add(x->type == HARK_HOLD ? w->flight : w->up,
                x->type == HARK_HOLD ? &w->flights : &w->ups, who, e->u.frame.header.at,
                e->u.frame.header.length);
            break;
        case HARK_CAPTURE:
            world_capture(w, who, x->u.checkpoint.id);
            world_ask(w, (struct world_fact){who, HARK_CAPTURE, {.id = x->u.checkpoint.id}});
            break;
        case HARK_PERSIST:
            world_ask(w, (struct world_fact){who, HARK_PERSIST, x->u.persist});
            break;
        case HARK_COMBINE:
            if (x->u.combine.part != HARK_COMBINE_REPLY) break;
            if (w->combines == WORLD_COMBINED)
                finding("%s: combines more than there are groups", w->protocol->name);
            w->combined[w->combines++] = (struct world_combined){who, x->u.combine.name};
            break;
        case HARK_ROLLBACK: w->core[who].gone = true; break;
        default: break;
        }
    }
}

/* ---- events as they should be ---------------------------------------------------------------- */

static inline int world_frame_step(
    struct world *w, uint32_t who, uint32_t type, const uint8_t *at, uint32_t length)
{
    uint8_t *copy = exactly(at, length);
    struct hark_event e = {.type = type};
    e.u.frame.header = (struct hark_bytes){copy, length};
    int status = world_step(w, who, &e);
    free(copy);
    return status;
}

/* The present announcement. */
static inline int world_told(struct world *w, uint32_t who)
{
    uint32_t down[WORLD_RANKS];
    struct hark_incarnation inc[WORLD_WHO];
    struct hark_decision wave[WORLD_RANKS];
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = w->re;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.wave = wave;
    for (uint32_t i = 0; i < WORLD_RANKS; i++) {
        if (w->down[i]) down[e.u.failed.down_count++] = i;
        if (w->decided[i])
            wave[e.u.failed.wave_count++] = (struct hark_decision){i, 0, w->decided[i]};
    }
    for (uint32_t i = 0; i < WORLD_WHO; i++)
        if (w->inc[i])
            inc[e.u.failed.inc_count++] =
                (struct hark_incarnation){i < WORLD_RANKS ? i : HARK_RECOVERY, w->inc[i]};
    return world_step(w, who, &e);
}

static inline struct hark_config world_config(const struct world *w, uint32_t who)
{
    struct hark_config config = w->config;
    config.me = who < WORLD_RANKS ? who : HARK_RECOVERY;
    if (who < WORLD_RANKS && w->config.cluster_count) config.cluster = &w->group[who];
    return config;
}

/* The lowest of those that go back with it. */
static inline uint32_t world_leader(const struct world *w, uint32_t who)
{
    if (w->mapped && who < WORLD_RANKS) return w->next[who].first;
    return w->config.cluster_count ? world_config(w, who).cluster->first
           : w->protocol->rolls == HARK_ROLLS_ALL || w->protocol->rolls == HARK_ROLLS_PROCESS ? 0
                                                                                              : who;
}

/* The lowest of those that checkpoint with it. */
static inline uint32_t world_wave_leader(const struct world *w, uint32_t who)
{
    return w->config.flags & HARK_WAVES_ALL ? 0 : world_leader(w, who);
}

static inline void world_new(struct world *w, uint32_t who)
{
    for (uint32_t i = w->combines; i-- > 0;)
        if (w->combined[i].who == who) w->combined[i] = w->combined[--w->combines];
    struct hark_config config = world_config(w, who);
    const struct hark_protocol *protocol =
        who < WORLD_RANKS ? w->protocol : hark_protocol_named("recovery");
    if (!world_core_new(&w->core[who], protocol, &config))
        finding("%s: can not begin", protocol->name);
}

/* A new incarnation from the last decided wave, if its image is still there. */
static inline void world_restart(struct world *w, uint32_t who)
{
    struct hark_event e = {.type = HARK_RESTARTED};
    world_new(w, who);
    if (who < WORLD_RANKS) {
        for (uint32_t i = 0; i < w->images; i++) {
            if (w->image[i].who != who || w->image[i].id != w->decided[world_wave_leader(w, who)] ||
                w->image[i].id == 0)
                continue;
            e.u.restarted.checkpoint = w->image[i].id;
            e.u.restarted.image = (struct hark_bytes){w->image[i].bytes, w->image[i].length};
        }
        e.u.restarted.re = w->re;
        e.u.restarted.inc = w->inc[who];
        world_step(w, who, &e);
    }
    world_told(w, who);
}

/* `who` dies: it, and who goes back with it, begin again. The others are still to be told. */
static inline void world_fail(struct world *w, uint32_t who)
{
    w->re++;
    for (uint32_t i = 0; i < WORLD_RANKS; i++) {
        bool back =
            i == who || (who < WORLD_RANKS && (w->protocol->rolls == HARK_ROLLS_ALL ||
                                                  (w->protocol->rolls == HARK_ROLLS_CLUSTER &&
                                                      world_leader(w, i) == world_leader(w, who))));
        if (!back) continue;
        w->down[i] = true;
        w->inc[i]++;
    }
    if (who == WORLD_RANKS) w->inc[who]++;
    for (uint32_t i = 0; i < WORLD_WHO; i++)
        if (i == who || (i < WORLD_RANKS && who < WORLD_RANKS && w->down[i] &&
                            world_leader(w, i) == world_leader(w, who) &&
                            w->protocol->rolls != HARK_ROLLS_PROCESS))
            if (w->core[i].p) world_restart(w, i);
}

static inline void world_stored(struct world *w, uint32_t i, bool ok)
{
    struct world_fact f = w->fact[i];
    struct hark_event e = {.type = HARK_STORED};
    memmove(w->fact + i, w->fact + i + 1, sizeof f * (--w->facts - i));
    if (f.of == HARK_PERSIST && f.fact.re != w->re) ok = false;
    if (ok && f.of == HARK_PERSIST && f.fact.kind == HARK_FACT_WAVE && f.fact.rank < WORLD_RANKS)
        w->decided[f.fact.rank] = f.fact.id;
    if (ok && f.fact.new_map) w->mapped = f.fact.id;
    for (uint32_t r = 0;
         ok && f.of == HARK_PERSIST && f.fact.kind == HARK_FACT_DONE && r < WORLD_RANKS; r++)
        if (f.fact.rank == HARK_RECOVERY || f.fact.rank == r) w->down[r] = false;
    e.u.stored.of = f.of;
    e.u.stored.fact = f.of == HARK_PERSIST ? f.fact.kind : 0;
    e.u.stored.ok = ok;
    e.u.stored.id = f.fact.id;
    world_step(w, f.who, &e);
}

/* Who is told of the clusters that are to come. */
static inline void world_recluster(struct world *w, uint32_t who)
{
    struct hark_event e = {.type = HARK_RECLUSTER};
    if (who >= WORLD_RANKS) return;
    e.u.recluster.cluster = &w->next[who];
    e.u.recluster.cluster_count = 1;
    world_step(w, who, &e);
}

/* What a COMBINE asked for is there. */
static inline void world_combined(struct world *w, uint32_t i)
{
    struct hark_event e = {.type = HARK_COMBINED};
    uint32_t who = w->combined[i].who;
    e.u.combined.name = w->combined[i].name;
    w->combined[i] = w->combined[--w->combines];
    if (world_step(w, who, &e) == HARK_EINVAL)
        finding("%s: does not know what it asked for", w->protocol->name);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Clusters {0,1},{2}, or {0},{1,2}, or each alone. */
static inline void world_clusters(struct hark_range of[WORLD_RANKS], uint32_t how)
{
    for (uint32_t i = 0; i < WORLD_RANKS; i++) of[i] = (struct hark_range){i, i};
    if (how % 3) of[how % 3].first = of[how % 3 - 1].first, of[how % 3 - 1].last = of[how % 3].last;
}

/* A job by two choices: protocol with its options, clusters. */
static inline void world_open(struct world *w, uint8_t which, uint8_t how)
{
    static const struct {
        const char *name;
        uint32_t copies, flags;
    } kind[] = {{"none", 0, 0}, {"coordinated", 0, 0}, {"hydee", 0, HARK_DIGEST},
        {"hydee", 0, HARK_EXACT_GATE | HARK_DIGEST}, {"scmel", 1, 0}, {"scmel", 2, 0},
        {"hydee", 0, 0}, {"team", 1, 0}, {"team", 1, HARK_TEAM_LOST},
        /* the late ones */ {"camel", 1, 0}, {"sendet", 0, 0}, {"hydee", 0, 0},
        {"hydee", 0, HARK_DIGEST}, {"team", 1, HARK_WAVES_ALL},
        {"team", 1, HARK_TEAM_LOST | HARK_WAVES_ALL},
        /* the latest */ {"hydee", 0, HARK_WAVES_ALL}, {"hydee", 0, HARK_WAVES_ALL | HARK_DIGEST}};
    static const uint32_t member[] = {0, 1, 2}, above[] = {0, 0, 1};
    static const struct hark_group tree[] = {
        {1, 0, 0, member, above, 3}, {2, 1, 0, member, above, 3}};
    enum {
        LATEST = 2,
        LATE = 6,
        EARLY = HARK_COUNT(kind) - LATE - LATEST
    }; /* late: came when inputs were kept already */
    const bool latest = (which & 0xf0) == 0xd0, late = (which & 0xf0) == 0xc0;
    which = (uint8_t)(latest ? EARLY + LATE + which % LATEST
                      : late ? EARLY + which % LATE
                             : which % EARLY);
    w->protocol = hark_protocol_named(kind[which].name);
    w->config = (struct hark_config){.ranks = WORLD_RANKS,
        .generations = 1 + (how >> 4) % 2,
        .copies = kind[which].copies,
        .flags = kind[which].flags};
    if (late && w->protocol->traits & HARK_TRAIT_GROUPS) {
        w->config.groups = tree;
        w->config.group_count = w->protocol->traits & HARK_TRAIT_REDUCES ? 2 : 1;
    }
    if (hark_option_named(w->protocol->manual->options, "report-tree", 11) &&
        (kind[which].flags | HARK_WAVES_ALL) == HARK_WAVES_ALL && how & 0x80)
        w->config.fan = 2;
    world_clusters(w->next, how / 3);
    if (w->protocol->rolls == HARK_ROLLS_CLUSTER && how % 3) {
        w->config.cluster_count = 1;
        world_clusters(w->group, how);
        const uint32_t of[WORLD_RANKS] = {0, how % 3 != 1, 1};
        if (w->config.group_count == 2 && !hark_tree_in_teams(&tree[1], of))
            w->config.group_count = 1;
    }
    for (uint32_t i = 0; i < world_processes(w); i++) world_new(w, i);
}

static inline void world_close(struct world *w)
{
    for (uint32_t i = 0; i < WORLD_WHO; i++) free(w->core[i].p);
    while (w->flights) world_frame_drop(w->flight, &w->flights, 0);
    while (w->ups) world_frame_drop(w->up, &w->ups, 0);
    for (uint32_t i = 0; i < w->images; i++) free(w->image[i].bytes);
}

#endif
