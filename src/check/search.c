#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHUNK = 1 << 16, PROGRESS = 1 << 14 };

/* The states that were met, in the order in which they were. */
struct states {
    uint32_t width;
    uint32_t **row;          /* in pieces of CHUNK rows: width numbers, the predecessor, the step */
    uint32_t *slot;          /* number + 1 */
    uint64_t count, slots, bytes;
    uint32_t pieces;
};

static uint32_t *row_of(const struct states *q, uint64_t i)
{
    return q->row[i / CHUNK] + (i % CHUNK) * (q->width + 2);
}

static uint64_t row_hash(const struct states *q, const uint32_t *row)
{
    return XXH3_64bits(row, q->width * sizeof *row);
}

static int more_slots(struct states *q)
{
    uint64_t slots = q->slots ? q->slots * 2 : 1 << 14;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) return -1;
    for (uint64_t i = 0; i < q->count; i++) {
        uint64_t at = row_hash(q, row_of(q, i)) & (slots - 1);
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)i + 1;
    }
    free(q->slot);
    q->bytes += (slots - q->slots) * sizeof *slot;
    q->slot = slot;
    q->slots = slots;
    return 0;
}

static int more_rows(struct states *q)
{
    uint32_t **row = realloc(q->row, (q->pieces + 1) * sizeof *row);
    if (row == NULL) return -1;
    q->row = row;
    uint64_t bytes = (uint64_t)CHUNK * (q->width + 2) * sizeof **row;
    row[q->pieces] = malloc(bytes);
    if (row[q->pieces] == NULL) return -1;
    q->pieces++;
    q->bytes += bytes;
    return 0;
}

/* 1: new, 0: known, -1: no memory. */
static int states_add(struct states *q, const struct job *job, uint64_t from, struct job_step step)
{
    if (q->count * 3 >= q->slots * 2 && more_slots(q) < 0) return -1;
    uint64_t at = row_hash(q, job->at) & (q->slots - 1);
    for (; q->slot[at]; at = (at + 1) & (q->slots - 1))
        if (memcmp(row_of(q, q->slot[at] - 1), job->at, q->width * sizeof job->at[0]) == 0) return 0;
    if (q->count >= UINT32_MAX - 1 || (q->count == (uint64_t)q->pieces * CHUNK && more_rows(q) < 0)) return -1;
    uint32_t *row = row_of(q, q->count);
    memcpy(row, job->at, q->width * sizeof *row);
    row[q->width] = (uint32_t)from;
    memcpy(&row[q->width + 1], &step, sizeof step);
    q->slot[at] = (uint32_t)++q->count;
    return 1;
}

static void states_free(struct states *q)
{
    for (uint32_t i = 0; i < q->pieces; i++) free(q->row[i]);
    free(q->row);
    free(q->slot);
}

HARK_STATIC_ASSERT(sizeof(struct job_step) == sizeof(uint32_t), "a step is a number of a row");

/* ---- one exploration -------------------------------------------------------------------------------------------------- */

struct exploration {
    struct lab lab;
    struct states q;
    const struct search_options *options;
    struct intern *outcomes; /* signatures of ends, as bytes that mean the same in every lab */
    bool collect;            /* they are gathered; else an end that is not among them is a violation */
    struct search_result *r;
    struct seen { /* collect: at the n-th send and the n-th delivery of each process */
        uint32_t to, before, delivery; /* 1 + receiver; parts: what was delivered before, what is delivered */
    } seen[HARK_SCENARIO_RANKS][HARK_SCENARIO_SENDS + 1];
};

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
    } else if (x->lab.scenario->op[who][a.pc].type == HARK_OP_TEST || x->lab.scenario->op[who][a.pc].type == HARK_OP_IF) {
        if (x->r->class > SEARCH_RSD) x->r->class = SEARCH_RSD; /* what has missed may hit in another execution */
    }
}

/* The steps to state `i`, and one more if there is one. */
static void path_to(struct exploration *x, uint64_t i, const struct job_step *last)
{
    struct search_result *r = x->r;
    uint32_t n = last != NULL;
    for (uint64_t k = i; k; k = row_of(&x->q, k)[x->q.width]) n++;
    r->path = malloc((n ? n : 1) * sizeof *r->path);
    if (r->path == NULL) return;
    r->path_length = r->depth = n;
    if (last) r->path[--n] = *last;
    for (uint64_t k = i; k; k = row_of(&x->q, k)[x->q.width]) memcpy(&r->path[--n], &row_of(&x->q, k)[x->q.width + 1], 4);
}

