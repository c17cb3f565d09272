#include "keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper_internal.h"

static const char no_memory[] = "the failure service: no memory";

const char *hark_keeper_error(const struct hark_keeper *k)
{
    return k->error;
}

bool hark_keeper_resumed(const struct hark_keeper *k)
{
    return k->resumed;
}

const struct hark *hark_keeper_core(const struct hark_keeper *k)
{
    return k->core;
}

const uint8_t *hark_keeper_back(const struct hark_keeper *k)
{
    return k->back;
}

static uint32_t ranks_of(const struct hark_keeper *k)
{
    return k->config.clusters->ranks;
}

uint32_t hark_keeper_undone(struct hark_keeper *k, uint32_t rank, const uint64_t **id)
{
    uint32_t n = hark_service_undone(k->core, rank, k->undone, k->undone_room);
    if (n > k->undone_room) {
        uint64_t *more = realloc(k->undone, n * sizeof *more);
        if (more == NULL)
            n = k->undone_room; /* what is not said is a checkpoint that is taken elsewhere */
        else k->undone = more, k->undone_room = n;
        (void)hark_service_undone(k->core, rank, k->undone, k->undone_room);
    }
    *id = k->undone;
    return n;
}

const uint32_t *hark_keeper_clusters(struct hark_keeper *k)
{
    for (uint32_t r = 0; r < ranks_of(k); r++) k->of[r] = hark_service_cluster(k->core, r);
    return k->of;
}

const uint32_t *hark_keeper_next(struct hark_keeper *k)
{
    if (hark_service_next(k->core, 0) == UINT32_MAX) return NULL;
    for (uint32_t r = 0; r < ranks_of(k); r++) k->of[r] = hark_service_next(k->core, r);
    return k->of;
}

/* ---- steps, and their effects on the disk ---------------------------------------------------- */

static bool is_whole(struct hark_keeper *k, uint32_t rank, uint64_t id)
{
    struct hark_store *images = k->config.images;
    if (images == NULL || images->ops->verify(images, rank, id) == HARK_S_OK) return true;
    snprintf(k->error, sizeof k->error, "%s", images->error);
    return false;
}

/* One effect; *answer is what the core is told in answer, if its type is set. */
static int perform(
    struct hark_keeper *k, const struct hark_service_effect *x, struct hark_service_event *answer)
{
    switch (x->type) {
    case HARK_SERVICE_VERIFY:
        answer->type = HARK_SERVICE_VERIFIED;
        answer->u.verified.whole = is_whole(k, x->rank, x->id);
        break;
    case HARK_SERVICE_FELL_BACK:
        if (k->config.fell_back) k->config.fell_back(k->config.self, x->rank, x->id, k->error);
        break;
    case HARK_SERVICE_LOST:
        if (k->config.lost) k->config.lost(k->config.self, x->rank, k->error);
        return HARK_KEEPER_ELOST;
    case HARK_SERVICE_RECORD: k->recording = true; break;
    case HARK_SERVICE_ANSWER: k->answer = x->id ? HARK_KEEPER_OK : HARK_KEEPER_REFUSED; break;
    case HARK_SERVICE_RESTART: k->back[x->rank] = 1; break;
    default: break; /* the supervisor announces, and starts the recovery process */
    }
    return HARK_KEEPER_OK;
}

/* An event and all that comes of it, up to a RECORD. HARK_KEEPER_OK, _ELOST, _EMEMORY;
 * HARK_KEEPER_REFUSED: it is not legal now. */
static int run(struct hark_keeper *k, struct hark_service_event e)
{
    struct hark_service_effect effect[64];
    for (;;) {
        struct hark_service_effects fx = {effect, 0, HARK_COUNT(effect)};
        struct hark_service_event answer = {0};
        int status = hark_service_step(k->core, &e, &fx), result = HARK_KEEPER_OK;
        if (status == HARK_EFULL && hark_keeper_grow(k)) continue;
        if (status == HARK_EFULL) {
            snprintf(k->error, sizeof k->error, "%s", no_memory);
            return HARK_KEEPER_EMEMORY;
        }
        if (status != HARK_OK && status != HARK_MORE) return HARK_KEEPER_REFUSED;
        for (uint32_t i = 0; i < fx.count && result == HARK_KEEPER_OK; i++)
            result = perform(k, &fx.at[i], &answer);
        if (status == HARK_MORE) answer.type = HARK_SERVICE_CONTINUE;
        if (result != HARK_KEEPER_OK || answer.type == 0) return result;
        e = answer;
    }
}

