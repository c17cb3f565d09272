/* job_failure.c: who may fail now, and that it does. */
#include <string.h>

#include "hark/service.h"
#include "job_parts.h"

bool job_mates(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b)
{
    const uint8_t *of = s->mapped ? lab->scenario->next : lab->scenario->cluster;
    return of[a] == of[b];
}

/* Are their checkpoints one? */
static bool same_wave(const struct service *s, uint32_t a, uint32_t b)
{
    return s->leader[a] == s->leader[b];
}

/* Do they go back together? */
static bool mates(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b)
{
    if (hark_service_by_cluster(lab->protocol)) return job_mates(lab, s, a, b);
    return a == b || hark_service_by_all(lab->protocol);
}

/* A wave of the group is decided that this process has not committed. */
static bool decided(struct lab *lab, const struct job *job, uint32_t rank)
{
    uint64_t wave = job_service(lab, job)->wave[job_service(lab, job)->leader[rank]];
    local_open(lab, job->at[rank]);
    for (uint32_t i = 0; i < lab->at.images; i++) {
        const struct image *m = intern_at(&lab->part, lab->at.image[i]);
        if (m->id == wave && !m->committed) return true;
    }
    return false;
}

static bool in_wave(struct lab *lab, const struct job *job, uint32_t rank)
{
    for (uint32_t i = 0; i < lab->ranks; i++)
        if (same_wave(job_service(lab, job), i, rank) && local_info(lab, job->at[i])->inside)
            return !decided(lab, job, rank);
    return false;
}

static bool has_image(struct lab *lab, const struct job *job, uint32_t who, uint64_t id)
{
    local_open(lab, job->at[who]);
    for (uint32_t i = 0; i < lab->at.images; i++)
        if (((const struct image *)intern_at(&lab->part, lab->at.image[i]))->id == id) return true;
    return false;
}

/* Have all their images of this wave that go back to it when `who` does? */
static bool all_have_image(struct lab *lab, const struct job *job, uint32_t who, uint64_t id)
{
    const struct service *s = job_service(lab, job);
    for (uint32_t i = 0; i < lab->ranks; i++) {
        if (mates(lab, s, i, who) && !has_image(lab, job, i, id)) return false;
    }
    return true;
}

/* What is there to go back to behind the newest checkpoint of `who`: the one before if all that go
 * back to it have it, else 0, the beginning. Behind the change of the map all go back. */
static uint64_t before_of(struct lab *lab, const struct job *job, uint32_t who)
{
    const struct service *s = job_service(lab, job);
    uint32_t leader = s->leader[who];
    uint64_t before = s->before[leader];
    bool all = s->mapped && s->mapped == s->wave[leader];
    if (before == 0 || !all_have_image(lab, job, who, before)) return 0;
    for (uint32_t i = 0; all && i < lab->ranks; i++)
        if (!has_image(lab, job, i, before)) return 0;
    return before;
}

/* The newest decided image is there, and not the only thing that is left to go back to: the one
 * before is, or the beginning as long as fewer are decided than are kept. */
static bool may_be_damaged(struct lab *lab, const struct job *job, uint32_t who)
{
    const struct service *s = job_service(lab, job);
    uint32_t leader = s->leader[who];
    if (s->wave[leader] == 0 || !has_image(lab, job, who, s->wave[leader])) return false;
    return before_of(lab, job, who) || s->decided[leader] < job_generations(lab);
}

uint64_t job_restart_point(struct lab *lab, const struct job *job, uint32_t who)
{
    return job_service(lab, job)->from[who];
}

static bool may_fail(struct lab *lab, const struct job *job, uint32_t who, uint8_t when)
{
    uint32_t down = job_service(lab, job)->down;
    if (!local_info(lab, job->at[who])->running) return false;
    switch (when) {
    case HARK_FAIL_AFTER:
    case HARK_FAIL_CLUSTER: return down == 0;
    case HARK_FAIL_DURING: return down != 0;
    case HARK_FAIL_WAVE: return who < lab->ranks && in_wave(lab, job, who);
    case HARK_FAIL_DECIDED: return who < lab->ranks && decided(lab, job, who);
    case HARK_FAIL_DAMAGED: return who < lab->ranks && may_be_damaged(lab, job, who);
    case HARK_FAIL_STORE: return local_info(lab, job->at[who])->storing;
    default: return true;
    }
}