/* What everybody has delivered and sent, in bytes: numbers of parts mean nothing in another lab. */
static uint32_t outcome_put(struct exploration *x, uint32_t signature)
{
    static uint8_t bytes[1 << 17];
    const uint32_t *part = intern_at(&x->lab.part, signature);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->lab.ranks; i++) {
        uint32_t length = intern_length(&x->lab.part, part[i]);
        if (n + length > sizeof bytes) return 0;
        memcpy(bytes + n, intern_at(&x->lab.part, part[i]), length);
        n += length;
    }
    return intern_put(x->outcomes, bytes, n);
}

static uint16_t at_end(struct exploration *x, const struct job *job)
{
    uint32_t signature, known = x->outcomes->count;
    uint16_t violated = job_final(&x->lab, job, &signature);
    x->r->finals++;
    if (violated || x->lab.failed) return violated;
    if (outcome_put(x, signature) == 0) lab_fail(&x->lab, "no memory");
    return !x->collect && x->outcomes->count > known ? VIOLATED_FINAL : 0;
}

/* With atomic control: what happens at once, the first step that is no application's, no application message's and no
 * failure. False: nothing does. */
static bool at_once(struct lab *lab, const struct job *job, struct job_step *next)
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

static uint16_t settle(struct lab *lab, struct job *job)
{
    uint16_t violated = 0;
    bool happened;
    for (struct job_step next; !violated && !lab->failed && at_once(lab, job, &next);)
        violated = job_take(lab, job, next, &happened);
    return violated;
}

static bool enough(struct exploration *x)
{
    const struct search_options *o = x->options;
    uint64_t bytes = x->q.bytes + lab_bytes(&x->lab);
    x->r->bytes = bytes;
    return (o->most_states && x->q.count > o->most_states) || (o->most_bytes && bytes > o->most_bytes);
}

/* Everything that can happen in state i. */
static void expand(struct exploration *x, uint64_t i)
{
    struct job_step step[JOB_STEPS];
    struct job job = {{0}};
    uint32_t failing;
    memcpy(job.at, row_of(&x->q, i), x->q.width * sizeof job.at[0]);
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
        uint16_t violated = job_take(&x->lab, &next, step[k], &happened);
        if (!violated && x->options->atomic && happened && !x->lab.failed) violated = settle(&x->lab, &next);
        x->r->violated = violated;
        x->r->transitions++;
        if (x->collect && happened && !violated && step[k].what == STEP_APP) classify(x, &job, &next, step[k].who);
        if (happened && memcmp(&next, &job, sizeof job) != 0) moves = true;
        if (violated) path_to(x, i, &step[k]);
        else if (happened && !x->lab.failed && states_add(&x->q, &next, i, step[k]) < 0) lab_fail(&x->lab, "no memory");
    }
}

static void conclude(struct exploration *x)
{
    struct search_result *r = x->r;
    (void)enough(x);
    r->states = x->q.count;
    r->made = x->lab.made;
    r->looked_up = x->lab.looked_up;
    if (r->violated) r->verdict = SEARCH_VIOLATED;
    if (x->lab.failed) {
        r->verdict = SEARCH_FAILED;
        snprintf(r->why, sizeof r->why, "%s", x->lab.why);
    }
}

static void explore(struct exploration *x)
{
    struct search_result *r = x->r;
    struct job first;
    uint64_t level = 1;
    job_first(&x->lab, &first);
    x->q.width = job_width(&x->lab);
    if (!x->lab.failed && states_add(&x->q, &first, 0, (struct job_step){0, 0, 0}) < 0) lab_fail(&x->lab, "no memory");
    for (uint64_t i = 0; i < x->q.count && !r->violated && !x->lab.failed; i++) {
        if (i == level) { /* all of one depth are done */
            r->depth++;
            level = x->q.count;
        }
        expand(x, i);
        if (i % PROGRESS == 0 && x->options->progress)
            x->options->progress(x->options->self, x->q.count, x->q.count - i, r->depth, x->q.bytes + lab_bytes(&x->lab));
        if ((i & 255) == 0 && enough(x)) {
            r->verdict = SEARCH_LIMIT;
            break;
        }
    }
    conclude(x);
}


