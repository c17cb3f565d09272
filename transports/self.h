/* self.h: frames of a process to itself. They touch no network: poll() hands them up. */
#ifndef HARK_TRANSPORTS_SELF_H
#define HARK_TRANSPORTS_SELF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hark/transport.h"

struct self_frame {
    struct self_frame *next;
    uint32_t header;
    uint64_t length;
    uint8_t bytes[];
};

struct self { /* all zero: there are none */
    struct self_frame *first, *last;
    uint64_t bytes;
    bool stalled; /* send() has answered HARK_T_AGAIN, and was not called since */
};

/* Keeps a copy of the frame, if no more than `room` bytes are kept then, or it is the only one.
 * HARK_T_OK, HARK_T_AGAIN; HARK_T_ESYSTEM: there is no memory. */
static inline int self_send(struct self *s, const struct hark_outgoing *o, uint64_t length,
    uint64_t room, struct hark_transport_figures *figures)
{
    const uint64_t total = o->header.length + length;
    s->stalled = s->first && s->bytes + total > room;
    if (s->stalled) return HARK_T_AGAIN;
    struct self_frame *frame = malloc(sizeof *frame + (size_t)total);
    if (frame == NULL) return HARK_T_ESYSTEM;
    frame->next = NULL;
    frame->header = o->header.length;
    frame->length = length;
    memcpy(frame->bytes, o->header.at, o->header.length);
    uint8_t *at = frame->bytes + o->header.length;
    for (int i = 0; i < 3; i++) {
        if (o->part[i].length > 0) memcpy(at, o->part[i].at, (size_t)o->part[i].length);
        at += o->part[i].length;
    }
    if (s->first) s->last->next = frame;
    else s->first = frame;
    s->last = frame;
    s->bytes += total;
    figures->frames_out++;
    figures->bytes_out += total;
    return HARK_T_OK;
}

static inline struct self_frame *self_take(struct self *s)
{
    struct self_frame *frame = s->first;
    s->first = frame->next;
    s->bytes -= frame->header + frame->length;
    return frame;
}

/* Hands up those that are kept now, as frames of that rank and incarnation; not those that are sent
 * meanwhile. How many. */
static inline int self_receive(struct self *s, const struct hark_sink *sink, uint32_t rank,
    uint32_t inc, struct hark_transport_figures *figures)
{
    int count = 0, waiting = 0;
    for (const struct self_frame *frame = s->first; frame; frame = frame->next) waiting++;
    for (; count < waiting; count++) {
        struct self_frame *frame = self_take(s);
        const struct hark_frame f = {
            rank, inc, {frame->bytes, frame->header}, frame->length, false};
        figures->frames_in++;
        figures->bytes_in += frame->header + frame->length;
        sink->arrived(sink->self, &f, frame->bytes + frame->header);
        free(frame);
    }
    return count;
}

static inline void self_free(struct self *s)
{
    while (s->first) free(self_take(s));
}

#endif
