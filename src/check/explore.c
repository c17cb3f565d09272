/* explore.c: what every exploration is made of, in whatever order it goes: it begins, expands a
 * state, takes a step, and names the way to a state. */
#include "search_parts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 10000 /* more steps than commute in a row where they ever end */ };

/* What this execution does at its n-th event is what others have done, or the class is lower. */
static void lower(struct exploration *x, uint32_t *seen, uint32_t now, enum search_class class)
{
    if (*seen == 0) *seen = now;
    if (*seen != now && x->r->class > class) x->r->class = class;
}

static void classify(
    struct exploration *x, const struct job *before, const struct job *after, uint32_t who)
{
    struct app a, b;
    if (who >= x->lab.ranks) return;
    local_open(&x->lab, before->at[who]);
    a = x->lab.at.app;
    local_open(&x->lab, after->at[who]);
    b = x->lab.at.app;
    uint32_t got = 0, delivered = 0, from = 0;
    for (uint32_t i = 0; i < x->lab.ranks; i++) {
        delivered += (uint32_t)__builtin_popcount(a.got[i]);
        if (a.got[i] != b.got[i]) from = i + 1;
    }
    if (b.sends > a.sends && a.sends < HARK_SCENARIO_SENDS) {
        struct seen *s = &x->seen[who][a.sends];
        uint32_t to = 0;
        while (a.sent[to] == b.sent[to]) to++;
        got = intern_put(&x->lab.part, a.got, sizeof a.got);
        lower(x, &s->to, to + 1, SEARCH_OTHER);
        lower(x, &s->before, got, SEARCH_SD);
    } else if (from && delivered < HARK_SCENARIO_SENDS) {
        uint32_t part = intern_put(&x->lab.part, b.got, sizeof b.got);
        lower(x, &x->seen[who][delivered].delivery, part, SEARCH_RSD);
    } else {
        const struct hark_op *op = &x->lab.scenario->op[who][a.pc];
        bool looks = op->type == HARK_OP_LOOK || (op->type == HARK_OP_PROBE && op->peer < 0);
        if (op->type != HARK_OP_TEST && op->type != HARK_OP_IF && !(looks && x->lab.history))
            return;
        if (x->r->class > SEARCH_RSD)
            x->r->class = SEARCH_RSD; /* what has missed may hit in another execution */
    }
}

/* What everybody has delivered and sent, in bytes: numbers of parts mean nothing in another lab. 0:
 * it is not there, and not to be kept: the search may begin again. */
static uint32_t outcome_put(struct exploration *x, uint32_t signature)
{
    static uint8_t bytes[1 << 17];
    const uint32_t *part = intern_at(&x->lab.part, signature);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->lab.ranks; i++) {
        uint32_t length = intern_length(&x->lab.part, part[i]);
        if (n + length > sizeof bytes) {
            lab_fail(&x->lab, "more is delivered and sent than this search has room for");
            return 0;
        }
        memcpy(bytes + n, intern_at(&x->lab.part, part[i]), length);
        n += length;
    }
    uint32_t number = intern_put(x->outcomes, bytes, n);
    if (number == 0 && x->collect) lab_starve(&x->lab);
    return number;
}

uint16_t at_end(struct exploration *x, const struct job *job)
{
    uint32_t signature;
    uint16_t violated = job_final(&x->lab, job, &signature);
    x->r->finals++;
    if (violated && x->collect) describe_waits(&x->lab, job, x->r->why);
    if (violated || x->lab.failed) return violated;
    if (x->options->reduce == SEARCH_COMPARED &&
        states_add(&x->ends, job, 0, (struct job_step){0, 0, 0}) < 0)
        lab_starve(&x->lab);
    return outcome_put(x, signature) == 0 && !x->lab.failed ? VIOLATED_FINAL : 0;
}

uint16_t settle(struct lab *lab, struct job *job)
{
    uint16_t violated = 0;
    bool happened;
    for (struct job_step next; !violated && !lab->failed && job_at_once(lab, job, &next);)
        violated = job_take(lab, job, next, &happened);
    return violated;
}

uint64_t states_of(const struct exploration *x)
{
    uint64_t n = 0;
    for (uint32_t p = 0; p < x->parts; p++) n += x->q[p].count;
    return n;
}

uint64_t bytes_of(const struct exploration *x)
{
    uint64_t bytes = states_bytes(&x->ends) + lab_bytes(&x->lab) + reduction_bytes(&x->reduction) +
                     x->found_bytes;
    for (uint32_t p = 0; p < x->parts; p++) bytes += states_bytes(&x->q[p]);
    return bytes;
}

/* And what will be taken on top of it soon. */
static uint64_t most_bytes_of(const struct exploration *x)
{
    uint64_t bytes = bytes_of(x);
    for (uint32_t p = 0; p < x->parts; p++) bytes += states_growing(&x->q[p]);
    return bytes;
}