/* ---- walks ------------------------------------------------------------------------------------------------------------ */

enum { WALK_STEPS = 5000 }; /* more than any small program takes */

static uint64_t next_random(uint64_t *x)
{
    uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The first of the steps, from `at` on and round, that changes something; it happens. Or `count`. */
static uint32_t take_one(struct exploration *x, struct job *job, const struct job_step *step, uint32_t count, uint32_t at)
{
    for (uint32_t tried = 0; tried < count && !x->r->violated && !x->lab.failed; tried++, at = (at + 1) % count) {
        struct job next = *job;
        bool happened;
        x->r->violated = job_take(&x->lab, &next, step[at], &happened);
        if (x->options->atomic && happened && !x->r->violated) x->r->violated = settle(&x->lab, &next);
        if (!x->r->violated && (!happened || memcmp(&next, job, sizeof next) == 0)) continue;
        x->r->transitions++;
        *job = next;
        return at;
    }
    return count;
}

/* One walk; its steps are in `taken`. Returns how many. */
static uint32_t walk(struct exploration *x, uint64_t seed, struct job_step taken[WALK_STEPS])
{
    struct job job;
    uint32_t n = 0;
    job_first(&x->lab, &job);
    while (!x->r->violated && !x->lab.failed) {
        struct job_step step[JOB_STEPS];
        struct job before = job;
        uint32_t failing, count = job_steps(&x->lab, &job, step, &failing);
        uint32_t at = count ? (uint32_t)(next_random(&seed) % count) : 0;
        bool failure = at >= count - failing;
        at = take_one(x, &job, step, failure ? count - failing : count, failure ? 0 : at);
        if (!x->r->violated && failure) {
            /* Only failures can happen: it is an end; else the failure that was chosen comes. */
            if (at == count - failing) x->r->violated = at_end(x, &before);
            job = before;
            at = failing && !x->r->violated ? take_one(x, &job, step, count, count - failing) : count;
        }
        if (at < count && n < WALK_STEPS) taken[n++] = step[at];
        else if (at < count) x->r->violated = VIOLATED_FOREVER;
        else break;
    }
    return n;
}

static void walks(struct exploration *x)
{
    struct search_result *r = x->r;
    struct job_step *taken = malloc(WALK_STEPS * sizeof *taken);
    if (taken == NULL) lab_fail(&x->lab, "no memory");
    for (uint64_t k = 0; k < x->options->walks && !r->violated && !x->lab.failed; k++) {
        uint32_t n = walk(x, x->options->seed + k, taken);
        if (n > r->depth) r->depth = n;
        if (r->violated) {
            r->path = taken;
            r->path_length = r->depth = n;
            taken = NULL;
        }
        if (k % 64 == 0 && x->options->progress)
            x->options->progress(x->options->self, k, x->options->walks - k, r->depth, lab_bytes(&x->lab));
        if (enough(x)) {
            r->verdict = SEARCH_LIMIT;
            break;
        }
    }
    free(taken);
    conclude(x);
}

/* points, barriers: see struct lab, if this is the program without a protocol; then ends are collected. */
static void run(const struct hark_scenario *s, const char *protocol, const struct search_options *options,
    struct intern *outcomes, uint8_t points, uint32_t barriers, struct search_result *r)
{
    struct exploration *x = calloc(1, sizeof *x);
    if (x == NULL || lab_open(&x->lab, s, protocol, r->why) < 0) {
        r->verdict = SEARCH_FAILED;
        if (x == NULL) snprintf(r->why, sizeof r->why, "no memory");
        free(x);
        return;
    }
    x->options = options;
    x->outcomes = outcomes;
    x->collect = points != 0;
    x->lab.points = points;
    x->lab.barriers = barriers;
    x->r = r;
    if (options->walks) walks(x);
    else explore(x);
    states_free(&x->q);
    lab_close(&x->lab);
    free(x);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many checkpoints a process makes at most; beyond a few more all are alike. */
static uint32_t most_points(const struct hark_scenario *s)
{
    uint32_t most = 0;
    for (uint32_t who = 0; who < s->ranks; who++) {
        uint32_t n = 0;
        for (const struct hark_op *op = s->op[who]; op->type; op++) n += op->type == HARK_OP_CHECKPOINT;
        if (n > most) most = n;
    }
    return most < 4 ? most : 4;
}

static struct search_result classified(const struct hark_scenario *s, const struct search_options *options,
    struct intern *outcomes)
{
    struct search_result r = {0};
    struct lab lab;
    double begin = now();
    if (lab_open(&lab, s, options->protocol, r.why) < 0) {
        r.verdict = SEARCH_FAILED;
        return r;
    }
    struct hark_scenario calm = *s;
    struct search_options quiet = {.most_states = options->most_states, .most_bytes = options->most_bytes};
    calm.fails = 0;
    calm.fifo = true; /* nobody puts messages in order there */
    /* The same content as under the protocol, so that ends can be compared. */
    calm.content = lab.history ? HARK_CONTENT_HISTORY : HARK_CONTENT_FIXED;
    uint8_t points = lab.protocol->rolls ? lab.protocol->rolls : HARK_ROLLS_ALL;
    lab_close(&lab);
    r.class = SEARCH_DETERMINISTIC;
    for (uint32_t barriers = 0; barriers < 1u << most_points(s) && r.verdict == SEARCH_OK; barriers++) {
        struct search_result one = {.class = r.class};
        run(&calm, "none", &quiet, outcomes, points, barriers, &one);
        free(r.path);
        r = one;
    }
    if (r.verdict == SEARCH_VIOLATED) r.verdict = SEARCH_UNFINISHED;
    r.outcomes = outcomes->count;
    r.seconds = now() - begin;
    return r;
}

struct search_result search_classify(const struct hark_scenario *s, const struct search_options *options)
{
    struct intern outcomes = {0};
    struct search_result r = classified(s, options, &outcomes);
    intern_free(&outcomes);
    return r;
}

struct search_result search(const struct hark_scenario *s, const struct search_options *options)
{
    struct intern outcomes = {0};
    double begin = now();
    struct search_result alone = classified(s, options, &outcomes), r = {0};
    if (alone.verdict != SEARCH_OK) {
        r = alone;
    } else {
        run(s, options->protocol, options, &outcomes, 0, 0, &r);
        r.outcomes = outcomes.count - (r.violated == VIOLATED_FINAL);
        r.class = alone.class;
        free(alone.path);
    }
    intern_free(&outcomes);
    r.seconds = now() - begin;
    return r;
}

/* ---- the way to a violation -------------------------------------------------------------------------------------------- */

static int tell(struct lab *lab, struct job *job, struct job_step step, struct hark_scenario *story, uint16_t *violated)
{
    char text[DESCRIBE_BYTES], transcript[TRANSCRIPT_BYTES];
    describe_step(lab, job, step, text);
    *violated = describe_take(lab, job, step, transcript);
    return hark_scenario_add(story, false, text) < 0 || hark_scenario_add(story, true, transcript) < 0 ? -1 : 0;
}

int search_story(const struct hark_scenario *s, const struct search_options *options, const struct search_result *result,
    struct hark_scenario *story)
{
    char error[HARK_SCENARIO_ERROR];
    const char *protocol = result->verdict == SEARCH_UNFINISHED ? "none" : options->protocol;
    struct lab lab;
    struct job job;
    struct job_step next;
    uint16_t violated = 0;
    *story = *s;
    story->schedule = NULL;
    story->schedule_lines = 0;
    if (protocol) snprintf(story->protocol, sizeof story->protocol, "%s", protocol);
    struct hark_scenario now = *story; /* the schedule grows in the other */
    if (result->verdict == SEARCH_UNFINISHED) now.fifo = story->fifo = true;
    if (lab_open(&lab, &now, protocol, error) < 0) return -1;
    job_first(&lab, &job);
    int status = 0;
    for (uint32_t k = 0; k < result->path_length && status == 0 && !violated && !lab.failed; k++) {
        status = tell(&lab, &job, result->path[k], story, &violated);
        while (status == 0 && options->atomic && !violated && !lab.failed && at_once(&lab, &job, &next))
            status = tell(&lab, &job, next, story, &violated);
    }
    if (lab.failed) status = -1;
    lab_close(&lab);
    return status;
}
