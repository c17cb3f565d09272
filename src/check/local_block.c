/* local_block.c: the block of a process's core: made, packed, unpacked. */
#undef HARK_LINK /* makes blocks of its own */
#include "local.h"

#include <stdlib.h>
#include <string.h>

enum { UNPACKED = 1 << 10 };

/* A packed state has the same block whenever it is unpacked, and most are needed for several steps
 * in a row: those needed last are kept, by the lower bits of their numbers. */
struct lab_unpacked {
    struct hark *block; /* as small as it can be */
    uint64_t bytes;
    uint32_t part; /* 0: none */
};

bool core_open(struct lab *lab, uint64_t bytes)
{
    lab->core_bytes = bytes;
    lab->core = malloc(bytes);
    lab->packed = malloc(LOCAL_PACK);
    lab->unpacked = calloc(UNPACKED, sizeof *lab->unpacked);
    if (lab->core && lab->packed && lab->unpacked) return true;
    core_close(lab);
    lab->core = NULL;
    lab->packed = NULL;
    lab->unpacked = NULL;
    return false;
}

void core_close(struct lab *lab)
{
    for (uint32_t i = 0; lab->unpacked && i < UNPACKED; i++) free(lab->unpacked[i].block);
    free(lab->unpacked);
    free(lab->packed);
    free(lab->core);
}

/* ---- packed ---------------------------------------------------------------------------------- */

void core_changes(struct lab *lab)
{
    lab->packed_part = lab->packed_length = 0;
}

struct hark_bytes core_packed(struct lab *lab)
{
    if (lab->packed_part)
        return (struct hark_bytes){
            intern_at(&lab->part, lab->packed_part), intern_length(&lab->part, lab->packed_part)};
    if (lab->packed_length == 0) {
        uint64_t n =
            hark_pack(lab->core, lab_protocol(lab, lab->who_now)->shape, lab->packed, LOCAL_PACK);
        if (n > LOCAL_PACK) lab_fail(lab, "a core's state is larger than this search expects");
        lab->packed_length = n > LOCAL_PACK ? 0 : (uint32_t)n;
    }
    return (struct hark_bytes){lab->packed, lab->packed_length};
}

uint32_t core_pack(struct lab *lab)
{
    if (lab->packed_part) return lab->packed_part;
    struct hark_bytes bytes = core_packed(lab);
    if (lab->failed) return 0;
    lab->packed_part = intern_put(&lab->part, bytes.at, bytes.length);
    if (lab->packed_part == 0) lab_starve(lab);
    return lab->packed_part;
}

void core_keep(struct lab *lab)
{
    lab->at.core = core_pack(lab);
}

/* ---- unpacked -------------------------------------------------------------------------------- */

static bool widen(struct lab *lab, struct lab_unpacked *u, uint64_t bytes)
{
    struct hark *block = bytes > u->bytes ? realloc(u->block, bytes) : u->block;
    if (block == NULL) {
        lab_starve(lab);
        return false;
    }
    u->block = block;
    u->bytes = bytes > u->bytes ? bytes : u->bytes;
    return true;
}

/* The smallest block that it fits into; what a block wants is twice what it needs. False: packed
 * again it is another, or there is no memory. */
static bool unpack(struct lab *lab, struct lab_unpacked *u, struct hark_bytes bytes)
{
    static uint8_t again[LOCAL_PACK];
    const struct hark_protocol *protocol = lab_protocol(lab, lab->who_now);
    int status;
    if (!widen(lab, u, protocol->shape->fixed)) return false;
    hark_block_init(u->block, u->bytes, protocol->shape, protocol->kind);
    while ((status = hark_unpack(u->block, protocol->shape, bytes)) == HARK_EFULL) {
        if (!widen(lab, u, (hark_wants(u->block, NULL) + 1) / 2)) return false;
        hark_grow(u->block, u->bytes);
    }
    hark_grow(u->block, u->block->used); /* unpacking took more for a while */
    return status == HARK_OK &&
           hark_pack(u->block, protocol->shape, again, sizeof again) == bytes.length &&
           memcmp(again, bytes.at, bytes.length) == 0;
}

