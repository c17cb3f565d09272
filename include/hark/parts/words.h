/* parts/words.h: what frames carry, in words, for people: pictures, transcripts, replays. Without
 * stdio, into memory of the caller's. */
#ifndef HARK_PARTS_WORDS_H
#define HARK_PARTS_WORDS_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the `describe` of a protocol writes to. The caller sets what comes first, best by
 * hark_words_begin. */
struct hark_words {
    char *text; /* of `room` bytes, 1 at least; ends with a NUL always; what does not fit is cut off
                 */
    uint32_t room, length;
    const char *const *context; /* by ctx: what is sent there, "multicasts"; the first one, of
                                   messages, is "" */
    uint32_t contexts;          /* how many there are; those beyond have numbers only */
    struct hark_names spared; /* said by the frame: its receiver has these messages of its sender's;
                                 last 0: it says no such thing */
    bool whole;               /* of a reduction: it is what all have given, not one contribution */
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

/* A text and a number. */
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

/* Messages first .. last: " 1", " 1-3". */
static inline void hark_words_run(struct hark_words *w, uint64_t first, uint64_t last)
{
    hark_words_number(w, " ", first);
    if (last > first) hark_words_number(w, "-", last);
}

/* Which channel between two processes, where it is not that of their messages: " multicasts". */
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