static int choose(struct hark_keeper *k, const struct hark_service_event *e)
{
    memset(k->back, 0, ranks_of(k));
    return run(k, *e);
}

int hark_keeper_choose(struct hark_keeper *k, const uint8_t *dead, bool recovery)
{
    struct hark_service_event e = {.type = HARK_SERVICE_DIED};
    uint32_t *rank = malloc(ranks_of(k) * sizeof *rank);
    if (rank == NULL) {
        snprintf(k->error, sizeof k->error, "%s", no_memory);
        return HARK_KEEPER_EMEMORY;
    }
    for (uint32_t r = 0; dead && r < ranks_of(k); r++)
        if (dead[r]) rank[e.u.died.count++] = r;
    e.u.died.rank = rank;
    e.u.died.recovery = recovery;
    int status = choose(k, &e);
    free(rank);
    return status;
}

int hark_keeper_resume(struct hark_keeper *k, bool recovery)
{
    struct hark_service_event e = {.type = HARK_SERVICE_RESUMED};
    e.u.died.recovery = recovery;
    return choose(k, &e);
}

int hark_keeper_commit(struct hark_keeper *k)
{
    struct hark_service_event e = {.type = HARK_SERVICE_DURABLE};
    int status = hark_keeper_write(k);
    k->recording = false;
    e.u.durable.ok = status == HARK_KEEPER_OK;
    (void)run(k, e);
    return status;
}

/* The event, and its record at once. */
static int change(struct hark_keeper *k, const struct hark_service_event *e)
{
    k->answer = HARK_KEEPER_REFUSED;
    int status = run(k, *e);
    if (status != HARK_KEEPER_OK) return status;
    if (k->recording) status = hark_keeper_commit(k);
    return status < 0 ? status : k->answer;
}

int hark_keeper_fact(struct hark_keeper *k, const struct hark_fact *fact)
{
    struct hark_service_event e = {.type = HARK_SERVICE_FACT, .u.fact = *fact};
    if (fact->kind == HARK_FACT_LINE) memset(k->back, 0, ranks_of(k));
    return change(k, &e);
}

int hark_keeper_propose(struct hark_keeper *k, const uint32_t *of)
{
    struct hark_service_event e = {.type = HARK_SERVICE_PROPOSED};
    e.u.proposed.cluster = of;
    return run(k, e);
}

int hark_keeper_finish(struct hark_keeper *k)
{
    return change(k, &(struct hark_service_event){.type = HARK_SERVICE_FINISHED});
}

/* ---- telling --------------------------------------------------------------------------------- */

void hark_keeper_announce(const struct hark_keeper *k, struct hark_control *m)
{
    const struct hark *p = k->core;
    const uint32_t ranks = ranks_of(k), recovery = hark_service_incarnation(p, HARK_RECOVERY);
    uint32_t incs = recovery != 0, waves = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        incs += hark_service_incarnation(p, r) != 0;
        waves += hark_service_leader(p, r) == r && hark_service_wave(p, r, 0) != 0;
    }
    hark_control_begin(m, HARK_C_FAILED);
    hark_control_put32(m, hark_service_epoch(p));
    hark_control_put32(m, hark_service_down(p));
    for (uint32_t r = 0; r < ranks; r++)
        if (hark_service_is_down(p, r)) hark_control_put32(m, r);
    hark_control_put32(m, incs);
    for (uint32_t r = 0; r < ranks; r++) {
        if (hark_service_incarnation(p, r) == 0) continue;
        hark_control_put32(m, r);
        hark_control_put32(m, hark_service_incarnation(p, r));
    }
    if (recovery) {
        hark_control_put32(m, HARK_RECOVERY);
        hark_control_put32(m, recovery);
    }
    hark_control_put32(m, waves);
    for (uint32_t r = 0; r < ranks; r++) {
        if (hark_service_leader(p, r) != r || hark_service_wave(p, r, 0) == 0) continue;
        hark_control_put32(m, r);
        hark_control_put64(m, hark_service_wave(p, r, 0));
    }
    hark_control_end(m);
}

