/* self.c: frames of a process to itself. They touch no network; poll() hands them up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

int hark_fabric_self_send(struct end *e, const struct hark_outgoing *o, uint64_t length)
{
    uint64_t total = o->header.length + length;
    e->self_stalled = false;
    if (o->inc != e->inc) return HARK_T_EGONE;
    if (e->self && e->self_bytes + total > e->window) {
        e->self_stalled = true;
        return HARK_T_AGAIN;
    }
    struct self_frame *frame = malloc(sizeof *frame + (size_t)total);
    if (!frame) return hark_fabric_failed(e, "cannot keep a frame", ENOMEM);
    frame->next = NULL;
    frame->header = o->header.length;
    frame->length = length;
    memcpy(frame->bytes, o->header.at, o->header.length);
    uint8_t *at = frame->bytes + o->header.length;
    for (int i = 0; i < 3; i++) {
        if (o->part[i].length > 0) memcpy(at, o->part[i].at, (size_t)o->part[i].length);
        at += o->part[i].length;
    }
    *e->self_end = frame;
    e->self_end = &frame->next;
    e->self_bytes += total;
    e->head.figures.frames_out++;
    e->head.figures.bytes_out += total;
    return HARK_T_OK;
}

static struct self_frame *take_first(struct end *e)
{
    struct self_frame *frame = e->self;
    e->self = frame->next;
    if (!e->self) e->self_end = &e->self;
    e->self_bytes -= frame->header + frame->length;
    return frame;
}

int hark_fabric_self_receive(struct end *e)
{
    int count = 0, waiting = 0; /* not those that are sent meanwhile */
    for (const struct self_frame *frame = e->self; frame; frame = frame->next) waiting++;
    for (; count < waiting; count++) {
        struct self_frame *frame = take_first(e);
        const struct hark_frame f = {
            e->me, e->inc, {frame->bytes, frame->header}, frame->length, false};
        e->head.figures.frames_in++;
        e->head.figures.bytes_in += frame->header + frame->length;
        e->sink.arrived(e->sink.self, &f, frame->bytes + frame->header);
        free(frame);
    }
    return count;
}

void hark_fabric_self_free(struct end *e)
{
    while (e->self) free(take_first(e));
}
