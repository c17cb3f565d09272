/* job.c: all that can happen to a job, and what it may not do. */
#include <string.h>

#include "hark/service.h"
#include "job_parts.h"

void job_first(struct lab *lab, struct job *job)
{
    memset(job, 0, sizeof *job);
    for (uint32_t i = 0; i < lab->who && !lab->failed; i++) job->at[i] = local_first(lab, i);
    if (!lab->failed) job_service_first(lab, job);
}

/* ---- which frames may arrive ----------------------------------------------------------------- */

static bool other_channel(const struct frame *a, const struct frame *b)
{
    const bool app = a->header[1] == HARK_APP;
    return app != (b->header[1] == HARK_APP) ||
           (app && hark_get16(a->header + 2) != hark_get16(b->header + 2));
}

bool job_in_order(const struct lab *lab, const struct frame *a, const struct frame *b)
{
    return lab->scenario->fifo && a->from == b->from && !(lab->by_channel && other_channel(a, b));
}

/* Equal frames are one step; in order, the first of each sender and incarnation. */
static bool may_arrive(const struct lab *lab, const uint32_t *list, uint32_t k, uint32_t inc)
{
    const struct frame *f = frame_of(lab, list[k]);
    if (f->to_inc != inc) return false;
    if (!lab->scenario->fifo) return k == 0 || list[k - 1] != list[k];
    for (uint32_t i = 0; i < k; i++) {
        const struct frame *g = frame_of(lab, list[i]);
        if (g->to_inc == f->to_inc && job_in_order(lab, g, f)) return false;
    }
    return true;
}

/* Without a protocol a checkpoint is a barrier of the group or nothing, if all members have as
 * many: nobody goes on from its n-th call before all are at theirs, or everybody does at once. Of
 * protocols both is to be expected, for whoever is there first may go on; so a program has to do
 * with either. */
