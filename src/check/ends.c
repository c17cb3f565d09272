/* ends.c: from every state that was met, does a way without further failures lead to an end? Else
 * something goes on for ever (I8). */
#include "search_parts.h"

#include <stdlib.h>
#include <string.h>

enum { ENDS_STATES = 300000 }; /* of larger searches it would take as long again as the search */

/* Its number among all; or -1, if it was not met. */
static int64_t number_of(const struct exploration *x, const struct job *job)
{
    uint32_t part = states_part(x->q, job->at);
    int64_t k = states_find(&x->q[part], job);
    return k < 0 ? -1 : k * x->parts + part;
}

/* It is an end, or a step leads from it to a state from which an end can be reached. */
static bool leads(struct exploration *x, uint64_t i, const uint8_t *reached)
{
    struct job_step step[JOB_STEPS];
    struct job job = state_job(x, i);
    uint32_t failing;
    bool moves = false;
    uint32_t n = job_steps(&x->lab, &job, step, &failing);
    for (uint32_t k = 0; k < n - failing && !x->lab.failed; k++) {
        struct job next = job;
        bool happened;
        (void)take_step(x, &next, step[k], &happened);
        if (!happened || memcmp(&next, &job, sizeof job) == 0) continue;
        int64_t to = number_of(x, &next);
        if (to >= 0 && reached[to]) return true;
        moves = true;
    }
    return !moves;
}

int64_t endless(struct exploration *x)
{
    uint64_t most = 0, n = states_of(x);
    int64_t found = -1;
    for (uint32_t p = 0; p < x->parts; p++)
        if (x->q[p].count * x->parts > most) most = x->q[p].count * x->parts;
    if (n > ENDS_STATES) return -1;
    uint8_t *reached = calloc(most, 1);
    if (reached == NULL) {
        lab_starve(&x->lab);
        return -1;
    }
    /* Steps lead from earlier states to later ones, most of them; so a few rounds do. */
    for (bool more = true; more && !x->lab.failed && !stopped(x);) {
        more = false;
        for (uint64_t i = most; i-- > 0 && !stopped(x);) {
            if (reached[i] || i / x->parts >= x->q[i % x->parts].count || !leads(x, i, reached))
                continue;
            reached[i] = 1;
            more = true;
        }
    }
    for (uint64_t i = 0; i < most && found < 0 && !x->lab.failed && !stopped(x); i++)
        if (!reached[i] && i / x->parts < x->q[i % x->parts].count) found = (int64_t)i;
    free(reached);
    if (stopped(x)) (void)enough(x); /* it was not looked at everywhere */
    return found;
}
