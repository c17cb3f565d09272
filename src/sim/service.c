/* service.c: failures of simulated processes, and what surrounds the failure service
 * (hark/service.h): it takes time to notice a death, to answer, and to bring back who went back;
 * whatever is recorded is durable at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

bool sim_service_open(struct sim *s)
{
    const size_t n = s->ranks;
    const struct hark_service_config c = {.protocol = s->protocol,
        .ranks = s->ranks,
        .cluster = s->o->clusters->of,
        .waves_all = s->waves_all,
        .unverified = true,
        .generations = s->o->generations};
    const uint64_t bytes = hark_service_size(&c);
    s->service = bytes ? malloc(bytes) : NULL;
    s->down = malloc(n * sizeof *s->down);
    s->inc = malloc((n + 1) * sizeof *s->inc);
    s->wave = malloc(n * sizeof *s->wave);
    s->dead = calloc(n + 1, 1);
    s->r->happened = calloc((size_t)s->o->fails + 1, 1);
    s->free_fact = SIM_NONE;
    s->chance = s->o->seed;
    if (!s->service || !s->down || !s->inc || !s->wave || !s->dead || !s->r->happened) return false;
    return hark_service_init(s->service, bytes, &c) == HARK_OK;
}

void sim_service_close(struct sim *s)
{
    free(s->service);
    free(s->down);
    free(s->inc);
    free(s->wave);
    free(s->undone);
    free(s->dead);
    free(s->fact);
}

/* ---- dying ----------------------------------------------------------------------------------- */

/* Only what came for an incarnation that is still to be outlives one. */
static void drop_held(struct sim *s, struct sim_process *p)
{
    struct sim_list held = p->held;
    p->held = (struct sim_list){SIM_NONE, SIM_NONE};
    for (uint32_t f = held.head, next; f != SIM_NONE; f = next) {
        next = sim_frame(s, f)->next;
        if (sim_to_inc(sim_frame(s, f)) > p->inc) sim_list_add(s, &p->held, f);
        else sim_frame_give(s, f);
    }
}

static void note_goal(struct sim *s, struct sim_process *p)
{
    const struct sim_place *a = &p->at;
    bool beyond = a->iteration != p->goal_iteration ? a->iteration > p->goal_iteration
                  : a->stage != p->goal_stage       ? a->stage > p->goal_stage
                                                    : a->place > p->goal_place;
    if (!p->behind) s->behind++;
    if (!p->behind || beyond) {
        p->goal_iteration = a->iteration;
        p->goal_stage = (uint8_t)a->stage;
        p->goal_place = a->place;
    }
    p->behind = 1;
}

/* The process is no more, until its next incarnation. */
static void go_down(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    if (p->state == STATE_ENDED) s->ended--;
    if (who < s->ranks) note_goal(s, p);
    p->state = STATE_DOWN;
    p->storing = 0;
    p->offer = 0;
    p->lost_at = s->now;
    sim_list_drop(s, &p->inbox);
    sim_list_drop(s, &p->late);
    sim_index_drop(s, p, &p->inbox);
    sim_index_drop(s, p, &p->late);
    drop_held(s, p);
}

static void restart_later(struct sim *s, uint32_t who)
{
    s->p[who].restarting = 1;
    s->restarts++;
    sim_put(s, s->now + s->o->restart, SIM_WHAT(EVENT_RESTART, 0, who));
}

void sim_crash(struct sim *s, uint32_t who)
{
    struct sim_result *r = s->r;
    if (s->p[who].state == STATE_DOWN) return;
    const uint32_t at = s->p[who].at.iteration, last = s->o->iterations - 1;
    struct sim_failure *more = realloc(r->failure, ((size_t)r->failures + 1) * sizeof *more);
    if (more == NULL) {
        sim_no_memory(s);
        return;
    }
    r->failure = more;
    r->failure[r->failures++] =
        (struct sim_failure){who == s->ranks ? HARK_RECOVERY : who, at < last ? at : last, s->now};
    go_down(s, who);
    s->dead[who] = 1;
    if (s->detecting++ == 0) s->died = s->now;
    sim_put(s, s->now + s->o->detect, SIM_WHAT(EVENT_DETECT, 0, who));
}

void sim_rolled_back(struct sim *s, uint32_t who)
{
    go_down(s, who);
    restart_later(s, who);
}