static bool point_open(struct lab *lab, const struct job *job, uint32_t who)
{
    struct local_info mine = *local_info(lab, job->at[who]);
    bool open = true;
    if (mine.points == LOCAL_POINTS_DEPEND || !(lab->barriers & hark_call_bit(mine.reached - 1u)))
        return true;
    for (uint32_t i = 0; i < lab->ranks; i++) {
        const struct local_info *mate = local_info(lab, job->at[i]);
        if (lab->points == LAB_POINTS_CLUSTER &&
            lab->scenario->cluster[i] != lab->scenario->cluster[who])
            continue;
        if (mate->points != mine.points) return true;
        open = open && mate->reached >= mine.reached;
    }
    return open;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Of one process; behind `step`, how many. */
static uint32_t steps_of(
    struct lab *lab, const struct job *job, uint32_t who, uint32_t re, struct job_step *step)
{
    uint32_t n = 0, list[LOCAL_FRAMES];
    const struct local_info *i = local_info(lab, job->at[who]);
    uint8_t w = (uint8_t)who;
    if (!i->running) {
        step[n++] = (struct job_step){STEP_RESTART, w, 0};
        return n;
    }
    uint32_t frames = job_net_read(lab, job->at[lab->who + who], list);
    for (uint32_t k = 0; k < frames; k++)
        if (may_arrive(lab, list, k, i->inc))
            step[n++] = (struct job_step){STEP_FRAME, w, (uint16_t)k};
    if (i->seen < re) step[n++] = (struct job_step){STEP_TOLD, w, 0};
    if (i->storing) step[n++] = (struct job_step){STEP_STORED, w, 0};
    if (i->facts) step[n++] = (struct job_step){STEP_ANSWER, w, 0};
    bool waits = lab->points && i->at_point && !point_open(lab, job, who);
    i = local_info(lab, job->at[who]);
    for (uint32_t from = waits ? 0 : i->from, k = 0; from; from >>= 1, k++)
        if (from & 1) step[n++] = (struct job_step){STEP_APP, w, (uint16_t)k};
    if (i->idle) step[n++] = (struct job_step){STEP_IDLE, w, 0};
    return n;
}

uint32_t job_steps(
    struct lab *lab, const struct job *job, struct job_step step[JOB_STEPS], uint32_t *failing)
{
    uint32_t n = 0, re = job_service(lab, job)->re;
    for (uint32_t who = 0; who < lab->who; who++) {
        n += steps_of(lab, job, who, re, step + n);
        if (n + LOCAL_FRAMES + HARK_SCENARIO_RANKS + 8 > JOB_STEPS) {
            lab_fail(lab, "more steps at once than this search has room for");
            break;
        }
    }
    *failing = job_failures(lab, job, step + n);
    return n + *failing;
}

/* The step that the process takes at once: the first in the order of steps_of(). */
static bool at_once(
    struct lab *lab, const struct job *job, uint32_t who, uint32_t re, struct job_step *step)
{
    const struct local_info *i = local_info(lab, job->at[who]);
    const uint32_t part = job->at[lab->who + who], frames = intern_length(&lab->part, part) / 4;
    const uint32_t *list = frames ? intern_at(&lab->part, part) : NULL;
    const uint8_t w = (uint8_t)who;
    if (!i->running) return false;
    for (uint32_t k = 0; k < frames; k++) {
        if (frame_of(lab, list[k])->header[1] == HARK_APP || !may_arrive(lab, list, k, i->inc))
            continue;
        *step = (struct job_step){STEP_FRAME, w, (uint16_t)k};
        return true;
    }
    const uint8_t what = i->seen < re ? STEP_TOLD
                         : i->storing ? STEP_STORED
                         : i->facts   ? STEP_ANSWER
                         : i->idle    ? STEP_IDLE
                                      : 0;
    *step = (struct job_step){what, w, 0};
    return what != 0;
}

bool job_at_once(struct lab *lab, const struct job *job, struct job_step *next)
{
    const uint32_t re = job_service(lab, job)->re;
    for (uint32_t who = 0; who < lab->who && !lab->failed; who++)
        if (at_once(lab, job, who, re, next)) return true;
    return false;
}

uint32_t job_argument(struct lab *lab, const struct job *job, struct job_step step)
{
    const struct service *s = job_service(lab, job);
    struct restart r = {0};
    uint32_t part;
    switch (step.what) {
    case STEP_FRAME: return job_frame(lab, job, step.who, step.index);
    case STEP_APP: return step.index;
    case STEP_TOLD: return s->said[local_info(lab, job->at[step.who])->seen + 1];
    case STEP_ANSWER: return local_fact(lab, job->at[step.who]).re == s->re;
    case STEP_RESTART:
        r.inc = s->inc[step.who];
        r.announcement = s->said[s->re];
        r.checkpoint = step.who < lab->ranks ? job_restart_point(lab, job, step.who) : 0;
        r.again = step.who < lab->ranks ? s->again[step.who] : 0;
        part = intern_put(&lab->part, &r, sizeof r);
        if (part == 0) lab_starve(lab);
        return part;
    case STEP_STORED: return step.index;
    case STEP_CRASH:
        if (lab->scenario->fail[step.index].when != HARK_FAIL_DAMAGED) return 0;
        return (uint32_t)s->wave[s->leader[step.who]];
    default: return 0;
    }
}

/* A fact is durable, and true from then on. False: it is a checkpoint whose number is used. */
static bool answer(struct lab *lab, struct job *job, struct job_step step)
{
    struct service s = *job_service(lab, job);
    const struct hark_fact f = local_fact(lab, job->at[step.who]);
    if (f.kind == HARK_FACT_WAVE && f.id <= s.wave[f.rank]) return false;
    struct hark_service_event e = {.type = HARK_SERVICE_FACT, .u.fact = f};
    const struct service_outcome out = job_service_event(lab, job, &s, &e);
    if (!out.ok && !lab->failed) lab_fail(lab, "the failure service refuses a fact of this epoch");
    if (lab->failed) return true;
    if (f.kind == HARK_FACT_BACK) s.back[f.rank] = s.re + 1;
    for (uint32_t i = 0; f.kind == HARK_FACT_LINE && i < lab->ranks; i++) /* like a failure; all of
                                                                             D begin together */
        if (s.down >> i & 1) s.back[i] = s.re;
    job_service_set(lab, job, &s);
    if (out.announce) job_announce(lab, job, &s);
    return true;
}

/* The application of process i as it is, or will be when it is restarted from the decided image. */
static void app_now(struct lab *lab, const struct job *job, uint32_t i, struct app *app)
{
    uint64_t wave = job_restart_point(lab, job, i);
    local_open(lab, job->at[i]);
    *app = lab->at.app;
    for (uint32_t k = 0; lab->at.core == 0 && k < lab->at.images; k++) {
        const struct image *m = intern_at(&lab->part, lab->at.image[k]);
        if (m->id == wave) app_get(lab, app, m->app);
    }
}

static uint32_t sends_of(struct lab *lab, const struct job *job, uint32_t i)
{
    struct app app;
    if (local_info(lab, job->at[i])->running) return app_sends(lab, job->at[i]);
    app_now(lab, job, i, &app);
    return app.sends;
}

/* Does the message depend on one of those sends by what its sender, and those that it depends on,
 * have executed now? One that went back and took something else first depends on something else. Of
 * a send that is not made again yet nothing is known but what it depended on before. */
static bool depends_now(struct lab *lab, const struct job *job, const struct frame *f, uint64_t on)
{
    uint64_t all = last_send(lab, frame_src(lab, f), f->past), before = 0;
    while (all != before && (all & on) == 0) {
        before = all;
        for (uint32_t i = 0; i < lab->ranks; i++) {
            uint64_t last = last_send(lab, i, all);
            struct app app;
            uint32_t n = 0;
            if (last == 0) continue;
            app_now(lab, job, i, &app);
            while (sends_from(lab, i, n + 1) & last) n++;
            all |= n < app.sends ? app.took_by[n] | (sends_from(lab, i, 0) & (last - 1)) : f->past;
        }
    }
    return all & on;
}

/* The sends that I7 looks for, of protocols that rest on send-determinism: a causal one knows by
 * determinants what the lost send will say again. A process that went back at epoch t may deliver
 * what depends on an unsent message of a process that went back later than t: then the dependency
 * is older than that failure. And of those that went back with it or before, on what it depends
 * itself: by its image. */
static uint64_t past_unsent(
    struct lab *lab, const struct job *job, uint32_t who, const struct frame *f, uint64_t own)
{
    const struct service *s = job_service(lab, job);
    uint64_t missing = 0;
    if (lab->protocol->unstable || s->back[who] == 0 ||
        local_info(lab, job->at[who])->inc != s->inc[who])
        return 0;
    for (uint32_t i = 0; i < lab->ranks; i++) {
        if (s->back[i] == 0 || s->back[i] > s->back[who]) continue;
        missing |= f->past & ~own & sends_from(lab, i, sends_of(lab, job, i));
    }
    return missing;
}

/* I7. */
static bool past_missing(
    struct lab *lab, const struct job *job, uint32_t who, const struct frame *f, uint64_t own)
{
    const uint64_t unsent = past_unsent(lab, job, who, f, own);
    return unsent && (!lab->wild || depends_now(lab, job, f, unsent));
}

bool job_past_unsent(struct lab *lab, const struct job *job, uint32_t who, uint32_t frame)
{
    return past_unsent(lab, job, who, frame_of(lab, frame), app_past(lab, job->at[who]));
}

/* It is to go back, and has not been told yet: what it has delivered and sent since its image is
 * undone already. What the image says of that counts again when the process restarts from it. */
static bool goes_back(struct lab *lab, const struct job *job, uint32_t who)
{
    const struct local_info *i = local_info(lab, job->at[who]);
    return i->running && i->inc < job_service(lab, job)->inc[who];
}

/* I1. Does a sender's present history say something else than what a process has delivered?
 * `group`: in multicasts, of that source; 0: in messages to it alone. */
static bool said_otherwise(
    struct lab *lab, const struct job *job, uint32_t from, uint32_t to, uint32_t group)
{
    uint32_t source = group ? group : from, target = group ? group : to;
    if (!lab->history || goes_back(lab, job, from) || goes_back(lab, job, to)) return false;
    for (uint32_t ssn = 1; ssn <= lab->most_ssn; ssn++) {
        uint64_t heard = app_heard(lab, job->at[to], source, ssn),
                 told = app_told(lab, job->at[from], target, ssn);
        if (heard && told && heard != told) return true;
    }
    return false;
}

/* With a whole cluster the others of it. Who is dead then, a bit each. */
static uint32_t mates_crash(struct lab *lab, struct job *job, struct job_step step)
{
    uint32_t dead = 1u << step.who;
    if (lab->scenario->fail[step.index].when != HARK_FAIL_CLUSTER) return dead;
    for (uint32_t i = 0; i < lab->ranks && !lab->failed; i++) {
        if (i == step.who || !job_mates(lab, job_service(lab, job), i, step.who)) continue;
        if (!local_info(lab, job->at[i])->running) continue;
        job->at[i] = local_take(lab, job->at[i], STEP_CRASH, 0).local;
        lab->taken[lab->takes++] = lab->last;
        dead |= 1u << i;
    }
    return dead;
}

/* The failure service is gone with all processes, perhaps when a fact was durable and nobody had
 * been told; a new one goes on. */
static uint16_t service_fails(struct lab *lab, struct job *job, struct job_step step)
{
    if (step.index && !answer(lab, job, step)) return VIOLATED_NUMBER;
    for (uint32_t i = 0; i < lab->who && !lab->failed; i++) {
        if (!local_info(lab, job->at[i])->running) continue;
        job->at[i] = local_take(lab, job->at[i], STEP_CRASH, 0).local;
        lab->taken[lab->takes++] = lab->last;
    }
    return lab->failed ? 0 : job_resume(lab, job);
}

/* What reduction n comes to at a member of tree t by what is said now; 0: not all have said it. */
static uint64_t reduced(
    struct lab *lab, const struct job *job, uint32_t t, uint32_t who, uint32_t n)
{
    const int8_t *parent = lab->scenario->parent[t];
    uint64_t own = app_told(lab, job->at[who], group_source(lab, t, true), n), all = 0;
    bool root = parent[who] == -1;
    if (own == 0 || goes_back(lab, job, who)) return 0;
    for (uint32_t i = 0; i < lab->ranks; i++) {
        if (parent[i] != (int)who) continue;
        uint64_t one = reduced(lab, job, t, i, n);
        if (one == 0) return 0;
        if (root) all = all ? app_combined(all, one) : one;
        else own = app_combined(own, one);
    }
    return root && all ? app_combined(own, all) : own;
}

/* I1. Has the root taken a result that is not what its members say? */
static bool reduced_otherwise(struct lab *lab, const struct job *job)
{
    for (uint32_t t = 0; lab->history && lab->reduces && t < lab->scenario->trees; t++) {
        uint32_t root = 0;
        while (root < lab->ranks && lab->scenario->parent[t][root] != -1) root++;
        for (uint32_t n = 1; root < lab->ranks && n <= lab->most_ssn; n++) {
            uint64_t heard = app_heard(lab, job->at[root], group_source(lab, t, true), n),
                     all = heard ? reduced(lab, job, t, root, n) : 0;
            if (heard && all && heard != all) return true;
        }
    }
    return false;
}

/* I1, of all that a process has delivered and sent, on the channels to and from process `other`. */
static bool pair_otherwise(struct lab *lab, const struct job *job, uint32_t who, uint32_t other)
{
    bool otherwise =
        said_otherwise(lab, job, who, other, 0) || said_otherwise(lab, job, other, who, 0);
    for (uint32_t t = 0; t < lab->scenario->trees && !otherwise; t++) {
        const uint32_t group = group_source(lab, t, false);
        otherwise = said_otherwise(lab, job, who, other, group) ||
                    said_otherwise(lab, job, other, who, group);
    }
    return otherwise;
}

/* I1, of an image: who has gone back to it says, and has delivered, what stands there. */
static bool image_otherwise(struct lab *lab, const struct job *job, uint32_t who)
{
    for (uint32_t i = 0; lab->history && who < lab->ranks && i < lab->ranks; i++)
        if (pair_otherwise(lab, job, who, i)) return true;
    return lab->reduces && reduced_otherwise(lab, job);
}

static void count_failure(struct lab *lab, struct job *job)
{
    struct service s = *job_service(lab, job);
    s.failures++;
    job_service_set(lab, job, &s);
}

/* I9. A commit lets older images go, so the decision must be durable by then. A process that has
 * not been told yet that it goes back may still commit what is undone. */
static bool committed_early(
    struct lab *lab, const struct job *job, uint32_t who, const struct outcome *out)
{
    const struct service *s = job_service(lab, job);
    return out->commits && who < lab->ranks && local_info(lab, job->at[who])->seen == s->re &&
           out->commits > s->wave[s->leader[who]];
}

uint16_t job_take(struct lab *lab, struct job *job, struct job_step step, bool *happened)
{
    uint32_t argument = job_argument(lab, job, step), before = job->at[step.who];
    *happened = false;
    lab->takes = 0;
    if (lab->failed) return 0;
    if (step.what == STEP_SERVICE) {
        *happened = true;
        return service_fails(lab, job, step);
    }
    if (step.what == STEP_ANSWER && argument && !answer(lab, job, step)) {
        *happened = true;
        return VIOLATED_NUMBER;
    }
    if (step.what == STEP_FRAME) job_net_remove(lab, job, step.who, step.index);
    struct outcome out = local_take(lab, job->at[step.who], (enum local_step)step.what, argument);
    lab->taken[0] = lab->last;
    lab->takes = 1;
    *happened = out.happened;
    if (lab->failed || !out.happened) return out.violated;
    bool ran = local_info(lab, job->at[step.who])->running;
    job->at[step.who] = out.local;
    const uint32_t *frame = out.frames ? intern_at(&lab->part, out.frames) : NULL;
    for (uint32_t k = 0; k * 4 < intern_length(&lab->part, out.frames) && !lab->failed; k++) {
        const struct frame *f = frame_of(lab, frame[k]);
        if (!job_net_loses(lab, job, f->to, f)) job_net_add(lab, job, f->to, frame[k]);
    }
    uint16_t lost = 0;
    if (step.what == STEP_CRASH) lost = job_crash(lab, job, mates_crash(lab, job, step));
    else if (step.what == STEP_STORED && step.index) count_failure(lab, job);
    else if (local_info(lab, out.local)->running != ran) job_net_clean(lab, job, step.who);
    if (lab->failed || out.violated || lost) return out.violated ? out.violated : lost;
    if (committed_early(lab, job, step.who, &out)) return VIOLATED_COMMIT;
    if (out.taken) {
        const struct frame *f = frame_of(lab, out.taken);
        if (past_missing(lab, job, step.who, f, app_past(lab, before))) return VIOLATED_PAST;
        const uint32_t source = frame_source(lab, f);
        if (!is_reduction(lab, source) &&
            said_otherwise(lab, job, frame_src(lab, f), step.who, source < lab->ranks ? 0 : source))
            return VIOLATED_SAID;
    }
    if (step.what == STEP_RESTART && image_otherwise(lab, job, step.who)) return VIOLATED_SAID;
    if ((out.taken || out.sent_to) && lab->reduces && reduced_otherwise(lab, job))
        return VIOLATED_SAID;
    const uint32_t to = out.sent_to ? out.sent_to - 1u : 0;
    for (uint32_t i = 0; out.sent_to && !is_reduction(lab, to) && i < lab->ranks; i++)
        if ((to >= lab->ranks || to == i) &&
            said_otherwise(lab, job, step.who, i, to < lab->ranks ? 0 : to))
            return VIOLATED_SAID;
    return 0;
}

bool job_over(struct lab *lab, const struct job *job)
{
    struct job_step step[JOB_STEPS];
    uint32_t failing, n = job_steps(lab, job, step, &failing);
    for (uint32_t k = 0; k < n - failing && !lab->failed; k++) {
        struct job next = *job;
        bool happened;
        if (job_take(lab, &next, step[k], &happened)) return false;
        if (happened && memcmp(&next, job, sizeof next) != 0) return false;
    }
    return true;
}

uint16_t job_final(struct lab *lab, const struct job *job, uint32_t *signature)
{
    uint32_t of[HARK_SCENARIO_RANKS];
    *signature = 0;
    for (uint32_t i = 0; i < lab->ranks; i++)
        if (!local_info(lab, job->at[i])->ended) return VIOLATED_WAITS;
    for (uint32_t i = 0; i < lab->who; i++) {
        if (job->at[lab->who + i]) return VIOLATED_LOST;
        if (local_info(lab, job->at[i])->held) return VIOLATED_HELD;
    }
    if (job_service(lab, job)->down) return VIOLATED_ENDLESS;
    for (uint32_t i = 0; i < lab->who; i++) {
        local_open_core(lab, job->at[i]);
        if (lab->running && (i == lab->ranks ? lab->recovery : lab->protocol)->unrest(lab->core))
            return VIOLATED_UNREST;
    }
    for (uint32_t i = 0; i < lab->ranks; i++) of[i] = app_signature(lab, job->at[i]);
    *signature = intern_put(&lab->part, of, lab->ranks * (uint32_t)sizeof of[0]);
    return 0;
}
