/* service.c: failures of simulated processes and the failure service: it notices a death, announces it, brings back
 * who went back, and answers what is asked of it (see ../supervisor/keeper.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

bool sim_service_open(struct sim *s)
{
    uint32_t n = s->ranks;
    s->inc = calloc(n, sizeof *s->inc);
    s->down = calloc(n, 1);
    s->dead = calloc((size_t)n + 1, 1);
    s->wave = calloc(s->groups, sizeof *s->wave);
    s->epochs = calloc(n, sizeof *s->epochs);
    s->r->happened = calloc((size_t)s->o->fails + 1, 1);
    s->free_fact = SIM_NONE;
    s->chance = s->o->seed;
    return s->inc && s->down && s->dead && s->wave && s->epochs && s->r->happened;
}

void sim_service_close(struct sim *s)
{
    free(s->inc);
    free(s->down);
    free(s->dead);
    free(s->wave);
    for (uint32_t r = 0; s->epochs && r < s->ranks; r++)
        free(s->epochs[r].id);
    free(s->epochs);
    free(s->fact);
    free(s->down_list);
    free(s->inc_list);
    free(s->wave_list);
}

/* ---- dying ------------------------------------------------------------------------------------------------------- */

/* Only what came for an incarnation that is still to be outlives one. */
static void drop_held(struct sim *s, struct sim_process *p)
{
    struct sim_list held = p->held;
    p->held = (struct sim_list){SIM_NONE, SIM_NONE};
    for (uint32_t f = held.head, next; f != SIM_NONE; f = next) {
        next = sim_frame(s, f)->next;
        if (sim_to_inc(sim_frame(s, f)) > p->inc)
            sim_list_add(s, &p->held, f);
        else
            sim_frame_give(s, f);
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
        if (s->o->fail[i].rank != rank || s->o->fail[i].iteration != at || s->r->happened[i]) continue;
        s->r->happened[i] = 1;
        sim_crash(s, who);
        return true;
    }
    return false;
}

/* ---- by chance --------------------------------------------------------------------------------------------------- */

enum { IN_VAIN = 10000 /* failures, one after the other */, IDLE = 10000000 /* events, most of which hit what is down */ };

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
    sim_put(s, s->now + (wait < 9e18 ? (uint64_t)wait : UINT64_C(9000000000000000000)), SIM_WHAT(EVENT_CHANCE, 0, 0));
}

/* A causal protocol survives so many failures at once as there are copies: a further one waits for the end of
 * recovery. */
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
        sim_fail(s, "%u failures by chance, one after the other, and in all that time the job got no further than %llu of %llu iterations: "
                    "--mtbf %llu ns is too short",
            s->in_vain, (unsigned long long)s->farthest, (unsigned long long)s->ranks * s->o->iterations, (unsigned long long)s->o->mtbf);
        return;
    }
    const uint32_t failures = s->r->failures;
    if (!s->protocol->unstable || (s->detecting == 0 && s->down_count == 0)) sim_crash(s, who);
    s->in_vain += s->r->failures - failures;
    sim_chance_next(s);
}

/* ---- announcing -------------------------------------------------------------------------------------------------- */

static void unit(struct sim *s, uint32_t who, uint8_t *rolls)
{
    if (who == s->ranks) return;
    for (uint32_t r = 0; r < s->ranks; r++)
        if (r == who || s->protocol->rolls == HARK_ROLLS_ALL ||
            (s->protocol->rolls == HARK_ROLLS_GROUP && s->o->clusters->of[r] == s->o->clusters->of[who]))
            rolls[r] = 1;
}

/* The record of a recovery; that of the one before goes on if it is not over: failures nest. `ranks`: that go back, which a death
 * has as its consequence or the line that was found then. */
static void note_recovery(struct sim *s, uint32_t ranks, bool over, bool death)
{
    struct sim_result *r = s->r;
    if (over && ranks) {
        struct sim_recovery *more = realloc(r->recovery, ((size_t)r->recoveries + 1) * sizeof *more);
        if (more == NULL) {
            sim_no_memory(s);
            return;
        }
        r->recovery = more;
        r->recovery[r->recoveries++] = (struct sim_recovery){.died = s->died, .caught_up = SIM_NEVER};
        s->traffic = true;
    }
    if (r->recoveries == 0) return;
    struct sim_recovery *now = &r->recovery[r->recoveries - 1];
    if (!s->traffic) return;
    now->re = s->re;
    now->ranks += ranks;
    if (death) now->announced = s->now;
    now->restarted = now->over = SIM_NEVER;
    if (ranks) now->caught_up = SIM_NEVER;
}

