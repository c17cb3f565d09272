/* search_parts.h: one exploration, for the files that make up search(). */
#ifndef HARK_CHECK_SEARCH_PARTS_H
#define HARK_CHECK_SEARCH_PARTS_H

#include "reduce.h"
#include "search.h"
#include "states.h"

enum { FOUND_MANY = 16, OFTEN = 255 /* a mask of numbers of states */ };

struct exploration {
    struct lab lab;
    struct states *q; /* as many as there are threads, each with its part of the hashes */
    uint32_t parts;
    uint64_t first;       /* the state that it begins with */
    uint64_t found_bytes; /* parallel.c: memory for what is not among them yet */
    const struct search_options *options;
    struct intern *outcomes; /* signatures of ends, as bytes that mean the same in every lab */
    bool collect; /* they are gathered; else an end that is not among them is a violation */
    bool reduce;
    bool repaired; /* states have been expanded again */
    struct reduction reduction;
    struct states ends;                       /* SEARCH_COMPARED: the states in which it ended */
    struct job found[FOUND_MANY + JOB_STEPS]; /* where states that were expanded lead, and it is not
                                                 known yet whether that is new */
    struct states_new new[FOUND_MANY + JOB_STEPS];
    uint32_t finds;
    struct search_result *r;
    struct seen { /* collect: at the n-th send and the n-th delivery of each process */
        uint32_t to, before, delivery; /* 1 + receiver; parts: what was delivered before, what is
                                          delivered */
    } seen[HARK_SCENARIO_RANKS][HARK_SCENARIO_SENDS + 1];
};

/* States are numbered over all parts: row k of part p is state k * parts + p. */
static inline const struct states *state_part(const struct exploration *x, uint64_t i)
{
    return &x->q[i % x->parts];
}

static inline struct job state_job(const struct exploration *x, uint64_t i)
{
    struct job job = {{0}};
    states_get(state_part(x, i), i / x->parts, job.at);
    return job;
}

/* It begins, or begins again: the first state is there. */
void begin_search(struct exploration *x);
/* All that happens at once. The violation, or 0. */
uint16_t settle(struct lab *lab, struct job *job);
/* The job is over: its ends are gathered, or compared with those gathered before. The violation, or
 * 0. */
uint16_t at_end(struct exploration *x, const struct job *job);
/* The step, and all that comes with it at once. The violation, or 0. */
uint16_t take_step(struct exploration *x, struct job *job, struct job_step step, bool *happened);
/* State i will be expanded, and states_fetch() has been told: where its processes are. */
void state_fetch(const struct exploration *x, uint64_t i);
/* Everything that can happen in state i. Where that leads is found, and not added yet. */
void expand(struct exploration *x, uint64_t i);
void add_found(struct exploration *x);
/* The result's path is that to state `i`, and one step more if there is one. */
void path_to(struct exploration *x, uint64_t i, const struct job_step *last);
/* What was searched rests on steps that were found not to commute, and it is time to begin again;
 * *noticed begins as 0. */
bool in_vain(struct exploration *x, uint64_t *noticed);
uint64_t states_of(const struct exploration *x);
/* Memory for all of it. */
uint64_t bytes_of(const struct exploration *x);
/* It was told to stop. */
bool stopped(const struct exploration *x);
/* A limit is reached, or it was told to stop: the verdict says so. */
bool enough(struct exploration *x);
/* For whoever watches. */
void show_progress(struct exploration *x, uint64_t done, uint64_t waiting, bool walks);
/* If not even the beginning has room: it failed, for that. */
void refuse_little(struct exploration *x);
/* Figures and verdict go to x->r. */
void conclude(struct exploration *x);
/* parallel.c: from the beginning on, everything, with a thread for each part of the states. */
void explore_parallel(struct exploration *x);
/* ends.c: the number of a state from which no end can be reached any more; -1: there is none, or
 * there were too many to look, or it was told to stop, which the verdict says. */
int64_t endless(struct exploration *x);
/* The same program, but at only these checkpoint calls, a bit each from everybody's first, a
 * checkpoint is due: after a failure one may be made later than without. In *made, which is
 * returned. */
const struct hark_scenario *search_due_only(
    const struct hark_scenario *s, uint32_t calls, struct hark_scenario *made);
/* walk.c: as many walks as the options say. */
void walks(struct exploration *x);

#endif
