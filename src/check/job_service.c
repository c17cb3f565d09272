/* job_service.c: the failure service of a job: the core that ships (hark/service.h), stepped in the
 * place of a runtime that verifies images and writes records at once. Its packed state is a part;
 * struct service beside it is what is often asked of it. */
#include <stdlib.h>
#include <string.h>

#include "hark/service.h"
#include "job_parts.h"

enum { BLOCK = 8192 };

const struct service *job_service(const struct lab *lab, const struct job *job)
{
    return intern_at(&lab->part, job->at[2 * lab->who]);
}

void job_service_set(struct lab *lab, struct job *job, const struct service *s)
{
    uint32_t part = intern_put(&lab->part, s, sizeof *s);
    if (part == 0) lab_starve(lab);
    job->at[2 * lab->who] = part;
}

uint8_t job_generations(const struct lab *lab)
{
    return lab->scenario->generations ? lab->scenario->generations : 2;
}

static const char too_small[] = "the failure service needs a larger block than this search gives";

struct block { /* a core, unpacked while it is stepped */
    uint64_t room[BLOCK / 8];
};

static struct hark *core_of(struct block *b)
{
    return (struct hark *)(void *)b->room;
}

/* Clusters, numbered by lowest rank. */
static void clusters(const struct lab *lab, const uint8_t *from, uint32_t *of)
{
    for (uint32_t i = 0; i < lab->ranks; i++) {
        of[i] = i;
        for (uint32_t k = i; k-- > 0;)
            if (from[k] == from[i]) of[i] = k;
    }
}

static bool make(struct lab *lab, struct block *b)
{
    uint32_t of[HARK_SCENARIO_RANKS];
    clusters(lab, lab->scenario->cluster, of);
    const struct hark_service_config c = {.protocol = lab->protocol,
        .ranks = lab->ranks,
        .cluster = of,
        .waves_all = lab->waves_all,
        .generations = job_generations(lab)};
    if (hark_service_init(core_of(b), sizeof b->room, &c) == HARK_OK) return true;
    lab_fail(lab, too_small);
    return false;
}

/* What is asked of it in every state. */
static void look(struct lab *lab, const struct hark *p, struct service *s)
{
    s->re = hark_service_epoch(p);
    s->mapped = (uint32_t)hark_service_mapped(p);
    s->down = 0;
    for (uint32_t i = 0; i < lab->ranks; i++) {
        const struct hark_service_restart r = hark_service_restart(p, i);
        uint64_t undone[64];
        const uint32_t n = hark_service_undone(p, i, undone, 64);
        s->down |= (uint32_t)hark_service_is_down(p, i) << i;
        s->inc[i] = r.inc;
        s->from[i] = r.checkpoint;
        s->leader[i] = (uint8_t)hark_service_leader(p, i);
        s->again[i] = 0;
        for (uint32_t k = 0; k < n && k < 64; k++) s->again[i] |= UINT64_C(1) << (undone[k] - 1);
        if (s->leader[i] != i) continue;
        s->wave[i] = hark_service_wave(p, i, 0);
        s->before[i] = hark_service_wave(p, i, 1);
        s->decided[i] = (uint8_t)hark_service_decided(p, i);
    }
    if (lab->who > lab->ranks) s->inc[lab->ranks] = hark_service_incarnation(p, HARK_RECOVERY);
}

static uint32_t packed(struct lab *lab, const struct block *b)
{
    uint8_t bytes[BLOCK];
    const uint64_t length = hark_pack(
        (const struct hark *)(const void *)b->room, &hark_service_shape, bytes, sizeof bytes);
    if (length > sizeof bytes) lab_fail(lab, too_small);
    const uint32_t part = lab->failed ? 0 : intern_put(&lab->part, bytes, (uint32_t)length);
    if (part == 0) lab_starve(lab);
    return part;
}

static void put(struct lab *lab, struct job *job, struct service *s, const struct block *b)
{
    s->core = packed(lab, b);
    look(lab, (const struct hark *)(const void *)b->room, s);
    job_service_set(lab, job, s);
}

static bool may_fail(const struct lab *lab)
{
    for (uint32_t i = 0; i < lab->scenario->fails; i++)
        if (lab->scenario->fail[i].rank == HARK_FAIL_SERVICE) return true;
    return false;
}

/* Who embeds the service proposes the next map, until it is in force: it is no part of a record. */
static void propose(struct lab *lab, struct hark *p)
{
    uint32_t of[HARK_SCENARIO_RANKS];
    struct hark_service_effect effect[4];
    struct hark_service_effects fx = {effect, 0, 4};
    struct hark_service_event e = {.type = HARK_SERVICE_PROPOSED};
    if (!lab->regroups || hark_service_mapped(p) || hark_service_next(p, 0) != UINT32_MAX) return;
    clusters(lab, lab->scenario->next, of);
    e.u.proposed.cluster = of;
    (void)hark_service_step(p, &e, &fx);
}

void job_service_first(struct lab *lab, struct job *job)
{
    struct service s = {0};
    struct block b;
    if (!make(lab, &b)) return;
    if (may_fail(lab)) s.record = packed(lab, &b);
    put(lab, job, &s, &b);
}