/* Is it one of those that are to fail now? `at`: its iteration, or control frames. */
bool sim_failing(struct sim *s, uint32_t who, uint64_t at)
{
    uint32_t rank = who == s->ranks ? HARK_RECOVERY : who;
    for (uint32_t i = 0; i < s->o->fails; i++) {
        if (s->o->fail[i].rank != rank || s->o->fail[i].iteration != at || s->r->happened[i])
            continue;
        s->r->happened[i] = 1;
        sim_crash(s, who);
        return true;
    }
    return false;
}

/* ---- by chance ------------------------------------------------------------------------------- */

enum {
    IN_VAIN = 10000 /* failures, one after the other */,
    IDLE = 10000000 /* events, most of which hit what is down */
};

static uint64_t chance(struct sim *s)
{
    uint64_t z = s->chance += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void sim_chance_next(struct sim *s)
{
    double u = ((double)(chance(s) >> 11) + 1) * 0x1p-53, wait = -log(u) * (double)s->o->mtbf;
    s->chances++;
    sim_put(s, s->now + (wait < 9e18 ? (uint64_t)wait : UINT64_C(9000000000000000000)),
        SIM_WHAT(EVENT_CHANCE, 0, 0));
}

/* A causal protocol survives so many failures at once as there are copies: a further one waits for
 * the end of recovery. */
void sim_chance(struct sim *s)
{
    uint32_t who = (uint32_t)(chance(s) % s->ranks);
    s->chances--;
    if (s->ended == s->ranks || s->queue.total == s->chances)
        return; /* all are through, or nothing would ever go on */
    if (s->iterations > s->farthest) {
        s->farthest = s->iterations;
        s->in_vain = s->idle = 0;
    } else if (s->in_vain == IN_VAIN || ++s->idle == IDLE) {
        sim_fail(s,
            "%u failures by chance, one after the other, and in all that time the job got no "
            "further than %llu of %llu iterations: "
            "--mtbf %llu ns is too short",
            s->in_vain, (unsigned long long)s->farthest,
            (unsigned long long)s->ranks * s->o->iterations, (unsigned long long)s->o->mtbf);
        return;
    }
    const uint32_t failures = s->r->failures;
    if (!s->protocol->unstable || (s->detecting == 0 && hark_service_down(s->service) == 0))
        sim_crash(s, who);
    s->in_vain += s->r->failures - failures;
    sim_chance_next(s);
}

/* ---- announcing ------------------------------------------------------------------------------ */

/* The record of a recovery; that of the one before goes on if it is not over: failures nest.
 * `ranks`: that go back, which a death has as its consequence or the line that was found then. */
static void note_recovery(struct sim *s, uint32_t ranks, bool over, bool death)
{
    struct sim_result *r = s->r;
    if (over && ranks) {
        struct sim_recovery *more =
            realloc(r->recovery, ((size_t)r->recoveries + 1) * sizeof *more);
        if (more == NULL) {
            sim_no_memory(s);
            return;
        }
        r->recovery = more;
        r->recovery[r->recoveries++] =
            (struct sim_recovery){.died = s->died, .caught_up = SIM_NEVER};
        s->traffic = true;
    }
    if (r->recoveries == 0) return;
    struct sim_recovery *now = &r->recovery[r->recoveries - 1];
    if (!s->traffic) return;
    now->re = hark_service_epoch(s->service);
    now->ranks += ranks;
    if (death) now->announced = s->now;
    now->restarted = now->over = SIM_NEVER;
    if (ranks) now->caught_up = SIM_NEVER;
}

static void announce(struct sim *s)
{
    for (uint32_t i = 0; i < s->who && !s->failed; i++) {
        if (s->p[i].state == STATE_DOWN) continue;
        sim_take_late(s, i);
        s->clock = s->now;
        (void)sim_step(s, i, &s->announcement, SIM_NONE);
        sim_go(s, i);
    }
}

/* How many go back with the deaths that are recorded now. By a line those that go back once more
 * are counted already (N-7). */
static uint32_t go_back(const struct sim *s)
{
    const bool line = hark_service_by_line(s->protocol);
    uint32_t ranks = 0;
    for (uint32_t r = 0; r < s->ranks; r++)
        ranks += line ? s->dead[r] : hark_service_goes_back(s->service, r);
    return ranks;
}

/* ---- the core -------------------------------------------------------------------------------- */

static bool grow_service(struct sim *s)
{
    const uint64_t bytes = hark_wants(s->service, NULL);
    struct hark *more = realloc(s->service, bytes);
    if (more == NULL) {
        sim_no_memory(s);
        return false;
    }
    s->service = more;
    return hark_grow(more, bytes) == HARK_OK;
}

/* Why the core changes. */
struct cause {
    const struct sim_fact *fact; /* NULL: processes have died */
    bool over;                   /* nobody was down before */
    uint32_t ranks;              /* that go back with the dead ones */
};

static void answered(struct sim *s, struct cause *c, bool ok)
{
    const struct sim_fact *f = c->fact;
    struct hark_event e = {.type = HARK_STORED};
    e.u.stored.of = HARK_PERSIST;
    e.u.stored.fact = f->fact.kind;
    e.u.stored.ok = ok;
    e.u.stored.id = f->fact.id;
    if (!c->over && hark_service_down(s->service) == 0) {
        if (s->r->recoveries) s->r->recovery[s->r->recoveries - 1].over = s->now;
        s->traffic = false;
    }
    sim_take_late(s, f->who);
    s->clock = s->now;
    (void)sim_step(s, f->who, &e, SIM_NONE);
    if (ok && (f->fact.kind == HARK_FACT_BACK || f->fact.kind == HARK_FACT_LINE)) s->back++;
}

static void announced(struct sim *s, struct cause *c)
{
    note_recovery(s, c->fact ? s->back : c->ranks, !c->fact && c->over, !c->fact);
    if (c->fact) s->back = 0;
    hark_service_failed(s->service, &s->announcement, s->down, s->inc, s->wave);
    if (!s->failed) announce(s);
}

/* A living process rolls back by itself, by what was announced; a dead one is started again. */
static void restart_dead(struct sim *s, uint32_t who)
{
    if (s->dead[who]) restart_later(s, who);
    s->dead[who] = 0;
}

static void perform(struct sim *s, const struct hark_service_effect *x, struct cause *c,
    struct hark_service_event *answer)
{
    switch (x->type) {
    case HARK_SERVICE_RECORD:
        if (c->fact == NULL) c->ranks = go_back(s);
        answer->type = HARK_SERVICE_DURABLE;
        answer->u.durable.ok = true;
        break;
    case HARK_SERVICE_ANSWER: answered(s, c, x->id != 0); break;
    case HARK_SERVICE_ANNOUNCE: announced(s, c); break;
    case HARK_SERVICE_RESTART:
        if (c->fact == NULL)
            restart_dead(s, x->rank); /* else: one that has just died is started when that is
                                         noticed */
        break;
    default: break; /* the recovery process: last, see sim_detect() */
    }
}

static void change(struct sim *s, struct hark_service_event e, struct cause *c)
{
    struct hark_service_effect effect[64];
    while (e.type && !s->failed) {
        struct hark_service_effects fx = {effect, 0, HARK_COUNT(effect)};
        struct hark_service_event answer = {0};
        const int status = hark_service_step(s->service, &e, &fx);
        if (status == HARK_EFULL && grow_service(s)) continue;
        if (status != HARK_OK && status != HARK_MORE) {
            sim_fail(s, "the failure service refused an event: %s", hark_status_text(status));
            return;
        }
        for (uint32_t i = 0; i < fx.count; i++) perform(s, &effect[i], c, &answer);
        if (status == HARK_MORE) answer.type = HARK_SERVICE_CONTINUE;
        e = answer;
    }
}

/* A death is noticed: of all that have died by now. */
void sim_detect(struct sim *s)
{
    if (s->detecting == 0) return; /* with one before */
    struct hark_service_event e = {.type = HARK_SERVICE_DIED};
    struct cause c = {NULL, hark_service_down(s->service) == 0, 0};
    uint32_t *rank = malloc(s->ranks * sizeof *rank);
    if (rank == NULL) {
        sim_no_memory(s);
        return;
    }
    for (uint32_t r = 0; r < s->ranks; r++)
        if (s->dead[r]) rank[e.u.died.count++] = r;
    e.u.died.rank = rank;
    e.u.died.recovery = s->dead[s->ranks];
    s->detecting = 0;
    change(s, e, &c);
    free(rank);
    restart_dead(s, s->ranks);
    sim_sample_now(s);
}

/* ---- coming back ----------------------------------------------------------------------------- */

/* What was lost, from the image on. */
static void note_lost(struct sim *s, const struct sim_process *p, const struct sim_image *m)
{
    if (s->r->recoveries == 0) return;
    struct sim_recovery *r = &s->r->recovery[s->r->recoveries - 1];
    uint32_t from = m ? m->at.iteration + 1 : 0;
    uint64_t lost = p->lost_at - (m && m->time < p->lost_at ? m->time : m ? p->lost_at : 0);
    if (p->at.iteration > from)
        r->iterations += p->at.iteration - from; /* in the very call that it goes back to none is
                                                    lost */
    s->iterations = s->iterations + from - p->at.iteration;
    r->lost += lost;
    if (lost > r->lost_most) r->lost_most = lost;
}

/* RESTARTED.undone. */
static void undone(struct sim *s, uint32_t who, uint32_t count, struct hark_event *e)
{
    if (count > s->undone_room) {
        uint64_t *more = realloc(s->undone, count * sizeof *more);
        if (more == NULL) {
            sim_no_memory(s);
            return;
        }
        s->undone = more;
        s->undone_room = count;
    }
    e->u.restarted.undone = s->undone;
    e->u.restarted.undone_count = hark_service_undone(s->service, who, s->undone, s->undone_room);
}

void sim_restart(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct hark_event e = {.type = HARK_RESTARTED};
    const struct sim_image *m = NULL;
    bool member = who < s->ranks;
    const struct hark_service_restart from =
        hark_service_restart(s->service, member ? who : HARK_RECOVERY);
    p->inc = from.inc;
    p->restarting = 0;
    sim_core_new(s, who);
    if (s->failed) return;
    e.u.restarted.inc = p->inc;
    e.u.restarted.re = from.re;
    e.u.restarted.old_core = (struct hark_bytes){p->kept, p->kept_length};
    if (from.undone) undone(s, who, from.undone, &e);
    e.u.restarted.checkpoint = from.checkpoint;
    if (member) sim_image_drop_beyond(s, who, from.checkpoint);
    if (from.checkpoint) {
        m = sim_image(s, who, from.checkpoint);
        if (m == NULL) {
            sim_fail(s, "I9: the decided image %llu of process %u is gone",
                (unsigned long long)from.checkpoint, who);
            return;
        }
        e.u.restarted.image = (struct hark_bytes){m->core, m->core_length};
    }
    if (member) note_lost(s, p, m);
    if (m) {
        sim_image_restore(s, who, m);
    } else {
        s->log_bytes -= p->log.bytes;
        sim_log_free(s, &p->log);
        p->at = (struct sim_place){0, 0, STAGE_COMPUTE};
        p->digest = 0;
    }
    p->state = member ? STATE_READY : STATE_SERVES;
    p->busy = p->nic = s->clock = s->now;
    (void)sim_step(s, who, &e, SIM_NONE);
    sim_keep_no_more(s, p);
    if (!s->failed) (void)sim_step(s, who, &s->announcement, SIM_NONE);
    if (--s->restarts == 0) {
        if (s->r->recoveries) s->r->recovery[s->r->recoveries - 1].restarted = s->now;
        sim_sample_now(s);
    }
    if (member) sim_go(s, who);
}

void sim_caught_up(struct sim *s, uint32_t who)
{
    s->p[who].behind = 0;
    if (--s->behind == 0 && s->r->recoveries)
        s->r->recovery[s->r->recoveries - 1].caught_up = s->now;
}

/* ---- facts ----------------------------------------------------------------------------------- */

void sim_persist(struct sim *s, uint32_t who, const struct hark_fact *fact)
{
    if (s->free_fact == SIM_NONE) {
        uint32_t room = s->facts ? s->facts * 2 : 64;
        struct sim_fact *more = realloc(s->fact, room * sizeof *more);
        if (more == NULL) {
            sim_no_memory(s);
            return;
        }
        s->fact = more;
        for (; s->facts < room; s->facts++) {
            s->fact[s->facts].next = s->free_fact;
            s->free_fact = s->facts;
        }
    }
    uint32_t f = s->free_fact;
    s->free_fact = s->fact[f].next;
    s->fact[f] = (struct sim_fact){*fact, who, s->p[who].inc, 0};
    sim_put(s, s->clock + s->o->service, SIM_WHAT(EVENT_ANSWER, f, who));
}

void sim_answer(struct sim *s, uint32_t number)
{
    const struct sim_fact f = s->fact[number];
    const struct sim_process *p = &s->p[f.who];
    s->fact[number].next = s->free_fact;
    s->free_fact = number;
    if (p->state == STATE_DOWN || p->inc != f.inc) return;
    struct hark_service_event e = {.type = HARK_SERVICE_FACT, .u.fact = f.fact};
    struct cause c = {&f, hark_service_down(s->service) == 0, 0};
    const uint32_t re = hark_service_epoch(s->service);
    change(s, e, &c);
    if (hark_service_epoch(s->service) != re) sim_sample_now(s);
    if (f.who < s->ranks) sim_go(s, f.who);
}
