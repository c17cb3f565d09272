#include "describe.h"
#include "search_parts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OFTEN = 255 /* a mask of numbers of states */, SOON = 4 };
enum { AHEAD = 10000 /* more steps than commute in a row where they ever end */ };

/* ---- one exploration -------------------------------------------------------------------------------------------------- */

/* What this execution does at its n-th event is what others have done, or the class is lower. */
static void lower(struct exploration *x, uint32_t *seen, uint32_t now, enum search_class class)
{
    if (*seen == 0) *seen = now;
    if (*seen != now && x->r->class > class) x->r->class = class;
}

static void classify(struct exploration *x, const struct job *before, const struct job *after, uint32_t who)
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
        if (op->type != HARK_OP_TEST && op->type != HARK_OP_IF && !(looks && x->lab.history)) return;
        if (x->r->class > SEARCH_RSD) x->r->class = SEARCH_RSD; /* what has missed may hit in another execution */
    }
}

/* What everybody has delivered and sent, in bytes: numbers of parts mean nothing in another lab. 0: it is not there, and
 * not to be kept: the search may begin again. */
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
    if (x->options->reduce == SEARCH_COMPARED && states_add(&x->ends, job, 0, (struct job_step){0, 0, 0}) < 0)
        lab_starve(&x->lab);
    return outcome_put(x, signature) == 0 && !x->lab.failed ? VIOLATED_FINAL : 0;
}

bool at_once(struct lab *lab, const struct job *job, struct job_step *next)
{
    struct job_step step[JOB_STEPS];
    uint32_t failing, n = job_steps(lab, job, step, &failing);
    for (uint32_t k = 0; k < n - failing && !lab->failed; k++) {
        *next = step[k];
        if (step[k].what == STEP_APP || step[k].what == STEP_RESTART) continue;
        if (step[k].what != STEP_FRAME) return true;
        if (frame_of(lab, job_frame(lab, job, step[k].who, step[k].index))->header[1] != HARK_APP) return true;
    }
    return false;
}

uint16_t settle(struct lab *lab, struct job *job)
{
    uint16_t violated = 0;
    bool happened;
    for (struct job_step next; !violated && !lab->failed && at_once(lab, job, &next);)
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
    uint64_t bytes = states_bytes(&x->ends) + lab_bytes(&x->lab) + reduction_bytes(&x->reduction) + x->found_bytes;
    for (uint32_t p = 0; p < x->parts; p++) bytes += states_bytes(&x->q[p]);
    return bytes;
}

