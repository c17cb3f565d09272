/* job.h: a whole job as a row of numbers: its processes, the frames on their way to each, the
 * failure service. And all that can happen to it: every frame, announcement, store, restart and
 * failure is a step of its own.
 */
#ifndef HARK_CHECK_JOB_H
#define HARK_CHECK_JOB_H

#include "local.h"

enum { JOB_STEPS = 512, JOB_WIDTH = 2 * LOCAL_WHO + 1 };

/* Of a lab with `who` processes: who locals, who parts with lists of frames (0: none), the part of
 * the service. */
struct job {
    uint32_t at[JOB_WIDTH];
};

struct service {     /* a part: the failure service, and what the search remembers beside it */
    uint32_t record; /* what is durable of it, a part; 0: it never fails in this scenario */
    uint32_t core;   /* its packed state, a part; from `re` to `decided` it says this: */
    uint32_t re, down;
    uint32_t mapped; /* the wave that has brought the next map of clusters into force; 0: none */
    uint32_t inc[LOCAL_WHO];
    uint64_t from[HARK_SCENARIO_RANKS];  /* the checkpoint that each goes back to, or last went back
                                            to */
    uint64_t again[HARK_SCENARIO_RANKS]; /* LINE: undone checkpoints, by number: a bit each from 1
                                          */
    uint64_t wave[HARK_SCENARIO_RANKS];  /* decided, by leader */
    uint64_t before[HARK_SCENARIO_RANKS]; /* the one before, that is kept; 0: none, or the beginning
                                           */
    uint8_t leader[HARK_SCENARIO_RANKS];  /* the lowest rank of those whose checkpoints are one */
    uint8_t decided[HARK_SCENARIO_RANKS]; /* how many were, up to the generations kept: then the
                                             beginning is none of them */
    uint32_t failures;                    /* how many have happened */
    uint32_t back[HARK_SCENARIO_RANKS];   /* the epoch in which each last went back */
    uint32_t said[LOCAL_ANNOUNCEMENTS];   /* announcements, parts, by epoch */
};

struct job_step {
    uint8_t what; /* enum local_step */
    uint8_t who; /* SERVICE: whose fact it has made durable before and not answered, if index is not
                    0 */
    uint16_t index; /* FRAME: in the list; APP: whom a receive takes from; CRASH: which failure of
                       the scenario; STORED: 1: failed */
};

static inline uint32_t job_width(const struct lab *lab)
{
    return 2 * lab->who + 1;
}

void job_first(struct lab *lab, struct job *job);
/* All that can happen; returns how many, and how many of them are failures, which come last. */
uint32_t job_steps(
    struct lab *lab, const struct job *job, struct job_step step[JOB_STEPS], uint32_t *failures);
/* With atomic control: what happens at once, the first step that is no application's, no
 * application message's, no restart and no failure. False: nothing does. */
bool job_at_once(struct lab *lab, const struct job *job, struct job_step *next);
/* The step happens. The number of the violation that this is, or 0. *happened: false if the core
 * said WAIT. */
uint16_t job_take(struct lab *lab, struct job *job, struct job_step step, bool *happened);
/* Can nothing happen any more but failures, and operations that their cores let wait? */
bool job_over(struct lab *lab, const struct job *job);
/* The job is over: what is wrong, or 0. *signature: part that says what everybody has delivered and
 * sent. */
uint16_t job_final(struct lab *lab, const struct job *job, uint32_t *signature);
/* The argument that local_take() gets for it. */
uint32_t job_argument(struct lab *lab, const struct job *job, struct job_step step);
/* Does a message that the process could take depend on one that is to be sent again first, by what
 * it depended on when it was sent? What has executed otherwise since is not looked at. */
bool job_past_unsent(struct lab *lab, const struct job *job, uint32_t who, uint32_t frame);
/* Does the network keep them in order? */
bool job_in_order(const struct lab *lab, const struct frame *a, const struct frame *b);
const struct service *job_service(const struct lab *lab, const struct job *job);
/* The k-th frame on its way to `who`; part number, 0 behind the last. */
uint32_t job_frame(const struct lab *lab, const struct job *job, uint32_t who, uint32_t k);

#endif
