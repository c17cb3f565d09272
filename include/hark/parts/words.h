/* parts/words.h: text about frames, for pictures, transcripts and replays. It is written without
 * stdio, into memory of the caller. */
#ifndef HARK_PARTS_WORDS_H
#define HARK_PARTS_WORDS_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The text that the `describe` of a protocol writes. Initialise it by hark_words_begin. */
struct hark_words {
    char *text; /* `room` bytes, at least 1; ends with a NUL; text that does not fit is cut off */
    uint32_t room, length;
    /* For each ctx the kind of message sent there, "multicasts"; context 0 has "". Contexts that
     * are not in this table are written as numbers. */
    const char *const *context;
    uint32_t contexts; /* entries of `context` */
    /* Set by describe: messages of the frame's sender that are not transmitted, since their
     * receiver has them by this frame; last 0: none. */
    struct hark_names spared;
    bool whole; /* set by describe: a reduction's combined contributions, not a single one */
};

static inline void hark_words_begin(struct hark_words *w, char *text, uint32_t room)
{
    hark_zero(w, sizeof *w);
    w->text = text;
    w->room = room;
    text[0] = 0;
}

static inline void hark_words_add(struct hark_words *w, const char *text)
{
    while (*text && w->length + 1 < w->room) w->text[w->length++] = *text++;
    w->text[w->length] = 0;
}

/* Adds a text and a number. */
static inline void hark_words_number(struct hark_words *w, const char *before, uint64_t n)
{
    char digits[21];
    uint32_t at = sizeof digits - 1;
    digits[at] = 0;
    do digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    hark_words_add(w, before);
    hark_words_add(w, digits + at);
}

/* Adds the numbers of messages first .. last: " 1", " 1-3". */
static inline void hark_words_run(struct hark_words *w, uint64_t first, uint64_t last)
{
    hark_words_number(w, " ", first);
    if (last > first) hark_words_number(w, "-", last);
}

/* Adds the kind of a channel, unless it is point-to-point: " multicasts". */
static inline void hark_words_context(struct hark_words *w, uint32_t ctx)
{
    if (ctx == 0) return;
    if (ctx >= w->contexts) {
        hark_words_number(w, " context ", ctx);
        return;
    }
    hark_words_add(w, " ");
    hark_words_add(w, w->context[ctx]);
}

#ifdef __cplusplus
}
#endif
#endif