static bool has_image(struct lab *lab, const struct job *job, uint32_t who, uint64_t id)
{
    local_open(lab, job->at[who]);
    for (uint32_t i = 0; i < lab->at.images; i++)
        if (((const struct image *)intern_at(&lab->part, lab->at.image[i]))->id == id) return true;
    return false;
}

/* One effect; what the core is told in answer, if anything. */
static void perform(struct lab *lab, const struct job *job, const struct hark_service_effect *x,
    struct hark_service_event *answer, struct service_outcome *out)
{
    switch (x->type) {
    case HARK_SERVICE_VERIFY:
        answer->type = HARK_SERVICE_VERIFIED;
        answer->u.verified.whole = has_image(lab, job, x->rank, x->id);
        break;
    case HARK_SERVICE_RECORD:
        answer->type = HARK_SERVICE_DURABLE;
        answer->u.durable.ok = true;
        break;
    case HARK_SERVICE_ANSWER: out->ok = x->id; break;
    case HARK_SERVICE_ANNOUNCE: out->announce = true; break;
    case HARK_SERVICE_RESTART: out->back |= 1u << x->rank; break;
    case HARK_SERVICE_LOST: out->lost = true; break;
    default: break;
    }
}

static struct service_outcome make_event(
    struct lab *lab, struct job *job, struct service *s, const struct hark_service_event *event)
{
    struct service_outcome out = {0};
    struct hark_service_event e = *event;
    struct block b;
    const uint32_t state = event->type == HARK_SERVICE_RESUMED ? s->record : s->core; /* one that
                                                                                         goes on
                                                                                         knows what
                                                                                         is durable
                                                                                       */
    const struct hark_bytes bytes = {
        intern_at(&lab->part, state), intern_length(&lab->part, state)};
    if (!make(lab, &b) || hark_unpack(core_of(&b), &hark_service_shape, bytes) != HARK_OK) {
        lab_fail(lab, too_small);
        return out;
    }
    propose(lab, core_of(&b));
    while (e.type && !lab->failed) {
        struct hark_service_effect effect[LOCAL_WHO + 4];
        struct hark_service_effects fx = {effect, 0, HARK_COUNT(effect)};
        struct hark_service_event answer = {0};
        const int status = hark_service_step(core_of(&b), &e, &fx);
        if (status < 0 || status == HARK_WAIT)
            lab_fail(lab, "the failure service refuses an event");
        for (uint32_t i = 0; status >= 0 && i < fx.count; i++) {
            perform(lab, job, &effect[i], &answer, &out);
            if (effect[i].type == HARK_SERVICE_RECORD && s->record) s->record = packed(lab, &b);
        }
        if (status == HARK_MORE) answer.type = HARK_SERVICE_CONTINUE;
        e = answer;
    }
    if (!lab->failed) put(lab, job, s, &b);
    return out;
}

/* ---- remembered ------------------------------------------------------------------------------ */

/* The outcome of an event to the service depends on this: its state, the event, and which images
 * there are. */
struct event_key {
    uint32_t service, type, dead, recovery;
    struct hark_fact fact;
    uint32_t images[LOCAL_WHO];
};

struct service_memo {
    uint32_t service; /* part: what it is then; 0: not known yet */
    struct service_outcome outcome;
};

/* Its number; 0: this kind of event is not remembered, or there is no memory for it. */
static uint32_t event_number(struct lab *lab, const struct job *job, const struct service *s,
    const struct hark_service_event *e)
{
    struct event_key key;
    memset(&key, 0, sizeof key);
    if (e->type != HARK_SERVICE_FACT && e->type != HARK_SERVICE_DIED) return 0;
    key.service = intern_put(&lab->part, s, sizeof *s);
    key.type = e->type;
    if (e->type == HARK_SERVICE_FACT) memcpy(&key.fact, &e->u.fact, sizeof key.fact);
    for (uint32_t i = 0; e->type == HARK_SERVICE_DIED && i < e->u.died.count; i++)
        key.dead |= 1u << e->u.died.rank[i];
    if (e->type == HARK_SERVICE_DIED) key.recovery = e->u.died.recovery;
    for (uint32_t i = 0; i < lab->who; i++) key.images[i] = local_info(lab, job->at[i])->images;
    return key.service ? intern_put(&lab->service_event, &key, sizeof key) : 0;
}

static bool room_for(struct lab *lab, uint32_t number)
{
    if (number < lab->service_room) return true;
    const uint32_t room = lab->service_room ? lab->service_room * 2 : 1 << 8;
    struct service_memo *more =
        lab->frozen ? NULL : realloc(lab->service_memo, room * sizeof *more);
    if (more == NULL) return false;
    memset(more + lab->service_room, 0, (room - lab->service_room) * sizeof *more);
    lab->service_memo = more;
    lab->service_room = room;
    return number < room;
}

struct service_outcome job_service_event(
    struct lab *lab, struct job *job, struct service *s, const struct hark_service_event *event)
{
    const uint32_t number = event_number(lab, job, s, event);
    struct service_memo *m = number && room_for(lab, number) ? &lab->service_memo[number] : NULL;
    if (m && m->service) {
        job->at[2 * lab->who] = m->service;
        *s = *job_service(lab, job);
        return m->outcome;
    }
    const struct service_outcome out = make_event(lab, job, s, event);
    if (m && !lab->failed) *m = (struct service_memo){job->at[2 * lab->who], out};
    return out;
}
