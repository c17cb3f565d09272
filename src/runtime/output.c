#include "output.h"

#include <stdlib.h>
#include <string.h>

static void show(struct hark_output *o, const char *at, size_t length)
{
    if (length) o->write(o->self, at, length);
    o->shown += length;
}

/* Forgets held bytes from `position` on: this execution of them is void. */
static void cut(struct hark_output *o, uint64_t position)
{
    if (position <= o->shown) o->length = 0;
    else if (position - o->shown < o->length) o->length = (size_t)(position - o->shown);
}

void hark_output_begin(struct hark_output *o, bool from_image)
{
    o->waiting = from_image;
    if (from_image) return;
    o->next = 0;
    cut(o, 0);
}

void hark_output_position(struct hark_output *o, uint64_t position)
{
    if (!o->waiting) return;
    o->waiting = false;
    o->next = position;
    cut(o, position);
    if (position <= o->shown + o->length) return;
    /* The image is of an earlier run, whose output is not ours to show. */
    hark_output_end(o);
    o->shown = position;
}

static bool hold(struct hark_output *o, const char *at, size_t length)
{
    if (o->length + length > o->room) {
        size_t room = (o->length + length) * 2;
        char *held = realloc(o->held, room);
        if (held == NULL) return false;
        o->held = held;
        o->room = room;
    }
    if (length) memcpy(o->held + o->length, at, length);
    o->length += length;
    return true;
}

void hark_output_take(struct hark_output *o, const char *at, size_t length)
{
    if (o->waiting) return;
    uint64_t have = o->shown + o->length;
    uint64_t again = o->next < have ? have - o->next : 0;
    o->next += length;
    if (again >= length) return;
    at += again;
    length -= (size_t)again;

    const char *end = memrchr(at, '\n', length);
    size_t whole = end ? (size_t)(end - at) + 1 : 0;
    if (whole) {
        hark_output_end(o);
        show(o, at, whole);
    }
    if (!hold(o, at + whole, length - whole)) {
        o->lost = true;
        hark_output_end(o);
        show(o, at + whole, length - whole);
    }
    if (o->length >= HARK_OUTPUT_LINE) hark_output_end(o);
}

void hark_output_end(struct hark_output *o)
{
    size_t length = o->length;
    o->length = 0;
    show(o, o->held, length);
}

void hark_output_free(struct hark_output *o)
{
    free(o->held);
    o->held = NULL;
    o->length = o->room = 0;
}
