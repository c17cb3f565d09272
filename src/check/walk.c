/* walk.c: walks by chance, instead of a search of everything. */
#include "processes.h"
#include "search_parts.h"

#include <stdlib.h>
#include <string.h>

enum { WALK_STEPS = 5000 }; /* more than any small program takes */

static uint64_t next_random(uint64_t *x)
{
    uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The first of the steps, from `at` on and round, that changes something; it happens. Or `count`.
 */
static uint32_t take_one(struct exploration *x, struct job *job, const struct job_step *step,
    uint32_t count, uint32_t at)
{
    for (uint32_t tried = 0; tried < count && !x->r->violated && !x->lab.failed;
         tried++, at = (at + 1) % count) {
        struct job next = *job;
        bool happened;
        x->r->violated = job_take(&x->lab, &next, step[at], &happened);
        if (x->options->atomic && happened && !x->r->violated)
            x->r->violated = settle(&x->lab, &next);
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
            at = failing && !x->r->violated ? take_one(x, &job, step, count, count - failing)
                                            : count;
        }
        if (at < count && n < WALK_STEPS) taken[n++] = step[at];
        else if (at < count) x->r->violated = VIOLATED_FOREVER;
        else break;
    }
    return n;
}

struct walked { /* by one process */
    struct search_result result;
    _Atomic uint64_t violated; /* 1 + the number of the walk that was */
    _Atomic uint64_t done, bytes;
    struct job_step taken[WALK_STEPS];
};

/* The first of all walks that is known to be violated, or the number of all. */
static uint64_t first_violated(const struct exploration *x, struct walked *all, uint64_t processes)
{
    uint64_t first = x->options->walks;
    for (uint64_t i = 0; i < processes; i++)
        if (all[i].violated && all[i].violated - 1 < first) first = all[i].violated - 1;
    return first;
}

/* What all have done; the first of them speaks for all. */
static void tell_walks(struct exploration *x, struct walked *all, uint32_t processes)
{
    const struct search_options *o = x->options;
    struct search_progress now = {.depth = x->r->depth, .walks = true};
    for (uint32_t i = 0; i < processes; i++) {
        now.done += all[i].done;
        now.bytes += all[i].bytes;
    }
    now.waiting = o->walks - now.done;
    if (o->progress) o->progress(o->self, &now);
}

/* Every n-th walk of n processes, up to the first that is violated, whoever made it: that is the
 * one that is told of. */
static void walk_share(
    struct exploration *x, struct walked *all, uint32_t number, uint32_t processes)
{
    struct search_result *r = x->r;
    struct walked *mine = &all[number];
    struct job job;
    job_first(&x->lab, &job); /* which is what it takes at least */
    for (uint64_t k = number; k < first_violated(x, all, processes) && !x->lab.failed && !enough(x);
         k += processes) {
        const uint64_t ends = r->finals;
        uint32_t n = walk(x, x->options->seed + k, mine->taken);
        if (r->finals > ends) r->finals = ends + 1; /* a failure may lead on from an end */
        if (n > r->depth) r->depth = n;
        if (r->violated) {
            r->path_length = r->depth = n;
            mine->violated = 1 + k;
        }
        mine->done++;
        mine->bytes = lab_bytes(&x->lab);
        if (number == 0) tell_walks(x, all, processes);
    }
    conclude(x);
    refuse_little(x);
    mine->result = *r;
}

struct sharing {
    struct exploration *x;
    uint32_t processes;
};

static void walk_process(void *self, uint32_t number, void *shared)
{
    struct sharing *s = self;
    struct search_options options = *s->x->options;
    if (options.most_bytes) options.most_bytes = options.most_bytes / s->processes + 1;
    s->x->options = &options;
    walk_share(s->x, shared, number, s->processes);
}

/* What all of them came to. */
static void sum(struct search_result *r, const struct walked *all, uint32_t processes)
{
    const struct walked *first = NULL;
    struct search_result s = {.class = r->class};
    for (uint32_t i = 0; i < processes; i++) {
        const struct search_result *one = &all[i].result;
        s.transitions += one->transitions;
        s.finals += one->finals;
        s.bytes += one->bytes;
        s.made += one->made;
        s.looked_up += one->looked_up;
        if (one->depth > s.depth) s.depth = one->depth;
        if (one->verdict > s.verdict) {
            s.verdict = one->verdict;
            s.limit = one->limit;
            s.least = one->least * processes;
            memcpy(s.why, one->why, sizeof s.why);
        }
        if (all[i].violated && (first == NULL || all[i].violated < first->violated))
            first = &all[i];
    }
    *r = s;
    if (first == NULL || first->result.verdict != SEARCH_VIOLATED) return;
    r->verdict = SEARCH_VIOLATED;
    r->violated = first->result.violated;
    r->path_length = r->depth = first->result.path_length;
    r->path = malloc((r->path_length + 1) * sizeof *r->path);
    if (r->path) memcpy(r->path, first->taken, r->path_length * sizeof *r->path);
}

void walks(struct exploration *x)
{
    uint64_t walks = x->options->walks;
    struct sharing s = {x, walks < x->options->jobs ? (uint32_t)walks : x->options->jobs};
    char error[PROCESSES_ERROR] = "no memory";
    struct walked *all;
    if (s.processes < 2) {
        s.processes = 1;
        all = calloc(1, sizeof *all);
        if (all) walk_share(x, all, 0, 1);
    } else {
        all = processes_run(s.processes, s.processes * sizeof *all, walk_process, &s, error);
    }
    if (all) {
        sum(x->r, all, s.processes);
    } else {
        lab_fail(&x->lab, error);
        conclude(x);
    }
    if (s.processes == 1) free(all);
    else if (all) processes_free(all, s.processes * sizeof *all);
}
