/* states.h: the states that were met, in the order in which they were, each with its predecessor
 * and the step from there. A search may have several of these, one for each part of the hashes.
 *
 * A state is a row of numbers, and the two halves of it, processes and what is between them, are
 * each met in very many states. So each half is kept once, and a state is the numbers of its two.
 */
#ifndef HARK_CHECK_STATES_H
#define HARK_CHECK_STATES_H

#include "table.h"

struct states {
    uint32_t from[3], parts;   /* the halves: numbers from[0] .. from[1] - 1 of a row, from[1] ..
                                  from[2] - 1 */
    struct table half[2], all; /* all: beside the numbers of the halves the predecessor and the step
                                */
    uint64_t count;
};

struct states_new {
    const uint32_t *row;
    uint32_t from;
    struct job_step step;
};

/* Of so many parts that a search is cut into. */
static inline uint32_t states_part(const struct states *q, const uint32_t *row)
{
    return q->parts == 1 ? 0 : (uint32_t)((table_hash(row, q->from[2]) >> 32) * q->parts >> 32);
}

/* Empty, for rows of `width` numbers of which so many are its first half, as one of so many parts.
 */
void states_open(struct states *q, uint32_t width, uint32_t half, uint32_t parts);
/* Memory for them. */
uint64_t states_bytes(const struct states *q);
uint64_t states_growing(const struct states *q); /* see table.h */
/* Those that are new, in their order. All are looked for together: with millions of states a search
 * does little but wait for memory. -1: no memory. */
int states_put(struct states *q, const struct states_new *list, uint32_t count);
int states_add(struct states *q, const struct job *job, uint32_t from, struct job_step step);
/* State i, its predecessor, the step from there. */
void states_get(const struct states *q, uint64_t i, uint32_t *row);
uint32_t states_before(const struct states *q, uint64_t i);
struct job_step states_step(const struct states *q, uint64_t i);
/* It will be got. */
void states_fetch(const struct states *q, uint64_t i);
/* Where the job is; -1: it is not there. */
int64_t states_find(const struct states *q, const struct job *job);
/* Forgets all. */
void states_free(struct states *q);

#endif
