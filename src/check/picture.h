/* picture.h: a schedule as a space-time diagram: its steps as records of a trace, a millisecond each. */
#ifndef HARK_CHECK_PICTURE_H
#define HARK_CHECK_PICTURE_H

#include "../view/view.h"
#include "job.h"

struct picture {
    struct hark_trace trace;
    uint64_t room, step;
    uint32_t cluster[HARK_SCENARIO_RANKS];
    struct hark_trace_record arrived; /* the frame whose fate the next effects say */
    struct lab *lab;
    uint32_t inc;  /* of the process that moves */
    bool failed;   /* no memory */
};

/* All processes begin. */
void picture_begin(struct picture *p, struct lab *lab, const struct job *job);
/* The step that is about to be taken in this state. */
void picture_step(struct picture *p, const struct job *job, struct job_step step);
/* Draws it. -1: error says why. */
int picture_draw(struct picture *p, FILE *out, char error[HARK_TRACE_ERROR]);
void picture_free(struct picture *p);

#endif
