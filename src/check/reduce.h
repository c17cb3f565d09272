/* reduce.h: fewer states for the same answer: of steps that commute with whatever else may happen
 * to a process one order is enough.
 *
 * A step that leaves the process running, and that gives the same whether it is made before or
 * after anything else that may happen to the process meanwhile, is taken alone and at once. That it
 * commutes is not believed but checked, while the search goes on, with every step that the search
 * makes from there, and with those that this puts off in turn (the argument is in
 * docs/verification.md). Where it does not, the states in which it was relied on are expanded again
 * without it, if they are few; else the search begins again. So its ends and its verdict are those
 * of the search of everything.
 */
#ifndef HARK_CHECK_REDUCE_H
#define HARK_CHECK_REDUCE_H

#include "job.h"

enum { CALM = 255 };

#define MANY     UINT32_MAX /* states; they are not kept */
#define NO_STATE UINT32_MAX /* the state is none of the search */

struct commuting { /* the step leads from `a` to `b`, and is relied on to commute */
    uint32_t a, b, argument;
    uint8_t what;
    uint8_t relied; /* a search has taken it alone, after so many failures or more; CALM: it has not
                     */
    uint8_t from;   /* it has to commute with what happens after so many failures or more; CALM:
                       nobody needs it */
    uint8_t depth;  /* so many steps behind one that was relied on */
    uint8_t wrong; /* it does not up to that many failures, less one; 0: nothing known against it */
    uint32_t parents;   /* see struct link; 0: none */
    uint32_t reliances; /* struct reliance: the states of this search in which it was relied on; 0:
                           none */
    uint32_t times;     /* so many, or MANY */
    uint32_t next;      /* with the same b; 0: none */
};

struct link {
    uint32_t to, next;
};

struct reliance { /* on a step, in a state */
    uint32_t state, next;
};

struct reliance_log { /* what is to be kept; step, state, step, state... */
    uint32_t *at;
    uint64_t count, room;
};

struct reduction {
    struct lab *lab;
    struct commuting *step; /* from 1 */
    uint32_t steps, step_room, slots;
    uint32_t *slot;
    struct link *link; /* from 1 */
    uint32_t links, link_room;
    uint32_t *leads, leads_room; /* by local: the first of `step` with that b */
    uint16_t *used; /* by memo: the numbers of failures at which it was made, a bit each */
    uint32_t *used_next, used_room;        /* by memo: the next from the same local, + 1 */
    uint32_t *first_used, first_used_room; /* by local: memo + 1 */
    struct {
        uint32_t step, memo;
    } * todo;
    uint32_t todos, todo_room;
    struct reliance *reliance;                 /* from 1 */
    uint32_t reliances, reliance_room, spare;  /* spare: the first that is free again; 0: none */
    uint32_t state;                            /* that is expanded now; NO_STATE */
    struct reliance_log *log;                  /* of a lab that is frozen */
    uint32_t *doubtful, doubts, doubtful_room; /* states in which something was relied on that does
                                                  not hold */
    bool dirty; /* and in how many is not known: what was searched so far counts for nothing */
};

/* Of a lab that is frozen it is read only: what would be noted fails, but for reliances, which go
 * to its log. */
void reduction_open(struct reduction *r, struct lab *lab);
void reduction_close(struct reduction *r);
uint64_t reduction_bytes(const struct reduction *r);
/* A search begins: nothing is relied on; what was found not to commute stays. */
void reduction_begin(struct reduction *r);
/* What a frozen one has relied on. */
void reduction_take_log(struct reduction *r, const struct reliance_log *log);
/* The states that have to be expanded again, each once, in order; how many. The caller frees
 * *state. */
uint32_t reduction_doubtful(struct reduction *r, uint32_t **state);
/* The step that the job took last was one of a search, at so many failures. */
void reduction_used(struct reduction *r, uint32_t failures);
/* A step of this job that may be taken alone. False: there is none. */
bool reduction_next(struct reduction *r, const struct job *job, struct job_step *next);

#endif