bool stopped(const struct exploration *x)
{
    return x->options->stop && atomic_load_explicit(x->options->stop, memory_order_relaxed);
}

bool enough(struct exploration *x)
{
    const struct search_options *o = x->options;
    struct search_result *r = x->r;
    r->bytes = bytes_of(x);
    if (stopped(x)) r->limit = SEARCH_STOPPED;
    else if (o->most_states && states_of(x) > o->most_states) r->limit = SEARCH_STATES;
    else if (o->most_bytes && most_bytes_of(x) > o->most_bytes) r->limit = SEARCH_MEMORY;
    if (r->limit) r->verdict = SEARCH_LIMIT;
    return r->limit != SEARCH_NO_LIMIT;
}

void show_progress(struct exploration *x, uint64_t done, uint64_t waiting, bool walks)
{
    const struct search_progress now = {done, waiting, bytes_of(x), x->r->depth, walks};
    if (x->options->progress) x->options->progress(x->options->self, &now);
}

void refuse_little(struct exploration *x)
{
    struct search_result *r = x->r;
    if (r->limit != SEARCH_MEMORY || r->transitions > 0) return;
    r->verdict = SEARCH_FAILED;
    r->limit = SEARCH_NO_LIMIT;
    r->least = r->bytes;
    snprintf(r->why, sizeof r->why, "the limit of memory leaves no room for its first step");
}

struct steps {
    struct job_step *at;
    uint32_t count, room;
};

static void steps_add(struct steps *s, struct job_step step)
{
    if (s->count == s->room) {
        uint32_t room = s->room ? s->room * 2 : 256;
        struct job_step *at = realloc(s->at, room * sizeof *at);
        if (at == NULL) return; /* a shorter way is told */
        s->at = at;
        s->room = room;
    }
    s->at[s->count++] = step;
}

/* Steps that commute with all else, until there are none; they are told to `taken`, if that is not
 * NULL. */
static uint16_t run_ahead(struct exploration *x, struct job *job, struct steps *taken)
{
    uint16_t violated = 0;
    bool happened;
    uint32_t n = 0;
    for (struct job_step next;
         !violated && !x->lab.failed && reduction_next(&x->reduction, job, &next);) {
        uint32_t failures = job_service(&x->lab, job)->failures;
        violated = job_take(&x->lab, job, next, &happened);
        reduction_used(&x->reduction, failures);
        if (taken) steps_add(taken, next);
        if (++n == AHEAD) violated = VIOLATED_FOREVER;
    }
    return violated;
}

uint16_t take_step(struct exploration *x, struct job *job, struct job_step step, bool *happened)
{
    uint32_t failures = job_service(&x->lab, job)->failures;
    uint16_t violated = job_take(&x->lab, job, step, happened);
    if (x->lab.failed) return violated;
    if (x->reduce) reduction_used(&x->reduction, failures);
    if (violated || !*happened) return violated;
    if (x->reduce) return run_ahead(x, job, NULL);
    return x->options->atomic ? settle(&x->lab, job) : 0;
}

/* With what was run ahead of states in between. */
static void path_ahead(struct exploration *x, const struct steps *way, struct steps *path)
{
    struct job job;
    bool happened;
    job_first(&x->lab, &job);
    (void)run_ahead(x, &job, path);
    for (uint32_t k = 0; k < way->count; k++) {
        steps_add(path, way->at[k]);
        if (job_take(&x->lab, &job, way->at[k], &happened) == 0) (void)run_ahead(x, &job, path);
    }
}

void path_to(struct exploration *x, uint64_t i, const struct job_step *last)
{
    struct search_result *r = x->r;
    struct steps way = {0}, path = {0};
    if (x->repaired || x->reduction.doubts > 0)
        x->reduction.dirty = true;  /* steps from before do not lead where they did */
    if (x->reduction.dirty) return; /* it all begins again */
    x->reduction.state = NO_STATE;
    for (uint64_t k = i; k != x->first; k = states_before(state_part(x, k), k / x->parts))
        steps_add(&way, states_step(state_part(x, k), k / x->parts));
    for (uint32_t k = 0; k < way.count / 2; k++) {
        struct job_step step = way.at[k];
        way.at[k] = way.at[way.count - 1 - k];
        way.at[way.count - 1 - k] = step;
    }
    if (last) steps_add(&way, *last);
    if (x->reduce) path_ahead(x, &way, &path);
    else path = way;
    if (x->reduce) free(way.at);
    r->path = path.at ? path.at : malloc(1); /* none: the beginning itself is wrong */
    r->path_length = r->depth = path.count;
}

static void find(struct exploration *x, const struct job *job, uint32_t from, struct job_step step)
{
    x->found[x->finds] = *job;
    x->new[x->finds] = (struct states_new){x->found[x->finds].at, from, step};
    x->finds++;
}