/* ---- open and close -------------------------------------------------------------------------- */

/* The initial state, in memory of its own; NULL: no memory for it, or (*status) invalid. */
static struct hark *new_core(const struct hark_keeper *k, int *status)
{
    const uint64_t bytes = hark_service_size(&k->service);
    struct hark *core = bytes ? malloc(bytes) : NULL;
    *status = bytes ? HARK_KEEPER_EMEMORY : HARK_KEEPER_EINVAL;
    if (core && hark_service_init(core, bytes, &k->service) == HARK_OK) return core;
    if (core) *status = HARK_KEEPER_EINVAL;
    free(core);
    return NULL;
}

static int make_core(struct hark_keeper *k, char error[HARK_KEEPER_ERROR])
{
    k->service = (struct hark_service_config){.protocol = k->config.protocol,
        .ranks = ranks_of(k),
        .cluster = k->config.clusters->of,
        .waves_all = k->config.waves_all,
        .generations = k->config.generations};
    if (k->config.generations > HARK_SERVICE_GENERATIONS) {
        snprintf(
            error, HARK_KEEPER_ERROR, "expected 1 to %d generations", HARK_SERVICE_GENERATIONS);
        return HARK_KEEPER_EINVAL;
    }
    int status;
    k->core = new_core(k, &status);
    if (k->core == NULL) return status;
    k->back = calloc(ranks_of(k), 1);
    k->of = calloc(ranks_of(k), sizeof *k->of);
    return k->back && k->of ? HARK_KEEPER_OK : HARK_KEEPER_EMEMORY;
}

int hark_keeper_begin_anew(struct hark_keeper *k)
{
    int status;
    struct hark *core = new_core(k, &status);
    if (core == NULL) {
        snprintf(k->error, sizeof k->error, "%s", no_memory);
        return status;
    }
    free(k->core);
    k->core = core;
    k->resumed = false;
    return HARK_KEEPER_OK;
}

int hark_keeper_return(struct hark_keeper *k, struct hark_store *from, uint64_t id, bool recovery)
{
    struct hark *present = k->core;
    int status;
    k->core = new_core(k, &status);
    if (k->core) status = hark_keeper_take(k, from, 0, id);
    if (status == HARK_KEEPER_OK) {
        hark_service_outnumber(k->core, present);
        status = hark_keeper_resume(k, recovery);
    } else if (status == HARK_KEEPER_EMEMORY) {
        snprintf(k->error, sizeof k->error, "%s", no_memory);
    }
    free(status == HARK_KEEPER_OK ? present : k->core);
    if (status != HARK_KEEPER_OK) k->core = present;
    return status;
}

int hark_keeper_open(struct hark_keeper **out, const struct hark_keeper_config *config,
    char error[HARK_KEEPER_ERROR])
{
    struct hark_keeper *k = calloc(1, sizeof *k);
    *out = NULL;
    snprintf(error, HARK_KEEPER_ERROR, "%s", no_memory);
    if (k == NULL) return HARK_KEEPER_EMEMORY;
    k->config = *config;
    int status = make_core(k, error);
    if (status == HARK_KEEPER_OK) {
        if (config->record) status = hark_keeper_read(k);
        if (status == HARK_KEEPER_OK && !k->resumed) status = hark_keeper_write(k);
        snprintf(error, HARK_KEEPER_ERROR, "%s", k->error);
    }
    if (status < 0) hark_keeper_close(k);
    else *out = k;
    return status;
}

void hark_keeper_close(struct hark_keeper *k)
{
    if (k == NULL) return;
    free(k->core);
    free(k->back);
    free(k->of);
    free(k->undone);
    free(k);
}