/* And what will be taken on top of it soon. */
static uint64_t most_bytes_of(const struct exploration *x)
{
    uint64_t bytes = bytes_of(x);
    for (uint32_t p = 0; p < x->parts; p++)
        bytes += states_growing(&x->q[p]);
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
    if (stopped(x))
        r->limit = SEARCH_STOPPED;
    else if (o->most_states && states_of(x) > o->most_states)
        r->limit = SEARCH_STATES;
    else if (o->most_bytes && most_bytes_of(x) > o->most_bytes)
        r->limit = SEARCH_MEMORY;
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

/* Steps that commute with all else, until there are none; they are told to `taken`, if that is not NULL. */
static uint16_t run_ahead(struct exploration *x, struct job *job, struct steps *taken)
{
    uint16_t violated = 0;
    bool happened;
    uint32_t n = 0;
    for (struct job_step next; !violated && !x->lab.failed && reduction_next(&x->reduction, job, &next);) {
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

/* The steps to state `i`, and one more if there is one. */
static void path_to(struct exploration *x, uint64_t i, const struct job_step *last)
{
    struct search_result *r = x->r;
    struct steps way = {0}, path = {0};
    if (x->repaired || x->reduction.doubts > 0) x->reduction.dirty = true; /* steps from before do not lead where they did */
    if (x->reduction.dirty) return;                                        /* it all begins again */
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

static void expand_once(struct exploration *x, uint64_t i)
{
    struct job_step step[JOB_STEPS];
    struct job job = state_job(x, i);
    uint32_t failing;
    x->reduction.state = (uint32_t)i;
    uint32_t n = job_steps(&x->lab, &job, step, &failing);
    bool moves = false; /* something but a failure can happen, and changes something */
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
        if (x->collect && happened && !violated && step[k].what == STEP_APP) classify(x, &job, &next, step[k].who);
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

static void begin(struct exploration *x)
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
    if (!x->lab.failed && states_add(&x->q[x->first], &first, (uint32_t)x->first, (struct job_step){0, 0, 0}) < 0)
        lab_starve(&x->lab);
}

static void explore_serial(struct exploration *x)
{
    struct search_result *r = x->r;
    uint64_t level = 1, noticed = 0;
    for (uint64_t i = 0; i < x->q->count && !r->violated && !x->lab.failed && !in_vain(x, &noticed); i++) {
        if (i == level) { /* all of one depth are done */
            r->depth++;
            level = x->q->count;
        }
        if (((i & OFTEN) == 0 || stopped(x)) && enough(x)) break;
        if ((i & OFTEN) == 0) show_progress(x, x->q->count, x->q->count - i, false);
        states_fetch(x->q, i + SOON);
        expand(x, i);
        if (i + 1 == level) add_found(x);
    }
}

static void explore_once(struct exploration *x)
{
    struct search_result *r = x->r;
    begin(x);
    if (x->parts > 1) explore_parallel(x);
    else explore_serial(x);
    add_found(x);
    if (x->repaired && stopped(x)) (void)enough(x); /* something may not have been expanded again */
    int64_t found = x->reduce || r->violated || r->verdict != SEARCH_OK || x->lab.failed ? -1 : endless(x);
    if (found >= 0) {
        r->violated = VIOLATED_FOREVER;
        path_to(x, (uint64_t)found, NULL);
    }
    conclude(x);
}

static void explore(struct exploration *x)
{
    uint16_t violated = 0; /* what was found before it began again is there, also if it is not come to once more */
    bool again = false;
    do {
        explore_once(x);
        if (!again) refuse_little(x);
        again = true;
        if (x->r->violated) violated = x->r->violated;
    } while (x->reduction.dirty && !x->lab.failed && x->r->verdict != SEARCH_LIMIT); /* what is reduced less does not fit either */
    if (violated) {
        x->r->verdict = SEARCH_VIOLATED;
        x->r->violated = violated;
    }
}

/* Both ways, and do they come to the same? Figures are of the reduced search. */
static void compare(struct exploration *x)
{
    struct search_result reduced, *r = x->r;
    struct states ends;
    struct job job = {{0}};
    explore(x);
    if ((r->verdict != SEARCH_OK && r->verdict != SEARCH_VIOLATED) || x->lab.failed) return;
    reduced = *r;
    r->path = NULL;
    ends = x->ends;
    memset(&x->ends, 0, sizeof x->ends);
    x->reduce = false;
    explore_once(x);
    bool same = r->verdict == reduced.verdict && (r->violated != 0 || ends.count == x->ends.count);
    for (uint64_t i = 0; i < ends.count && same && !r->violated; i++) {
        states_get(&ends, i, job.at);
        same = states_find(&x->ends, &job) >= 0;
    }
    reduced.whole = r->states;
    if (r->verdict == SEARCH_LIMIT) { /* nobody knows */
        reduced.verdict = SEARCH_LIMIT;
        reduced.limit = r->limit;
    } else if (!same) {
        reduced.verdict = SEARCH_FAILED;
        snprintf(reduced.why, sizeof reduced.why, "the reduced search is wrong: it comes to \"%s\" and %llu ends, all to \"%s\" and %llu",
            reduced.violated ? lab_violation(reduced.violated) : "ok", (unsigned long long)ends.count,
            r->violated ? lab_violation(r->violated) : "ok", (unsigned long long)x->ends.count);
    }
    free(r->path);
    states_free(&ends);
    *r = reduced;
}

enum { COLLECT = UINT8_MAX, FEWER = 8 };

/* points, barriers: see struct lab, if this is the program without a protocol, or COLLECT; then ends are collected. */
static void run(const struct hark_scenario *s, const char *protocol, const struct search_options *options,
    struct intern *outcomes, uint8_t points, uint32_t barriers, struct search_result *r)
{
    struct exploration *x = calloc(1, sizeof *x);
    uint32_t parts = points || options->walks || options->jobs == 0 ? 1 : options->jobs;
    if (x) x->q = calloc(parts, sizeof *x->q);
    if (x == NULL || x->q == NULL || lab_open(&x->lab, s, protocol, r->why) < 0) {
        r->verdict = SEARCH_FAILED;
        if (x == NULL || x->q == NULL) snprintf(r->why, sizeof r->why, "no memory");
        if (x) free(x->q);
        free(x);
        return;
    }
    x->parts = parts;
    x->options = options;
    x->outcomes = outcomes;
    x->collect = points != 0;
    x->lab.points = points == COLLECT ? 0 : points;
    x->lab.barriers = barriers;
    x->lab.by_channel = x->collect; /* a multicast may overtake a message, and does, in an execution with failures */
    x->r = r;
    x->reduce = options->reduce != SEARCH_WHOLE && !options->atomic && (!x->collect || points == COLLECT);
    if (x->reduce) reduction_open(&x->reduction, &x->lab);
    if (options->walks) walks(x);
    else if (options->reduce == SEARCH_COMPARED && x->reduce) compare(x);
    else explore(x);
    reduction_close(&x->reduction);
    for (uint32_t p = 0; p < parts; p++) states_free(&x->q[p]);
    states_free(&x->ends);
    lab_close(&x->lab);
    free(x->q);
    free(x);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many checkpoints a process makes at most; beyond a few all are alike: hark_call_bit(). */
static uint32_t most_points(const struct hark_scenario *s)
{
    uint32_t most = 0;
    for (uint32_t who = 0; who < s->ranks; who++) {
        uint32_t n = 0;
        for (const struct hark_op *op = s->op[who]; op->type; op++) n += hark_op_is_call(op->type);
        if (n > most) most = n;
    }
    return most < HARK_CALL_BITS ? most : HARK_CALL_BITS;
}

/* Does it reduce? Then nothing but a protocol with groups can run it. */
static bool reduces(const struct hark_scenario *s)
{
    for (uint32_t who = 0; who < s->ranks; who++)
        for (const struct hark_op *op = s->op[who]; op->type; op++)
            if (op->type == HARK_OP_CONTRIBUTE || op->type == HARK_OP_RESULT) return true;
    return false;
}

const struct hark_scenario *search_due_only(const struct hark_scenario *s, uint32_t calls, struct hark_scenario *made)
{
    *made = *s;
    for (uint32_t who = 0; who < s->ranks; who++) {
        uint32_t n = 0;
        for (struct hark_op *op = made->op[who]; op->type; op++)
            if (hark_op_is_call(op->type) && !(calls & hark_call_bit(n++))) op->type = HARK_OP_CALL;
    }
    return made;
}

/* The ends of a program that nothing but the protocol itself can run. Where there are not few states, of fewer, which come to the same ends
 * but do not show its class: that nothing depends on. */
static void collected(const struct hark_scenario *s, const char *protocol, const struct search_options *quiet, struct intern *outcomes,
    struct search_result *r)
{
    struct search_options few = *quiet, reduced = *quiet;
    reduced.reduce = SEARCH_REDUCED;
    if (few.most_states) few.most_states = few.most_states / FEWER + 1;
    run(s, protocol, &few, outcomes, COLLECT, 0, r);
    if (r->verdict != SEARCH_LIMIT || r->limit != SEARCH_STATES) return;
    free(r->path);
    *r = (struct search_result){.class = SEARCH_OTHER, .due = r->due};
    run(s, protocol, &reduced, outcomes, COLLECT, 0, r);
    r->class = SEARCH_OTHER;
}

struct search_result search_classify(const struct hark_scenario *s, const struct search_options *options, struct intern *outcomes)
{
    struct search_result r = {0};
    struct lab lab;
    double begin = now();
    if (lab_open(&lab, s, options->protocol, r.why) < 0) {
        r.verdict = SEARCH_FAILED;
        return r;
    }
    struct hark_scenario calm = *s, some;
    struct search_options quiet = {.most_states = options->most_states,
        .most_bytes = options->most_bytes,
        .stop = options->stop,
        .progress = options->progress,
        .self = options->self};
    calm.fails = 0;
    calm.fifo = true; /* nobody puts messages in order there: see run(), it is that of each channel */
    /* The same content as under the protocol, so that ends can be compared. */
    calm.content = lab.history ? HARK_CONTENT_HISTORY : HARK_CONTENT_FIXED;
    uint8_t points = lab.protocol->rolls && !lab.together ? lab.protocol->rolls : HARK_ROLLS_ALL;
    lab_close(&lab);
    r.class = SEARCH_DETERMINISTIC;
    const bool needs = reduces(s);
    for (uint32_t barriers = 0; barriers < 1u << most_points(s) && r.verdict == SEARCH_OK; barriers++) {
        struct search_result one = {.class = r.class, .due = barriers};
        if (needs) collected(search_due_only(&calm, barriers, &some), options->protocol, &quiet, outcomes, &one);
        else run(&calm, "none", &quiet, outcomes, points, barriers, &one);
        free(r.path);
        r = one;
    }
    if (r.verdict == SEARCH_VIOLATED) r.verdict = SEARCH_UNFINISHED;
    r.alone = r.verdict == SEARCH_LIMIT;
    r.needs = needs;
    r.outcomes = outcomes->count;
    r.seconds = now() - begin;
    return r;
}

struct search_result search_classified(const struct hark_scenario *s, const struct search_options *options,
    const struct search_result *alone, struct intern *outcomes)
{
    struct search_result r = {0};
    double begin = now();
    outcomes->frozen = true;
    run(s, options->protocol, options, outcomes, 0, 0, &r);
    outcomes->frozen = false;
    r.outcomes = alone->outcomes;
    r.class = alone->class;
    r.seconds = alone->seconds + now() - begin;
    return r;
}

struct search_result search(const struct hark_scenario *s, const struct search_options *options)
{
    struct intern outcomes = {0};
    struct search_result r = search_classify(s, options, &outcomes), all;
    if (r.verdict == SEARCH_OK) {
        free(r.path);
        r = search_classified(s, options, &r, &outcomes);
    } else if (r.least) { /* then it does not come to a step with failures either, and says how much it takes for that
                           */
        all = search_classified(s, options, &r, &outcomes);
        if (all.least > r.least) r = all;
    }
    intern_free(&outcomes);
    return r;
}
