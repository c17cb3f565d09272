/* recovery/describe.h: words for those frames of a recovery that are alike in all protocols with a
 * recovery process. */
#ifndef HARK_RECOVERY_DESCRIBE_H
#define HARK_RECOVERY_DESCRIBE_H

#include "../parts/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Describes POS: the messages that a process has sent on a channel and has received. */
static inline void hark_describe_position(struct hark_words *w, const uint8_t *b)
{
    hark_words_number(w, " sent ", hark_get64(b));
    hark_words_number(w, ", has ", hark_get64(b + 8));
}

/* Describes RELEASE: the phases whose messages may leave. */
static inline void hark_describe_released(struct hark_words *w, const uint8_t *b, uint32_t length)
{
    if (length < 8) return;
    if (hark_get64(b) == HARK_INFINITY) hark_words_add(w, " all");
    else hark_words_number(w, " up to ", hark_get64(b));
}

#ifdef __cplusplus
}
#endif
#endif