void add_found(struct exploration *x)
{
    int status = x->parts == 1 ? states_put(x->q, x->new, x->finds) : 0;
    for (uint32_t k = 0; k < x->finds && x->parts > 1 && status == 0; k++)
        status = states_put(&x->q[states_part(x->q, x->new[k].row)], &x->new[k], 1);
    if (status < 0) lab_starve(&x->lab);
    x->finds = 0;
}

/* The memo of all steps that are looked up by one number is fetched together. */
static void fetch_steps(
    const struct lab *lab, const struct job *job, const struct job_step *step, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t argument = step[k].what == STEP_FRAME
                                      ? job_frame(lab, job, step[k].who, step[k].index)
                                      : step[k].index;
        local_fetch(lab, job->at[step[k].who], (enum local_step)step[k].what, argument);
    }
}

void state_fetch(const struct exploration *x, uint64_t i)
{
    if (i >= state_part(x, i)->count * x->parts) return;
    const struct job job = state_job(x, i);
    for (uint32_t k = 0; k < x->lab.who; k++) {
        local_info_fetch(&x->lab, job.at[k]);
        if (job.at[x->lab.who + k]) intern_fetch(&x->lab.part, job.at[x->lab.who + k]);
    }
    intern_fetch(&x->lab.part, job.at[2 * x->lab.who]);
}

static void expand_once(struct exploration *x, uint64_t i)
{
    struct job_step step[JOB_STEPS];
    struct job job = state_job(x, i);
    uint32_t failing;
    x->reduction.state = (uint32_t)i;
    uint32_t n = job_steps(&x->lab, &job, step, &failing);
    bool moves = false; /* something but a failure can happen, and changes something */
    fetch_steps(&x->lab, &job, step, n);
    for (uint32_t k = 0; k <= n && !x->r->violated && !x->lab.failed; k++) {
        struct job next = job;
        bool happened;
        if (k == n - failing && !moves) {
            x->r->violated = at_end(x, &job);
            if (x->r->violated) path_to(x, i, NULL);
        }
        if (k == n || x->r->violated || x->lab.failed) break;
        uint16_t violated = take_step(x, &next, step[k], &happened);
        x->r->violated = violated;
        x->r->transitions++;
        if (x->collect && happened && !violated && step[k].what == STEP_APP)
            classify(x, &job, &next, step[k].who);
        if (happened && memcmp(&next, &job, sizeof job) != 0) moves = true;
        if (violated) path_to(x, i, &step[k]);
        else if (happened && !x->lab.failed) find(x, &next, (uint32_t)i, step[k]);
    }
    if (x->finds >= FOUND_MANY) add_found(x);
}

void expand(struct exploration *x, uint64_t i)
{
    expand_once(x, i);
    while (x->reduction.doubts > 0 && !x->reduction.dirty && !x->r->violated && !x->lab.failed) {
        uint32_t *again, n = reduction_doubtful(&x->reduction, &again);
        x->repaired = true;
        for (uint32_t k = 0; k < n && !x->r->violated && !x->lab.failed && !stopped(x); k++) {
            expand_once(x, again[k]);
            if ((k & OFTEN) == 0) show_progress(x, states_of(x), n - k, false);
        }
        free(again);
        if (stopped(x)) break;
    }
}

void conclude(struct exploration *x)
{
    struct search_result *r = x->r;
    r->bytes = bytes_of(x);
    r->states = states_of(x);
    r->made = x->lab.made;
    r->looked_up = x->lab.looked_up;
    if (r->violated) r->verdict = SEARCH_VIOLATED;
    if (x->lab.starved) {
        r->verdict = SEARCH_LIMIT;
        r->limit = SEARCH_NO_MEMORY;
    } else if (x->lab.failed) {
        r->verdict = SEARCH_FAILED;
        snprintf(r->why, sizeof r->why, "%s", x->lab.why);
    }
}

bool in_vain(struct exploration *x, uint64_t *noticed)
{
    if (!x->reduction.dirty) return false;
    if (*noticed == 0) *noticed = states_of(x); /* more may be found before it is given up */
    return states_of(x) > 2 * *noticed;
}

void begin_search(struct exploration *x)
{
    struct search_result *r = x->r;
    struct job first;
    free(r->path);
    *r = (struct search_result){.class = r->class, .due = r->due};
    states_free(&x->ends);
    states_open(&x->ends, job_width(&x->lab), x->lab.who, 1);
    for (uint32_t p = 0; p < x->parts; p++) {
        states_free(&x->q[p]);
        states_open(&x->q[p], job_width(&x->lab), x->lab.who, x->parts);
    }
    reduction_begin(&x->reduction);
    x->repaired = false;
    x->finds = 0;
    job_first(&x->lab, &first);
    if (x->reduce && !x->lab.failed) r->violated = run_ahead(x, &first, NULL);
    x->first = states_part(x->q, first.at);
    if (!x->lab.failed &&
        states_add(&x->q[x->first], &first, (uint32_t)x->first, (struct job_step){0, 0, 0}) < 0)
        lab_starve(&x->lab);
}
