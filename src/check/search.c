/* search.c: explorations, and what they show of a program: its class, its ends, a violation. */
#include "search_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SOON = 4, NEXT = 2 /* states ahead */ };

/* ---- one exploration ------------------------------------------------------------------------- */

static void explore_serial(struct exploration *x)
{
    struct search_result *r = x->r;
    uint64_t level = 1, noticed = 0;
    for (uint64_t i = 0; i < x->q->count && !r->violated && !x->lab.failed && !in_vain(x, &noticed);
         i++) {
        if (i == level) { /* all of one depth are done */
            r->depth++;
            level = x->q->count;
        }
        if (((i & OFTEN) == 0 || stopped(x)) && enough(x)) break;
        if ((i & OFTEN) == 0) show_progress(x, x->q->count, x->q->count - i, false);
        states_fetch(x->q, i + SOON);
        state_fetch(x, i + NEXT);
        expand(x, i);
        if (i + 1 == level) add_found(x);
    }
}

static void explore_once(struct exploration *x)
{
    struct search_result *r = x->r;
    begin_search(x);
    if (x->parts > 1) explore_parallel(x);
    else explore_serial(x);
    add_found(x);
    if (x->repaired && stopped(x)) (void)enough(x); /* something may not have been expanded again */
    int64_t found =
        x->reduce || r->violated || r->verdict != SEARCH_OK || x->lab.failed ? -1 : endless(x);
    if (found >= 0) {
        r->violated = VIOLATED_FOREVER;
        path_to(x, (uint64_t)found, NULL);
    }
    conclude(x);
}

static void explore(struct exploration *x)
{
    uint16_t violated = 0; /* what was found before it began again is there, also if it is not come
                              to once more */
    bool again = false;
    do {
        explore_once(x);
        if (!again) refuse_little(x);
        again = true;
        if (x->r->violated) violated = x->r->violated;
    } while (x->reduction.dirty && !x->lab.failed && x->r->verdict != SEARCH_LIMIT); /* what is
                                                                                        reduced less
                                                                                        does not fit
                                                                                        either */
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
        snprintf(reduced.why, sizeof reduced.why,
            "the reduced search is wrong: it comes to \"%s\" and %llu ends, all to \"%s\" and %llu",
            reduced.violated ? lab_violation(reduced.violated) : "ok",
            (unsigned long long)ends.count, r->violated ? lab_violation(r->violated) : "ok",
            (unsigned long long)x->ends.count);
    }
    free(r->path);
    states_free(&ends);
    *r = reduced;
}

enum { COLLECT = UINT8_MAX, FEWER = 8 };

/* points, barriers: see struct lab, if this is the program without a protocol, or COLLECT; then
 * ends are collected. */
static void run(const struct hark_scenario *s, const char *protocol,
    const struct search_options *options, struct intern *outcomes, uint8_t points,
    uint32_t barriers, struct search_result *r)
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
    x->lab.by_channel = x->collect; /* a multicast may overtake a message, and does, in an execution
                                       with failures */
    x->r = r;
    x->reduce =
        options->reduce != SEARCH_WHOLE && !options->atomic && (!x->collect || points == COLLECT);
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

const struct hark_scenario *search_due_only(
    const struct hark_scenario *s, uint32_t calls, struct hark_scenario *made)
{
    *made = *s;
    for (uint32_t who = 0; who < s->ranks; who++) {
        uint32_t n = 0;
        for (struct hark_op *op = made->op[who]; op->type; op++)
            if (hark_op_is_call(op->type) && !(calls & hark_call_bit(n++))) op->type = HARK_OP_CALL;
    }
    return made;
}

/* The ends of a program that nothing but the protocol itself can run. Where there are not few
 * states, of fewer, which come to the same ends but do not show its class: that nothing depends on.
 */
static void collected(const struct hark_scenario *s, const char *protocol,
    const struct search_options *quiet, struct intern *outcomes, struct search_result *r)
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

struct search_result search_classify(
    const struct hark_scenario *s, const struct search_options *options, struct intern *outcomes)
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
    calm.fifo = true; /* nobody puts messages in order there: see run(), it is that of each channel
                       */
    /* The same content as under the protocol, so that ends can be compared. */
    calm.content = lab.history ? HARK_CONTENT_HISTORY : HARK_CONTENT_FIXED;
    const bool clusters = hark_service_by_cluster(lab.protocol) && !lab.waves_all;
    const uint8_t points = clusters ? LAB_POINTS_CLUSTER : LAB_POINTS_ALL;
    lab_close(&lab);
    r.class = SEARCH_DETERMINISTIC;
    const bool needs = reduces(s);
    const char *bare = hark_protocol_for(HARK_FOR_NOTHING)->name;
    for (uint32_t barriers = 0; barriers < 1u << most_points(s) && r.verdict == SEARCH_OK;
         barriers++) {
        struct search_result one = {.class = r.class, .due = barriers};
        if (needs)
            collected(
                search_due_only(&calm, barriers, &some), options->protocol, &quiet, outcomes, &one);
        else run(&calm, bare, &quiet, outcomes, points, barriers, &one);
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

struct search_result search_classified(const struct hark_scenario *s,
    const struct search_options *options, const struct search_result *alone,
    struct intern *outcomes)
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
    } else if (r.least) { /* then it does not come to a step with failures either, and says how much
                           * it takes for that
                           */
        all = search_classified(s, options, &r, &outcomes);
        if (all.least > r.least) r = all;
    }
    intern_free(&outcomes);
    return r;
}
