/* view.h: pictures of what happened. */
#ifndef HARK_VIEW_VIEW_H
#define HARK_VIEW_VIEW_H

#include <stdio.h>

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: the whole trace, or, when it has too many messages for one picture, a window around its
 * first failure (its beginning, if there is none). */
struct hark_diagram_options {
    bool window;       /* from_ms .. to_ms is what to show */
    double from_ms;    /* ms since the first record, >= 0 */
    double to_ms;      /* > from_ms; INFINITY: to the end */
    uint32_t messages; /* how many a picture may hold before a window is chosen; 0: 300, or 40 a process */
    uint32_t width;    /* the most that the picture may be wide, px, >= 600; 0: 3600 */
};

/* Draws the space-time diagram of *trace as an SVG document to `out`: a line for each process, clusters
 * together, time to the right. The horizontal scale keeps the order of all events, gives every event
 * room, and shortens idle time; the axis tells the real one. Above 2,500 messages in the window arrows of
 * one pair and one moment are drawn as one; above 64 processes the clusters that rolled back come first
 * and the others are left out; the picture says so.
 *
 * *trace is as hark_trace_read gives it (records by time). Returns HARK_TRACE_OK, or with one line in
 * `error`: HARK_TRACE_EINVAL (the options are out of range, the trace is empty or nothing lies in the
 * window), HARK_TRACE_ESYSTEM (no memory, or writing failed). */
int hark_view_diagram(
    const struct hark_trace *trace, const struct hark_diagram_options *o, FILE *out, char error[HARK_TRACE_ERROR]);

#ifdef __cplusplus
}
#endif
#endif
