/* picture.h: a schedule as a space-time diagram: its steps as records of a trace, a millisecond
 * each, with what every frame carries. */
#ifndef HARK_CHECK_PICTURE_H
#define HARK_CHECK_PICTURE_H

#include "../view/view.h"
#include "job.h"

enum { PICTURE_WIDTH = 1200 /* px: a page */ };
#define PICTURE_GONE UINT32_MAX /* transmitted or suppressed */

struct picture_flight {
    uint32_t part;   /* the frame */
    uint64_t record; /* its TRANSMIT */
};

struct picture {
    struct hark_trace trace;
    uint64_t room, step;
    struct hark_diagram_word *word; /* of each record */
    struct hark_diagram_note *note;
    struct picture_flight *flight;                  /* frames on their way */
    uint32_t note_room, flights, flight_room, last; /* last: whose step was the last */
    struct hark_diagram_schedule schedule;
    uint32_t cluster[LOCAL_WHO];
    char name[LOCAL_WHO][16], *program[LOCAL_WHO];
    const char *names[LOCAL_WHO];
    char title[128], summary[256], violated[160];
    /* Of what the present incarnation of each has posted to each: 0: nothing, PICTURE_GONE, or it
     * waits, 1 + its note. */
    uint32_t fate[HARK_SCENARIO_RANKS][HARK_SCENARIO_RANKS][HARK_SCENARIO_SSN + 1];
    struct hark_trace_record arrived; /* the frame whose fate the next effects say */
    struct lab *lab;
    uint32_t inc; /* of the process that moves */
    bool failed;  /* no memory */
};

/* All processes begin. */
void picture_begin(struct picture *p, struct lab *lab, const struct job *job);
/* The step that is about to be taken in this state. */
void picture_step(struct picture *p, const struct job *job, struct job_step step);
/* After the last step: what is violated (0: nothing), and whether that is because nothing can
 * happen any more. */
void picture_end(struct picture *p, const struct job *job, uint16_t violated, bool over);
/* Draws it. -1: error says why. */
int picture_draw(struct picture *p, FILE *out, char error[HARK_TRACE_ERROR]);
void picture_free(struct picture *p);

#endif
