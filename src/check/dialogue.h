/* dialogue.h: a schedule as a dialogue: who says what to whom, and why, in sentences for people who
 * read it for the first time. The transcript (describe.h) has the same in the words of hark.h. */
#ifndef HARK_CHECK_DIALOGUE_H
#define HARK_CHECK_DIALOGUE_H

#include <stdio.h>

#include "job.h"

struct dialogue {
    struct lab *lab;
    FILE *out;
    uint64_t step;
    uint64_t explained; /* types of frames whose meaning has been written, a bit each */
    bool begun;         /* the event of the step itself has been seen */
    bool left;          /* a message has left, or need not leave, in this step */
    char arrived[64];   /* the frame that the next effects are about */
};

/* Title, clusters and programs. */
void dialogue_begin(struct dialogue *d, struct lab *lab, FILE *out);
/* The step that is about to be taken in this state. */
void dialogue_step(struct dialogue *d, const struct job *job, struct job_step step);
/* Behind the last step: what is violated (0: nothing), and whether nothing but failures can happen
 * any more. */
void dialogue_end(const struct dialogue *d, uint16_t violated, bool over);

#endif
