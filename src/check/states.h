/* states.h: the states that were met, in the order in which they were, each with its predecessor and the step from there. A
 * search may have several of these, one for each part of the hashes. */
#ifndef HARK_CHECK_STATES_H
#define HARK_CHECK_STATES_H

#include "job.h"

struct states {
    uint32_t width, most;    /* most: there are never more */
    uint32_t piece;          /* the logarithm of how many rows are one piece */
    uint32_t **row;          /* in pieces: width numbers, the predecessor, the step */
    uint32_t *slot;          /* number + 1 */
    uint64_t count, slots, bytes;
    uint32_t pieces;
};

static inline uint32_t *row_of(const struct states *q, uint64_t i)
{
    return q->row[i >> q->piece] + (i & ((UINT64_C(1) << q->piece) - 1)) * (q->width + 2);
}

/* Of so many parts that a search is cut into. */
static inline uint32_t states_part(uint64_t hash, uint32_t parts)
{
    return (uint32_t)((hash >> 32) * parts >> 32);
}

/* Empty, for rows of `width` numbers, as one of so many parts. */
void states_open(struct states *q, uint32_t width, uint32_t parts);
uint64_t states_hash(const struct states *q, const uint32_t *row);
/* A row and its hash. 1: new, 0: known, -1: no memory. */
int states_put(struct states *q, const uint32_t *row, uint64_t hash, uint32_t from, struct job_step step);
int states_add(struct states *q, const struct job *job, uint64_t from, struct job_step step);
/* Where the row is; -1: it is not there. */
int64_t states_find(const struct states *q, const uint32_t *row, uint64_t hash);
/* Is this job among them? */
bool states_have(const struct states *q, const struct job *job);
/* Forgets all. */
void states_free(struct states *q);

#endif