/* It may be gone at any moment, and with each fact also when that is durable and has not been
 * answered. */
static uint32_t service_failures(
    struct lab *lab, const struct job *job, uint8_t when, struct job_step *step)
{
    const struct service s = *job_service(lab, job);
    uint32_t n = 0;
    if (when == HARK_FAIL_AFTER ? s.down != 0 : when == HARK_FAIL_DURING && s.down == 0) return 0;
    step[n++] = (struct job_step){STEP_SERVICE, 0, 0};
    for (uint32_t who = 0; who < lab->who; who++) {
        if (!local_info(lab, job->at[who])->facts) continue;
        if (local_fact(lab, job->at[who]).re == s.re)
            step[n++] = (struct job_step){STEP_SERVICE, (uint8_t)who, 1};
    }
    return n;
}

uint32_t job_failures(struct lab *lab, const struct job *job, struct job_step *step)
{
    uint32_t n = 0, k = job_service(lab, job)->failures;
    if (k == lab->scenario->fails) return 0;
    struct hark_fail f = lab->scenario->fail[k];
    if (f.rank == HARK_FAIL_SERVICE) return service_failures(lab, job, f.when, step);
    for (uint32_t who = 0; who < lab->who; who++) {
        bool meant = f.rank == HARK_FAIL_RECOVERY ? who == lab->ranks
                     : f.rank < 0                 ? who < lab->ranks
                                                  : who == (uint32_t)f.rank;
        if (!meant || !may_fail(lab, job, who, f.when)) continue;
        step[n++] = (struct job_step){STEP_CRASH, (uint8_t)who, (uint16_t)k};
        if (f.when == HARK_FAIL_STORE)
            step[n - 1] = (struct job_step){STEP_STORED, (uint8_t)who, 1};
    }
    return n;
}

void job_announce(struct lab *lab, struct job *job, struct service *s)
{
    struct announcement a = {.re = s->re, .down = s->down};
    memcpy(a.inc, s->inc, sizeof a.inc);
    memcpy(a.wave, s->wave, sizeof a.wave);
    if (s->re >= LOCAL_ANNOUNCEMENTS) {
        lab_fail(lab, "more announcements than this search has room for");
        return;
    }
    s->said[s->re] = intern_put(&lab->part, &a, sizeof a);
    if (s->said[s->re] == 0) lab_starve(lab);
    job_service_set(lab, job, s);
    for (uint32_t i = 0; i < lab->who && !lab->failed; i++) job_net_clean(lab, job, i);
}

/* Those go back whom the service says, and everybody is told. */
static uint16_t go_back(
    struct lab *lab, struct job *job, struct service *s, const struct hark_service_event *e)
{
    s->failures++;
    const struct service_outcome out = job_service_event(lab, job, s, e);
    if (out.lost) return VIOLATED_IMAGE;
    for (uint32_t i = 0; i < lab->ranks; i++)
        if (out.back >> i & 1) s->back[i] = s->re;
    if (!lab->failed) job_announce(lab, job, s);
    return 0;
}

uint16_t job_resume(struct lab *lab, struct job *job)
{
    struct service s = *job_service(lab, job);
    struct hark_service_event e = {.type = HARK_SERVICE_RESUMED};
    e.u.died.recovery = lab->who > lab->ranks;
    return go_back(lab, job, &s, &e);
}

uint16_t job_crash(struct lab *lab, struct job *job, uint32_t dead)
{
    struct service s = *job_service(lab, job);
    struct hark_service_event e = {.type = HARK_SERVICE_DIED};
    uint32_t rank[HARK_SCENARIO_RANKS];
    for (uint32_t i = 0; i < lab->ranks; i++)
        if (dead >> i & 1) rank[e.u.died.count++] = i;
    e.u.died.rank = rank;
    e.u.died.recovery = dead >> lab->ranks & 1;
    return go_back(lab, job, &s, &e);
}