const struct hark *core_unpacked(struct lab *lab, uint32_t part)
{
    struct lab_unpacked *u = &lab->unpacked[part % UNPACKED];
    if (u->part == part) return u->block;
    u->part = 0;
    if (!unpack(lab, u,
            (struct hark_bytes){intern_at(&lab->part, part), intern_length(&lab->part, part)})) {
        if (!lab->failed) lab_violate(lab, VIOLATED_TWIN_PACK);
        return lab->failed ? NULL : u->block;
    }
    u->part = part;
    return u->block;
}

void local_open_core(struct lab *lab, uint32_t local)
{
    local_open(lab, local);
    lab->who_now = lab->at.who;
    lab->running = lab->at.core != 0;
    core_changes(lab);
    if (!lab->running) return;
    const struct hark *block = core_unpacked(lab, lab->at.core);
    if (block == NULL) return;
    memcpy(lab->core, block, block->used);
    hark_grow(lab->core, lab->core_bytes);
    lab->packed_part = lab->at.core;
}

/* ---- made ------------------------------------------------------------------------------------ */

static uint32_t rank_of(const struct lab *lab, uint32_t who)
{
    return who == lab->ranks ? HARK_RECOVERY : who;
}

/* The trees of the scenario, if the protocol has groups: one of multicasts on each, and one of
 * reductions. */
static void add_trees(const struct lab *lab, struct hark_config *c)
{
    static uint32_t member[HARK_SCENARIO_TREES][HARK_SCENARIO_RANKS],
        parent[HARK_SCENARIO_TREES][HARK_SCENARIO_RANKS];
    static struct hark_group all[2 * HARK_SCENARIO_TREES];
    c->groups = all;
    for (uint32_t t = 0; t < lab->scenario->trees; t++) {
        const struct hark_group tree = lab_tree(lab->scenario, t, member[t], parent[t]);
        all[c->group_count++] = tree;
        if (!lab->reduces) continue;
        all[c->group_count] = tree;
        all[c->group_count].ctx = group_ctx(t, true);
        all[c->group_count++].reduces = 1;
    }
}

void core_new(struct lab *lab, uint32_t who)
{
    const struct hark_scenario *s = lab->scenario;
    struct hark_range group[HARK_SCENARIO_RANKS];
    struct hark_config c = lab->options;
    c.me = rank_of(lab, who);
    c.ranks = lab->ranks;
    c.cluster = group;
    c.generations = s->generations;
    c.epoch = who < lab->ranks ? s->epoch[who] : 0;
    c.flags |= HARK_DIGEST | (s->waves_all ? HARK_WAVES_ALL : 0) |
               (s->images_copied ? HARK_IMAGES_COPIED : 0);
    const bool by_cluster = who < lab->ranks && hark_service_by_cluster(lab->protocol);
    for (uint32_t i = 0; by_cluster && i < lab->ranks; i++)
        if (s->cluster[i] == s->cluster[who]) group[c.cluster_count++] = (struct hark_range){i, i};
    if (who < lab->ranks && lab->groups) add_trees(lab, &c);
    memset(lab->core, 0, lab->core_bytes);
    if (lab_protocol(lab, who)->init(lab->core, lab->core_bytes, &c) != HARK_OK)
        lab_fail(lab, "the protocol does not take this configuration");
    lab->running = true;
    core_changes(lab);
    core_keep(lab);
}

void core_stop(struct lab *lab)
{
    struct local *l = &lab->at;
    l->core = l->storing = l->inboxes = l->helds = l->payloads = l->facts = 0;
    l->inc = l->seen = 0;
    l->store_id = 0;
    memset(&l->app, 0, sizeof l->app);
    lab->running = false;
    lab->offer = 0;
}
