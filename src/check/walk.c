/* walk.c: walks by chance, instead of a search of everything. */
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

void walks(struct exploration *x)
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
