/* job_failure.c: who may fail now, who goes back with it, and to which image. */
#include <string.h>

#include "job_parts.h"

bool job_mates(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b)
{
    const uint8_t *of = s->mapped ? lab->scenario->next : lab->scenario->cluster;
    return of[a] == of[b];
}

/* Do they go back together? */
static bool same_group(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b)
{
    if (lab->protocol->rolls == HARK_ROLLS_LINE) return a == b;
    return lab->protocol->rolls != HARK_ROLLS_GROUP || job_mates(lab, s, a, b);
}

/* Are their checkpoints one? */
static bool same_wave(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b)
{
    return lab->together || same_group(lab, s, a, b);
}

uint32_t job_leader(const struct lab *lab, const struct service *s, uint32_t rank)
{
    uint32_t i = 0;
    while (!same_wave(lab, s, i, rank)) i++;
    return i;
}

/* Who goes back alone, or only with some of those whose checkpoints are one, may find its image damaged, and the others need not. */
static bool alone(const struct lab *lab)
{
    return lab->protocol->rolls == HARK_ROLLS_PROCESS || lab->together;
}

/* A wave of the group is decided that this process has not committed. */
static bool decided(struct lab *lab, const struct job *job, uint32_t rank)
{
    uint64_t wave = job_service(lab, job)->wave[job_leader(lab, job_service(lab, job), rank)];
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
        if (same_wave(lab, job_service(lab, job), i, rank) && local_info(lab, job->at[i])->inside) return !decided(lab, job, rank);
    return false;
}

static bool has_image(struct lab *lab, const struct job *job, uint32_t who, uint64_t id)
{
    local_open(lab, job->at[who]);
    for (uint32_t i = 0; i < lab->at.images; i++)
        if (((const struct image *)intern_at(&lab->part, lab->at.image[i]))->id == id) return true;
    return false;
}

uint8_t job_generations(const struct lab *lab)
{
    return lab->scenario->generations ? lab->scenario->generations : 2;
}

/* Have all their images of this wave that go back to it when `who` does? */
static bool all_have_image(struct lab *lab, const struct job *job, uint32_t who, uint64_t id)
{
    const struct service *s = job_service(lab, job);
    for (uint32_t i = 0; i < lab->ranks; i++) {
        bool with = i == who || (lab->protocol->rolls != HARK_ROLLS_PROCESS && same_group(lab, s, i, who));
        if (with && !has_image(lab, job, i, id)) return false;
    }
    return true;
}

/* What is there to go back to behind the newest checkpoint of `who`: the one before if all that go back to it have it, else 0, the
 * beginning. Behind the change of the map all go back. */
static uint64_t before_of(struct lab *lab, const struct job *job, uint32_t who)
{
    const struct service *s = job_service(lab, job);
    uint32_t leader = job_leader(lab, s, who);
    uint64_t before = s->before[leader];
    bool all = s->mapped && s->mapped == s->wave[leader];
    if (before == 0 || !all_have_image(lab, job, who, before)) return 0;
    for (uint32_t i = 0; all && i < lab->ranks; i++)
        if (!has_image(lab, job, i, before)) return 0;
    return before;
}

/* The newest decided image is there, and not the only thing that is left to go back to: the one before is, or the beginning as long as
 * fewer are decided than are kept. */
static bool may_be_damaged(struct lab *lab, const struct job *job, uint32_t who)
{
    const struct service *s = job_service(lab, job);
    uint32_t leader = job_leader(lab, s, who);
    if (s->wave[leader] == 0 || !has_image(lab, job, who, s->wave[leader])) return false;
    return before_of(lab, job, who) || s->decided[leader] < job_generations(lab);
}

uint64_t job_calls_to(uint64_t id)
{
    return id < 64 ? (UINT64_C(1) << id) - 1 : UINT64_MAX;
}

uint64_t job_restart_point(struct lab *lab, const struct job *job, uint32_t who)
{
    uint64_t wave = job_service(lab, job)->wave[job_leader(lab, job_service(lab, job), who)];
    return alone(lab) && wave && !all_have_image(lab, job, who, wave) ? before_of(lab, job, who) : wave;
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

uint32_t job_failures(struct lab *lab, const struct job *job, struct job_step *step)
{
    uint32_t n = 0, k = job_service(lab, job)->failures;
    if (k == lab->scenario->fails) return 0;
    struct hark_fail f = lab->scenario->fail[k];
    for (uint32_t who = 0; who < lab->who; who++) {
        bool meant = f.rank == HARK_FAIL_RECOVERY ? who == lab->ranks : f.rank < 0 ? who < lab->ranks : who == (uint32_t)f.rank;
        if (!meant || !may_fail(lab, job, who, f.when)) continue;
        step[n++] = (struct job_step){STEP_CRASH, (uint8_t)who, (uint16_t)k};
        if (f.when == HARK_FAIL_STORE) step[n - 1] = (struct job_step){STEP_STORED, (uint8_t)who, 1};
    }
    return n;
}

void job_announce(struct lab *lab, struct job *job, struct service *s)
{
    struct announcement a = {.re = ++s->re, .down = s->down};
    memcpy(a.inc, s->inc, sizeof a.inc);
    memcpy(a.wave, s->wave, sizeof a.wave);
    if (s->re >= LOCAL_ANNOUNCEMENTS) {
        lab_fail(lab, "more announcements than this search has room for");
        return;
    }
    s->said[s->re] = intern_put(&lab->part, &a, sizeof a);
    if (s->said[s->re] == 0) lab_starve(lab);
    job_service_set(lab, job, s);
}

void job_go_back(struct service *s, uint32_t rank)
{
    s->inc[rank]++;
    s->down |= 1u << rank;
    s->back[rank] = s->re + 1;
}

/* Does it go back when `who` fails? */
static bool goes_with(const struct lab *lab, const struct service *s, uint32_t rank, uint32_t who)
{
    switch (lab->protocol->rolls) {
    case HARK_ROLLS_LINE: return rank == who || s->down >> rank & 1; /* N-7 */
    case HARK_ROLLS_GROUP:
    case HARK_ROLLS_ALL: return who < lab->ranks && (rank == who || same_group(lab, s, rank, who));
    default: return rank == who;
    }
}

void job_crash(struct lab *lab, struct job *job, uint32_t who, bool damaged)
{
    struct service s = *job_service(lab, job);
    uint32_t leader = damaged ? job_leader(lab, &s, who) : 0;
    bool unmapped = damaged && s.mapped && s.mapped == s.wave[leader]; /* behind the change of the map only all go back */
    s.failures++;
    if (damaged && (unmapped || !alone(lab))) {
        s.wave[leader] = before_of(lab, job, who);
        s.before[leader] = 0;
    }
    if (who == lab->ranks) s.inc[who]++;
    for (uint32_t i = 0; i < lab->ranks; i++)
        if (unmapped || goes_with(lab, &s, i, who)) job_go_back(&s, i);
    if (unmapped) s.mapped = 0;
    job_announce(lab, job, &s);
    for (uint32_t i = 0; i < lab->who && !lab->failed; i++) job_net_clean(lab, job, i);
}
