#include "output.h"

#include <stdlib.h>
#include <string.h>

static void show(struct hark_output *o, const char *at, size_t length)
{
    if (length) o->write(o->self, at, length, o->shown + length);
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

/* Shows what it may of what is held: whole lines, or pieces of a line that is too long. */
static void release(struct hark_output *o)
{
    size_t may = o->length;
    if (o->kept || (o->gated && o->open <= o->shown)) may = 0;
    else if (o->gated && o->open - o->shown < may) may = (size_t)(o->open - o->shown);
    const char *end = may ? memrchr(o->held, '\n', may) : NULL;
    size_t n = end ? (size_t)(end - o->held) + 1 : may >= HARK_OUTPUT_LINE ? may : 0;
    if (n == 0) return;
    show(o, o->held, n);
    o->length -= n;
    memmove(o->held, o->held + n, o->length);
}

void hark_output_open(struct hark_output *o, uint64_t position)
{
    if (position <= o->open) return;
    o->open = position;
    release(o);
}

void hark_output_keep(struct hark_output *o, bool kept)
{
    o->kept = kept;
    release(o);
}

void hark_output_position(struct hark_output *o, uint64_t position, const char *text, size_t length)
{
    if (!o->waiting) return;
    o->waiting = false;
    o->next = position;
    if (o->open < position) o->open = position; /* nothing goes back behind its image */
    cut(o, position);
    uint64_t have = o->shown + o->length, begin = position - length;
    if (position <= have) {
        release(o);
        return;
    }
    /* The image is of an earlier run. What it showed is not ours to show; what it had not shown is
     * in the image. */
    if (begin > have) {
        hark_output_end(o);
        o->shown = have = begin;
    }
    if (have > begin) text += have - begin; /* of none, text may be NULL */
    if (!hold(o, text, (size_t)(position - have))) {
        o->lost = true;
        hark_output_end(o);
        show(o, text, (size_t)(position - have));
    }
    release(o);
}

/* All that comes waits. */
static void take_later(struct hark_output *o, const char *at, size_t length)
{
    if (!hold(o, at, length)) {
        o->lost = true;
        hark_output_end(o);
        show(o, at, length);
    }
    release(o);
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
    if (o->gated || o->kept) {
        take_later(o, at, length);
        return;
    }
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

void hark_output_drop(struct hark_output *o)
{
    if (o->kept) o->length = 0;
    hark_output_end(o);
}

void hark_output_free(struct hark_output *o)
{
    free(o->held);
    o->held = NULL;
    o->length = o->room = 0;
}
