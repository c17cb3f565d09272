/* view.h: pictures of what happened. */
#ifndef HARK_VIEW_VIEW_H
#define HARK_VIEW_VIEW_H

#include <stdio.h>

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: the whole trace; when it has too many messages for one picture, those of a window
 * around its first failure (its beginning, if there is none), and beside it the rest without
 * messages. */
struct hark_diagram_options {
    bool window;       /* from_ms .. to_ms is what to show */
    double from_ms;    /* ms since the first record, >= 0 */
    double to_ms;      /* > from_ms; INFINITY: to the end */
    uint32_t messages; /* how many a picture may hold before a window is chosen; 0: 300, or 40 a
                          process */
    uint32_t width;    /* the most that the picture may be wide, px, >= 600; 0: 3600 */
    const struct hark_diagram_schedule *schedule; /* NULL: a run; else the whole is drawn, and
                                                     `window` does not count */
};

/* ---- schedules ------------------------------------------------------------------------------- */

/* What a trace does not say of one record of a schedule. */
struct hark_diagram_word {
    uint64_t got; /* of a control frame (TRANSMIT, ssn 0): when it arrived, ns; UINT64_MAX: it did
                     not */
    /* Of a transmission: what it carries, of which parts behind ; are left out where there is no
     * room; and in a word. Empty: nothing. */
    char text[128], brief[12];
};

enum hark_diagram_note_kind {
    HARK_NOTE_STEP, /* what a process did, in a few letters below its line */
    HARK_NOTE_TOLD, /* it heard of a failure: a ring */
    HARK_NOTE_HELD, /* a message was posted, and did not go until `until` */
    HARK_NOTE_NONE,
    HARK_NOTE_STOP /* where the violation is, and why there, if there is more to say */
};
struct hark_diagram_note {
    uint64_t time, until;
    uint32_t rank;
    uint8_t kind; /* enum hark_diagram_note_kind */
    char text[52];
};

/* A run that was made step by step: control frames are arrows, every step has its column, and
 * processes have names. Nothing is copied. */
struct hark_diagram_schedule {
    const char *title, *about, *summary;      /* lines above the picture */
    const char *const *name, *const *program; /* of each rank */
    bool plain; /* nothing depends on who is in whose cluster: a message is a message */
    const struct hark_diagram_word *word; /* of each record of the trace */
    const struct hark_diagram_note *note;
    uint32_t notes;
    uint64_t step, end;   /* ns: of a step; when the picture ends */
    const char *violated; /* what is violated at the end; NULL: nothing */
    uint64_t violated_at;
};

/* Draws the space-time diagram of *trace as an SVG document to `out`: a line for each process,
 * clusters together, time to the right. The horizontal scale keeps the order of all events, gives
 * every event room, and shortens idle time; the axis tells the real one. Above 2,500 messages in
 * the window arrows of one pair and one moment are drawn as one; above 64 processes the clusters
 * that rolled back come first and the others are left out; the picture says so. Of a schedule every
 * step has a column of its own, all as wide.
 *
 * *trace is as hark_trace_read gives it (records by time). Returns HARK_TRACE_OK, or with one line
 * in `error`: HARK_TRACE_EINVAL (the options are out of range, the trace is empty or nothing lies
 * in the window), HARK_TRACE_ESYSTEM (no memory, or writing failed). */
int hark_view_diagram(const struct hark_trace *trace, const struct hark_diagram_options *o,
    FILE *out, char error[HARK_TRACE_ERROR]);

#ifdef __cplusplus
}
#endif
#endif
