/* states.h: the states that were met, in the order in which they were, each with its predecessor and the step from there. */
#ifndef HARK_CHECK_STATES_H
#define HARK_CHECK_STATES_H

#include "job.h"

enum { STATES_PIECE = 1 << 16 };

struct states {
    uint32_t width;
    uint32_t **row;          /* in pieces of STATES_PIECE rows: width numbers, the predecessor, the step */
    uint32_t *slot;          /* number + 1 */
    uint64_t count, slots, bytes;
    uint32_t pieces;
};

static inline uint32_t *row_of(const struct states *q, uint64_t i)
{
    return q->row[i / STATES_PIECE] + (i % STATES_PIECE) * (q->width + 2);
}

/* 1: new, 0: known, -1: no memory. */
int states_add(struct states *q, const struct job *job, uint64_t from, struct job_step step);
/* Is this job among them? */
bool states_have(const struct states *q, const struct job *job);
/* Forgets all. */
void states_free(struct states *q);

#endif
