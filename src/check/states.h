/* states.h: the states that were met, in the order in which they were, each with its predecessor and the step from there. A
 * search may have several of these, one for each part of the hashes. */
#ifndef HARK_CHECK_STATES_H
#define HARK_CHECK_STATES_H

#include "job.h"

/* Rows are kept in pieces: one of so many (logarithms), others each as large as all before it, up to the largest. */
enum { STATES_FIRST = 10, STATES_LARGEST = 19, STATES_PLACES = 12 };

struct states_bucket { /* of a table of hashes: a line of the cache */
    uint8_t tag[STATES_PLACES]; /* some bits of the hash; 0: this place and those behind it are free */
    uint32_t spare;
    uint32_t number[STATES_PLACES];
};

struct states {
    uint32_t width, most;    /* most: there are never more */
    uint32_t **row;          /* in pieces: width numbers, the predecessor, the step */
    struct states_bucket *bucket;
    uint64_t count, buckets;
    uint32_t pieces;
};

static inline uint32_t *row_of(const struct states *q, uint64_t i)
{
    uint64_t piece = 0, at = i;
    if (i >> STATES_LARGEST) {
        piece = (i >> STATES_LARGEST) + STATES_LARGEST - STATES_FIRST;
        at = i & ((UINT64_C(1) << STATES_LARGEST) - 1);
    } else if (i >> STATES_FIRST) {
        uint32_t log = 31 - (uint32_t)__builtin_clz((uint32_t)i);
        piece = log - STATES_FIRST + 1;
        at = i ^ UINT64_C(1) << log;
    }
    return q->row[piece] + at * (q->width + 2);
}

/* Of so many parts that a search is cut into. */
static inline uint32_t states_part(uint64_t hash, uint32_t parts)
{
    return (uint32_t)((hash >> 32) * parts >> 32);
}

/* Empty, for rows of `width` numbers, as one of so many parts. */
void states_open(struct states *q, uint32_t width, uint32_t parts);
/* Memory for them. */
uint64_t states_bytes(const struct states *q);
uint64_t states_hash(const struct states *q, const uint32_t *row);
/* Something with that hash will be looked for: what is looked at first, and then the row, are fetched from memory. With millions of
 * states a search does little else than to wait for them. */
void states_fetch(const struct states *q, uint64_t hash);
void states_fetch_row(const struct states *q, uint64_t hash);
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
