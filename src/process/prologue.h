/* prologue.h: what a program does before it calls hark_restarted.
 *
 * A program that begins again from a checkpoint executes its beginning again: it reads its input,
 * splits communicators, broadcasts parameters. Its messages of that time were sent and taken long
 * ago. So the first execution keeps what it took before hark_restarted, in order; images have it;
 * and a process that begins again from an image sends nothing and takes those until it calls
 * hark_restarted.
 */
#ifndef HARK_PROCESS_PROLOGUE_H
#define HARK_PROCESS_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hark_message;
struct hark_info;
struct hark_request;

/* A prologue that takes more bytes than this is not kept: most programs have no checkpoints. */
enum { HARK_PROLOGUE_LIMIT = 16 << 20 };

extern struct prologue {
    bool recording, replaying;
    uint8_t *bytes; /* what was recorded, or is replayed */
    size_t length, room, next;
    /* Recording: behind the last event, if that is a miss; else 0. Replaying: misses given of the
     * one at hand. */
    size_t missed;
    bool lost; /* it was longer than the limit */
} hark_prologue;

void hark_prologue_begin(void); /* of a first execution */
/* Of one that begins again from an image which has these bytes; they are copied. */
void hark_prologue_replay(const uint8_t *bytes, size_t length);
/* hark_restarted is called: what was recorded is kept for images. */
void hark_prologue_end(void);
/* What was recorded is not wanted, or too long. */
void hark_prologue_forget(void);

/* While recording: a message is delivered; a look has seen one; a test or a look has found nothing.
 */
void hark_prologue_delivered(const struct hark_message *m);
void hark_prologue_seen(const struct hark_info *info, uint32_t ctx);
void hark_prologue_missed(void);

/* While replaying: the next is a delivery, which *m then describes; its payload is valid until the
 * next call. It is taken by hark_prologue_take(). */
bool hark_prologue_next(struct hark_message *m);
void hark_prologue_take(void);
bool hark_prologue_look(struct hark_info *info); /* the next look has seen this message */
bool hark_prologue_miss(void);                   /* the next test or look found nothing */
/* The program does something else than what was recorded: the end, with a line. */
_Noreturn void hark_prologue_differs(void);

#endif
