/* sim.c: the loop: what is to happen next, until nothing is. */
#include "sim.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "parts.h"

enum { HEAP_STEP = 64 << 20 };
enum { FAR = 8, NEAR = 3, FETCHED = 40 << 6 }; /* events ahead, bytes of a core at most */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Ranks of each group as ranges, in two passes over all ranks. */
static bool make_ranges(struct sim *s)
{
    const struct hark_clusters *c = s->o->clusters;
    s->cluster_range = calloc((size_t)c->count + 2, sizeof *s->cluster_range);
    s->range = malloc(((size_t)s->ranks + 1) * sizeof *s->range);
    if (!s->cluster_range || !s->range) return false;
    for (uint32_t r = 0; r < s->ranks; r++)
        if (r == 0 || c->of[r - 1] != c->of[r]) s->cluster_range[c->of[r] + 2]++;
    for (uint32_t g = 0; g < c->count; g++) s->cluster_range[g + 2] += s->cluster_range[g + 1];
    for (uint32_t r = 0; r < s->ranks; r++) {
        uint32_t *at = &s->cluster_range[c->of[r] + 1];
        if (r == 0 || c->of[r - 1] != c->of[r]) s->range[(*at)++] = (struct hark_range){r, r};
        else s->range[*at - 1].last = r;
    }
    return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool make(struct sim *s)
{
    s->p = sim_arena_keep(&s->arena, s->who * sizeof *s->p);
    if (s->p) memset(s->p, 0, s->who * sizeof *s->p);
    if (s->p == NULL || !sim_service_open(s)) return false;
    if (hark_service_by_cluster(s->protocol) && !make_ranges(s)) return false;
    s->fx = (struct hark_effects){.at = s->effects,
        .room = sizeof s->effects / sizeof s->effects[0],
        .bytes = s->bytes,
        .bytes_room = sizeof s->bytes};
    for (uint32_t i = 0; i < s->who && !s->failed; i++) {
        struct sim_process *p = &s->p[i];
        p->inbox = p->held = p->late = (struct sim_list){SIM_NONE, SIM_NONE};
        p->state = i < s->ranks ? STATE_READY : STATE_SERVES;
        p->due = i < s->ranks && hark_service_leader(s->service, i) == i;
        sim_core_new(s, i);
    }
    for (uint32_t i = 0; i < s->o->fails; i++) {
        uint32_t rank = s->o->fail[i].rank;
        if (rank < s->ranks || s->who > s->ranks)
            s->p[rank < s->ranks ? rank : s->ranks].doomed = 1;
    }
    return true;
}

static void unmake(struct sim *s)
{
    s->r->memory = s->arena.bytes + s->block_bytes + s->queue.most * sizeof(struct sim_event);
    for (uint32_t i = 0; s->p && i < s->who; i++) sim_core_free(s, &s->p[i]);
    free(s->piece);
    free(s->tree);
    free(s->tree_rank);
    free(s->range);
    free(s->cluster_range);
    sim_service_close(s);
    sim_queue_free(&s->queue);
    sim_arena_free(&s->arena);
}

/* ---- what happens ---------------------------------------------------------------------------- */

/* May it wait until the process does something? A process that computes does not look; one that
 * waits for somebody else's message has nothing to answer to this one, where nothing is put off
 * until it looks. */
static bool may_wait(const struct sim *s, const struct sim_process *p, const struct sim_frame *f)
{
    if (!s->defers || s->traffic || sim_ssn(f) == 0) return false;
    return p->state == STATE_COMPUTES || (p->state == STATE_WAITS && !sim_wants(s, p, f));
}

static void arrive(struct sim *s, uint32_t frame, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct sim_frame *f = sim_frame(s, frame);
    if (sim_to_inc(f) > p->inc) { /* of an incarnation that is still to be */
        sim_list_add(s, &p->held, frame);
        return;
    }
    if (p->state == STATE_DOWN || sim_to_inc(f) < p->inc) {
        sim_frame_give(s, frame);
        return;
    }
    p->control += sim_header(f)[1] != HARK_APP;
    sim_list_add(s, &p->late, frame);
    if (may_wait(s, p, f)) return;
    if (s->usual && !s->traffic && sim_wants(s, p, f)) p->state = STATE_READY;
    else sim_take_late(s, who);
    if (who < s->ranks) sim_go(s, who);
    else if (p->doomed) (void)sim_failing(s, who, p->control);
}

/* The first byte has come: the rest follows as soon as what came before is in, and the gap behind
 * it is over. */
static void take_in(struct sim *s, uint32_t frame, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    uint64_t span, begins = p->intake > s->now ? p->intake : s->now;
    bool alone = p->intake < s->now; /* nothing of this very moment is to come before it */
    (void)sim_span(s, sim_frame(s, frame), &span);
    p->intake = begins + span + s->o->gap;
    if (alone && span == 0) arrive(s, frame, who);
    else sim_put(s, begins + span, SIM_WHAT(EVENT_WHOLE, frame, who));
}

static void wake(struct sim *s, uint32_t inc, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    if (p->state != STATE_COMPUTES || (p->inc & 0xfffffff) != inc) return;
    if (p->doomed && sim_failing(s, who, p->at.iteration)) return;
    p->state = STATE_READY;
    sim_go(s, who);
}

static void stored(struct sim *s, uint32_t inc, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct hark_event e = {.type = HARK_STORED};
    if (p->state == STATE_DOWN || !p->storing || (p->inc & 0xfffffff) != inc) return;
    if (s->now < p->durable_at) return; /* of an image before, whose checkpoint was aborted */
    sim_take_late(s, who);
    p->storing = 0;
    e.u.stored.of = HARK_CAPTURE;
    e.u.stored.ok = 1;
    e.u.stored.id = p->store_id;
    s->clock = s->now;
    (void)sim_step(s, who, &e, SIM_NONE);
    sim_go(s, who);
}

static void happen(struct sim *s, uint64_t what)
{
    uint32_t number = (uint32_t)(what >> 32) & 0xfffffff, who = (uint32_t)what;
    switch ((enum sim_what)(what >> 60)) {
    case EVENT_FRAME: take_in(s, number, who); break;
    case EVENT_WHOLE: arrive(s, number, who); break;
    case EVENT_WAKE: wake(s, number, who); break;
    case EVENT_STORED: stored(s, number, who); break;
    case EVENT_ANSWER: sim_answer(s, number); break;
    case EVENT_DETECT: sim_detect(s); break;
    case EVENT_RESTART: sim_restart(s, who); break;
    case EVENT_CHANCE: sim_chance(s); break;
    }
}

/* What is to come soon is fetched from memory: with a million processes nothing is near. Always
 * inline: a function that does nothing but this has no effect for gcc, which leaves its calls out.
 */
#define FETCHES __attribute__((always_inline)) static inline void

FETCHES fetch(const struct sim *s, const struct sim_event *e)
{
    const struct sim_process *p = &s->p[(uint32_t)e->what];
    __builtin_prefetch(p);
    __builtin_prefetch((const uint8_t *)p + 64);
    if (e->what >> 60 <= EVENT_WHOLE)
        __builtin_prefetch(sim_frame(s, (uint32_t)(e->what >> 32) & 0xfffffff));
}

FETCHES fetch_core(const struct sim *s, const struct sim_event *e)
{
    const struct sim_process *p = &s->p[(uint32_t)e->what];
    if (p->core == NULL || (e->what >> 60 == EVENT_FRAME && s->o->gap_per_byte)) return;
    if (s->defers && e->what >> 60 <= EVENT_WHOLE &&
        may_wait(s, p, sim_frame(s, (uint32_t)(e->what >> 32) & 0xfffffff)))
        return;
    for (size_t i = 0, most = s->block_most < FETCHED ? s->block_most : FETCHED; i < most; i += 64)
        __builtin_prefetch((const uint8_t *)p->core + i, 0, 2); /* into the second cache: the first
                                                                   has no room for three of them */
    if (p->log.rows) __builtin_prefetch(p->log.row);
    if (p->late.head != SIM_NONE) __builtin_prefetch(sim_frame(s, p->late.head));
}

FETCHES look_ahead(const struct sim *s)
{
    const struct sim_event *far = sim_queue_ahead(&s->queue, FAR),
                           *near = sim_queue_ahead(&s->queue, NEAR);
    if (far) fetch(s, far);
    if (near) fetch_core(s, near);
}

static void loop(struct sim *s)
{
    struct sim_event e;
    for (uint32_t i = 0; i < s->ranks && !s->failed; i++) sim_go(s, i);
    if (s->o->mtbf && hark_service_survives(s->protocol)) sim_chance_next(s);
    while (!s->failed && sim_queue_take(&s->queue, &e)) {
        s->now = e.time;
        look_ahead(s);
        if ((++s->r->events & 0xfffff) == 0 && s->o->progress)
            s->o->progress(s->o->self, s->r->messages, s->now);
        if (e.what >> 60 != EVENT_CHANCE) s->r->time = s->now;
        happen(s, e.what);
    }
    if (s->queue.total && !s->failed) sim_no_memory(s);
    if (s->failed) return;
    for (uint32_t i = 0; i < s->ranks; i++)
        if (s->p[i].busy > s->r->time) s->r->time = s->p[i].busy;
    s->now = s->r->time;
    sim_sample_now(s);
    if (s->ended < s->ranks) sim_say_stall(s);
}

static void totals(struct sim *s)
{
    struct sim_result *r = s->r;
    for (uint32_t i = 0; i < s->who; i++) {
        uint64_t both = (uint64_t)s->p[i].control + s->p[i].control_out;
        r->log_bytes += s->p[i].log.bytes;
        if (both > r->busiest) {
            r->busiest = both;
            r->busiest_at = i == s->ranks ? HARK_RECOVERY : i;
        }
        if (s->p[i].control <= r->control_most) continue;
        r->control_most = s->p[i].control;
        r->control_at = i == s->ranks ? HARK_RECOVERY : i;
    }
}

int sim_run(struct sim_result *r, const struct sim_options *o, char error[SIM_ERROR * 4])
{
    struct sim *s = calloc(1, sizeof *s);
    const bool grouped = o->core.asks & HARK_ASKS_GROUPS;
    (void)mallopt(M_TOP_PAD, HEAP_STEP); /* cores are malloc's; see core.c */
    *r = (struct sim_result){0};
    snprintf(error, SIM_ERROR * 4, "no memory");
    if (s == NULL) return -1;
    *s = (struct sim){.o = o,
        .r = r,
        .error = error,
        .protocol = o->protocol,
        .program = *o->pattern,
        .ranks = o->pattern->ranks,
        .free_frame = SIM_NONE,
        .ask_in = o->ask,
        .defers = o->protocol->unstable == NULL,
        .usual = o->protocol->unstable == NULL && o->protocol->post && o->protocol->receive,
        .idles = hark_service_by_line(o->protocol)};
    s->pattern = &s->program;
    s->program.reduces =
        o->pattern->maker->group && hark_protocol_reduces(o->protocol, grouped, o->core.copies);
    s->program.groups = o->pattern->maker->group && hark_protocol_groups(o->protocol, grouped);
    s->waves_all = grouped && o->protocol->traits & HARK_TRAIT_WAVES;
    if (s->program.groups && s->program.contexts > UINT16_MAX)
        sim_fail(s, "%s has at most %u groups, %s has %llu", o->protocol->name, UINT16_MAX,
            o->pattern->maker->name, (unsigned long long)s->program.contexts);
    s->heap_end = (uintptr_t)sbrk(0);
    s->recovery = o->protocol->recovery ? hark_protocol_recovery() : NULL;
    s->who = s->ranks + (s->recovery != NULL);
    s->sample_step = (uint64_t)s->ranks * o->iterations / 256 + 1;
    double began = seconds();
    if (!s->failed && !make(s)) sim_no_memory(s);
    double made = seconds();
    if (!s->failed) loop(s);
    r->seconds = seconds() - made;
    r->seconds_made = made - began;
    if (!s->failed) sim_check_ends(s);
    if (s->p) totals(s);
    unmake(s);
    int status = s->failed ? -1 : 0;
    free(s);
    return status;
}

void sim_result_free(struct sim_result *r)
{
    free(r->failure);
    free(r->recovery);
    free(r->sample);
    free(r->happened);
    r->failure = NULL;
    r->recovery = NULL;
    r->sample = NULL;
    r->happened = NULL;
}