static bool lists(struct sim *s)
{
    uint32_t incs = s->recovery_inc != 0, waves = 0;
    s->down_count = 0;
    for (uint32_t r = 0; r < s->ranks; r++) {
        s->down_count += s->down[r];
        incs += s->inc[r] != 0;
    }
    for (uint32_t g = 0; g < s->groups; g++)
        waves += s->wave[g] != 0;
    free(s->down_list);
    free(s->inc_list);
    free(s->wave_list);
    s->down_list = malloc(((size_t)s->down_count + 1) * sizeof *s->down_list);
    s->inc_list = malloc(((size_t)incs + 1) * sizeof *s->inc_list);
    s->wave_list = malloc(((size_t)waves + 1) * sizeof *s->wave_list);
    if (!s->down_list || !s->inc_list || !s->wave_list) {
        sim_no_memory(s);
        return false;
    }
    s->announcement = (struct hark_event){.type = HARK_FAILED};
    s->announcement.u.failed.inc_count = incs;
    s->announcement.u.failed.wave_count = waves;
    s->announcement.u.failed.down_count = s->down_count;
    return true;
}

/* What FAILED says now. */
static void announcement(struct sim *s)
{
    if (!lists(s)) return;
    uint32_t d = 0, k = 0, w = 0;
    for (uint32_t r = 0; r < s->ranks; r++) {
        if (s->down[r]) s->down_list[d++] = r;
        if (s->inc[r]) s->inc_list[k++] = (struct hark_incarnation){r, s->inc[r]};
    }
    if (s->recovery_inc) s->inc_list[k++] = (struct hark_incarnation){HARK_RECOVERY, s->recovery_inc};
    for (uint32_t g = 0; g < s->groups; g++) /* by lowest rank, as groups are numbered */
        if (s->wave[g]) s->wave_list[w++] = (struct hark_decision){s->leader[g], 0, s->wave[g]};
    s->announcement.u.failed.re = s->re;
    s->announcement.u.failed.down = s->down_list;
    s->announcement.u.failed.inc = s->inc_list;
    s->announcement.u.failed.wave = s->wave_list;
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

/* A death is noticed: of all that have died by now. */
void sim_detect(struct sim *s)
{
    if (s->detecting == 0) return; /* with one before */
    uint8_t *rolls = calloc(s->ranks, 1);
    if (rolls == NULL) {
        sim_no_memory(s);
        return;
    }
    bool over = s->down_count == 0;
    for (uint32_t i = 0; i < s->who; i++)
        if (s->dead[i] && (i == s->ranks || !rolls[i])) unit(s, i, rolls);
    uint32_t ranks = 0; /* those that went back with a recovery line and are not through go back once more (N-7) */
    for (uint32_t r = 0; r < s->ranks; r++) {
        bool again = s->protocol->rolls == HARK_ROLLS_LINE && s->down[r];
        ranks += rolls[r];
        s->inc[r] += rolls[r] || again;
        s->down[r] |= rolls[r];
    }
    s->recovery_inc += s->who > s->ranks && s->dead[s->ranks];
    s->re++;
    s->detecting = 0;
    note_recovery(s, ranks, over, true);
    free(rolls);
    announcement(s);
    if (!s->failed) announce(s);
    for (uint32_t i = 0; i < s->who; i++) {
        if (s->dead[i]) restart_later(s, i);
        s->dead[i] = 0;
    }
    sim_sample_now(s);
}

/* ---- coming back ------------------------------------------------------------------------------------------------- */

/* What was lost, from the image on. */
static void note_lost(struct sim *s, const struct sim_process *p, const struct sim_image *m)
{
    if (s->r->recoveries == 0) return;
    struct sim_recovery *r = &s->r->recovery[s->r->recoveries - 1];
    uint32_t from = m ? m->at.iteration + 1 : 0;
    uint64_t lost = p->lost_at - (m && m->time < p->lost_at ? m->time : m ? p->lost_at : 0);
    if (p->at.iteration > from) r->iterations += p->at.iteration - from; /* in the very call that it goes back to none is lost */
    s->iterations = s->iterations + from - p->at.iteration;
    r->lost += lost;
    if (lost > r->lost_most) r->lost_most = lost;
}

static void undone(const struct sim *s, uint32_t who, struct hark_event *e)
{
    const struct hark_epochs *began = &s->epochs[who];
    uint32_t first = hark_epochs_beyond(began, s->wave[s->p[who].group]);
    e->u.restarted.again = began->id ? began->id + first : NULL;
    e->u.restarted.again_count = began->count - first;
}

void sim_restart(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct hark_event e = {.type = HARK_RESTARTED};
    const struct sim_image *m = NULL;
    bool member = who < s->ranks;
    p->inc = member ? s->inc[who] : s->recovery_inc;
    p->restarting = 0;
    sim_core_new(s, who);
    if (s->failed) return;
    e.u.restarted.inc = p->inc;
    e.u.restarted.re = s->re;
    e.u.restarted.kept = (struct hark_bytes){p->kept, p->kept_length};
    if (member) undone(s, who, &e);
    if (member && s->wave[p->group]) {
        e.u.restarted.checkpoint = s->wave[p->group];
        sim_image_drop_beyond(s, who, s->wave[p->group]);
        m = sim_image(s, who, s->wave[p->group]);
        if (m == NULL) {
            sim_fail(
                s, "I9: the decided image %llu of process %u is gone", (unsigned long long)s->wave[p->group], who);
            return;
        }
        e.u.restarted.image = (struct hark_bytes){m->core, m->core_length};
    } else if (member) {
        sim_image_drop_beyond(s, who, 0);
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
    if (--s->behind == 0 && s->r->recoveries) s->r->recovery[s->r->recoveries - 1].caught_up = s->now;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

void sim_persist(struct sim *s, uint32_t who, const struct hark_effect *x)
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
    s->fact[f] = (struct sim_fact){x->u.id, x->got, who, s->p[who].inc, x->fact, x->peer, x->re, 0};
    sim_put(s, s->clock + s->o->service, SIM_WHAT(EVENT_ANSWER, f, who));
}

static void over(struct sim *s)
{
    if (s->r->recoveries) s->r->recovery[s->r->recoveries - 1].over = s->now;
    s->traffic = false;
}

/* One more that goes back, by the recovery line; with the last all are told. */
static void send_back(struct sim *s, const struct sim_fact *f)
{
    s->wave[s->p[f->peer].group] = f->id;
    s->inc[f->peer]++;
    s->down_count += !s->down[f->peer];
    s->down[f->peer] = 1;
    s->back++;
    if (f->what != HARK_FACT_LINE) return;
    s->re++;
    note_recovery(s, s->back, false, false);
    s->back = 0;
    announcement(s);
    if (!s->failed) announce(s);
    sim_sample_now(s);
}

static bool decide_wave(struct sim *s, const struct sim_fact *f)
{
    uint64_t *wave = &s->wave[s->p[f->peer].group];
    if (f->id < *wave) return false;
    if (s->protocol->rolls == HARK_ROLLS_LINE) {
        if (hark_epochs_begin(&s->epochs[f->peer], f->id) < 0) {
            sim_no_memory(s);
            return false;
        }
        hark_epochs_trim(&s->epochs[f->peer], f->oldest);
    }
    *wave = f->id;
    return true;
}

/* What has been undone is done again, as far as anybody asks for it. */
static void forget_undone(struct sim *s)
{
    for (uint32_t r = 0; s->protocol->rolls == HARK_ROLLS_LINE && r < s->ranks; r++)
        hark_epochs_cut(&s->epochs[r], s->wave[s->p[r].group]);
}

/* True: it is durable. */
static bool decide(struct sim *s, const struct sim_fact *f)
{
    if (f->re != s->re) return false;
    if (f->what == HARK_FACT_WAVE) return decide_wave(s, f);
    if (f->what == HARK_FACT_BACK || f->what == HARK_FACT_LINE) return s->protocol->rolls == HARK_ROLLS_LINE;
    uint32_t were = s->down_count;
    if (f->peer == HARK_RECOVERY) {
        memset(s->down, 0, s->ranks);
        s->down_count = 0;
        forget_undone(s);
    } else {
        s->down_count -= s->down[f->peer];
        s->down[f->peer] = 0;
    }
    if (were && s->down_count == 0) over(s);
    return true;
}

void sim_answer(struct sim *s, uint32_t number)
{
    struct sim_fact f = s->fact[number];
    struct sim_process *p = &s->p[f.who];
    s->fact[number].next = s->free_fact;
    s->free_fact = number;
    if (p->state == STATE_DOWN || p->inc != f.inc) return;
    struct hark_event e = {.type = HARK_STORED};
    e.u.stored.of = HARK_PERSIST;
    e.u.stored.ok = decide(s, &f);
    e.u.stored.id = f.id;
    sim_take_late(s, f.who);
    s->clock = s->now;
    (void)sim_step(s, f.who, &e, SIM_NONE);
    if (e.u.stored.ok && (f.what == HARK_FACT_BACK || f.what == HARK_FACT_LINE)) send_back(s, &f);
    if (f.who < s->ranks) sim_go(s, f.who);
}
