/* output.h: what a process prints, shown once.
 *
 * A process's output has positions that belong to its execution, not to its incarnation: one that
 * goes back prints again what it had printed, and what was shown already is not shown again. Whole
 * lines are shown; the rest waits for its end. Behind a gate they also wait until they are beyond
 * recall: until no failure can bring about another execution than the one that printed them. And
 * they may be kept back as a whole for a while.
 */
#ifndef HARK_SUPERVISOR_OUTPUT_H
#define HARK_SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_OUTPUT_LINE 65536u /* a longer line is shown in pieces, bytes */

/* One stream of one process. All zero but `write` and `self`: at the very beginning. */
struct hark_output {
    uint64_t shown; /* position of the first byte not shown */
    uint64_t next;  /* position of the next byte that the present incarnation prints */
    char *held;     /* bytes from `shown` on that wait for the end of their line; owned */
    size_t length, room;
    bool waiting; /* the present incarnation goes on from an image and its position is not known yet
                   */
    bool lost;    /* no memory: bytes were shown without waiting for their line's end */
    bool gated;   /* only what is before `open` may be shown */
    bool kept;    /* nothing is shown now */
    uint64_t open;
    /* `end`: the position behind the last byte */
    void (*write)(void *self, const char *at, size_t length, uint64_t end);
    void *self;
};

/* A new incarnation begins. From its program's start (`from_image` false) its output begins at 0;
 * else what it prints until hark_output_position() belongs to nowhere and is dropped. */
void hark_output_begin(struct hark_output *o, bool from_image);
/* Its image was taken at this position: the output goes on from there. Without effect on one that
 * began at 0. `text` are the last `length` bytes before that position, as far as they had not been
 * written when the image was taken: an earlier supervisor may have died before it had shown them.
 */
void hark_output_position(
    struct hark_output *o, uint64_t position, const char *text, size_t length);
/* Behind a gate: what is before `position` is beyond recall, now and for ever. */
void hark_output_open(struct hark_output *o, uint64_t position);
/* From now on nothing is shown, or again what may be. */
void hark_output_keep(struct hark_output *o, bool kept);
/* It printed `length` bytes. */
void hark_output_take(struct hark_output *o, const char *at, size_t length);
/* No more will come: shows what is held. */
void hark_output_end(struct hark_output *o);
/* The same, but what is kept back is not shown any more. */
void hark_output_drop(struct hark_output *o);
void hark_output_free(struct hark_output *o);

#endif
